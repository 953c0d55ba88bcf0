//! `rpkg init`, `clone` and `copy`: new drafts.

use serde_json::{Value, json};

use super::text;
use crate::cli::remote::Rpkg;
use crate::client::{Client, PACKAGES, collection, object};
use crate::exit::Failure;

pub(super) async fn run(client: &Client, verb: &Rpkg) -> Result<String, Failure> {
    let spec = match verb {
        Rpkg::Init {
            name,
            repository,
            workspace,
            description,
            keywords,
            site,
        } => {
            let mut init = json!({ "description": description });
            if !keywords.is_empty() {
                init["keywords"] = json!(keywords);
            }
            if !site.is_empty() {
                init["site"] = json!(site);
            }
            spec(
                name,
                repository,
                workspace,
                &json!({ "type": "init", "init": init }),
            )
        }
        Rpkg::Clone {
            source,
            name,
            repository,
            workspace,
            r#ref,
            directory,
            secret_ref,
        } => {
            let upstream = upstream(
                source,
                r#ref.as_deref(),
                directory.as_deref(),
                secret_ref.as_deref(),
            );
            let task = json!({ "type": "clone", "clone": { "upstreamRef": upstream } });
            spec(name, repository, workspace, &task)
        }
        Rpkg::Copy { source, workspace } => {
            let found = client
                .get(&object(PACKAGES, &client.namespace, source))
                .await?;
            let part = |key: &str| text(&found, &["spec", key]).unwrap_or_default();
            let task = json!({ "type": "edit", "edit": { "sourceRef": { "name": source } } });
            spec(&part("packageName"), &part("repository"), workspace, &task)
        }
        _ => return Ok(String::new()),
    };
    let made = create(client, &spec).await?;
    Ok(format!("{made} created\n"))
}

/// Creates a draft; its name.
pub(super) async fn create(client: &Client, spec: &Value) -> Result<String, Failure> {
    let body = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1",
        "kind": "PackageRevision",
        "metadata": { "namespace": client.namespace },
        "spec": spec,
    });
    let made = client
        .post(&collection(PACKAGES, &client.namespace, &[]), &body)
        .await?;
    Ok(text(&made, &["metadata", "name"]).unwrap_or_default())
}

pub(super) fn spec(package: &str, repository: &str, workspace: &str, task: &Value) -> Value {
    json!({
        "packageName": package,
        "repository": repository,
        "workspaceName": workspace,
        "lifecycle": "Draft",
        "tasks": [task],
    })
}

/// An address has a scheme; `ADDRESS.git/DIRECTORY[@REF]` names all three at once.
fn upstream(
    source: &str,
    git_ref: Option<&str>,
    directory: Option<&str>,
    secret: Option<&str>,
) -> Value {
    if !source.contains("://") {
        return json!({ "upstreamRef": { "name": source } });
    }
    let (repo, inside) = match source.split_once(".git/") {
        Some((repo, rest)) => (format!("{repo}.git"), rest),
        None => (source.to_owned(), ""),
    };
    let (path, at) = inside.rsplit_once('@').unwrap_or((inside, ""));
    let or = |flag: Option<&str>, part: &str, default: &str| {
        flag.filter(|f| !f.is_empty())
            .or_else(|| Some(part).filter(|p| !p.is_empty()))
            .unwrap_or(default)
            .to_owned()
    };
    let mut git = json!({
        "repo": repo,
        "ref": or(git_ref, at, "main"),
        "directory": or(directory, path, "/"),
    });
    if let Some(secret) = secret {
        git["secretRef"] = json!({ "name": secret });
    }
    json!({ "type": "git", "git": git })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_names() {
        assert_eq!(
            upstream("blueprints.web.v1", None, None, None)["upstreamRef"]["name"],
            "blueprints.web.v1"
        );
        let git = &upstream("https://git.example.test/a.git/web@v1", None, None, None)["git"];
        assert_eq!(git["repo"], "https://git.example.test/a.git");
        assert_eq!(
            (&git["directory"], &git["ref"]),
            (&json!("web"), &json!("v1"))
        );
        let git = &upstream("file:///a.git", Some("v2"), Some("x"), None)["git"];
        assert_eq!(
            (&git["directory"], &git["ref"]),
            (&json!("x"), &json!("v2"))
        );
    }
}
