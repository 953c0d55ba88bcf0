//! Power cuts: every acknowledged write is there, the one under way is there or not, and no version comes twice.

use std::collections::BTreeMap;
use std::path::Path;

use futures::executor::block_on;

use super::disk::Disk;
use super::{Expect, NewObject, Op, Options, RedbFile, Store, object, put};
use crate::check::judge;
use crate::{CommitError, StorageError};

/// A number that follows from a seed (splitmix64), below a bound.
fn dice(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
    }
}

/// What a key holds: its number and its version, or nothing.
type Held = Option<(u64, u64)>;

/// What was acknowledged, and what nobody knows.
#[derive(Default)]
struct Ledger {
    held: BTreeMap<String, Held>,
    unsure: Option<(String, Option<u64>)>,
    newest: u64,
}

fn opened(disk: &Disk) -> Option<Store> {
    let file = RedbFile::on(disk.clone()).ok()?;
    Store::open(Box::new(file), Options::default()).ok()
}

fn held(store: &Store, name: &str) -> Held {
    let object = store.get("things", &format!("ns/{name}"))?;
    let number = object.value()["spec"]["n"].as_u64().expect("n");
    Some((number, object.rv))
}

/// Writes until the power goes.
fn work(store: &Store, disk: &Disk, ledger: &mut Ledger, roll: &mut impl FnMut(u64) -> u64) {
    while !disk.is_dark() {
        let name = format!("k{}", roll(6));
        let number = roll(1_000_000);
        let delete = roll(5) == 0 && held(store, &name).is_some();
        let op = if delete {
            Op {
                resource: "things".into(),
                key: format!("ns/{name}").into(),
                expect: Expect::Present,
                put: None,
                homes: Vec::new(),
            }
        } else {
            put(&name, u32::try_from(number).expect("small"), Expect::Any)
        };
        let wanted = (!delete).then_some(number);
        match block_on(store.commit(vec![op])) {
            Ok(objects) => {
                let rv = objects[0].rv;
                assert!(rv > ledger.newest, "version {rv} after {}", ledger.newest);
                ledger.newest = rv;
                ledger.held.insert(name, wanted.map(|n| (n, rv)));
            }
            Err(_) => {
                ledger.unsure = Some((name, wanted));
                return;
            }
        }
    }
}

/// After a power cut everything that was acknowledged is there, and what was under way wholly or not at all.
fn check(store: &Store, ledger: &mut Ledger, seed: u64) {
    assert!(
        store.rv() >= ledger.newest,
        "seed {seed}: versions went back"
    );
    for name in (0..6).map(|i| format!("k{i}")) {
        let found = held(store, &name);
        let known = ledger.held.get(&name).copied().flatten();
        let unsure = ledger.unsure.as_ref().filter(|(n, _)| *n == name);
        let came_through =
            unsure.is_some_and(|(_, wanted)| *wanted == found.map(|(n, _)| n) && found != known);
        assert!(
            found == known || came_through,
            "seed {seed}: {name} holds {found:?}, not {known:?}"
        );
        ledger.held.insert(name, found);
        ledger.newest = ledger.newest.max(found.map_or(0, |(_, rv)| rv));
    }
    ledger.newest = ledger.newest.max(store.rv());
    ledger.unsure = None;
}

#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let (mut cuts, mut in_recovery, mut through) = (0, 0, 0);
    for seed in 0..60 {
        let mut roll = dice(seed);
        let mut disk = Disk::default();
        let mut ledger = Ledger::default();
        for _ in 0..4 {
            let store = opened(&disk).expect("a store");
            let rows = ledger.unsure.is_some();
            check(&store, &mut ledger, seed);
            through += usize::from(rows);
            disk.cut_after(roll(40));
            work(&store, &disk, &mut ledger, &mut roll);
            drop(store);
            cuts += 1;
            disk = disk.image(&mut roll);
            if roll(3) == 0 {
                disk.cut_after(roll(6));
                drop(opened(&disk));
                if disk.is_dark() {
                    in_recovery += 1;
                }
                disk = disk.image(&mut roll);
            }
        }
        let store = opened(&disk).expect("a store");
        check(&store, &mut ledger, seed);
        drop(store);
        let (loaded, damaged, whole) = RedbFile::on(disk.clone())
            .expect("open")
            .examine()
            .expect("readable");
        assert!(damaged.is_none() && whole, "seed {seed}");
        assert_eq!(judge(loaded).problems, Vec::<String>::new(), "seed {seed}");
    }
    assert!(
        cuts == 240 && in_recovery > 10 && through > 100,
        "{cuts} {in_recovery} {through}"
    );
}

/// Writes until it is acknowledged; how often it was refused before.
fn insist(store: &Store, name: &str, number: u32) -> u64 {
    let tried = |_: &u64| match block_on(store.commit(vec![put(name, number, Expect::Any)])) {
        Ok(_) => false,
        Err(CommitError::Storage(StorageError::Full(_))) => true,
        Err(other) => panic!("the disk is full, and the store says {other}"),
    };
    (0..20).take_while(tried).count() as u64
}

/// Each write and each sync of a run fails once, and once with those that follow: what was acknowledged stays, in the
/// process that goes on and after a power cut, and there is room again as soon as the disk has some.
#[test]
fn an_error_at_each_change_of_the_disk_loses_nothing_and_passes() {
    let (mut met, mut refused) = (0, 0);
    for at in 0..120 {
        for many in [1, 4] {
            let disk = Disk::default();
            let store = opened(&disk).expect("a store");
            assert_eq!(insist(&store, "k0", 7), 0);
            disk.fail_after(at, many);
            let mut known = BTreeMap::from([("k0".to_owned(), 7_u64)]);
            for n in 0..8_u32 {
                let name = format!("k{}", n % 3);
                let again = insist(&store, &name, n);
                assert!(again < 20, "error {at}: {name} is refused for ever");
                refused += again;
                known.insert(name, u64::from(n));
                for (name, number) in &known {
                    let found = held(&store, name).map(|(n, _)| n);
                    assert_eq!(found, Some(*number), "error {at}: {name}");
                }
            }
            let version = store.rv();
            met += u64::from(disk.failed() > 0);
            drop(store);
            // What was not synced is lost.
            let store = opened(&disk.image(&mut |_| 0)).expect("a store");
            assert!(store.rv() >= version, "error {at}: versions went back");
            for (name, number) in &known {
                let found = held(&store, name).map(|(n, _)| n);
                assert_eq!(found, Some(*number), "error {at}: {name} after a cut");
            }
        }
    }
    assert!(met > 60 && refused > 60, "{met} {refused}");
}

#[test]
fn a_store_that_loses_synced_writes_is_noticed() {
    let mut lost = 0;
    for seed in 0..20 {
        let mut roll = dice(seed);
        let disk = Disk::default();
        let mut ledger = Ledger::default();
        let early = {
            let store = opened(&disk).expect("a store");
            let early = disk.image(&mut roll);
            disk.cut_after(60);
            work(&store, &disk, &mut ledger, &mut roll);
            early
        };
        // The disk as it was before everything: a lying one.
        let store = opened(&early).expect("a store");
        lost += usize::from(store.rv() < ledger.newest);
    }
    assert_eq!(lost, 20, "the check sees what a lying disk loses");
}

/// A store that makes its file smaller at the start if that is longer than this.
fn with_a_short_ring(path: &Path, shrink_above: u64) -> Store {
    let file = RedbFile::open(path, crate::Durability::Relaxed).expect("open");
    let options = Options {
        ring_bytes: 1 << 16,
        ..Options::default()
    };
    Store::open(Box::new(file.shrink_above(shrink_above)), options).expect("load")
}

#[test]
fn a_start_gives_unused_room_back() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("objects.redb");
    let open = |above| with_a_short_ring(&path, above);
    let length = || std::fs::metadata(&path).expect("file").len();
    let store = open(u64::MAX);
    for n in 0..6000 {
        block_on(store.commit(vec![put(&format!("k{}", n % 3000), n, Expect::Any)]))
            .expect("write");
    }
    for n in 0..2990 {
        let op = Op {
            put: None,
            ..put(&format!("k{n}"), 0, Expect::Present)
        };
        block_on(store.commit(vec![op])).expect("delete");
    }
    drop(store);
    let before = length();
    drop(open(1));
    let after = length();
    assert!(after < before, "{after} is not less than {before}");
    assert!(open(u64::MAX).get("things", "ns/k2995").is_some());
}

#[test]
fn a_full_file_is_left_alone_however_well_memory_packs_it() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("objects.redb");
    let open = |above| with_a_short_ring(&path, above);
    let store = open(u64::MAX);
    let big = |n: u32| {
        let mut value = object(&format!("k{n}"), n);
        value["spec"]["text"] = "the same in all of them ".repeat(200).into();
        Op {
            put: Some(NewObject::new(&value).expect("draft")),
            ..put(&format!("k{n}"), n, Expect::Absent)
        }
    };
    block_on(store.commit((0..1_000).map(big).collect())).expect("write");
    let one = store.get("things", "ns/k7").expect("there");
    assert!(one.weight() < one.bytes().len() / 4, "packed in memory");
    drop(store);
    let length = || std::fs::metadata(&path).expect("file").len();
    let before = length();
    drop(open(1));
    assert_eq!(length(), before);
}
