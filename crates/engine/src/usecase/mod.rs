//! The one entry for changing packages, for people (the gateway) and for machines (the controllers).
//!
//! Each verb has one shape: look at what there is, ask `plan::revision` whether it may be, derive,
//! publish, record, answer. Nobody is answered before everything is durable. Dry run stops before the publication.
//! A verb that finds its work done says so and does nothing: calling twice is calling once.

mod acted;
mod approve;
mod change;
mod content;
mod create;
mod delete;
mod lifecycle;
mod many;
mod metadata;
mod rebase;
mod resolve;
mod sources;
mod unshown;
mod why;

pub use crate::caller::Caller;
pub use acted::Acted;
pub(crate) use content::rendered;
pub(crate) use create::new_record;
pub use many::{Act, Many, Wish};
pub(crate) use sources::{not_carried, registered};
pub use unshown::Save;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{
    CommitId, Condition, ConflictId, Door, Files, Lifecycle, Namespace, ObjectKey, ObjectMeta,
    PackageName, PackagePath, Pairs, Problem, ReadinessGate, RenderStatus, RepositoryName,
    Revision, Task, Uid, WorkspaceName,
};
use plan::revision::Rejected;

use crate::index::PackageKey;
use crate::locks::Race;
use crate::ports::PortError;
use crate::repos::Open;
use crate::{Engine, Error, Result};

/// What a person says about a package revision, to create or to change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Labels, annotations, owners, finalizers; `resource_version` and `uid` are preconditions
    /// where given.
    pub meta: ObjectMeta,
    /// `spec.repository`
    pub repository: RepositoryName,
    /// `spec.packageName`
    pub package: PackageName,
    /// `spec.workspaceName`
    pub workspace: WorkspaceName,
    /// `spec.lifecycle`
    pub lifecycle: Lifecycle,
    /// `spec.revision`; ignored on creation.
    pub revision: i64,
    /// `spec.tasks`
    pub tasks: Vec<Task>,
    /// `spec.readinessGates`
    pub readiness_gates: Vec<ReadinessGate>,
    /// `spec.packageMetadata` (labels, annotations); `None` keeps what is there.
    pub package_metadata: Option<(Pairs, Pairs)>,
    /// `spec.resolvedConflicts`; `None` keeps what is there.
    pub resolved_conflicts: Option<Vec<ConflictId>>,
    /// `status.conditions`, where a client sent them; `None` keeps what is there.
    pub conditions: Option<Vec<Condition>>,
}

/// What a verb made.
#[derive(Debug, Clone)]
pub struct Made {
    /// The revision as it is now (or would be).
    pub revision: Arc<Revision>,
    /// What the render reported, where one ran.
    pub render: Option<RenderStatus>,
    /// Its files, where the verb had them in hand.
    pub files: Option<Files>,
    /// What the caller should know besides.
    pub warnings: Vec<String>,
    /// What is not among its files, with the reason: it is beyond the limits, and stays.
    pub left_out: BTreeMap<PackagePath, String>,
}

impl Made {
    fn of(revision: impl Into<Arc<Revision>>) -> Self {
        Self {
            revision: revision.into(),
            render: None,
            files: None,
            warnings: Vec::new(),
            left_out: BTreeMap::new(),
        }
    }
}

/// What must hold for a verb to be carried out; empty for anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preconditions {
    /// The object's uid.
    pub uid: Option<Uid>,
    /// The object's version (for files: the content version).
    pub version: Option<String>,
}

/// The verbs, for the gateway. [`Engine`] has them as methods.
/// The files of a revision, as far as they can be shown.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The revision.
    pub revision: Arc<Revision>,
    /// Its files.
    pub files: Files,
    /// The files that are beyond the limits, each with the reason.
    pub left_out: BTreeMap<PackagePath, String>,
    /// What is carried along unread, each with what it is: symlinks, submodules, names that no package may hold, and
    /// such as differ from another one in case alone.
    pub carried: BTreeMap<String, &'static str>,
}

impl Engine {
    /// Creates a package revision: init, clone, edit or upgrade.
    ///
    /// # Errors
    /// As `plan::revision::create` judges; a render that fails leaves nothing (V2).
    pub async fn create(&self, by: &Caller, namespace: &Namespace, input: Input) -> Result<Made> {
        let made = create::create(self, by, namespace, input).await?;
        log(by, &made.revision.key, "drafted");
        Ok(made)
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
        change::update(self, by, key, door, input).await
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
        let old = self.revision(key).await?;
        let input = Input {
            lifecycle: to,
            ..input_of(&old)
        };
        change::update(self, by, key, door, input).await
    }

    /// The files of a revision, as its record names them.
    ///
    /// # Errors
    /// There is no such revision; git cannot be read.
    pub async fn resources(&self, key: &ObjectKey) -> Result<(Arc<Revision>, Files)> {
        let revision = self.revision(key).await?;
        let open = self.here(&key.namespace, &revision.repository).await?;
        let snapshot = open.repo.snapshot(revision.tree);
        let snapshot = snapshot.map_err(|source| Error::Store {
            attempt: "read the package",
            source,
        })?;
        Ok((revision, snapshot.files.clone()))
    }

    /// As [`Engine::resources`], without the files that are beyond the limits: somebody else made the package, and
    /// one of them must not hide the rest. Each that is left out comes with the reason.
    ///
    /// # Errors
    /// There is no such revision; git cannot be read.
    pub async fn resources_within(&self, key: &ObjectKey) -> Result<Shown> {
        let revision = self.revision(key).await?;
        let open = self.here(&key.namespace, &revision.repository).await?;
        let (snapshot, beyond) = self.snapshot_within(&open, revision.tree)?;
        let carried = snapshot.opaque.iter().filter(|o| !o.is_hidden());
        let path = |o: &store::Opaque| String::from_utf8_lossy(&o.path).into_owned();
        Ok(Shown {
            revision,
            files: snapshot.files.clone(),
            left_out: beyond.into_iter().map(|b| (b.path, b.why)).collect(),
            carried: carried.map(|o| (path(o), o.what())).collect(),
        })
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
        let made = content::save(self, by, key, preconditions, save.into()).await?;
        log(by, key, "saved");
        Ok(made)
    }

    /// Renders a draft as it stands, in a commit of its own (V14).
    ///
    /// # Errors
    /// As [`Engine::save`]; `Conflict` where the draft is not at this commit.
    pub(crate) async fn render_draft(
        &self,
        by: &Caller,
        key: &ObjectKey,
        at: CommitId,
    ) -> Result<Made> {
        content::render(self, by, key, at).await
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
        let made = delete::delete(self, by, key, preconditions).await?;
        log(by, key, "deleted");
        Ok(made)
    }

    /// A record: what is known of it, else what the store says.
    ///
    /// # Errors
    /// There is none.
    pub async fn revision(&self, key: &ObjectKey) -> Result<Arc<Revision>> {
        if let Some(known) = self.world(|w| w.revisions.get(key)) {
            return Ok(known);
        }
        let stored = self.ports().records.get(key).await;
        stored
            .map_err(|source: PortError| Error::Port { source })?
            .map(Arc::new)
            .ok_or_else(|| Error::NotFound {
                what: "packagerevisions.porch.kpt.dev",
                name: key.name.to_string(),
            })
    }

    /// A record and its repository, with the package held against other changes.
    pub(crate) async fn hold(&self, key: &ObjectKey) -> Result<Held> {
        let first = self.revision(key).await?;
        let open = self.open(&key.namespace, &first.repository).await?;
        let package = PackageKey::of(&first);
        let turn = self.inner.locks.for_request(&package);
        let (guard, race) = self.earlier(turn).await;
        self.alive()?;
        self.held(key, open, race, guard).await
    }

    /// As [`Engine::hold`], unless somebody holds the package: then it waits for nobody, and there is none.
    pub(crate) async fn hold_if_free(&self, key: &ObjectKey) -> Result<Option<Held>> {
        let first = self.revision(key).await?;
        let open = self.open(&key.namespace, &first.repository).await?;
        let Some(guard) = self.inner.locks.if_free(&PackageKey::of(&first)) else {
            return Ok(None);
        };
        self.alive()?;
        self.held(key, open, Race::default(), guard).await.map(Some)
    }

    async fn held(
        &self,
        key: &ObjectKey,
        open: Arc<Open>,
        race: Race,
        guard: tokio::sync::OwnedMutexGuard<()>,
    ) -> Result<Held> {
        // What was waited for may have changed it; the index has our own writes at once.
        match self.revision(key).await {
            Ok(revision) => Ok(Held {
                revision,
                open,
                race,
                announced: Mutex::default(),
                _guard: guard,
            }),
            Err(error) => Err(race.tell(error)),
        }
    }
}

/// Notes in the log who did what; moves between lifecycles are told as events, which are logged as well.
fn log(by: &Caller, revision: &ObjectKey, what: &str) {
    if !by.dry_run {
        tracing::info!(kind = "PackageRevision", about = %revision, by = by.user, "{what}");
    }
}

/// A revision that nobody else in this process changes.
pub(crate) struct Held {
    /// Its record.
    pub(crate) revision: Arc<Revision>,
    /// Its repository.
    pub(crate) open: Arc<Open>,
    /// Whether another request was waited for.
    race: Race,
    /// What the repository's writer was told: a submission is coming.
    announced: Mutex<Option<store::Announced>>,
    _guard: tokio::sync::OwnedMutexGuard<()>,
}

impl Held {
    /// Tells the repository's writer that a submission is coming. From then on nobody else is to be waited for.
    pub(crate) fn announce(&mut self) {
        self.announced = Mutex::new(Some(self.open.repo.announce()));
    }

    /// What the writer was told, for the submission.
    pub(crate) fn announced(&self) -> Option<store::Announced> {
        let mut announced = self
            .announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        announced.take()
    }
}

/// What a revision says about itself, as input that changes nothing.
pub fn input_of(revision: &Revision) -> Input {
    Input {
        meta: revision.meta.clone(),
        repository: revision.repository.clone(),
        package: revision.package.clone(),
        workspace: revision.workspace.clone(),
        lifecycle: revision.lifecycle,
        revision: revision.revision.0,
        tasks: revision.tasks.clone(),
        readiness_gates: revision.readiness_gates.clone(),
        package_metadata: None,
        resolved_conflicts: None,
        conditions: None,
    }
}

/// What a door says of an object whose version is not the one that was read; it names the object.
const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Whether the object is the one that the caller means.
fn precondition(revision: &Revision, want: &Preconditions, version: &str) -> Result<()> {
    if let Some(uid) = &want.uid
        && revision.meta.uid.as_ref() != Some(uid)
    {
        return Err(Error::conflict(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            revision.meta.uid.as_ref().map_or("", Uid::as_str)
        )));
    }
    if let Some(expected) = &want.version
        && !expected.is_empty()
        && expected != version
    {
        return Err(Error::conflict(MODIFIED));
    }
    Ok(())
}

/// A judgement as an error of the doors.
fn rejected(rejected: Rejected) -> Error {
    let what = match (&rejected.field, &rejected.value) {
        (Some(field), Some(value)) => {
            format!("{field}: Invalid value: {value:?}: {}", rejected.message)
        }
        _ => rejected.message,
    };
    Error::Refused {
        class: rejected.class,
        problems: vec![Problem {
            field: rejected.field.unwrap_or_default().to_owned(),
            what,
            hint: rejected.hint,
        }],
    }
}
