//! Commit messages: what is done in words, then what machines read.

use model::{CommitId, Condition, Machine, Task};
use serde_json::{Map, Value};

use crate::codec;

/// What a commit does, in Porch's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject<'a> {
    /// The task that makes a draft.
    Task(&'a Task),
    /// Somebody or the machine changed a draft.
    Render,
    /// Somebody decided conflicts of a draft (F4): what the `offshoot-resolution:` line says.
    Resolve(&'a str),
    /// Path and number of an approved revision.
    Approve(&'a str, i64),
    /// Path of a package whose directory goes.
    Delete(&'a str),
}

impl Subject<'_> {
    fn text(self) -> String {
        match self {
            Self::Task(Task::Init { .. }) => "Creating new empty revision".to_owned(),
            Self::Task(Task::Clone { .. } | Task::CloneGit(_)) => {
                "Creating new revision by cloning".to_owned()
            }
            Self::Task(Task::Edit { .. }) => {
                "Creating new revision by copying previous revision".to_owned()
            }
            Self::Task(Task::Upgrade { .. }) => "Upgrading revision".to_owned(),
            Self::Render => "Rendering package".to_owned(),
            Self::Resolve(_) => "Resolving conflicts".to_owned(),
            Self::Approve(path, number) => format!("Approving package revision {path}/{number}"),
            Self::Delete(path) => format!("Delete {path}"),
        }
    }
}

/// A message to be written.
#[derive(Debug, Clone)]
pub(crate) struct Message<'a> {
    /// What is done.
    pub(crate) subject: Subject<'a>,
    /// More about it, for people; empty for none.
    pub(crate) body: String,
    /// The package's path in the repository.
    pub(crate) path: &'a str,
    /// The workspace.
    pub(crate) workspace: &'a str,
    /// What the machine notes (V19).
    pub(crate) machine: Option<&'a Machine>,
    /// What is to be said about the result beside what the package itself says.
    pub(crate) conditions: &'a [Condition],
    /// What could not be decided alone, as [`package::conflicts::encode`] writes it (V4a).
    pub(crate) conflicts: Option<&'a str>,
    /// The class of changes that an approver saw, in one line (F1).
    pub(crate) class: Option<&'a str>,
    /// For whom a service acts (A9); empty for nobody.
    pub(crate) acting_for: &'a str,
}

impl Message<'_> {
    /// The whole text.
    pub(crate) fn text(&self) -> String {
        let mut text = self.subject.text();
        text.push('\n');
        if !self.body.is_empty() {
            text.push('\n');
            text.push_str(self.body.trim_end());
            text.push('\n');
        }
        if !matches!(self.subject, Subject::Approve(..)) {
            text.push('\n');
        }
        text.push('\n');
        let mut trailer = |key: &str, value: &str| {
            text.push_str(key);
            text.push_str(value);
            text.push('\n');
        };
        if !matches!(self.subject, Subject::Delete(_)) {
            trailer("kpt:", &self.kpt().to_string());
        }
        if let Some(machine) = self.machine {
            trailer(
                "offshoot: ",
                &codec::encode_machine(machine, self.conditions),
            );
        } else if !self.conditions.is_empty() {
            trailer(
                "offshoot-conditions: ",
                &codec::encode_conditions(self.conditions),
            );
        }
        if let Some(conflicts) = self.conflicts {
            trailer("offshoot-conflicts: ", conflicts);
        }
        if let Subject::Resolve(decisions) = self.subject {
            trailer("offshoot-resolution: ", decisions);
        }
        if let Some(class) = self.class {
            trailer("offshoot-class: ", class);
        }
        if !self.acting_for.is_empty() {
            trailer("offshoot-for: ", self.acting_for);
        }
        text
    }

    fn kpt(&self) -> Value {
        let mut map = Map::new();
        map.insert("package".to_owned(), self.path.into());
        map.insert("workspaceName".to_owned(), self.workspace.into());
        let number = match self.subject {
            Subject::Approve(_, number) => number,
            _ => 0,
        };
        map.insert("revision".to_owned(), number.to_string().into());
        match self.subject {
            Subject::Task(task) => {
                map.insert("task".to_owned(), codec::encode_task(task));
            }
            Subject::Render | Subject::Resolve(_) => {
                map.insert("task".to_owned(), serde_json::json!({ "type": "render" }));
            }
            Subject::Approve(..) | Subject::Delete(_) => {}
        }
        Value::Object(map)
    }
}

/// One `kpt:` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kpt {
    /// The package's path, as written.
    pub(crate) package: String,
    /// The workspace.
    pub(crate) workspace: String,
    /// The number; 0 for a draft.
    pub(crate) revision: i64,
    /// The task; `None` for an approval, a render, or a task of the future.
    pub(crate) task: Option<Task>,
}

/// What a message tells machines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Notes {
    /// All `kpt:` lines.
    pub(crate) kpt: Vec<Kpt>,
    /// The `offshoot:` line, if it can be read.
    pub(crate) machine: Option<Machine>,
    /// What is said about the result: in the `offshoot:` line, or in one of its own.
    pub(crate) conditions: Vec<Condition>,
    /// The `offshoot-conflicts:` line; `None` where there is none, or none that can be read.
    pub(crate) conflicts: Option<Vec<model::Conflict>>,
    /// The commit that holds them, where they are too long for a line.
    pub(crate) kept_conflicts: Option<CommitId>,
    /// Lines of ours that cannot be read, and why: said, never guessed.
    pub(crate) unreadable: Vec<String>,
}

impl Notes {
    /// Reads a message; foreign ones have no notes.
    pub(crate) fn of(message: &str) -> Self {
        let mut notes = Self::default();
        for line in message.lines() {
            if let Some(json) = line.strip_prefix("kpt:") {
                notes.kpt.extend(read_kpt(json));
            } else if let Some(json) = line.strip_prefix("offshoot:") {
                match codec::decode_machine(json.trim()) {
                    Ok((machine, conditions)) => {
                        notes.machine = Some(machine);
                        notes.conditions = conditions;
                    }
                    Err(e) => notes.unreadable.push(format!("trailer offshoot: {e}")),
                }
            } else if let Some(json) = line.strip_prefix("offshoot-conditions:") {
                match codec::decode_conditions(json.trim()) {
                    Ok(conditions) => notes.conditions = conditions,
                    Err(e) => notes
                        .unreadable
                        .push(format!("trailer offshoot-conditions: {e}")),
                }
            } else if let Some(json) = line.strip_prefix("offshoot-conflicts:") {
                notes.kept_conflicts = read_kept(json);
                if notes.kept_conflicts.is_some() {
                    continue;
                }
                match package::conflicts::decode(json.trim()) {
                    Ok(conflicts) => notes.conflicts = Some(conflicts),
                    Err(e) => notes
                        .unreadable
                        .push(format!("trailer offshoot-conflicts: {e}")),
                }
            }
        }
        notes
    }
}

/// The trailer's text where the conflicts stand in a commit of their own.
pub(crate) fn encode_kept(commit: CommitId) -> String {
    serde_json::json!({ "format": 1, "commit": commit.to_string() }).to_string()
}

fn read_kept(json: &str) -> Option<CommitId> {
    let value: Value = serde_json::from_str(json.trim()).ok()?;
    value.get("format").filter(|f| f.as_u64() == Some(1))?;
    CommitId::parse(value.get("commit")?.as_str()?)
}

fn read_kpt(json: &str) -> Option<Kpt> {
    let value: Value = serde_json::from_str(json.trim()).ok()?;
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let revision = text("revision");
    let revision = revision.strip_prefix('v').unwrap_or(revision);
    Some(Kpt {
        package: text("package").to_owned(),
        workspace: text("workspaceName").to_owned(),
        revision: revision.parse().unwrap_or(0),
        task: value
            .get("task")
            .and_then(|task| codec::decode_task(task).ok().flatten()),
    })
}
