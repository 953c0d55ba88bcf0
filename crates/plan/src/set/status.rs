//! A set's status: conditions in Porch's words, counts, and what applying brought (S6).

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Condition, Lifecycle, ObjectName, SetStatus, Standing, Status};

use super::guard::Verdict;
use super::observed::{Existing, Observed, QuietTime};
use super::ready::{Lacking, claimed, variants_ready};
use super::rollout::waits_for_step;
use super::step::Earliest;
use super::unroll::{UnrollFailure, Unrolled};
use super::{Plan, SetOutcome, SetStep};
use crate::news::turned;
use crate::report::counted;
use crate::variant::words::{RECONCILE, WRITER_UNKNOWN};
use crate::{News, Next, Report};

/// Reasons that pass by themselves: nobody has to act.
const PASSING: [&str; 2] = ["SelectionUnknown", "VariantDeleting"];

/// Whether a reason passes by itself.
pub(super) fn passes(reason: &str) -> bool {
    PASSING.contains(&reason)
}

/// How many failures or packages a message names.
const NAMED: usize = 3;
/// How many variants a condition names whose deletion waits.
const LISTED: usize = 10;
/// How many bytes of their names an event has room for: all of them, in as many events as that takes.
const EVENT: usize = 16 << 10;

/// Condition: deletions wait (S3).
const GUARDED: &str = "DeletionGuarded";
/// Its reason while targets leave and return.
const MOVING: &str = "SelectionMoving";
/// Its reason where somebody has to confirm them.
const CONFIRMATION: &str = "ConfirmationNeeded";

fn condition(kind: &str, status: Status, reason: &str, message: &str) -> Condition {
    Condition::new(kind, status, reason, message)
}

/// A plan that can do nothing: both conditions say why, as Porch's do.
pub(super) fn stop(o: &Observed, reason: &str, message: &str) -> Plan {
    let mut report = Report::of("stalled");
    report.note(format!("{reason}: {message}"));
    let mut status = begin(o);
    let variants: Vec<Arc<Existing>> = owned(o);
    count(&mut status, &variants);
    unreached(o, &mut status);
    // Which steps are closed is not known without the targets.
    let none = BTreeMap::new();
    let early = o.status.rollout.is_none().then_some(&none);
    status.conditions = vec![
        condition("Stalled", Status::True, reason, message),
        condition("Ready", Status::False, reason, message),
        variants_ready(&variants, 0, Lacking::Everything, early),
    ];
    if reason == WRITER_UNKNOWN {
        status.conditions.push(nobody_knows(message));
    }
    Plan {
        steps: Vec::new(),
        report,
        status,
        held: Vec::new(),
        targets: BTreeMap::new(),
        early: BTreeMap::new(),
        next: Next::Rest,
    }
}

/// The status as it stands, of this generation and for what was asked.
fn begin(o: &Observed) -> SetStatus {
    let meta = o.set.meta();
    SetStatus {
        observed_generation: meta.generation,
        handled: meta.annotations.get(RECONCILE).cloned(),
        upstream: followed(o),
        ..o.status.clone()
    }
}

/// The upstream packages by name, each once, in the set's order; as before while a source of them cannot be read.
fn followed(o: &Observed) -> String {
    if !o.unread.is_empty() {
        return o.status.upstream.clone();
    }
    let mut names: Vec<&str> = Vec::new();
    for followed in &o.upstreams {
        let name = followed.wanted.package.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(NAMED);
    let named = names.get(..NAMED).unwrap_or(&names).join(", ");
    match more {
        0 => named,
        _ => format!("{named} and {more} more"),
    }
}

fn owned(o: &Observed) -> Vec<Arc<Existing>> {
    let uid = o.set.meta().uid.as_ref();
    let mut owned: Vec<_> = o
        .variants
        .iter()
        .filter(|v| uid.is_some_and(|uid| v.meta.is_owned_by(uid)))
        .cloned()
        .collect();
    owned.sort_by(|a, b| a.key.name.cmp(&b.key.name));
    owned
}

/// A suspended set is told what would happen.
pub(super) fn suspended(
    o: &Observed,
    mut report: Report,
    unrolled: &Unrolled,
    steps: &[SetStep],
    failures: &[UnrollFailure],
    waiting: &[Arc<Existing>],
    early: Earliest<'_>,
) -> Plan {
    let mut status = begin(o);
    let variants = owned(o);
    count(&mut status, &variants);
    status.targets = unrolled.entries.len();
    status.failed = failures.len();
    let changes = steps.len() + waiting.len();
    let ready = if changes == 0 {
        report.note("suspended");
        reconciled()
    } else {
        "suspended".clone_into(&mut report.state);
        for step in steps {
            report.note(format!("would {}", step.summary()));
        }
        let waiting = counted(changes, "change waits", "changes wait");
        let message = format!("suspended; {waiting}");
        condition("Ready", Status::False, "Suspended", &message)
    };
    let new = steps
        .iter()
        .filter(|s| matches!(s, SetStep::Create(_)))
        .count();
    let lacking = Lacking::of(unrolled.unknown(), failures.len());
    let claimed = claimed(&variants, new).filter(|_| ready.status == Status::True);
    let ready = claimed.unwrap_or(ready);
    status.conditions = vec![
        valid(),
        ready,
        variants_ready(&variants, new, lacking, early),
    ];
    Plan {
        steps: Vec::new(),
        report,
        status,
        held: Vec::new(),
        targets: BTreeMap::new(),
        early: BTreeMap::new(),
        next: Next::Rest,
    }
}

fn valid() -> Condition {
    condition(
        "Stalled",
        Status::False,
        "Valid",
        "all validation checks passed",
    )
}

fn reconciled() -> Condition {
    let message = "package variants successfully reconciled";
    condition("Ready", Status::True, "Reconciled", message)
}

/// The status once the steps are done.
pub(super) fn of(
    o: &Observed,
    unrolled: &Unrolled,
    ours: &[Arc<Existing>],
    steps: &[SetStep],
    failures: &[UnrollFailure],
    verdict: &Verdict,
    (stopped, early): (bool, Earliest<'_>),
) -> SetStatus {
    let mut status = begin(o);
    count(&mut status, ours);
    let created = steps.iter().filter(|s| adds(s)).count();
    let deleted = steps
        .iter()
        .filter(|s| matches!(s, SetStep::Delete { .. }))
        .count();
    status.variants = (ours.len() + created).saturating_sub(deleted);
    status.targets = unrolled.entries.len();
    status.failed = failures.len();
    status.guard.clone_from(&verdict.memory);
    let guarded = guarded(o, verdict, ours.len());
    let (stalled, ready) = verdicts(
        failures,
        stopped || failures.len() >= (unrolled.entries.len() + unrolled.unknown()).max(1),
        guarded.as_ref(),
    );
    let lacking = Lacking::of(unrolled.unknown(), failures.len());
    let claimed = claimed(ours, created).filter(|_| ready.status == Status::True);
    let ready = claimed.unwrap_or(ready);
    status.conditions = vec![
        stalled,
        ready,
        variants_ready(ours, created, lacking, early),
    ];
    let mut unknown = failures
        .iter()
        .filter(|(reason, _)| *reason == WRITER_UNKNOWN);
    let unknown = unknown.next().map(|(_, message)| nobody_knows(message));
    status.conditions.extend(unknown);
    status.conditions.extend(guarded);
    if !unrolled.empty.is_empty() {
        let targets: Vec<String> = unrolled
            .empty
            .iter()
            .map(|i| format!("spec.targets[{i}]"))
            .collect();
        let message = format!("nothing is selected by {}", targets.join(", "));
        status.conditions.push(condition(
            "EmptySelection",
            Status::True,
            "NothingSelected",
            &message,
        ));
    }
    status
}

/// What is read for nobody, since nobody knows who wrote the set, and the way out (X6).
fn nobody_knows(message: &str) -> Condition {
    condition(WRITER_UNKNOWN, Status::True, "NoRecordedWriter", message)
}

/// Whether a step adds a variant to the set's: what is adopted was nobody's before (S8).
fn adds(step: &SetStep) -> bool {
    matches!(
        step,
        SetStep::Create(_) | SetStep::Update { adopt: true, .. }
    )
}

fn verdicts(
    failures: &[UnrollFailure],
    hopeless: bool,
    guarded: Option<&Condition>,
) -> (Condition, Condition) {
    let Some((reason, _)) = failures.first() else {
        let ready = guarded.map_or_else(reconciled, |guarded| {
            condition("Ready", Status::False, GUARDED, &guarded.message)
        });
        return (valid(), ready);
    };
    let message = summary(failures);
    let passing = failures.iter().any(|(reason, _)| passes(reason));
    let stalled = if hopeless && !passing {
        condition("Stalled", Status::True, reason, &message)
    } else {
        valid()
    };
    (stalled, condition("Ready", Status::False, reason, &message))
}

/// The first failures, and how many more there are.
pub(super) fn summary(failures: &[UnrollFailure]) -> String {
    let mut named: Vec<String> = failures
        .iter()
        .take(NAMED)
        .map(|(_, message)| message.clone())
        .collect();
    if failures.len() > NAMED {
        named.push(format!("and {} more", failures.len() - NAMED));
    }
    named.join("; ")
}

/// A set is not ready before deletions that were decided are carried out.
pub(super) fn deleting(conditions: &mut [Condition], due: usize) {
    let ready = conditions.iter_mut().find(|c| c.kind == "Ready");
    if let Some(ready) = ready.filter(|c| due > 0 && c.status == Status::True) {
        let next = counted(due, "package variant is", "package variants are");
        let message = format!("{next} deleted next");
        *ready = condition("Ready", Status::False, "Deleting", &message);
    }
}

/// Deletions that wait, with what lets them go: counted, and a few of them named.
fn guarded(o: &Observed, verdict: &Verdict, ours: usize) -> Option<Condition> {
    let names: Vec<&str> = verdict
        .waiting
        .iter()
        .map(|v| v.key.name.as_str())
        .collect();
    let count = names.len();
    if count == 0 {
        return None;
    }
    let mut named = names.get(..LISTED).unwrap_or(&names).join(", ");
    if count > LISTED {
        let (more, set) = (count - LISTED, &o.set.key().name);
        named = format!("{named} and {more} more, see `offshoot why pvset/{set}`");
    }
    let (reason, message) = match &verdict.hash {
        Some(hash) => (
            CONFIRMATION,
            format!(
                "{count} of {ours} package variants would be deleted ({named}); to confirm, annotate the set with {}={hash}",
                super::CONFIRM
            ),
        ),
        None => (MOVING, format!("{}: {named}", moving(count, o.quiet))),
    };
    Some(condition(GUARDED, Status::True, reason, &message))
}

/// That deletions wait until it is clear how many there are.
pub(super) fn moving(count: usize, quiet: QuietTime) -> String {
    let waiting = counted(count, "deletion waits", "deletions wait");
    format!(
        "{waiting} until no target has left or returned for {} s",
        quiet.quiet
    )
}

fn count(status: &mut SetStatus, ours: &[Arc<Existing>]) {
    status.variants = ours.len();
    status.ready = ours.iter().filter(|v| v.ready.0 == Status::True).count();
    status.stalled = ours.iter().filter(|v| v.stalled).count();
    let stand = |wanted: Lifecycle| ours.iter().filter(|v| v.lifecycle == Some(wanted)).count();
    status.drafts = stand(Lifecycle::Draft);
    status.proposed = stand(Lifecycle::Proposed);
    status.published = stand(Lifecycle::Published) + stand(Lifecycle::DeletionProposed);
    let stands = |wanted: Standing| ours.iter().filter(|v| v.standing == wanted).count();
    status.up_to_date = stands(Standing::UpToDate);
    status.conflicted = stands(Standing::Conflicts);
    status.gated = stands(Standing::Gates);
    status.untagged = stands(Standing::Untagged);
    status.failing = stands(Standing::Failed);
}

/// What no step of a rollout has reached is not up to date, whatever it has published (F7).
pub(super) fn unreached(o: &Observed, status: &mut SetStatus) {
    let (Some(rollout), Some(uid)) = (&status.rollout, &o.set.meta().uid) else {
        return;
    };
    let waits = |v: &&Arc<Existing>| {
        let name = v.key.name.as_str();
        v.standing == Standing::UpToDate && v.meta.is_owned_by(uid) && waits_for_step(rollout, name)
    };
    let count = o.variants.iter().filter(waits).count();
    status.up_to_date = status.up_to_date.saturating_sub(count);
}

/// What to write as status after applying a plan; `None` if it says so already, or somebody else
/// wrote meanwhile. `outcomes` are those of the plan's steps, in order.
pub fn status_after(o: &Observed, plan: &Plan, outcomes: &[SetOutcome]) -> Option<SetStatus> {
    let mut status = plan.status.clone();
    let failures: Vec<UnrollFailure> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            SetOutcome::Failed(failure) => Some(("VariantRefused", failure.message.clone())),
            _ => None,
        })
        .collect();
    if failures.is_empty() && outcomes.contains(&SetOutcome::Conflict) {
        return None;
    }
    if !failures.is_empty() {
        status.failed += failures.len();
        let (_, ready) = verdicts(&failures, false, None);
        for old in &mut status.conditions {
            if old.kind == "Ready" {
                *old = ready.clone();
            }
        }
        // What was not done is counted when it is seen.
        status.variants = owned(o).len();
    }
    (status != o.status).then_some(status)
}

/// What people are told of a status that was written, and of what was done for it; failed writes
/// were told when they failed.
pub fn news(
    before: &SetStatus,
    after: &SetStatus,
    plan: &Plan,
    outcomes: &[SetOutcome],
) -> Vec<News> {
    let kinds = [
        ("Stalled", true),
        (GUARDED, true),
        ("EmptySelection", false),
        (WRITER_UNKNOWN, true),
    ];
    let mut news = Vec::new();
    for mut told in turned(&before.conditions, &after.conditions, &kinds) {
        if told.reason == MOVING {
            // It is said once it is clear what would go.
            continue;
        }
        let mut lists = Vec::new();
        if told.reason == CONFIRMATION && plan.held.len() > LISTED {
            lists = listed(&plan.held);
            told.message = format!("{}; all of them: {}", told.message, lists.remove(0));
        }
        let reason = told.reason.clone();
        news.push(told);
        news.extend(lists.into_iter().map(|list| News {
            warning: true,
            reason: reason.clone(),
            message: format!("package variants that would be deleted, continued: {list}"),
        }));
    }
    let (old, new) = (before.rollout.as_ref(), after.rollout.as_ref());
    news.extend(super::rollout::news(old, new));
    let done = |kind: fn(&SetStep) -> bool| {
        let steps = plan.steps.iter().zip(outcomes);
        steps
            .filter(|(step, outcome)| kind(step) && **outcome == SetOutcome::Done)
            .count()
    };
    let created = done(|s| matches!(s, SetStep::Create(_)));
    let updated = done(|s| matches!(s, SetStep::Update { .. }));
    let deleted = done(|s| matches!(s, SetStep::Delete { .. }));
    if created + updated + deleted > 0 {
        // One event for all of them, however many there are.
        news.push(News {
            warning: false,
            reason: "VariantsWritten".to_owned(),
            message: format!(
                "package variants: {created} created, {updated} updated, {deleted} deleted"
            ),
        });
    }
    news
}

/// All names, in texts that fit into events; at least one.
fn listed(names: &[ObjectName]) -> Vec<String> {
    let mut lists = vec![String::new()];
    for name in names {
        let full = |list: &String| !list.is_empty() && list.len() + name.as_str().len() > EVENT;
        if lists.last().is_some_and(full) {
            lists.push(String::new());
        }
        if let Some(list) = lists.last_mut() {
            let comma = if list.is_empty() { "" } else { ", " };
            list.push_str(comma);
            list.push_str(name.as_str());
        }
    }
    lists
}

/// When to look again after applying a plan.
pub fn next_after(plan: &Plan, outcomes: &[SetOutcome]) -> Next {
    let mut next = plan.next;
    for outcome in outcomes {
        match outcome {
            SetOutcome::Conflict => return Next::Again,
            SetOutcome::Failed(failure) => next = crate::variant::retry(failure),
            _ => {}
        }
    }
    next
}
