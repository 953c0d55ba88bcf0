//! A whole record of a package revision.

use model::{
    CommitId, ConflictId, Lifecycle, Namespace, ObjectKey, ObjectName, PackageName, ReadinessGate,
    RepositoryName, Revision, RevisionNumber, TreeId, WorkspaceName,
};
use serde_json::{Value, json};

use super::reader::{Fields, wrong};
use super::{CodecError, machine, parts, rendering, task};

pub(super) fn to_json(r: &Revision) -> Value {
    let texts = |list: &mut dyn Iterator<Item = &str>| list.map(Value::from).collect::<Vec<_>>();
    let conflicts = (!r.conflicts.is_empty()).then(|| package::conflicts::encode(&r.conflicts));
    json!({
        "namespace": r.key.namespace.as_str(),
        "name": r.key.name.as_str(),
        "meta": parts::meta_json(&r.meta),
        "repository": r.repository.as_str(),
        "package": r.package.as_str(),
        "workspace": r.workspace.as_str(),
        "revision": r.revision.0,
        "lifecycle": r.lifecycle.as_str(),
        "tasks": r.tasks.iter().map(task::encode_task).collect::<Vec<_>>(),
        "gates": texts(&mut r.readiness_gates.iter().map(|g| g.condition_type.as_str())),
        "packageLabels": r.package_labels,
        "packageAnnotations": r.package_annotations,
        "resolvedConflicts": texts(&mut r.resolved_conflicts.iter().map(|id| id.0.as_str())),
        "upstreamLock": r.upstream_lock.as_ref().map(parts::lock_json),
        "selfLock": r.self_lock.as_ref().map(parts::lock_json),
        "conditions": r.conditions.iter().map(parts::condition_json).collect::<Vec<_>>(),
        "deployment": r.deployment,
        "publishedBy": r.published_by,
        "publishedAt": r.published_at,
        "conflicts": conflicts,
        "renderStatus": r.render_status.as_ref().map(rendering::to_json),
        "commit": r.commit.to_string(),
        "tree": r.tree.to_string(),
        "machine": r.machine.as_ref().map(machine::to_json),
        "notedDigest": r.noted_digest,
        "placeholder": r.placeholder,
        "contentVersion": r.content_version,
    })
}

pub(super) fn from_json(value: &Value) -> Result<Revision, CodecError> {
    let f = Fields::of(value, "record")?;
    let conflicts = match f.opt_text("conflicts")? {
        Some(text) => package::conflicts::decode(text).map_err(|_| wrong("conflicts"))?,
        None => Vec::new(),
    };
    Ok(Revision {
        key: ObjectKey::new(
            f.parsed("namespace", |t| Namespace::parse(t).ok())?,
            f.parsed("name", |t| ObjectName::parse(t).ok())?,
        ),
        meta: parts::meta(f.object("meta")?)?,
        repository: f.parsed("repository", |t| RepositoryName::parse(t).ok())?,
        package: f.parsed("package", |t| PackageName::parse(t).ok())?,
        workspace: f.parsed("workspace", |t| WorkspaceName::parse(t).ok())?,
        revision: RevisionNumber(f.int("revision")?),
        lifecycle: f.parsed("lifecycle", Lifecycle::parse)?,
        tasks: f
            .list("tasks", task::decode_task)?
            .into_iter()
            .flatten()
            .collect(),
        readiness_gates: f
            .texts("gates")?
            .into_iter()
            .map(|condition_type| ReadinessGate { condition_type })
            .collect(),
        package_labels: f.map("packageLabels")?,
        package_annotations: f.map("packageAnnotations")?,
        resolved_conflicts: f
            .texts("resolvedConflicts")?
            .into_iter()
            .map(ConflictId)
            .collect(),
        upstream_lock: f.get("upstreamLock").map(parts::lock).transpose()?,
        self_lock: f.get("selfLock").map(parts::lock).transpose()?,
        conditions: f.list("conditions", parts::condition)?,
        deployment: f.flag("deployment"),
        published_by: f.string("publishedBy")?,
        published_at: f.string("publishedAt")?,
        conflicts,
        render_status: f
            .get("renderStatus")
            .map(rendering::from_json)
            .transpose()?,
        commit: f.parsed("commit", CommitId::parse)?,
        tree: f.parsed("tree", TreeId::parse)?,
        machine: f.get("machine").map(machine::from_json).transpose()?,
        noted_digest: f.opt_text("notedDigest")?.map(str::to_owned),
        placeholder: f.flag("placeholder"),
        content_version: f.string("contentVersion")?,
    })
}
