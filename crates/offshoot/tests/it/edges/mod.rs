//! The edges: input that is wrong, repositories that go away, a disk that fills up, a second start. Everything is
//! said clearly, and nothing is lost.

mod again;
mod away;
mod disk;
mod doubts;
mod halfway;
mod input;
mod links;
mod places;
mod pulled;
mod remote;
mod runtimes;
mod told;

use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Process, git, repository, wait_for};

pub(crate) const VARIANTS: &str =
    "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariants";
pub(crate) const REPOSITORIES: &str =
    "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
pub(crate) const REVISIONS: &str =
    "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
pub(crate) const RESOURCES: &str =
    "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisionresources";
pub(crate) const CORE: &str = "/api/v1/namespaces/default";

/// Status, reason and message of a condition; empty where there is none.
pub(crate) fn condition(object: &Value, kind: &str) -> (String, String, String) {
    let all = object["status"]["conditions"].as_array();
    let found = all.into_iter().flatten().find(|c| c["type"] == kind);
    let text = |field: &str| {
        found
            .and_then(|c| c[field].as_str())
            .unwrap_or_default()
            .to_owned()
    };
    (text("status"), text("reason"), text("message"))
}

/// Waits until a condition of an object holds; what it says then.
pub(crate) async fn until(
    server: &Process,
    path: &str,
    kind: &str,
    holds: impl Fn(&(String, String, String)) -> bool,
) -> (String, String, String) {
    let last = std::cell::RefCell::new(Default::default());
    wait_for(&format!("{kind} of {path}"), async || {
        let is = condition(&server.get(path).await, kind);
        let done = holds(&is);
        *last.borrow_mut() = is;
        done
    })
    .await;
    last.into_inner()
}

/// Waits until something is there.
pub(crate) async fn until_there(server: &Process, path: &str) {
    wait_for(path, async || !server.get(path).await.is_null()).await;
}

/// Registers a local repository and waits for it.
pub(crate) async fn register(server: &Process, root: &Path, name: &str, deployment: bool) {
    server
        .create(REPOSITORIES, &repository(root, name, deployment))
        .await;
    let path = format!("{REPOSITORIES}/{name}");
    until(server, &path, "Ready", |c| c.0 == "True").await;
}

/// A clone of a bare repository, to commit in.
pub(crate) fn checkout(root: &Path, bare: &str) -> std::path::PathBuf {
    let checkout = root.join(format!("checkout-{bare}"));
    if !checkout.exists() {
        let (from, to) = (format!("{bare}.git"), checkout.display().to_string());
        git(root, &["clone", "--quiet", &from, &to]);
    }
    checkout
}

/// Commits everything in a checkout, tags and pushes it.
pub(crate) fn commit(checkout: &Path, tag: &str) {
    git(checkout, &["add", "--all"]);
    git(
        checkout,
        &["commit", "--quiet", "--allow-empty", "--message", tag],
    );
    git(checkout, &["tag", tag]);
    git(checkout, &["push", "--quiet", "--tags", "origin", "HEAD"]);
}

/// A variant of `blueprints/PACKAGE` in `deploy`.
pub(crate) fn variant(name: &str, package: &str) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "PackageVariant",
        "metadata": { "name": name },
        "spec": {
            "upstream": { "repo": "blueprints", "package": package },
            "downstream": { "repo": "deploy", "package": name },
        },
    })
}

pub(crate) fn kptfile(name: &str) -> String {
    format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  description: a package\n"
    )
}

pub(crate) fn map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  value: {value}\n")
}

pub(crate) fn write(directory: &Path, files: &[(&str, &[u8])]) {
    for (name, bytes) in files {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}
