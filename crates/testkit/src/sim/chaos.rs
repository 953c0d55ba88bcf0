//! Decides at every side effect whether a fault strikes, and counts what did.
//!
//! Every wrapper asks here, in the order in which the one thread comes by: a seed replays exactly.
//! A seed has a focus, one fault at one side effect that strikes far more often than others, so
//! that a few hundred seeds strike with each of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::ports::Point;
use store::Verdict;
use tokio::sync::Notify;

use super::dice::Dice;

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

/// Crashes of one walk: more, and it would never get anywhere.
const CRASHES: u32 = 8;
/// Writes of one walk: more, and somebody works without end.
const WRITES_IN_ALL: u32 = 1_500;
/// How often the focus strikes.
const FOCUS: u32 = 2;

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
    Point::Cooked,
    Point::Shelved,
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

/// What decides where a process dies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Script {
    /// The seed.
    #[default]
    Dice,
    /// Nothing does: what could is counted.
    Count,
    /// One hit of one failpoint, counted from 1.
    Once {
        /// Its name.
        point: String,
        /// Which hit.
        hit: u64,
    },
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

#[derive(Debug)]
struct Inner {
    dice: Dice,
    script: Script,
    /// How often each failpoint was passed, while counting.
    hits: BTreeMap<String, u64>,
    on: bool,
    tally: Tally,
    focus: Option<Strike>,
    focus_left: u32,
    crashes_left: u32,
    writes_left: u32,
    /// Which start of the process runs, if one does.
    alive: Option<u64>,
    started: u64,
    /// A digest of every question and answer: two runs of a seed must agree in it.
    trace: u64,
    said: Vec<String>,
}

/// The one that decides.
#[derive(Debug)]
pub(super) struct Chaos {
    inner: Mutex<Inner>,
    pub(super) died: Notify,
}

impl Chaos {
    /// Quiet until [`Chaos::set_on`].
    pub(super) fn new(seed: u64) -> Arc<Self> {
        Self::with(seed, Script::Dice)
    }

    /// Quiet until [`Chaos::set_on`], then as the script says.
    pub(super) fn with(seed: u64, script: Script) -> Arc<Self> {
        let all = all();
        let at = usize::try_from(seed).unwrap_or(0) % all.len().max(1);
        Arc::new(Self {
            inner: Mutex::new(Inner {
                dice: Dice::new(seed),
                script,
                hits: BTreeMap::new(),
                on: false,
                tally: Tally::new(),
                focus: all.get(at).cloned(),
                focus_left: FOCUS,
                crashes_left: CRASHES,
                writes_left: WRITES_IN_ALL,
                alive: None,
                started: 0,
                trace: 0xcbf2_9ce4_8422_2325,
                said: Vec::new(),
            }),
            died: Notify::new(),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this seed is about what only sets do: then its walk is, too.
    pub(super) fn is_about_sets(&self) -> bool {
        let of_sets = ["variant", "Variant", "set status", "watch: sets"];
        let inner = self.inner();
        let focus = inner.focus.as_ref().map(|(effect, _)| effect.as_str());
        focus.is_some_and(|effect| {
            !effect.ends_with("variant status") && of_sets.iter().any(|s| effect.contains(s))
        })
    }

    /// Whether faults strike from now on.
    pub(super) fn set_on(&self, on: bool) {
        self.inner().on = on;
    }

    /// A new process; returns its number.
    pub(super) fn start(&self) -> u64 {
        let mut inner = self.inner();
        inner.started += 1;
        inner.alive = Some(inner.started);
        inner.started
    }

    /// Whether this process lives.
    pub(super) fn lives(&self, process: u64) -> bool {
        self.inner().alive == Some(process)
    }

    /// Whether any process lives.
    pub(super) fn alive(&self) -> bool {
        self.inner().alive.is_some()
    }

    /// Ends the process.
    pub(super) fn kill(&self) {
        self.inner().alive = None;
        self.died.notify_one();
    }

    /// Counts a write; the process dies of one too many, since time would never go on.
    pub(super) fn writes(&self) {
        let left = {
            let mut inner = self.inner();
            inner.writes_left = inner.writes_left.saturating_sub(1);
            inner.writes_left
        };
        if left == 0 {
            self.kill();
        }
    }

    /// Whether somebody works without end.
    pub(super) fn spins(&self) -> bool {
        self.inner().writes_left == 0
    }

    /// Which of these faults strikes at a side effect; the first that does.
    pub(super) fn strike(&self, effect: &str, faults: &[Fault]) -> Option<Fault> {
        let inner = &mut *self.inner();
        if !inner.on || inner.alive.is_none() {
            return None;
        }
        if inner.script != Script::Dice {
            let of_script = |f: &Fault| inner.is_hit(effect, *f);
            return faults.iter().copied().find(of_script);
        }
        let hit = faults.iter().copied().find(|f| inner.hits(effect, *f));
        inner.note(effect);
        if let Some(fault) = hit {
            *inner.tally.entry((effect.to_owned(), fault)).or_default() += 1;
            inner.say(format!("{fault} at {effect}"));
            if matches!(fault, Fault::Crash | Fault::CrashAfter) {
                inner.crashes_left = inner.crashes_left.saturating_sub(1);
            }
        }
        hit
    }

    /// Whether the process dies here, where a script may say so and the dice never do; then it is dead.
    pub(super) fn dies(&self, effect: &str) -> bool {
        let dies = {
            let inner = &mut *self.inner();
            inner.on && inner.alive.is_some() && inner.is_hit(effect, Fault::Crash)
        };
        if dies {
            self.kill();
        }
        dies
    }

    /// How often a process died.
    pub(super) fn deaths(&self) -> u64 {
        self.inner().started.saturating_sub(1)
    }

    /// How often each failpoint was passed, once a script counted.
    pub(super) fn hits(&self) -> BTreeMap<String, u64> {
        self.inner().hits.clone()
    }

    /// Rolls for whoever needs more than a yes or no.
    pub(super) fn roll(&self, sides: u64) -> u64 {
        self.inner().dice.roll(sides)
    }

    /// Counts what struck without a question.
    pub(super) fn struck(&self, effect: &str, fault: Fault) {
        let inner = &mut *self.inner();
        *inner.tally.entry((effect.to_owned(), fault)).or_default() += 1;
        inner.say(format!("{fault} at {effect}"));
    }

    /// Notes what happens, for whoever reads a failure.
    pub(super) fn say(&self, what: impl Into<String>) {
        self.inner().say(what.into());
    }

    /// What struck, the digest of the run, and its story.
    pub(super) fn read(&self) -> (Tally, u64, Vec<String>) {
        let inner = self.inner();
        (inner.tally.clone(), inner.trace, inner.said.clone())
    }
}

impl Inner {
    /// Whether a script says that the process dies here.
    fn is_hit(&mut self, effect: &str, fault: Fault) -> bool {
        let name = match fault {
            Fault::Crash => effect.to_owned(),
            Fault::CrashAfter => format!("{effect}, done"),
            _ => return false,
        };
        let hits = self.hits.entry(name.clone()).or_default();
        *hits += 1;
        let now = *hits;
        match &self.script {
            Script::Once { point, hit } if *point == name && *hit == now => {
                self.say(format!("the process dies at {name}, hit {now}"));
                true
            }
            _ => false,
        }
    }

    fn hits(&mut self, effect: &str, fault: Fault) -> bool {
        let crash = matches!(fault, Fault::Crash | Fault::CrashAfter);
        if crash && self.crashes_left == 0 {
            return false;
        }
        let focus = self
            .focus
            .as_ref()
            .is_some_and(|(e, f)| e == effect && *f == fault);
        if focus && self.focus_left > 0 && self.dice.one_in(2) {
            self.focus_left -= 1;
            return true;
        }
        self.dice.one_in(if crash { 250 } else { 40 })
    }

    fn note(&mut self, text: &str) {
        for byte in text.bytes() {
            self.trace = (self.trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn say(&mut self, what: String) {
        self.note(&what);
        let line = format!("process {}: {what}", self.started);
        self.said.push(line);
    }
}

/// The store's points.
impl store::Faults for Chaos {
    fn at(&self, url: &str, point: store::Point) -> Verdict {
        use store::Point;
        if !self.alive() {
            return Verdict::Die;
        }
        let place = if url.starts_with("file:") {
            "in place"
        } else {
            "remote"
        };
        let faults: &[Fault] = match point {
            Point::BeforePush | Point::BeforeRemoval | Point::BeforeFetch => {
                &[Fault::Crash, Fault::Unavailable]
            }
            Point::PushTaken => &[Fault::Crash, Fault::AnswerLost],
            _ => &[Fault::Crash],
        };
        match self.strike(&format!("git {place}: {point:?}"), faults) {
            Some(Fault::Unavailable) => Verdict::Unreachable,
            Some(Fault::AnswerLost) => Verdict::Lose,
            Some(_) => {
                self.kill();
                Verdict::Die
            }
            None => Verdict::Go,
        }
    }
}
