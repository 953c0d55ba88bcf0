//! What can go wrong, and where.

use std::collections::BTreeMap;
use std::fmt;

use engine::ports::Point;

use super::fixtures::TARGETS;

/// What can go wrong at a side effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The process dies, nothing of the effect is done.
    Crash,
    /// The process dies, the effect is done and nobody heard of it.
    CrashAfter,
    /// Another writer comes in between.
    Conflict,
    /// The other side cannot be reached; nothing is done.
    Unavailable,
    /// The answer of the other side is lost on the way.
    AnswerLost,
    /// A push is sent and nothing of it arrives; nobody is told.
    NotTaken,
    /// The objects of a push arrive and no ref moves; nobody is told.
    ObjectsAlone,
    /// Some refs of a push move; nobody is told.
    HalfTaken,
    /// The other side cannot be reached for some time.
    Away,
    /// What no ref needs goes, as `git gc --prune=now` does it.
    Pruned,
    /// A repository is put back to an older copy.
    Restored,
    /// A repository is made anew, with nothing of what it held.
    Emptied,
    /// A ref leads nowhere.
    Nowhere,
    /// A watch loses an event, ends, and starts anew.
    Lost,
    /// A watch tells an event twice.
    Doubled,
    /// A watch tells two events in the wrong order.
    Reordered,
    /// A watch tells an event late.
    Late,
    /// A watch starts with a list from the past.
    Stale,
    /// The journal is gone after a crash.
    JournalLost,
    /// What a crash found written and not durable is gone, or is not.
    Torn,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A fault at a side effect.
pub type Strike = (String, Fault);

/// How often each fault struck at each side effect.
pub type Tally = BTreeMap<Strike, u64>;

/// Points of a store that writes in place.
const LOCAL: &[&str] = &[
    "BeforePack",
    "PackWritten",
    "PackDurable",
    "JournalWritten",
    "JournalDurable",
    "RefMoved",
    "RefsWritten",
    "BeforeAnswer",
    "BeforeSettle",
];
/// Points of a store that pushes.
const REMOTE: &[&str] = &[
    "BeforePack",
    "PackWritten",
    "PackDurable",
    "JournalWritten",
    "JournalDurable",
    "PendingWritten",
    "BeforePush",
    "BeforeRemoval",
    "PushTaken",
    "PushAnswered",
    "RefsWritten",
    "BeforeAnswer",
    "BeforeSettle",
    "BeforeFetch",
];
/// Points of the engine.
const ENGINE: &[Point] = &[
    Point::Derived,
    Point::Published,
    Point::Recorded,
    Point::Settled,
    Point::BeforeStatus,
    Point::BeforeVariant,
    Point::BeforeFinalizer,
];
/// Writes of the object store.
const WRITES: &[&str] = &[
    "record",
    "variant status",
    "set status",
    "repository status",
    "finalizers",
    "create variant",
    "update variant",
    "delete variant",
];
/// Watches.
const WATCHES: &[&str] = &["records", "variants", "sets", "repositories", "objects"];

/// Every fault at every side effect: what a run of many seeds must have struck with.
pub fn all() -> Vec<Strike> {
    let mut all = Vec::new();
    let mut add = |effect: String, faults: &[Fault]| {
        all.extend(faults.iter().map(|f| (effect.clone(), *f)));
    };
    for point in LOCAL {
        add(format!("git in place: {point}"), &[Fault::Crash]);
    }
    for point in REMOTE {
        let more: &[Fault] = match *point {
            "BeforePush" | "BeforeRemoval" | "BeforeFetch" => &[Fault::Crash, Fault::Unavailable],
            "PushTaken" => &[Fault::Crash, Fault::AnswerLost],
            _ => &[Fault::Crash],
        };
        add(format!("git remote: {point}"), more);
    }
    let on_the_way = [Fault::NotTaken, Fault::ObjectsAlone, Fault::HalfTaken];
    add("git remote: on the way".into(), &on_the_way);
    add("git remote".into(), &[Fault::Away]);
    for (_, url) in TARGETS {
        let befalls = [Fault::Pruned, Fault::Restored, Fault::Emptied];
        add(format!("repository {url}"), &befalls);
    }
    add(format!("repository {}", TARGETS[0].1), &[Fault::Nowhere]);
    add("git: submit, branch moves".into(), &[Fault::Conflict]);
    add("git: submit, draft moves".into(), &[Fault::Conflict]);
    for point in ENGINE {
        add(format!("engine: {point:?}"), &[Fault::Crash]);
    }
    for write in WRITES {
        let conflict = !matches!(*write, "create variant" | "delete variant");
        let faults = [Fault::Crash, Fault::CrashAfter, Fault::Unavailable];
        add(format!("objects: {write}"), &faults);
        if conflict {
            add(format!("objects: {write}"), &[Fault::Conflict]);
        }
    }
    for read in [
        "get record",
        "look for a retired name",
        "get variant",
        "get set",
        "get repository",
        "get object",
        "get namespace",
        "may select",
        "follow kind",
        "list now",
    ] {
        add(format!("objects: {read}"), &[Fault::Unavailable]);
    }
    for watch in WATCHES {
        let event = [Fault::Lost, Fault::Doubled, Fault::Reordered, Fault::Late];
        add(format!("watch: {watch}"), &event);
        add(format!("watch: {watch}"), &[Fault::Stale]);
    }
    add("restart".into(), &[Fault::JournalLost, Fault::Torn]);
    all
}

/// Places where a script lets the process die, beside those of [`all`].
const SCRIPTED: &[&str] = &[
    "objects: event",
    "git: open",
    "git: fetch",
    "git: submit",
    "git: submit, done",
    "git: ask for an outcome",
    "git: read the journal",
    "git: settle",
    "git: settle, done",
];

/// Every failpoint of the crash matrix, by name.
pub(super) fn failpoints() -> Vec<String> {
    let mut names: Vec<String> = SCRIPTED.iter().map(|s| (*s).to_owned()).collect();
    for (effect, fault) in all() {
        names.extend(match fault {
            Fault::Crash => Some(effect),
            Fault::CrashAfter => Some(format!("{effect}, done")),
            // Where something can be unreachable, or late, the process can die as well.
            Fault::Unavailable | Fault::Stale => Some(effect),
            _ => None,
        });
    }
    names.sort();
    names.dedup();
    names
}
