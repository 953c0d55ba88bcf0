//! The records that follow from a change, each written on top of what others changed on it meanwhile.
//!
//! A label or an owner that somebody wrote between the look and the write stays: what git says is ours to say, what
//! people wrote on the object is theirs.

use std::sync::Arc;

use model::marks::DELETED;
use model::{Class, CommitId, Lifecycle, ObjectKey, ObjectMeta, Revision, Uid};

use crate::codec::Record;
use crate::index::PackageKey;
use crate::ports::{Change, Expect, Ports, RecordWrite};
use crate::stats::count;
use crate::{Engine, Error, Result, given_up};

/// A record that follows, and what it was made from.
#[derive(Debug, Clone)]
pub(crate) struct Follow {
    /// What is to be recorded.
    pub(crate) record: Record,
    /// The record as it was read; `None` if there was none.
    pub(crate) from: Option<Arc<Revision>>,
    /// Whether it was made from what git says alone: a stored record of the same state, which a list
    /// that came late hid, knows more.
    found: bool,
}

impl Follow {
    /// A record to be written.
    pub(crate) fn put(record: Revision, from: Option<Arc<Revision>>) -> Self {
        Self {
            record: Record::Put {
                record: Box::new(record),
                at_branch_commit: false,
            },
            from,
            found: false,
        }
    }

    /// A record that git tells of.
    pub(crate) fn found(record: Revision, from: Option<Arc<Revision>>) -> Self {
        Self {
            found: true,
            ..Self::put(record, from)
        }
    }

    /// A record of the commit that the writer makes on the branch.
    pub(crate) fn put_at_branch(record: Revision, from: Option<Arc<Revision>>) -> Self {
        Self {
            record: Record::Put {
                record: Box::new(record),
                at_branch_commit: true,
            },
            from,
            found: false,
        }
    }

    /// A record to be removed.
    pub(crate) fn delete(record: &Arc<Revision>) -> Self {
        Self {
            record: Record::Delete(record.key.clone()),
            from: Some(Arc::clone(record)),
            found: false,
        }
    }

    /// A record to be removed, since git has nothing of it any more.
    pub(crate) fn lost(record: &Arc<Revision>) -> Self {
        Self {
            found: true,
            ..Self::delete(record)
        }
    }

    /// Whether a record is to be removed.
    pub(crate) fn is_removal(&self) -> bool {
        matches!(self.record, Record::Delete(_))
    }
}

/// Makes sure that no record has this name, by the store's word: a list that came late may have
/// taken a published revision out of the index, and its record would be written over. Returns
/// the uid of the one that is to be made: Porch's, if the name was never used before (A5).
///
/// # Errors
/// `Conflict` if there is one, which is known from then on.
pub(crate) async fn unrecorded(engine: &Engine, key: &ObjectKey) -> Result<Uid> {
    let port = |source| Error::Port { source };
    let Ports { records, ids, .. } = engine.ports();
    if let Some(stored) = records.get(key).await.map_err(port)? {
        engine.learn_revision(stored);
        return Err(Error::conflict(format!("{} exists", key.name)));
    }
    Ok(if records.is_retired(key).await.map_err(port)? {
        ids.fresh_uid()
    } else {
        ids.revision_uid(&key.namespace, &key.name)
    })
}

/// Writes records, each on top of what others changed on it meanwhile, and removes others once all of that stands: what a
/// record that goes is the last to tell (an approved deletion) is noted on another one by then, whoever dies or hears no
/// answer in between.
///
/// # Errors
/// The object store cannot be written.
pub(crate) async fn record(
    engine: &Engine,
    mut follow: Vec<Follow>,
) -> Result<Vec<Option<Arc<Revision>>>> {
    for f in &mut follow {
        name_anew(engine, f).await?;
    }
    let mut stored: Vec<Option<Arc<Revision>>> = vec![None; follow.len()];
    let all = follow.iter().map(Follow::is_removal).enumerate();
    let (last, first): (Vec<_>, Vec<_>) = all.partition(|(_, removal)| *removal);
    for part in [first, last] {
        let part = part.into_iter().map(|(i, _)| i).collect();
        write(engine, &mut follow, part, &mut stored).await?;
    }
    Ok(stored)
}

/// Writes some of the records.
async fn write(
    engine: &Engine,
    follow: &mut [Follow],
    mut open: Vec<usize>,
    stored: &mut [Option<Arc<Revision>>],
) -> Result<()> {
    for _ in 0..16 {
        if open.is_empty() {
            return Ok(());
        }
        let writes: Vec<RecordWrite> = open
            .iter()
            .filter_map(|i| follow.get(*i).map(write_of))
            .collect();
        let answers = engine.ports().records.commit(writes).await;
        let mut again = Vec::new();
        for (i, answer) in open.into_iter().zip(answers) {
            let Some(f) = follow.get_mut(i) else { continue };
            match answer {
                Ok(Some(record)) => {
                    count(&engine.counters().records);
                    let record = Arc::new(record);
                    engine.learn_revision(Arc::clone(&record));
                    if let Some(place) = stored.get_mut(i) {
                        *place = Some(record);
                    }
                }
                Ok(None) => recorded_gone(engine, f),
                Err(e) if e.class == Class::NotFound => recorded_gone(engine, f),
                Err(e) if e.class == Class::Conflict => {
                    rebase(engine, f).await?;
                    again.push(i);
                }
                Err(source) => return Err(Error::Port { source }),
            }
        }
        open = again;
    }
    Err(Error::conflict(
        "the package revision is being changed by many at once; try again",
    ))
}

/// A record that git brings back under a name that was used is another object than the one that
/// went: clients that remember the old one's uid must not take it for that (A5).
async fn name_anew(engine: &Engine, f: &mut Follow) -> Result<()> {
    // Every record was thrown away, and comes back as what it was.
    if engine.inner.options.rebuild {
        return Ok(());
    }
    let Ports { records, ids, .. } = engine.ports();
    let Record::Put { record, .. } = &mut f.record else {
        return Ok(());
    };
    let key = &record.key;
    let first = ids.revision_uid(&key.namespace, &key.name);
    if f.from.is_none() && record.meta.uid.as_ref() == Some(&first) {
        let used = records.is_retired(key).await;
        if used.map_err(|source| Error::Port { source })? {
            record.meta.uid = Some(ids.fresh_uid());
        }
    }
    Ok(())
}

fn recorded_gone(engine: &Engine, f: &Follow) {
    count(&engine.counters().records);
    if let Some(from) = &f.from {
        // The deletion's own version comes with the watch; until then this one hides it.
        engine.learn_revision_gone(&from.key, &from.meta.resource_version);
    }
}

async fn rebase(engine: &Engine, f: &mut Follow) -> Result<()> {
    let key = match &f.record {
        Record::Put { record, .. } => record.key.clone(),
        Record::Delete(key) => key.clone(),
    };
    let current = engine.ports().records.get(&key).await;
    let current = current.map_err(|source| Error::Port { source })?;
    if let (true, None, Some(from)) = (f.found && !f.is_removal(), &current, &f.from) {
        // Made on top of a record that a list from the past showed: its owner, its labels and its uid
        // are another object's. Git tells what it is once nobody takes it for that one.
        engine.learn_revision_gone(&from.key, &from.meta.resource_version);
        return Err(Error::conflict(format!("{} has gone", key.name)));
    }
    if let Some(current) = current.as_ref().filter(|now| f.found && hides(f, now)) {
        // A list from the past hid that somebody proposed that it goes: with it goes a note of that.
        let conflict = Error::conflict(format!("{} has changed", key.name));
        engine.learn_revision(current.clone());
        return Err(conflict);
    }
    if let (Record::Put { record, .. }, Some(current)) = (&f.record, &current)
        && f.found
        && PackageKey::of(record) != PackageKey::of(current)
    {
        // Two packages have one object name: it stays the one's that was recorded first (A5).
        let conflict = Error::conflict(format!("{} is taken by {}", key.name, current.package));
        engine.learn_revision(current.clone());
        return Err(conflict);
    }
    if let (Record::Put { record, .. }, Some(current)) = (&mut f.record, &current) {
        let before = f.from.as_ref().map(|r| &r.meta);
        let meta = merge_meta(before, &record.meta, &current.meta);
        if f.found && same_state(record, current) {
            let deployment = record.deployment;
            **record = current.clone();
            record.deployment = deployment;
        }
        record.meta = meta;
    }
    f.from = current.map(Arc::new);
    Ok(())
}

/// Whether a record that goes, or becomes that of an open revision of its name, was made from an older state than the stored one.
fn hides(f: &Follow, current: &Revision) -> bool {
    let from = f.from.as_ref().map(|from| from.lifecycle);
    match &f.record {
        Record::Delete(_) => from.is_some_and(|from| from != current.lifecycle),
        Record::Put { record, .. } => {
            let goes = Lifecycle::DeletionProposed;
            !record.lifecycle.is_published() && current.lifecycle == goes && from != Some(goes)
        }
    }
}

/// Whether two records describe the same commit in the same state.
fn same_state(a: &Revision, b: &Revision) -> bool {
    let state = |r: &Revision| (r.commit, r.tree, r.lifecycle, r.revision, r.placeholder);
    state(a) == state(b)
}

fn write_of(f: &Follow) -> RecordWrite {
    let version = f.from.as_ref().map(|r| r.meta.resource_version.clone());
    let expect = version.map_or(Expect::Absent, Expect::Version);
    match &f.record {
        Record::Put { record, .. } => RecordWrite {
            expect,
            change: Change::Put(record.clone()),
        },
        Record::Delete(key) => RecordWrite {
            expect: match expect {
                Expect::Absent => Expect::Any,
                version => version,
            },
            change: Change::Delete(key.clone()),
        },
    }
}

/// Puts the commit that the writer made on the branch into a record that waits for it.
pub(crate) fn at_branch(record: &mut Record, commit: CommitId) {
    if let Record::Put {
        record,
        at_branch_commit: true,
    } = record
    {
        record.commit = commit;
        if let Some(lock) = &mut record.self_lock {
            lock.commit = Some(commit);
        }
    }
}

/// What others did to the metadata since `before`, with what `ours` did on top.
fn merge_meta(before: Option<&ObjectMeta>, ours: &ObjectMeta, theirs: &ObjectMeta) -> ObjectMeta {
    let none = ObjectMeta::default();
    let before = before.unwrap_or(&none);
    let mut meta = theirs.clone();
    for (mine, was, now) in [
        (&ours.labels, &before.labels, &mut meta.labels),
        (
            &ours.annotations,
            &before.annotations,
            &mut meta.annotations,
        ),
    ] {
        now.retain(|key, _| mine.contains_key(key) || !was.contains_key(key));
        for (key, value) in mine {
            if was.get(key) == Some(value) {
                continue;
            }
            // Numbers that somebody approved to delete stay so, whoever noted them.
            let noted = now.get(key).filter(|_| key == DELETED);
            let value = noted.map_or_else(|| value.clone(), |noted| given_up::join(noted, value));
            now.insert(key.clone(), value);
        }
    }
    meta.owners
        .retain(|o| ours.owners.contains(o) || !before.owners.contains(o));
    for owner in &ours.owners {
        if !before.owners.contains(owner) && !meta.owners.contains(owner) {
            meta.owners.push(owner.clone());
        }
    }
    if ours.finalizers != before.finalizers {
        meta.finalizers.clone_from(&ours.finalizers);
    }
    meta
}
