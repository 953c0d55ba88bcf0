//! Every request that an unmodified porchctl was seen to send is answered with the recorded status and kind, or with a
//! better one by decision ([`KNOWN`]).
//!
//! The recordings are those of `OFFSHOOT_PORCHCTL`, or beside the project; without them the test says that it was skipped.
//! Each scenario has a namespace and repositories of its own. What a recording calls `<uid>`, `<rv>` or `<commit>` is what
//! this server told last about the same object.

mod answers;
mod world;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use answers::{Told, recorded};
use world::World;

/// Requests that are answered differently: scenario, step, request, why.
const KNOWN: &[(&str, usize, usize, &str)] = &[
    (
        "repo-register-errors",
        6,
        1,
        "A4a: a second repository of one URL is accepted and says so in its conditions",
    ),
    (
        "rpkg-clone-git",
        9,
        0,
        "a repository on this machine needs no credentials",
    ),
    (
        "rpkg-get-cached-discovery",
        2,
        0,
        "the recording does not hold the ETag that the client kept",
    ),
    (
        "rpkg-get-cached-discovery",
        2,
        1,
        "the recording does not hold the ETag that the client kept",
    ),
    (
        "rpkg-push-conflict",
        4,
        2,
        "the replay sends the newest version where the recording sent an old one",
    ),
];

/// Answers that differ by decision, whole classes of them.
fn decided(name: &str, wanted: &(u64, String), answer: &(u64, String)) -> Option<&'static str> {
    if wanted.0 == 500 && (400..500).contains(&answer.0) && answer.1 == "Status v1" {
        return Some("A6: what the client did wrong is told as such");
    }
    (name == "v1alpha2-requests" && answer.0 == 404)
        .then_some("A1: the package group is served in v1alpha1")
}

/// How long an answer that is not there yet may take: repositories are read in the background.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same where the answer is another anyway.
const GLANCE: Duration = Duration::from_secs(5);

/// Where the recordings are, if they are here.
fn recordings() -> Option<PathBuf> {
    let place = std::env::var_os("OFFSHOOT_PORCHCTL").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/observed/porchctl"),
        PathBuf::from,
    );
    place.join("rpkg-init.json").is_file().then_some(place)
}

fn scenarios(place: &Path) -> Vec<(String, Value)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        (name, serde_json::from_str(&text).unwrap())
    };
    paths.into_iter().map(read).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_porchctl_asks_is_answered() {
    let Some(place) = recordings() else {
        println!("skipped: the recordings of porchctl are not here");
        return;
    };
    let world = World::start().await;
    let (mut asked, mut equal, mut known, mut strange) = (0, 0, 0, Vec::new());
    let mut decisions: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, (name, scenario)) in scenarios(&place).into_iter().enumerate() {
        let mut told = Told::new(&world, number);
        let teams = scenario.to_string().contains("/namespaces/team/");
        world
            .prepare(&told, scenario["start"] == "base", teams)
            .await;
        for (i, step) in scenario["steps"].as_array().unwrap().iter().enumerate() {
            if step.get("wait").is_some() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            if step.get("action").is_some() {
                world.let_bob_in(&told).await;
            }
            let user = step["user"].as_str();
            let requests = step["requests"].as_array().into_iter().flatten();
            for (j, request) in requests.enumerate() {
                asked += 1;
                let listed = KNOWN
                    .iter()
                    .any(|(n, s, r, _)| *n == name && (*s, *r) == (i, j));
                let patience = if listed { GLANCE } else { PATIENCE };
                let wanted = recorded(request);
                let better = |answer: &_| decided(&name, &wanted, answer).is_some();
                let answer = told.ask(request, user, (patience, better)).await;
                if answer == wanted {
                    equal += 1;
                } else if let Some(why) = decided(&name, &wanted, &answer) {
                    *decisions.entry(why).or_default() += 1;
                } else if listed {
                    known += 1;
                } else {
                    let (method, uri) = (&request["method"], &request["uri"]);
                    let said = &told.said;
                    strange.push(format!(
                        "{name}, {i}, {j}: {method} {uri}: {answer:?} instead of {wanted:?}: {said}"
                    ));
                }
            }
        }
    }
    println!("{equal} of {asked} requests answered as recorded, {decisions:?}, {known} known");
    let lines = strange.join("\n");
    assert!(strange.is_empty(), "{} differ:\n{lines}", strange.len());
    assert_eq!(known, KNOWN.len(), "a known difference is gone");
}
