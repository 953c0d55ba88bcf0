//! Whether an upstream that is not found may merely not be read yet. Where somebody removed the records, or their definition,
//! each comes back with the first look at its repository, whose status still says from before that it is ready.

use model::{Namespace, ObjectKey, RepositoryName, UpstreamSource};
use plan::variant::UpstreamResolution;

use super::{Sink, repository_summary, upstreams, variant};
use crate::Engine;
use crate::index::World;

/// Whether a variant lacks its upstream, and the upstream's repository was not looked at since the start.
pub(crate) fn variant_is_unread(engine: &Engine, key: &ObjectKey) -> bool {
    engine.world(|w| {
        let Some(stored) = w.variant(key).filter(|v| !v.meta.is_deleting()) else {
            return false;
        };
        let Ok(wanted) = &stored.parsed else {
            return false;
        };
        is_missing(&variant::upstream(w, wanted))
            && is_unread(engine, w, &key.namespace, &wanted.spec.upstream.repo)
    })
}

/// Whether a set lacks one of its upstreams in such a repository.
pub(crate) async fn set_is_unread(engine: &Engine, key: &ObjectKey) -> bool {
    let stored = engine.world(|w| w.sets.get(key).cloned());
    let Some(stored) = stored.filter(|s| !s.meta.is_deleting()) else {
        return false;
    };
    let Ok(set) = &stored.parsed else {
        return false;
    };
    // What cannot be read itself is told as such.
    let (sources, _) = upstreams::sources(engine, Sink::dropped(), set).await;
    engine.world(|w| {
        sources.iter().any(|(source, _)| match source {
            UpstreamSource::Package(wanted) => {
                is_missing(&upstreams::resolve(w, set, wanted))
                    && is_unread(engine, w, &key.namespace, &wanted.repo)
            }
            UpstreamSource::Labels { repo, .. } => {
                let mut all = w.repositories.iter();
                upstreams::packages(w, set, source).is_empty()
                    && all.any(|r| {
                        let name = r.parsed.as_ref().map(|parsed| &parsed.name);
                        r.key.namespace == key.namespace
                            && name.is_ok_and(|name| {
                                repo.as_ref().is_none_or(|repo| repo == name)
                                    && is_unread(engine, w, &key.namespace, name)
                            })
                    })
            }
            // A selection names no other one.
            UpstreamSource::Set(_) => false,
        })
    })
}

fn is_missing(found: &UpstreamResolution) -> bool {
    matches!(found, UpstreamResolution::NotFound { .. })
}

fn is_unread(
    engine: &Engine,
    world: &World,
    namespace: &Namespace,
    repository: &RepositoryName,
) -> bool {
    world
        .repository(namespace, repository)
        .is_some_and(|stored| {
            !stored.meta.is_deleting()
                && repository_summary(&stored).ready.is_ok()
                && !engine.inner.repos.is_seen(&stored.key)
        })
}
