//! Going away: of a variant, and of what a retargeted variant left behind (R31, R103–R107, V10).

use std::sync::Arc;

use model::{DeletionPolicy, Downstream, Lifecycle, ObjectKey, Pairs, Revision, Uid, Variant};

use super::{Observed, Plan, RevisionRef, Subject, VariantStep, words};
use crate::{Next, Report};

/// Why what an invalid variant owns is left in place.
const NOT_UNDERSTOOD: &str = "the packagevariant cannot be understood, so nothing of it is deleted";
/// Why what lies in a repository that this namespace may not write to is left in place.
const READ_ONLY: &str = "its repository cannot be written to from this namespace";
/// Why a revision stays whose deletion we proposed in vain.
const REJECTED: &str = "the proposal of its deletion was rejected";

/// What to do about a variant that is being deleted, or will be with its namespace: there the finalizer has nothing to wait
/// for, and whoever empties the namespace has not to wait for it either.
pub(super) fn decide(o: &Observed) -> Plan {
    let meta = o.variant.meta();
    let finalizer = meta.finalizers.iter().any(|f| f == words::FINALIZER);
    if !finalizer {
        return plan(o, Vec::new(), Report::of("gone"));
    }
    let owned = match &meta.uid {
        Some(uid) => owned(o, uid),
        None => Vec::new(),
    };
    let mut report = Report::of("deleting");
    let mut steps = Vec::new();
    for revision in &owned {
        if let Some(uid) = &meta.uid {
            steps.extend(farewell(o, uid, revision, &mut report));
        }
    }
    if steps.is_empty() {
        report.note("nothing is owned any more");
        steps.push(VariantStep::RemoveFinalizer {
            finalizer: words::FINALIZER.to_owned(),
            resource_version: meta.resource_version.clone(),
        });
        return plan(o, steps, report);
    }
    let mut plan = plan(o, steps, report);
    plan.next = Next::Again;
    plan
}

fn plan(o: &Observed, steps: Vec<VariantStep>, report: Report) -> Plan {
    Plan {
        steps,
        report,
        status: o.status.clone(),
        next: Next::Rest,
    }
}

/// Everything that the variant owns, wherever it is, by name.
fn owned(o: &Observed, uid: &Uid) -> Vec<Arc<Revision>> {
    let mut owned: Vec<Arc<Revision>> = o
        .downstream
        .iter()
        .chain(&o.elsewhere)
        .filter(|r| r.meta.is_owned_by(uid) && !r.meta.is_deleting())
        .cloned()
        .collect();
    owned.sort_by(|a, b| a.key.name.cmp(&b.key.name));
    owned.dedup_by(|a, b| a.key == b.key);
    owned
}

/// One owned revision of a variant that goes.
fn farewell(
    o: &Observed,
    uid: &Uid,
    revision: &Revision,
    report: &mut Report,
) -> Option<VariantStep> {
    let name = &revision.key.name;
    if o.namespace_terminating || !o.repositories.contains_key(&revision.repository) {
        report.note(format!(
            "'{name}' is orphaned: its repository or namespace is gone"
        ));
        return None;
    }
    let (policy, why) = policy(o, revision);
    match (policy, revision.lifecycle) {
        (DeletionPolicy::Orphan, _) => Some(orphan(revision, uid, why)),
        (DeletionPolicy::Delete, Lifecycle::Draft | Lifecycle::Proposed) => {
            Some(VariantStep::DeleteRevision {
                revision: RevisionRef::of(revision),
                why: "its packagevariant is being deleted".to_owned(),
            })
        }
        (DeletionPolicy::Delete, Lifecycle::Published) if rejected(o.variant.key(), revision) => {
            Some(orphan(revision, uid, REJECTED))
        }
        (DeletionPolicy::Delete, Lifecycle::Published) => Some(VariantStep::ProposeDeletion {
            revision: RevisionRef::of(revision),
            annotations: farewell_mark(o),
            disown: Some(uid.clone()),
        }),
        (DeletionPolicy::Delete, Lifecycle::DeletionProposed) => {
            Some(orphan(revision, uid, "its deletion is proposed already"))
        }
    }
}

/// What the spec wants done with a revision when its variant goes, and why if it is left.
fn policy(o: &Observed, revision: &Revision) -> (DeletionPolicy, &'static str) {
    let Subject::Valid(variant) = &o.variant else {
        return (DeletionPolicy::Orphan, NOT_UNDERSTOOD);
    };
    if variant.spec.deletion == DeletionPolicy::Orphan {
        return (DeletionPolicy::Orphan, "spec.deletionPolicy is orphan");
    }
    let repository = o.repositories.get(&revision.repository);
    if repository.is_some_and(|r| r.writable.is_err()) {
        return (DeletionPolicy::Orphan, READ_ONLY);
    }
    if revision.meta.annotations.contains_key(words::ADOPTED_BY) && !variant.spec.deletion_explicit
    {
        let why = "it was adopted, and spec.deletionPolicy was not written out";
        return (DeletionPolicy::Orphan, why);
    }
    let place = Downstream {
        repo: revision.repository.clone(),
        package: revision.package.clone(),
    };
    let rival = place == variant.spec.downstream && o.rivals.iter().any(|r| !r.deleting);
    if rival || o.claimed_elsewhere.contains(&place) {
        return (DeletionPolicy::Orphan, "another packagevariant claims it");
    }
    (DeletionPolicy::Delete, "")
}

fn orphan(revision: &Revision, uid: &Uid, why: &str) -> VariantStep {
    let why = match why {
        NOT_UNDERSTOOD => format!("{why}; {}", removal(revision)),
        other => other.to_owned(),
    };
    VariantStep::Orphan {
        revision: RevisionRef::of(revision),
        owner: uid.clone(),
        why,
    }
}

/// How a person removes what is left in place.
fn removal(revision: &Revision) -> String {
    let name = &revision.key.name;
    match revision.lifecycle {
        Lifecycle::Published => {
            format!("`offshoot rpkg propose-delete {name}` proposes its deletion")
        }
        Lifecycle::Draft | Lifecycle::Proposed | Lifecycle::DeletionProposed => {
            format!("`offshoot rpkg del {name}` removes it")
        }
    }
}

/// What a variant that cannot be understood would leave in place if somebody deleted it now.
pub(super) fn warn(o: &Observed, report: &mut Report) {
    let Some(uid) = &o.variant.meta().uid else {
        return;
    };
    let names: Vec<String> = owned(o, uid)
        .iter()
        .map(|r| format!("'{}'", r.key.name))
        .collect();
    if !names.is_empty() {
        report.hint(
            format!("deleting the variant now leaves in place: {}", names.join(", ")),
            "mend the spec first, and they go as spec.deletionPolicy says; what stays is removed with `offshoot rpkg del`, if it is published after `offshoot rpkg propose-delete`",
        );
    }
}

fn mark(key: &ObjectKey) -> Pairs {
    Pairs::from_iter([(words::PROPOSED_BY.to_owned(), words::mark(key))])
}

/// The mark of a variant that goes: whoever its set makes in its place may know it again.
fn farewell_mark(o: &Observed) -> Pairs {
    let mut pairs = mark(o.variant.key());
    let set = o
        .variant
        .meta()
        .controller()
        .filter(|c| c.kind == words::SET_KIND);
    pairs.extend(set.map(|set| (words::PROPOSED_FOR.to_owned(), set.uid.to_string())));
    pairs
}

/// Whether we proposed its deletion, and an approver said no: it is published again with our mark. The no
/// holds, so it is let go, mark and all (V10).
fn rejected(key: &ObjectKey, revision: &Revision) -> bool {
    revision.meta.annotations.get(words::PROPOSED_BY) == Some(&words::mark(key))
}

/// What a retargeting left behind, once there is a new downstream (R31).
///
/// A published revision keeps its owner, so that the way back withdraws the proposal. One whose proposal was
/// rejected is let go.
pub(super) fn left_behind(
    o: &Observed,
    variant: &Variant,
    uid: &Uid,
    report: &mut Report,
) -> Vec<VariantStep> {
    let mut left: Vec<&Arc<Revision>> = o
        .elsewhere
        .iter()
        .filter(|r| r.meta.is_owned_by(uid) && !r.meta.is_deleting() && !r.placeholder)
        .filter(|r| o.repositories.contains_key(&r.repository))
        .collect();
    left.sort_by(|a, b| a.key.name.cmp(&b.key.name));
    let mut steps = Vec::new();
    for revision in left {
        let (policy, why) = policy(o, revision);
        let step = match (policy, revision.lifecycle) {
            (DeletionPolicy::Orphan, _) => orphan(revision, uid, why),
            (DeletionPolicy::Delete, Lifecycle::Draft | Lifecycle::Proposed) => {
                VariantStep::DeleteRevision {
                    revision: RevisionRef::of(revision),
                    why: "the packagevariant has another downstream now".to_owned(),
                }
            }
            (DeletionPolicy::Delete, Lifecycle::Published) if rejected(&variant.key, revision) => {
                orphan(revision, uid, REJECTED)
            }
            (DeletionPolicy::Delete, Lifecycle::Published) => VariantStep::ProposeDeletion {
                revision: RevisionRef::of(revision),
                annotations: mark(&variant.key),
                disown: None,
            },
            (DeletionPolicy::Delete, Lifecycle::DeletionProposed) => continue,
        };
        report.note(format!(
            "'{}' is no downstream of this variant any more",
            revision.key.name
        ));
        steps.push(step);
    }
    steps
}
