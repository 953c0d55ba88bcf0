//! Makes and updates drafts: makes sure that what a step expects holds, has it prepared, and publishes it.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{ObjectKey, Revision};
use plan::variant::{
    BaseRef, CreateDraft, Observed, RevisionRef, Subject, UpdateDraft, VariantOutcome, base_of,
};
use store::{Expect, RefEdit, RefName, Scope};
use tokio::sync::OwnedMutexGuard;

use super::current::uncover;
use super::revision::{expected, note};
use crate::discover::unseen;
use crate::index::PackageKey;
use crate::observe;
use crate::ports::{EventType, OurKind};
use crate::prepare::{self, Drafting};
use crate::repos::OpenRepository;
use crate::transaction::{self, Follow, Prepared, Transaction};
use crate::{Engine, Error, Result, opening, waiting};

/// Makes a draft, if nothing else stands there than what was observed.
pub(super) async fn create(
    engine: &Engine,
    observed: &Observed,
    step: &CreateDraft,
) -> Result<VariantOutcome> {
    let (key, seen) = (observed.variant.key(), &observed.downstream);
    let package = PackageKey::new(&step.key.namespace, &step.repository, &step.package);
    let open = opening::open(engine, &step.key.namespace, &step.repository).await?;
    let (_held, strange) = sure(engine, &open, &package, seen).await?;
    free(&open, &package, step, &strange)?;
    let uid = transaction::unrecorded(engine, &step.key).await?;
    base_stands(engine, &open, observed, (&package, step.base.as_ref()))?;
    pin(engine, &step.upstream).await?;
    let prepared = prepare::create(engine, key, &open, uid, step).await?;
    publish(engine, &open, key, prepared, "DraftCreated").await
}

/// Whether the draft's own ref is free: somebody may have taken the package out of an open draft, by git, so that the ref stands and
/// there is no revision.
fn free(
    open: &OpenRepository,
    package: &PackageKey,
    step: &CreateDraft,
    strange: &BTreeSet<RefName>,
) -> Result<()> {
    let (layout, workspace) = (&open.layout, &step.workspace);
    let own = [
        layout.draft(&package.package, workspace)?,
        layout.proposed(&package.package, workspace)?,
    ];
    match own.iter().find(|name| strange.contains(*name)) {
        None => Ok(()),
        Some(name) => Err(Error::InTheWay {
            message: format!(
                "branch '{}' stands in repository '{}' and holds no package that can be served, as the Repository says: put its package back, or delete the branch, in git",
                name.short(),
                package.repository
            ),
        }),
    }
}

/// Brings an open draft in line, if nothing else stands there than what was observed: where what it was derived from is published
/// again, and has no record yet, it would be made of upstream alone.
pub(super) async fn update(
    engine: &Engine,
    observed: &Observed,
    step: &UpdateDraft,
) -> Result<VariantOutcome> {
    let (key, seen) = (observed.variant.key(), &observed.downstream);
    let uid = observed.variant.meta().uid.as_ref();
    let package = PackageKey::of(&*expected(engine, &step.draft)?);
    let open = opening::open(engine, &package.namespace, &package.repository).await?;
    let (_held, _) = sure(engine, &open, &package, seen).await?;
    let old = expected(engine, &step.draft)?;
    base_stands(engine, &open, observed, (&package, step.base.as_ref()))?;
    pin(engine, &step.upstream).await?;
    let prepared = prepare::update(engine, key, uid, (&open, &old), step).await?;
    publish(engine, &open, key, prepared, "DraftUpdated").await
}

/// Publishes what was prepared, and tells people.
async fn publish(
    engine: &Engine,
    open: &OpenRepository,
    key: &ObjectKey,
    prepared: Drafting<'_>,
    reason: &str,
) -> Result<VariantOutcome> {
    match prepared {
        Drafting::Draft(draft) => finish(engine, draft.transaction, key, reason).await,
        Drafting::Equal(equal) => {
            note(engine, &equal.noted, &equal.digest).await?;
            if let Some((draft, goes)) = &equal.superseded {
                superseded(engine, open, key, (draft, goes), &equal.noted).await?;
            }
            Ok(VariantOutcome::Unchanged)
        }
    }
}

/// Holds the package once git is sure to have no revision of it that was not seen: a second draft
/// would be made beside one that a late list of records hides. The refs of it that mean no revision come beside that.
///
/// # Errors
/// `Conflict` if there was one, which is known from then on.
async fn sure(
    engine: &Engine,
    open: &Arc<OpenRepository>,
    package: &PackageKey,
    seen: &[Arc<Revision>],
) -> Result<(OwnedMutexGuard<()>, BTreeSet<RefName>)> {
    let held = waiting::earlier(engine, engine.inner.locks.package(package)).await;
    engine.alive()?;
    // Of most packages git knows nothing else: one look is enough.
    if unseen(open, &package.package, seen)?.is_empty() {
        return Ok((held, BTreeSet::new()));
    }
    // Whoever looks into the package holds it in turn.
    drop(held);
    let strange = uncover(engine, open, package, seen).await?;
    let held = waiting::earlier(engine, engine.inner.locks.package(package)).await;
    engine.alive()?;
    let hidden = unseen(open, &package.package, seen)?;
    if hidden.iter().all(|name| strange.contains(name)) {
        return Ok((held, strange));
    }
    Err(Error::conflict(format!("{package} has changed")))
}

async fn finish(
    engine: &Engine,
    transaction: Transaction<'_, Prepared>,
    key: &ObjectKey,
    reason: &str,
) -> Result<VariantOutcome> {
    let record = transaction.publish().await?;
    let record = record.ok_or_else(|| Error::conflict("the draft was deleted meanwhile"))?;
    let from = record.upstream_lock.as_ref();
    let from = from.map_or_else(String::new, |lock| {
        format!(" from {} of {}", lock.git_ref, lock.repo)
    });
    let message = format!("draft {} is made{from}", record.key.name);
    engine
        .tell(OurKind::Variant, key, EventType::Normal, reason, message)
        .await;
    let open = record.conflicts.iter().filter(|c| c.blocks()).count();
    if open > 0 {
        let conflicts = match open {
            1 => "1 conflict".to_owned(),
            count => format!("{count} conflicts"),
        };
        let message = format!(
            "draft {} has {conflicts} to acknowledge or resolve; its status.conflicts lists them",
            record.key.name
        );
        engine
            .tell(
                OurKind::Variant,
                key,
                EventType::Warning,
                "DraftConflicted",
                message,
            )
            .await;
    }
    Ok(VariantOutcome::Draft(record))
}

/// *p* is still the latest published state. Where there is none, a tag that went since is missed as one that was gone before.
fn base_stands(
    engine: &Engine,
    open: &OpenRepository,
    observed: &Observed,
    (package, base): (&PackageKey, Option<&BaseRef>),
) -> Result<()> {
    let mut revisions = engine.world(|w| w.revisions.of_package(package));
    observe::agree(engine, open, &mut revisions)?;
    let now = base_of(&revisions);
    let same = match (&now, base) {
        (None, None) => match &observed.variant {
            Subject::Valid(variant) => {
                observe::lost_tag(engine, open, variant, &revisions)? == observed.lost_tag
            }
            Subject::Invalid { .. } => true,
        },
        (Some(now), Some(base)) => now.commit == base.commit && now.tree == base.tree,
        _ => false,
    };
    if same {
        return Ok(());
    }
    let message = format!("the published state of {package} has changed");
    Err(Error::conflict(message))
}

/// A draft without a person's commit whose content is *p*'s: it goes (V20).
async fn superseded(
    engine: &Engine,
    open: &OpenRepository,
    key: &ObjectKey,
    (old, goes): (&Arc<Revision>, &RefEdit),
    published: &RevisionRef,
) -> Result<()> {
    let mut transaction = Transaction::begin(engine, open);
    transaction.move_refs([goes.clone()]);
    let prepared = transaction.prepare(vec![Follow::delete(old)])?;
    prepared.publish().await?;
    let (draft, same) = (&old.key.name, &published.key.name);
    let message = format!("draft {draft} is deleted: it equals {same}");
    engine
        .tell(
            OurKind::Variant,
            key,
            EventType::Normal,
            "DraftSuperseded",
            message,
        )
        .await;
    Ok(())
}

/// Keeps the commit that a lock will name in our mirror, whatever becomes of its ref (V1).
async fn pin(engine: &Engine, upstream: &Revision) -> Result<()> {
    let open = opening::open(engine, &upstream.key.namespace, &upstream.repository).await?;
    // A local repository is its owner's own: no refs of ours appear in an upstream.
    if open.repo.url().starts_with("file://") {
        return Ok(());
    }
    let failed = |source| Error::Store {
        attempt: "pin the upstream commit",
        source,
    };
    let name = format!("refs/offshoot/pins/{}", upstream.commit);
    let Ok(name) = RefName::parse(&name) else {
        return Ok(());
    };
    if open.repo.find_ref(&name).map_err(failed)?.is_some() {
        return Ok(());
    }
    // A pin that is refused costs nothing now: the commit is there.
    let pin = RefEdit {
        name,
        expect: Expect::Any,
        to: Some(upstream.commit),
        scope: Scope::Local,
    };
    transaction::keep(engine, &open, "pin the upstream commit", pin).await?;
    Ok(())
}
