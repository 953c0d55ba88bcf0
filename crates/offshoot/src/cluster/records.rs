//! The records of package revisions in the cluster, taken into the mirror in the order of their versions.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use api::{RevisionRecord, UnreadRecord};
use apiserver::ResourceName;
use apiserver::aggregated::{Listed, Mirror, MirrorError, NamespacePhase};
use futures::StreamExt as _;
use serde_json::Value;
use tokio::sync::watch;

use super::follow::{FollowMessage, follow};
use super::namespaces;
use super::remote::{Remote, version_of};
use super::seen::Seen;
use super::term::Term;

/// The resource in which records lie.
pub(crate) fn resource() -> ResourceName {
    ResourceName::new(api::RECORD_GROUP, "v1alpha1", "revisionrecords")
}

/// What is known of the records beside what the mirror holds.
#[derive(Debug)]
pub(super) struct Ingest {
    mirror: OnceLock<Mirror>,
    /// The uid of each record, by namespace and name: removals name it.
    uids: Mutex<HashMap<(String, String), String>>,
    /// The marker of the latest term that was heard of.
    marker: watch::Sender<i64>,
    /// Whether a record of a newer format was met: this version only forwards then (X7).
    newer: AtomicBool,
    /// Removals that this process asked for and has not heard of yet.
    ours: Mutex<HashSet<(String, String)>>,
    /// How many records somebody else removed where nothing goes.
    lost: watch::Sender<u64>,
    seen: Arc<Seen>,
    term: Arc<Term>,
}

impl Ingest {
    /// Nothing is known yet; `seen` says what namespaces are, `term` whether this replica is the one that removes.
    pub(super) fn new(seen: Arc<Seen>, term: Arc<Term>) -> Arc<Self> {
        Arc::new(Self {
            ours: Mutex::default(),
            lost: watch::Sender::new(0),
            seen,
            term,
            mirror: OnceLock::new(),
            uids: Mutex::default(),
            marker: watch::Sender::new(0),
            newer: AtomicBool::new(false),
        })
    }

    /// The mirror, once there is a server that it belongs to.
    pub(super) fn mirror(&self) -> Option<&Mirror> {
        self.mirror.get()
    }

    /// Says which mirror is fed.
    pub(super) fn feeds(&self, mirror: Mirror) {
        // Called once, before anything is followed.
        drop(self.mirror.set(mirror));
    }

    /// The uid of a record.
    pub(super) fn uid(&self, namespace: &str, name: &str) -> Option<String> {
        let uids = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        uids.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// Whether a record of a newer format was met.
    pub(super) fn met_newer(&self) -> bool {
        self.newer.load(Ordering::Acquire)
    }

    /// A record is about to be removed by this process.
    pub(super) fn removes(&self, namespace: &str, name: &str) {
        let mut ours = self.ours.lock().unwrap_or_else(PoisonError::into_inner);
        ours.insert((namespace.to_owned(), name.to_owned()));
    }

    /// Waits until somebody else removes a record in a namespace that stays: only git knows then what it said.
    pub(super) async fn loses(&self) {
        let mut lost = self.lost.subscribe();
        // The sender lives as long as this.
        drop(lost.changed().await);
    }

    /// Whether the record of this place was removed by nobody who may.
    fn is_loss(&self, place: &(String, String)) -> bool {
        let mut ours = self.ours.lock().unwrap_or_else(PoisonError::into_inner);
        // A standby does not know what the holder removes.
        if ours.remove(place) || self.term.number() == 0 {
            return false;
        }
        let namespace = self.seen.get(namespaces::PLURAL, "", &place.0);
        namespace.is_some_and(|namespace| NamespacePhase::of(&namespace) == NamespacePhase::Active)
    }

    /// Waits until the watch delivered the marker of a term.
    pub(super) async fn heard_of(&self, term: i64) {
        let mut marker = self.marker.subscribe();
        // The sender lives as long as this.
        drop(marker.wait_for(|heard| *heard >= term).await);
    }

    /// Feeds the mirror for as long as records are served; a list that is older than the mirror is asked for again.
    pub(super) async fn run(&self, remote: Remote) {
        loop {
            let mut steps = follow(remote.clone(), resource());
            while let Some(step) = steps.next().await {
                match self.take(step).await {
                    Ok(()) => {}
                    Err(stale @ MirrorError::Stale { .. }) => {
                        tracing::warn!(%stale, "a list came late; listing again");
                        break;
                    }
                    Err(error) => tracing::error!(%error, "a record cannot be kept"),
                }
            }
            // Not served (yet): the definition is missing, or an old replica of the API server answered.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
    }

    async fn take(&self, step: FollowMessage) -> Result<(), MirrorError> {
        let Some(mirror) = self.mirror.get() else {
            return Ok(());
        };
        match step {
            FollowMessage::All(version, all) => {
                let listed = all.iter().filter_map(|record| self.read(record)).collect();
                mirror.list(version, listed).await?;
                for record in &all {
                    self.mark(record);
                }
                Ok(())
            }
            FollowMessage::Put(record) => {
                match self.read(&record) {
                    Some(listed) => mirror.put(&listed).await?,
                    None => mirror.advance(version_of(&record)).await?,
                }
                self.mark(&record);
                Ok(())
            }
            FollowMessage::Gone(record) => {
                let place = place(&record);
                if self.is_loss(&place) {
                    tracing::error!(
                        namespace = place.0,
                        name = place.1,
                        "somebody removed a record"
                    );
                    self.lost.send_modify(|count| *count += 1);
                    // The holder ends for it: until then nothing is decided on a fleet that lacks revisions.
                    return Ok(());
                }
                self.forget(&place);
                let version = version_of(&record);
                mirror.remove((&place.0, &place.1), version).await
            }
            FollowMessage::Version(version) => mirror.advance(version).await,
        }
    }

    /// A record as the mirror wants it; `None` for one that only marks a term, or cannot be read.
    fn read(&self, record: &Value) -> Option<Listed> {
        let read = match api::read_record(record) {
            Ok(read) => read,
            Err(error) => {
                if matches!(error, UnreadRecord::Newer { .. }) {
                    self.newer.store(true, Ordering::Release);
                }
                tracing::error!(%error, "a record cannot be read");
                return None;
            }
        };
        let RevisionRecord { uid, revision, .. } = read;
        let (namespace, name) = place(record);
        let mut uids = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        uids.insert((namespace.clone(), name.clone()), uid);
        drop(uids);
        Some(Listed {
            namespace,
            name,
            version: version_of(record),
            object: revision?,
        })
    }

    fn forget(&self, place: &(String, String)) {
        let mut uids = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        uids.remove(place);
    }

    /// A marker counts once everything before it is in the mirror.
    fn mark(&self, record: &Value) {
        if let Ok(RevisionRecord {
            term,
            revision: None,
            ..
        }) = api::read_record(record)
        {
            self.marker.send_if_modified(|heard| {
                let news = term > *heard;
                *heard = term.max(*heard);
                news
            });
        }
    }
}

fn place(record: &Value) -> (String, String) {
    let text = |field| api::str_at(record, &["metadata", field]).unwrap_or_default();
    (text("namespace").to_owned(), text("name").to_owned())
}
