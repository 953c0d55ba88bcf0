//! The journal's say after an unclean stop.
//!
//! An intent of which a ref stands is rolled forward: its record is written as it was meant, with
//! the owners and labels that git does not know. One of which none stands is dropped. The journal
//! only saves a look: discovery alone leads to the same refs and contents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{CommitId, Lifecycle, Revision};
use store::{Intent, RefName, Refs};

use crate::codec::{self, Record};
use crate::repos::OpenRepository;
use crate::transaction::{Follow, at_branch};
use crate::{Engine, Error, Result, transaction};

/// Completes or drops what a crash left half done; once for each URL, when its remote was asked.
pub(crate) async fn complete(engine: &Engine, open: &OpenRepository) -> Result<()> {
    let url = open.repo.url();
    if !engine.inner.repos.needs_recovery(url) {
        return Ok(());
    }
    let failed = |attempt| move |source| Error::Store { attempt, source };
    let intents = open
        .repo
        .unfinished()
        .map_err(failed("read the intent journal"))?;
    // What this process began since is its own to record.
    let left = engine.inner.repos.left_open(url, &intents);
    let (known, unknown): (Vec<_>, Vec<_>) = intents
        .into_iter()
        .filter(|i| left.contains(&i.id))
        .partition(|i| i.known);
    let later: BTreeSet<_> = unknown.iter().map(|i| i.id).collect();
    if !known.is_empty() {
        let refs = open.repo.refs().map_err(failed("read the refs"))?;
        for intent in known.iter().filter(|i| i.stands) {
            roll_forward(engine, &refs, intent).await?;
        }
        let ids: Vec<_> = known.iter().map(|i| i.id).collect();
        open.repo.settle(&ids).map_err(failed("settle intents"))?;
    }
    engine.inner.repos.recovered(url, &left - &later);
    Ok(())
}

async fn roll_forward(engine: &Engine, refs: &Refs, intent: &Intent) -> Result<()> {
    let records = match codec::decode_intent(&intent.payload) {
        Ok(records) => records,
        Err(error) => {
            // Refs are the truth; what an unreadable intent knew beside them is said to be lost.
            tracing::warn!(intent = %intent.id, %error, "an intent cannot be read");
            return Ok(());
        }
    };
    let mut follow = Vec::new();
    for mut record in records {
        if let Some(commit) = intent.commit {
            at_branch(&mut record, commit);
        }
        follow.extend(still_due(engine, refs, record).await?);
    }
    match transaction::record(engine, follow).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_refusal() => {
            // Refs are the truth: a look at the repository tells of what cannot be recorded.
            tracing::warn!(intent = %intent.id, %error, "what an intent was to record is refused");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// What of an intent is still to be recorded.
async fn still_due(engine: &Engine, refs: &Refs, record: Record) -> Result<Option<Follow>> {
    let key = match &record {
        Record::Put { record, .. } => record.key.clone(),
        Record::Delete(key) => key.clone(),
    };
    let known = engine.ports().records.get(&key).await;
    let known = known.map_err(|source| Error::Port { source })?;
    match record {
        Record::Put { record, .. } => {
            // Nothing was written since the change was meant, not by it either.
            let unwritten = known
                .as_ref()
                .is_some_and(|k| k.meta.resource_version == record.meta.resource_version);
            let same = known
                .as_ref()
                .is_some_and(|k| k.commit == record.commit && k.lifecycle == record.lifecycle);
            if (same && !unwritten) || record.placeholder || !stands_in(refs, &record) {
                return Ok(None);
            }
            let mut record = *record;
            // Marks, labels and owners that git does not know are what the change made of them, unless somebody wrote since.
            if let Some(known) = known.as_ref().filter(|_| !unwritten) {
                record.meta = known.meta.clone();
            }
            Ok(Some(Follow::put(record, known.map(Arc::new))))
        }
        // The look that follows notes on the branch's record that somebody approved it, before this one goes.
        Record::Delete(_) => Ok(known
            .filter(|k| k.lifecycle != Lifecycle::DeletionProposed && !stands_in(refs, k))
            .map(|k| Follow::delete(&Arc::new(k)))),
    }
}

/// Whether the ref that a record describes is where the record says.
pub(crate) fn stands_in(refs: &BTreeMap<RefName, CommitId>, record: &Revision) -> bool {
    ref_of(record).is_some_and(|name| refs.get(&name) == Some(&record.commit))
}

/// Whether the ref of a record is not where the record says; one that leads nowhere is told of, and its record stays.
pub(crate) fn is_lost(
    record: &Revision,
    refs: &BTreeMap<RefName, CommitId>,
    broken: Option<&BTreeMap<RefName, String>>,
) -> bool {
    let Some(name) = ref_of(record) else {
        return !record.placeholder && broken.is_none();
    };
    let told = broken.is_some_and(|broken| broken.contains_key(&name));
    !record.placeholder && !told && refs.get(&name) != Some(&record.commit)
}

/// The ref that a record describes.
pub(crate) fn ref_of(record: &Revision) -> Option<RefName> {
    let lock = record.self_lock.as_ref()?;
    let name = match record.lifecycle {
        Lifecycle::Draft | Lifecycle::Proposed => RefName::branch(&lock.git_ref),
        Lifecycle::Published | Lifecycle::DeletionProposed => RefName::tag(&lock.git_ref),
    };
    name.ok()
}
