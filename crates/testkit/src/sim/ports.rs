//! The twin as an engine under the simulation sees it: each call may fail, die, or find that
//! somebody else was there first. Nothing passes once the process is dead.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use engine::ports::{
    Change, Cluster, ClusterEvent, Events, Feed, Found, Gvk, Known, ObjectContent, ObjectSummary,
    Point, PortError, Reader, RecordWrite, Records, Requester, Secret, Secrets, StoredRepository,
    StoredSet, StoredVariant,
};
use futures::stream::BoxStream;
use model::{Class, Namespace, ObjectKey, Problem, Revision, UpstreamSource};
use plan::set::KindScope;
use store::MemoryStore;

use super::chaos::Chaos;
use super::faults::Fault;
use super::gate::{Flight, Gate};
use super::ledger::Ledger;
use super::mutant::{self, Mutant, Unsafe};
use super::watch::{Past, meddle};
use crate::twin::Twin;

/// What each watch listed last, over all processes.
#[derive(Debug, Default, Clone)]
pub(super) struct Pasts {
    records: Past<Revision>,
    pub(super) variants: Past<StoredVariant>,
    pub(super) sets: Past<StoredSet>,
    pub(super) repositories: Past<StoredRepository>,
    objects: Arc<Mutex<BTreeMap<Gvk, Past<ObjectSummary>>>>,
}

/// The ports of one process.
#[derive(Clone)]
pub(super) struct Ports {
    pub(super) twin: Arc<Twin>,
    pub(super) store: Arc<MemoryStore>,
    pub(super) chaos: Arc<Chaos>,
    pub(super) ledger: Ledger,
    pub(super) pasts: Pasts,
    pub(super) process: u64,
    pub(super) mutant: Option<Mutant>,
    pub(super) loose: Unsafe,
    /// Where several processes live at once.
    pub(super) gate: Option<Arc<Gate>>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("process", &self.process)
            .finish_non_exhaustive()
    }
}

fn unavailable(effect: &str) -> PortError {
    PortError::new(
        Class::Unavailable,
        effect,
        "the object store cannot be reached",
    )
}

fn outcome<T>(done: &Result<T, PortError>) -> String {
    done.as_ref()
        .map_or_else(|e| e.to_string(), |_| "written".to_owned())
}

/// What a strike makes of a write: it goes ahead or fails, and who dies of it.
enum Verdict {
    Go,
    GoAndDie,
    Fail,
}

impl Ports {
    /// Whether this process lives, and may go on.
    fn lives(&self) -> bool {
        match &self.gate {
            Some(gate) => !gate.ends(),
            None => self.chaos.lives(self.process),
        }
    }

    /// An effect starts, and takes its time where there are others beside this process.
    async fn start(&self, what: &str) -> Result<Option<Flight>, PortError> {
        let Some(gate) = &self.gate else {
            return Ok(None);
        };
        let flight = gate.start(what).await;
        flight.map(Some).ok_or_else(|| unavailable(what))
    }

    /// Whether there is still somebody to hear an answer.
    async fn hears(&self, what: &str) -> Result<(), PortError> {
        match &self.gate {
            Some(gate) if !gate.hears().await => Err(unavailable(what)),
            _ => Ok(()),
        }
    }

    fn write(&self, what: &str, touch: impl FnOnce() -> bool) -> Verdict {
        if self.gate.is_none() && !self.lives() {
            return Verdict::Fail;
        }
        self.chaos.writes();
        let effect = format!("objects: {what}");
        let conflict = !matches!(what, "create variant" | "delete variant");
        let mut faults = vec![Fault::Crash, Fault::CrashAfter, Fault::Unavailable];
        if conflict {
            faults.push(Fault::Conflict);
        }
        match self.chaos.strike(&effect, &faults) {
            Some(Fault::Crash) => {
                self.chaos.kill();
                Verdict::Fail
            }
            Some(Fault::CrashAfter) => Verdict::GoAndDie,
            Some(Fault::Unavailable) => Verdict::Fail,
            Some(Fault::Conflict) => {
                if !touch() {
                    self.chaos.say("nobody was there to come in between");
                }
                Verdict::Go
            }
            _ => Verdict::Go,
        }
    }

    /// A write of the cluster under the faults.
    pub(super) async fn attempt<T>(
        &self,
        (what, of): (&str, &ObjectKey),
        touch: impl FnOnce() -> bool,
        write: impl Future<Output = Result<T, PortError>>,
    ) -> Result<T, PortError> {
        let _flight = self.start(what).await?;
        match self.write(what, touch) {
            Verdict::Go => {
                let done = write.await;
                self.chaos
                    .say(format!("{what} of {of}: {}", outcome(&done)));
                self.hears(what).await.and(done)
            }
            Verdict::Fail => Err(unavailable(what)),
            Verdict::GoAndDie => {
                let done = write.await;
                self.chaos.kill();
                done.and(Err(unavailable(what)))
            }
        }
    }

    pub(super) fn read(&self, what: &str) -> Result<(), PortError> {
        let effect = format!("objects: {what}");
        let struck = self.chaos.strike(&effect, &[Fault::Unavailable]).is_some();
        if struck || self.chaos.dies(&effect) || !self.lives() {
            return Err(unavailable(what));
        }
        Ok(())
    }

    async fn commit_one(&self, mut write: RecordWrite) -> Result<Option<Revision>, PortError> {
        let key = match &write.change {
            Change::Put(record) => record.key.clone(),
            Change::Delete(key) => key.clone(),
        };
        let _flight = self.start("record").await?;
        mutant::break_record(self.mutant, &self.twin, &mut write.change);
        let mut between = false;
        let verdict = self.write("record", || {
            between = true;
            true
        });
        if between {
            self.touch_record(&key).await;
        }
        if matches!(verdict, Verdict::Fail) {
            return Err(unavailable("write record"));
        }
        let before = self
            .twin
            .revision(key.namespace.as_str(), key.name.as_str());
        let what = match &write.change {
            Change::Put(_) => "is written",
            Change::Delete(_) => "is removed",
        };
        let done = Records::commit(&*self.twin, vec![write]).await.pop();
        let done = done.unwrap_or_else(|| Err(unavailable("write record")));
        if done.is_ok() {
            self.chaos.say(format!("the record {key} {what}"));
        }
        if done.is_ok() && self.mutant == Some(Mutant::NoDurability) {
            self.loose.record(key, before, self.chaos.roll(4) == 0);
        }
        if matches!(verdict, Verdict::GoAndDie) {
            self.chaos.kill();
            return Err(unavailable("write record"));
        }
        self.hears("record").await.and(done)
    }
}

#[async_trait]
impl Records for Ports {
    fn watch(&self, known: Known) -> Feed<Revision> {
        let past = Arc::clone(&self.pasts.records);
        meddle(
            Records::watch(&*self.twin, known),
            &self.chaos,
            self.process,
            "records",
            past,
        )
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Revision>, PortError> {
        self.read("get record")?;
        Records::get(&*self.twin, key).await
    }

    async fn is_retired(&self, key: &ObjectKey) -> Result<bool, PortError> {
        self.read("look for a retired name")?;
        self.twin.is_retired(key).await
    }

    async fn commit(&self, writes: Vec<RecordWrite>) -> Vec<Result<Option<Revision>, PortError>> {
        let mut answers = Vec::new();
        for write in writes {
            answers.push(self.commit_one(write).await);
        }
        answers
    }
}

#[async_trait]
impl Cluster for Ports {
    async fn objects(&self, kind: &Gvk) -> Result<Option<Feed<ObjectSummary>>, PortError> {
        self.read("follow kind")?;
        let feed = self.twin.objects(kind).await?;
        let pasts = &self.pasts.objects;
        let mut pasts = pasts.lock().unwrap_or_else(PoisonError::into_inner);
        let past = Arc::clone(pasts.entry(kind.clone()).or_default());
        drop(pasts);
        Ok(feed.map(|feed| meddle(feed, &self.chaos, self.process, "objects", past)))
    }

    async fn objects_now(
        &self,
        kind: &Gvk,
        namespace: &Namespace,
    ) -> Result<Option<Vec<ObjectSummary>>, PortError> {
        self.read("list now")?;
        self.twin.objects_now(kind, namespace).await
    }

    async fn object(
        &self,
        kind: &Gvk,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<ObjectContent>, PortError> {
        self.read("get object")?;
        let anybody = self.mutant == Some(Mutant::ReadsForAnybody);
        let promises = self.ledger.open().rights.contains_key(&requester.key);
        if promises && !anybody && !self.twin.is_unsigned(&requester.key) {
            return Ok(Found::Forbidden("the writer may not read it".to_owned()));
        }
        let mut requester = requester.clone();
        if anybody {
            requester.key = ObjectKey::new(key.namespace.clone(), key.name.clone());
        }
        self.twin.object(kind, key, &requester).await
    }

    async fn listable(
        &self,
        kind: &Gvk,
        requester: &Requester,
    ) -> Result<Found<KindScope>, PortError> {
        self.read("may select")?;
        let found = self.twin.listable(kind, requester).await?;
        Ok(mutant::break_scope(self.mutant, found))
    }

    async fn revision_set(
        &self,
        key: &ObjectKey,
        requester: &Requester,
    ) -> Result<Found<Result<Vec<UpstreamSource>, Vec<Problem>>>, PortError> {
        self.read("get revision set")?;
        self.twin.revision_set(key, requester).await
    }

    fn leaving(&self) -> BoxStream<'static, Namespace> {
        self.twin.leaving()
    }

    async fn namespace_active(&self, namespace: &Namespace) -> Result<bool, PortError> {
        self.read("get namespace")?;
        self.twin.namespace_active(namespace).await
    }
}

#[async_trait]
impl Secrets for Ports {
    async fn secret(&self, key: &ObjectKey, reader: &Reader) -> Result<Found<Secret>, PortError> {
        self.twin.secret(key, reader).await
    }

    async fn trusted(&self, namespace: &Namespace) -> Result<Option<Vec<u8>>, PortError> {
        self.twin.trusted(namespace).await
    }
}

#[async_trait]
impl Events for Ports {
    async fn tell(&self, event: ClusterEvent) {
        if self.lives() && !self.chaos.dies("objects: event") {
            self.twin.tell(event).await;
        }
    }
}

/// The engine's own points.
impl engine::ports::Faults for Ports {
    fn dies_at(&self, point: Point) -> bool {
        if !self.lives() {
            return true;
        }
        let struck = self
            .chaos
            .strike(&format!("engine: {point:?}"), &[Fault::Crash]);
        if struck.is_some() {
            self.chaos.kill();
        }
        struck.is_some()
    }
}
