//! Tasks of package revisions.

use model::{GitSource, ObjectName, Problem, Strategy, Task};
use serde_json::{Map, Value, json};

use crate::fields::{FieldReader, name, put, put_list};

/// Reads one entry of `spec.tasks`.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read_task(value: &Value, path: &str) -> Result<Task, Vec<Problem>> {
    let mut problems = Vec::new();
    let fields = FieldReader::new(value, path);
    let kind = fields.text("type").unwrap_or_default();
    let task = match kind {
        "init" => Some(read_init(&fields)),
        "clone" => read_clone(&fields, &mut problems),
        "edit" => reference(&fields, "edit", "sourceRef", &mut problems)
            .map(|source| Task::Edit { source }),
        "upgrade" => read_upgrade(&fields, &mut problems),
        _ => {
            let field = fields.field("type");
            problems.push(Problem::new(
                &field,
                format!("{field}: Unsupported value: {kind:?}: supported values: \"init\", \"clone\", \"edit\", \"upgrade\""),
            ));
            None
        }
    };
    task.filter(|_| problems.is_empty()).ok_or(problems)
}

fn read_init(fields: &FieldReader<'_>) -> Task {
    let init = fields.child("init");
    let text = |key: &str| init.as_ref().and_then(|f| f.owned(key)).unwrap_or_default();
    Task::Init {
        description: text("description"),
        keywords: init
            .as_ref()
            .map(|f| f.texts("keywords"))
            .unwrap_or_default(),
        site: text("site"),
    }
}

fn read_clone(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<Task> {
    let clone = fields.child("clone");
    let upstream = clone.as_ref().and_then(|c| c.child("upstreamRef"));
    let Some(upstream) = upstream else {
        let field = fields.field("clone.upstreamRef");
        problems.push(Problem::new(&field, format!("{field}: Required value")));
        return None;
    };
    if upstream.raw("oci").is_some() || upstream.text("type") == Some("oci") {
        let field = upstream.field("type");
        problems.push(Problem::new(
            &field,
            format!("{field}: OCI repositories are not served"),
        ));
        return None;
    }
    if let Some(git) = upstream.child("git") {
        return Some(Task::CloneGit(GitSource {
            repo: git.owned("repo").unwrap_or_default(),
            git_ref: git.owned("ref").unwrap_or_default(),
            directory: git.owned("directory").unwrap_or_default(),
            secret: git.child("secretRef").and_then(|s| s.owned("name")),
        }));
    }
    named(&upstream, "upstreamRef", problems).map(|upstream| Task::Clone { upstream })
}

fn read_upgrade(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<Task> {
    let old = reference(fields, "upgrade", "oldUpstreamRef", problems);
    let new = reference(fields, "upgrade", "newUpstreamRef", problems);
    let local = reference(fields, "upgrade", "localPackageRevisionRef", problems);
    let upgrade = fields.child("upgrade")?;
    let text = upgrade.text("strategy").unwrap_or_default();
    let Some(strategy) = Strategy::parse(text) else {
        let field = upgrade.field("strategy");
        let known = Strategy::ALL
            .map(|s| format!("{:?}", s.as_str()))
            .join(", ");
        problems.push(Problem::new(
            &field,
            format!("{field}: Unsupported value: {text:?}: supported values: {known}"),
        ));
        return None;
    };
    Some(Task::Upgrade {
        old_upstream: old?,
        new_upstream: new?,
        local: local?,
        strategy,
    })
}

fn reference(
    fields: &FieldReader<'_>,
    part: &str,
    key: &str,
    problems: &mut Vec<Problem>,
) -> Option<ObjectName> {
    match fields.child(part) {
        Some(part) => named(&part, key, problems),
        None => {
            let field = fields.field(&format!("{part}.{key}"));
            problems.push(Problem::new(&field, format!("{field}: Required value")));
            None
        }
    }
}

fn named(fields: &FieldReader<'_>, key: &str, problems: &mut Vec<Problem>) -> Option<ObjectName> {
    let field = format!("{}.name", fields.field(key));
    match fields.child(key).and_then(|r| r.owned("name")) {
        Some(text) => name(problems, &field, &text, ObjectName::parse),
        None => {
            problems.push(Problem::new(&field, format!("{field}: Required value")));
            None
        }
    }
}

/// The wire form, in Porch's order of fields (it is written into commit trailers, too).
pub fn write_task(task: &Task) -> Value {
    let refer = |name: &ObjectName| json!({ "name": name.as_str() });
    match task {
        Task::Init {
            description,
            keywords,
            site,
        } => {
            let mut init = Map::new();
            put(&mut init, "description", description);
            put_list(
                &mut init,
                "keywords",
                keywords.iter().map(|k| k.clone().into()).collect(),
            );
            put(&mut init, "site", site);
            json!({ "type": "init", "init": init })
        }
        Task::Clone { upstream } => json!({
            "type": "clone",
            "clone": { "upstreamRef": { "upstreamRef": refer(upstream) } },
        }),
        Task::CloneGit(source) => {
            let mut git = Map::new();
            put(&mut git, "repo", &source.repo);
            put(&mut git, "ref", &source.git_ref);
            put(&mut git, "directory", &source.directory);
            let secret = source.secret.clone().unwrap_or_default();
            git.insert("secretRef".to_owned(), json!({ "name": secret }));
            json!({ "type": "clone", "clone": { "upstreamRef": { "type": "git", "git": git } } })
        }
        Task::Edit { source } => json!({ "type": "edit", "edit": { "sourceRef": refer(source) } }),
        Task::Upgrade {
            old_upstream,
            new_upstream,
            local,
            strategy,
        } => json!({
            "type": "upgrade",
            "upgrade": {
                "oldUpstreamRef": refer(old_upstream),
                "newUpstreamRef": refer(new_upstream),
                "localPackageRevisionRef": refer(local),
                "strategy": strategy.as_str(),
            },
        }),
    }
}
