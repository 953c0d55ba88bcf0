//! `offshoot rpkg`: the verbs of package revisions, on many names or a selector.
//!
//! Each name is handled whatever becomes of the others: successes on standard output, failures on
//! standard error, exit code 1 if there was one.

mod discover;
mod files;
mod get;
mod lifecycle;
mod make;
mod resource_list;
mod upgrade;

use serde_json::Value;

use crate::cli::remote::{Rpkg, RpkgArgs, Which};
use crate::client::{Client, PACKAGES, collection};
use crate::exit::Failure;

/// Runs one verb; what is to be printed.
///
/// # Errors
/// It failed, and why.
pub(crate) async fn run(args: &RpkgArgs) -> Result<String, Failure> {
    let client = Client::connect(&args.connect).await?;
    let done = verb(&client, args).await;
    super::say_warnings(&client);
    done
}

async fn verb(client: &Client, args: &RpkgArgs) -> Result<String, Failure> {
    match &args.verb {
        Rpkg::Get { .. } => get::run(client, &args.verb).await,
        Rpkg::Init { .. } | Rpkg::Clone { .. } | Rpkg::Copy { .. } => {
            make::run(client, &args.verb).await
        }
        Rpkg::Pull { name, directory } => files::pull(client, name, directory.as_deref()).await,
        Rpkg::Push { name, directory } => files::push(client, name, directory.as_deref()).await,
        Rpkg::Propose(which) => lifecycle::each(client, which, lifecycle::Verb::Propose).await,
        Rpkg::Approve(which) => lifecycle::each(client, which, lifecycle::Verb::Approve).await,
        Rpkg::Reject(which) => lifecycle::each(client, which, lifecycle::Verb::Reject).await,
        Rpkg::ProposeDelete(which) => {
            lifecycle::each(client, which, lifecycle::Verb::ProposeDelete).await
        }
        Rpkg::Del(which) => lifecycle::each(client, which, lifecycle::Verb::Delete).await,
        Rpkg::Upgrade {
            names,
            discover: Some(way),
            ..
        } => discover::run(client, names, *way).await,
        Rpkg::Upgrade {
            names,
            workspace,
            revision,
            strategy,
            discover: None,
        } => {
            let [name] = names.as_slice() else {
                return Err(Failure::usage(match names.len() {
                    0 => "SOURCE_PACKAGE_REVISION is a required positional argument",
                    _ => {
                        "too many arguments; SOURCE_PACKAGE_REVISION is the only accepted positional arguments"
                    }
                }));
            };
            let Some(workspace) = workspace else {
                return Err(
                    Failure::usage("workspace is required").hint("give one with --workspace")
                );
            };
            upgrade::run(client, name, workspace, *revision, strategy).await
        }
    }
}

/// The names that were given, or those that a selector gives.
///
/// # Errors
/// Neither was given, or the server refuses the selector.
async fn names(client: &Client, which: &Which) -> Result<Vec<String>, Failure> {
    let labels = which.selector.as_deref().unwrap_or_default();
    let fields = which.field_selector.as_deref().unwrap_or_default();
    if !which.names.is_empty() {
        return Ok(which.names.clone());
    }
    if labels.is_empty() && fields.is_empty() {
        return Err(
            Failure::usage("PACKAGE_REVISION is a required positional argument")
                .hint("name package revisions, or select them with -l or --field-selector"),
        );
    }
    let query = [("labelSelector", labels), ("fieldSelector", fields)];
    let list = client
        .get(&collection(PACKAGES, &client.namespace, &query))
        .await?;
    let names: Vec<_> = items(&list)
        .iter()
        .filter_map(|i| text(i, &["metadata", "name"]))
        .collect();
    if names.is_empty() {
        super::say(&format!(
            "No package revision of namespace {} matches.",
            client.namespace
        ));
    }
    Ok(names)
}

fn items(list: &Value) -> &[Value] {
    list.get("items")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn text(object: &Value, path: &[&str]) -> Option<String> {
    api::str_at(object, path).map(str::to_owned)
}
