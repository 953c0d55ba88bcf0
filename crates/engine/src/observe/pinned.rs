//! An upstream that is a commit which no record holds: a branch that went on, or a tag that was moved (F7).
//!
//! What a set rolls out stays what it was when the rollout began. So the revision is read from the commit itself.

use std::sync::Arc;

use model::{CommitId, Revision, Upstream, UpstreamVersion, Variant, WorkspaceName};
use plan::variant::UpstreamResolution;

use crate::discover::{self, Origin, build};
use crate::index::upstream_of;
use crate::repos::OpenRepository;
use crate::{Engine, Result, opening};

/// The revision at the commit that a variant names; `None` where it names none, or its repository has no such commit
/// or no package in it.
///
/// # Errors
/// Git cannot be read.
pub(super) async fn revision(
    engine: &Engine,
    variant: &Variant,
    found: &UpstreamResolution,
) -> Result<Option<Arc<Revision>>> {
    let upstream = &variant.spec.upstream;
    let (Some(commit), UpstreamResolution::NotFound { .. }) = (upstream.commit, found) else {
        return Ok(None);
    };
    let here = opening::here(engine, &variant.key.namespace, &upstream.repo).await;
    // A repository that cannot be had is told of by its own condition.
    let Ok(open) = here else {
        return Ok(None);
    };
    let failed = |source| crate::Error::Store {
        attempt: "find the upstream commit",
        source,
    };
    if !open.repo.has_commit(commit).map_err(failed)? {
        return Ok(None);
    }
    let key = upstream_of(variant);
    let known = engine.world(|w| w.revisions.of_package(&key));
    let Some(origin) = origin(upstream, commit, &open)? else {
        return Ok(None);
    };
    let built = build(engine, &open, &key, &origin, &known)?;
    Ok(built.record.map(Arc::new))
}

/// As what the commit was wanted: the branch, or a tag.
fn origin(upstream: &Upstream, commit: CommitId, open: &OpenRepository) -> Result<Option<Origin>> {
    let tag = match &upstream.version {
        UpstreamVersion::BranchHead => None,
        // What was the latest one is tagged, unless nothing was published or somebody took the tag away.
        UpstreamVersion::Latest => discover::tag_at(open, &upstream.package, commit)?,
        UpstreamVersion::Revision(number) => WorkspaceName::parse(&format!("v{number}")).ok(),
        UpstreamVersion::Named(name)
        | UpstreamVersion::Workspace(name)
        | UpstreamVersion::Tag(name) => Some(name.clone()),
    };
    let branch = open.layout.branch();
    Ok(match tag {
        Some(tag) if tag.as_str() != branch => Some(Origin::tag(&tag, commit, false)),
        _ => {
            let branch = WorkspaceName::parse(branch).ok();
            branch.map(|name| Origin::head(&name, commit, false))
        }
    })
}
