//! A transaction that was answered as failed: whether it is in the file is read from the file.

use serde_json::json;

use super::*;
use crate::NewObject;
use crate::backend::LogEntry;

const RESOURCE: &str = "shoes";

fn object(size: u64, rv: u64) -> Arc<Object> {
    let draft = NewObject::new(&json!({ "metadata": { "name": "one" }, "size": size })).unwrap();
    Arc::new(draft.seal(rv))
}

fn change(key: &str, rv: u64, old: Option<&Arc<Object>>, new: Option<&Arc<Object>>) -> Change {
    Change {
        entry: LogEntry {
            rv,
            resource: RESOURCE.into(),
            key: key.into(),
            old: old.cloned(),
        },
        new: new.cloned(),
    }
}

/// Everything in the file: objects by key with their size, and the versions in the log.
fn contents(path: &Path) -> (Vec<(String, u64)>, Vec<u64>, u64) {
    let mut file = RedbFile::open(path, Durability::Immediate).unwrap();
    let loaded = file.load().unwrap();
    let size = |object: &Object| object.value()["size"].as_u64().unwrap();
    let objects = loaded.objects.iter();
    let objects = objects.map(|(_, key, object)| (key.to_string(), size(object)));
    let log = loaded.log.iter().map(|entry| entry.rv).collect();
    (objects.collect(), log, loaded.rv)
}

/// A file with two objects, and a transaction on top that changed one, removed the other and made a
/// third; `stored` says whether it is in the file, and it was answered as failed.
fn failed_write(path: &Path, stored: bool) -> RedbFile {
    let mut file = RedbFile::open(path, Durability::Immediate).unwrap();
    file.load().unwrap();
    let (a, b) = (object(1, 1), object(2, 2));
    let first = [
        change("a", 1, None, Some(&a)),
        change("b", 2, None, Some(&b)),
    ];
    file.persist(&first, 2, None).unwrap();
    let (larger, new) = (object(10, 3), object(30, 5));
    let second = vec![
        change("a", 3, Some(&a), Some(&larger)),
        change("b", 4, Some(&b), None),
        change("c", 5, None, Some(&new)),
    ];
    if stored {
        file.write_all(&second, 5, None).unwrap();
    }
    file.database = None;
    file.unsure = Some(Unsure {
        changes: second,
        before: 2,
        after: 5,
    });
    file
}

#[test]
fn what_was_answered_as_failed_is_taken_back_whether_it_is_in_the_file_or_not() {
    for stored in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.redb");
        let mut file = failed_write(&path, stored);
        let next = object(4, 3);
        let third = [change("d", 3, None, Some(&next))];
        file.persist(&third, 3, None).unwrap();
        drop(file);
        let sizes = [("a", 1), ("b", 2), ("d", 4)].map(|(key, size)| (key.to_owned(), size));
        assert_eq!(
            contents(&path),
            (sizes.to_vec(), vec![1, 2, 3], 3),
            "in the file: {stored}"
        );
    }
}

#[test]
fn a_process_that_ends_before_it_looked_finds_what_is_in_the_file() {
    for (stored, expected) in [
        (true, vec![("a", 10), ("c", 30)]),
        (false, vec![("a", 1), ("b", 2)]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.redb");
        drop(failed_write(&path, stored));
        let expected = expected
            .into_iter()
            .map(|(key, size)| (key.to_owned(), size));
        assert_eq!(contents(&path).0, expected.collect::<Vec<_>>());
    }
}
