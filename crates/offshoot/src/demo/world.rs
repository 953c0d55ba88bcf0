//! The story's world: a directory with git repositories and a running server, and the hands of a
//! person: requests through the API, and `git`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use model::{Lifecycle, Status};
use serde_json::{Value, json};

use super::packages::Revision;
use crate::client::{Client, PACKAGES, RESOURCES, collection, object};
use crate::exit::ExitFailure;
use crate::up::{self, Running};

/// How long the story waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct World {
    root: PathBuf,
    /// Kept until the end, if the directory goes with the demo.
    _temporary: Option<tempfile::TempDir>,
    server: Option<Running>,
    client: Option<Client>,
}

impl World {
    /// A fresh directory.
    ///
    /// # Errors
    /// It cannot be made, or the one to keep is not empty.
    pub(super) fn new(keep: Option<&Path>) -> Result<Self, ExitFailure> {
        let failed = |e: std::io::Error| ExitFailure::of("make the demo's directory", &e);
        let (root, temporary) = match keep {
            Some(directory) => {
                std::fs::create_dir_all(directory).map_err(failed)?;
                if std::fs::read_dir(directory)
                    .map_err(failed)?
                    .next()
                    .is_some()
                {
                    return Err(
                        ExitFailure::new(format!("{} is not empty", directory.display()))
                            .hint("the demo wants a fresh directory"),
                    );
                }
                (directory.canonicalize().map_err(failed)?, None)
            }
            None => {
                let directory = tempfile::Builder::new().prefix("offshoot-demo-").tempdir();
                let directory = directory.map_err(failed)?;
                (directory.path().to_owned(), Some(directory))
            }
        };
        Ok(Self {
            root,
            _temporary: temporary,
            server: None,
            client: None,
        })
    }

    /// Starts the server, as `offshoot up` does.
    pub(super) async fn start(&mut self, rebuild: bool) -> Result<(), ExitFailure> {
        let mut options = up::Options::at(&self.root.join("data"));
        options.rebuild = rebuild;
        options.sync_every = Duration::from_secs(1);
        // A story need not wait for as long as people need to notice their mistakes.
        options.quiet.quiet = 1;
        let server = up::start(options).await?;
        self.client = Some(Client::with(server.kubeconfig()).await?);
        self.server = Some(server);
        Ok(())
    }

    /// Stops the server.
    pub(super) async fn stop(&mut self) {
        self.client = None;
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    /// The connection.
    pub(super) fn client(&self) -> Result<&Client, ExitFailure> {
        self.client
            .as_ref()
            .ok_or_else(|| ExitFailure::new("the server is not running"))
    }

    /// The address of one of the story's repositories.
    pub(super) fn address(&self, repository: &str) -> String {
        format!("file://{}/{repository}.git", self.root.display())
    }

    /// Creates or replaces an object: what `kubectl apply` would come to here.
    pub(super) async fn apply(&self, object: &Value) -> Result<Value, ExitFailure> {
        let api_version = api::str_at(object, &["apiVersion"]).unwrap_or_default();
        let kind = api::str_at(object, &["kind"])
            .unwrap_or_default()
            .to_lowercase();
        let plural = if kind.ends_with('y') {
            format!("{}ies", kind.trim_end_matches('y'))
        } else {
            format!("{kind}s")
        };
        let root = if api_version.contains('/') {
            "apis"
        } else {
            "api"
        };
        let scope = if kind == "customresourcedefinition" {
            ""
        } else {
            "/namespaces/default"
        };
        self.client()?
            .post(&format!("/{root}/{api_version}{scope}/{plural}"), object)
            .await
    }

    /// A package revision.
    pub(super) async fn revision(&self, name: &str) -> Result<Value, ExitFailure> {
        self.client()?.get(&object(PACKAGES, "default", name)).await
    }

    /// All package revisions.
    pub(super) async fn revisions(&self) -> Result<Vec<Value>, ExitFailure> {
        let list = self
            .client()?
            .get(&collection(PACKAGES, "default", &[]))
            .await?;
        Ok(list
            .get("items")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default())
    }

    /// The files of a package revision.
    pub(super) async fn files(&self, name: &str) -> Result<Value, ExitFailure> {
        self.client()?
            .get(&object(RESOURCES, "default", name))
            .await
    }

    /// Replaces a text in one file of a draft, as a person with an editor would.
    pub(super) async fn edit(
        &self,
        name: &str,
        edits: &[(&str, &str, &str)],
    ) -> Result<(), ExitFailure> {
        let mut resources = self.files(name).await?;
        for (file, from, to) in edits {
            let text = api::str_at(&resources, &["spec", "resources", file]).unwrap_or_default();
            if !text.contains(from) {
                return Err(ExitFailure::new(format!(
                    "{file} of {name} does not hold {from:?}: {text}"
                )));
            }
            resources["spec"]["resources"][*file] = text.replacen(from, to, 1).into();
        }
        self.client()?
            .put(&object(RESOURCES, "default", name), &resources)
            .await
            .map(drop)
    }

    /// Asks for a lifecycle, through the main or the approval door.
    pub(super) async fn move_to(
        &self,
        name: &str,
        lifecycle: Lifecycle,
        approval: bool,
    ) -> Result<(), ExitFailure> {
        let path = object(PACKAGES, "default", name);
        let door = if approval {
            format!("{path}/approval")
        } else {
            path.clone()
        };
        let mut tries = 0;
        loop {
            let mut revision = self.client()?.get(&path).await?;
            revision["spec"]["lifecycle"] = lifecycle.as_str().into();
            tries += 1;
            match self.client()?.put(&door, &revision).await {
                // The controllers wrote in between: look again, as kubectl and any client does.
                Err(why) if tries < 10 && why.is_conflict() => {}
                other => return other.map(drop),
            }
        }
    }

    /// Proposes and approves.
    pub(super) async fn publish(&self, name: &str) -> Result<(), ExitFailure> {
        self.move_to(name, Lifecycle::Proposed, false).await?;
        self.move_to(name, Lifecycle::Published, true).await
    }

    /// Waits until a package revision is as it should be.
    pub(super) async fn wait_revision(
        &self,
        name: &str,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Result<Value, ExitFailure> {
        self.wait(&object(PACKAGES, "default", name), what, is)
            .await
    }

    /// Waits until an object is as it should be; a missing one is `null`.
    pub(super) async fn wait(
        &self,
        path: &str,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Result<Value, ExitFailure> {
        let started = Instant::now();
        loop {
            let found = self.client()?.get(path).await.unwrap_or(Value::Null);
            if is(&found) {
                return Ok(found);
            }
            if started.elapsed() > PATIENCE {
                return Err(ExitFailure::new(format!(
                    "waited in vain for {what}; found {found}"
                )));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Commits a revision of a package to an upstream repository and tags it, with plain git.
    pub(super) fn push(
        &self,
        repository: &str,
        package: &str,
        tag: &str,
        files: Revision,
    ) -> Result<(), ExitFailure> {
        let work = self.root.join("checkout");
        let failed = |e: std::io::Error| ExitFailure::of("write the upstream package", &e);
        if !work.exists() {
            let address = self.address(repository);
            self.git(&self.root, &["clone", "--quiet", &address, "checkout"])?;
        }
        self.git(&work, &["pull", "--quiet", "--ff-only"])?;
        let directory = work.join(package);
        if directory.exists() {
            std::fs::remove_dir_all(&directory).map_err(failed)?;
        }
        for (path, text) in files {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(&directory)).map_err(failed)?;
            std::fs::write(path, text).map_err(failed)?;
        }
        self.git(&work, &["add", "--all"])?;
        self.git(
            &work,
            &[
                "commit",
                "--quiet",
                "--message",
                &format!("{package} {tag}"),
            ],
        )?;
        self.git(&work, &["tag", &format!("{package}/{tag}")])?;
        self.git(&work, &["push", "--quiet", "--tags", "origin", "HEAD"])
            .map(drop)
    }

    /// What `git` prints in one of the story's bare repositories.
    pub(super) fn git_in(
        &self,
        repository: &str,
        arguments: &[&str],
    ) -> Result<String, ExitFailure> {
        self.git(&self.root.join(format!("{repository}.git")), arguments)
    }

    fn git(&self, directory: &Path, arguments: &[&str]) -> Result<String, ExitFailure> {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=Ada",
                "-c",
                "user.email=ada@example.com",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::null())
            .output()
            .map_err(|e| ExitFailure::of("run git", &e).hint("offshoot needs git on the path"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(ExitFailure::new(format!(
            "git {}: {}",
            arguments.join(" "),
            text(&output.stderr).trim()
        )))
    }
}

/// The status of a condition of an object, if it has one of this type.
pub(super) fn condition(object: &Value, kind: &str) -> Option<Status> {
    let conditions = api::read_conditions(object.pointer("/status/conditions"));
    let found = conditions.into_iter().find(|c| c.kind == kind);
    found.map(|condition| condition.status)
}

/// The text of one file.
pub(super) fn file<'a>(resources: &'a Value, path: &str) -> &'a str {
    api::str_at(resources, &["spec", "resources", path]).unwrap_or_default()
}

/// A repository beside the server, as it is registered.
pub(super) fn repository(world: &World, name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "Repository",
        "metadata": { "name": name, "labels": labels },
        "spec": {
            "type": "git",
            "deployment": labels.get("region").is_some(),
            "git": { "repo": world.address(name), "create": true, "createBranch": true },
        },
    })
}
