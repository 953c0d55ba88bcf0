//! What others may ask of the engine: each is one call of the module that does it, and nothing is decided here.

use std::sync::Arc;

use model::{Door, Files, Lifecycle, Namespace, ObjectKey, Revision};

use crate::blame::{self, Blamed};
use crate::caller::Caller;
use crate::index::World;
use crate::planned::{self, FleetPlan};
use crate::ports::Cluster;
use crate::queue::Key;
use crate::stats::Stats;
use crate::suppose::Suppositions;
use crate::usecase::{self, Input, Made, Many, Preconditions, Save, Shown, Wish, many, why};
use crate::{Engine, Result, controllers, counts, held, waiting};

/// How it runs, and what is known of it.
impl Engine {
    /// Runs watches and controllers until [`Engine::stop`]; ends once every turn has ended.
    pub async fn run(&self) {
        controllers::run(self).await;
    }

    /// Puts every key in line.
    pub fn look_at_everything(&self) {
        controllers::look_at_everything(self);
    }

    /// What was done since the start.
    pub fn stats(&self) -> Stats {
        self.inner.stats.read()
    }

    /// What the store did in all open repositories since they were opened.
    pub fn store_stats(&self) -> store::Stats {
        let mut sum = store::Stats::default();
        self.inner
            .repos
            .urls()
            .iter()
            .for_each(|repo| sum += repo.stats());
        sum
    }

    /// Whether everything was seen once: before that, nobody should rely on a list.
    pub fn is_ready(&self) -> bool {
        self.world(World::is_loaded)
    }

    /// All records as watches and our own writes told them, in the order of their keys: at rest, what the
    /// store of records holds.
    pub fn known_revisions(&self) -> Vec<Arc<Revision>> {
        self.world(|w| w.revisions.known())
    }

    /// What waits to be tried again because it failed, as `KIND NAMESPACE/NAME`.
    pub fn retrying(&self) -> Vec<String> {
        self.inner.queue.retries()
    }

    /// Keys that are in line or worked on; 0 with nothing woken is rest.
    pub fn busy(&self) -> usize {
        self.inner.queue.busy()
    }

    /// Somebody pushed to this URL (a webhook's hint): every repository there is looked at now.
    pub fn hint(&self, url: &str) {
        let keys: Vec<ObjectKey> =
            self.world(|w| w.repositories.at(url).map(|r| r.key.clone()).collect());
        for key in keys {
            self.inner.repos.look_again(&key);
            self.inner.queue.add(Key::Repository(key));
        }
    }

    /// Whether a change that waits for a remote goes on after this process: what was begun stands in our copies of repositories.
    pub fn outlives(&self) -> bool {
        self.inner.options.lasting_copies
    }

    /// Ends every conversation with a remote, and begins no more: the process is to end.
    pub fn disconnect(&self) {
        self.inner.store.disconnect();
    }

    /// Turns of controllers since the start, by kind and by how they ended: `done`, `again` (something else was found than
    /// expected), `later` (tried again after a time) or `failed`.
    pub fn turns(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.inner.turns.read()
    }

    /// Objects by kind and state: what waits for an upstream, an approver or a person is `not_ready` or `stalled`. Package
    /// revisions are counted by lifecycle.
    pub fn object_counts(&self) -> Vec<(&'static str, &'static str, u64)> {
        counts::objects(self)
    }

    /// What is held in memory and in journals for work that is not over, and noted of what is there, by name: none of it grows
    /// with what was done.
    ///
    /// # Errors
    /// A repository's refs cannot be read.
    pub fn held(&self) -> Result<Vec<(&'static str, usize)>> {
        counts::held(self)
    }
}

/// The verbs, for people and for machines.
impl Engine {
    /// Creates a package revision: init, clone, edit or upgrade.
    ///
    /// # Errors
    /// As `plan::revision::create` judges; a render that fails leaves nothing (V2).
    pub async fn create(&self, by: &Caller, namespace: &Namespace, input: Input) -> Result<Made> {
        usecase::create(self, by, namespace, input).await
    }

    /// Changes metadata, spec or lifecycle. Through [`Door::Approval`] it approves, rejects, and
    /// withdraws a deletion.
    ///
    /// # Errors
    /// As `plan::revision::{update, approve}` judge; `Conflict` where something else was expected.
    pub async fn update(
        &self,
        by: &Caller,
        key: &ObjectKey,
        door: Door,
        input: Input,
    ) -> Result<Made> {
        usecase::update(self, by, key, door, input).await
    }

    /// Moves a revision to another lifecycle and changes nothing else: propose, approve, reject,
    /// propose deletion, withdraw it.
    ///
    /// # Errors
    /// As [`Engine::update`].
    pub async fn move_to(
        &self,
        by: &Caller,
        key: &ObjectKey,
        door: Door,
        to: Lifecycle,
    ) -> Result<Made> {
        usecase::move_to(self, by, key, door, to).await
    }

    /// Saves the texts of a draft's files, and renders. Files that are not shown stay unless they are named (A11).
    ///
    /// # Errors
    /// As `plan::revision::save` judges; `Conflict` where the content is not the expected one; a
    /// render that fails stores nothing unless the draft asks for it.
    pub async fn save(
        &self,
        by: &Caller,
        key: &ObjectKey,
        preconditions: &Preconditions,
        save: impl Into<Save>,
    ) -> Result<Made> {
        usecase::save(self, by, key, preconditions, save.into()).await
    }

    /// Deletes a revision. `None`: it is gone; otherwise it waits for its finalizers.
    ///
    /// # Errors
    /// As `plan::revision::delete` judges.
    pub async fn delete(
        &self,
        by: &Caller,
        key: &ObjectKey,
        preconditions: &Preconditions,
    ) -> Result<Option<Made>> {
        usecase::delete(self, by, key, preconditions).await
    }

    /// Carries out many wishes of one caller, those of different packages at once. Each of them is answered, whatever
    /// becomes of the others.
    pub fn many(&self, by: &Caller, wishes: Vec<Wish>) -> Many {
        many::begin(self, by, wishes)
    }

    /// Says what came of a change of a package revision after whoever asked for it was told that it goes on.
    pub async fn tell_late(&self, revision: &ObjectKey, failed: Option<&str>) {
        waiting::tell_late(self, revision, failed).await;
    }
}

/// What is there, why, and what would be.
impl Engine {
    /// A record: what is known of it, else what the store says.
    ///
    /// # Errors
    /// There is none.
    pub async fn revision(&self, key: &ObjectKey) -> Result<Arc<Revision>> {
        held::revision(self, key).await
    }

    /// The files of a revision, as its record names them.
    ///
    /// # Errors
    /// There is no such revision; git cannot be read.
    pub async fn resources(&self, key: &ObjectKey) -> Result<(Arc<Revision>, Files)> {
        usecase::resources(self, key).await
    }

    /// As [`Engine::resources`], without the files that are beyond the limits: somebody else made the package, and
    /// one of them must not hide the rest. Each that is left out comes with the reason.
    ///
    /// # Errors
    /// There is no such revision; git cannot be read.
    pub async fn resources_within(&self, key: &ObjectKey) -> Result<Shown> {
        usecase::resources_within(self, key).await
    }

    /// What is seen of a variant and what would be done about it; `None` if it is gone.
    ///
    /// # Errors
    /// Git or the cluster cannot be read now.
    pub async fn why_variant(&self, key: &ObjectKey) -> Result<Option<String>> {
        why::variant(self, key).await
    }

    /// What would be done about a set; `None` if it is gone.
    ///
    /// # Errors
    /// The process is on its way out.
    pub async fn why_set(&self, key: &ObjectKey) -> Result<Option<String>> {
        why::set(self, key).await
    }

    /// Who wrote each field of each file of a revision, in the order in which they stand.
    ///
    /// # Errors
    /// There is no such revision; git cannot be read.
    pub async fn blame(&self, key: &ObjectKey) -> Result<Vec<Blamed>> {
        blame::fields(self, key).await
    }

    /// Plans what would follow from suppositions in a namespace; without any, what follows from what is there. What
    /// objects hold is read through `cluster`, which also decides for whom.
    ///
    /// # Errors
    /// A supposed upstream cannot be had; the process is on its way out. What is wrong with a target stands in the plan.
    pub async fn plan_fleet(
        &self,
        namespace: &Namespace,
        suppositions: Suppositions,
        cluster: Arc<dyn Cluster>,
    ) -> Result<FleetPlan> {
        planned::fleet(self, namespace, suppositions, cluster).await
    }
}
