//! The Lease: which replica writes (C2).
//!
//! Whoever holds it renews it; whoever does not, watches it, and takes it over once it was *seen unchanged* for its whole
//! duration by a clock of its own: what others write as a time counts for nothing. A term is never reused: it is one more
//! than the Lease and any record ever said, and stands in the Lease before the first effect.

use std::sync::Arc;
use std::time::Duration;

use apiserver::ResourceName;
use futures::StreamExt as _;
use objects::{Failure, Reason};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::held::{ADDRESS, FORMAT, Held, Newest, REPLICA, TERM, after, held};
use super::records;
use super::remote::{Remote, Told, version_of};
use super::term::{Term, boot_time};

/// How long a Lease lasts without a renewal.
const DURATION: Duration = Duration::from_secs(15);

/// How often it is renewed.
const RENEW: Duration = Duration::from_secs(3);

/// How long a renewal is waited for, and a handing over: an answer that is lost must not cost the term.
const ANSWER: Duration = Duration::from_secs(3);

/// How often the Lease is tried to be handed over.
const TRIES: usize = 4;

/// How long to wait after the cluster could not be asked.
const PAUSE: Duration = Duration::from_millis(500);

/// How many replicas' entries are kept; a new holder begins with its own.
const REPLICAS: usize = 16;

/// Who this replica is.
#[derive(Debug, Clone)]
pub(super) struct Replica {
    /// Unique to this process.
    pub(super) id: String,
    /// Where others reach it, `HOST:PORT`.
    pub(super) address: String,
    /// The fingerprint of its certificate.
    pub(super) fingerprint: String,
}

/// The Lease of this release.
pub(super) struct Lease {
    remote: Remote,
    namespace: String,
    name: String,
    me: Replica,
    term: Arc<Term>,
    told: watch::Sender<Held>,
    newest: Newest,
}

/// Why a replica holds the Lease no longer.
#[derive(Debug, thiserror::Error)]
#[error("the Lease {lease} is lost: {why}")]
pub(super) struct LostLease {
    lease: String,
    why: String,
}

impl Lease {
    pub(super) fn new(
        remote: Remote,
        (namespace, name): (&str, &str),
        me: Replica,
        term: Arc<Term>,
    ) -> Self {
        Self {
            remote,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            me,
            term,
            told: watch::Sender::new(Held::default()),
            newest: Newest::default(),
        }
    }

    /// What the Lease says, as it was heard of last.
    pub(super) fn heard(&self) -> watch::Receiver<Held> {
        self.told.subscribe()
    }

    /// Reads what the Lease says now, for whoever was told of a replica that is not known.
    ///
    /// # Errors
    /// The cluster cannot be asked.
    pub(super) async fn look(&self) -> Result<(), Failure> {
        if let Some(lease) = self.read().await? {
            self.told.send_replace(held(&lease));
        }
        Ok(())
    }

    /// Waits until this replica holds the Lease; answers its term.
    ///
    /// # Errors
    /// The cluster was put back to a state of before: whoever starts anew knows that one alone.
    pub(super) async fn acquire(&self) -> Result<i64, LostLease> {
        loop {
            match self.once().await {
                Ok(Some(taken)) => return taken,
                Ok(None) => {}
                Err(failure) => {
                    tracing::warn!(%failure, "the Lease cannot be had; trying again");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Takes the Lease if nobody holds it, or waits while it is renewed.
    async fn once(&self) -> Result<Option<Result<i64, LostLease>>, Failure> {
        let Some(lease) = self.read().await? else {
            let term = after(0, self.highest_of_records().await?)?;
            return Ok(self.make(term).await?.map(Ok));
        };
        if let Err(why) = self.newest.note(&lease) {
            return Ok(Some(Err(self.lost(why))));
        }
        let now = held(&lease);
        self.told.send_replace(now.clone());
        if now.format > api::RECORD_FORMAT {
            // A newer version wrote: this one forwards, and waits for it to go (X7).
            tracing::warn!(
                format = now.format,
                "records are of a newer format: this replica only forwards"
            );
            tokio::time::sleep(DURATION).await;
            return Ok(None);
        }
        if now.holder == self.me.id {
            // The answer to the write that took it was lost. Nothing was begun in that term yet.
            return Ok(self.take(&lease, now.term).await?.map(Ok));
        }
        self.register(&lease, &now).await?;
        let mut lease = lease;
        if !now.holder.is_empty() {
            match self.left_alone(lease).await? {
                Some(left) => lease = left,
                None => return Ok(None),
            }
        }
        let term = after(held(&lease).term, self.highest_of_records().await?)?;
        Ok(self.take(&lease, term).await?.map(Ok))
    }

    /// Waits until the Lease was seen unchanged for as long as it lasts; answers its last state, `None` where it is to be read
    /// again.
    async fn left_alone(&self, mut lease: Value) -> Result<Option<Value>, Failure> {
        let select = format!("&fieldSelector=metadata.name%3D{}", self.name);
        let (mut since, mut version) = (boot_time(), version_of(&lease));
        loop {
            let resource = resource();
            let watching = self
                .remote
                .watch(&resource, &self.namespace, version, &select);
            let mut told = match watching.await {
                Ok(told) => told,
                // Too old: it changed.
                Err(failure) if failure.code == 410 => return Ok(None),
                Err(failure) => return Err(failure),
            };
            loop {
                let left = DURATION.saturating_sub(boot_time().saturating_sub(since));
                match tokio::time::timeout(left, told.next()).await {
                    Err(_) => return Ok(Some(lease)),
                    Ok(Some(Ok(Told::Version(at)))) => version = at.max(version),
                    Ok(Some(Ok(Told::Put(now)))) => {
                        // One of before is met at the next read.
                        drop(self.newest.note(&now));
                        (since, version) = (boot_time(), version_of(&now));
                        lease = now;
                        let now = held(&lease);
                        let known = now.replicas.iter().any(|(id, _)| *id == self.me.id);
                        let again =
                            now.holder.is_empty() || !known || now.format > api::RECORD_FORMAT;
                        self.told.send_replace(now);
                        if again {
                            return Ok(None);
                        }
                    }
                    Ok(Some(Ok(Told::Gone(_)))) => return Ok(None),
                    Ok(Some(Err(failure))) if failure.code == 410 => return Ok(None),
                    Ok(Some(Err(failure))) => return Err(failure),
                    Ok(None) => break,
                }
            }
        }
    }

    /// Renews the Lease for as long as it is this replica's. Where nobody answers for longer than the term lasts, nothing is
    /// written any more, and the first answer decides: a Lease that is still of this term was nobody else's meanwhile, since
    /// whoever takes it writes another term into it.
    pub(super) async fn hold(&self, term: i64) -> LostLease {
        let mut lease = None;
        loop {
            tokio::time::sleep(RENEW).await;
            let mut is_over = false;
            loop {
                let started = boot_time();
                let renewed = tokio::time::timeout(ANSWER, self.renew(term, &mut lease)).await;
                match renewed.unwrap_or_else(|_| Err(unheard())) {
                    Ok(()) => {
                        if is_over {
                            tracing::info!(
                                term,
                                "nobody took the Lease: this replica goes on in its term"
                            );
                        }
                        self.term.renewed(term, started);
                        break;
                    }
                    Err(failure) if matches!(failure.code, 404 | 409) => {
                        return self.lost(failure.message);
                    }
                    Err(failure) => {
                        if !is_over && !self.term.is_on() {
                            is_over = true;
                            tracing::warn!(
                                "the Lease was not renewed in time: nothing is written until it is"
                            );
                        }
                        tracing::warn!(%failure, "the Lease cannot be renewed; trying again");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        }
    }

    fn lost(&self, why: String) -> LostLease {
        self.term.end();
        LostLease {
            lease: format!("{}/{}", self.namespace, self.name),
            why,
        }
    }

    /// Hands the Lease to whoever waits for it. A failure costs its duration, nothing else.
    pub(super) async fn release(&self) {
        self.term.end();
        for _ in 0..TRIES {
            let handed = tokio::time::timeout(ANSWER, self.hand_over()).await;
            match handed.unwrap_or_else(|_| Err(unheard())) {
                Ok(()) => return,
                // Another replica may just have written its entry.
                Err(failure) => tracing::warn!(%failure, "the Lease was not handed over"),
            }
        }
    }

    async fn hand_over(&self) -> Result<(), Failure> {
        let lease = self.read().await?;
        let Some(lease) = lease.filter(|lease| held(lease).holder == self.me.id) else {
            return Ok(());
        };
        let patch = json!({
            "metadata": {"resourceVersion": version_of(&lease).to_string()},
            "spec": {"holderIdentity": ""},
        });
        self.patch(&patch).await.map(drop)
    }

    async fn read(&self) -> Result<Option<Value>, Failure> {
        self.remote
            .get(&resource(), &self.namespace, &self.name)
            .await
    }

    /// The highest term in any record, by a list of what a majority of the store knows.
    async fn highest_of_records(&self) -> Result<i64, Failure> {
        let all = self.remote.list(&records::resource(), "").await?.items;
        let terms = all.iter().filter_map(|record| record.pointer("/spec/term"));
        Ok(terms.filter_map(Value::as_i64).max().unwrap_or_default())
    }

    async fn make(&self, term: i64) -> Result<Option<i64>, Failure> {
        let started = boot_time();
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": self.namespace, "name": self.name, "annotations": self.notes(term)},
            "spec": self.spec(0),
        });
        match self
            .remote
            .create(&resource(), &self.namespace, &lease)
            .await
        {
            Ok(made) => Ok(Some(self.mine(&made, term, started))),
            Err(failure) if failure.reason == Reason::AlreadyExists => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    async fn take(&self, lease: &Value, term: i64) -> Result<Option<i64>, Failure> {
        let started = boot_time();
        let mut notes = self.notes(term);
        for (replica, _) in held(lease).replicas {
            if replica != self.me.id {
                notes[format!("{REPLICA}{replica}")] = Value::Null;
            }
        }
        let transitions = lease.pointer("/spec/leaseTransitions");
        let transitions = transitions.and_then(Value::as_i64).unwrap_or_default();
        let patch = json!({
            "metadata": {"resourceVersion": version_of(lease).to_string(), "annotations": notes},
            "spec": self.spec(transitions + 1),
        });
        match self.patch(&patch).await {
            Ok(taken) => Ok(Some(self.mine(&taken, term, started))),
            Err(failure) if matches!(failure.code, 404 | 409) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn mine(&self, lease: &Value, term: i64, started: Duration) -> i64 {
        self.term.renewed(term, started);
        self.told.send_replace(held(lease));
        term
    }

    /// Renews; `lease` is what the last write answered, and becomes what this one answers.
    async fn renew(&self, term: i64, lease: &mut Option<Value>) -> Result<(), Failure> {
        let known = match lease.take() {
            Some(known) => known,
            None => {
                let gone = || Failure::new(404, Reason::NotFound, "it is gone");
                let read = self.read().await?.ok_or_else(gone)?;
                let noted = self.newest.note(&read);
                noted.map_err(|why| Failure::new(409, Reason::Conflict, why))?;
                read
            }
        };
        let now = held(&known);
        if now.holder != self.me.id || now.term != term {
            let why = format!("{:?} holds it in term {}", now.holder, now.term);
            return Err(Failure::new(409, Reason::Conflict, why));
        }
        let mut patch = json!({
            "metadata": {"resourceVersion": version_of(&known).to_string()},
            "spec": {"renewTime": micros()},
        });
        if now.address != self.me.address {
            // Somebody wrote it: standbys would look for the holder in vain.
            patch["metadata"]["annotations"][ADDRESS] = self.me.address.clone().into();
        }
        if now.replicas.len() > REPLICAS {
            for (replica, _) in now.replicas.iter().filter(|(r, _)| *r != self.me.id) {
                patch["metadata"]["annotations"][format!("{REPLICA}{replica}")] = Value::Null;
            }
        }
        match self.patch(&patch).await {
            Ok(renewed) => {
                drop(self.newest.note(&renewed));
                self.told.send_replace(held(&renewed));
                *lease = Some(renewed);
                Ok(())
            }
            // Another replica wrote its entry, or took it: what it says now is read at the next try.
            Err(failure) if failure.code == 409 => Err(Failure::new(
                503,
                Reason::ServiceUnavailable,
                failure.message,
            )),
            Err(failure) => Err(failure),
        }
    }

    /// Says by which certificate this replica forwards, unless the Lease says it.
    async fn register(&self, lease: &Value, now: &Held) -> Result<(), Failure> {
        let mine = (self.me.id.clone(), self.me.fingerprint.clone());
        if now.replicas.contains(&mine) {
            return Ok(());
        }
        let entry = format!("{REPLICA}{}", mine.0);
        let patch = json!({"metadata": {
            "resourceVersion": version_of(lease).to_string(),
            "annotations": {entry: mine.1},
        }});
        match self.patch(&patch).await {
            // The holder renewed meanwhile: at the next look.
            Err(failure) if failure.code == 409 => Ok(()),
            other => other.map(drop),
        }
    }

    fn notes(&self, term: i64) -> Value {
        let mut notes = json!({
            TERM: term.to_string(),
            ADDRESS: self.me.address,
            FORMAT: api::RECORD_FORMAT.to_string(),
        });
        notes[format!("{REPLICA}{}", self.me.id)] = self.me.fingerprint.clone().into();
        notes
    }

    fn spec(&self, transitions: i64) -> Value {
        let now = micros();
        json!({
            "holderIdentity": self.me.id, "leaseDurationSeconds": DURATION.as_secs(),
            "acquireTime": now, "renewTime": now, "leaseTransitions": transitions,
        })
    }

    async fn patch(&self, patch: &Value) -> Result<Value, Failure> {
        let place = (self.namespace.as_str(), self.name.as_str(), "");
        let media = "application/merge-patch+json";
        self.remote.patch(&resource(), place, media, patch).await
    }
}

fn unheard() -> Failure {
    Failure::new(503, Reason::ServiceUnavailable, "no answer came in time")
}

fn resource() -> ResourceName {
    ResourceName::new("coordination.k8s.io", "v1", "leases")
}

/// Now, as Leases write times: for people, since nobody here trusts another one's clock.
fn micros() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
        .to_string()
}
