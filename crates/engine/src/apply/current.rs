//! Whether what a plan for a variant was made from still holds, by the store's word and git's.
//!
//! A list may come late, and then it tells of a variant that went, of a spec that nobody wants any
//! more, or of no repository where there is one; and after a crash git may hold what no record tells
//! of yet. Revisions would be made, adopted, deleted or left behind for it. It decides nothing: it
//! corrects what is known, and the next look decides.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use model::{ObjectKey, ObjectName, RepositoryName, Revision};
use plan::variant::{Observed, Plan, Subject, VariantStep};
use store::RefName;

use crate::discover::unseen;
use crate::error::port;
use crate::index::{PackageKey, downstream_of};
use crate::queue::{Done, Key};
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result, discover, opening, waiting};

/// How long to wait for a look at a repository that is due.
const PAUSE: Duration = Duration::from_millis(100);

/// `None` if the plan may be carried out; otherwise when to look again.
pub(super) async fn check(
    engine: &Engine,
    observed: &Observed,
    plan: &Plan,
) -> Result<Option<Done>> {
    let Some(first) = plan.steps.first() else {
        return Ok(None);
    };
    // Nothing has to be found out before a finalizer goes with its namespace, whatever was looked at since the start.
    if observed.namespace_terminating && matches!(first, VariantStep::RemoveFinalizer { .. }) {
        return Ok(None);
    }
    // A finalizer is written on a version, which says the same.
    let finalizer = matches!(
        first,
        VariantStep::AddFinalizer { .. } | VariantStep::RemoveFinalizer { .. }
    );
    if !finalizer && !variant(engine, observed).await? {
        return Ok(Some(Done::Again));
    }
    if matches!(first, VariantStep::AddFinalizer { .. }) && plan.steps.len() == 1 {
        return Ok(None);
    }
    let leaves = |step: &VariantStep| matches!(step, VariantStep::RemoveFinalizer { .. });
    let leaves = plan.steps.iter().any(leaves);
    if leaves && left_behind(engine, observed).await? {
        return Ok(Some(Done::Again));
    }
    for key in places(observed) {
        // A variant that goes is gone for good: what a list says of the repository is not enough.
        let known = match leaves {
            true => engine.repository_now(&key).await?,
            false => engine.world(|w| w.repositories.get(&key).cloned()),
        };
        let Some(known) = known else { continue };
        if known.meta.is_deleting() {
            continue;
        }
        // A list that came late hid it, and all that lies in it would be left behind: the next look knows it.
        if leaves && known.parsed.is_ok() && !is_observed(observed, &key) {
            return Ok(Some(Done::Again));
        }
        if !known.status.is_ready() {
            if leaves {
                uncovered_as_far(engine, observed, &key).await?;
            }
            continue;
        }
        if !engine.inner.repos.is_seen(&key) {
            engine.inner.queue.add(Key::Repository(key));
            return Ok(Some(Done::Retry(PAUSE)));
        }
        if leaves {
            uncovered(engine, observed, &key).await?;
        }
    }
    Ok(None)
}

/// Whether the variant owns anything that it was not seen to own, by the store's word: what its status names, and the
/// revisions at its place. A list that came late hid it, and it would be left behind for good.
async fn left_behind(engine: &Engine, observed: &Observed) -> Result<bool> {
    let (key, uid) = (observed.variant.key(), &observed.variant.meta().uid);
    let mine = |r: &Revision| uid.as_ref().is_some_and(|uid| r.meta.is_owned_by(uid));
    let seen = || observed.downstream.iter().chain(&observed.elsewhere);
    let of_status = observed.status.downstream_targets.iter();
    let of_status = of_status.map(|t| ObjectKey::new(key.namespace.clone(), t.name.clone()));
    let unseen = of_status.filter(|name| !seen().any(|r| r.key == *name));
    let here = observed.downstream.iter();
    let here = here.filter(|r| !r.placeholder && !mine(r));
    let asked: BTreeSet<ObjectKey> = unseen.chain(here.map(|r| r.key.clone())).collect();
    for name in asked {
        let stored = engine.ports().records.get(&name).await.map_err(port)?;
        if let Some(stored) = stored.filter(mine) {
            engine.learn_revision(stored);
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes sure that the downstream package holds nothing that was not seen.
///
/// # Errors
/// `Conflict` if it does.
async fn uncovered(engine: &Engine, observed: &Observed, at: &ObjectKey) -> Result<()> {
    let Some(package) = downstream_at(observed, at) else {
        return Ok(());
    };
    let open = opening::open(engine, &package.namespace, &package.repository).await?;
    uncover(engine, &open, &package, &observed.downstream).await?;
    Ok(())
}

/// The downstream package, where it lies in this repository.
fn downstream_at(observed: &Observed, at: &ObjectKey) -> Option<PackageKey> {
    let Subject::Valid(variant) = &observed.variant else {
        return None;
    };
    let package = downstream_of(variant);
    (package.repository.as_str() == at.name.as_str()).then_some(package)
}

/// Looks into what git holds of a package beyond what was seen, so that it is known from then on: a
/// list of records that came late hides revisions, and git is the truth about them. One look at the
/// package's own refs, however many others there are. Returns the refs that mean no revision that
/// could be served.
///
/// # Errors
/// `Conflict` if there was a revision that was not seen.
pub(super) async fn uncover(
    engine: &Engine,
    open: &Arc<OpenRepository>,
    package: &PackageKey,
    seen: &[Arc<Revision>],
) -> Result<BTreeSet<RefName>> {
    let hidden = unseen(open, &package.package, seen)?;
    if hidden.is_empty() {
        return Ok(BTreeSet::new());
    }
    if !opening::is_let_in(engine, open) {
        let asked = waiting::remote(engine, open.repo.url(), open.repo.fetch()).await;
        asked.map_err(|source| Error::Store {
            attempt: "look at the repository",
            source,
        })?;
    }
    discover::package(engine, open, &package.package).await?;
    let now = engine.world(|w| w.revisions.of_package(package));
    let strange = unseen(open, &package.package, &now)?;
    if hidden.iter().all(|name| strange.contains(name)) {
        return Ok(strange);
    }
    let message = format!("{package} holds revisions that were not known");
    Err(Error::conflict(message))
}

/// Whether the variant is as it was observed.
async fn variant(engine: &Engine, observed: &Observed) -> Result<bool> {
    let (key, meta) = (observed.variant.key(), observed.variant.meta());
    let variants = &engine.ports().variants;
    let unmoved = variants.is_at(key, &meta.resource_version).await;
    if unmoved.map_err(port)? {
        return Ok(true);
    }
    let now = variants.get(key).await.map_err(port)?;
    let same = now.as_ref().is_some_and(|now| now.meta.stands_as(meta));
    if !same {
        tracing::debug!(%key, "not as it was observed");
        match now {
            Some(now) => engine.learn_variant(now),
            None => engine.learn_variant_gone(key, &meta.resource_version),
        }
    }
    Ok(same)
}

/// The same where the repository is not ready: what can be read of it is looked at. One that cannot be
/// opened holds nobody up, as it may never have worked, unless the status tells of revisions there; what was
/// found in it holds the variant until it is known.
async fn uncovered_as_far(engine: &Engine, observed: &Observed, at: &ObjectKey) -> Result<()> {
    let Some(package) = downstream_at(observed, at) else {
        return Ok(());
    };
    let opened = opening::open(engine, &package.namespace, &package.repository).await;
    let hidden = opened.and_then(|open| {
        let hidden = unseen(&open, &package.package, &observed.downstream)?;
        Ok((open, hidden))
    });
    match hidden {
        Ok((_, hidden)) if hidden.is_empty() => Ok(()),
        Ok((open, _)) => {
            uncover(engine, &open, &package, &observed.downstream).await?;
            Ok(())
        }
        Err(Error::Stopped) => Err(Error::Stopped),
        Err(error) if observed.status.downstream_targets.is_empty() => {
            tracing::debug!(repository = %at, error = %error.chain(), "not looked into");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Whether the plan was made knowing that a repository is registered.
fn is_observed(observed: &Observed, at: &ObjectKey) -> bool {
    let mut names = observed.repositories.keys();
    names.any(|name| name.as_str() == at.name.as_str())
}

/// The repositories that hold, or may hold, what the variant made.
fn places(observed: &Observed) -> BTreeSet<ObjectKey> {
    let mut names: BTreeSet<&RepositoryName> =
        observed.elsewhere.iter().map(|r| &r.repository).collect();
    if let Subject::Valid(variant) = &observed.variant {
        names.insert(&variant.spec.downstream.repo);
    }
    let namespace = &observed.variant.key().namespace;
    let key = |name: &RepositoryName| {
        let name = ObjectName::parse(name.as_str()).ok()?;
        Some(ObjectKey::new(namespace.clone(), name))
    };
    names.into_iter().filter_map(key).collect()
}
