//! `offshoot repo`: registered repositories.

mod register;
mod sync;

use model::Class;
use serde_json::Value;

use crate::cli::remote::{Repo, RepoArgs};
use crate::client::{self, Client, REPOSITORIES, SECRETS, collection, object};
use crate::exit::ExitFailure;

/// Runs one verb; what is to be printed.
///
/// # Errors
/// It failed, and why.
pub(crate) async fn run(args: &RepoArgs) -> Result<String, ExitFailure> {
    let client = Client::connect(&args.connect).await?;
    let done = verb(&client, args).await;
    super::say_warnings(&client);
    done
}

async fn verb(client: &Client, args: &RepoArgs) -> Result<String, ExitFailure> {
    match &args.verb {
        Repo::Reg(flags) => register::run(client, flags).await,
        Repo::Get { names, listing } => {
            let mut chosen = vec![REPOSITORIES.1.to_owned()];
            chosen.extend_from_slice(names);
            client::without_go_templates(client, listing, &chosen)?;
            let namespace = client.scope(names, listing.all_namespaces)?;
            let paths = if names.is_empty() {
                vec![collection(REPOSITORIES, namespace, &[])]
            } else {
                names
                    .iter()
                    .map(|n| object(REPOSITORIES, &client.namespace, n))
                    .collect()
            };
            client::print(client, &paths, listing, &|_| true).await
        }
        Repo::Sync {
            names,
            all,
            all_namespaces,
            run_once,
        } => sync::run(client, names, *all, *all_namespaces, run_once.as_deref()).await,
        Repo::Unreg {
            name,
            keep_auth_secret,
        } => unregister(client, name, *keep_auth_secret).await,
    }
}

async fn unregister(client: &Client, name: &str, keep_secret: bool) -> Result<String, ExitFailure> {
    let path = object(REPOSITORIES, &client.namespace, name);
    let repository = client.get(&path).await?;
    let secret = secret_of(&repository).filter(|s| !keep_secret && *s == format!("{name}-auth"));
    let left = match secret {
        Some(secret) => why_left(client, name, secret).await?,
        None => None,
    };
    client.delete(&path).await?;
    match (secret, left) {
        (Some(secret), Some(why)) => super::say(&format!(
            "The Secret {secret} is left: {why}. kubectl delete secret {secret} -n {} removes it",
            client.namespace
        )),
        (Some(secret), None) => {
            let gone = client
                .delete(&object(SECRETS, &client.namespace, secret))
                .await;
            // It may have gone before.
            if let Err(failure) = gone
                && failure.class() != Some(Class::NotFound)
            {
                return Err(failure);
            }
        }
        (None, _) => {}
    }
    Ok(format!("{name} unregistered\n"))
}

fn secret_of(repository: &Value) -> Option<&str> {
    api::str_at(repository, &["spec", "git", "secretRef", "name"])
}

/// Why a Secret stays although its repository goes: nobody but `repo reg` made it, or somebody else needs it. Credentials are
/// deleted where both are known not to be so.
async fn why_left(
    client: &Client,
    name: &str,
    secret: &str,
) -> Result<Option<String>, ExitFailure> {
    let path = object(SECRETS, &client.namespace, secret);
    let (code, found) = client.ask(http::Method::GET, &path, None).await?;
    match code {
        200 => {}
        404 => return Ok(None),
        _ => return Ok(Some("whose it is cannot be read".to_owned())),
    }
    let made_for = api::str_at(&found, &["metadata", "annotations", register::MADE_FOR]);
    if made_for != Some(name) {
        return Ok(Some(format!("it does not say that it was made for {name}")));
    }
    let all = collection(REPOSITORIES, &client.namespace, &[]);
    let (code, list) = client.ask(http::Method::GET, &all, None).await?;
    if code != 200 {
        return Ok(Some("whether others name it cannot be read".to_owned()));
    }
    let repositories = list.get("items").and_then(Value::as_array);
    let others: Vec<&str> = repositories
        .into_iter()
        .flatten()
        .filter(|repository| secret_of(repository) == Some(secret))
        .filter_map(|repository| api::str_at(repository, &["metadata", "name"]))
        .filter(|other| *other != name)
        .collect();
    Ok((!others.is_empty()).then(|| format!("{} names it, too", others.join(", "))))
}
