//! Replays what a real kube-apiserver answered, over the router; where the recordings are not at hand this says so.
//!
//! `OFFSHOOT_VECTORS` names their directory (`cargo xtask vectors`). Every step must agree, or be named in [`KNOWN`].

mod compare;
mod http;
mod kubectl;
mod tokens;

use std::path::{Path, PathBuf};

use apiserver::gateway::User;
use apiserver::{Server, ServerBuilder};
use serde_json::Value;

use crate::world::{TOKEN, ask};

/// Steps that differ, by file and number, with the reason.
const KNOWN: &[(&str, usize, &str)] = &[
    ("apply-errors", 6, "the words of another YAML parser"),
    (
        "auth-access-reviews",
        6,
        "no certificate, hence no credential id",
    ),
    (
        "create-bodies",
        8,
        "the recording holds a version of its own server",
    ),
    (
        "create-types",
        7,
        "fields of an object where a list is wanted are not told as unknown",
    ),
    ("create-bodies", 9, "the words of another YAML parser"),
    (
        "create-too-large",
        3,
        "the length in the message is that of another encoding",
    ),
    (
        "get-negotiation",
        13,
        "protobuf is read, not written: the client that offers JSON gets it",
    ),
    (
        "lease-election",
        9,
        "a patch that breaks a time is told without the whole object",
    ),
    (
        "lease-election",
        10,
        "a patch that breaks a time is told without the whole object",
    ),
    ("list-paging", 11, "the decoder's words about a bogus token"),
    (
        "watch-initial",
        9,
        "a bookmark comes with the timer, not after each event",
    ),
    (
        "watch-timeout-bookmark",
        4,
        "two bookmarks come in the last seconds, or one",
    ),
    ("yaml-dialect", 8, "large integers stay exact"),
    (
        "kubectl-describe",
        5,
        "the recording binds the uid outside of its steps",
    ),
    (
        "kubectl-describe",
        6,
        "the recording binds the uid outside of its steps",
    ),
    (
        "kubectl-describe",
        9,
        "quotas and limit ranges are not served",
    ),
    ("kubectl-discovery", 4, "a cluster has more groups"),
    ("kubectl-discovery", 6, "services are not served"),
];

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

/// Prints the score, and fails on a difference that is not known or a known one that is gone.
fn judge(what: &str, replays: &[(String, Replay)]) {
    let mut strange = Vec::new();
    let (mut steps, mut equal) = (0, 0);
    for (name, replay) in replays {
        steps += replay.steps;
        equal += replay.steps - replay.differ.len();
        for (step, how) in &replay.differ {
            if !KNOWN
                .iter()
                .any(|(file, known, _)| file == name && known == step)
            {
                strange.push(format!("{name} #{step}: {how}"));
            }
        }
    }
    println!("{what}: {equal} of {steps} steps equal, the others known");
    assert!(
        strange.is_empty(),
        "{} steps differ:\n{}",
        strange.len(),
        strange.join("\n")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_requests_get_the_recorded_answers() {
    let Some(directory) = recordings() else {
        return;
    };
    let server = builder().build().await.expect("build");
    with_kinds(&server, &directory).await;
    let mut replays = Vec::new();
    for (name, file) in files(&directory.join("http")) {
        let replay = http::replay(&server, &file).await;
        replays.push((name, replay));
    }
    judge("http", &replays);
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
    let server = builder().build().await.expect("build");
    with_kinds(&server, &directory).await;
    let running = server
        .listen(([127, 0, 0, 1], 0).into())
        .await
        .expect("listen");
    let kubeconfig = running.kubeconfig("t", TOKEN);
    let replays = tokio::task::spawn_blocking(move || {
        let all = files(&directory.join("kubectl")).into_iter();
        all.map(|(name, file)| (name, kubectl::replay(&kubeconfig, &file)))
            .collect::<Vec<_>>()
    });
    let replays = replays.await.expect("kubectl");
    running.stop().await;
    judge("kubectl", &replays);
}
