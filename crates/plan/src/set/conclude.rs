//! What follows from the comparison: which changes are made now, which wait, and what the status says (S2, S3).

use std::sync::Arc;

use model::{Condition, OnError, Status, VariantSet};

use super::diff::{Desired, Diff};
use super::guard::{self, Verdict};
use super::observed::{Existing, Observed};
use super::status::{self, Failure};
use super::unroll::Unrolled;
use super::{Plan, Step};
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
    let pace = Pace::of(set, &ours, &mut writes);
    let halt = Halt {
        stopped,
        stuck: unrolled.unknown() > 0 || desired.unknown,
        waiting: pace.waiting,
    };
    let verdict = judge(o, set, &ours, surplus, &halt, unrolled, &mut report);
    let mut steps = writes;
    steps.extend(verdict.delete.iter().filter_map(|v| {
        Some(Step::Delete {
            key: v.key.clone(),
            uid: v.meta.uid.clone()?,
        })
    }));
    state(&steps, &halt, &failures, &verdict).clone_into(&mut report.state);
    if set.spec.suspend {
        return status::suspended(o, report, unrolled, &steps, &failures);
    }
    let mut status = status::of(o, unrolled, &ours, &steps, &failures, &verdict, stopped);
    if halt.deletions() {
        status
            .confirmed_deletions
            .clone_from(&o.status.confirmed_deletions);
    }
    pace.tell(&mut status.conditions, &mut report);
    explain(&failures, &verdict, &mut report);
    Plan {
        steps,
        report,
        status,
        next: Next::Rest,
    }
}

/// How it stands, in a few words.
fn state(steps: &[Step], halt: &Halt, failures: &[Failure], verdict: &Verdict) -> &'static str {
    if !steps.is_empty() || halt.waiting > 0 {
        "out of step"
    } else if !failures.is_empty() {
        "not everything can be made"
    } else if !verdict.held.is_empty() {
        "waiting for a confirmation"
    } else {
        "up to date"
    }
}

/// Everything that cannot be, unknown selections first.
fn failures(unrolled: &Unrolled, desired: &Desired) -> Vec<Failure> {
    let mut failures: Vec<Failure> = unrolled.lost.clone();
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
        report.note(format!(
            "{} package variant(s) are wanted no more, but nothing is deleted while a target is unknown",
            surplus.len()
        ));
    }
    let considered = if halt.deletions() {
        Vec::new()
    } else {
        surplus
    };
    guard::judge(o, set, ours.len(), considered, !unrolled.empty.is_empty())
}

fn explain(failures: &[Failure], verdict: &Verdict, report: &mut Report) {
    for (_, message) in failures {
        report.note(message.clone());
    }
    if !verdict.held.is_empty() {
        report.hint(
            format!("{} deletion(s) wait for a confirmation", verdict.held.len()),
            format!("annotate the set with {}={}", super::CONFIRM, verdict.hash),
        );
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
    fn of(set: &VariantSet, ours: &[Arc<Existing>], writes: &mut Vec<Step>) -> Self {
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
        let message = format!(
            "{} change(s) wait: {} of at most {} package variants are in flight",
            self.waiting, self.in_flight, self.most
        );
        report.note(message.clone());
        let ready = conditions.iter_mut().find(|c| c.kind == "Ready");
        if let Some(ready) = ready.filter(|c| c.status == Status::True) {
            *ready = Condition::new("Ready", Status::False, "InFlight", message);
        }
    }
}
