//! `PackageRevision`, which embedded is also the record.

use std::collections::BTreeSet;

use model::{
    CommitId, Condition, ConflictId, Lifecycle, ObjectMeta, PackageName, PackedRenderStatus, Pairs,
    Problem, ReadinessGate, RepositoryName, Revision, RevisionNumber, Task, TreeId, WorkspaceName,
};
use serde_json::{Map, Value, json};

use crate::conditions::{read_conditions, write_plain};
use crate::fields::{FieldReader, name, object_of, put, put_list, put_number, put_strings};
use crate::revision_status::{
    read_conflicts, read_lock, read_machine, write_conflict, write_lock, write_machine,
};
use crate::task::{read_task, write_task};
use crate::{read_key, read_meta, read_render_status, write_meta, write_render_status};

/// The format of what we remember in `status.offshoot` (X7).
const FORMAT: i64 = 1;

/// What a person asks for when creating or updating a package revision.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionInput {
    /// Metadata: labels, annotations, owners, finalizers.
    pub meta: ObjectMeta,
    /// `spec.repository`
    pub repository: RepositoryName,
    /// `spec.packageName`
    pub package: PackageName,
    /// `spec.workspaceName`
    pub workspace: WorkspaceName,
    /// `spec.lifecycle`; `Draft` if left out.
    pub lifecycle: Lifecycle,
    /// `spec.revision`
    pub revision: i64,
    /// `spec.tasks`
    pub tasks: Vec<Task>,
    /// `spec.readinessGates`
    pub readiness_gates: Vec<ReadinessGate>,
    /// `spec.packageMetadata` (labels, annotations); `None` keeps what is there.
    pub package_metadata: Option<(Pairs, Pairs)>,
    /// `spec.resolvedConflicts`; `None` if not sent: typed clients of Porch drop it (V4a).
    pub resolved_conflicts: Option<Vec<ConflictId>>,
    /// `status.conditions` as sent: Porch copies them into the Kptfile; `None` if not sent.
    pub conditions: Option<Vec<Condition>>,
}

/// Reads what a person sent to create.
///
/// # Errors
/// Everything that is wrong with it, with field paths.
pub fn read_revision_input(object: &Value) -> Result<RevisionInput, Vec<Problem>> {
    let mut wrong_tasks = Vec::new();
    match read_input(object, &mut wrong_tasks) {
        Ok(input) if wrong_tasks.is_empty() => Ok(input),
        Ok(_) => Err(wrong_tasks),
        Err(mut problems) => {
            problems.append(&mut wrong_tasks);
            Err(problems)
        }
    }
}

/// Reads what a person sent to change, and what is wrong with its tasks: those stay in any case (A4a).
///
/// # Errors
/// Everything else that is wrong with it, with field paths.
pub fn read_revision_update(object: &Value) -> Result<(RevisionInput, Vec<Problem>), Vec<Problem>> {
    let mut wrong_tasks = Vec::new();
    let input = read_input(object, &mut wrong_tasks)?;
    Ok((input, wrong_tasks))
}

fn read_input(
    object: &Value,
    wrong_tasks: &mut Vec<Problem>,
) -> Result<RevisionInput, Vec<Problem>> {
    let mut problems = Vec::new();
    let empty = Value::Object(Map::new());
    let spec = FieldReader::new(object.get("spec").unwrap_or(&empty), "spec");
    let required = |key: &str, problems: &mut Vec<Problem>| {
        let text = spec.text(key);
        if text.is_none() {
            let field = spec.field(key);
            problems.push(Problem::new(&field, format!("{field}: Required value")));
        }
        text
    };
    let repository = required("repository", &mut problems)
        .and_then(|t| name(&mut problems, "spec.repository", t, RepositoryName::parse));
    let package = required("packageName", &mut problems)
        .and_then(|t| name(&mut problems, "spec.packageName", t, PackageName::parse));
    let workspace = required("workspaceName", &mut problems)
        .and_then(|t| name(&mut problems, "spec.workspaceName", t, WorkspaceName::parse));
    let lifecycle = read_lifecycle(&spec, &mut problems);
    let tasks = read_tasks(&spec, wrong_tasks);
    match (repository, package, workspace) {
        (Some(repository), Some(package), Some(workspace)) if problems.is_empty() => {
            let package_metadata = spec
                .child("packageMetadata")
                .map(|m| (m.strings("labels"), m.strings("annotations")));
            let sent = object.get("status").and_then(|s| s.get("conditions"));
            Ok(RevisionInput {
                meta: read_meta(object),
                repository,
                package,
                workspace,
                lifecycle: lifecycle.unwrap_or_default(),
                revision: spec.int("revision").unwrap_or_default(),
                tasks,
                readiness_gates: read_gates(&spec),
                package_metadata,
                resolved_conflicts: read_ids(&spec),
                conditions: sent.map(|list| read_conditions(Some(list))),
            })
        }
        _ => Err(problems),
    }
}

fn read_lifecycle(spec: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<Lifecycle> {
    let text = spec.text("lifecycle")?;
    let lifecycle = Lifecycle::parse(text);
    if lifecycle.is_none() {
        let known = Lifecycle::ALL
            .map(|l| format!("{:?}", l.as_str()))
            .join(", ");
        problems.push(Problem::new(
            "spec.lifecycle",
            format!("spec.lifecycle: Unsupported value: {text:?}: supported values: {known}"),
        ));
    }
    lifecycle
}

fn read_tasks(spec: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Vec<Task> {
    let items = spec.raw("tasks").and_then(Value::as_array);
    let mut tasks = Vec::new();
    for (i, item) in items.into_iter().flatten().enumerate() {
        match read_task(item, &format!("spec.tasks[{i}]")) {
            Ok(task) => tasks.push(task),
            Err(found) => problems.extend(found),
        }
    }
    tasks
}

fn read_gates(spec: &FieldReader<'_>) -> Vec<ReadinessGate> {
    let gates = spec.list("readinessGates");
    gates
        .iter()
        .filter_map(|g| {
            g.owned("conditionType")
                .map(|condition_type| ReadinessGate { condition_type })
        })
        .collect()
}

fn read_ids(spec: &FieldReader<'_>) -> Option<Vec<ConflictId>> {
    spec.raw("resolvedConflicts")
        .filter(|sent| !sent.is_null())?;
    let ids = spec.texts("resolvedConflicts");
    Some(ids.into_iter().map(ConflictId).collect())
}

/// Reads a record that [`write_revision`] wrote.
///
/// # Errors
/// Says what is missing: a record of ours always has it, so somebody else wrote this one; or a
/// newer format version, which is refused untouched (X7).
pub fn read_revision(object: &Value) -> Result<Revision, String> {
    let key = read_key(object).ok_or("metadata: no readable namespace and name")?;
    let input = read_revision_input(object)
        .map_err(|problems| format!("{key}: {}", model::join_problems(&problems)))?;
    let empty = Value::Object(Map::new());
    let status = FieldReader::new(object.get("status").unwrap_or(&empty), "status");
    let ours = status
        .child("offshoot")
        .ok_or_else(|| format!("{key}: no status.offshoot"))?;
    if ours.int("format").is_some_and(|f| f > FORMAT) {
        return Err(format!("{key}: written by a newer version"));
    }
    let missing = |what: &str| format!("{key}: no {what} in status.offshoot");
    let (package_labels, package_annotations) = input.package_metadata.unwrap_or_default();
    Ok(Revision {
        commit: ours
            .text("commit")
            .and_then(CommitId::parse)
            .ok_or_else(|| missing("commit"))?,
        tree: ours
            .text("tree")
            .and_then(TreeId::parse)
            .ok_or_else(|| missing("tree"))?,
        machine: ours.child("machine").and_then(|m| read_machine(&m)),
        noted_digest: ours.owned("notedDigest"),
        placeholder: ours.flag("placeholder"),
        content_version: ours.owned("contentVersion").unwrap_or_default(),
        meta: input.meta,
        repository: input.repository,
        package: input.package,
        workspace: input.workspace,
        revision: RevisionNumber(input.revision),
        lifecycle: input.lifecycle,
        tasks: input.tasks,
        readiness_gates: input.readiness_gates,
        package_labels,
        package_annotations,
        resolved_conflicts: input.resolved_conflicts.unwrap_or_default(),
        upstream_lock: status.child("upstreamLock").and_then(|l| read_lock(&l)),
        self_lock: status.child("selfLock").and_then(|l| read_lock(&l)),
        conditions: read_conditions(status.raw("conditions")),
        deployment: status.flag("deployment"),
        published_by: status.owned("publishedBy").unwrap_or_default(),
        published_at: status.owned("publishTimestamp").unwrap_or_default(),
        conflicts: read_conflicts(object),
        render_status: status
            .raw("renderStatus")
            .map(|status| PackedRenderStatus::from(&read_render_status(status))),
        key,
    })
}

/// The whole object of a record.
pub fn write_revision(revision: &Revision) -> Value {
    object_of([
        ("apiVersion", "porch.kpt.dev/v1alpha1".into()),
        ("kind", "PackageRevision".into()),
        ("metadata", write_meta(&revision.key, &revision.meta)),
        ("spec", write_spec(revision)),
        ("status", write_status(revision)),
    ])
}

fn write_spec(revision: &Revision) -> Value {
    let mut out = Map::new();
    put(&mut out, "packageName", revision.package.as_str());
    put(&mut out, "repository", revision.repository.as_str());
    put(&mut out, "workspaceName", revision.workspace.as_str());
    put_number(&mut out, "revision", revision.revision);
    put(&mut out, "lifecycle", revision.lifecycle.as_str());
    put_list(
        &mut out,
        "tasks",
        revision.tasks.iter().map(write_task).collect(),
    );
    let gates = revision.readiness_gates.iter();
    put_list(
        &mut out,
        "readinessGates",
        gates
            .map(|g| json!({ "conditionType": g.condition_type }))
            .collect(),
    );
    let mut metadata = Map::new();
    put_strings(&mut metadata, "labels", &revision.package_labels);
    put_strings(&mut metadata, "annotations", &revision.package_annotations);
    if !metadata.is_empty() {
        out.insert("packageMetadata".to_owned(), Value::Object(metadata));
    }
    let ids = revision
        .resolved_conflicts
        .iter()
        .map(|id| id.0.clone().into())
        .collect();
    put_list(&mut out, "resolvedConflicts", ids);
    Value::Object(out)
}

fn write_status(revision: &Revision) -> Value {
    let mut out = Map::new();
    let lock = |lock: &Option<model::GitLock>| lock.as_ref().map_or_else(|| json!({}), write_lock);
    out.insert("upstreamLock".to_owned(), lock(&revision.upstream_lock));
    out.insert("selfLock".to_owned(), lock(&revision.self_lock));
    put(&mut out, "publishedBy", &revision.published_by);
    let at = Some(&revision.published_at).filter(|at| !at.is_empty());
    out.insert(
        "publishTimestamp".to_owned(),
        at.map_or(Value::Null, |at| at.clone().into()),
    );
    if revision.deployment {
        out.insert("deployment".to_owned(), true.into());
    }
    let latest = revision
        .meta
        .labels
        .get(model::marks::LATEST)
        .is_some_and(|v| v == "true");
    out.insert("latest".to_owned(), latest.into());
    put_list(&mut out, "conditions", write_plain(&revision.conditions));
    put_list(
        &mut out,
        "conflicts",
        revision.conflicts.iter().map(write_conflict).collect(),
    );
    if let Some(render) = &revision.render_status {
        out.insert(
            "renderStatus".to_owned(),
            write_render_status(&render.unpack()),
        );
    }
    let mut ours = Map::new();
    ours.insert("format".to_owned(), FORMAT.into());
    put(&mut ours, "commit", &revision.commit.to_string());
    put(&mut ours, "tree", &revision.tree.to_string());
    if let Some(machine) = &revision.machine {
        ours.insert("machine".to_owned(), write_machine(machine));
    }
    put(
        &mut ours,
        "notedDigest",
        revision.noted_digest.as_deref().unwrap_or_default(),
    );
    if revision.placeholder {
        ours.insert("placeholder".to_owned(), true.into());
    }
    put(&mut ours, "contentVersion", &revision.content_version);
    // Worked out, never read.
    let open = revision.conflicts.iter().filter(|c| c.blocks());
    let keys: BTreeSet<String> = open.map(crate::conflict_key).collect();
    let keys: Vec<String> = keys.into_iter().collect();
    put(&mut ours, "openConflicts", &keys.join(","));
    out.insert("offshoot".to_owned(), Value::Object(ours));
    Value::Object(out)
}
