//! A running `offshoot up` in a directory of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use offshoot::client::Client;
use serde_json::{Value, json};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process; killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) client: Client,
}

impl Process {
    /// Starts it on a data directory and waits until it is ready.
    pub(crate) async fn start(root: &Path, flags: &[&str]) -> Self {
        Self::start_with(root, flags, &[]).await
    }

    /// The same with environment variables.
    pub(crate) async fn start_with(
        root: &Path,
        flags: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let command = Command::new(env!("CARGO_BIN_EXE_offshoot"));
        Self::run(command, root, flags, environment).await
    }

    /// The same where no more than so many files may be open.
    pub(crate) async fn start_with_files(root: &Path, files: usize) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -n \"$0\" && exec \"$@\""])
            .arg(files.to_string())
            .arg(env!("CARGO_BIN_EXE_offshoot"));
        Self::run(command, root, &[], &[]).await
    }

    async fn run(
        mut command: Command,
        root: &Path,
        flags: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let kubeconfig = root.join("data/kubeconfig");
        drop(std::fs::remove_file(&kubeconfig));
        let child = command
            .args(["up", "--sync-seconds", "1", "--data"])
            .arg(root.join("data"))
            .args(flags)
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(root.join("stderr")).unwrap())
            .spawn()
            .unwrap();
        wait_for("the kubeconfig", async || kubeconfig.exists()).await;
        let client = Client::with(&kubeconfig).await.unwrap();
        Self { child, client }
    }

    /// Ends it as a power cut would end a process.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, as a service manager does.
    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until it has ended; how long that took, and its exit code.
    pub(crate) fn ended(&mut self) -> (Duration, Option<i32>) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (begun.elapsed(), status.code());
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) {
        if let Err(why) = self.client.post(path, object).await {
            assert!(why.to_string().contains("already exists"), "{path}: {why}");
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.client.get(path).await.unwrap_or(Value::Null)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until something holds.
pub(crate) async fn wait_for(what: &str, holds: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < PATIENCE, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Runs git; what it prints.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
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
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "git {arguments:?}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// A repository of the test.
pub(crate) fn repository(root: &Path, name: &str, deployment: bool) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "Repository",
        "metadata": { "name": name },
        "spec": {
            "type": "git",
            "deployment": deployment,
            "git": { "repo": format!("file://{}", bare(root, name).display()), "create": true, "createBranch": true },
        },
    })
}

pub(crate) fn bare(root: &Path, name: &str) -> PathBuf {
    root.join(format!("{name}.git"))
}

/// Commits and tags one of the example packages.
pub(crate) fn push(root: &Path, repository: &str, package: &str, revision: &str) {
    let checkout = root.join("checkout");
    if !checkout.exists() {
        git(
            root,
            &[
                "clone",
                "--quiet",
                &bare(root, repository).display().to_string(),
                "checkout",
            ],
        );
    }
    let example = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/packages")
        .join(package)
        .join(revision);
    copy(&example, &checkout.join(package));
    git(&checkout, &["add", "--all"]);
    git(&checkout, &["commit", "--quiet", "--message", revision]);
    git(&checkout, &["tag", &format!("{package}/{revision}")]);
    git(&checkout, &["push", "--quiet", "--tags", "origin", "HEAD"]);
}

/// Copies a directory.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
