//! The one entry for changing packages, for people (the gateway) and for machines (the controllers).
//!
//! Each verb has one shape: look at what there is, ask `plan::revision` what it comes to, put a transaction together, publish
//! it, answer. Nobody is answered before everything is durable. A dry run stops at the transaction that is prepared.
//! A verb that finds its work done says so and does nothing: calling twice is calling once.

mod acted;
mod approve;
mod carried;
mod change;
mod content;
mod create;
mod delete;
mod lifecycle;
pub(crate) mod many;
mod metadata;
mod noted;
mod rebase;
mod resolve;
mod shown;
mod sources;
mod unshown;
pub(crate) mod why;

pub use crate::caller::Caller;
pub use acted::Acted;
pub(crate) use carried::{Carried, are_equal, merged_opaque, occupied, with_room};
pub(crate) use content::rendered;
pub(crate) use create::new_record;
pub use many::{Act, Many, Wish};
pub use shown::Shown;
pub(crate) use shown::{resources, resources_within};
pub(crate) use sources::{not_carried, registered};
pub use unshown::Save;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    CommitId, Condition, ConflictId, Door, Files, Lifecycle, Namespace, ObjectKey, ObjectMeta,
    PackageName, PackagePath, Pairs, Problem, ReadinessGate, RenderStatus, RepositoryName,
    Revision, Task, Uid, WorkspaceName,
};
use plan::revision::Rejected;

use crate::index::PackageKey;
use crate::{Engine, Error, Result, held};

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

/// Creates a package revision: init, clone, edit or upgrade.
///
/// # Errors
/// As `plan::revision::create` judges; a render that fails leaves nothing (V2).
pub(crate) async fn create(
    engine: &Engine,
    by: &Caller,
    namespace: &Namespace,
    input: Input,
) -> Result<Made> {
    let made = create::create(engine, by, namespace, input).await?;
    log(by, &made.revision.key, "drafted");
    Ok(made)
}

/// Changes metadata, spec or lifecycle. Through [`Door::Approval`] it approves, rejects, and
/// withdraws a deletion.
///
/// # Errors
/// As `plan::revision::{update, approve}` judge; `Conflict` where something else was expected.
pub(crate) async fn update(
    engine: &Engine,
    by: &Caller,
    key: &ObjectKey,
    door: Door,
    input: Input,
) -> Result<Made> {
    change::update(engine, by, key, door, input).await
}

/// Moves a revision to another lifecycle and changes nothing else: propose, approve, reject,
/// propose deletion, withdraw it.
///
/// # Errors
/// As [`update`].
pub(crate) async fn move_to(
    engine: &Engine,
    by: &Caller,
    key: &ObjectKey,
    door: Door,
    to: Lifecycle,
) -> Result<Made> {
    let old = held::revision(engine, key).await?;
    let input = Input {
        lifecycle: to,
        ..input_of(&old)
    };
    change::update(engine, by, key, door, input).await
}

/// Saves the texts of a draft's files, and renders. Files that are not shown stay unless they are named (A11).
///
/// # Errors
/// As `plan::revision::save` judges; `Conflict` where the content is not the expected one; a
/// render that fails stores nothing unless the draft asks for it.
pub(crate) async fn save(
    engine: &Engine,
    by: &Caller,
    key: &ObjectKey,
    preconditions: &Preconditions,
    save: impl Into<Save>,
) -> Result<Made> {
    let made = content::save(engine, by, key, preconditions, save.into()).await?;
    log(by, key, "saved");
    Ok(made)
}

/// Renders a draft as it stands, in a commit of its own (V14).
///
/// # Errors
/// As [`save`]; `Conflict` where the draft is not at this commit.
pub(crate) async fn render_draft(
    engine: &Engine,
    by: &Caller,
    key: &ObjectKey,
    at: CommitId,
) -> Result<Made> {
    content::render(engine, by, key, at).await
}

/// Deletes a revision. `None`: it is gone; otherwise it waits for its finalizers.
///
/// # Errors
/// As `plan::revision::delete` judges.
pub(crate) async fn delete(
    engine: &Engine,
    by: &Caller,
    key: &ObjectKey,
    preconditions: &Preconditions,
) -> Result<Option<Made>> {
    let made = delete::delete(engine, by, key, preconditions).await?;
    log(by, key, "deleted");
    Ok(made)
}

/// Notes in the log who did what; moves between lifecycles are told as events, which are logged as well.
fn log(by: &Caller, revision: &ObjectKey, what: &str) {
    if !by.dry_run {
        tracing::info!(kind = "PackageRevision", about = %revision, by = by.user, "{what}");
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
        reason: rejected.reason,
        problems: vec![Problem {
            field: rejected.field.unwrap_or_default().to_owned(),
            what,
            hint: rejected.hint,
        }],
    }
}
