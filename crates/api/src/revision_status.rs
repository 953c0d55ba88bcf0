//! The parts of a package revision's status: locks, conflicts, and what we remember.

use model::{
    CommitId, Conflict, ConflictId, ConflictState, Decision, Digest, DraftOwner, GitLock, Machine,
    Namespace, ObjectName, PackagePath, TreeId, Uid, WorkspaceName,
};
use serde_json::{Map, Value, json};

use crate::fields::{FieldReader, put, put_list};
use crate::sides::{read_side, write_side};

/// `{type: git, git: {repo, directory, ref, commit}}`
pub(crate) fn write_lock(lock: &GitLock) -> Value {
    let mut git = Map::new();
    put(&mut git, "repo", &lock.repo);
    put(&mut git, "directory", &lock.directory);
    put(&mut git, "ref", &lock.git_ref);
    put(
        &mut git,
        "commit",
        &lock.commit.map(|c| c.to_string()).unwrap_or_default(),
    );
    json!({ "type": "git", "git": git })
}

pub(crate) fn read_lock(fields: &FieldReader<'_>) -> Option<GitLock> {
    let git = fields.child("git")?;
    Some(GitLock {
        repo: git.owned("repo")?,
        directory: git.owned("directory").unwrap_or_default(),
        git_ref: git.owned("ref").unwrap_or_default(),
        commit: git.text("commit").and_then(CommitId::parse),
    })
}

pub(crate) fn write_conflict(conflict: &Conflict) -> Value {
    let mut out = Map::new();
    put(&mut out, "id", &conflict.id.0);
    // Worked out, never read: equal conflicts of a fleet are decided by it (F4).
    put(&mut out, "key", &crate::conflict_key(conflict));
    put(&mut out, "file", conflict.file.as_str());
    put(&mut out, "resource", &conflict.resource);
    put(&mut out, "path", &conflict.path);
    for (key, value) in [
        ("base", &conflict.base),
        ("local", &conflict.local),
        ("upstream", &conflict.upstream),
    ] {
        out.insert(key.to_owned(), write_side(value));
    }
    put(&mut out, "decision", decision_text(conflict.decision));
    put(&mut out, "state", conflict.state.as_str());
    put(
        &mut out,
        "derivedFrom",
        conflict.derived_from.as_ref().map_or("", |d| &d.0),
    );
    Value::Object(out)
}

/// The conflicts of a package revision as its status lists them.
pub fn read_conflicts(object: &Value) -> Vec<Conflict> {
    let empty = Value::Object(Map::new());
    let status = FieldReader::new(object.get("status").unwrap_or(&empty), "status");
    let all = status.list("conflicts");
    all.iter().filter_map(read_conflict).collect()
}

pub(crate) fn read_conflict(fields: &FieldReader<'_>) -> Option<Conflict> {
    Some(Conflict {
        id: ConflictId(fields.owned("id")?),
        file: PackagePath::parse(fields.text("file")?).ok()?,
        resource: fields.owned("resource").unwrap_or_default(),
        path: fields.owned("path").unwrap_or_default(),
        base: read_side(fields, "base"),
        local: read_side(fields, "local"),
        upstream: read_side(fields, "upstream"),
        decision: match fields.text("decision") {
            Some("local") => Decision::Local,
            _ => Decision::Upstream,
        },
        state: fields
            .text("state")
            .and_then(ConflictState::parse)
            .unwrap_or(ConflictState::Open),
        derived_from: fields.owned("derivedFrom").map(ConflictId),
    })
}

fn decision_text(decision: Decision) -> &'static str {
    match decision {
        Decision::Upstream => "upstream",
        Decision::Local => "local",
    }
}

pub(crate) fn write_machine(machine: &Machine) -> Value {
    let mut out = Map::new();
    put(&mut out, "namespace", machine.owner.namespace.as_str());
    put(&mut out, "name", machine.owner.name.as_str());
    put(&mut out, "uid", machine.owner.uid.as_str());
    if machine.adopted {
        out.insert("adopted".to_owned(), Value::Bool(true));
    }
    put(&mut out, "workspace", machine.workspace.as_str());
    put(&mut out, "digest", machine.digest.as_str());
    put(&mut out, "fullDigest", machine.full_digest.as_str());
    put(&mut out, "m", &machine.m_tree.to_string());
    put(&mut out, "v", &machine.v_tree.to_string());
    put(
        &mut out,
        "base",
        &machine.base.map(|c| c.to_string()).unwrap_or_default(),
    );
    put(
        &mut out,
        "baseTree",
        &machine.base_tree.map(|t| t.to_string()).unwrap_or_default(),
    );
    let keys = machine
        .context_keys
        .iter()
        .map(|k| k.clone().into())
        .collect();
    put_list(&mut out, "contextKeys", keys);
    put_list(
        &mut out,
        "gates",
        machine.gates.iter().map(|g| g.clone().into()).collect(),
    );
    Value::Object(out)
}

pub(crate) fn read_machine(fields: &FieldReader<'_>) -> Option<Machine> {
    Some(Machine {
        owner: DraftOwner {
            namespace: Namespace::parse(fields.text("namespace")?).ok()?,
            name: ObjectName::parse(fields.text("name")?).ok()?,
            uid: Uid::parse(fields.text("uid")?).ok()?,
        },
        adopted: fields.flag("adopted"),
        workspace: WorkspaceName::parse(fields.text("workspace")?).ok()?,
        digest: Digest::parse(fields.text("digest")?)?,
        full_digest: Digest::parse(fields.text("fullDigest")?)?,
        m_tree: TreeId::parse(fields.text("m")?)?,
        v_tree: TreeId::parse(fields.text("v")?)?,
        base: fields.text("base").and_then(CommitId::parse),
        base_tree: fields.text("baseTree").and_then(TreeId::parse),
        context_keys: fields.texts("contextKeys").into_iter().collect(),
        gates: fields.texts("gates"),
    })
}
