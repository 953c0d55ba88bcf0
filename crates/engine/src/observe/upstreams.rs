//! The upstream packages of a set: named one by one, by a `PackageRevisionSet`, or by labels (R184–R186).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    ObjectKey, ObjectName, Revision, Upstream, UpstreamSource, UpstreamVersion, VariantSet,
};
use plan::set::{Followed, Unread};
use plan::variant::{UpstreamResolution, resolve_upstream};

use super::Sink;
use crate::Engine;
use crate::index::{PackageKey, World};
use crate::ports::{Found, Gvk, OurKind, Requester};

/// The packages in the set's order, each once, and the sources that cannot be read.
pub(super) async fn of(
    engine: &Engine,
    sink: Sink<'_>,
    set: &VariantSet,
) -> (Vec<Followed>, Vec<Unread>) {
    let (sources, unread) = sources(engine, sink, set).await;
    let is_named = |source: &UpstreamSource| matches!(source, UpstreamSource::Set(_));
    if set.spec.upstreams.iter().any(is_named) {
        // Known before it is looked at: what changes from now on wakes the set.
        let all = sources.iter().map(|(source, _)| source.clone()).collect();
        sink.sources(&set.key, Some(all));
    } else {
        sink.sources(&set.key, None);
    }
    let followed = engine.world(|w| {
        let mut seen = BTreeSet::new();
        let mut followed = Vec::new();
        for (source, listed) in &sources {
            let listed = *listed && matches!(source, UpstreamSource::Package(_));
            for wanted in packages(w, set, source) {
                let Upstream {
                    repo,
                    package,
                    version,
                    ..
                } = &wanted;
                if seen.insert((repo.clone(), package.clone(), format!("{version:?}"))) {
                    let found = resolve(w, set, &wanted);
                    followed.push(Followed {
                        wanted,
                        found,
                        listed,
                    });
                }
            }
        }
        followed
    });
    (followed, unread)
}

/// Where a set takes its upstream packages from, named selections resolved, each with whether the set itself lists it; and those
/// that cannot be read.
pub(super) async fn sources(
    engine: &Engine,
    sink: Sink<'_>,
    set: &VariantSet,
) -> (Vec<(UpstreamSource, bool)>, Vec<Unread>) {
    let mut sources = Vec::new();
    let mut unread = Vec::new();
    for source in &set.spec.upstreams {
        let UpstreamSource::Set(name) = source else {
            sources.push((source.clone(), true));
            continue;
        };
        match read(engine, sink, set, name).await {
            Ok(more) => sources.extend(more.into_iter().map(|source| (source, false))),
            Err(why) => unread.push(why),
        }
    }
    (sources, unread)
}

/// What a `PackageRevisionSet` names, as the user who last wrote the set may see it (S5).
async fn read(
    engine: &Engine,
    sink: Sink<'_>,
    set: &VariantSet,
    name: &ObjectName,
) -> Result<Vec<UpstreamSource>, Unread> {
    // Also one that is not there yet is followed (V11).
    sink.follow(&Gvk::revision_sets());
    let key = ObjectKey::new(set.key.namespace.clone(), name.clone());
    let requester = Requester {
        kind: OurKind::Set,
        key: set.key.clone(),
    };
    let what = format!("PackageRevisionSet '{name}'");
    let stays = |why: String| Unread {
        why,
        passes: false,
        writer_unknown: false,
    };
    match engine.ports().cluster.revision_set(&key, &requester).await {
        Ok(Found::Here(Ok(sources))) => Ok(sources),
        Ok(Found::Here(Err(problems))) => {
            let problems = model::join_problems(&problems);
            Err(stays(format!("{what} cannot be used: {problems}")))
        }
        Ok(Found::Absent | Found::KindMissing | Found::ClusterScoped) => {
            Err(stays(format!("could not find {what}")))
        }
        Ok(Found::Forbidden(why)) => Err(stays(format!("{what} may not be read: {why}"))),
        Ok(Found::WriterUnknown) => Err(Unread {
            writer_unknown: true,
            ..stays(what)
        }),
        Err(error) => Err(Unread {
            passes: true,
            ..stays(format!("{what} cannot be read now: {error}"))
        }),
    }
}

pub(super) fn packages(world: &World, set: &VariantSet, source: &UpstreamSource) -> Vec<Upstream> {
    let (only, selector) = match source {
        UpstreamSource::Package(upstream) => return vec![upstream.clone()],
        UpstreamSource::Set(_) => return Vec::new(),
        UpstreamSource::Labels { repo, selector } => (repo, selector),
    };
    let mut latest: BTreeMap<PackageKey, Arc<Revision>> = BTreeMap::new();
    for revision in world.revisions.of_namespace(&set.key.namespace) {
        let near = only.as_ref().is_none_or(|r| *r == revision.repository);
        let fit = revision.lifecycle.is_published() && revision.revision.is_numbered();
        if !near || !fit || !selector.matches(&revision.meta.labels) {
            continue;
        }
        let best = latest.entry(PackageKey::of(&revision));
        let best = best.or_insert_with(|| Arc::clone(&revision));
        if best.revision < revision.revision {
            *best = revision;
        }
    }
    // What the set itself makes is no upstream of it, whatever its labels: it would feed on itself.
    latest.retain(|package, _| !makes(world, set, package));
    let wanted = latest.into_values().map(|r| Upstream {
        repo: r.repository.clone(),
        package: r.package.clone(),
        version: UpstreamVersion::Revision(r.revision.0),
        allow_unpublished: false,
        commit: None,
    });
    wanted.collect()
}

/// Whether a package is the downstream of one of the set's variants.
fn makes(world: &World, set: &VariantSet, package: &PackageKey) -> bool {
    let uid = set.meta.uid.as_ref();
    let mut claimants = world.writers_at(package).into_iter();
    claimants.any(|v| uid.is_some_and(|uid| v.meta.is_owned_by(uid)))
}

pub(super) fn resolve(world: &World, set: &VariantSet, up: &Upstream) -> UpstreamResolution {
    let namespace = &set.key.namespace;
    let branch = world
        .repository(namespace, &up.repo)
        .and_then(|r| r.parsed.as_ref().ok().map(|r| r.git.branch.clone()))
        .unwrap_or_default();
    let package = PackageKey::new(namespace, &up.repo, &up.package);
    resolve_upstream(&world.revisions.of_package(&package), up, &branch)
}
