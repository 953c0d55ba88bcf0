//! 8.15 and 8.16: whole objects. Whatever stands in an object of the record stands in ours, too, and means the same; ours says more.

use serde_json::{Value, json};

use super::case::{Case, condition, parse};
use super::client::{REPOSITORIES, RESOURCES, REVISIONS, SETS, VARIANTS};
use crate::process::wait_for;

/// What differs between any two runs, and what decisions change: versions that are git's commits there, texts of
/// failures, what a file of a listing holds.
const OTHERWISE: &[&str] = &[
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "publishTimestamp",
    "lastTransitionTime",
    "lastFullSyncTime",
    "publishedBy",
    "generation",
    "observedGeneration",
    "namespace",
    "commit",
    "gitCommitHash",
    "repo",
];
/// kubectl's own note of what somebody applied; and when a repository without a schedule is read next, which is all the
/// time here, and not promised.
const LEFT_OUT: [&str; 2] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "nextFullSyncTime",
];

/// Where ours lacks something of theirs, or says another thing.
pub(super) fn missing(place: &str, theirs: &Value, ours: &Value, out: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (key, value) in theirs {
                let here = format!("{place}.{key}");
                match ours.get(key) {
                    _ if LEFT_OUT.contains(&key.as_str()) => {}
                    _ if OTHERWISE.contains(&key.as_str()) && ours.contains_key(key) => {}
                    _ if value.is_null() => {}
                    Some(found) => missing(&here, value, found, out),
                    None => out.push(format!("{here} is missing")),
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            for (i, value) in theirs.iter().enumerate() {
                let same = |other: &&Value| match value.get("type") {
                    Some(kind) => other.get("type") == Some(kind),
                    None => ours.get(i) == Some(*other),
                };
                let here = format!("{place}[{i}]");
                match ours.iter().find(same) {
                    Some(found) => missing(&here, value, found, out),
                    None => out.push(format!("{here} is missing")),
                }
            }
        }
        // What a file holds is not shown in the record.
        (Value::String(shown), Value::String(_)) if shown == "..." => {}
        _ if theirs == ours => {}
        _ => out.push(format!("{place}: {theirs} there, {ours} here")),
    }
}

/// What an object lacks, each line with its name.
fn lacks(what: &str, record: &str, ours: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let mut ours = ours.clone();
    // An object without annotations has none that is missing.
    let annotations = &mut ours["metadata"]["annotations"];
    if annotations.is_null() {
        *annotations = json!({});
    }
    missing(what, &parse(record), &ours, &mut out);
    out
}

/// The object as somebody applied it.
pub(super) fn applied(record: &str) -> Value {
    let recorded = parse(record);
    let name = &recorded["metadata"]["name"];
    json!({
        "apiVersion": recorded["apiVersion"], "kind": recorded["kind"],
        "metadata": { "name": name }, "spec": recorded["spec"],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_hold_what_the_record_holds() {
    let Some(case) = Case::new("objects").await else {
        return;
    };
    let record = |name: &str| case.record(&format!("m-{name}.yaml"));
    let ready = applied(&record("packagevariant-ready"));
    case.api.create(VARIANTS, &ready).await;
    case.until_ready("ready").await;
    let name = "deploy.ready.packagevariant-1";
    let get = async |kind, name: &str| case.api.get(kind, name).await;
    let mut out = Vec::new();
    for (file, kind, name) in [
        ("packagevariant-ready", VARIANTS, "ready"),
        ("packagerevision-draft", REVISIONS, name),
        ("packagerevisionresources", RESOURCES, name),
        ("repository", REPOSITORIES, "deploy"),
        ("packagerevision-upstream", REVISIONS, "blueprints.app.v1"),
    ] {
        out.extend(lacks(file, &record(file), &get(kind, name).await));
    }
    case.publish(name).await;
    let published = "packagerevision-published";
    out.extend(lacks(
        published,
        &record(published),
        &get(REVISIONS, name).await,
    ));

    let file = "packagevariantset-ready";
    case.api.create(SETS, &applied(&record(file))).await;
    wait_for("the set", async || {
        condition(&get(SETS, "set-ready").await, "Ready").0 == "True"
    })
    .await;
    out.extend(lacks(file, &record(file), &get(SETS, "set-ready").await));
    assert!(out.is_empty(), "{}", out.join("\n"));
}

/// A4a: the conditions stand as in the record, the texts say what is missing.
#[tokio::test(flavor = "multi_thread")]
async fn objects_that_stall_have_the_recorded_conditions() {
    let Some(case) = Case::new("stalling").await else {
        return;
    };
    for (kind, name) in [(VARIANTS, "packagevariant"), (SETS, "packagevariantset")] {
        let record = case.record(&format!("m-{name}-stalled.yaml"));
        let object = applied(&record);
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        case.api.create(kind, &object).await;
        for recorded in parse(&record)["status"]["conditions"].as_array().unwrap() {
            let what = recorded["type"].as_str().unwrap();
            wait_for(&format!("{what} of {name}"), async || {
                let ours = condition(&case.api.get(kind, &name).await, what);
                recorded["status"] == json!(ours.0) && !ours.2.is_empty()
            })
            .await;
        }
    }
}

/// The Kptfile of a proposal and of what is published, and all files of the draft and of its upgrade (V14: what is
/// rendered again there, and says so in its status, is not touched here).
#[tokio::test(flavor = "multi_thread")]
async fn files_after_each_step_are_those_of_the_record() {
    let Some(case) = Case::new("steps").await else {
        return;
    };
    case.ready("git-layout").await;
    let (first, second) = ("deploy.n1.packagevariant-1", "deploy.n1.packagevariant-2");
    same_files(&case, "n-files-1-draft.txt", first).await;
    case.api.lifecycle(first, "Proposed", "").await.unwrap();
    same_kptfile(&case, "n-kptfile-2-proposed.yaml", first).await;
    case.api
        .lifecycle(first, "Published", "/approval")
        .await
        .unwrap();
    same_kptfile(&case, "n-kptfile-3-published.yaml", first).await;
    let patch = json!({ "spec": { "upstream": { "workspaceName": "v2" } } });
    case.api.patch(VARIANTS, "n1", patch).await.unwrap();
    case.until_lifecycle(second, "Draft").await;
    case.until_ready("n1").await;
    same_files(&case, "n-files-4-upgrade-draft.txt", second).await;
    let draft = case.api.get(REVISIONS, second).await;
    let record = case.record("n-packagerevision-upgrade-draft.yaml");
    let out = lacks("the upgrade", &record, &draft);
    assert!(out.is_empty(), "{}", out.join("\n"));
}

async fn same_kptfile(case: &Case, record: &str, revision: &str) {
    let record = case.record(record);
    let ours = case.kptfile(revision).await;
    let mut theirs = parse(&record);
    theirs.as_object_mut().unwrap().remove("status");
    let mut out = Vec::new();
    missing(revision, &theirs, &ours, &mut out);
    assert!(out.is_empty(), "{}", out.join("\n"));
}

/// Every resource means what the record says, the context apart (V13).
async fn same_files(case: &Case, record: &str, revision: &str) {
    let record = case.record(record);
    let mut count = 0;
    for part in record.split("=== ").skip(1) {
        let (file, text) = part.split_once('\n').unwrap();
        let file = file.trim_end_matches(" ===").trim();
        if !file.ends_with(".yaml") || file == "package-context.yaml" {
            continue;
        }
        count += 1;
        let ours = parse(&case.file(revision, file).await);
        assert_eq!(ours, parse(text), "{revision} {file}");
    }
    assert!(count > 3, "{record}");
}
