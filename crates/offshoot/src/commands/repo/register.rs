//! `repo reg`: a Repository, and a Secret where a user name is given.

use serde_json::{Value, json};

use crate::cli::remote::RegArgs;
use crate::client::{Client, REPOSITORIES, SECRETS, collection, object};
use crate::exit::ExitFailure;

/// The annotation of a Secret that names the Repository which it was made for, and goes with.
pub(super) const MADE_FOR: &str = "offshoot.dev/made-for";

pub(super) async fn run(client: &Client, flags: &RegArgs) -> Result<String, ExitFailure> {
    let address = address(&flags.address)?;
    let name = flags.name.clone().unwrap_or_else(|| last_part(&address));
    if let Some(schedule) = &flags.sync_schedule {
        let fields = schedule.split_whitespace().count();
        if fields != 5 {
            return Err(ExitFailure::usage(format!(
                "invalid sync-schedule cron expression: expected exactly 5 fields, found {fields}: [{schedule}]"
            )));
        }
    }
    let mut git = json!({
        "repo": address,
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
            "metadata": {
                "name": secret, "namespace": client.namespace, "annotations": { MADE_FOR: name },
            },
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
        // A Secret for a repository that was not made would be left behind (Porch leaves it).
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

/// What is registered: a path of this machine is a `file://` URL.
fn address(given: &str) -> Result<String, ExitFailure> {
    let address = match given.starts_with('/') {
        true => format!("file://{given}"),
        false => given.to_owned(),
    };
    let fits = store::RemoteSpec::new(&address).kind();
    fits.map_err(|why| {
        ExitFailure::usage(why.to_string()).hint(
            "write https://host/path.git, or the absolute path of a repository on the server's machine; SSH is not spoken",
        )
    })?;
    Ok(address)
}

fn last_part(address: &str) -> String {
    let last = address
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(address);
    last.strip_suffix(".git").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_registered_as_a_url_and_what_is_neither_not_at_all() {
        for (given, registered) in [
            ("/srv/a.git", "file:///srv/a.git"),
            ("file:///srv/a.git", "file:///srv/a.git"),
            ("https://git.test/a.git", "https://git.test/a.git"),
        ] {
            assert_eq!(address(given).unwrap(), registered);
        }
        for wrong in [
            "a.git",
            "./a.git",
            "git@git.test:a.git",
            "ssh://git.test/a.git",
            "file://a.git",
            "https://ada:secret@git.test/a.git",
            "/srv/with blanks.git",
        ] {
            let why = address(wrong).unwrap_err().text();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
