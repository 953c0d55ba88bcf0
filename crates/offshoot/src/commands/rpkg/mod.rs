//! `offshoot rpkg`: the verbs of package revisions, on many names or a selector.
//!
//! Each revision is handled whatever becomes of the others: successes on standard output, everything else on
//! standard error, exit code 1 if something was refused.

mod agree;
pub(super) mod alike;
pub(super) mod bulk;
pub(super) mod classify;
pub(super) mod contents;
pub(super) mod diff;
mod directory;
mod discover;
mod edit;
pub(super) mod entry;
mod files;
mod followed;
mod get;
mod lifecycle;
mod make;
mod marked;
mod modes;
mod of_class;
mod refresh;
mod remove;
mod repeated;
mod resource_list;
mod stays;
mod steps;
mod unfinished;
mod update;
pub(super) mod upgrade;
mod which;

use std::process::ExitCode;

use plan::revision::RevisionVerb;
use serde_json::Value;

use crate::cli::fleet::RevisionDiffArgs;
use crate::cli::remote::{Connect, DelArgs, Rpkg, RpkgArgs};
use crate::client::{self, Client};
use crate::exit::ExitFailure;

/// Runs one verb; what is to be printed.
///
/// # Errors
/// It failed, and why.
pub(crate) async fn run(args: &RpkgArgs) -> Result<String, ExitFailure> {
    let client = Client::connect(&args.connect).await?;
    let done = verb(&client, args).await;
    super::say_warnings(&client);
    done
}

/// Shows what revisions change.
///
/// # Errors
/// As [`run`].
pub(crate) async fn diff(
    connect: &Connect,
    args: &RevisionDiffArgs,
) -> Result<ExitCode, ExitFailure> {
    let client = Client::connect(connect).await?;
    let done = diff::run(&client, args).await;
    super::say_warnings(&client);
    done
}

async fn verb(client: &Client, args: &RpkgArgs) -> Result<String, ExitFailure> {
    match &args.verb {
        Rpkg::Get { .. } => get::run(client, &args.verb).await,
        Rpkg::Init { .. } | Rpkg::Clone { .. } | Rpkg::Copy { .. } => {
            make::run(client, &args.verb).await
        }
        Rpkg::Edit {
            name,
            workspace: Some(workspace),
            ..
        } => make::copy(client, name, workspace).await,
        Rpkg::Edit { name, files, .. } => edit::run(client, name, files).await,
        // It answers with an exit code of its own.
        Rpkg::Diff(_) => Ok(String::new()),
        Rpkg::Pull {
            name,
            directory,
            markers,
            update,
        } => {
            let how = match (markers, update) {
                (true, _) => files::How::Marked,
                (_, true) => files::How::Update,
                _ => files::How::Plain,
            };
            files::pull(client, name, directory.as_deref(), how).await
        }
        Rpkg::Push { name, directory } => files::push(client, name, directory.as_deref()).await,
        Rpkg::Propose(which) => which::each(client, which, RevisionVerb::Propose).await,
        Rpkg::Approve(which) => which::each(client, which, RevisionVerb::Approve).await,
        Rpkg::Reject(which) => which::each(client, which, RevisionVerb::Reject).await,
        Rpkg::ProposeDelete(which) => {
            which::each(client, which, RevisionVerb::ProposeDeletion).await
        }
        Rpkg::Del(del) => delete(client, del).await,
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
                return Err(ExitFailure::usage(match names.len() {
                    0 => "SOURCE_PACKAGE_REVISION is a required positional argument",
                    _ => {
                        "too many arguments; SOURCE_PACKAGE_REVISION is the only accepted positional arguments"
                    }
                }));
            };
            let Some(workspace) = workspace else {
                return Err(
                    ExitFailure::usage("workspace is required").hint("give one with --workspace")
                );
            };
            upgrade::run(client, name, workspace, *revision, strategy).await
        }
    }
}

/// Deletes revisions, or a package for good.
async fn delete(client: &Client, del: &DelArgs) -> Result<String, ExitFailure> {
    let Some(package) = &del.package else {
        return which::each(client, &del.which, RevisionVerb::Delete).await;
    };
    let labels = del.which.selector.as_deref().unwrap_or_default();
    let fields = del.which.field_selector.as_deref().unwrap_or_default();
    let going = remove::Going {
        name: package,
        repository: del.repository.as_deref(),
        selection: Some((labels, fields)).filter(|s| *s != ("", "")),
    };
    remove::package(client, going, (del.which.dry_run, del.which.yes)).await
}

pub(super) fn items(list: &Value) -> &[Value] {
    list.get("items")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Whether a revision is a draft or a proposal.
fn is_open(revision: &Value) -> bool {
    client::lifecycle(revision).is_some_and(|now| !now.is_published())
}

pub(super) fn text(object: &Value, path: &[&str]) -> Option<String> {
    api::str_at(object, path).map(str::to_owned)
}
