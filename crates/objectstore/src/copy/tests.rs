//! What is copied comes back, and what is no whole copy is refused.

use serde_json::json;

use super::{Copy, CopyError, JUMP};
use crate::object::NewObject;
use crate::redb_file::RedbFile;
use crate::{Durability, Expect, Op, Options, Store};

async fn store(names: &[&str]) -> Store {
    let store = Store::open(Box::new(crate::Memory::new()), Options::default());
    let store = store.expect("open");
    for name in names {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns", "uid": name}, "data": {"k": "a\nb"}});
        let op = Op {
            resource: "configmaps".into(),
            key: format!("ns/{name}").into(),
            expect: Expect::Absent,
            put: Some(NewObject::new(&object).expect("draft")),
            homes: Vec::new(),
        };
        store.commit(vec![op]).await.expect("write");
    }
    store
}

fn text(copy: &Copy) -> Vec<u8> {
    copy.clone().lines().flatten().collect()
}

#[tokio::test]
async fn a_copy_is_restored_with_its_versions_and_goes_on_beyond_them() {
    let before = store(&["a", "b", "c"]).await;
    let copy = Copy::read(text(&before.copy()).as_slice()).expect("readable");
    let directory = tempfile::tempdir().expect("directory");
    copy.restore(directory.path()).expect("restored");
    let file = RedbFile::open(
        &directory.path().join("objects.redb"),
        Durability::Immediate,
    );
    let after = Store::open(Box::new(file.expect("open")), Options::default()).expect("open");
    let bytes = |store: &Store| -> Vec<_> {
        let all = store.list("configmaps", "").objects;
        all.iter().map(|(_, o)| (o.rv, o.bytes())).collect()
    };
    assert_eq!(bytes(&after), bytes(&before));
    assert_eq!(after.rv(), before.rv() + JUMP);
    assert!(
        after.watch(&"configmaps".into(), before.rv()).is_err(),
        "the log is not copied"
    );
    assert!(after.watch(&"configmaps".into(), after.rv()).is_ok());
    drop(after);
    assert!(matches!(
        copy.restore(directory.path()),
        Err(CopyError::NotEmpty)
    ));
}

#[tokio::test]
async fn what_is_no_whole_copy_is_refused() {
    let whole = text(&store(&["a", "b"]).await.copy());
    for cut in 0..whole.len() {
        assert!(Copy::read(&whole[..cut]).is_err(), "cut at {cut}");
    }
    for at in 0..whole.len() {
        let mut spoilt = whole.clone();
        spoilt[at] ^= 1;
        assert!(Copy::read(spoilt.as_slice()).is_err(), "changed at {at}");
    }
    let newer = String::from_utf8(whole)
        .expect("text")
        .replacen("\"format\":1", "\"format\":2", 1);
    assert!(matches!(
        Copy::read(newer.as_bytes()),
        Err(CopyError::NewerFormat { found: 2 })
    ));
}

/// A copy as the first version wrote it: it must stay readable (X7).
const FIRST: &str = r#"{"offshoot":"objects","format":1,"rv":7,"objects":1}
{"resource":"configmaps","key":"ns/a","object":{"apiVersion":"v1","kind":"ConfigMap","data":{"k":"v"},"metadata":{"name":"a","namespace":"ns","resourceVersion":"7","uid":"u"}}}
{"end":"a35d529ecbe18e66ab17f045c3ecb26bd87f84dfbddd1be319ea4c7f62112790"}
"#;

#[test]
fn the_first_format_stays_readable() {
    let copy = Copy::read(FIRST.as_bytes()).expect("readable");
    assert_eq!((copy.rv, copy.objects.len()), (7, 1));
    assert_eq!(text(&copy), FIRST.as_bytes());
}
