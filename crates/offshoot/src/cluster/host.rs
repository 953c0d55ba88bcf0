//! What the package API's server asks of the cluster: who asks, what a namespace is, and to keep records.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apiserver::aggregated::{Host, HostWrite, NamespacePhase};
use apiserver::gateway::User;
use async_trait::async_trait;
use http::request::Parts;
use objects::{Failure, Reason};
use objectstore::{CommitError, Expect, Object, StorageError, key_of};
use serde_json::{Value, json};

use super::door::Identity;
use super::namespaces;
use super::records::{self, Ingest};
use super::remote::{Remote, version_of};
use super::replicas::Replicas;
use super::seen::Seen;
use super::term::Term;

/// How large a record may be, in bytes: what etcd takes in one request, with room for the rest of it.
pub(super) const LARGEST: usize = 1 << 20;

/// How long a write waits to be heard of by the watch.
const HEARD: Duration = Duration::from_secs(10);

/// How often a write is tried whose answer was lost.
const TRIES: usize = 4;

/// The cluster around the server.
pub(super) struct ClusterHost {
    pub(super) remote: Remote,
    pub(super) identity: Arc<Identity>,
    pub(super) replicas: Arc<Replicas>,
    pub(super) seen: Arc<Seen>,
    pub(super) records: Arc<Ingest>,
    pub(super) term: Arc<Term>,
}

impl fmt::Debug for ClusterHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterHost")
    }
}

/// What a record was asked to be, and is not.
struct Lost;

impl ClusterHost {
    /// Writes a record; answers its version. [`Lost`] where the expectation does not hold.
    async fn keep(&self, write: &HostWrite, object: &Value) -> Result<Result<u64, Lost>, Failure> {
        let place = (write.namespace.as_str(), write.name.as_str());
        let term = self.term.number();
        let record = api::write_record(place, term, Some(object), None);
        let size = record.to_string().len();
        if size > LARGEST {
            let why = format!(
                "the record of {}/{} is {size} bytes, {LARGEST} at most",
                place.0, place.1
            );
            return Err(Failure::new(413, Reason::RequestEntityTooLarge, why));
        }
        let mut last = None;
        for _ in 0..TRIES {
            self.term.check()?;
            let expected = match write.expect {
                Expect::Absent => None,
                Expect::Rv(version) => Some(version),
                Expect::Present | Expect::Any => self.now(place).await?.as_ref().map(version_of),
            };
            let written = match expected {
                None if write.expect == Expect::Present => return Ok(Err(Lost)),
                None => {
                    self.remote
                        .create(&records::resource(), place.0, &record)
                        .await
                }
                Some(version) => self.replace(place, version, &record["spec"]).await,
            };
            match written {
                Ok(kept) => return Ok(Ok(version_of(&kept))),
                Err(failure) if matches!(failure.code, 404 | 409) => {
                    // Was it this write, whose answer was lost?
                    let now = self.now(place).await?;
                    if let Some(now) = now.filter(|now| now["spec"] == record["spec"]) {
                        return Ok(Ok(version_of(&now)));
                    }
                    if write.expect != Expect::Any {
                        return Ok(Err(Lost));
                    }
                    last = Some(failure);
                }
                Err(failure) if failure.code >= 500 || failure.code == 429 => {
                    last = Some(failure);
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(last.unwrap_or_else(|| Failure::internal("no try was made")))
    }

    /// Replaces what a record of a version says.
    async fn replace(
        &self,
        (namespace, name): (&str, &str),
        version: u64,
        spec: &Value,
    ) -> Result<Value, Failure> {
        // A merge patch cannot write a null, which packages may hold.
        let patch = json!([
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version.to_string()},
            {"op": "replace", "path": "/spec", "value": spec},
        ]);
        let media = "application/json-patch+json";
        self.remote
            .patch(&records::resource(), (namespace, name, ""), media, &patch)
            .await
    }

    /// Removes a record; answers the version that was removed.
    async fn drop_record(&self, write: &HostWrite) -> Result<Result<u64, Lost>, Failure> {
        let place = (write.namespace.as_str(), write.name.as_str());
        let mut last = None;
        for _ in 0..TRIES {
            self.term.check()?;
            let held = self.records.mirror().and_then(|m| m.get(place.0, place.1));
            let (uid, version) = match (self.records.uid(place.0, place.1), held) {
                (Some(uid), Some(held)) if last.is_none() => (uid, held.rv),
                _ => match self.now(place).await? {
                    Some(now) => {
                        let uid = api::str_at(&now, &["metadata", "uid"]).unwrap_or_default();
                        (uid.to_owned(), version_of(&now))
                    }
                    None => return Ok(Ok(write.old.as_ref().map_or(0, |old| old.rv))),
                },
            };
            if let Expect::Rv(expected) = write.expect
                && expected != version
            {
                return Ok(Err(Lost));
            }
            self.records.removes(place.0, place.1);
            let text = version.to_string();
            let conditions = (uid.as_str(), Some(text.as_str()));
            let gone = self
                .remote
                .delete(&records::resource(), place, conditions)
                .await;
            match gone {
                Ok(()) => return Ok(Ok(version)),
                Err(failure) if failure.code == 404 => return Ok(Ok(version)),
                Err(failure) if failure.code == 409 && write.expect != Expect::Any => {
                    return Ok(Err(Lost));
                }
                Err(failure) if failure.code >= 500 || matches!(failure.code, 409 | 429) => {
                    last = Some(failure);
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(last.unwrap_or_else(|| Failure::internal("no try was made")))
    }

    async fn now(&self, (namespace, name): (&str, &str)) -> Result<Option<Value>, Failure> {
        self.remote.get(&records::resource(), namespace, name).await
    }

    /// Waits until the mirror holds what was written.
    async fn heard(&self, write: &HostWrite, version: u64) -> bool {
        let Some(mirror) = self.records.mirror() else {
            return false;
        };
        let (namespace, name) = (write.namespace.as_str(), write.name.as_str());
        let removed = write.object.is_none();
        let done = move |mirror: &apiserver::aggregated::Mirror| {
            let held = mirror.get(namespace, name).map(|held: Arc<Object>| held.rv);
            match (held, removed) {
                (Some(rv), true) => rv > version,
                (None, true) => true,
                (held, false) => held.is_some_and(|rv| rv >= version) || mirror.version() > version,
            }
        };
        mirror.wait(HEARD, done).await
    }
}

#[async_trait]
impl Host for ClusterHost {
    async fn identify(&self, parts: &Parts) -> Result<User, Failure> {
        if let Some(user) = self.replicas.forwarded(parts).await? {
            return Ok(user);
        }
        self.identity.identify(parts).await
    }

    async fn namespace(&self, name: &str) -> Result<NamespacePhase, Failure> {
        let known = match self.seen.get(namespaces::PLURAL, "", name) {
            Some(known) => Some(known),
            None => {
                let now = self.remote.get(&namespaces::resource(), "", name).await?;
                now.map(|now| self.seen.put(namespaces::PLURAL, now))
            }
        };
        let phase = known.map(|known| NamespacePhase::of(&known));
        Ok(phase.unwrap_or(NamespacePhase::Absent))
    }

    fn is_ready(&self) -> bool {
        self.identity.is_ready()
    }

    async fn write(&self, write: HostWrite) -> Result<u64, CommitError> {
        let written = match &write.object {
            Some(object) => self.keep(&write, object).await,
            None => self.drop_record(&write).await,
        };
        let failed = |why: String| CommitError::Storage(StorageError::Write(why));
        match written {
            Ok(Ok(version)) => {
                if !self.heard(&write, version).await {
                    let why = "the record is written, and the watch has not told of it yet";
                    return Err(failed(why.to_owned()));
                }
                Ok(version)
            }
            Ok(Err(Lost)) => Err(CommitError::Conflict {
                index: 0,
                resource: format!("packagerevisions.{}", api::PACKAGE_GROUP).into(),
                key: key_of(&write.namespace, &write.name),
                found: write.old,
            }),
            // What is too large, or forbidden by somebody's rule, is so the next time as well.
            Err(failure) if matches!(failure.code, 400 | 403 | 413 | 422) => {
                Err(CommitError::Storage(StorageError::Refused(failure.message)))
            }
            Err(failure) => Err(failed(failure.message)),
        }
    }
}
