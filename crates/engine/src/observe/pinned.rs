//! An upstream that is a commit which no record holds: a branch that went on, or a tag that was moved (F7).
//!
//! What a set rolls out stays what it was when the rollout began. So the revision is read from the commit itself.

use std::sync::Arc;

use model::{Revision, Upstream, UpstreamVersion, Variant, WorkspaceName};
use plan::variant::Resolution;

use crate::discover::{Origin, build};
use crate::index::upstream_of;
use crate::repos::Open;
use crate::{Engine, Result};

/// The revision at the commit that a variant names; `None` where it names none, or its repository has no such commit
/// or no package in it.
///
/// # Errors
/// Git cannot be read.
pub(super) async fn revision(
    engine: &Engine,
    variant: &Variant,
    found: &Resolution,
) -> Result<Option<Arc<Revision>>> {
    let upstream = &variant.spec.upstream;
    let (Some(commit), Resolution::NotFound { .. }) = (upstream.commit, found) else {
        return Ok(None);
    };
    let here = engine.here(&variant.key.namespace, &upstream.repo).await;
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
    let Some(name) = name(upstream, &open) else {
        return Ok(None);
    };
    let origin = match &upstream.version {
        UpstreamVersion::Latest | UpstreamVersion::BranchHead => Origin::head(&name, commit, false),
        _ if name.as_str() == open.layout.branch() => Origin::head(&name, commit, false),
        _ => Origin::tag(&name, commit, false),
    };
    let built = build(engine, &open, &key, &origin, &known)?;
    Ok(built.record.map(Arc::new))
}

/// As what the commit was wanted: the branch, or a tag's last segment.
fn name(upstream: &Upstream, open: &Open) -> Option<WorkspaceName> {
    match &upstream.version {
        UpstreamVersion::Latest | UpstreamVersion::BranchHead => {
            WorkspaceName::parse(open.layout.branch()).ok()
        }
        UpstreamVersion::Revision(number) => WorkspaceName::parse(&format!("v{number}")).ok(),
        UpstreamVersion::Named(name)
        | UpstreamVersion::Workspace(name)
        | UpstreamVersion::Tag(name) => Some(name.clone()),
    }
}
