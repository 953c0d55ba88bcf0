//! A variant whose upstream is a commit: which generation of its spec is published, and what its rollout left on it (F7).

use model::{Lifecycle, MemberMark, ObjectMeta, Revision};

use super::{Lineage, Observed, Subject, UpstreamResolution, base_of, digests, words};

/// The generation of the spec of which the published revision is: at the commit that the spec names, and of the inputs
/// that the spec came to when that was first so. What changes outside the spec later changes nothing about it.
pub(super) fn published_generation(o: &Observed) -> Option<i64> {
    let Subject::Valid(variant) = &o.variant else {
        return None;
    };
    let wanted = variant.spec.upstream.commit?;
    let choice = base_of(&o.downstream)?;
    // What a variant before it left, and is to go, is none of its own: whoever deleted that one has to say what becomes of it.
    let own = variant.meta.uid.as_ref();
    let owned = own.is_some_and(|uid| choice.revision.meta.is_owned_by(uid));
    if choice.revision.lifecycle == Lifecycle::DeletionProposed && !owned {
        return None;
    }
    let lock = choice.revision.upstream_lock.as_ref()?;
    // A commit says something of one package alone.
    let same_place = match &o.upstream {
        UpstreamResolution::Found(r) | UpstreamResolution::NotPublished(r) => {
            let own = r.self_lock.as_ref();
            own.is_none_or(|own| own.place() == lock.place())
        }
        UpstreamResolution::NotFound { .. } => false,
    };
    if lock.commit != Some(wanted) || !same_place {
        return None;
    }
    let generation = variant.meta.generation;
    if o.status.published_generation == Some(generation) {
        return Some(generation);
    }
    let (today, _) = digests(o)?;
    let base = o.base.as_ref().filter(|base| base.commit == choice.commit);
    let derived = match base.map(|base| &base.lineage) {
        Some(Lineage::Trailer(machine)) => Some(machine.digest.as_str()),
        _ => None,
    };
    let noted = choice.revision.noted_digest.as_deref();
    [derived, noted]
        .contains(&Some(today.as_str()))
        .then_some(generation)
}

/// What a rollout wrote onto a variant.
pub(crate) fn mark(meta: &ObjectMeta) -> Option<MemberMark> {
    MemberMark::parse(meta.annotations.get(words::ROLLOUT)?)
}

/// Whether a draft was rejected, and nobody proposed it again.
pub(super) fn is_rejected(revision: &Revision) -> bool {
    let annotations = &revision.meta.annotations;
    revision.lifecycle == Lifecycle::Draft && annotations.contains_key(words::REJECTED_BY)
}
