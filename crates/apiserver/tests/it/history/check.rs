//! The checkers: validators of watches, and linearizability of answers.

use std::collections::BTreeMap;

/// One event of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: String,
    pub(super) key: String,
    pub(super) rv: u64,
}

/// What a client was told.
#[derive(Debug, Clone)]
pub(super) enum Told {
    /// A write at this version; whether it deleted.
    Wrote {
        key: String,
        rv: u64,
        deleted: bool,
        on: Option<u64>,
    },
    /// An object at this version, or none.
    Read { key: String, rv: Option<u64> },
    /// All objects with their versions, at a version.
    Listed {
        rv: u64,
        items: BTreeMap<String, u64>,
    },
}

/// An answer with the moments of its request.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) told: Told,
}

/// Ordered and unique from a version on; bookmarks promise that nothing older comes; kinds fit what was before.
pub(super) fn validate(events: &[Event], from: u64) -> bool {
    let mut last = from;
    let mut there: BTreeMap<&str, bool> = BTreeMap::new();
    events.iter().all(|event| {
        let bookmark = event.kind == "BOOKMARK";
        let ordered = if bookmark {
            event.rv >= last
        } else {
            event.rv > last
        };
        last = event.rv;
        let known = there.get(event.key.as_str()).copied();
        let fits = match event.kind.as_str() {
            "ADDED" => known != Some(true),
            "MODIFIED" | "DELETED" => known != Some(false),
            _ => bookmark,
        };
        if !bookmark {
            there.insert(&event.key, event.kind != "DELETED");
        }
        ordered && fits
    })
}

/// What is there after events on a list.
pub(super) fn replay(mut state: BTreeMap<String, u64>, events: &[&Event]) -> BTreeMap<String, u64> {
    for event in events {
        match event.kind.as_str() {
            "DELETED" => drop(state.remove(&event.key)),
            "BOOKMARK" => {}
            _ => drop(state.insert(event.key.clone(), event.rv)),
        }
    }
    state
}

/// The state of a key at a version.
fn state(history: &[Event], key: &str, at: u64) -> Option<u64> {
    let mut of_key = history.iter().filter(|e| e.key == key && e.rv <= at);
    of_key
        .next_back()
        .filter(|e| e.kind != "DELETED")
        .map(|e| e.rv)
}

/// Whether the answers fit into the history: versions are its order, and each answer belongs between its start and end.
pub(super) fn linearizable(history: &[Event], answers: &[Answer]) -> Result<(), String> {
    let started = |rv: u64| {
        answers.iter().find_map(|a| match &a.told {
            Told::Wrote { rv: wrote, .. } if *wrote == rv => Some(a.start),
            _ => None,
        })
    };
    // The newest version that was acknowledged before a moment.
    let acknowledged = |before: u64| {
        let writes = answers
            .iter()
            .filter(|a| a.end < before)
            .filter_map(|a| match &a.told {
                Told::Wrote { rv, .. } | Told::Listed { rv, .. } => Some(*rv),
                Told::Read { rv, .. } => *rv,
            });
        writes.max().unwrap_or(0)
    };
    for answer in answers {
        let floor = acknowledged(answer.start);
        match &answer.told {
            Told::Wrote {
                key,
                rv,
                deleted,
                on,
            } => {
                let found = history.iter().find(|e| e.rv == *rv);
                let right =
                    found.is_some_and(|e| e.key == *key && (e.kind == "DELETED") == *deleted);
                if !right {
                    return Err(format!("{answer:?} is not in the history: {found:?}"));
                }
                if *rv <= floor {
                    return Err(format!("{answer:?} came after version {floor}"));
                }
                if on.is_some() && state(history, key, rv - 1) != *on {
                    return Err(format!("{answer:?} was not written on what it expected"));
                }
            }
            Told::Read { key, rv } => {
                // Some moment between the last acknowledged version and the newest that had begun has this state.
                let moments = history.iter().map(|e| e.rv).filter(|at| *at > floor);
                let begun =
                    moments.filter(|at| started(*at).is_none_or(|start| start < answer.end));
                let mut moments = begun.chain(std::iter::once(floor));
                if !moments.any(|at| state(history, key, at) == *rv) {
                    return Err(format!("{answer:?} was never so after version {floor}"));
                }
            }
            Told::Listed { rv, items } => {
                if *rv < floor {
                    return Err(format!("{answer:?} is older than version {floor}"));
                }
                let events: Vec<_> = history.iter().filter(|e| e.rv <= *rv).collect();
                if replay(BTreeMap::new(), &events) != *items {
                    return Err(format!("{answer:?} is not the state of its version"));
                }
            }
        }
    }
    Ok(())
}

/// Each law has a history that breaks it.
pub(super) fn they_notice() {
    let event = |kind: &str, key: &str, rv| Event {
        kind: kind.to_owned(),
        key: key.to_owned(),
        rv,
    };
    let good = [
        event("ADDED", "a", 1),
        event("MODIFIED", "a", 2),
        event("BOOKMARK", "", 2),
        event("DELETED", "a", 3),
    ];
    assert!(validate(&good, 0));
    let bad = [
        vec![event("ADDED", "a", 2), event("ADDED", "b", 1)],
        vec![event("ADDED", "a", 1), event("ADDED", "b", 1)],
        vec![event("BOOKMARK", "", 5), event("ADDED", "a", 4)],
        vec![event("ADDED", "a", 1), event("ADDED", "a", 2)],
        vec![event("DELETED", "a", 1), event("MODIFIED", "a", 2)],
    ];
    for events in bad {
        assert!(!validate(&events, 0), "{events:?}");
    }
    let history: Vec<Event> = good
        .iter()
        .filter(|e| e.kind != "BOOKMARK")
        .cloned()
        .collect();
    let answer = |start, end, told| Answer { start, end, told };
    let wrote = |rv, on| Told::Wrote {
        key: "a".to_owned(),
        rv,
        deleted: false,
        on,
    };
    let read = |rv| Told::Read {
        key: "a".to_owned(),
        rv,
    };
    let listed = |rv, items: &[(&str, u64)]| Told::Listed {
        rv,
        items: items.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
    };
    let both = |second: Told| vec![answer(1, 2, wrote(2, Some(1))), answer(3, 4, second)];
    assert!(linearizable(&history, &both(read(Some(2)))).is_ok());
    assert!(linearizable(&history, &both(listed(2, &[("a", 2)]))).is_ok());
    let broken = [
        both(read(Some(1))),
        both(wrote(1, None)),
        both(wrote(9, None)),
        both(listed(1, &[("a", 1)])),
        both(listed(2, &[])),
        vec![answer(1, 2, wrote(2, Some(7)))],
    ];
    for answers in broken {
        assert!(linearizable(&history, &answers).is_err(), "{answers:?}");
    }
}
