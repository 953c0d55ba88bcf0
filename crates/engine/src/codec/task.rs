//! Tasks as the `kpt:` trailer writes them.

use model::{GitSource, ObjectName, Strategy, Task};
use serde_json::{Map, Value, json};

use super::CodecError;
use super::reader::{JsonFields, wrong};

/// Writes a task as the API does; empty fields are left out.
pub(crate) fn encode_task(task: &Task) -> Value {
    let mut map = Map::new();
    map.insert("type".to_owned(), task.kind().into());
    map.insert(task.kind().to_owned(), body(task));
    Value::Object(map)
}

fn body(task: &Task) -> Value {
    match task {
        Task::Init {
            description,
            keywords,
            site,
        } => {
            let mut map = Map::new();
            let mut put = |key: &str, value: Value, empty: bool| {
                if !empty {
                    map.insert(key.to_owned(), value);
                }
            };
            put(
                "description",
                description.as_str().into(),
                description.is_empty(),
            );
            put("keywords", keywords.clone().into(), keywords.is_empty());
            put("site", site.as_str().into(), site.is_empty());
            Value::Object(map)
        }
        Task::Clone { upstream } => {
            json!({ "upstreamRef": { "upstreamRef": { "name": upstream.as_str() } } })
        }
        Task::CloneGit(source) => {
            let mut git = Map::new();
            git.insert("repo".to_owned(), source.repo.as_str().into());
            git.insert("ref".to_owned(), source.git_ref.as_str().into());
            git.insert("directory".to_owned(), source.directory.as_str().into());
            if let Some(secret) = &source.secret {
                git.insert("secretRef".to_owned(), json!({ "name": secret }));
            }
            json!({ "upstreamRef": { "type": "git", "git": git } })
        }
        Task::Edit { source } => json!({ "sourceRef": { "name": source.as_str() } }),
        Task::Upgrade {
            old_upstream,
            new_upstream,
            local,
            strategy,
        } => json!({
            "oldUpstreamRef": { "name": old_upstream.as_str() },
            "newUpstreamRef": { "name": new_upstream.as_str() },
            "localPackageRevisionRef": { "name": local.as_str() },
            "strategy": strategy.as_str(),
        }),
    }
}

/// Reads a task; `None` for the internal ones (`render`, `push`) and for types of the future.
///
/// # Errors
/// A known type whose fields are wrong.
pub(crate) fn decode_task(value: &Value) -> Result<Option<Task>, CodecError> {
    let fields = JsonFields::of(value, "task")?;
    let named = |fields: JsonFields<'_>, field: &str| {
        fields
            .object(field)?
            .parsed("name", |t| ObjectName::parse(t).ok())
    };
    Ok(Some(match fields.text("type")? {
        "init" => {
            let empty = Value::Object(Map::new());
            let body = JsonFields::of(fields.get("init").unwrap_or(&empty), "init")?;
            Task::Init {
                description: body.string("description")?,
                keywords: body.texts("keywords")?,
                site: body.string("site")?,
            }
        }
        "clone" => clone(fields.object("clone")?.object("upstreamRef")?)?,
        "edit" => Task::Edit {
            source: named(fields.object("edit")?, "sourceRef")?,
        },
        "upgrade" => {
            let body = fields.object("upgrade")?;
            Task::Upgrade {
                old_upstream: named(body, "oldUpstreamRef")?,
                new_upstream: named(body, "newUpstreamRef")?,
                local: named(body, "localPackageRevisionRef")?,
                strategy: Strategy::parse(&body.string("strategy")?)
                    .ok_or_else(|| wrong("strategy"))?,
            }
        }
        _ => return Ok(None),
    }))
}

fn clone(reference: JsonFields<'_>) -> Result<Task, CodecError> {
    if reference.get("git").is_none() {
        let upstream = reference
            .object("upstreamRef")?
            .parsed("name", |t| ObjectName::parse(t).ok())?;
        return Ok(Task::Clone { upstream });
    }
    let git = reference.object("git")?;
    Ok(Task::CloneGit(GitSource {
        repo: git.text("repo")?.to_owned(),
        git_ref: git.string("ref")?,
        directory: git.string("directory")?,
        secret: match git.get("secretRef") {
            None => None,
            Some(_) => Some(git.object("secretRef")?.text("name")?.to_owned()),
        },
    }))
}
