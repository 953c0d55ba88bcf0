//! Durable first, visible last: content and refs go to git, then the records that follow from
//! them, then the intent is settled.
//!
//! A record that somebody else changed meanwhile (a label, an owner) is written again on top of
//! that change: what git says is ours to say, what people wrote on the object is theirs.

use std::sync::Arc;
use std::time::Duration;

use model::{Class, CommitId, ObjectKey, ObjectMeta, Revision, Uid};
use store::{Announced, Answer, BranchEdit, RefEdit, Submission, Written};
use tokio::time::Instant;

use crate::codec::{self, Record};
use crate::ports::{Change, Expect, Point, PortError, Ports, RecordWrite};
use crate::queue::Key;
use crate::repos::Open;
use crate::stats::count;
use crate::{Engine, Error, Result, registrations, waiting};

/// How long the answer to a push that was lost is asked for: whoever waits longer is answered, and a look at the
/// repository finds it out.
const HEARING: Duration = Duration::from_secs(45);

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
}

/// Everything that one change puts in the publication.
#[derive(Debug, Default)]
pub(crate) struct Publication {
    /// Commits that were built.
    pub(crate) written: Vec<Written>,
    /// Refs to move.
    pub(crate) refs: Vec<RefEdit>,
    /// A commit on the shared branch.
    pub(crate) branch: Option<BranchEdit>,
    /// The records that follow.
    pub(crate) follow: Vec<Follow>,
    /// What the repository's writer was told beforehand.
    pub(crate) announced: Option<Announced>,
}

/// Puts a change in the publication and records it; returns the records in order (`None`: removed).
///
/// # Errors
/// `Conflict` if git was not as expected: nothing happened. Anything after that leaves an
/// intent, and is completed by the next look.
pub(crate) async fn publish(
    engine: &Engine,
    open: &Open,
    publication: Publication,
) -> Result<Vec<Option<Arc<Revision>>>> {
    engine.point(Point::Derived)?;
    let Publication {
        written,
        refs,
        branch,
        mut follow,
        announced,
    } = publication;
    for f in &follow {
        if let Record::Put { record, .. } = &f.record {
            let fits = engine.ports().records.fits(record);
            fits.map_err(|source| Error::Port { source })?;
        }
    }
    let submission = Submission {
        written,
        refs,
        branch,
        intent: Some(codec::encode_intent(follow.iter().map(|f| &f.record))),
        announced,
    };
    let published = match submit(engine, open, submission).await {
        Ok(published) => published,
        Err(error) => {
            // Whoever gave no answer may have taken it.
            if error.class() == Class::Unavailable {
                unfinished(engine, open);
            }
            return Err(error);
        }
    };
    count(&engine.counters().published);
    engine.point(Point::Published)?;
    if let Some(commit) = published.commit {
        for f in &mut follow {
            at_branch(&mut f.record, commit);
        }
    }
    let stored = match record(engine, follow).await {
        Ok(stored) => stored,
        Err(error) => {
            // What the change says beside its refs stands in its intent alone.
            let repos = &engine.inner.repos;
            let intent = published.intent;
            intent
                .iter()
                .for_each(|id| repos.leave_open(open.repo.url(), *id));
            unfinished(engine, open);
            return Err(error);
        }
    };
    engine.point(Point::Recorded)?;
    if let Some(intent) = published.intent
        && let Err(error) = open.repo.settle(&[intent])
    {
        // All of it stands: whoever asked is not told otherwise. The next start finds nothing left to do.
        tracing::warn!(%error, "an intent that is done cannot be settled");
    }
    engine.point(Point::Settled)?;
    Ok(stored)
}

/// Git may say what no record says: nothing is decided about the repository's packages before
/// somebody has looked.
fn unfinished(engine: &Engine, open: &Open) {
    engine.inner.repos.unrecorded(open.key());
    engine.inner.queue.add(Key::Repository(open.key().clone()));
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

/// Submits, and waits for the answer of a remote that gives none at once.
///
/// # Errors
/// Another registration writes there; a refusal, by its class; what could not be attempted.
pub(crate) async fn submit(
    engine: &Engine,
    open: &Open,
    submission: Submission,
) -> Result<store::Published> {
    registrations::may_write(engine, open)?;
    let address = open.repo.url();
    waiting::is_heard(engine, address)?;
    waiting::remote(engine, address, hear(engine, open, submission)).await
}

/// Submits, and asks for the answer until there is one.
async fn hear(engine: &Engine, open: &Open, submission: Submission) -> Result<store::Published> {
    let failed = |source| Error::Store {
        attempt: "publish to the repository",
        source,
    };
    let mut answer = open.repo.submit(submission).await.map_err(failed)?;
    let begun = Instant::now();
    let mut wait = Duration::from_millis(200);
    loop {
        match answer {
            Answer::Published(published) => return Ok(published),
            Answer::Refused(refusal) => {
                count(&engine.counters().refused);
                return Err(refused(&refusal));
            }
            Answer::Pending(handle) => {
                let patient = wait <= Duration::from_secs(10) && begun.elapsed() < HEARING;
                if !patient || engine.is_stopped() {
                    return Err(unheard(open.repo.url()));
                }
                tokio::time::sleep(wait).await;
                wait *= 2;
                answer = open.repo.outcome(handle).await.map_err(failed)?;
            }
        }
    }
}

/// Writes records, each on top of what others changed on it meanwhile.
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
    let mut open: Vec<usize> = (0..follow.len()).collect();
    for _ in 0..16 {
        if open.is_empty() {
            return Ok(stored);
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
                    leaves(engine, &record);
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

/// A record of a repository that is not registered any more goes as those before it went: whoever took the registration
/// away may have looked before it was there.
fn leaves(engine: &Engine, record: &Revision) {
    let (namespace, name) = (&record.key.namespace, &record.repository);
    if engine.world(|w| w.repository(namespace, name).is_some()) {
        return;
    }
    if let Ok(name) = model::ObjectName::parse(name.as_str()) {
        let key = ObjectKey::new(namespace.clone(), name);
        engine.inner.queue.add(Key::Repository(key));
    }
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
    if let (true, None, Some(from)) = (f.found, &current, &f.from) {
        // Made on top of a record that a list from the past showed: its owner, its labels and its uid
        // are another object's. Git tells what it is once nobody takes it for that one.
        engine.learn_revision_gone(&from.key, &from.meta.resource_version);
        return Err(Error::conflict(format!("{} has gone", key.name)));
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
            if was.get(key) != Some(value) {
                now.insert(key.clone(), value.clone());
            }
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

/// A push of which nobody knows what became of it.
fn unheard(address: &str) -> Error {
    let text = "the push was sent and not answered; once the repository answers, the package revision shows what became \
                of it";
    Error::Port {
        source: PortError::new(Class::Unavailable, format!("hear from {address}"), text),
    }
}

fn refused(refusal: &store::Refusal) -> Error {
    match refusal.class() {
        Class::Conflict => Error::conflict(refusal.to_string()),
        class => Error::Refused {
            class,
            problems: vec![model::Problem::new("", refusal.to_string())],
        },
    }
}
