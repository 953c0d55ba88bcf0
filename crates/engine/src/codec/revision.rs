//! A whole record of a package revision.

use model::{
    CommitId, ConflictId, GitLock, Lifecycle, Namespace, ObjectKey, ObjectName, PackageName,
    PackedRenderStatus, ReadinessGate, RepositoryName, Revision, RevisionNumber, TreeId,
    WorkspaceName,
};
use serde_json::Value;

use super::parts::object;
use super::reader::{JsonFields, wrong};
use super::{CodecError, machine, parts, rendering, task};

pub(super) fn to_json(r: &Revision) -> Value {
    let conflicts = (!r.conflicts.is_empty()).then(|| package::conflicts::encode(&r.conflicts));
    let gates = r.readiness_gates.iter().map(|g| g.condition_type.as_str());
    let resolved = r.resolved_conflicts.iter().map(|id| id.0.as_str());
    let lock = |lock: &Option<GitLock>| lock.as_ref().map(parts::lock_json).into();
    object([
        ("namespace", r.key.namespace.as_str().into()),
        ("name", r.key.name.as_str().into()),
        ("meta", parts::meta_json(&r.meta)),
        ("repository", r.repository.as_str().into()),
        ("package", r.package.as_str().into()),
        ("workspace", r.workspace.as_str().into()),
        ("revision", r.revision.0.into()),
        ("lifecycle", r.lifecycle.as_str().into()),
        ("tasks", r.tasks.iter().map(task::encode_task).collect()),
        ("gates", parts::texts(gates)),
        ("packageLabels", parts::by_key(&r.package_labels)),
        ("packageAnnotations", parts::by_key(&r.package_annotations)),
        ("resolvedConflicts", parts::texts(resolved)),
        ("upstreamLock", lock(&r.upstream_lock)),
        ("selfLock", lock(&r.self_lock)),
        (
            "conditions",
            r.conditions.iter().map(parts::condition_json).collect(),
        ),
        ("deployment", r.deployment.into()),
        ("publishedBy", r.published_by.as_str().into()),
        ("publishedAt", r.published_at.as_str().into()),
        ("conflicts", conflicts.into()),
        (
            "renderStatus",
            r.render_status
                .as_ref()
                .map(|r| rendering::to_json(&r.unpack()))
                .into(),
        ),
        ("commit", r.commit.to_string().into()),
        ("tree", r.tree.to_string().into()),
        ("machine", r.machine.as_ref().map(machine::to_json).into()),
        ("notedDigest", r.noted_digest.as_deref().into()),
        ("placeholder", r.placeholder.into()),
        ("contentVersion", r.content_version.as_str().into()),
    ])
}

pub(super) fn from_json(value: &Value) -> Result<Revision, CodecError> {
    let f = JsonFields::of(value, "record")?;
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
            .transpose()?
            .map(|status| PackedRenderStatus::from(&status)),
        commit: f.parsed("commit", CommitId::parse)?,
        tree: f.parsed("tree", TreeId::parse)?,
        machine: f.get("machine").map(machine::from_json).transpose()?,
        noted_digest: f.opt_text("notedDigest")?.map(str::to_owned),
        placeholder: f.flag("placeholder"),
        content_version: f.string("contentVersion")?,
    })
}
