//! The status: conditions in Porch's words where it has some, targets, and what applying a
//! plan brought (R110–R116, V6).

use std::sync::Arc;
use std::time::Duration;

use model::{
    Class, Condition, DownstreamTarget, Lifecycle, ObjectName, Revision, RevisionNumber, Status,
    Variant, VariantStatus,
};

use super::holdings::Holdings;
use super::versions::versions;
use super::{
    FailedDerivation, Observed, Plan, Subject, VariantOutcome, VariantStep, injection, pinned,
    words,
};
use crate::conflicts;
use crate::news::turned;
use crate::report::counted;
use crate::{News, Next};

/// The first wait before something that failed is tried again.
const FIRST: Duration = Duration::from_secs(5);
/// The longest.
const LONGEST: Duration = Duration::from_secs(300);
/// The wait for what will hardly pass by itself.
const STUBBORN: Duration = Duration::from_secs(60);

/// `Stalled` is false: nothing is wrong with the variant itself (R112).
pub(super) fn valid() -> Condition {
    Condition::new(
        words::STALLED,
        Status::False,
        "Valid",
        "all validation checks passed",
    )
}

/// A whole status of these conditions and targets.
pub(super) fn of(
    o: &Observed,
    stalled: Condition,
    ready: Condition,
    extra: Vec<Condition>,
    targets: Vec<DownstreamTarget>,
) -> VariantStatus {
    let mut conditions = vec![stalled, ready];
    conditions.extend(extra);
    VariantStatus {
        observed_generation: o.variant.meta().generation,
        conditions,
        downstream_targets: targets,
        upstream: o.status.upstream.clone(),
        versions: versions(o),
        deleted_downstream: match &o.variant {
            Subject::Valid(variant) => deleted_downstream(o, variant),
            Subject::Invalid { .. } => o.status.deleted_downstream.clone(),
        },
        handled: o.variant.meta().annotations.get(words::RECONCILE).cloned(),
        injection: injection::notes(o, &renewed(o, &[])),
        published_generation: pinned::published_generation(o),
        rollout: pinned::mark(o.variant.meta()),
    }
}

/// Whether the open revisions are as wanted: rendered, and without conflicts to decide (V4, V6).
pub(super) fn ready(open: &[Arc<Revision>]) -> Condition {
    match trouble(open) {
        Some(Trouble {
            reason,
            message,
            hint,
            ..
        }) => not_ready(reason, &format!("{message}; {hint}")),
        None => Condition::new(
            words::READY,
            Status::True,
            "NoErrors",
            "successfully ensured downstream package variant",
        ),
    }
}

/// What of an open revision waits for a person.
pub(super) struct Trouble {
    /// The state in a few words.
    pub(super) state: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) hint: String,
}

/// The first open revision that somebody has to look after.
pub(super) fn trouble(open: &[Arc<Revision>]) -> Option<Trouble> {
    open.iter().find_map(|revision| {
        let name = &revision.key.name;
        let failed = revision.render_status.as_ref();
        if let Some(error) = failed.filter(|r| !r.succeeded()).map(|r| r.cause()) {
            return Some(Trouble {
                state: "render failed",
                reason: "RenderFailed",
                message: format!("'{name}': {error}"),
                hint: "mend the draft (`offshoot rpkg pull` and `push`), or the upstream package and the spec".to_owned(),
            });
        }
        let count = open_conflicts(revision);
        (count > 0).then(|| Trouble {
            state: "conflicts to decide",
            reason: "Conflicted",
            message: format!(
                "'{name}' has {} to acknowledge or resolve: {}",
                counted(count, "conflict", "conflicts"),
                conflicts::listed(revision).unwrap_or_default()
            ),
            hint: conflicts::way_out(revision),
        })
    })
}

/// The owned open revisions, else the latest published one (R116).
pub(super) fn current_targets(o: &Observed) -> Vec<DownstreamTarget> {
    let (Subject::Valid(variant), Some(uid)) = (&o.variant, &o.variant.meta().uid) else {
        return o.status.downstream_targets.clone();
    };
    targets(o, &Holdings::of(o, variant, uid), &[])
}

/// The targets as they are once these steps are done.
pub(super) fn targets(
    o: &Observed,
    holdings: &Holdings,
    steps: &[VariantStep],
) -> Vec<DownstreamTarget> {
    let mut targets: Vec<DownstreamTarget> = holdings.open.iter().map(|r| target(o, r)).collect();
    for step in steps {
        if let VariantStep::CreateDraft(draft) = step {
            targets.push(DownstreamTarget {
                name: draft.key.name.clone(),
                lifecycle: Lifecycle::Draft,
                revision: RevisionNumber::NONE,
                workspace: draft.workspace.clone(),
                upstream_lock: draft.upstream.self_lock.clone(),
                render_status: None,
                conflicts: 0,
                gates: 0,
                rejected: false,
            });
        }
    }
    if targets.is_empty() && holdings.owns {
        targets.extend(holdings.base.iter().map(|b| target(o, &b.revision)));
    }
    targets
}

fn target(o: &Observed, revision: &Revision) -> DownstreamTarget {
    let before = o
        .status
        .downstream_targets
        .iter()
        .find(|t| t.name == revision.key.name);
    DownstreamTarget {
        name: revision.key.name.clone(),
        lifecycle: revision.lifecycle,
        revision: revision.revision,
        workspace: revision.workspace.clone(),
        upstream_lock: revision.upstream_lock.clone(),
        render_status: revision
            .render_status
            .clone()
            .or_else(|| before.and_then(|t| t.render_status.clone())),
        conflicts: open_conflicts(revision),
        gates: open_gates(revision),
        rejected: pinned::is_rejected(revision),
    }
}

/// How many conflicts of an open revision wait for a person.
fn open_conflicts(revision: &Revision) -> usize {
    match revision.lifecycle.is_published() {
        true => 0,
        false => revision.conflicts.iter().filter(|c| c.blocks()).count(),
    }
}

/// How many gates of an open revision keep it from being approved: ours, and in a deployment repository the author's
/// (V12). Conflicts are counted for themselves.
fn open_gates(revision: &Revision) -> usize {
    if revision.lifecycle.is_published() {
        return 0;
    }
    let holds = |gate: &&str| revision.deployment || gate.starts_with(words::OUR_GATES);
    let open = revision.open_gates().into_iter().filter(holds);
    open.filter(|gate| *gate != words::CONFLICTS).count()
}

/// The published downstream that is gone after a person proposed its deletion, until the variant
/// is told to make it again (V10).
pub(super) fn deleted_downstream(o: &Observed, variant: &Variant) -> Option<ObjectName> {
    let place = &variant.spec.downstream;
    let prefix = format!(
        "{}.{}.",
        place.repo,
        place.package.as_str().replace('/', ".")
    );
    let gone = |name: &ObjectName| !o.downstream.iter().any(|r| r.key.name == *name);
    let waited = o
        .status
        .condition(words::READY)
        .is_some_and(|c| c.reason == words::DELETION_PROPOSED);
    let just_now = || {
        o.status
            .downstream_targets
            .iter()
            .filter(|t| waited && t.lifecycle == Lifecycle::DeletionProposed)
            .map(|t| t.name.clone())
            .next()
    };
    o.status
        .deleted_downstream
        .clone()
        .or_else(just_now)
        .filter(|name| gone(name) && name.as_str().starts_with(&prefix))
        .filter(|name| {
            variant
                .meta
                .annotations
                .get(words::RECREATE)
                .is_none_or(|wanted| wanted != name.as_str())
        })
}

/// What to write as status after applying a plan; `None` if nothing: it says so already, somebody
/// else wrote meanwhile, or the next look will know better.
///
/// `outcomes` are those of the plan's steps, in order.
pub fn status_after(
    o: &Observed,
    plan: &Plan,
    outcomes: &[VariantOutcome],
) -> Option<VariantStatus> {
    let unsettled = outcomes.iter().any(|outcome| {
        matches!(
            outcome,
            VariantOutcome::Conflict | VariantOutcome::Unchanged
        )
    });
    let leaving = plan
        .steps
        .iter()
        .any(|s| matches!(s, VariantStep::RemoveFinalizer { .. }));
    let failure = outcomes.iter().find_map(|outcome| match outcome {
        VariantOutcome::Failed(failure) => Some(failure),
        _ => None,
    });
    let status = match failure {
        Some(failure) => failed(o, plan, outcomes, failure),
        None if unsettled || leaving || plan.next == Next::Again => return None,
        None => succeeded(o, plan, outcomes),
    };
    (status != o.status).then_some(status)
}

/// What people are told of a status that was written; a failed step was told when it failed.
pub fn news(
    before: &VariantStatus,
    after: &VariantStatus,
    outcomes: &[VariantOutcome],
) -> Vec<News> {
    if outcomes
        .iter()
        .any(|o| matches!(o, VariantOutcome::Failed(_)))
    {
        return Vec::new();
    }
    let kinds = [
        (words::STALLED, true),
        (words::CONTESTED, true),
        (words::EXISTS_UNOWNED, false),
        (words::WRITER_UNKNOWN, true),
        (words::BRANCH_CHANGED, true),
        (words::DIVERGED, true),
    ];
    let mut news = turned(&before.conditions, &after.conditions, &kinds);
    news.extend(injection::news(before, after));
    news
}

fn succeeded(o: &Observed, plan: &Plan, outcomes: &[VariantOutcome]) -> VariantStatus {
    let mut status = plan.status.clone();
    let made: Vec<Arc<Revision>> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            VariantOutcome::Draft(record) => Some(Arc::clone(record)),
            _ => None,
        })
        .collect();
    for record in &made {
        for target in &mut status.downstream_targets {
            if target.name == record.key.name {
                target.lifecycle = record.lifecycle;
                target.upstream_lock.clone_from(&record.upstream_lock);
                target.render_status.clone_from(&record.render_status);
                target.conflicts = open_conflicts(record);
                target.gates = open_gates(record);
            }
        }
    }
    if !made.is_empty() {
        let mut open = renewed(o, &made);
        let old: Vec<_> = open.iter().map(|r| r.key.clone()).collect();
        open.extend(made.iter().filter(|r| !old.contains(&r.key)).cloned());
        status.injection = injection::notes(o, &open);
    }
    let verdict = ready(&made);
    if verdict.status != Status::True {
        replace(&mut status, verdict);
    } else if !made.is_empty() {
        let undone = status.condition(words::READY).map(|c| c.reason.clone());
        if matches!(undone.as_deref(), Some("RenderFailed" | "Conflicted")) {
            replace(&mut status, ready(&renewed(o, &made)));
        }
    }
    status
}

/// The open revisions that the variant owns, those that were made in their new state.
fn renewed(o: &Observed, made: &[Arc<Revision>]) -> Vec<Arc<Revision>> {
    let (Subject::Valid(variant), Some(uid)) = (&o.variant, &o.variant.meta().uid) else {
        return Vec::new();
    };
    let open = Holdings::of(o, variant, uid).open.into_iter();
    let new = |old: &Revision| made.iter().find(|new| new.key == old.key).cloned();
    open.map(|old| new(&old).unwrap_or(old)).collect()
}

fn failed(
    o: &Observed,
    plan: &Plan,
    outcomes: &[VariantOutcome],
    failure: &FailedDerivation,
) -> VariantStatus {
    let mut status = plan.status.clone();
    status.observed_generation = o.variant.meta().generation;
    let undone: Vec<&ObjectName> = plan
        .steps
        .iter()
        .zip(outcomes)
        .filter_map(|(step, outcome)| match (step, outcome) {
            (_, VariantOutcome::Draft(_)) => None,
            (VariantStep::CreateDraft(draft), _) => Some(&draft.key.name),
            _ => None,
        })
        .collect();
    status
        .downstream_targets
        .retain(|t| !undone.contains(&&t.name));
    if status.downstream_targets.is_empty() {
        status.downstream_targets = current_targets(o);
    }
    if o.is_leaving() {
        replace(&mut status, not_ready("Deleting", &failure.message));
        return status;
    }
    if failure.reason == "OldUpstreamNotFound" {
        replace(
            &mut status,
            Condition::new(
                words::STALLED,
                Status::True,
                &failure.reason,
                &failure.message,
            ),
        );
    }
    replace(&mut status, not_ready(&failure.reason, &failure.message));
    status
}

fn replace(status: &mut VariantStatus, condition: Condition) {
    match status
        .conditions
        .iter_mut()
        .find(|c| c.kind == condition.kind)
    {
        Some(old) => *old = condition,
        None => status.conditions.push(condition),
    }
}

/// The condition of a variant that is not as it shall be.
pub(super) fn not_ready(reason: &str, message: &str) -> Condition {
    Condition::new(words::READY, Status::False, reason, message)
}

/// When to look again after applying a plan.
///
/// A derivation that only another input can mend waits for it; everything else that failed (a deletion
/// that somebody's reference forbids, say) is tried again, because nothing that is watched may
/// tell when it would succeed (V10). Of several, the soonest counts.
pub fn next_after(plan: &Plan, outcomes: &[VariantOutcome]) -> Next {
    let mut soonest = None;
    for (step, outcome) in plan.steps.iter().zip(outcomes) {
        let derivations = matches!(
            step,
            VariantStep::CreateDraft(_)
                | VariantStep::UpdateDraft(_)
                | VariantStep::RenderDraft { .. }
        );
        match outcome {
            VariantOutcome::Conflict | VariantOutcome::Unchanged => return Next::Again,
            VariantOutcome::Failed(failure) => {
                let again = match retry(failure) {
                    Next::Rest if !derivations => Next::After(STUBBORN),
                    other => other,
                };
                soonest = Some(soonest.map_or(again, |before| sooner(before, again)));
            }
            _ => {}
        }
    }
    soonest.unwrap_or(plan.next)
}

fn sooner(one: Next, other: Next) -> Next {
    match (one, other) {
        (Next::Rest, next) | (next, Next::Rest) => next,
        (Next::Again, _) | (_, Next::Again) => Next::Again,
        (Next::After(one), Next::After(other)) => Next::After(one.min(other)),
    }
}

/// When a failed derivation may be tried again: what only another input can mend waits for it, the rest
/// backs off up to five minutes (V16).
pub(crate) fn retry(failure: &FailedDerivation) -> Next {
    match failure.class {
        Class::Invalid | Class::Denied | Class::Limit | Class::NotFound => Next::Rest,
        Class::Conflict => Next::Again,
        Class::Unavailable | Class::Bug => {
            let doublings = failure.attempts.saturating_sub(1).min(10);
            Next::After(FIRST.saturating_mul(1 << doublings).min(LONGEST))
        }
    }
}
