//! A directory that was used, and whose store is gone or spoilt.

use objectstore::{Expect, NewObject, Op, key_of};

use super::*;

fn how(anew: bool) -> How {
    How {
        anew,
        ..How::default()
    }
}

fn open(data: &Path, anew: bool) -> Result<Store, StorageError> {
    store(data, how(anew), &Options::default())
}

/// A directory with an object, and with keys as a server makes them.
fn used() -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let opened = open(data.path(), false).unwrap();
    let value = serde_json::json!({"kind": "K", "metadata": {"name": "a", "uid": "a"}});
    let op = Op {
        resource: "things".into(),
        key: key_of("", "a"),
        expect: Expect::Absent,
        put: Some(NewObject::new(&value).unwrap()),
        homes: Vec::new(),
    };
    futures::executor::block_on(opened.commit(vec![op])).unwrap();
    drop(opened);
    std::fs::create_dir(data.path().join("pki")).unwrap();
    std::fs::write(data.path().join("pki/ca.key"), "key").unwrap();
    data
}

#[test]
fn a_store_that_is_gone_is_no_empty_store() {
    let data = used();
    assert_eq!(open(data.path(), false).unwrap().rv(), 1);
    let path = data.path().join(FILE);
    std::fs::write(&path, "").unwrap();
    for found in ["is empty", "is missing"] {
        let refused = open(data.path(), false).unwrap_err();
        assert!(
            refused.is_damage() && refused.to_string().contains(found),
            "{refused}"
        );
        assert_eq!(path.exists(), found == "is empty", "it is left as it was");
        drop(std::fs::remove_file(&path));
    }
    assert_eq!(open(data.path(), true).unwrap().rv(), 0, "begun anew");
    assert!(open(data.path(), false).is_ok());
    let new = tempfile::tempdir().unwrap();
    std::fs::write(new.path().join(FILE), "").unwrap();
    assert!(
        open(new.path(), false).is_ok(),
        "a directory that nobody used"
    );
}

#[test]
fn what_was_found_is_kept_when_a_store_is_begun_anew() {
    let data = used();
    let path = data.path().join(FILE);
    for (kept, text) in [
        ("objects.redb.damaged", "no store"),
        ("objects.redb.damaged.1", "none either"),
    ] {
        std::fs::write(&path, text).unwrap();
        assert!(open(data.path(), false).unwrap_err().is_damage());
        assert_eq!(open(data.path(), true).unwrap().rv(), 0);
        assert_eq!(
            std::fs::read_to_string(data.path().join(kept)).unwrap(),
            text
        );
    }
    let rest = std::fs::read_dir(data.path()).unwrap().count();
    assert_eq!(rest, 4, "the store, two that were kept, and the keys");
}

#[test]
fn a_whole_store_is_opened_whatever_is_asked() {
    let data = used();
    assert_eq!(open(data.path(), true).unwrap().rv(), 1);
}
