//! Everything that the decision about one variant needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    Class, Digest, Machine, Namespace, ObjectKey, RepositoryName, Revision, Status, Variant,
    join_problems,
};
use plan::variant::{
    FailedDerivation, Lineage, Observed, ObservedBase, RepositorySummary, Stated, Subject,
    UpstreamResolution, Writer, base_of, resolve_upstream, stating,
};

use super::{Sink, base, branch, facts, injections, lost, pinned, rivals};
use crate::discover::{OBJECTS, is_broken};
use crate::index::{PackageKey, World, downstream_of, upstream_of};
use crate::ports::{StoredRepository, StoredVariant};
use crate::{Engine, Error, Result, leaving, opening, registrations};

/// Observes one variant; `None` if it is gone.
///
/// # Errors
/// Git or the cluster cannot be read now.
pub(crate) async fn variant(
    engine: &Engine,
    sink: Sink<'_>,
    key: &ObjectKey,
) -> Result<Option<Observed>> {
    let Some(stored) = engine.world(|w| w.variant(key).cloned()) else {
        return Ok(None);
    };
    let deleting = stored.meta.is_deleting();
    let namespace_leaves = match deleting {
        true => leaving::leaves(engine, &key.namespace).await?,
        false => leaving::was_heard_to(engine, &key.namespace).await?,
    };
    let goes = deleting || namespace_leaves;
    let mut observed = engine.world(|w| known(w, &stored));
    observed.namespace_terminating = namespace_leaves;
    // What failed to be derived, or read, has nothing to do with a deletion.
    if !goes {
        observed.failure = engine.inner.failures.get(key);
    }
    add_writable(engine, key, &mut observed);
    if let Ok(variant) = &stored.parsed
        && !goes
    {
        contents(engine, sink, variant, &mut observed).await?;
        // What can be read again fails for the first time when it fails next.
        let unread = |f: &FailedDerivation| f.digest.format() == 0;
        if observed.unreadable.is_none() && observed.failure.as_ref().is_some_and(unread) {
            sink.recovered(key);
            observed.failure = None;
        }
    }
    Ok(Some(observed))
}

/// What indexes alone tell.
fn known(world: &World, stored: &Arc<StoredVariant>) -> Observed {
    let namespace = &stored.key.namespace;
    let owned = stored
        .meta
        .uid
        .as_ref()
        .map(|uid| world.revisions.of_owner(namespace, uid))
        .unwrap_or_default();
    let mut o = Observed {
        variant: match &stored.parsed {
            Ok(variant) => Subject::Valid(Arc::clone(variant)),
            Err(problems) => Subject::Invalid {
                key: stored.key.clone(),
                meta: Arc::clone(&stored.meta),
                problems: problems.clone(),
            },
        },
        status: stored.status.clone(),
        namespace_terminating: false,
        repositories: BTreeMap::new(),
        upstream: UpstreamResolution::NotFound { others: Vec::new() },
        feeders: Vec::new(),
        downstream: Vec::new(),
        made_elsewhere: BTreeSet::new(),
        elsewhere: owned,
        take_back: world.takes_back(&stored.meta, namespace),
        set_suspended: world.is_set_suspended(&stored.meta, namespace),
        step_closed: world.is_early(&stored.meta, &stored.key),
        claimed_elsewhere: BTreeSet::new(),
        rivals: Vec::new(),
        injections: Vec::new(),
        writer: Writer::Known,
        base: None,
        lost_tag: None,
        deleted_up_to: None,
        off_branch: None,
        absent: Vec::new(),
        stated: Stated::default(),
        failure: None,
        unreadable: None,
    };
    let mut places: BTreeSet<RepositoryName> = BTreeSet::new();
    if let Ok(variant) = &stored.parsed {
        let here = downstream_of(variant);
        o.downstream = world.revisions.of_package(&here);
        let twice = |r: &Revision| o.downstream.iter().any(|d| rivals::same_ref(world, d, r));
        let mut elsewhere = std::mem::take(&mut o.elsewhere);
        elsewhere.retain(|r| PackageKey::of(r) != here && !twice(r));
        o.elsewhere = elsewhere;
        let claimants = rivals::claimants(world, &here);
        o.made_elsewhere = rivals::made_elsewhere(world, &here, &claimants, &o.downstream);
        o.rivals = rivals::rivals(world, &claimants, stored.meta.uid.as_ref());
        o.feeders = rivals::feeders(world, variant);
        places.insert(variant.spec.upstream.repo.clone());
        places.insert(variant.spec.downstream.repo.clone());
        o.upstream = upstream(world, variant);
    }
    places.extend(o.elsewhere.iter().map(|r| r.repository.clone()));
    o.claimed_elsewhere = rivals::claimed(world, &stored.key, &o.elsewhere);
    o.repositories = places
        .into_iter()
        .filter_map(|name| {
            let stored = world.repository(namespace, &name)?;
            (!stored.meta.is_deleting()).then(|| (name, repository_summary(&stored)))
        })
        .collect();
    o
}

pub(super) fn upstream(world: &World, variant: &Variant) -> UpstreamResolution {
    let key = upstream_of(variant);
    let branch = world
        .repository(&key.namespace, &key.repository)
        .and_then(|r| r.parsed.as_ref().ok().map(|r| r.git.branch.clone()))
        .unwrap_or_default();
    resolve_upstream(
        &world.revisions.of_package(&key),
        &variant.spec.upstream,
        &branch,
    )
}

/// What decisions need of a registered repository.
pub(crate) fn repository_summary(stored: &StoredRepository) -> RepositorySummary {
    let ready = match &stored.parsed {
        Err(problems) => Err(join_problems(problems)),
        Ok(_) => match stored.status.ready() {
            Some(ready) if ready.status == Status::True => Ok(()),
            Some(ready) => Err(ready.message.clone()),
            None => Err("it has not been read yet".to_owned()),
        },
    };
    let parsed = stored.parsed.as_ref().ok();
    RepositorySummary {
        deployment: parsed.is_some_and(|r| r.deployment),
        branch: parsed.map(|r| r.git.branch.clone()).unwrap_or_default(),
        writable: Ok(()),
        ready,
    }
}

fn add_writable(engine: &Engine, key: &ObjectKey, o: &mut Observed) {
    for (name, summary) in &mut o.repositories {
        let Ok(name) = model::ObjectName::parse(name.as_str()) else {
            continue;
        };
        let key = ObjectKey::new(key.namespace.clone(), name);
        if let Some(open) = engine.inner.repos.get(&key) {
            summary.writable = registrations::writable(engine, &open);
        }
    }
}

/// What contents tell, by object id.
async fn contents(
    engine: &Engine,
    sink: Sink<'_>,
    variant: &Variant,
    o: &mut Observed,
) -> Result<()> {
    let namespace = &variant.key.namespace;
    let spec = &variant.spec;
    let mut points = BTreeSet::new();
    if let Some(revision) = pinned::revision(engine, variant, &o.upstream).await? {
        o.upstream = UpstreamResolution::Found(revision);
    }
    if let UpstreamResolution::Found(upstream) = &o.upstream {
        // A repository that is not said to be ready may be readable all the same, and then its
        // points count: what is derived of it must not lack them.
        match opening::here(engine, namespace, &spec.upstream.repo).await {
            Ok(open) => match facts::of(engine, &open, upstream.tree) {
                Ok(facts) => points.extend(facts.points.iter().cloned()),
                Err(error) => return unreadable((engine, sink), o, Side::Upstream, error),
            },
            Err(error) if ready(o, &spec.upstream.repo) => {
                return unreadable((engine, sink), o, Side::Upstream, error);
            }
            // Nothing can be derived of it either.
            Err(_) => {}
        }
    }
    if ready(o, &spec.downstream.repo)
        && let Err(error) = downstream(engine, namespace, variant, o, &mut points).await
    {
        return unreadable((engine, sink), o, Side::Downstream, error);
    }
    let before = &o.stated.injections;
    (o.injections, o.writer) =
        injections::injections(engine, sink, variant, &points, before).await?;
    o.absent = injections::absent(&o.injections, &points);
    Ok(())
}

/// Whose contents.
#[derive(Clone, Copy)]
enum Side {
    Upstream,
    Downstream,
}

/// Notes that contents cannot be read, for the plan to say so, and when to try again (V16).
///
/// # Errors
/// What was seen has changed, or the process is on its way out: there is nothing to be said.
fn unreadable(
    (engine, sink): (&Engine, Sink<'_>),
    o: &mut Observed,
    side: Side,
    error: Error,
) -> Result<()> {
    if matches!(error, Error::Stopped) || error.class() == Class::Conflict {
        return Err(error);
    }
    let Subject::Valid(variant) = &o.variant else {
        return Err(error);
    };
    let (reason, what) = match (side, &o.upstream) {
        (Side::Upstream, UpstreamResolution::Found(r)) => (
            "UpstreamUnreadable",
            format!("'{}' in repo '{}'", r.key.name, r.repository),
        ),
        (Side::Upstream, _) => return Err(error),
        (Side::Downstream, _) => {
            let place = &variant.spec.downstream;
            let base = base_of(&o.downstream).map(|b| b.revision.key.name.to_string());
            let name = base.unwrap_or_else(|| place.package.to_string());
            (
                "DownstreamUnreadable",
                format!("'{name}' in repo '{}'", place.repo),
            )
        }
    };
    let message = format!("{what} cannot be read: {}", error.chain());
    let failure = FailedDerivation {
        digest: Digest::new(0, message.as_bytes()),
        class: error.retry_class(),
        reason: reason.to_owned(),
        message,
        attempts: 1,
        due: false,
    };
    let failures = &engine.inner.failures;
    let key = &variant.key;
    let known = failures.get(key).filter(|f| f.digest == failure.digest);
    let failure = match known.filter(|f| !f.due) {
        Some(known) => known,
        None => sink.failed(key, failure),
    };
    o.unreadable = Some((reason, failure));
    Ok(())
}

/// Whether what the variant stands on, and what it made, is all there.
fn whole(variant: &Variant, o: &Observed) -> Result<()> {
    let base = base_of(&o.downstream).map(|choice| choice.revision.key.clone());
    let uid = variant.meta.uid.as_ref();
    let concerns = |r: &&Arc<Revision>| {
        let made = uid.is_some_and(|uid| r.meta.is_owned_by(uid));
        base.as_ref() == Some(&r.key) || (made && !r.lifecycle.is_published())
    };
    let mut broken = o.downstream.iter().filter(concerns);
    match broken.find(|r| is_broken(r)) {
        Some(revision) => {
            let said = revision.condition(OBJECTS).map(|c| c.message.clone());
            let what = format!("{}: {}", revision.key.name, said.unwrap_or_default());
            Err(Error::refused(Class::NotFound, "", what))
        }
        None => Ok(()),
    }
}

fn ready(o: &Observed, repository: &RepositoryName) -> bool {
    o.repositories
        .get(repository)
        .is_some_and(|r| r.ready.is_ok())
}

async fn downstream(
    engine: &Engine,
    namespace: &Namespace,
    variant: &Variant,
    o: &mut Observed,
    points: &mut BTreeSet<String>,
) -> Result<()> {
    let open = opening::here(engine, namespace, &variant.spec.downstream.repo).await?;
    whole(variant, o)?;
    let apart = branch::agree(engine, &open, &mut o.downstream)?;
    if let Some(choice) = base_of(&o.downstream) {
        o.base = Some(base::base(engine, &open, &choice, &o.downstream)?);
    }
    o.lost_tag = lost::lost_tag(engine, &open, variant, &o.downstream)?;
    let package = &variant.spec.downstream.package;
    o.deleted_up_to = lost::deleted_up_to(engine, &open, package, &o.downstream)?;
    o.off_branch = match apart {
        Some(apart) => Some(apart),
        None => branch::of_published(&open, &o.downstream)?,
    };
    let uid = variant.meta.uid.as_ref();
    let newest = o
        .downstream
        .iter()
        .filter(|r| !r.lifecycle.is_published())
        .filter(|r| uid.is_some_and(|uid| r.meta.is_owned_by(uid)))
        .filter_map(|r| r.machine.clone())
        .next_back();
    let of_base = match &o.base {
        Some(ObservedBase {
            lineage: Lineage::Trailer(machine),
            ..
        }) => Some(machine.clone()),
        _ => None,
    };
    // What cannot be read any more states nothing; deriving will say why.
    let facts = |machine: &Machine| facts::of(engine, &open, machine.v_tree).ok();
    if let Some(facts) = newest.as_ref().or(of_base.as_ref()).and_then(facts) {
        points.extend(facts.points.iter().cloned());
    }
    if let Some(machine) = stating(&variant.meta, newest.as_ref(), of_base.as_ref())
        && let Some(facts) = facts(machine)
    {
        o.stated = facts.stated(machine);
    }
    Ok(())
}
