//! Full files move on, and no event is lost or parted.

use std::path::Path;

use serde_json::{Value, json};

use super::{Audit, Rotation};

fn numbers(path: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let event = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    text.lines()
        .map(|l| event(l)["n"].as_u64().unwrap())
        .collect()
}

#[test]
fn full_files_move_on_and_the_oldest_go() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let beside = |n: u32| directory.path().join(format!("audit.jsonl.{n}"));
    // Three lines of 8 bytes each.
    let rotation = Rotation { bytes: 24, kept: 2 };
    let audit = Audit::open(&path, rotation).unwrap();
    for n in 0..5 {
        audit.write(&json!({ "n": n }));
    }
    assert_eq!(
        (numbers(&path), numbers(&beside(1))),
        (vec![3, 4], vec![0, 1, 2])
    );
    drop(audit);
    // What is there counts when it is opened again.
    let audit = Audit::open(&path, rotation).unwrap();
    for n in 5..9 {
        audit.write(&json!({ "n": n }));
    }
    let all = [numbers(&path), numbers(&beside(1)), numbers(&beside(2))];
    assert_eq!(all, [vec![6, 7, 8], vec![3, 4, 5], vec![0, 1, 2]]);
    audit.write(&json!({ "n": 9 }));
    assert_eq!(numbers(&beside(2)), [3, 4, 5], "the oldest is gone");
    assert!(!beside(3).exists());
}

#[test]
fn an_event_that_is_longer_than_a_file_is_written_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let audit = Audit::open(&path, Rotation { bytes: 4, kept: 0 }).unwrap();
    audit.write(&json!({ "n": 1 }));
    audit.write(&json!({ "n": 2 }));
    assert_eq!(numbers(&path), [2]);
}
