//! Parts that several texts share: metadata, locks, conditions.

use model::{CommitId, Condition, GitLock, ObjectMeta, OwnerReference, Pairs, Status, Uid};
use serde_json::{Value, json};

use super::CodecError;
use super::reader::JsonFields;

/// An object of these parts, which are moved into it: `json!` copies whatever is given to it, and a part of a
/// part once for each level.
pub(super) fn object<const N: usize>(parts: [(&str, Value); N]) -> Value {
    let parts = parts.into_iter();
    Value::Object(parts.map(|(key, part)| (key.to_owned(), part)).collect())
}

/// Texts as a list.
pub(super) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value {
    texts.into_iter().map(Value::from).collect()
}

/// Texts by key.
pub(super) fn by_key(map: &Pairs) -> Value {
    let entries = map.iter();
    Value::Object(
        entries
            .map(|(k, v)| (k.clone(), v.as_str().into()))
            .collect(),
    )
}

pub(super) fn meta_json(meta: &ObjectMeta) -> Value {
    object([
        ("uid", meta.uid.as_ref().map(Uid::as_str).into()),
        ("resourceVersion", meta.resource_version.as_str().into()),
        ("generation", meta.generation.into()),
        ("created", meta.created.as_str().into()),
        ("deleted", meta.deleted.as_deref().into()),
        ("labels", by_key(&meta.labels)),
        ("annotations", by_key(&meta.annotations)),
        (
            "finalizers",
            texts(meta.finalizers.iter().map(String::as_str)),
        ),
        ("owners", meta.owners.iter().map(owner_json).collect()),
    ])
}

pub(super) fn meta(fields: JsonFields<'_>) -> Result<ObjectMeta, CodecError> {
    Ok(ObjectMeta {
        uid: fields.opt_parsed("uid", |t| Uid::parse(t).ok())?,
        resource_version: fields.string("resourceVersion")?,
        generation: fields.int("generation")?,
        created: fields.string("created")?,
        deleted: fields.opt_text("deleted")?.map(str::to_owned),
        labels: fields.map("labels")?,
        annotations: fields.map("annotations")?,
        finalizers: fields.texts("finalizers")?,
        owners: fields.list("owners", owner)?,
    })
}

fn owner_json(owner: &OwnerReference) -> Value {
    json!({
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid.as_str(),
        "controller": owner.controller,
        "blockOwnerDeletion": owner.block_owner_deletion,
    })
}

fn owner(value: &Value) -> Result<OwnerReference, CodecError> {
    let fields = JsonFields::of(value, "owners")?;
    Ok(OwnerReference {
        api_version: fields.string("apiVersion")?,
        kind: fields.string("kind")?,
        name: fields.string("name")?,
        uid: fields.parsed("uid", |t| Uid::parse(t).ok())?,
        controller: fields.flag("controller"),
        block_owner_deletion: fields.flag("blockOwnerDeletion"),
    })
}

pub(super) fn lock_json(lock: &GitLock) -> Value {
    json!({
        "repo": lock.repo,
        "directory": lock.directory,
        "ref": lock.git_ref,
        "commit": lock.commit.map(|c| c.to_string()),
    })
}

pub(super) fn lock(value: &Value) -> Result<GitLock, CodecError> {
    let fields = JsonFields::of(value, "lock")?;
    Ok(GitLock {
        repo: fields.string("repo")?,
        directory: fields.string("directory")?,
        git_ref: fields.string("ref")?,
        commit: fields.opt_parsed("commit", CommitId::parse)?,
    })
}

pub(super) fn condition_json(condition: &Condition) -> Value {
    json!({
        "type": condition.kind,
        "status": condition.status.as_str(),
        "reason": condition.reason,
        "message": condition.message,
    })
}

pub(super) fn condition(value: &Value) -> Result<Condition, CodecError> {
    let fields = JsonFields::of(value, "conditions")?;
    Ok(Condition {
        kind: fields.string("type")?,
        status: Status::parse(fields.text("status")?),
        reason: fields.string("reason")?,
        message: fields.string("message")?,
    })
}
