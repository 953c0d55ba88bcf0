//! The journal's format: frozen, and readable up to wherever a crash cut it.

use proptest::prelude::*;

use super::*;

fn empty() -> Journal {
    Journal {
        open: BTreeMap::new(),
        unnoted: BTreeSet::new(),
        next: 1,
        size: 0,
    }
}

fn entry(n: u8, payload: Vec<u8>) -> Entry {
    let id = ObjectId::from_bytes_or_panic(&[n; 20]);
    let name = RefName::parse(&format!("refs/heads/drafts/{n}")).unwrap();
    let scope = if n.is_multiple_of(2) {
        Scope::Local
    } else {
        Scope::Remote
    };
    let edits = vec![Edit {
        name,
        old: None,
        new: Some(id),
        scope,
    }];
    Entry::new((n > 100).then_some(id), edits, payload)
}

/// The first format, byte for byte: later versions must read it (X7).
#[test]
fn the_first_format_is_frozen() {
    let body = intent_body(3, &entry(1, b"record".to_vec()));
    let id = "01".repeat(20);
    let line = format!(
        r#"{{"intent":{{"id":3,"commit":null,"refs":[{{"name":"refs/heads/drafts/1","from":null,"to":"{id}"}}]}}}}"#
    );
    assert_eq!(String::from_utf8(body).unwrap(), format!("{line}\nrecord"));
    let frame = frame(b"abc");
    assert_eq!(frame, b"\x03\0\0\0\xba\x78\x16\xbf\x8f\x01\xcf\xeaabc");
    assert_eq!(header(), b"offshoot-journal\x01");
}

/// Version 1 can say that an intent landed, too: every ref leads from where it is to there.
#[test]
fn an_intent_that_landed_is_told_from_one_that_did_not() {
    let mut landed = entry(1, b"record".to_vec());
    landed.landed = true;
    let mut journal = empty();
    let frames = [&entry(1, b"record".to_vec()), &landed].map(|e| frame(&intent_body(3, e)));
    let bytes = frames.concat();
    assert_eq!(journal.replay(&bytes), bytes.len());
    assert!(journal.open[&3].landed, "it counts as it stands there last");
    let first = frames[0].len();
    let mut journal = empty();
    assert_eq!(journal.replay(&bytes[..first]), first);
    assert!(!journal.open[&3].landed);
}

proptest! {
    #[test]
    fn a_cut_loses_only_what_it_cuts(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        let mut all = Vec::new();
        for (n, payload) in payloads.into_iter().enumerate() {
            let one = entry(u8::try_from(n * 50).unwrap(), payload);
            bytes.extend(frame(&intent_body(n as u64 + 1, &one)));
            ends.push(bytes.len());
            all.push(one);
        }
        let at = cut.index(bytes.len() + 1);
        let whole = ends.iter().filter(|end| **end <= at).count();
        let mut journal = empty();
        let good = journal.replay(&bytes[..at]);
        prop_assert_eq!(good, whole.checked_sub(1).map_or(0, |last| ends[last]));
        prop_assert_eq!(journal.open.into_values().collect::<Vec<_>>(), &all[..whole]);
    }

    #[test]
    fn a_flipped_bit_is_noticed(payload in prop::collection::vec(any::<u8>(), 0..40), bit in any::<prop::sample::Index>()) {
        let mut bytes = frame(&intent_body(1, &entry(1, payload)));
        let at = bit.index(bytes.len() * 8);
        bytes[at / 8] ^= 1 << (at % 8);
        let mut journal = empty();
        prop_assert_eq!(journal.replay(&bytes), 0);
        prop_assert!(journal.open.is_empty());
    }
}
