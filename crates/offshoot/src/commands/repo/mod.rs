//! `offshoot repo`: registered repositories.

mod register;
mod sync;

use crate::cli::remote::{Repo, RepoArgs};
use crate::client::{self, Client, REPOSITORIES, SECRETS, collection, object};
use crate::exit::Failure;

/// Runs one verb; what is to be printed.
///
/// # Errors
/// It failed, and why.
pub(crate) async fn run(args: &RepoArgs) -> Result<String, Failure> {
    let client = Client::connect(&args.connect).await?;
    let done = verb(&client, args).await;
    super::say_warnings(&client);
    done
}

async fn verb(client: &Client, args: &RepoArgs) -> Result<String, Failure> {
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

async fn unregister(client: &Client, name: &str, keep_secret: bool) -> Result<String, Failure> {
    let path = object(REPOSITORIES, &client.namespace, name);
    let repository = client.get(&path).await?;
    client.delete(&path).await?;
    let secret = api::str_at(&repository, &["spec", "git", "secretRef", "name"]);
    // Only the Secret that `repo reg` made goes with it, unless it has gone before.
    if let Some(secret) = secret.filter(|s| !keep_secret && *s == format!("{name}-auth")) {
        let secret = object(SECRETS, &client.namespace, secret);
        if let Err(failure) = client.delete(&secret).await {
            let gone = failure.message().ends_with(" not found");
            gone.then_some(()).ok_or(failure)?;
        }
    }
    Ok(format!("{name} unregistered\n"))
}
