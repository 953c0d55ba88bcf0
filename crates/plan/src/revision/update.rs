//! Changing a package revision: metadata at any time, content in a Draft, lifecycle by the table.

use std::sync::Arc;

use model::marks::LATEST;
use model::{Class, Door, Lifecycle, Revision, transition};

use super::{Rejected, RejectionReason, rebase};
use crate::conflicts;
use crate::variant::words;

/// What is asked for, beside what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateObserved {
    /// The revision as it is.
    pub old: Arc<Revision>,
    /// The revision as it shall be.
    pub new: Arc<Revision>,
    /// Through which door.
    pub door: Door,
}

/// What an accepted change comes to: one thing, which whoever carries it out does not judge again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It asks for what there is.
    Nothing,
    /// Labels, annotations, owners or finalizers of the object: the record alone.
    Record,
    /// What the Kptfile mirrors (labels, annotations, gates, acknowledged conflicts) becomes a commit, and the revision is in
    /// this lifecycle then, another one or its own.
    Commit(Lifecycle),
    /// It moves to this lifecycle, with the content that it has.
    Move(Lifecycle),
    /// A person's draft is based on what the branch holds now (V20); what was proposed is a draft then.
    Rebase,
    /// It is approved, if [`super::approve`] allows it.
    Approve,
    /// Its object was deleted, and the last finalizer goes: so does the revision.
    Finish,
}

impl Action {
    /// Whether git changes with it: only who may write to the repository may ask for it.
    pub fn writes_git(self) -> bool {
        !matches!(self, Self::Nothing | Self::Record | Self::Finish)
    }
}

/// An accepted change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "carry the action out"]
pub struct Update {
    /// What it comes to.
    pub action: Action,
    /// What whoever asked should know besides.
    pub warnings: Vec<String>,
}

/// What whoever sent other tasks is told: the record gets a new version all the same, so that of two who send them at once one
/// hears of the other (A4a).
const TASKS_STAY: &str = "spec.tasks cannot be changed: the tasks stay as they are";

/// Whether the change is allowed, and what it comes to.
///
/// # Errors
/// The lifecycle table's messages; what is immutable; gates (V3).
pub fn update(o: &UpdateObserved) -> Result<Update, Rejected> {
    let (old, new) = (&*o.old, &*o.new);
    let moved = old.lifecycle != new.lifecycle;
    if moved || o.door == Door::Approval {
        transition(old.lifecycle, new.lifecycle, o.door)
            .map_err(|r| Rejected::at_door(&r, o.door, new.lifecycle))?;
    }
    if old.meta.labels.get(LATEST) != new.meta.labels.get(LATEST) {
        let value = new.meta.labels.get(LATEST).cloned().unwrap_or_default();
        return Err(Rejected::invalid(
            "metadata.labels",
            value,
            format!("label {LATEST} is set by the server and cannot be changed"),
        ));
    }
    identity(old, new)?;
    let content = content_changed(old, new);
    if content && old.lifecycle.is_published() {
        return Err(Rejected::invalid(
            "spec",
            &new.key.name,
            "spec can only update package with lifecycle value one of Draft,Proposed",
        ));
    }
    if content && old.lifecycle == Lifecycle::Proposed {
        save(old)?;
    }
    if moved && new.lifecycle == Lifecycle::Proposed {
        propose(new)?;
    }
    let action = action(old, new, content);
    let told = [
        Action::Record,
        Action::Commit(new.lifecycle),
        Action::Move(new.lifecycle),
    ];
    let mut warnings = Vec::new();
    if told.contains(&action) {
        if old.resolved_conflicts != new.resolved_conflicts {
            warnings.extend(conflicts::unknown(new));
        }
        warnings.extend(rebase::too_early(old, new));
    }
    if old.tasks != new.tasks {
        warnings.push(TASKS_STAY.to_owned());
    }
    Ok(Update { action, warnings })
}

fn action(old: &Revision, new: &Revision, content: bool) -> Action {
    let moved = old.lifecycle != new.lifecycle;
    let recorded = old.meta.labels != new.meta.labels
        || old.meta.annotations != new.meta.annotations
        || old.meta.owners != new.meta.owners
        || old.meta.finalizers != new.meta.finalizers
        || old.tasks != new.tasks;
    if !(content || moved || recorded) {
        Action::Nothing
    } else if old.meta.is_deleting() && new.meta.finalizers.is_empty() {
        Action::Finish
    } else if rebase::is_asked(old, new) {
        Action::Rebase
    } else if (old.lifecycle, new.lifecycle) == (Lifecycle::Proposed, Lifecycle::Published) {
        Action::Approve
    } else if content {
        Action::Commit(new.lifecycle)
    } else if moved {
        Action::Move(new.lifecycle)
    } else {
        Action::Record
    }
}

/// What a revision is never changes.
fn identity(old: &Revision, new: &Revision) -> Result<(), Rejected> {
    let fields: [(&'static str, String, String); 4] = [
        (
            "spec.repository",
            old.repository.to_string(),
            new.repository.to_string(),
        ),
        (
            "spec.packageName",
            old.package.to_string(),
            new.package.to_string(),
        ),
        (
            "spec.workspaceName",
            old.workspace.to_string(),
            new.workspace.to_string(),
        ),
        (
            "spec.revision",
            old.revision.to_string(),
            new.revision.to_string(),
        ),
    ];
    for (field, was, is) in fields {
        if was != is {
            return Err(Rejected::invalid(field, is, "field is immutable"));
        }
    }
    Ok(())
}

fn content_changed(old: &Revision, new: &Revision) -> bool {
    old.readiness_gates != new.readiness_gates
        || old.package_labels != new.package_labels
        || old.package_annotations != new.package_annotations
        || old.resolved_conflicts != new.resolved_conflicts
        || old.conditions != new.conditions
}

/// Whether a revision may be proposed: not while a gate of ours is open (V3).
///
/// # Errors
/// Names the gates.
pub fn propose(revision: &Revision) -> Result<(), Rejected> {
    let open = conflicts::our_open_gates(revision);
    gates(revision, Lifecycle::Draft, &open)
}

/// A refusal that names open gates, what they wait for, and the way out from the lifecycle where it stands.
pub(super) fn gates(revision: &Revision, at: Lifecycle, open: &[&str]) -> Result<(), Rejected> {
    if open.is_empty() {
        return Ok(());
    }
    let mut message = format!("readiness conditions not met: {}", open.join(", "));
    let mut ways = Vec::new();
    for gate in open {
        if *gate == words::CONFLICTS
            && let Some(listed) = conflicts::listed(revision)
        {
            message.push_str(&format!("; open conflicts: {listed}"));
            ways.push(match at {
                Lifecycle::Proposed => rejected_first(revision),
                _ => conflicts::way_out(revision),
            });
        } else if let Some(said) = revision.condition(gate).filter(|c| !c.message.is_empty()) {
            message.push_str(&format!("; {gate}: {}", said.message));
        }
    }
    if ways.is_empty() {
        let name = &revision.key.name;
        ways.push(format!(
            "`offshoot why pkgrev/{name}` tells what each gate waits for"
        ));
    }
    Err(Rejected {
        field: Some("spec.lifecycle"),
        ..Rejected::new(Class::Invalid, message)
    }
    .because(RejectionReason::OpenGates)
    .hint(ways.join("; ")))
}

/// Only a draft's conflicts can be decided (V4a).
fn rejected_first(revision: &Revision) -> String {
    let name = &revision.key.name;
    format!(
        "take it back into draft with `offshoot rpkg reject {name}`, and then {}",
        conflicts::way_out(revision)
    )
}

/// Whether the files of a revision may be saved: only of a Draft.
///
/// # Errors
/// Porch's message.
pub fn save(revision: &Revision) -> Result<(), Rejected> {
    if revision.lifecycle == Lifecycle::Draft && !revision.placeholder {
        return Ok(());
    }
    Err(Rejected {
        field: Some("spec.lifecycle"),
        ..Rejected::new(
            Class::Invalid,
            format!(
                "cannot update a package revision with lifecycle value \"{}\"; package must be Draft",
                revision.lifecycle
            ),
        )
    }
    .because(RejectionReason::UnfitLifecycle))
}
