//! The world of `torture`: repositories on the file system and behind HTTP, the server, and who remembers what.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::git_http;
use tokio::runtime::Handle;

use super::Result;
use super::ledger::Ledger;
use super::server::Server;

/// Package revisions.
pub(super) const REVISIONS: &str =
    "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
/// The files of package revisions.
pub(super) const RESOURCES: &str =
    "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisionresources";
/// Repositories.
pub(super) const REPOSITORIES: &str =
    "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
/// Package variants.
pub(super) const VARIANTS: &str =
    "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariants";
/// The one set.
pub(super) const SET: &str =
    "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets/web";

/// Repositories that the server writes: one on the file system, two behind HTTP.
pub(super) const DOWNSTREAMS: [&str; 3] = ["near", "far", "farther"];
/// Packages in each of them.
pub(super) const PACKAGES: [&str; 3] = ["web", "api", "db"];

/// How long the first steps may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct World {
    pub(super) root: PathBuf,
    /// Where the repositories behind HTTP are.
    remote: PathBuf,
    pub(super) server: Server,
    pub(super) http: git_http::Server,
    pub(super) ledger: Ledger,
    handle: Handle,
}

impl World {
    /// A fresh directory with the server running, an upstream at v1, and a set over all targets.
    pub(super) fn start(program: &Path, handle: Handle, flags: &[&str]) -> Result<Self> {
        let root = tempfile::Builder::new()
            .prefix("offshoot-torture-")
            .tempdir()
            .map_err(|e| format!("make a directory: {e}"))?
            .keep();
        Self::at(program, handle, &root, &root.join("remote"), flags)
    }

    /// The same in a directory, with the repositories behind HTTP in another one, and flags for the server.
    pub(super) fn at(
        program: &Path,
        handle: Handle,
        root: &Path,
        remote: &Path,
        flags: &[&str],
    ) -> Result<Self> {
        std::fs::create_dir_all(remote).map_err(|e| format!("make a directory: {e}"))?;
        let http =
            git_http::Server::start(remote.to_owned()).map_err(|e| format!("serve git: {e}"))?;
        let server = Server::new(program, root, flags, handle.clone())?;
        let world = Self {
            root: root.to_owned(),
            remote: remote.to_owned(),
            server,
            http,
            ledger: Ledger::default(),
            handle,
        };
        world.prepare()?;
        Ok(world)
    }

    fn prepare(&self) -> Result<()> {
        self.server.start()?;
        for name in ["blueprints"].iter().chain(&DOWNSTREAMS) {
            let bare = self.bare(name);
            self.git(&self.root, &["init", "--quiet", "--bare", text(&bare)?])?;
            self.git(&bare, &["config", "http.receivepack", "true"])?;
            // Upkeep that a push or a fetch begins is wanted often, not after thousands of objects.
            self.git(&bare, &["config", "gc.auto", "40"])?;
            self.git(&bare, &["config", "gc.autoPackLimit", "6"])?;
            self.git(&bare, &["config", "uploadpack.allowFilter", "true"])?;
            let created = self.create(REPOSITORIES, &self.registration(name));
            created.map_err(|why| format!("{name}: {why}"))?;
        }
        for name in ["blueprints"].iter().chain(&DOWNSTREAMS) {
            let path = format!("{REPOSITORIES}/{name}");
            self.wait(&path, "/status/conditions/0/status", &json!("True"))?;
        }
        self.git(
            &self.root,
            &[
                "clone",
                "--quiet",
                text(&self.bare("blueprints"))?,
                "checkout",
            ],
        )?;
        self.publish_upstream(1)?;
        self.wait(
            &format!("{REVISIONS}/blueprints.web.v1"),
            "/spec/lifecycle",
            &json!("Published"),
        )?;
        let sets = SET.trim_end_matches("/web");
        self.create(sets, &set())?;
        Ok(())
    }

    /// Commits, tags and pushes a version of the package, with plain git.
    pub(super) fn publish_upstream(&self, number: u64) -> Result<()> {
        let checkout = self.root.join("checkout");
        let package = checkout.join("web");
        std::fs::create_dir_all(&package).map_err(|e| e.to_string())?;
        let files = [
            (
                "Kptfile",
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\ninfo:\n  description: a site\n".to_owned(),
            ),
            (
                "site.yaml",
                format!(
                    "# the site\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\ndata:\n  version: \"{number}\" # grows\n  color: blue\n"
                ),
            ),
            (
                "more.yaml",
                format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more-{}\ndata: {{}}\n",
                    number % 3
                ),
            ),
        ];
        for (name, contents) in files {
            std::fs::write(package.join(name), contents).map_err(|e| e.to_string())?;
        }
        let tag = format!("web/v{number}");
        self.git(&checkout, &["add", "--all"])?;
        self.git(
            &checkout,
            &["commit", "--quiet", "--allow-empty", "--message", &tag],
        )?;
        self.git(&checkout, &["tag", &tag])?;
        self.git(&checkout, &["push", "--quiet", "--tags", "origin", "HEAD"])?;
        Ok(())
    }

    /// Where a repository truly is.
    pub(super) fn bare(&self, name: &str) -> PathBuf {
        let file = format!("{name}.git");
        match name {
            "blueprints" | "near" => self.root.join(file),
            _ => self.remote.join(file),
        }
    }

    /// The address that people clone.
    pub(super) fn address(&self, name: &str) -> String {
        match name {
            "blueprints" | "near" => format!("file://{}", self.bare(name).display()),
            _ => self.http.url(&format!("{name}.git")),
        }
    }

    /// All repositories, where they truly are.
    pub(super) fn repositories(&self) -> Vec<PathBuf> {
        let all = ["blueprints"].into_iter().chain(DOWNSTREAMS);
        all.map(|name| self.bare(name)).collect()
    }

    fn registration(&self, name: &str) -> Value {
        json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1",
            "kind": "Repository",
            "metadata": { "name": name },
            "spec": {
                "type": "git",
                "deployment": name != "blueprints",
                "git": { "repo": self.address(name), "createBranch": true },
            },
        })
    }

    /// Ends what goes wrong: faults, hooks, a server that is down.
    pub(super) fn calm(&self) -> Result<()> {
        self.http
            .set(|manners| *manners = git_http::Manners::default());
        for repository in self.repositories() {
            let_in(&repository);
        }
        self.server.ensure()
    }

    /// Takes the directory away.
    pub(super) fn remove(&self) {
        self.server.kill();
        drop(std::fs::remove_dir_all(&self.root));
    }

    /// Runs git in a directory; what it says.
    pub(super) fn git(&self, directory: &Path, arguments: &[&str]) -> Result<String> {
        // A server that hangs must not hold people up for long.
        let output = Command::new("timeout")
            .args([
                "20",
                "git",
                "-c",
                "user.name=Ada",
                "-c",
                "user.email=ada@example.com",
            ])
            .args(["-c", "init.defaultBranch=main", "-c", "gc.autoDetach=false"])
            .args(["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=3"])
            .args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("run git: {e}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("git {}: {}", arguments.join(" "), said.trim()))
    }

    /// An object of the server, if it answers.
    pub(super) fn get(&self, path: &str) -> Result<Value> {
        let client = self.server.client()?;
        let asked = self.handle.block_on(client.get(path));
        asked.map_err(|e| e.to_string())
    }

    pub(super) fn create(&self, path: &str, object: &Value) -> Result<Value> {
        let client = self.server.client()?;
        let asked = self.handle.block_on(client.post(path, object));
        asked.map_err(|e| e.to_string())
    }

    pub(super) fn put(&self, path: &str, object: &Value) -> Result<Value> {
        let client = self.server.client()?;
        let asked = self.handle.block_on(client.put(path, object));
        asked.map_err(|e| e.to_string())
    }

    pub(super) fn patch(&self, path: &str, change: &Value) -> Result<Value> {
        let client = self.server.client()?;
        let asked = self.handle.block_on(client.patch(path, change));
        asked.map_err(|e| e.to_string())
    }

    pub(super) fn delete(&self, path: &str) -> Result<Value> {
        let client = self.server.client()?;
        let asked = self.handle.block_on(client.delete(path));
        asked.map_err(|e| e.to_string())
    }

    fn wait(&self, path: &str, pointer: &str, want: &Value) -> Result<()> {
        let started = Instant::now();
        loop {
            let found = self.get(path).unwrap_or(Value::Null);
            if found.pointer(pointer) == Some(want) {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("waited in vain for {pointer} of {path}: {found}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// One set: each package in each repository.
fn set() -> Value {
    let targets: Vec<_> = DOWNSTREAMS
        .iter()
        .map(|name| json!({ "name": name, "packageNames": PACKAGES }))
        .collect();
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "web" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "web", "revision": "v1" },
            "targets": [{ "repositories": targets }],
        },
    })
}

/// Takes the hooks away again.
pub(super) fn let_in(repository: &Path) {
    for hook in ["pre-receive", "update"] {
        drop(std::fs::remove_file(repository.join("hooks").join(hook)));
    }
}

/// A path as an argument.
pub(super) fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .ok_or_else(|| format!("{} is no text", path.display()))
}

/// What a seed decides: a splitmix64 generator, never seeded by a clock.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// A number below `sides`.
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides.max(1)
    }

    /// One of these.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let at = self.roll(u64::try_from(of.len()).unwrap_or(1));
        of.get(usize::try_from(at).unwrap_or(0))
    }

    /// Waits for up to so many milliseconds.
    pub(super) fn pause(&mut self, most: u64) {
        std::thread::sleep(Duration::from_millis(self.roll(most)));
    }
}
