//! Rolls out what a set wants in steps (F7): which targets are written now, and which wait for their step.
//!
//! It gates on commits that are published, never on `Ready`; what it remembers stands in the set's status, and what it
//! did to a variant on the variant, written together with its spec. So a process that dies in any step forgets nothing.

mod measure;
mod members;
mod news;
mod undo;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Condition, MemberMark, ObjectName, Pairs, Rollout, RolloutState, RolloutStatus, Status,
    StepStatus, Uid, UidMark, Upstream, VariantSet, VariantSpec,
};

use super::guard::uid_mark;
use super::observed::Observed;
use crate::Report;
use crate::digest::wanted;
use members::Target;
pub use members::{Place, steps};
pub(super) use news::news;
use walk::Walk;

/// On a set (any value): no further step opens while it stands.
pub const PAUSE: &str = "offshoot.dev/rollout-pause";
/// On a set: try again after a halt; any new value asks again.
pub const RETRY: &str = "offshoot.dev/rollout-retry";
/// On a set: the id of the rollout to take back (F8). It ends when it is removed, or with another `spec.upstream`.
pub const UNDO: &str = "offshoot.dev/rollout-undo";

/// What becomes of a target.
#[derive(Debug)]
pub(super) enum Fate {
    /// It is written as it is wanted, with this mark.
    Write(MemberMark),
    /// It is as it is wanted already.
    Stay,
    /// It waits for its step: its variant stays as it is, and none is made.
    Wait,
    /// Its variant gets this spec instead (F8).
    Instead(Box<VariantSpec>),
}

/// What a rollout comes to.
#[derive(Debug)]
pub(super) struct Steered {
    pub(super) status: RolloutStatus,
    pub(super) fates: BTreeMap<ObjectName, Fate>,
    /// The name of each target's step.
    pub(super) steps: BTreeMap<ObjectName, String>,
    /// How many targets are not as they are wanted, and wait for their step or for the end of an undo.
    pub(super) waiting: usize,
    /// In how many seconds the next step may open.
    pub(super) after: Option<i64>,
    pub(super) notes: Vec<String>,
}

/// Decides which of the wanted targets are written now.
pub(super) fn steer<'a>(
    o: &'a Observed,
    (set, uid): (&VariantSet, &Uid),
    rollout: &Rollout,
    upstreams: &[&Upstream],
    all: impl Iterator<Item = (&'a ObjectName, &'a VariantSpec, bool)>,
    certain: bool,
) -> Steered {
    let ours: BTreeMap<&ObjectName, _> = o
        .variants
        .iter()
        .filter(|v| v.meta.is_owned_by(uid))
        .map(|v| (&v.key.name, v))
        .collect();
    let targets: Vec<Target<'a>> = all
        .map(|(name, wanted, is_written)| {
            let variant = ours.get(name).copied();
            Target {
                name,
                wanted,
                variant,
                mark: variant.and_then(|v| members::mark(v)),
                is_written: is_written && variant.is_some(),
                labels: o
                    .repositories
                    .get(&wanted.downstream.repo)
                    .map(|r| &r.labels),
            }
        })
        .collect();
    if let Some(undone) = undo::of(o, set, &ours, &targets) {
        return undone;
    }
    let mut notes = Vec::new();
    let mut status = begin(o, (set, uid), upstreams, &targets, certain, &mut notes);
    named(rollout, &mut status);
    answer(set, &mut status);
    Walk {
        o,
        rollout,
        paused: set.meta.annotations.contains_key(PAUSE),
        certain,
        targets: &targets,
        notes,
    }
    .walk(status)
}

/// The rollout that goes on, or the one that begins: with other upstream commits, or where what is wanted changed
/// after every step was done.
fn begin(
    o: &Observed,
    (set, uid): (&VariantSet, &Uid),
    upstreams: &[&Upstream],
    targets: &[Target<'_>],
    certain: bool,
    notes: &mut Vec<String>,
) -> RolloutStatus {
    let wants = wanted::wants(upstreams.iter().copied());
    let asked = wanted::asked(&set.spec.upstreams);
    let before = o.status.rollout.as_ref();
    // Somebody edited a variant by hand: it is written back, and nothing else is wanted.
    let by_hand = |t: &Target<'_>| {
        let mark = t.mark.as_ref();
        mark.is_some_and(|mark| mark.spec == wanted::spec(t.wanted))
    };
    let anew = |t: &Target<'_>| t.variant.is_some() && !t.is_written && !by_hand(t);
    if let Some(before) = before {
        let known = newest(targets) <= wanted::number(&before.id);
        let same = known && before.wants == wants;
        let same = same && !(before.complete && targets.iter().any(anew));
        if same || !certain {
            let mut status = before.clone();
            status.asked = asked;
            // What was taken back is rolled out again, step by step.
            if status.state == RolloutState::Undone {
                status.created.clear();
                status.steps.iter_mut().for_each(|s| s.filled = None);
            }
            // A share is of what is there when the first step opens.
            if certain && status.steps.iter().all(|s| s.opened.is_none()) {
                status.total = targets.len();
                status.awaited = unmade(targets);
            }
            let waiting = unmade(targets);
            status.awaited.retain(|mark| waiting.contains(mark));
            return status;
        }
        if !before.complete && before.state != RolloutState::Undone {
            notes.push(format!(
                "rollout {} is restarted: another upstream is wanted",
                before.id
            ));
        }
    }
    RolloutStatus {
        id: next(uid, before.map_or("", |b| b.id.as_str()), &wants, targets),
        wants,
        asked,
        total: targets.len(),
        began: o.now,
        retried: before.and_then(|b| b.retried.clone()),
        awaited: unmade(targets),
        ..RolloutStatus::default()
    }
}

/// The targets that have no variant.
fn unmade(targets: &[Target<'_>]) -> BTreeSet<UidMark> {
    let new = targets.iter().filter(|t| t.variant.is_none());
    new.map(|t| uid_mark(t.name.as_str())).collect()
}

/// The highest number of a rollout that a target was reached by. One that is beyond what is remembered was begun by a
/// process that died before it could note it.
fn newest(targets: &[Target<'_>]) -> u64 {
    let marks = targets.iter().filter_map(|t| t.mark.as_ref());
    let numbers = marks.map(|mark| wanted::number(&mark.rollout));
    numbers.max().unwrap_or(0)
}

/// The name of the rollout that begins: another one than all that ever reached a target, unless it is that very one.
fn next(uid: &Uid, before: &str, wants: &str, targets: &[Target<'_>]) -> String {
    let number = newest(targets).max(wanted::number(before) + 1);
    let id = wanted::rollout(uid, number, before, wants);
    let mut marks = targets.iter().filter_map(|t| t.mark.as_ref());
    let other = marks.any(|m| wanted::number(&m.rollout) == number && m.rollout != id);
    match other {
        true => wanted::rollout(uid, number + 1, before, wants),
        false => id,
    }
}

/// The steps of the spec, each with what is remembered under its name.
fn named(rollout: &Rollout, status: &mut RolloutStatus) {
    let old = std::mem::take(&mut status.steps);
    let steps = rollout.steps.iter().map(|step| {
        let known = old.iter().find(|s| s.name == step.name).cloned();
        known.unwrap_or_else(|| StepStatus {
            name: step.name.clone(),
            ..StepStatus::default()
        })
    });
    status.steps = steps.collect();
}

/// A request to try again ends a halt; what halts it still does so anew.
fn answer(set: &VariantSet, status: &mut RolloutStatus) {
    let asked = set.meta.annotations.get(RETRY);
    if asked.is_some() && status.retried.as_ref() != asked {
        status.halted = None;
        status.retried = asked.cloned();
    }
}

/// Says in the report how the rollout stands, and who ends what holds it. The set is not `Ready` while targets wait for
/// their step: `Ready` says that all variants are as specified (S6).
pub(super) fn tell(
    set: &VariantSet,
    steered: &Steered,
    conditions: &mut [Condition],
    report: &mut Report,
) {
    let (status, name) = (&steered.status, &set.key.name);
    let how = format!("rollout {}: {}", status.id, told(status));
    let resume = format!("offshoot rollout resume {name}");
    match status.state {
        RolloutState::Halted if status.halted.is_some() => report.hint(
            how,
            format!("mend it, then offshoot rollout retry {name}; or offshoot rollout undo {name}"),
        ),
        RolloutState::Paused | RolloutState::Undone => report.hint(how, resume),
        RolloutState::Complete => {}
        _ => report.note(how),
    }
    if let Some(diverged) = status.diverged() {
        report.note(format!("rollout {}: {diverged}", status.id));
    }
    if steered.waiting == 0 {
        return;
    }
    if report.state == "up to date" {
        "rolling out".clone_into(&mut report.state);
    }
    let message = match status.state {
        RolloutState::Undone => {
            format!("{} target(s) wait until somebody resumes", steered.waiting)
        }
        _ => format!(
            "{} target(s) wait for their step of the rollout",
            steered.waiting
        ),
    };
    let ready = conditions.iter_mut().find(|c| c.kind == "Ready");
    if let Some(ready) = ready.filter(|c| c.status == Status::True) {
        *ready = Condition::new("Ready", Status::False, "RollingOut", message);
    }
}

/// How it stands, with the reason.
fn told(status: &RolloutStatus) -> String {
    match status.message.as_str() {
        "" => status.progress(),
        message => format!("{}: {message}", status.progress()),
    }
}

/// `RolledOut`: whether every step is done.
pub(super) fn condition(status: &RolloutStatus) -> Condition {
    let verdict = match status.state {
        RolloutState::Complete => Status::True,
        _ => Status::False,
    };
    let message = format!("rollout {}: {}", status.id, told(status));
    Condition::new(ROLLED_OUT, verdict, status.state.word(), message)
}

/// Condition: every step of the rollout is done (F7).
const ROLLED_OUT: &str = "RolledOut";

/// The annotations of a variant with its mark; without any, where it has none.
pub(super) fn write(annotations: &mut Pairs, mark: Option<&MemberMark>) {
    let name = crate::variant::words::ROLLOUT;
    match mark {
        Some(mark) => drop(annotations.insert(name.to_owned(), mark.to_string())),
        None => drop(annotations.remove(name)),
    }
}
