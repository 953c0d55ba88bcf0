//! Damage of every kind to a small store: it opens with what was in it, or says what was found; it never panics, and a file that
//! is refused stays as it was.

use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::backend::Backend as _;
use crate::redb_file::RedbFile;
use crate::{Durability, Expect, NewObject, Op, Options, Store, key_of};

/// Everything that a store holds, as text.
fn contents(path: &Path) -> Result<String, StorageError> {
    let mut file = RedbFile::open(path, Durability::Immediate)?;
    let loaded = file.load()?;
    let objects = loaded.objects.iter().map(|(resource, key, object)| {
        format!(
            "{resource} {key} {}\n",
            String::from_utf8_lossy(&object.bytes())
        )
    });
    let log = loaded.log.iter().map(|entry| {
        let old = entry.old.as_ref().map(|old| old.rv);
        format!("{} {} {} {old:?}\n", entry.rv, entry.resource, entry.key)
    });
    let all: String = objects.chain(log).collect();
    Ok(format!("{} {}\n{all}", loaded.rv, loaded.compacted))
}

/// A store with some objects, most of them changed once and some gone.
fn fill(path: &Path) -> Store {
    let file = RedbFile::open(path, Durability::Immediate).unwrap();
    let store = Store::open(Box::new(file), Options::default()).unwrap();
    for n in 0..120_usize {
        let name = format!("o{:02}", n % 50);
        let text = "some text of an object ".repeat(n % 40);
        let value = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": name, "namespace": "ns", "uid": name}, "text": text, "n": n});
        let put = (n % 7 != 6).then(|| NewObject::new(&value).unwrap());
        let op = Op {
            resource: "things".into(),
            key: key_of("ns", &name),
            expect: Expect::Any,
            put,
            homes: Vec::new(),
        };
        futures::executor::block_on(store.commit(vec![op])).unwrap();
    }
    store
}

struct Place {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("objects.redb");
    Place {
        _directory: directory,
        path,
    }
}

fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// What became of so many damaged copies: opened, refused.
fn damage(
    whole: &[u8],
    wanted: &[&str],
    spoil: impl Fn(u64) -> Vec<u8>,
    runs: u64,
) -> (usize, usize) {
    let (mut opened, mut refused) = (0, 0);
    for run in 0..runs {
        let at = place();
        let bytes = spoil(run);
        assert!(bytes != whole || runs == 1);
        std::fs::write(&at.path, &bytes).unwrap();
        match contents(&at.path) {
            Ok(found) => {
                assert!(
                    wanted.contains(&found.as_str()),
                    "run {run} is served with other contents"
                );
                opened += 1;
            }
            Err(error) => {
                let text = error.to_string();
                assert!(error.is_damage() && text.contains("objects.redb"), "{text}");
                refused += 1;
                let flags =
                    |bytes: &[u8]| bytes.get(HEAD.len()).is_none_or(|flags| flags & OPEN == 0);
                let closed = flags(whole) && flags(&bytes);
                if closed {
                    assert!(
                        std::fs::read(&at.path).unwrap() == bytes,
                        "run {run}: it was changed"
                    );
                }
            }
        }
    }
    (opened, refused)
}

fn flipped(whole: &[u8], at: usize, bits: u8) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    bytes[at] ^= bits;
    bytes
}

/// The file of a store that was closed, and what is in it.
fn closed() -> (Vec<u8>, String) {
    let at = place();
    drop(fill(&at.path));
    let bytes = std::fs::read(&at.path).unwrap();
    let all = contents(&at.path).unwrap();
    (bytes, all)
}

#[test]
fn a_closed_store_with_flipped_bytes_is_refused_or_right() {
    let (bytes, all) = closed();
    let wanted = [all.as_str()];
    // Every byte of the header, then the pages where something lies, at places of a seed.
    let header = damage(
        &bytes,
        &wanted,
        |at| flipped(&bytes, at as usize, 1 << (at % 8)),
        320,
    );
    println!("header: {header:?}");
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let any = damage(
        &bytes,
        &wanted,
        |run| {
            let mut dice = random(run + 1);
            let at = used[dice(used.len() as u64) as usize];
            let bits = u8::try_from(dice(255) + 1).unwrap();
            flipped(&bytes, at, bits)
        },
        300,
    );
    println!(
        "pages: {any:?} of {} bytes, {} used",
        bytes.len(),
        used.len()
    );
    assert!(any.1 > 20, "nothing was noticed: {any:?}");
}

/// While a store is open, or after a crash, the last transaction counts only if all of it is there: damage in it alone takes
/// it back, as if the power had gone, and damage elsewhere is told.
#[test]
fn a_store_that_was_not_closed_is_refused_right_or_as_before_its_last_transaction() {
    let at = place();
    let store = fill(&at.path);
    let commit = |n: usize| {
        let value = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "last", "namespace": "ns", "uid": "last"}, "n": n});
        let op = Op {
            resource: "things".into(),
            key: key_of("ns", "last"),
            expect: Expect::Any,
            put: Some(NewObject::new(&value).unwrap()),
            homes: Vec::new(),
        };
        futures::executor::block_on(store.commit(vec![op])).unwrap();
        std::fs::read(&at.path).unwrap()
    };
    let shown = |bytes: &[u8]| {
        let copy = place();
        std::fs::write(&copy.path, bytes).unwrap();
        contents(&copy.path).unwrap()
    };
    let before = shown(&commit(1));
    let bytes = commit(2);
    let all = shown(&bytes);
    assert!(bytes[HEAD.len()] & OPEN != 0 && before != all);
    let wanted = [all.as_str(), before.as_str()];
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let spoil = |run: u64| {
        let mut dice = random(run + 1_000);
        let at = if run < 40 {
            dice(320) as usize
        } else {
            used[dice(used.len() as u64) as usize]
        };
        flipped(&bytes, at, u8::try_from(dice(255) + 1).unwrap())
    };
    let (opened, refused) = damage(&bytes, &wanted, spoil, 200);
    assert!(opened > 20 && refused > 20, "{opened} {refused}");
    for length in [320, 4_096, bytes.len() / 2, bytes.len() - 4_096] {
        let copy = place();
        std::fs::write(&copy.path, &bytes[..length]).unwrap();
        let refused = contents(&copy.path).unwrap_err();
        assert!(refused.is_damage(), "cut to {length} bytes: {refused}");
    }
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let (bytes, all) = closed();
    let halves = [
        1,
        9,
        10,
        64,
        319,
        320,
        4_095,
        4_096,
        bytes.len() / 2,
        bytes.len() - 4_096,
        bytes.len() - 1,
    ];
    for length in halves {
        let cut = damage(&bytes, &[&all], |_| bytes[..length].to_vec(), 1);
        assert_eq!(cut, (0, 1), "cut to {length} bytes");
    }
    let longer = |more: &[u8]| [bytes.as_slice(), more].concat();
    damage(&bytes, &[&all], |_| longer(&[0; 4_096]), 1);
    damage(&bytes, &[&all], |_| longer(b"more"), 1);
    let foreign: [&[u8]; 4] = [b"{}", b"SQLite format 3\0", &[0; 8_192], &[0xff; 8_192]];
    for bytes in foreign {
        assert_eq!(damage(&HEAD.map(|_| 0), &[], |_| bytes.to_vec(), 1), (0, 1));
    }
    let head = [HEAD.as_slice(), &[0; 4_096]].concat();
    assert_eq!(damage(&[0; 16], &[], |_| head.clone(), 1), (0, 1));
    let at = place();
    std::fs::create_dir(&at.path).unwrap();
    let refused = contents(&at.path).unwrap_err().to_string();
    assert!(refused.contains("it is a directory"), "{refused}");
}
