//! Remotes over HTTP with a password, served by git's own `http-backend`: the walk, and everything that can
//! go wrong on the way.

use std::path::Path;

use serde_json::{Value, json};

use super::{CORE, REPOSITORIES, REVISIONS, VARIANTS, commit, kptfile, map, until, until_there};
use super::{variant, write};
use crate::bulk::admin;
use crate::process::{Process, git, wait_for};
use testkit::git_http::{Server, encode};

const PASSWORD: &str = "s3cr3t-passw0rd";

struct World {
    root: tempfile::TempDir,
    server: Process,
    git: Server,
}

fn remote(world: &Server, name: &str, deployment: bool, branch: &str, directory: &str) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "Repository",
        "metadata": { "name": name },
        "spec": {
            "type": "git",
            "deployment": deployment,
            "git": {
                "repo": world.url(&format!("{name}.git")),
                "branch": branch,
                "directory": directory,
                "createBranch": true,
                "secretRef": { "name": "git-auth" },
            },
        },
    })
}

fn secret(password: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "git-auth" },
        "type": "kubernetes.io/basic-auth",
        "stringData": { "username": "ada", "password": password },
    })
}

impl World {
    async fn new(password: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let served = root.path().join("served");
        std::fs::create_dir(&served).unwrap();
        for name in ["blueprints.git", "deploy.git"] {
            git(&served, &["init", "--quiet", "--bare", name]);
            git(&served.join(name), &["config", "http.receivepack", "true"]);
        }
        let git = Server::start(served).unwrap();
        git.set(|m| m.basic = Some(("ada".to_owned(), PASSWORD.to_owned())));
        let trace = [("OFFSHOOT_LOG", "trace")];
        let server = Process::start_with(root.path(), &[], &trace).await;
        server
            .create(&format!("{CORE}/secrets"), &secret(password))
            .await;
        Self { root, server, git }
    }

    fn checkout(&self) -> std::path::PathBuf {
        let checkout = self.root.path().join("checkout");
        if !checkout.exists() {
            let from = self.root.path().join("served/blueprints.git");
            let (from, to) = (from.display().to_string(), checkout.display().to_string());
            git(self.root.path(), &["clone", "--quiet", &from, &to]);
        }
        checkout
    }

    fn bare(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(format!("served/{name}.git"))
    }

    async fn register(&self) {
        for object in [
            remote(&self.git, "blueprints", false, "trunk", "/pkgs"),
            remote(&self.git, "deploy", true, "release", ""),
        ] {
            self.server.create(REPOSITORIES, &object).await;
        }
    }

    async fn ready(&self, name: &str, status: &str) -> (String, String, String) {
        let path = format!("{REPOSITORIES}/{name}");
        until(&self.server, &path, "Ready", |c| c.0 == status).await
    }

    /// The password is nowhere: not in what the server logs at its loudest, not in any object but the
    /// Secret, not on the disk outside of the object store.
    async fn no_password_anywhere(&self) {
        let basic = encode(&format!("ada:{PASSWORD}"));
        let hides = |place: &str, text: &str| {
            for secret in [PASSWORD, &basic] {
                let at = text.find(secret);
                assert!(at.is_none(), "{place} shows {secret:?} at {at:?}");
            }
        };
        let log = std::fs::read(self.root.path().join("stderr")).unwrap();
        let log = String::from_utf8_lossy(&log);
        assert!(log.contains("turn"), "the log is at its loudest");
        hides("the log", &log);
        for path in [REPOSITORIES, REVISIONS, VARIANTS, &format!("{CORE}/events")] {
            hides(path, &self.server.get(path).await.to_string());
        }
        let page = self.server.client.text("/metrics").await.unwrap();
        assert!(page.contains("\napiserver_request_total{"), "{page}");
        hides("/metrics", &page);
        let mut places = vec![self.root.path().join("data/git")];
        while let Some(place) = places.pop() {
            for entry in std::fs::read_dir(place).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    places.push(entry.path());
                } else {
                    let bytes = std::fs::read(entry.path()).unwrap_or_default();
                    let name = entry.path().display().to_string();
                    hides(&name, &String::from_utf8_lossy(&bytes));
                }
            }
        }
    }
}

fn package(checkout: &std::path::Path, name: &str, value: &str) {
    let (kptfile, map) = (kptfile(name), map(name, value));
    let (at, beside) = (
        format!("pkgs/{name}/Kptfile"),
        format!("pkgs/{name}/map.yaml"),
    );
    write(
        checkout,
        &[(&at, kptfile.as_bytes()), (&beside, map.as_bytes())],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_walk_over_http_with_a_password() {
    let world = World::new(PASSWORD).await;
    let checkout = world.checkout();
    git(&checkout, &["checkout", "--quiet", "-b", "trunk"]);
    // Outside of the directory: not a package of this registration.
    write(&checkout, &[("other/Kptfile", kptfile("other").as_bytes())]);
    package(&checkout, "app", "1");
    commit(&checkout, "pkgs/app/v1");
    world.register().await;
    world.ready("blueprints", "True").await;
    world.ready("deploy", "True").await;
    let server = &world.server;
    until_there(server, &format!("{REVISIONS}/blueprints.app.v1")).await;
    let all = server.get(REVISIONS).await;
    let names: Vec<&str> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|r| r["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, ["blueprints.app.trunk", "blueprints.app.v1"]);

    server.create(VARIANTS, &variant("web", "app")).await;
    let path = format!("{VARIANTS}/web");
    until(server, &path, "Ready", |c| c.0 == "True").await;
    let refs = || {
        git(
            &world.bare("deploy"),
            &["for-each-ref", "--format=%(refname)"],
        )
    };
    assert!(
        refs().contains("refs/heads/drafts/web/packagevariant-1\n"),
        "{}",
        refs()
    );
    for (door, to) in [("", "Proposed"), ("/approval", "Published")] {
        let revision = format!("{REVISIONS}/deploy.web.packagevariant-1{door}");
        let patch = json!({ "spec": { "lifecycle": to } });
        server.client.patch(&revision, &patch).await.unwrap();
    }
    assert_eq!(
        refs(),
        "refs/heads/release\nrefs/tags/web/v1\n",
        "branch honoured, draft gone"
    );
    // What somebody pushes later is found, and the variant follows the latest.
    package(&checkout, "app", "2");
    commit(&checkout, "pkgs/app/v2");
    package(&checkout, "late", "1");
    commit(&checkout, "pkgs/late/v1");
    until_there(server, &format!("{REVISIONS}/blueprints.late.v1")).await;
    until_there(server, &format!("{REVISIONS}/deploy.web.packagevariant-2")).await;
    let shown = git(
        &world.bare("deploy"),
        &["show", "drafts/web/packagevariant-2:web/map.yaml"],
    );
    assert!(shown.contains("value: 2"), "{shown}");
    let basic = format!("Basic {}", encode(&format!("ada:{PASSWORD}")));
    let heard = world.git.requests();
    let welcome = heard.iter().filter_map(|h| h.authorization.as_deref());
    assert!(welcome.into_iter().all(|a| a == basic));
    world.no_password_anywhere().await;
}

/// A branch means what it is now, and not what it was when the repository was looked at last.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_against_a_branch_knows_what_was_just_pushed() {
    let world = World::new(PASSWORD).await;
    let checkout = world.checkout();
    git(&checkout, &["checkout", "--quiet", "-b", "trunk"]);
    package(&checkout, "app", "1");
    commit(&checkout, "pkgs/app/v1");
    world.register().await;
    let server = &world.server;
    until_there(server, &format!("{REVISIONS}/blueprints.app.v1")).await;
    server.create(VARIANTS, &variant("web", "app")).await;
    until(server, &format!("{VARIANTS}/web"), "Ready", |c| {
        c.0 == "True"
    })
    .await;
    let root = world.root.path();
    let plan = || admin(root, &["plan", "--upstream", "blueprints/app@v2=trunk"]);
    for value in ["2", "3"] {
        package(&checkout, "app", value);
        git(
            &checkout,
            &["commit", "--quiet", "--all", "--message", value],
        );
        git(&checkout, &["push", "--quiet", "origin", "HEAD"]);
        let (code, page, err) = plan();
        assert_eq!(code, 2, "{page}{err}");
        assert!(page.contains(&format!("data.value: {value}")), "{page}");
    }
    world.git.set(|m| m.down = true);
    let (code, page, err) = plan();
    // Where a look at the downstream finds it gone, too, there is nothing to plan of what is known of it: 1.
    assert!(matches!(code, 1 | 2), "{code}: {page}{err}");
    assert!(
        page.contains("what was pushed since it was looked at last"),
        "{page}"
    );
}

/// Somebody pushes over the branch with force: it is read anew, what it held stays reachable here.
async fn pushed_over(world: &World, checkout: &Path) {
    let server = &world.server;
    let old = git(&world.bare("blueprints"), &["rev-parse", "trunk"]);
    git(checkout, &["checkout", "--quiet", "--orphan", "anew"]);
    package(checkout, "app", "9");
    git(checkout, &["add", "--all"]);
    git(checkout, &["commit", "--quiet", "--message", "anew"]);
    git(
        checkout,
        &["push", "--quiet", "--force", "origin", "HEAD:trunk"],
    );
    let events = format!("{CORE}/events");
    wait_for("the event", async || {
        let list = server.get(&events).await.to_string();
        list.contains("HistoryReplaced") && list.contains(old.trim())
    })
    .await;
    let head = git(&world.bare("blueprints"), &["rev-parse", "trunk"]);
    let branch = format!("{REVISIONS}/blueprints.app.trunk");
    wait_for("the branch", async || {
        server.get(&branch).await.to_string().contains(head.trim())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_and_servers_that_are_away_are_said_and_pass() {
    let world = World::new("wrong").await;
    let server = &world.server;
    let checkout = world.checkout();
    git(&checkout, &["checkout", "--quiet", "-b", "trunk"]);
    package(&checkout, "app", "1");
    commit(&checkout, "pkgs/app/v1");
    world.register().await;
    let ready = world.ready("blueprints", "False").await;
    let refused = ready.2.contains("401") || ready.2.contains("credentials");
    assert!(refused, "{ready:?}");
    // A variant waits, and says for what.
    server.create(VARIANTS, &variant("web", "app")).await;
    let path = format!("{VARIANTS}/web");
    let waits = until(server, &path, "Ready", |c| c.0 == "False").await;
    assert!(waits.2.contains("not ready"), "{waits:?}");
    // The right one is read anew.
    let stored = format!("{CORE}/secrets/git-auth");
    let change = json!({ "stringData": { "password": PASSWORD } });
    server.client.patch(&stored, &change).await.unwrap();
    world.ready("blueprints", "True").await;
    world.ready("deploy", "True").await;
    until(server, &path, "Ready", |c| c.0 == "True").await;

    // Git goes away: everything known is still served, a write says so, and nothing is half done.
    world.git.set(|m| m.down = true);
    let ready = world.ready("deploy", "False").await;
    assert!(!ready.2.is_empty());
    let revision = format!("{REVISIONS}/deploy.web.packagevariant-1");
    assert_eq!(server.get(&revision).await["spec"]["lifecycle"], "Draft");
    let proposal = json!({ "spec": { "lifecycle": "Proposed" } });
    let answer = server.client.patch(&revision, &proposal).await;
    assert!(answer.is_err(), "{answer:?}");
    world.git.set(|m| m.down = false);
    world.ready("deploy", "True").await;
    wait_for("the proposal", async || {
        let now = server.get(&revision).await["spec"]["lifecycle"].clone();
        now == "Proposed" || server.client.patch(&revision, &proposal).await.is_ok()
    })
    .await;

    // The repository itself vanishes, and comes back.
    let (there, away) = (world.bare("deploy"), world.bare("hidden"));
    std::fs::rename(&there, &away).unwrap();
    let ready = world.ready("deploy", "False").await;
    assert!(ready.2.contains("deploy.git"), "{ready:?}");
    assert_eq!(server.get(&revision).await["spec"]["lifecycle"], "Proposed");
    std::fs::rename(&away, &there).unwrap();
    world.ready("deploy", "True").await;
    assert_eq!(server.get(&revision).await["spec"]["lifecycle"], "Proposed");

    pushed_over(&world, &checkout).await;
    world.no_password_anywhere().await;
}
