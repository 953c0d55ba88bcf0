//! `rpkg init`, `clone` and `copy`: new drafts.

use serde_json::{Value, json};

use super::text;
use crate::cli::remote::Rpkg;
use crate::client::{Client, PACKAGES, collection, object};
use crate::exit::ExitFailure;

pub(super) async fn run(client: &Client, verb: &Rpkg) -> Result<String, ExitFailure> {
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
            )?;
            let task = json!({ "type": "clone", "clone": { "upstreamRef": upstream } });
            spec(name, repository, workspace, &task)
        }
        Rpkg::Copy { source, workspace } => return copy(client, source, workspace).await,
        _ => return Ok(String::new()),
    };
    let made = create(client, &spec).await?;
    Ok(format!("{made} created\n"))
}

/// A new draft with the contents of a published revision.
pub(super) async fn copy(
    client: &Client,
    source: &str,
    workspace: &str,
) -> Result<String, ExitFailure> {
    let found = client
        .get(&object(PACKAGES, &client.namespace, source))
        .await?;
    let part = |key: &str| text(&found, &["spec", key]).unwrap_or_default();
    let task = json!({ "type": "edit", "edit": { "sourceRef": { "name": source } } });
    let spec = spec(&part("packageName"), &part("repository"), workspace, &task);
    let made = create(client, &spec).await?;
    Ok(format!("{made} created\n"))
}

/// Creates a draft; its name.
pub(super) async fn create(client: &Client, spec: &Value) -> Result<String, ExitFailure> {
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
) -> Result<Value, ExitFailure> {
    if !source.contains("://") {
        return Ok(json!({ "upstreamRef": { "name": source } }));
    }
    let (repo, inside) = match source.split_once(".git/") {
        Some((repo, rest)) => (format!("{repo}.git"), rest),
        None => (source.to_owned(), ""),
    };
    let (path, at) = inside.rsplit_once('@').unwrap_or((inside, ""));
    let or = |name: &str, flag: Option<&str>, part: &str, default: &str| {
        let (flag, part) = (
            flag.filter(|f| !f.is_empty()),
            Some(part).filter(|p| !p.is_empty()),
        );
        match (flag, part) {
            (Some(flag), Some(part)) if flag.trim_matches('/') != part.trim_matches('/') => {
                Err(ExitFailure::usage(format!(
                    "--{name}={flag} contradicts {part} in the source {source}"
                ))
                .hint(format!("leave --{name} out, or write the address alone")))
            }
            (flag, part) => Ok(flag.or(part).unwrap_or(default).to_owned()),
        }
    };
    let mut git = json!({
        "repo": repo,
        "ref": or("ref", git_ref, at, "main")?,
        "directory": or("directory", directory, path, "/")?,
    });
    if let Some(secret) = secret {
        git["secretRef"] = json!({ "name": secret });
    }
    Ok(json!({ "type": "git", "git": git }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(source: &str, git_ref: Option<&str>, directory: Option<&str>) -> Value {
        upstream(source, git_ref, directory, None).unwrap()["git"].clone()
    }

    #[test]
    fn addresses_are_told_from_names() {
        let named = upstream("blueprints.web.v1", None, None, None).unwrap();
        assert_eq!(named["upstreamRef"]["name"], "blueprints.web.v1");
        let all_three = git("https://git.example.test/a.git/web@v1", None, None);
        assert_eq!(all_three["repo"], "https://git.example.test/a.git");
        assert_eq!(
            (&all_three["directory"], &all_three["ref"]),
            (&json!("web"), &json!("v1"))
        );
        let flags = git("file:///a.git", Some("v2"), Some("x"));
        assert_eq!(
            (&flags["directory"], &flags["ref"]),
            (&json!("x"), &json!("v2"))
        );
    }

    #[test]
    fn an_address_and_a_flag_that_say_different_things_are_refused() {
        let address = "https://git.example.test/a.git/web@v1";
        assert!(upstream(address, Some("v2"), None, None).is_err());
        assert!(upstream(address, None, Some("db"), None).is_err());
        assert_eq!(git(address, Some("v1"), Some("/web"))["ref"], "v1");
    }
}
