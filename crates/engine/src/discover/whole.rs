//! Whether what records name can be read (X10): a revision whose files are gone says so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use model::{CommitId, Condition, ReadinessGate, Revision, Status, TreeId};

use crate::index::PackageKey;
use crate::repos::OpenRepository;
use crate::transaction::Follow;
use crate::{Engine, Error, Result, transaction};

/// The condition of a revision whose objects are not all there.
pub(crate) const OBJECTS: &str = "offshoot.dev/Objects";

type Broken = BTreeMap<(CommitId, TreeId), String>;

/// Looks up what the records of a repository name, where objects may have gone since the last time, and says on each
/// record whether it is there. Returns what is not, for the repository.
///
/// # Errors
/// Git cannot be read, or records cannot be written.
pub(super) async fn check_objects(
    engine: &Engine,
    open: &Arc<OpenRepository>,
) -> Result<BTreeSet<String>> {
    let failed = |source| Error::Store {
        attempt: "look for objects",
        source,
    };
    let tidied = open.repo.tidied().map_err(failed)?;
    let known = engine.world(|w| {
        w.revisions
            .of_repository(&open.key().namespace, &open.repository.name)
    });
    let again = {
        let mut seen = open.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.tidied.replace(tidied) != Some(tidied)
    };
    // What was missing may be back; all the rest is looked up again once something went.
    let wanted = known.iter().filter(|r| again || is_broken(r));
    let named: BTreeSet<_> = wanted.clone().map(|r| (r.commit, r.tree)).collect();
    if named.is_empty() {
        return Ok(BTreeSet::new());
    }
    let broken = open.repo.broken(&named).map_err(failed)?;
    let mut problems = BTreeSet::new();
    for record in wanted {
        let missing = broken.get(&(record.commit, record.tree));
        if let Some(missing) = missing {
            problems.insert(format!(
                "package {}: {} cannot be read: {missing} is not in the repository",
                record.package, record.key.name
            ));
        }
        if missing.is_some() || is_broken(record) {
            say_whether_whole(engine, record, &broken).await?;
        }
    }
    Ok(problems)
}

async fn say_whether_whole(engine: &Engine, seen: &Revision, broken: &Broken) -> Result<()> {
    let guard = engine.inner.locks.package(&PackageKey::of(seen)).await;
    engine.alive()?;
    let Some(now) = engine.world(|w| w.revisions.get(&seen.key)) else {
        return Ok(());
    };
    let mut record = Revision::clone(&now);
    record.conditions.retain(|c| c.kind != OBJECTS);
    record
        .readiness_gates
        .retain(|g| g.condition_type != OBJECTS);
    if let Some(missing) = broken.get(&(now.commit, now.tree)) {
        let message = format!(
            "{missing} is not in the repository: bring it back (`git fsck` names all that is missing) or delete the ref"
        );
        let condition = Condition::new(OBJECTS, Status::False, "ObjectsMissing", message);
        record.conditions.push(condition);
        if !record.lifecycle.is_published() {
            record.readiness_gates.push(ReadinessGate {
                condition_type: OBJECTS.to_owned(),
            });
        }
    }
    if record != *now {
        transaction::record(engine, vec![Follow::put(record, Some(now))]).await?;
    }
    drop(guard);
    Ok(())
}

/// Whether a record says that its objects are not all there.
pub(crate) fn is_broken(record: &Revision) -> bool {
    record
        .condition(OBJECTS)
        .is_some_and(|c| c.status == Status::False)
}
