//! `repo reg`: a Repository, and a Secret where a user name is given.

use serde_json::{Value, json};

use crate::cli::remote::RegArgs;
use crate::client::{Client, REPOSITORIES, SECRETS, collection, object};
use crate::exit::Failure;

pub(super) async fn run(client: &Client, flags: &RegArgs) -> Result<String, Failure> {
    let name = flags
        .name
        .clone()
        .unwrap_or_else(|| last_part(&flags.address));
    if let Some(schedule) = &flags.sync_schedule {
        let fields = schedule.split_whitespace().count();
        if fields != 5 {
            return Err(Failure::usage(format!(
                "invalid sync-schedule cron expression: expected exactly 5 fields, found {fields}: [{schedule}]"
            )));
        }
    }
    let mut git = json!({
        "repo": flags.address,
        "branch": flags.branch,
        "directory": flags.directory,
    });
    for (key, set) in [
        ("createBranch", flags.create_branch),
        ("create", flags.create),
    ] {
        if set {
            git[key] = true.into();
        }
    }
    let secret = format!("{name}-auth");
    let credentials = credentials(flags);
    if let Some((kind, data)) = &credentials {
        git["secretRef"] = json!({ "name": secret });
        let body = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": secret, "namespace": client.namespace },
            "type": kind,
            "stringData": data,
        });
        client
            .post(&collection(SECRETS, &client.namespace, &[]), &body)
            .await?;
    }
    let mut body = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "Repository",
        "metadata": { "name": name, "namespace": client.namespace },
        "spec": { "type": "git", "content": "Package", "deployment": flags.deployment, "git": git },
    });
    if !flags.description.is_empty() {
        body["spec"]["description"] = flags.description.clone().into();
    }
    if flags.v1alpha2 {
        body["metadata"]["annotations"] = json!({ "porch.kpt.dev/v1alpha2-migration": "true" });
    }
    if let Some(schedule) = &flags.sync_schedule {
        body["spec"]["sync"] = json!({ "schedule": schedule });
    }
    let made = client
        .post(&collection(REPOSITORIES, &client.namespace, &[]), &body)
        .await;
    if let Err(why) = made {
        // A Secret for a repository that was not made would be left behind (the peer leaves it).
        if credentials.is_some() {
            client
                .delete(&object(SECRETS, &client.namespace, &secret))
                .await?;
        }
        return Err(why);
    }
    Ok(format!("{name} registered\n"))
}

/// Type and content of the Secret that the flags ask for.
fn credentials(flags: &RegArgs) -> Option<(&'static str, Value)> {
    if flags.repo_workload_identity {
        return Some(("kpt.dev/workload-identity-auth", json!({})));
    }
    let data = json!({
        "username": flags.repo_basic_username.as_ref()?,
        "password": flags.repo_basic_password,
    });
    Some(("kubernetes.io/basic-auth", data))
}

fn last_part(address: &str) -> String {
    let last = address
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(address);
    last.strip_suffix(".git").unwrap_or(last).to_owned()
}
