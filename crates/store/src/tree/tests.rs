//! Laws of trees and their differences.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::object::decode_tree;

/// Git's delta format, read the other way round.
fn apply(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut at = 0;
    let mut next = || {
        at += 1;
        delta.get(at - 1).copied()
    };
    let number = |next: &mut dyn FnMut() -> Option<u8>| {
        let (mut value, mut shift) = (0usize, 0);
        loop {
            let byte = next()?;
            value |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    };
    let (from, to) = (number(&mut next)?, number(&mut next)?);
    assert_eq!(from, base.len());
    let mut out = Vec::new();
    while let Some(op) = next() {
        if op & 0x80 == 0 {
            for _ in 0..op {
                out.push(next()?);
            }
            continue;
        }
        let mut field = |bits: u8, count: u8| {
            let mut value = 0usize;
            for n in 0..count {
                if op & (bits << n) != 0 {
                    value |= usize::from(next()?) << (8 * n);
                }
            }
            Some(value)
        };
        let (offset, size) = (field(1, 4)?, field(0x10, 3)?);
        let size = if size == 0 { 0x10000 } else { size };
        out.extend_from_slice(base.get(offset..offset + size)?);
    }
    assert_eq!(to, out.len());
    Some(out)
}

fn id(n: u8) -> ObjectId {
    ObjectId::from_bytes_or_panic(&[n; 20])
}

/// Names that sort differently as files and as directories.
fn name() -> impl Strategy<Value = String> {
    "[ab][-./0ab]{0,2}".prop_map(|n| n.replace('/', "+"))
}

fn entries() -> impl Strategy<Value = BTreeMap<String, (bool, u8)>> {
    prop::collection::btree_map(name(), (any::<bool>(), any::<u8>()), 0..12)
}

fn encode(entries: &BTreeMap<String, (bool, u8)>) -> Vec<u8> {
    let entry = |(name, (tree, n)): (&String, &(bool, u8))| Entry {
        mode: if *tree { TREE } else { BLOB },
        name: name.clone().into_bytes(),
        id: id(*n),
    };
    encode_tree(entries.iter().map(entry).collect())
}

proptest! {
    #[test]
    fn a_difference_leads_to_its_target(
        start in prop::collection::vec(any::<u8>(), 0..70_000),
        cut in any::<prop::sample::Index>(),
        new in prop::collection::vec(any::<u8>(), 0..300),
        skip in 0..300usize,
    ) {
        let at = cut.index(start.len() + 1);
        let mut target = start[..at].to_vec();
        target.extend_from_slice(&new);
        target.extend_from_slice(start.get(at + skip..).unwrap_or_default());
        prop_assert_eq!(apply(&start, &encode_delta(&start, &target)), Some(target));
    }

    #[test]
    fn what_is_encoded_is_decoded(all in entries()) {
        let raw = encode(&all);
        let decoded = decode_tree(&id(0), &raw).unwrap();
        prop_assert_eq!(decoded.len(), all.len());
        prop_assert_eq!(encode_tree(decoded.to_vec()), raw);
    }

    /// Splicing bytes is the same as editing entries.
    #[test]
    fn a_splice_is_an_edit(all in entries(), name in name(), new in any::<Option<u8>>()) {
        let spliced = splice(&encode(&all), name.as_bytes(), new.map(id).as_ref());
        let mut edited = all;
        match new {
            Some(n) => edited.insert(name, (true, n)),
            None => edited.remove(&name),
        };
        prop_assert_eq!(spliced, Some(encode(&edited)));
    }

    #[test]
    fn no_bytes_make_the_reader_fail(raw in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(decode_tree(&id(0), &raw));
        find_dir(&raw, b"a");
        splice(&raw, b"a", None);
    }
}
