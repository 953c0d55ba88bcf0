//! What a member had published before a rollout reached it, which is what it goes back to (F8).

use model::{Before, CommitId, RolloutStatus, Upstream};

use super::super::observed::Observed;
use super::members::Target;

/// What a target that a rollout reaches now had published. Who published what the rollout wants ahead of the step published
/// the rollout: then it is what stood when that began.
pub(super) fn now(o: &Observed, status: &RolloutStatus, t: &Target<'_>) -> Option<Before> {
    let published = o.published.get(t.name)?;
    let by_rollout = Some(published.commit) == t.wanted.upstream.commit
        && published.at.is_some_and(|at| at > status.began);
    let commit = match by_rollout {
        true => published.then?,
        false => published.commit,
    };
    at(status, t, commit)
}

/// What a member had published before its step opened, where nothing was known of that when the member was reached: a list
/// of revisions came late. Where something else was published since, it is what was published before the rollout began.
pub(super) fn late(o: &Observed, status: &RolloutStatus, t: &Target<'_>) -> Option<Before> {
    let member = t.reached(&status.members)?;
    let mut steps = status.steps.iter();
    let step = steps.find(|s| Some(&s.name) == member.step.as_ref())?;
    let published = o.published.get(t.name)?;
    match published.at? < step.opened? {
        true => now(o, status, t),
        false => at(status, t, published.earlier?),
    }
}

/// A commit of the upstream that a set wrote to a target before the rollout, or that somebody gave a variant before it was
/// the set's.
fn at(status: &RolloutStatus, t: &Target<'_>, commit: CommitId) -> Option<Before> {
    let is = match t.variant {
        Some(variant) => variant,
        None => t.taken_over()?,
    };
    let written = status.members.get(&t.mark).filter(|m| m.step.is_none());
    let written = written.map(|m| &m.upstream);
    let upstream: &Upstream = written.or_else(|| Some(&is.variant.as_ref()?.spec.upstream))?;
    Some(Before {
        repo: upstream.repo.clone(),
        package: upstream.package.clone(),
        commit,
    })
}
