//! `rpkg upgrade`: a newer upstream revision merged into a published one, as a new draft.

use model::{Lifecycle, Strategy};
use serde_json::{Value, json};

use super::{items, make, text};
use crate::client::{Client, PACKAGES, collection, lifecycle};
use crate::exit::ExitFailure;

pub(super) async fn run(
    client: &Client,
    name: &str,
    workspace: &str,
    revision: i64,
    strategy: &str,
) -> Result<String, ExitFailure> {
    if Strategy::parse(strategy).is_none() || strategy.is_empty() {
        let known = Strategy::ALL.map(Strategy::as_str).join(" ");
        return Err(ExitFailure::usage(format!(
            "invalid strategy {strategy:?}; must be one of: [{known}]"
        )));
    }
    if revision < 0 {
        return Err(ExitFailure::usage(
            "revision must be positive (and not main)",
        ));
    }
    let list = client
        .get(&collection(PACKAGES, &client.namespace, &[]))
        .await?;
    let all = items(&list);
    let local = find(all, name)
        .ok_or_else(|| ExitFailure::new(format!("could not find package revision {name}")))?;
    if lifecycle(local) != Some(Lifecycle::Published) {
        let word = text(local, &["spec", "lifecycle"]).unwrap_or_default();
        return Err(ExitFailure::new(format!(
            "to upgrade a package, it must be in a published state, not {word:?}"
        )));
    }
    let old = upstream_of(all, local)?;
    let new = newer(all, old, revision)?;
    let part = |key: &str| text(local, &["spec", key]).unwrap_or_default();
    let refer = |object: &Value| json!({ "name": text(object, &["metadata", "name"]) });
    let task = json!({
        "type": "upgrade",
        "upgrade": {
            "oldUpstreamRef": refer(old),
            "newUpstreamRef": refer(new),
            "localPackageRevisionRef": { "name": name },
            "strategy": strategy,
        },
    });
    let spec = make::spec(&part("packageName"), &part("repository"), workspace, &task);
    let made = make::create(client, &spec).await?;
    Ok(format!("{name} upgraded to {made}\n"))
}

pub(super) fn find<'a>(all: &'a [Value], name: &str) -> Option<&'a Value> {
    all.iter()
        .find(|r| api::str_at(r, &["metadata", "name"]) == Some(name))
}

/// Repository, directory and commit of a lock (`upstreamLock`, `selfLock`).
pub(in crate::commands) fn lock(object: &Value, which: &str) -> (String, String, String) {
    let git = |key: &str| text(object, &["status", which, "git", key]).unwrap_or_default();
    (
        plain(&git("repo")).to_owned(),
        git("directory"),
        git("commit"),
    )
}

/// The registered revision that this one was made of: the one whose own lock is its upstream lock.
///
/// # Errors
/// It has no upstream, or that is not registered here.
pub(super) fn upstream_of<'a>(all: &'a [Value], local: &Value) -> Result<&'a Value, ExitFailure> {
    let name = text(local, &["metadata", "name"]).unwrap_or_default();
    let wanted = lock(local, "upstreamLock");
    if wanted.0.is_empty() {
        return Err(ExitFailure::new(format!(
            "upstream source not found for package revision {name}"
        ))
        .hint("only clones can be upgraded"));
    }
    let found = all
        .iter()
        .filter(|r| api::str_at(r, &["metadata", "name"]) != Some(&name));
    found
        .filter(|r| number(r) > 0)
        .find(|r| lock(r, "selfLock") == wanted)
        .ok_or_else(|| {
            ExitFailure::new(format!(
                "the upstream of {name} is not among the package revisions here"
            ))
            .hint(format!("register the repository {}", wanted.0))
        })
}

/// The latest published revision of the same package that is older than this one.
pub(in crate::commands) fn published(all: &[Value], revision: &Value) -> Option<String> {
    let part = |object: &Value, key: &str| text(object, &["spec", key]);
    let same = |other: &&Value| {
        ["packageName", "repository"]
            .iter()
            .all(|key| part(other, key) == part(revision, key))
    };
    let own = number(revision);
    let older = all
        .iter()
        .filter(same)
        .filter(|other| number(other) > 0 && (own <= 0 || number(other) < own));
    let latest = older.max_by_key(|other| number(other))?;
    text(latest, &["metadata", "name"])
}

/// The revision of this number, or the latest, of the same upstream package.
fn newer<'a>(all: &'a [Value], old: &Value, revision: i64) -> Result<&'a Value, ExitFailure> {
    let part = |object: &Value, key: &str| text(object, &["spec", key]).unwrap_or_default();
    let (package, repository) = (part(old, "packageName"), part(old, "repository"));
    let published = all
        .iter()
        .filter(|r| part(r, "packageName") == package && part(r, "repository") == repository)
        .filter(|r| number(r) > 0);
    let found = match revision {
        0 => published.max_by_key(|r| number(r)),
        wanted => published.into_iter().find(|r| number(r) == wanted),
    };
    found.ok_or_else(|| {
        ExitFailure::new(format!(
            "revision {revision} does not exist for package {package} in repo {repository}"
        ))
    })
}

pub(in crate::commands) fn number(object: &Value) -> i64 {
    object
        .get("spec")
        .and_then(|s| s.get("revision"))
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

fn plain(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    url.strip_suffix(".git").unwrap_or(url)
}
