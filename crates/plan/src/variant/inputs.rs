//! What a draft would be made of now, and the digests of it.

use std::sync::Arc;

use model::{Digest, Recipe, Revision, Uid, Variant};

use super::holdings::Holdings;
use super::recipe::recipe;
use super::{Observed, RepositorySummary, Subject, UpstreamResolution};
use crate::digest;

/// What a draft would be made of now.
pub(super) struct Inputs<'a> {
    pub(super) variant: &'a Variant,
    pub(super) uid: &'a Uid,
    pub(super) upstream: &'a Arc<Revision>,
    pub(super) recipe: Recipe,
    pub(super) digest: Digest,
    pub(super) full: Digest,
}

impl<'a> Inputs<'a> {
    pub(super) fn of(
        o: &Observed,
        variant: &'a Variant,
        uid: &'a Uid,
        upstream: &'a Arc<Revision>,
        repository: &RepositorySummary,
        holdings: &Holdings,
    ) -> Self {
        let recipe = recipe(o, variant, repository);
        let digest = digest::inputs(upstream, &recipe);
        let tree = holdings.base.as_ref().map(|b| b.tree);
        let full = digest::draft(&digest, &recipe, tree);
        Self {
            variant,
            uid,
            upstream,
            recipe,
            digest,
            full,
        }
    }
}

/// Today's input digests: of what the machine alone makes, and of a draft with today's base
/// (V21). `None` while the inputs are not all there.
pub fn digests(o: &Observed) -> Option<(Digest, Digest)> {
    let (Subject::Valid(variant), UpstreamResolution::Found(upstream)) = (&o.variant, &o.upstream)
    else {
        return None;
    };
    let uid = variant.meta.uid.as_ref()?;
    let repository = o.repositories.get(&variant.spec.downstream.repo)?;
    let holdings = Holdings::of(o, variant, uid);
    let inputs = Inputs::of(o, variant, uid, upstream, repository, &holdings);
    Some((inputs.digest, inputs.full))
}
