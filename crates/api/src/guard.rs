//! What the deletion guard of a set remembers, as it stands in the set's status under `offshoot` (S3).

use std::fmt::Write as _;

use model::{GuardMemory, Shrink, UidMark, WaitingDeletions};
use serde_json::{Map, Value, json};

use crate::fields::{FieldReader, put, put_list};

/// One text of all marks: a set may have 50,000 of them.
const DECIDED: &str = "decidedDeletions";
const WAITING: &str = "waitingDeletions";
const RECENT: &str = "recentDeletions";
/// What stood in its place: the number of variants before the newest shrink.
const PEAK: &str = "peak";

pub(crate) fn write(memory: &GuardMemory) -> Map<String, Value> {
    let mut out = Map::new();
    let mut marks = String::with_capacity(memory.decided.len() * UidMark::TEXT);
    for mark in &memory.decided {
        // Writing to a String cannot fail.
        _ = write!(marks, "{mark}");
    }
    put(&mut out, DECIDED, &marks);
    if let Some(waiting) = &memory.waiting {
        let WaitingDeletions {
            hash,
            since,
            changed,
            held,
        } = waiting;
        let waiting = json!({ "hash": hash, "since": since, "changed": changed, "held": held });
        out.insert(WAITING.to_owned(), waiting);
    }
    let recent = memory.recent.iter().map(|shrink| {
        let Shrink {
            at,
            deletions,
            variants,
        } = shrink;
        json!({ "at": at, "deletions": deletions, "variants": variants })
    });
    put_list(&mut out, RECENT, recent.collect());
    out
}

/// Reads it leniently; `variants` is how many the status counts.
pub(crate) fn read(ours: &FieldReader<'_>, variants: usize) -> GuardMemory {
    let marks = ours.text(DECIDED).unwrap_or_default().as_bytes();
    let marks = marks.chunks(UidMark::TEXT);
    let decided = marks.filter_map(|text| UidMark::parse(std::str::from_utf8(text).ok()?));
    let waiting = ours.child(WAITING).map(|waiting| WaitingDeletions {
        hash: waiting.owned("hash").unwrap_or_default(),
        since: waiting.int("since").unwrap_or_default(),
        changed: waiting.int("changed").unwrap_or_default(),
        held: waiting.flag("held"),
    });
    let recent = ours.list(RECENT);
    let recent = recent.iter().map(|shrink| Shrink {
        at: shrink.int("at").unwrap_or_default(),
        deletions: shrink.count("deletions"),
        variants: shrink.count("variants"),
    });
    let older = ours.child(PEAK).map(|peak| {
        let before = peak.count("variants");
        Shrink {
            at: peak.int("at").unwrap_or_default(),
            deletions: before.saturating_sub(variants),
            variants: before,
        }
    });
    GuardMemory {
        decided: decided.collect(),
        waiting,
        recent: older.into_iter().chain(recent).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::SetStatus;
    use proptest::prelude::*;

    fn again(guard: &GuardMemory) -> GuardMemory {
        let status = SetStatus {
            guard: guard.clone(),
            ..SetStatus::default()
        };
        let wire = crate::write_set_status(None, &status, "2026-01-31T12:00:00Z");
        crate::read_set_status(&json!({ "status": wire })).guard
    }

    proptest! {
        /// S3: a process that dies forgets nothing.
        #[test]
        fn what_is_written_is_what_is_read(
            marks in proptest::collection::btree_set(any::<[u8; 6]>(), 0..40),
            waiting in proptest::option::of(("[0-9a-f]{12}", 1_i64..1 << 40, 1_i64..1 << 40, any::<bool>())),
            recent in proptest::collection::vec((1_i64..1 << 40, 0_usize..50_000, 0_usize..50_000), 0..9),
        ) {
            let memory = GuardMemory {
                decided: marks.into_iter().map(UidMark::new).collect(),
                waiting: waiting.map(|(hash, since, changed, held)| WaitingDeletions { hash, since, changed, held }),
                recent: recent.into_iter().map(|(at, deletions, variants)| Shrink { at, deletions, variants }).collect(),
            };
            prop_assert_eq!(again(&memory), memory);
        }
    }

    /// S3: 50,000 confirmed deletions have room in a status, whatever stores it.
    #[test]
    fn the_most_that_can_be_remembered_is_small() {
        let mark = |n: u32| {
            let [a, b, c, d] = n.to_be_bytes();
            UidMark::new([a, b, c, d, a, b])
        };
        let shrink = Shrink {
            at: 1_770_000_000,
            deletions: 10_000,
            variants: 50_000,
        };
        let memory = GuardMemory {
            decided: (0..50_000).map(mark).collect(),
            waiting: None,
            recent: vec![shrink; 400],
        };
        assert!(Value::Object(write(&memory)).to_string().len() < 450_000);
        assert_eq!(again(&memory), memory);
    }

    /// What an earlier version remembered of a shrink still counts.
    #[test]
    fn an_earlier_shrink_is_read() {
        let status =
            json!({ "variants": 45, "offshoot": { "peak": { "variants": 50, "at": 100 } } });
        let read = crate::read_set_status(&json!({ "status": status }));
        let shrink = Shrink {
            at: 100,
            deletions: 5,
            variants: 50,
        };
        assert_eq!(read.guard.recent, [shrink]);
    }
}
