//! One suite for every medium: the promises of the store, run on memory (inline and threaded) and on redb.

pub(crate) mod disk;
mod group;
mod power;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use serde_json::{Value, json};

use super::*;
use crate::redb_file::RedbFile;

/// Opens a store again and again on one medium.
type Reopen = Box<dyn Fn(Options) -> Store>;

fn object(name: &str, n: u32) -> Value {
    json!({"kind": "Thing", "apiVersion": "v1", "spec": {"n": n}, "metadata": {"name": name, "namespace": "ns", "uid": format!("u-{name}")}})
}

fn put(name: &str, n: u32, expect: Expect) -> Op {
    let put = Some(NewObject::new(&object(name, n)).expect("draft"));
    Op {
        resource: "things".into(),
        key: key_of("ns", name),
        expect,
        put,
        homes: Vec::new(),
    }
}

fn remove(name: &str, expect: Expect) -> Op {
    Op {
        resource: "things".into(),
        key: key_of("ns", name),
        expect,
        put: None,
        homes: Vec::new(),
    }
}

fn commit(store: &Store, op: Op) -> Result<u64, CommitError> {
    block_on(store.commit(vec![op])).map(|o| o.first().expect("one answer").rv)
}

fn suite(reopen: &Reopen, threaded: bool) {
    let options = || Options {
        threaded,
        ..Options::default()
    };
    let store = reopen(options());
    let things: ResourceKey = "things".into();
    let one = commit(&store, put("a", 1, Expect::Absent)).expect("create");
    assert!(
        commit(&store, put("a", 2, Expect::Absent)).is_err(),
        "absent is checked"
    );
    let two = commit(&store, put("a", 2, Expect::Rv(one))).expect("update");
    assert!(two > one);
    assert!(
        commit(&store, put("a", 3, Expect::Rv(one))).is_err(),
        "compare and swap"
    );
    let batch = vec![put("b", 1, Expect::Absent), put("a", 3, Expect::Rv(one))];
    match block_on(store.commit(batch)) {
        Err(CommitError::Conflict {
            index: 1,
            found: Some(found),
            ..
        }) => assert_eq!(found.rv, two),
        other => panic!("a batch is all or nothing: {other:?}"),
    }
    assert!(store.get("things", "ns/b").is_none());
    let three = commit(&store, put("b", 1, Expect::Absent)).expect("create");
    let gone = commit(&store, remove("a", Expect::Rv(two))).expect("delete");
    assert!(gone > three, "a deletion has a version of its own");
    let value = store.get("things", "ns/b").expect("there").value();
    assert_eq!(value["metadata"]["resourceVersion"], three.to_string());
    let seen = kinds(&store, &things, 0);
    assert_eq!(seen, history(one, two, three, gone));
    let at = store.list_at("things", "ns/", two).expect("kept");
    assert_eq!(
        at.objects
            .iter()
            .map(|(k, o)| (k.to_string(), o.rv))
            .collect::<Vec<_>>(),
        [("ns/a".to_owned(), two)]
    );
    store.close();
    drop(store);

    let store = reopen(options());
    assert_eq!(store.rv(), gone, "versions survive");
    assert_eq!(
        kinds(&store, &things, 0),
        history(one, two, three, gone),
        "so does the ring"
    );
    assert!(commit(&store, put("c", 1, Expect::Absent)).expect("create") > gone);
    let from = store.rv();
    store.compact();
    assert!(store.watch(&things, one).is_err());
    assert!(store.watch(&things, from).is_ok());
    store.close();
    drop(store);
    crash(reopen, threaded);
}

#[test]
fn states_with_the_same_metadata_share_it() {
    let store = Store::open(Box::new(Memory::new()), Options::default()).expect("open");
    let write = |n, label: &str| {
        let mut value = object("a", n);
        value["metadata"]["labels"] = json!({ "l": label });
        let op = Op {
            put: Some(NewObject::new(&value).expect("draft")),
            ..put("a", n, Expect::Any)
        };
        block_on(store.commit(vec![op])).expect("write");
        store.get("things", "ns/a").expect("there")
    };
    let (first, status, label) = (write(1, "x"), write(2, "x"), write(3, "y"));
    assert!(Arc::ptr_eq(&first.fields, &status.fields));
    assert!(!Arc::ptr_eq(&status.fields, &label.fields));
    assert_eq!(label.fields.labels.get("l"), Some("y"));
}

fn history(one: u64, two: u64, three: u64, gone: u64) -> Vec<(EventKind, u64, u64)> {
    vec![
        (EventKind::Added, one, 1),
        (EventKind::Modified, two, 2),
        (EventKind::Added, three, 1),
        (EventKind::Deleted, gone, 2),
    ]
}

fn kinds(store: &Store, resource: &ResourceKey, from: u64) -> Vec<(EventKind, u64, u64)> {
    let mut watch = store.watch(resource, from).expect("kept");
    let events = watch.ready().expect("kept");
    events
        .iter()
        .map(|e| {
            (
                e.kind,
                e.object.rv,
                e.object.value()["spec"]["n"].as_u64().expect("n"),
            )
        })
        .collect()
}

struct StopAt(FaultPoint, AtomicUsize);

impl Faults for StopAt {
    fn stop_at(&self, point: FaultPoint) -> bool {
        point == self.0 && self.1.fetch_sub(1, Ordering::SeqCst) == 1
    }
}

/// A crash before the medium loses the write, one after it keeps it; neither gives a version out twice.
fn crash(reopen: &Reopen, threaded: bool) {
    for (point, kept) in [
        (FaultPoint::BeforePersist, false),
        (FaultPoint::AfterPersist, true),
    ] {
        let faults = Arc::new(StopAt(point, AtomicUsize::new(2)));
        let store = reopen(Options {
            threaded,
            faults: Some(faults),
            ..Options::default()
        });
        let name = format!("crash-{kept}");
        let before = commit(&store, put("d", 1, Expect::Any)).expect("first");
        assert!(matches!(
            commit(&store, put(&name, 1, Expect::Absent)),
            Err(CommitError::Storage(StorageError::Stopped))
        ));
        assert!(
            commit(&store, put("e", 1, Expect::Any)).is_err(),
            "a stopped store stays stopped"
        );
        store.close();
        drop(store);
        let store = reopen(Options {
            threaded,
            ..Options::default()
        });
        assert_eq!(store.get("things", &format!("ns/{name}")).is_some(), kept);
        let next = commit(&store, put("d", 2, Expect::Present)).expect("go on");
        assert!(next > before + u64::from(kept));
        store.close();
    }
}

#[test]
fn memory_keeps_the_promises() {
    for threaded in [false, true] {
        let medium = Memory::new();
        let reopen: Reopen =
            Box::new(move |o| Store::open(Box::new(medium.clone()), o).expect("open"));
        suite(&reopen, threaded);
    }
}

#[test]
fn redb_keeps_the_promises() {
    for threaded in [false, true] {
        let dir = tempfile::tempdir().expect("directory");
        let file = dir.path().join("objects.redb");
        let reopen: Reopen = Box::new(move |o| {
            let medium = RedbFile::open(&file, Durability::Immediate).expect("open");
            Store::open(Box::new(medium), o).expect("load")
        });
        suite(&reopen, threaded);
    }
}

#[test]
fn a_relaxed_store_never_repeats_a_version() {
    let dir = tempfile::tempdir().expect("directory");
    let file = dir.path().join("objects.redb");
    let open = || {
        let medium = RedbFile::open(&file, Durability::Relaxed).expect("open");
        Store::open(Box::new(medium), Options::default()).expect("load")
    };
    let store = open();
    let shown = commit(&store, put("a", 1, Expect::Any)).expect("write");
    drop(store);
    assert!(open().rv() > shown);
}

#[test]
fn a_newer_format_is_refused() {
    let dir = tempfile::tempdir().expect("directory");
    let file = dir.path().join("objects.redb");
    {
        let database = redb::Database::create(&file).expect("create");
        let write = database.begin_write().expect("begin");
        let meta = redb::TableDefinition::<&str, u64>::new("meta");
        write
            .open_table(meta)
            .expect("table")
            .insert("format", 99)
            .expect("insert");
        write.commit().expect("commit");
    }
    assert!(matches!(
        RedbFile::open(&file, Durability::Immediate),
        Err(StorageError::NewerFormat {
            found: 99,
            known: 1
        })
    ));
}

#[test]
fn a_lock_that_is_given_back_soon_is_waited_for() {
    let dir = tempfile::tempdir().expect("directory");
    let file = dir.path().join("objects.redb");
    let database = redb::Database::create(&file).expect("create");
    let other = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        drop(database);
    });
    assert!(RedbFile::open(&file, Durability::Immediate).is_ok());
    other.join().expect("the other one");
}

#[test]
fn a_slow_watcher_is_told_to_list_again() {
    let store = Store::open(
        Box::new(Memory::new()),
        Options {
            ring_bytes: 2000,
            ..Options::default()
        },
    )
    .expect("open");
    let things: ResourceKey = "things".into();
    commit(&store, put("a", 0, Expect::Any)).expect("write");
    let mut slow = store.watch(&things, 0).expect("from the start");
    let mut quick = store.watch(&things, 0).expect("from the start");
    for n in 0..50 {
        commit(&store, put("a", n, Expect::Any)).expect("write");
        assert!(!quick.ready().expect("in time").is_empty());
    }
    assert!(slow.ready().is_err());
}

#[test]
fn a_failed_disk_loses_nothing_that_was_answered() {
    let medium = Memory::new();
    let store = Store::open(Box::new(medium.clone()), Options::default()).expect("open");
    let first = commit(&store, put("a", 1, Expect::Any)).expect("write");
    medium.fail_writes(Some(StorageError::Full("no room".to_owned())));
    assert!(matches!(
        commit(&store, put("a", 2, Expect::Any)),
        Err(CommitError::Storage(StorageError::Full(_)))
    ));
    assert_eq!(
        store.get("things", "ns/a").expect("kept").rv,
        first,
        "reads go on"
    );
    medium.fail_writes(None);
    assert!(commit(&store, put("a", 2, Expect::Any)).expect("write") > first);
}

#[test]
fn bytes_are_sorted_and_carry_the_version() {
    let draft = NewObject::new(
        &json!({"spec": {"b": 1, "a": 2}, "metadata": {"z": 1, "name": "x"}, "kind": "K", "apiVersion": "v1"}),
    );
    let object = draft.expect("draft").seal(12);
    let text = r#"{"apiVersion":"v1","kind":"K","metadata":{"name":"x","resourceVersion":"12","z":1},"spec":{"a":2,"b":1}}"#;
    assert_eq!(object.bytes(), text);
    assert_eq!(object.at(345).bytes(), text.replace("12", "345"));
    assert_eq!(
        object.body(),
        text.replace(r#"{"apiVersion":"v1","kind":"K","#, "")
    );
}

/// Pages that are read while others write show the one version that was asked for, as a list of it does.
#[test]
fn pages_show_one_version_whatever_is_written_meanwhile() {
    let store = Store::open(Box::new(Memory::new()), Options::default()).expect("open");
    let mut random = 7_u32;
    let mut next = |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    let mut write = || {
        let name = format!("o{:02}", next(60));
        let op = match next(3) {
            0 => remove(&name, Expect::Any),
            n => put(&name, n, Expect::Any),
        };
        drop(block_on(store.commit(vec![op])).expect("write"));
    };
    (0..200).for_each(|_| write());
    for bytes in [1, 300, 1_000, 1 << 20] {
        let rv = store.rv();
        let wanted = store.list_at("things", "ns/", rv).expect("kept").objects;
        let (mut all, mut after) = (Vec::new(), Key::from(""));
        loop {
            let page = store.page_at("things", ("ns/", &after), rv, bytes);
            let page = page.expect("kept");
            let Some((last, _)) = page.last() else { break };
            after = last.clone();
            all.extend(page);
            (0..5).for_each(|_| write());
        }
        assert_eq!(all, wanted, "pages of {bytes} bytes");
    }
    let rv = store.rv();
    store.compact();
    write();
    assert!(store.page_at("things", ("ns/", ""), rv, 1).is_ok());
    store.compact();
    assert!(
        store.page_at("things", ("ns/", ""), rv, 1).is_err(),
        "forgotten"
    );
    assert!(
        store
            .page_at("things", ("other/", ""), store.rv(), 1)
            .expect("kept")
            .is_empty()
    );
}
