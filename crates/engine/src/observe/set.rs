//! Everything that the decision about one set needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    CommitId, ObjectKey, ObjectName, ObjectSelector, RepositoryName, Revision, TargetSelection,
    VariantSet,
};
use plan::set::{
    Compiled, Existing, KindScope, Observed, Published, RepositoryObject, SelectedObject,
    SelectionFailure, Subject, variant_name,
};
use plan::variant::base_of;

use super::{Sink, upstreams};
use crate::engine::Templates;
use crate::error::port;
use crate::index::{World, downstream_of};
use crate::ports::{Found, Gvk, ObjectSummary, OurKind, Requester, StoredRepository, StoredSet};
use crate::{Engine, Result};

/// Observes one set; `None` if it is gone.
///
/// # Errors
/// The process is on its way out.
pub(crate) async fn set(
    engine: &Engine,
    sink: Sink<'_>,
    key: &ObjectKey,
) -> Result<Option<Observed>> {
    let Some(stored) = engine.world(|w| w.sets.get(key).cloned()) else {
        sink.sources(key, None);
        return Ok(None);
    };
    let (subject, selected, (upstreams, unread)) = match &stored.parsed {
        Ok(set) => {
            let subject = Subject::Valid {
                set: Arc::new(set.clone()),
                templates: templates(engine, set, &stored).await?,
            };
            let selected = selected(engine, sink, set).await;
            (subject, selected, upstreams::of(engine, sink, set).await)
        }
        Err(problems) => {
            let subject = Subject::Invalid {
                key: stored.key.clone(),
                meta: Arc::clone(&stored.meta),
                problems: problems.clone(),
            };
            (subject, BTreeMap::new(), (Vec::new(), Vec::new()))
        }
    };
    Ok(Some(engine.world(|w| Observed {
        set: subject,
        status: stored.status.clone(),
        now: engine.now(),
        quiet: engine.inner.options.quiet,
        variants_here: engine.inner.options.variants,
        upstreams,
        unread,
        repositories: Arc::new(repositories(w, key)),
        selected,
        variants: w.existing_in(&key.namespace),
        published: published(w, &stored),
        whole_rollout: false,
        failure: engine.inner.set_failures.get(key),
    })))
}

/// What a set's variants have published, and those that have the name and place of one of them and no owner, so that it
/// takes them over (S8). By the records: a status may be of yesterday (F7).
fn published(world: &World, set: &StoredSet) -> BTreeMap<ObjectName, Published> {
    let rolls = set.parsed.as_ref().is_ok_and(|s| s.spec.rollout.is_some());
    let Some(uid) = set.meta.uid.as_ref().filter(|_| rolls) else {
        return BTreeMap::new();
    };
    let began = set.status.rollout.as_ref().map_or(0, |r| r.began);
    let all = world.existing_in(&set.key.namespace).into_iter();
    let named = |v: &Existing| {
        let spec = v.variant.as_ref().map(|v| &v.spec);
        spec.and_then(|spec| variant_name(&set.key, &spec.downstream).ok())
    };
    let stray =
        |v: &Existing| v.meta.controller().is_none() && named(v).as_ref() == Some(&v.key.name);
    let ours = all.filter(|v| v.meta.is_owned_by(uid) || stray(v));
    let of = |existing: Arc<Existing>| {
        let variant = existing.variant.as_ref()?;
        let revisions = world.revisions.of_package(&downstream_of(variant));
        let latest = base_of(&revisions)?.revision;
        let published = Published {
            commit: latest.upstream_lock.as_ref()?.commit?,
            at: unix_seconds(&latest.published_at),
            then: published_by(&revisions, |at| at.is_none_or(|at| at <= began))
                .or_else(|| published_before(&revisions, &latest)),
            earlier: published_by(&revisions, |at| at.is_some_and(|at| at < began)),
        };
        Some((existing.key.name.clone(), published))
    };
    ours.filter_map(of).collect()
}

/// What [`model::utc`] writes, read back; `None` from anything else.
fn unix_seconds(text: &str) -> Option<i64> {
    let at: jiff::Timestamp = text.parse().ok()?;
    // Another zone, parts of a second, or another way to write it.
    (model::utc(at.as_second()) == text).then_some(at.as_second())
}

/// The upstream commit of the last of what was published at a time that this takes, in Unix seconds where it is known.
fn published_by(
    revisions: &[Arc<Revision>],
    takes: impl Fn(Option<i64>) -> bool,
) -> Option<CommitId> {
    let was = |r: &&Arc<Revision>| {
        r.lifecycle.is_published() && !r.placeholder && takes(unix_seconds(&r.published_at))
    };
    let latest = revisions.iter().filter(was).max_by_key(|r| r.revision)?;
    latest.upstream_lock.as_ref()?.commit
}

/// The upstream commit of the last that was published before this, and of another commit.
fn published_before(revisions: &[Arc<Revision>], latest: &Revision) -> Option<CommitId> {
    let commit = |r: &Revision| r.upstream_lock.as_ref()?.commit;
    let is = commit(latest);
    let was = |r: &&Arc<Revision>| {
        let published = r.lifecycle.is_published() && !r.placeholder;
        published && r.revision < latest.revision && commit(r).is_some_and(|c| Some(c) != is)
    };
    let former = revisions.iter().filter(was).max_by_key(|r| r.revision)?;
    commit(former)
}

/// Compiled once per generation (S4).
async fn templates(engine: &Engine, set: &VariantSet, stored: &StoredSet) -> Result<Templates> {
    let spec = set.spec.clone();
    let cpu = engine.inner.options.cpu.clone();
    let compiled = async move { cpu.run(move || Arc::new(Compiled::of(&spec))).await };
    let Some(uid) = stored.meta.uid.clone() else {
        return compiled.await;
    };
    let at = (uid, stored.meta.generation);
    if let Some(known) = engine.inner.templates.get(&at) {
        return Ok(known);
    }
    let templates = compiled.await?;
    engine.inner.templates.put(at, Arc::clone(&templates), 1);
    Ok(templates)
}

fn repositories(world: &World, key: &ObjectKey) -> BTreeMap<RepositoryName, RepositoryObject> {
    world
        .repositories
        .iter()
        .filter(|r| r.key.namespace == key.namespace)
        .filter_map(|r| repository(r))
        .collect()
}

/// A repository as sets see it; `None` if it is on its way out.
fn repository(r: &StoredRepository) -> Option<(RepositoryName, RepositoryObject)> {
    let name = RepositoryName::parse(r.key.name.as_str()).ok()?;
    let object = RepositoryObject {
        labels: r.meta.labels.clone(),
        annotations: r.meta.annotations.clone(),
    };
    (!r.meta.is_deleting()).then_some((name, object))
}

/// What object selectors select, by the index of their target.
async fn selected(
    engine: &Engine,
    sink: Sink<'_>,
    set: &VariantSet,
) -> BTreeMap<usize, Result<Vec<Arc<SelectedObject>>, SelectionFailure>> {
    let mut selected = BTreeMap::new();
    for (index, target) in set.spec.targets.iter().enumerate() {
        if let TargetSelection::ObjectSelector { selector, .. } = &target.selection {
            selected.insert(index, select(engine, sink, set, selector).await);
        }
    }
    selected
}

async fn select(
    engine: &Engine,
    sink: Sink<'_>,
    set: &VariantSet,
    selector: &ObjectSelector,
) -> Result<Vec<Arc<SelectedObject>>, SelectionFailure> {
    let gvk = Gvk::of(&selector.api_version, &selector.kind);
    let requester = Requester {
        kind: OurKind::Set,
        key: set.key.clone(),
    };
    // Also a kind that is not served yet is followed: it may be, one day (V11).
    sink.follow(&gvk);
    let found = match engine.ports().cluster.listable(&gvk, &requester).await {
        Ok(Found::Here(scope)) => Ok(scope),
        Ok(Found::KindMissing | Found::Absent | Found::ClusterScoped) => {
            Err(SelectionFailure::KindMissing)
        }
        Ok(Found::Forbidden(why)) => Err(SelectionFailure::Forbidden(why)),
        Ok(Found::WriterUnknown) => Err(SelectionFailure::WriterUnknown),
        Err(error) => Err(SelectionFailure::Unavailable(error.to_string())),
    };
    KindScope::may_select(found, &set.key.namespace, selector)?;
    let unread = || SelectionFailure::Unavailable(format!("{gvk} has not been read yet"));
    engine.world(|w| {
        let mirror = w.objects.kind(&gvk).filter(|m| m.is_loaded());
        let mirror = mirror.ok_or_else(unread)?;
        Ok(chosen(set, selector, mirror.iter().map(|o| &**o)))
    })
}

/// What a selector takes of all objects of its kind.
fn chosen<'a>(
    set: &VariantSet,
    selector: &ObjectSelector,
    all: impl Iterator<Item = &'a ObjectSummary>,
) -> Vec<Arc<SelectedObject>> {
    let here = |o: &&ObjectSummary| o.is_seen_from(&set.key.namespace);
    let named = |o: &&ObjectSummary| {
        let name = o.key.name.as_str();
        selector.name.as_deref().is_none_or(|wanted| wanted == name)
    };
    let labelled = |o: &&ObjectSummary| selector.labels.matches(&o.object.labels);
    let objects = all.filter(here).filter(named).filter(labelled);
    objects.map(|o| Arc::clone(&o.object)).collect()
}

/// Whether the set is as it was observed, by the store's word. What is not is known from then on.
///
/// # Errors
/// The store cannot be read.
pub(crate) async fn stands(engine: &Engine, seen: &Observed) -> Result<bool> {
    let (key, meta) = (seen.set.key(), seen.set.meta());
    let now = engine.ports().sets.get(key).await.map_err(port)?;
    let same = now.as_ref().is_some_and(|now| now.meta.stands_as(meta));
    if !same {
        tracing::debug!(%key, "not as it was observed");
        match now {
            Some(now) => engine.learn_set(now),
            None => engine.learn_set_gone(key, &meta.resource_version),
        }
    }
    Ok(same)
}

/// The set's targets by the store's word instead of the watches': a list that came late lacks what
/// is there. What it lacked is known from then on. Asked only before something is deleted.
///
/// # Errors
/// The store cannot be read.
pub(crate) async fn targets_now(engine: &Engine, seen: &Observed) -> Result<Observed> {
    let mut now = seen.clone();
    let (Subject::Valid { set, .. }, key) = (&seen.set, seen.set.key()) else {
        return Ok(now);
    };
    let all = engine.ports().repositories.now(&key.namespace).await;
    let all = all.map_err(port)?;
    now.repositories = Arc::new(all.iter().filter_map(repository).collect());
    for repository in all {
        engine.learn_repository(repository);
    }
    (now.upstreams, now.unread) = upstreams::of(engine, Sink::of(engine), set).await;
    for (index, target) in set.spec.targets.iter().enumerate() {
        let TargetSelection::ObjectSelector { selector, .. } = &target.selection else {
            continue;
        };
        if !matches!(seen.selected.get(&index), Some(Ok(_))) {
            continue;
        }
        let kind = Gvk::of(&selector.api_version, &selector.kind);
        let cluster = &engine.ports().cluster;
        let all = cluster.objects_now(&kind, &key.namespace).await;
        let selected = match all.map_err(port)? {
            None => Err(SelectionFailure::KindMissing),
            Some(all) => {
                let objects = chosen(set, selector, all.iter());
                engine.learn_objects(&kind, all);
                Ok(objects)
            }
        };
        now.selected.insert(index, selected);
    }
    Ok(now)
}

#[cfg(test)]
mod tests {
    use super::unix_seconds;

    #[test]
    fn times_come_back() {
        for time in [0, 951_782_400, 1_767_225_599, 1_709_251_199] {
            assert_eq!(unix_seconds(&model::utc(time)), Some(time));
        }
        for odd in [
            "",
            "2025-02-30T00:00:00Z",
            "2025-01-01T00:00:00+01:00",
            "2025-01-01T00:00:00.5Z",
        ] {
            assert_eq!(unix_seconds(odd), None, "{odd}");
        }
    }
}
