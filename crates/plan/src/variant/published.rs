//! What the published state of a downstream allows: a proposed deletion, a lineage, a lock
//! (V1, V20).

use std::sync::Arc;

use model::{CommitId, Condition, GitLock, ObjectName, Revision, Status, Variant};

use super::holdings::Holdings;
use super::stop::{Stop, again};
use super::upstream::commit_of;
use super::{
    BaseChoice, BaseRef, Lineage, MachineBase, Observed, OldUpstream, Plan, RevisionRef,
    VariantStep, words,
};
use crate::Next;

/// Whether somebody published another commit of upstream in the place of what the machine had made (V1): its lock says so.
pub(super) fn is_put_back(published: &Revision, upstream: &Revision) -> bool {
    let lock = published.upstream_lock.as_ref();
    let at = lock.and_then(|lock| lock.commit);
    at.is_some_and(|at| at != commit_of(upstream))
}

/// Deletion proposals of ours in the package that is the downstream are withdrawn, all of them: each is wanted again,
/// and one that stood would wait for an approver's mistake (R29, V10).
pub(super) fn withdrawn(o: &Observed, holdings: &Holdings) -> Option<Plan> {
    if !holdings.owns || holdings.leaving.is_empty() {
        return None;
    }
    let withdraw = |revision: &Arc<Revision>| VariantStep::WithdrawDeletionProposal {
        revision: RevisionRef::of(revision),
        remove_annotations: [words::PROPOSED_BY, words::PROPOSED_FOR]
            .into_iter()
            .filter(|name| revision.meta.annotations.contains_key(*name))
            .map(str::to_owned)
            .collect(),
    };
    let steps = holdings.leaving.iter().map(withdraw).collect();
    Some(again(o, "wanted again", steps))
}

/// Somebody else's deletion proposal stands (V10).
pub(super) fn deletion_proposed(base: &BaseChoice) -> Result<Plan, Box<Stop>> {
    let revision = &base.revision;
    let by = revision.meta.annotations.get(words::PROPOSED_BY);
    let who = by.map_or_else(
        || "somebody".to_owned(),
        |mark| format!("packagevariant '{mark}'"),
    );
    Err(Stop::waiting(
        words::DELETION_PROPOSED,
        format!(
            "{who} proposed the deletion of '{}'; nothing is made meanwhile",
            revision.key.name
        ),
    )
    .hint("approve or reject the deletion"))
}

/// What is known about *p*, or why nothing can be made of it (V19a, V20).
pub(super) fn base_ref(
    o: &Observed,
    variant: &Variant,
    choice: &BaseChoice,
    holdings: &Holdings,
) -> Result<BaseRef, Box<Stop>> {
    let name = &choice.revision.key.name;
    let base = o
        .base
        .as_ref()
        .filter(|b| b.commit == choice.commit)
        .ok_or_else(|| {
            let mut stop = Stop::waiting(
                "Observing",
                format!("the base '{name}' moved while it was looked at"),
            );
            stop.next = Next::After(std::time::Duration::from_secs(1));
            stop
        })?;
    let relock = variant.meta.annotations.contains_key(words::RELOCK);
    let machine = match &base.lineage {
        Lineage::Trailer(machine) => MachineBase::Known(machine.clone()),
        Lineage::NoTrailer { lock: None, .. } if relock => MachineBase::Wanted,
        Lineage::NoTrailer { lock: None, .. } => return Err(no_lock(name)),
        Lineage::NoTrailer {
            lock: Some(lock),
            old_upstream,
        } => match old_upstream {
            OldUpstream::Commit => MachineBase::Anew(lock.clone()),
            OldUpstream::Revision(name) => MachineBase::Raw(name.clone()),
            OldUpstream::Gone if relock => MachineBase::Wanted,
            OldUpstream::Gone => return Err(old_upstream_gone(name, lock)),
        },
        Lineage::Diverged(_) if relock => MachineBase::Wanted,
        Lineage::Diverged(how) => {
            let mut stop = Stop::waiting(words::DIVERGED, format!("'{name}' {how}")).hint(format!(
                "annotate the variant with {}=true to take it as stemming from the wanted upstream",
                words::RELOCK
            ));
            let message = stop.ready.message.clone();
            stop.extra = vec![Condition::new(
                words::DIVERGED,
                Status::True,
                "LineageEnds",
                message,
            )];
            if holdings.open.is_empty() {
                stop.state = "diverged";
            }
            return Err(stop);
        }
    };
    Ok(BaseRef {
        revision: RevisionRef::of(&choice.revision),
        commit: choice.commit,
        tree: choice.tree,
        machine,
    })
}

pub(super) fn no_lock(name: &ObjectName) -> Box<Stop> {
    Stop::waiting(
        "UpstreamLockMissing",
        format!("'{name}' has no upstream lock: whether it is up to date is unknown"),
    )
    .unknown()
    .hint(format!(
        "annotate the variant with {}=true to take it as stemming from the wanted upstream",
        words::RELOCK
    ))
}

fn old_upstream_gone(name: &ObjectName, lock: &GitLock) -> Box<Stop> {
    let commit = lock.commit.map_or_else(
        || "an unknown commit".to_owned(),
        |c: CommitId| c.to_string(),
    );
    Stop::stalled(
        "OldUpstreamNotFound",
        format!(
            "'{name}' stems from {commit} ({}) of {}, which cannot be had any more",
            lock.git_ref, lock.repo
        ),
    )
    .hint(format!(
        "bring that commit back, or annotate the variant with {}=true",
        words::RELOCK
    ))
}
