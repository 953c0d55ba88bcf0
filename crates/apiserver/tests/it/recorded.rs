//! Replays what a real kube-apiserver answered, over the router; where the recordings are not at hand this says so.
//!
//! `OFFSHOOT_VECTORS` names their directory (`cargo xtask vectors`). Every step must agree, or be named in [`KNOWN`].
//! `OFFSHOOT_PEER` holds the runner itself against another server (`cargo xtask vectors --server URL`).

mod compare;
mod http;
mod kubectl;
mod peer;
mod tokens;

use std::path::{Path, PathBuf};

use apiserver::gateway::User;
use apiserver::{Server, ServerBuilder};
use serde_json::Value;

use http::Asked;

use crate::world::{TOKEN, ask};

/// Steps that differ, by file and number, with the reason.
const KNOWN: &[(&str, usize, &str)] = &[];

/// What a replay of one file came to.
#[derive(Default)]
pub(crate) struct Replay {
    pub(crate) steps: usize,
    /// Steps that differ, and how.
    pub(crate) differ: Vec<(usize, String)>,
}

/// The recordings, if they are at hand.
fn recordings() -> Option<PathBuf> {
    let directory =
        std::env::var_os("OFFSHOOT_VECTORS").map(|d| PathBuf::from(d).join("apiserver"));
    let directory = directory.filter(|d| d.is_dir());
    if directory.is_none() {
        println!("skipped: OFFSHOOT_VECTORS names no directory with apiserver/");
    }
    directory
}

fn builder() -> ServerBuilder {
    Server::builder()
        .token(TOKEN, User::new("admin", &["system:masters"]))
        .token("user-alice", User::new("alice", &["shop-team"]))
}

/// Serves the two kinds that the recordings use.
async fn with_kinds(server: &Server, directory: &Path) {
    for name in ["regions", "widgets"] {
        let text = std::fs::read_to_string(directory.join(format!("crds/{name}.yaml")))
            .expect("definition");
        let crd =
            yaml::first_document_json(&text, yaml::Reader::Sigs, false, &yaml::Limits::default())
                .expect("YAML");
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (code, answer) = ask(server, ::http::Method::POST, path, Some(crd)).await;
        assert_eq!(code, 201, "{answer}");
    }
}

fn files(directory: &Path) -> Vec<(String, Value)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("recordings")
        .map(|e| e.expect("entry").path())
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("recording");
        let name = path
            .file_stem()
            .expect("name")
            .to_string_lossy()
            .into_owned();
        (name, serde_json::from_str(&text).expect("recording"))
    };
    files.iter().map(read).collect()
}

/// At least so many scenarios of a hundred must be equal in all of their steps.
const SHARE: usize = 97;

/// Prints the score, and fails on a difference that is not known, a known one that is gone, or a score that is too low.
fn judge(what: &str, replays: &[(String, Replay)]) {
    let mut strange = Vec::new();
    let (mut steps, mut equal) = (0, 0);
    for (name, replay) in replays {
        steps += replay.steps;
        equal += replay.steps - replay.differ.len();
        for (step, how) in &replay.differ {
            let known = KNOWN.iter().find(|(f, s, _)| f == name && s == step);
            match known {
                Some((_, _, why)) => println!("known: {name} #{step}: {why}"),
                None => strange.push(format!("{name} #{step}: {how}")),
            }
        }
        for (_, step, _) in KNOWN.iter().filter(|(file, _, _)| file == name) {
            if !replay.differ.iter().any(|(differs, _)| differs == step) {
                strange.push(format!("{name} #{step}: no longer differs"));
            }
        }
    }
    let whole = replays.iter().filter(|(_, r)| r.differ.is_empty()).count();
    let share = whole * 100 / replays.len().max(1);
    println!(
        "{what}: {whole} of {} scenarios equal ({share} %), {equal} of {steps} steps",
        replays.len()
    );
    assert!(
        strange.is_empty(),
        "{} steps differ:\n{}",
        strange.len(),
        strange.join("\n")
    );
    assert!(share >= SHARE, "{what}: {share} % is less than {SHARE} %");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_requests_get_the_recorded_answers() {
    let Some(directory) = recordings() else {
        return;
    };
    if let Some(peer) = peer::Peer::named().await {
        // Recorded with a setting that is off by default (the README of the recordings); needs a compaction, too.
        const OTHER: &str = "list-expired";
        kinds_at(&peer, &directory).await;
        let all = files(&directory.join("http")).into_iter();
        let replays = replayed(&Asked::Peer(&peer), all.filter(|(name, _)| name != OTHER)).await;
        judge("http of the server at hand", &replays);
        return;
    }
    let server = builder().build().await.expect("build");
    with_kinds(&server, &directory).await;
    let all = files(&directory.join("http")).into_iter();
    judge("http", &replayed(&Asked::Ours(&server), all).await);
}

async fn replayed(
    server: &Asked<'_>,
    files: impl Iterator<Item = (String, Value)>,
) -> Vec<(String, Replay)> {
    let mut replays = Vec::new();
    for (name, file) in files {
        let replay = http::replay(server, &file).await;
        replays.push((name, replay));
    }
    replays
}

/// Has another server serve the two kinds; it needs a moment until it does.
async fn kinds_at(peer: &peer::Peer, directory: &Path) {
    for name in ["regions", "widgets"] {
        let text = std::fs::read_to_string(directory.join(format!("crds/{name}.yaml")));
        let request = |method: &str, path: &str, body: String| {
            let media = ("content-type", "application/yaml");
            let request = ::http::Request::builder().method(method).uri(path);
            let request = request.header(media.0, media.1).body(body.into());
            request.expect("request")
        };
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let made = request("POST", path, text.expect("definition"));
        let code = peer.send(made, "admin").await.status().as_u16();
        assert!(matches!(code, 201 | 409), "{name}: {code}");
        let path = format!("/apis/shop.example.dev/v1/{name}");
        for _ in 0..100 {
            let asked = request("GET", &path, String::new());
            if peer.send(asked, "admin").await.status().is_success() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_commands_print_what_was_recorded() {
    let Some(directory) = recordings() else {
        return;
    };
    if std::process::Command::new("kubectl")
        .args(["version", "--client"])
        .output()
        .is_err()
    {
        println!("skipped: kubectl is not installed");
        return;
    }
    if let Some(peer) = peer::Peer::named().await {
        kinds_at(&peer, &directory).await;
        let replays = commands(peer.kubeconfig.clone(), directory).await;
        judge("kubectl of the server at hand", &replays);
        return;
    }
    let server = builder().build().await.expect("build");
    with_kinds(&server, &directory).await;
    let running = server
        .listen(([127, 0, 0, 1], 0).into())
        .await
        .expect("listen");
    let replays = commands(running.kubeconfig("t", TOKEN), directory).await;
    running.stop().await;
    judge("kubectl", &replays);
}

async fn commands(kubeconfig: String, directory: PathBuf) -> Vec<(String, Replay)> {
    let replays = tokio::task::spawn_blocking(move || {
        let all = files(&directory.join("kubectl")).into_iter();
        all.map(|(name, file)| (name, kubectl::replay(&kubeconfig, &file)))
            .collect::<Vec<_>>()
    });
    replays.await.expect("kubectl")
}
