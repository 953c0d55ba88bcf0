//! What follows from the comparison: which changes are made now, which wait, and what the status says (S2, S3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use model::{Condition, ObjectName, OnError, Status, VariantSet};

use super::diff::{Desired, Diff};
use super::guard::{self, Candidates, Doubt, Verdict};
use super::observed::{Existing, Observed};
use super::rollout::{self, Steered};
use super::status;
use super::unroll::{UnrollFailure, Unrolled};
use super::{Plan, SetStep};
use crate::report::counted;
use crate::{Next, Report};

/// Why less is done than the comparison says.
struct Halt {
    /// A failure stops everything, as the set asks (`onError: Stop`).
    stopped: bool,
    /// Some target's place is unknown: nothing may be deleted (S2).
    stuck: bool,
    /// Changes that wait until others are done (`maxInFlight`): deletions come last.
    waiting: usize,
}

impl Halt {
    fn deletions(&self) -> bool {
        self.stopped || self.stuck || self.waiting > 0
    }
}

pub(super) fn conclude(
    o: &Observed,
    set: &VariantSet,
    unrolled: &Unrolled,
    desired: &Desired,
    difference: Diff,
    mut steered: Option<&mut Steered>,
) -> Plan {
    let mut report = Report::of("up to date");
    let failures = failures(unrolled, desired);
    let Diff {
        mut writes,
        surplus,
        ours,
    } = difference;
    let stopped = set.spec.on_error == OnError::Stop && !failures.is_empty();
    if stopped {
        writes.clear();
    }
    let all = names(&writes);
    let pace = Pace::of(set, &ours, &mut writes);
    let steering = steered
        .as_deref_mut()
        .filter(|_| !stopped && !set.spec.suspend);
    let remembered = steering.map_or(0, |steered| steered.remember(o, (&ours, &all), &mut writes));
    let halt = Halt {
        stopped,
        stuck: unrolled.is_stuck() || desired.unknown,
        waiting: pace.waiting + remembered,
    };
    let steered = steered.as_deref();
    let verdict = judge(o, set, &ours, surplus, &halt, unrolled, &mut report);
    let mut steps = writes;
    steps.extend(deletions(&verdict));
    let due = newly_decided(o, &verdict);
    let changes = steps.len() + halt.waiting + due;
    state(changes, &failures, &verdict).clone_into(&mut report.state);
    explain(o, &failures, &verdict, &mut report);
    let none = BTreeMap::new();
    let early = Some(steered.map_or(&none, |s| &s.early));
    if set.spec.suspend {
        let waiting = &verdict.waiting;
        let mut plan = status::suspended(o, report, unrolled, &steps, &failures, waiting, early);
        if let Some(steered) = steered {
            plan.status.rollout = rollout::suspended(o, steered);
        }
        rolls(o, set, steered, &mut plan);
        plan.next = sooner(plan.next, steered);
        return plan;
    }
    let told = (stopped, early);
    let mut status = status::of(o, unrolled, &ours, &steps, &failures, &verdict, told);
    status::deleting(&mut status.conditions, due);
    pace.tell(&mut status.conditions, &mut report);
    status.rollout = steered.map(|s| s.status.clone());
    if stopped && steered.is_some() {
        status.rollout.clone_from(&o.status.rollout);
    }
    let mut plan = Plan {
        targets: BTreeMap::new(),
        early: BTreeMap::new(),
        steps,
        report,
        status,
        held: held(&verdict),
        next: match remembered {
            0 => sooner(next(o, &verdict), steered),
            _ => Next::Again,
        },
    };
    rolls(o, set, steered, &mut plan);
    plan
}

/// What of the surplus goes.
fn deletions(verdict: &Verdict) -> impl Iterator<Item = SetStep> {
    verdict.delete.iter().filter_map(|v| {
        Some(SetStep::Delete {
            key: v.key.clone(),
            uid: v.meta.uid.clone()?,
        })
    })
}

/// Says in a plan how the rollout stands.
fn rolls(o: &Observed, set: &VariantSet, steered: Option<&Steered>, plan: &mut Plan) {
    let status = &mut plan.status;
    status::unreached(o, status);
    if let (Some(rollout), Some(steered)) = (status.rollout.as_ref(), steered) {
        let condition = rollout::condition((set, rollout), steered);
        status.conditions.push(condition);
        let told = (rollout, steered);
        rollout::tell(set, told, &mut status.conditions, &mut plan.report);
    }
}

/// The variants that are written.
fn names(writes: &[SetStep]) -> BTreeSet<ObjectName> {
    let named = writes.iter().filter_map(|step| match step {
        SetStep::Create(variant) | SetStep::Update { variant, .. } => {
            Some(variant.key.name.clone())
        }
        SetStep::Delete { .. } => None,
    });
    named.collect()
}

/// The variants that wait for a confirmation, by name.
fn held(verdict: &Verdict) -> Vec<ObjectName> {
    let held = verdict.hash.iter().flat_map(|_| &verdict.waiting);
    held.map(|v| v.key.name.clone()).collect()
}

/// Deletions that were decided just now: they are remembered first and done then (S3).
fn newly_decided(o: &Observed, verdict: &Verdict) -> usize {
    let decided = &verdict.memory.decided;
    decided.difference(&o.status.guard.decided).count()
}

fn next(o: &Observed, verdict: &Verdict) -> Next {
    if newly_decided(o, verdict) > 0 {
        return Next::Again;
    }
    match verdict.look_after {
        Some(seconds) => Next::After(Duration::from_secs(seconds)),
        None => Next::Rest,
    }
}

/// The earlier of two times to look again: this, and when a step may open.
fn sooner(next: Next, steered: Option<&Steered>) -> Next {
    let seconds = steered.and_then(|s| u64::try_from(s.after?).ok());
    match (next, seconds.map(Duration::from_secs)) {
        (Next::Rest, Some(time)) => Next::After(time),
        (Next::After(a), Some(b)) => Next::After(a.min(b)),
        (next, _) => next,
    }
}

/// How it stands, in a few words.
fn state(changes: usize, failures: &[UnrollFailure], verdict: &Verdict) -> &'static str {
    if changes > 0 {
        "out of step"
    } else if !failures.is_empty() {
        "not everything can be made"
    } else if verdict.hash.is_some() {
        "waiting for a confirmation"
    } else if !verdict.waiting.is_empty() {
        "waiting until the selection is quiet"
    } else {
        "up to date"
    }
}

/// Everything that cannot be, unknown selections first.
fn failures(unrolled: &Unrolled, desired: &Desired) -> Vec<UnrollFailure> {
    let mut failures: Vec<UnrollFailure> = unrolled.lost.clone();
    failures.extend(unrolled.failed.iter().cloned());
    failures.extend(desired.failed.iter().map(|f| (f.reason, f.message.clone())));
    failures
}

/// What of the surplus may go (S3), unless nothing may.
fn judge(
    o: &Observed,
    set: &VariantSet,
    ours: &[Arc<Existing>],
    surplus: Vec<Arc<Existing>>,
    halt: &Halt,
    unrolled: &Unrolled,
    report: &mut Report,
) -> Verdict {
    if (halt.stuck || halt.stopped) && !surplus.is_empty() {
        let surplus = counted(surplus.len(), "package variant is", "package variants are");
        report.note(format!(
            "{surplus} wanted no more, but nothing is deleted while a target is unknown"
        ));
    }
    if halt.deletions() {
        return Verdict::postponed(&o.status.guard, &surplus);
    }
    let doubt = match (unrolled.unserved, unrolled.empty.as_slice()) {
        (1.., _) => Doubt::Unserved,
        (0, []) => Doubt::None,
        (0, _) => Doubt::Empty,
    };
    let candidates = Candidates {
        surplus,
        present: ours.iter().filter(|v| !v.meta.is_deleting()).count(),
        doubt,
    };
    guard::judge(o, set, candidates)
}

fn explain(o: &Observed, failures: &[UnrollFailure], verdict: &Verdict, report: &mut Report) {
    for (_, message) in failures {
        report.note(message.clone());
    }
    let count = verdict.waiting.len();
    match &verdict.hash {
        Some(hash) => report.hint(
            counted(count, "deletion waits", "deletions wait") + " for a confirmation",
            format!("annotate the set with {}={hash}", super::CONFIRM),
        ),
        None if count > 0 => report.note(status::moving(count, o.quiet)),
        None => {}
    }
    for variant in &verdict.waiting {
        report.note(format!("would delete {}", variant.key.name));
    }
}

/// How many variants are changed at a time (`maxInFlight`).
struct Pace {
    waiting: usize,
    in_flight: usize,
    most: usize,
}

impl Pace {
    /// Leaves as many writes as there is room for: a variant is in flight until its controller has answered for its
    /// generation, whatever the answer.
    fn of(set: &VariantSet, ours: &[Arc<Existing>], writes: &mut Vec<SetStep>) -> Self {
        let unanswered = ours.iter().filter(|v| v.ready.0 == Status::Unknown);
        let in_flight = unanswered.filter(|v| !v.meta.is_deleting()).count();
        let most = set.spec.max_in_flight.unwrap_or(usize::MAX);
        let wanted = writes.len();
        writes.truncate(most.saturating_sub(in_flight));
        Self {
            waiting: wanted - writes.len(),
            in_flight: in_flight + writes.len(),
            most,
        }
    }

    fn tell(&self, conditions: &mut [Condition], report: &mut Report) {
        if self.waiting == 0 {
            return;
        }
        let waiting = counted(self.waiting, "change waits", "changes wait");
        let message = format!(
            "{waiting}: {} of at most {} package variants are in flight",
            self.in_flight, self.most
        );
        report.note(message.clone());
        let ready = conditions.iter_mut().find(|c| c.kind == "Ready");
        if let Some(ready) = ready.filter(|c| c.status == Status::True) {
            *ready = Condition::new("Ready", Status::False, "InFlight", message);
        }
    }
}
