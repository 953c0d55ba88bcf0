//! Functions that are not built in, in the server: commands and containers run where they are enabled, and one that
//! fails, prints garbage, or exceeds a limit stops its own variant alone, with what it said.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{RESOURCES, REVISIONS, VARIANTS, checkout, commit, kptfile, map, register};
use super::{until, variant, write};
use crate::process::{Process, wait_for};

/// What works where containers run inside of a virtual machine or another container.
const PODMAN: &str = "podman --runtime runc --cgroup-manager cgroupfs";
const FLAGS: &str = "--fn-runtime-flags=--ulimit nofile=1000:1000 --ulimit nproc=1000:1000";
const IMAGE: &str = "localhost/offshoot-test-up";

async fn prepared(root: &Path, flags: &[&str]) -> Process {
    let server = Process::start(root, flags).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", false).await;
    server
}

/// Publishes a revision of a package whose pipeline is one function.
fn publish(root: &Path, package: &str, function: &str, revision: &str) {
    let kptfile = format!(
        "{}pipeline:\n  mutators:\n  - {function}\n",
        kptfile(package)
    );
    let value = format!("old # {revision}");
    let files = [
        (format!("{package}/Kptfile"), kptfile),
        (format!("{package}/map.yaml"), map("map", &value)),
    ];
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_bytes()))
        .collect();
    let checkout = checkout(root, "blueprints");
    write(&checkout, &files);
    commit(&checkout, &format!("{package}/{revision}"));
}

/// The text of a file in the only revision of a downstream package.
async fn file(server: &Process, package: &str, path: &str) -> String {
    let name = revisions(server, package).await;
    let name = name.first().cloned().unwrap_or_default();
    let resources = server.get(&format!("{RESOURCES}/{name}")).await;
    resources["spec"]["resources"][path]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The names of the revisions of a downstream package.
async fn revisions(server: &Process, package: &str) -> Vec<String> {
    let list = server.get(REVISIONS).await;
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let ours = items.iter().filter(|item| {
        item["spec"]["packageName"] == package && item["spec"]["repository"] == "deploy"
    });
    ours.filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
        .collect()
}

/// A variant that follows a package's revision.
fn following(name: &str, package: &str, revision: &str) -> Value {
    let mut object = variant(name, package);
    object["spec"]["upstream"]["revision"] = json!(revision);
    object
}

/// What a variant says whose render failed for this reason: on a busy machine it may run out of time first.
async fn failed(server: &Process, name: &str, why: &str) -> String {
    let path = format!("{VARIANTS}/{name}");
    let ready = until(server, &path, "Ready", |c| {
        c.1 == "RenderFailed" && c.2.contains(why)
    })
    .await;
    assert_eq!(ready.0, "False", "{ready:?}");
    ready.2
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_where_they_are_allowed_and_a_bad_one_stops_its_variant_alone() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let limits = ["--allow-exec", "--fn-timeout", "2", "--fn-output", "1"];
    let server = prepared(root, &limits).await;
    let bad = [
        ("fails", "exec: \"false\"", "false"),
        ("garbage", "exec: echo garbage", "printed no ResourceList"),
        ("slow", "exec: sleep 100", "exceeded its limit of 2 s"),
        ("loud", "exec: \"yes\"", "bytes of output"),
        ("absent", "exec: /no/such/program", "/no/such/program"),
        ("image", "image: example.com/none:v1", "--fn-runtime=podman"),
    ];
    for (name, function, _) in bad {
        publish(root, name, function, "v1");
        server.create(VARIANTS, &following(name, name, "v1")).await;
    }
    publish(
        root,
        "good",
        "exec: \"sed -e 's/value. o[l]d/value: new/'\"",
        "v1",
    );
    server
        .create(VARIANTS, &following("good", "good", "v1"))
        .await;

    let path = format!("{VARIANTS}/good");
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    let text = file(&server, "good", "map.yaml").await;
    assert!(text.ends_with("  value: new # v1\n"), "{text}");
    let before = file(&server, "good", "Kptfile").await;

    for (name, _, why) in bad {
        let told = failed(&server, name, why).await;
        assert!(told.contains(why), "{name}: {told}");
        assert_eq!(
            revisions(&server, name).await,
            [""; 0],
            "{name}: no draft is made"
        );
    }

    // An open draft stays as it was when the next upstream cannot be rendered.
    publish(root, "good", "exec: echo garbage", "v2");
    let patch = json!({"spec": {"upstream": {"revision": "v2"}}});
    server.client.patch(&path, &patch).await.unwrap();
    failed(&server, "good", "printed no ResourceList").await;
    assert_eq!(file(&server, "good", "map.yaml").await, text);
    assert_eq!(file(&server, "good", "Kptfile").await, before);

    // And it goes on as soon as there is one that can.
    publish(
        root,
        "good",
        "exec: \"sed -e 's/value. o[l]d/value: newer/'\"",
        "v3",
    );
    let patch = json!({"spec": {"upstream": {"revision": "v3"}}});
    server.client.patch(&path, &patch).await.unwrap();
    wait_for("the third revision", async || {
        file(&server, "good", "map.yaml")
            .await
            .ends_with("  value: newer # v3\n")
    })
    .await;
    until(&server, &path, "Ready", |c| c.0 == "True").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_being_allowed_no_command_runs() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = prepared(root, &[]).await;
    let trace = root.join("trace");
    publish(
        root,
        "app",
        &format!("exec: touch {}", trace.display()),
        "v1",
    );
    server
        .create(VARIANTS, &following("app", "app", "v1"))
        .await;
    let told = failed(&server, "app", "--allow-exec").await;
    assert!(told.contains("--allow-exec"), "{told}");
    assert!(!trace.exists());
}

/// An image that replaces a text, if this machine can build and run one.
fn image(directory: &Path) -> bool {
    let runs = |command: &mut Command| command.output().is_ok_and(|out| out.status.success());
    if !runs(Command::new("podman").arg("--version"))
        || !runs(Command::new("runc").arg("--version"))
    {
        eprintln!("skipped: podman and runc are not installed here");
        return false;
    }
    let program = r#"
        use std::io::{Read, Write};
        fn main() {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).unwrap();
            let text = text.replace("value: old", "value: new");
            std::io::stdout().write_all(text.as_bytes()).unwrap();
        }
    "#;
    write(
        directory,
        &[
            ("fn.rs", program.as_bytes()),
            (
                "Dockerfile",
                b"FROM scratch\nCOPY fn /fn\nENTRYPOINT [\"/fn\"]\n",
            ),
        ],
    );
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let flags = ["-C", "target-feature=+crt-static", "fn.rs", "-o", "fn"];
    assert!(runs(Command::new(rustc).current_dir(directory).args(flags)));
    let mut words = PODMAN
        .split(' ')
        .chain(["build", "--quiet", "--tag", IMAGE]);
    let mut build = Command::new(words.next().unwrap());
    assert!(runs(build.args(words).arg(directory)));
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn images_run_in_the_container_runtime_that_is_named() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let build = root.join("image");
    std::fs::create_dir(&build).unwrap();
    if !image(&build) {
        return;
    }
    let runtime = format!("--fn-runtime={PODMAN}");
    let server = prepared(root, &[&runtime, FLAGS, "--fn-pull", "never"]).await;
    publish(root, "app", &format!("image: {IMAGE}:latest"), "v1");
    publish(
        root,
        "gone",
        "image: localhost/offshoot-no-such-image:v1",
        "v1",
    );
    for name in ["app", "gone"] {
        server.create(VARIANTS, &following(name, name, "v1")).await;
    }
    let path = format!("{VARIANTS}/app");
    until(&server, &path, "Ready", |c| c.0 == "True").await;
    let text = file(&server, "app", "map.yaml").await;
    assert!(text.ends_with("  value: new # v1\n"), "{text}");
    let told = failed(&server, "gone", "offshoot-no-such-image").await;
    assert!(told.contains("offshoot-no-such-image"), "{told}");
}
