//! 8.5 and 8.6: requests that people make by hand, what a watch tells of them, and what comes from git.

use futures::StreamExt as _;
use serde_json::{Value, json};

use super::case::{Case, text};
use super::client::{EVENTS, Kind, REPOSITORIES, RESOURCES, REVISIONS, VARIANTS};
use super::first::revision;
use super::life::section;
use super::objects::missing;
use super::tables::{differences, output};
use crate::process::wait_for;

/// What a refusal of the record says about the request itself.
fn told(record: &str, title: &str) -> Vec<String> {
    let words = output(record, title).lines().skip(1).filter_map(|line| {
        let line = line
            .rsplit_once("\"STDIN\": ")
            .map_or(line, |(_, rest)| rest);
        let line = line
            .rsplit_once("is invalid: ")
            .map_or(line, |(_, rest)| rest);
        let line = line
            .trim_start_matches("Internal error occurred: ")
            .trim_start_matches("* ");
        // A spec is shown in the order of its fields there.
        let line = line.rsplit_once("}: ").map_or(line, |(_, rest)| rest);
        let line = line
            .split_once("(Forbidden): ")
            .map_or(line, |(_, rest)| rest);
        (!line.is_empty()).then(|| line.to_owned())
    });
    words.collect()
}

type Answer = (&'static str, Result<Value, String>);

const CRE: &str = "deploy.cre.ws1";

/// The record's revision of another package, with other fields of the spec.
fn named(case: &Case, package: &str, with: Value) -> Value {
    let mut object = revision(case, package);
    let spec = object["spec"].as_object_mut().unwrap();
    spec.extend(with.as_object().unwrap().clone());
    object
}

fn lifecycle(to: &str) -> Value {
    json!({ "spec": { "lifecycle": to } })
}

async fn patch(case: &Case, door: &str, patch: Value) -> Result<Value, String> {
    let name = format!("{CRE}{door}");
    case.api.patch(REVISIONS, &name, patch).await
}

/// What is answered to those who would pass over the approval of a draft.
async fn of_a_draft(case: &Case) -> Vec<Answer> {
    let published = lifecycle("Published");
    vec![
        (
            "kubectl patch lifecycle Published (not through approval)",
            patch(case, "", published.clone()).await,
        ),
        (
            "kubectl patch lifecycle Nonsense",
            patch(case, "", lifecycle("Nonsense")).await,
        ),
        (
            "kubectl patch --subresource=approval Draft -> Published",
            patch(case, "/approval", published).await,
        ),
    ]
}

/// What is answered to those who ask for what cannot be made.
async fn of_new_ones(case: &Case) -> Vec<Answer> {
    let task = json!({ "type": "init", "init": {} });
    let mut answers = Vec::new();
    for (title, package, with) in [
        (
            "create in a missing repository",
            "norepo",
            json!({ "repository": "nope" }),
        ),
        (
            "create without workspaceName",
            "nows",
            json!({ "workspaceName": "" }),
        ),
        (
            "create with two tasks",
            "two",
            json!({ "tasks": [task, task] }),
        ),
        ("create with package Bad_Name", "Bad_Name", json!({})),
    ] {
        let object = named(case, package, with);
        let answer = case
            .api
            .client
            .post(&case.api.path(REVISIONS, ""), &object)
            .await;
        answers.push((title, answer.map_err(|why| why.to_string())));
    }
    answers
}

/// What is answered to those who would undo what is published.
async fn of_a_published_one(case: &Case) -> Vec<Answer> {
    vec![
        (
            "delete a published one",
            case.api.delete(REVISIONS, CRE).await,
        ),
        (
            "patch a published one back to Draft",
            patch(case, "", lifecycle("Draft")).await,
        ),
    ]
}

/// What is said in other words here: once, of the field that is wrong, and of what would be right.
const OURS: [(&str, &str); 4] = [
    (
        "kubectl patch lifecycle Nonsense",
        "spec.lifecycle: Unsupported value: \"Nonsense\": supported values: \"Draft\", \"Proposed\", \"Published\", \"DeletionProposed\"",
    ),
    (
        "create without workspaceName",
        "spec.workspaceName: Required value",
    ),
    (
        "create with package Bad_Name",
        "metadata.name: Invalid value: \"deploy.Bad_Name.ws1\"",
    ),
    (
        "patch a published one back to Draft",
        "spec.lifecycle: Invalid value: \"Published\": value can be only updated to Published,DeletionProposed",
    ),
];

/// Refusals that are none, or say something else than there.
fn otherwise(record: &str, answers: Vec<Answer>) -> Vec<String> {
    let mut out = Vec::new();
    for (title, answer) in answers {
        let words = told(record, title);
        assert!(!words.is_empty(), "{title}");
        let ours = OURS.iter().find(|(known, _)| *known == title);
        let words = ours.map_or(words, |(_, words)| vec![(*words).to_owned()]);
        match answer {
            Ok(made) => out.push(format!("{title}: not refused: {made}")),
            Err(why) if words.iter().all(|w| why.contains(w)) => {}
            Err(why) => out.push(format!("{title}: {why}\n  there {words:?}")),
        }
    }
    out
}

/// 8.5: what is refused is refused in the same words.
#[tokio::test(flavor = "multi_thread")]
async fn requests_by_hand_are_refused_as_recorded() {
    let Some(case) = Case::new("refused").await else {
        return;
    };
    let record = case.record("c-api-client-behaviour.txt");
    case.api
        .create(REVISIONS, &named(&case, "cre", json!({})))
        .await;
    let mut answers = of_a_draft(&case).await;
    answers.extend(of_new_ones(&case).await);
    case.publish(CRE).await;
    answers.extend(of_a_published_one(&case).await);
    let out = otherwise(&record, answers);
    assert!(out.is_empty(), "{}", out.join("\n"));
}

/// 8.5: server-side apply made the server panic there; a dry run was none (A9). What is made is listed alike.
#[tokio::test(flavor = "multi_thread")]
async fn requests_by_hand_are_obeyed_as_recorded() {
    let Some(case) = Case::new("hands").await else {
        return;
    };
    let record = case.record("c-api-client-behaviour.txt");
    for package in ["ssa", "cre"] {
        let object = named(&case, package, json!({}));
        if package == "cre" {
            case.api.create(REVISIONS, &object).await;
        }
        let name = format!("/deploy.{package}.ws1?fieldManager=hand");
        let path = case.api.path(REVISIONS, &name);
        case.api.client.apply(&path, &object).await.unwrap();
    }
    for (package, metadata) in [
        ("noname", json!({})),
        ("wrong", json!({ "name": "whatever" })),
        ("none", json!({ "name": "deploy.none.ws1" })),
        // There, the dry run was none.
        ("dry", json!({})),
    ] {
        let mut object = named(&case, package, json!({}));
        object["metadata"] = metadata;
        if package == "none" {
            object["spec"]["tasks"] = json!([]);
        }
        let made = case.api.create(REVISIONS, &object).await;
        assert_eq!(made["metadata"]["name"], format!("deploy.{package}.ws1"));
    }
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    for change in [label, lifecycle("Proposed"), lifecycle("Draft")] {
        patch(&case, "", change).await.unwrap();
    }
    case.publish(CRE).await;
    patch(&case, "", lifecycle("DeletionProposed"))
        .await
        .unwrap();
    for name in [CRE, "deploy.ssa.ws1"] {
        case.api.delete(REVISIONS, name).await.unwrap();
    }
    wait_for("both to be gone", async || {
        case.revisions("deploy").await.len() == 4
    })
    .await;
    let commands = [
        ("get", REVISIONS),
        ("get packagerevisionresources", RESOURCES),
    ];
    let out = differences(&case, &record, &commands).await;
    assert!(out.is_empty(), "{}", out.join("\n"));
}

/// How long an event may take; only a failure takes so long.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// A watch that is open.
struct Watch<S> {
    stream: S,
    rest: String,
}

impl<S, E: std::fmt::Debug> Watch<S>
where
    S: futures::Stream<Item = Result<bytes::Bytes, E>> + Unpin,
{
    /// The events up to and with one of this revision that holds, as type, name and object.
    async fn until(
        &mut self,
        name: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Vec<(String, String, Value)> {
        let mut events = Vec::new();
        loop {
            while let Some((line, rest)) = self.rest.split_once('\n') {
                let event: Value = serde_json::from_str(line).unwrap();
                self.rest = rest.to_owned();
                let object = &event["object"];
                let is = text(&object["metadata"]["name"]);
                let last = is == name && holds(object);
                events.push((text(&event["type"]), is, object.clone()));
                if last {
                    return events;
                }
            }
            let next = tokio::time::timeout(PATIENCE, self.stream.next()).await;
            let more = next.expect("an event in time").unwrap().unwrap();
            self.rest.push_str(std::str::from_utf8(&more).unwrap());
        }
    }
}

async fn watch(
    case: &Case,
    kind: Kind,
    query: &str,
) -> Watch<impl futures::Stream<Item = Result<bytes::Bytes, offshoot::ExitFailure>> + Unpin + use<>>
{
    let path = case.api.path(kind, &format!("?watch=true{query}"));
    Watch {
        stream: case.api.client.open(&path).await.unwrap(),
        rest: String::new(),
    }
}

/// What the record did while the watches were open.
async fn two_packages(case: &Case) {
    for repository in ["other", "deploy"] {
        let mut object = revision(case, "w");
        object["metadata"] = json!({});
        object["spec"]["repository"] = json!(repository);
        object["spec"]["tasks"] = json!([{ "type": "init", "init": { "description": "w" } }]);
        case.api.create(REVISIONS, &object).await;
        case.publish(&format!("{repository}.w.ws1")).await;
    }
    wait_for("the branch's row", async || {
        !case.api.get(REVISIONS, "deploy.w.main").await.is_null()
    })
    .await;
}

/// The list after that, object by object.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_holds_what_the_record_holds() {
    let deployments = [("deploy", Value::Null), ("other", Value::Null)];
    let Some(case) = Case::with("listed", &deployments).await else {
        return;
    };
    two_packages(&case).await;
    let recorded: Value = serde_json::from_str(&case.record("d-list.json")).unwrap();
    let mut out = Vec::new();
    for theirs in recorded["items"].as_array().unwrap() {
        let name = text(&theirs["metadata"]["name"]);
        let ours = case.api.get(REVISIONS, &name).await;
        let mut theirs = theirs.clone();
        if name == "deploy.w.main" {
            // The branch's row stands for what is there, whoever put it there.
            theirs["spec"]["tasks"].take();
        }
        missing(&name, &theirs, &ours, &mut out);
    }
    assert!(out.is_empty(), "{}", out.join("\n"));
}

/// There, selectors chose the first list alone, an update came twice, and the branch's row never (A6, A9).
#[tokio::test(flavor = "multi_thread")]
async fn watches_honour_selectors() {
    let deployments = [("deploy", Value::Null), ("other", Value::Null)];
    let Some(case) = Case::with("watch", &deployments).await else {
        return;
    };
    let queries = [
        "",
        "&fieldSelector=spec.repository%3Ddeploy",
        "&fieldSelector=spec.lifecycle%3DPublished",
        "&labelSelector=team%3Dcore",
    ];
    let mut watches = Vec::new();
    for query in queries {
        watches.push(watch(&case, REVISIONS, query).await);
    }
    two_packages(&case).await;
    let labels = json!({ "metadata": { "labels": { "team": "core" } } });
    let last = "deploy.w.ws1";
    let branch = "deploy.w.main";
    case.api.patch(REVISIONS, last, labels).await.unwrap();
    let mut all = Vec::new();
    for watch in &mut watches {
        let events = watch.until(last, |o| o["metadata"]["labels"]["team"] == "core");
        all.push(events.await);
    }
    let of = |i: usize, name: &str| -> Vec<(String, String)> {
        let events = all[i].iter().filter(|(_, n, _)| n == name);
        events
            .map(|(kind, _, o)| (kind.clone(), text(&o["spec"]["lifecycle"])))
            .collect()
    };
    let told = |events: &[(&str, &str)]| -> Vec<(String, String)> {
        let own = events
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        own.collect()
    };
    let life = [
        ("ADDED", "Draft"),
        ("MODIFIED", "Proposed"),
        ("MODIFIED", "Published"),
        ("MODIFIED", "Published"),
    ];
    for everything in [0, 1] {
        assert_eq!(of(everything, last), told(&life), "one change, one event");
        assert_eq!(of(everything, branch), told(&[("ADDED", "Published")]));
    }
    assert_eq!(of(0, "other.w.ws1"), told(&life[..3]));
    assert_eq!(of(1, "other.w.ws1"), [], "another repository");
    assert_eq!(
        of(2, last),
        told(&[("ADDED", "Published"), ("MODIFIED", "Published")])
    );
    assert_eq!(
        all[2].iter().filter(|(kind, ..)| kind == "ADDED").count(),
        12 + 4
    );
    assert_eq!(of(3, last), told(&[("ADDED", "Published")]));
    assert_eq!(all[3].len(), 1, "nothing else has the label");
}

/// What every clone of the record begins with, byte for byte.
#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_package_is_shown_as_recorded() {
    let Some(case) = Case::new("upstream").await else {
        return;
    };
    let record = case.record("e-0-upstream-demo-v1.txt");
    let mut count = 0;
    for file in record.lines().filter_map(|l| l.strip_prefix("=== ")) {
        assert_eq!(
            case.file("blueprints.demo.v1", file).await,
            section(&record, file),
            "{file}"
        );
        count += 1;
    }
    assert_eq!(count, 4);
}

/// There, with the database as cache, nobody was told of what came from git: a variant of a repository that was registered
/// later failed for minutes, and a tag that was pushed by hand made no event.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_from_git_is_told() {
    let Some(case) = Case::new("unseen").await else {
        return;
    };
    let mut variant = case.input("packagevariant-by-workspace-v1.yaml");
    variant["spec"]["upstream"]["repo"] = json!("later");
    case.api.create(VARIANTS, &variant).await;
    let name = text(&variant["metadata"]["name"]);
    let is = case.until(&name, "Stalled", |c| c.0 == "True").await;
    assert_eq!(is.1, "UpstreamNotFound", "{}", is.2);
    case.copy("blueprints", "unseen-later");
    case.register("later", "unseen-later", false, &Value::Null)
        .await;
    case.until_ready(&name).await;

    let mut watch = watch(&case, REVISIONS, "&fieldSelector=spec.repository%3Dlater").await;
    watch.until("later.app.v2", |_| true).await;
    case.git("later", &["tag", "app/v4", "app/v2"]);
    let sync = json!({ "spec": { "sync": { "runOnceAt": "2026-01-01T00:00:00Z" } } });
    case.api.patch(REPOSITORIES, "later", sync).await.unwrap();
    let events = watch.until("later.app.v4", |_| true).await;
    assert_eq!(events.last().unwrap().0, "ADDED");
    // 8.15: and it has events, which nothing had there.
    let listed = case.revisions("later").await;
    assert!(
        listed.iter().any(|(name, _)| name == "later.app.v4"),
        "{listed:?}"
    );
    let path = case.api.path(EVENTS, "");
    let events = case.api.client.get(&path).await.unwrap();
    let mut all = events["items"].as_array().unwrap().iter();
    assert!(
        all.any(|e| e["involvedObject"]["name"] == "later"),
        "{events}"
    );
}
