//! Remotes that accept a connection and never answer: everybody is told what is waited for, nothing that was acknowledged
//! is lost, others go on, and the process ends when it is asked to.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::git_http::{Asked, Fault, Server};

use crate::edges::{CORE, REPOSITORIES, RESOURCES, REVISIONS, VARIANTS, register, until};
use crate::process::{Process, git, wait_for};

const FAST: [&str; 4] = ["--answer-within", "2", "--git-silence", "4"];
/// A remote may be silent for longer than anybody here waits.
const PATIENT: [&str; 4] = ["--answer-within", "2", "--git-silence", "60"];

/// Nothing that is asked is answered.
fn silence() -> Vec<(Asked, Fault)> {
    let all = [Asked::Refs, Asked::RefsToPush, Asked::Objects, Asked::Push];
    let each = all.map(|asked| vec![(asked, Fault::Hang); 1_000]);
    each.concat()
}

struct World {
    root: tempfile::TempDir,
    server: Process,
    git: Server,
}

fn remote(git: &Server) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": { "name": "far" },
        "spec": { "type": "git", "git": { "repo": git.url("far.git"), "createBranch": true } },
    })
}

fn draft(repository: &str, package: &str) -> Value {
    json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "metadata": { "labels": { "team": "web" } },
        "spec": { "packageName": package, "repository": repository, "workspaceName": "w", "lifecycle": "Draft",
            "tasks": [{ "type": "init", "init": { "description": "a package" } }] },
    })
}

impl World {
    /// A remote and a local repository, with a proposal in the remote.
    async fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let served = root.path().join("served");
        std::fs::create_dir(&served).unwrap();
        git(&served, &["init", "--quiet", "--bare", "far.git"]);
        let bare = served.join("far.git");
        git(&bare, &["config", "http.receivepack", "true"]);
        let git = Server::start(served).unwrap();
        let server = Process::start(root.path(), &FAST).await;
        register(&server, root.path(), "near", false).await;
        server.create(REPOSITORIES, &remote(&git)).await;
        let world = Self { root, server, git };
        world.ready("True").await;
        world.server.create(REVISIONS, &draft("far", "p")).await;
        world.move_to("far.p.w", "", "Proposed").await.unwrap();
        world
    }

    async fn ready(&self, status: &str) -> String {
        let path = format!("{REPOSITORIES}/far");
        until(&self.server, &path, "Ready", |c| c.0 == status)
            .await
            .2
    }

    async fn move_to(&self, name: &str, door: &str, to: &str) -> Result<Value, String> {
        let path = format!("{REVISIONS}/{name}{door}");
        let change = json!({ "spec": { "lifecycle": to } });
        let answer = self.server.client.patch(&path, &change).await;
        answer.map_err(|why| why.to_string())
    }

    async fn is(&self, name: &str) -> Value {
        let revision = self.server.get(&format!("{REVISIONS}/{name}")).await;
        revision["spec"]["lifecycle"].clone()
    }

    fn tags(&self) -> String {
        git(&self.root.path().join("served/far.git"), &["tag"])
    }
}

async fn within<T>(seconds: u64, work: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let done = work.await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(seconds), "{took:?}");
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_a_remote_takes_and_never_answers_is_told_and_shown_later() {
    let world = World::new().await;
    let url = world.git.url("far.git");
    world
        .git
        .set(|m| m.faults = vec![(Asked::Push, Fault::CarryOutAndHang)]);
    let approval = world.move_to("far.p.w", "/approval", "Published");
    let told = within(10, approval).await.unwrap_err();
    for part in [
        url.as_str(),
        "has not answered",
        "the change goes on",
        "package revision default/far.p.w",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // Asked again, it says what is under way; nobody lines up.
    let approval = world.move_to("far.p.w", "/approval", "Published");
    let told = within(2, approval).await;
    let published = |object: &Value| object["spec"]["lifecycle"] == "Published";
    assert!(
        told.as_ref().map_or_else(
            |why| why.contains("still being changed by an earlier request"),
            published
        ),
        "{told:?}"
    );
    wait_for("the approval", async || {
        world.is("far.p.w").await == "Published"
    })
    .await;
    assert_eq!(world.tags(), "p/v1\n");
    wait_for("the event", async || {
        let events = world.server.get(&format!("{CORE}/events")).await;
        events.to_string().contains("ChangeCompleted")
    })
    .await;
    let revision = world.server.get(&format!("{REVISIONS}/far.p.w")).await;
    assert_eq!(revision["metadata"]["labels"]["team"], "web");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_hangs_holds_up_nobody_else_and_every_verb_is_answered() {
    let world = World::new().await;
    world.git.set(|m| m.faults = silence());
    let told = within(10, world.move_to("far.p.w", "/approval", "Published")).await;
    let told = told.unwrap_err();
    assert!(told.contains("has not answered"), "{told}");
    let wish = draft("far", "late");
    let create = world.server.client.post(REVISIONS, &wish);
    let told = within(10, create).await.unwrap_err().to_string();
    assert!(told.contains("has not answered"), "{told}");
    let dry = format!("{REVISIONS}?dryRun=All");
    let wish = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": { "packageName": "c", "repository": "near", "workspaceName": "w", "tasks": [{
            "type": "clone", "clone": { "upstreamRef": { "type": "git", "git": {
                "repo": world.git.url("far.git"), "ref": "main", "directory": "p",
            } } },
        }] },
    });
    let told = within(10, world.server.client.post(&dry, &wish)).await;
    let told = told.unwrap_err().to_string();
    assert!(told.contains("nothing was changed"), "{told}");
    // What is known is read, and the other repository is worked in as ever.
    let files = format!("{RESOURCES}/far.p.w");
    let read = within(2, world.server.client.get(&files)).await;
    assert!(read.unwrap()["spec"]["resources"]["Kptfile"].is_string());
    within(3, async {
        world.server.create(REVISIONS, &draft("near", "p")).await;
        world.move_to("near.p.w", "", "Proposed").await.unwrap();
        let approval = world.move_to("near.p.w", "/approval", "Published");
        approval.await.unwrap();
    })
    .await;
    let ready = world.ready("False").await;
    assert!(ready.contains("far.git"), "{ready}");
    // It speaks again: what was asked for is done or is not, and the revision says which.
    world.git.set(|m| m.faults.clear());
    world.ready("True").await;
    wait_for("the approval", async || {
        let shown = world.is("far.p.w").await;
        let published = world.tags() == "p/v1\n";
        (shown == "Published") == published
            && (published
                || world
                    .move_to("far.p.w", "/approval", "Published")
                    .await
                    .is_ok())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_many_is_answered_while_its_repository_is_opened_anew() {
    let world = World::new().await;
    let names = ["q", "r", "s"].map(|name| format!("far.{name}.w"));
    for package in ["q", "r", "s"] {
        let made = draft("far", package);
        world.server.create(REVISIONS, &made).await;
    }
    let mut changes = Vec::new();
    for name in &names {
        let shown = world.server.get(&format!("{REVISIONS}/{name}")).await;
        let tree = &shown["status"]["offshoot"]["tree"];
        changes.push(json!({ "name": name, "verb": "propose", "tree": tree }));
    }
    world.git.set(|m| m.faults = silence());
    // Another Secret: it is opened again, and nobody answers.
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth", "metadata": { "name": "git-auth" },
        "stringData": { "username": "ada", "password": "a-word" },
    });
    world
        .server
        .create(&format!("{CORE}/secrets"), &secret)
        .await;
    let other = json!({ "spec": { "git": { "secretRef": { "name": "git-auth" } } } });
    let path = format!("{REPOSITORIES}/far");
    world.server.client.patch(&path, &other).await.unwrap();
    let bulk = "/apis/fleet.offshoot.dev/v1alpha1/namespaces/default/bulkchanges";
    let asked = json!({
        "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "BulkChange", "spec": { "changes": changes },
    });
    let answer = within(9, world.server.client.post(bulk, &asked))
        .await
        .unwrap();
    let results = answer["status"]["results"].as_array().unwrap();
    assert_eq!(results.len(), 3, "{answer}");
    assert!(results.iter().all(|r| r["result"] != "Done"), "{answer}");
}

/// Ends it while a push hangs; what was acknowledged is there afterwards, and what was not is whole.
#[tokio::test(flavor = "multi_thread")]
async fn the_process_ends_in_time_while_a_remote_hangs() {
    let world = World::new().await;
    world.git.set(|m| m.faults = silence());
    let World {
        root,
        mut server,
        git,
    } = world;
    let path = format!("{REVISIONS}/far.p.w/approval");
    let kubeconfig = root.path().join("data/kubeconfig");
    let asks = tokio::spawn(async move {
        let client = offshoot::client::Client::with(&kubeconfig).await.unwrap();
        let change = json!({ "spec": { "lifecycle": "Published" } });
        client.patch(&path, &change).await
    });
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    server.terminate();
    let (took, code) = tokio::task::spawn_blocking(move || server.ended())
        .await
        .unwrap();
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(code, Some(0));
    assert!(asks.await.unwrap().is_err(), "nothing was acknowledged");
    git.set(|m| m.faults.clear());
    let server = Process::start(root.path(), &FAST).await;
    let world = World { root, server, git };
    world.ready("True").await;
    wait_for("the proposal", async || {
        let shown = world.is("far.p.w").await;
        let published = world.tags() == "p/v1\n";
        shown == "Proposed" && !published || shown == "Published" && published
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let world = World::new().await;
    world.git.set(|m| m.faults = silence());
    let mut server = world.server;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    server.terminate();
    std::thread::sleep(Duration::from_millis(50));
    server.terminate();
    let (took, _) = server.ended();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(Path::new(&world.root.path().join("data/objects.redb")).exists());
}

/// Publishes a package of each repository, and has a variant of one drafted in the other.
async fn fill(world: &World) {
    let server = &world.server;
    register(server, world.root.path(), "near", false).await;
    for (repository, package) in [("far", "q"), ("near", "base")] {
        server.create(REVISIONS, &draft(repository, package)).await;
        let name = format!("{repository}.{package}.w");
        world.move_to(&name, "", "Proposed").await.unwrap();
        let approval = world.move_to(&name, "/approval", "Published");
        approval.await.unwrap();
    }
    let variant = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "PackageVariant", "metadata": { "name": "v" },
        "spec": {
            "upstream": { "repo": "near", "package": "base", "revision": 1 },
            "downstream": { "repo": "far", "package": "v" },
        },
    });
    server.create(VARIANTS, &variant).await;
    let path = format!("{VARIANTS}/v");
    until(server, &path, "Ready", |c| c.0 == "True").await;
}

/// Reads whatever is listed of the repository, and what is made of it: nothing waits.
async fn all_is_read(world: &World) {
    let server = &world.server;
    let read = async |path: String| {
        let read = within(2, server.client.get(&path)).await;
        assert!(read.is_ok(), "{path}: {read:?}");
        read.unwrap()
    };
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().iter();
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        let far = items.map(name).filter(|n| n.starts_with("far."));
        far.collect()
    };
    let listed = names(&read(REVISIONS.to_owned()).await);
    for name in ["far.p.w", "far.q.w", "far.q.main", "far.v.packagevariant-1"] {
        assert!(listed.iter().any(|l| l == name), "{name}: {listed:?}");
    }
    for name in &listed {
        read(format!("{REVISIONS}/{name}")).await;
        let files = read(format!("{RESOURCES}/{name}")).await;
        assert!(files["spec"]["resources"]["Kptfile"].is_string(), "{name}");
    }
    assert_eq!(names(&read(RESOURCES.to_owned()).await), listed);
    read(REVISIONS.replace("packagerevisions", "packages")).await;
    let why = "/apis/fleet.offshoot.dev/v1alpha1/namespaces/default/explanations/packagevariant.v";
    let why = read(why.to_owned()).await;
    let report = why["status"]["report"].as_str().unwrap();
    assert!(!report.contains("cannot be read"), "{report}");
    // What is listed is a source, too.
    let clone = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": { "packageName": "copy", "repository": "near", "workspaceName": "w", "tasks": [{
            "type": "clone", "clone": { "upstreamRef": { "upstreamRef": { "name": "far.q.w" } } },
        }] },
    });
    let dry = format!("{REVISIONS}?dryRun=All");
    within(2, server.client.post(&dry, &clone)).await.unwrap();
    pull(world.root.path());
}

/// Fetches a package with the command, as people do.
fn pull(root: &Path) {
    let begun = Instant::now();
    let to = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["rpkg", "pull", "far.q.w"])
        .arg(to.path().join("q"))
        .env("KUBECONFIG", root.join("data/kubeconfig"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(to.path().join("q/Kptfile").is_file());
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_listed_is_read_after_a_death_amid_a_push() {
    let mut world = World::new().await;
    fill(&world).await;
    world.git.set(|m| m.faults = silence());
    let path = format!("{REVISIONS}/far.p.w/approval");
    let change = json!({ "spec": { "lifecycle": "Published" } });
    let told = world.server.client.patch(&path, &change).await;
    assert!(told.unwrap_err().to_string().contains("has not answered"));
    all_is_read(&world).await;
    world.server.kill();
    world.server = Process::start(world.root.path(), &PATIENT).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    all_is_read(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_listed_is_read_while_its_registration_waits_for_the_remote() {
    let mut world = World::new().await;
    fill(&world).await;
    world.server.terminate();
    world.server.ended();
    world.server = Process::start(world.root.path(), &PATIENT).await;
    world.ready("True").await;
    world.git.set(|m| m.faults = silence());
    // Another registration of the same place, and the first with other credentials: both ask whether they are welcome.
    let mut again = remote(&world.git);
    again["metadata"]["name"] = json!("again");
    world.server.create(REPOSITORIES, &again).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "other" },
        "type": "kubernetes.io/basic-auth", "stringData": { "username": "ada", "password": "p" },
    });
    world
        .server
        .create(&format!("{CORE}/secrets"), &secret)
        .await;
    let path = format!("{REPOSITORIES}/far");
    let change = json!({ "spec": { "git": { "secretRef": { "name": "other" } } } });
    world.server.client.patch(&path, &change).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    all_is_read(&world).await;
}
