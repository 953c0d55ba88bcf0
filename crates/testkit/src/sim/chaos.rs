//! Decides at every side effect whether a fault strikes, and counts what did.
//!
//! Every wrapper asks here, in the order in which the one thread comes by: a seed replays exactly.
//! A seed has a focus, one fault at one side effect that strikes far more often than others, so
//! that a few hundred seeds strike with each of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{Delivery, FaultVerdict};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::dice::Dice;
use super::faults::{Fault, Strike, Tally, all};

/// Crashes of one walk: more, and it would never get anywhere.
const CRASHES: u32 = 8;
/// Writes of one walk: more, and somebody works without end.
const WRITES_IN_ALL: u32 = 1_500;
/// How often the focus strikes.
const FOCUS: u32 = 2;

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
    /// Whether a push got lost on the way.
    lost: bool,
    /// Remotes that cannot be reached, and until when.
    away: BTreeMap<String, Instant>,
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
                lost: false,
                away: BTreeMap::new(),
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

    /// Whether this seed is about what befalls repositories.
    pub(super) fn is_about_remotes(&self) -> bool {
        let inner = self.inner();
        let focus = inner.focus.as_ref().map(|(effect, _)| effect.as_str());
        focus.is_some_and(|effect| effect.starts_with("repository ") || effect == "git remote")
    }

    /// What this seed is about.
    pub(super) fn focus(&self) -> Option<Strike> {
        self.inner().focus.clone()
    }

    /// Whether faults strike from now on.
    pub(super) fn set_on(&self, on: bool) {
        let inner = &mut *self.inner();
        inner.on = on;
        inner.away.clear();
    }

    /// Whether a push got lost on the way.
    pub(super) fn is_lost(&self) -> bool {
        self.inner().lost
    }

    /// The same, and from now on none.
    pub(super) fn take_lost(&self) -> bool {
        std::mem::take(&mut self.inner().lost)
    }

    /// A remote cannot be reached until then.
    pub(super) fn go_away(&self, url: &str, until: Instant) {
        self.inner().away.insert(url.to_owned(), until);
    }

    fn is_away(&self, url: &str) -> bool {
        let away = self.inner().away.get(url).copied();
        away.is_some_and(|until| Instant::now() < until)
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
    fn at(&self, url: &str, point: store::Point) -> FaultVerdict {
        use store::Point;
        if !self.alive() {
            return FaultVerdict::Die;
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
        let asks = matches!(
            point,
            Point::BeforePush | Point::BeforeRemoval | Point::BeforeFetch
        );
        if asks && self.is_away(url) {
            return FaultVerdict::Unreachable;
        }
        match self.strike(&format!("git {place}: {point:?}"), faults) {
            Some(Fault::Unavailable) => FaultVerdict::Unreachable,
            Some(Fault::AnswerLost) => FaultVerdict::Lose,
            Some(_) => {
                self.kill();
                FaultVerdict::Die
            }
            None => FaultVerdict::Go,
        }
    }
}

/// The way to other repositories.
impl store::Wire for Chaos {
    fn push(&self, _url: &str, refs: usize) -> Delivery {
        let faults = [Fault::NotTaken, Fault::ObjectsAlone, Fault::HalfTaken];
        // Of one ref there is no half.
        let faults = if refs > 1 { &faults[..] } else { &faults[..2] };
        let struck = self.strike("git remote: on the way", faults);
        self.inner().lost |= struck.is_some();
        match struck {
            Some(Fault::NotTaken) => Delivery::Nothing,
            Some(Fault::ObjectsAlone) => Delivery::Objects,
            Some(Fault::HalfTaken) => Delivery::Half,
            _ => Delivery::Through,
        }
    }
}
