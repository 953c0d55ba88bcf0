//! What a visitor tries first: the rows of the record that went wrong there.

use serde_json::{Value, json};

use super::case::{Case, condition, parse, text};
use super::client::{MAPS, RESOURCES, REVISIONS, VARIANTS};
use crate::process::wait_for;

const POINT: &str = "config.injection.ConfigMap.site-config";
const AUTHORS: &str = "demo.example.com/checked";

/// A condition of a package revision.
async fn at(case: &Case, revision: &str, kind: &str) -> (String, String, String) {
    condition(&case.api.get(REVISIONS, revision).await, kind)
}

/// Turns the condition that the author's gate asks for, as a pipeline of theirs would.
pub(super) async fn check(case: &Case, revision: &str) {
    let mut resources = case.api.get(RESOURCES, revision).await;
    let kptfile = text(&resources["spec"]["resources"]["Kptfile"]);
    let turned = kptfile.replacen(
        "  conditions:\n",
        &format!("  conditions:\n  - type: {AUTHORS}\n    status: \"True\"\n    reason: Checked\n"),
        1,
    );
    assert_ne!(kptfile, turned, "the Kptfile has conditions");
    resources["spec"]["resources"]["Kptfile"] = json!(turned);
    let path = case.api.path(RESOURCES, &format!("/{revision}"));
    case.api.client.put(&path, &resources).await.unwrap();
}

/// 8.1 and 8.9: it never came to rest there, and the injected object was not watched.
/// R62, R92, R93.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_with_an_injection_point_comes_to_rest() {
    let Some(case) = Case::new("inject").await else {
        return;
    };
    case.map("eu", Value::Null, json!({ "site": "eu-1" })).await;
    case.ready("injection").await;
    let draft = "deploy.site.packagevariant-1";
    let met = (
        "True",
        "ConfigInjected",
        "injected resource \"eu\" from cluster",
    );
    let is = at(&case, draft, POINT).await;
    assert_eq!((is.0.as_str(), is.1.as_str(), is.2.as_str()), met);
    let gates = case.kptfile(draft).await["info"]["readinessGates"].to_string();
    assert!(gates.contains(POINT) && gates.contains(AUTHORS), "{gates}");
    let injected = case.file(draft, "inject.yaml").await;
    assert_eq!(parse(&injected)["data"]["site"], "eu-1");
    let named = &parse(&injected)["metadata"]["annotations"];
    assert_eq!(named["kpt.dev/injected-resource"], "eu");
    assert!(
        injected.contains("# injection point") && injected.contains("# injected here"),
        "{injected}"
    );
    case.rests().await;

    let patch = json!({ "data": { "site": "eu-2" } });
    case.api.patch(MAPS, "eu", patch).await.unwrap();
    wait_for("the change to be injected", async || {
        parse(&case.file(draft, "inject.yaml").await)["data"]["site"] == "eu-2"
    })
    .await;
    case.until_ready("site").await;
    check(&case, draft).await;
    case.publish(draft).await;
    case.until_ready("site").await;
    case.rests().await;
    assert_eq!(
        case.revisions("deploy").await,
        [(draft.to_owned(), "Published".to_owned())]
    );
}

/// 8.9: unmet gates stopped nothing there. V12: they hold on approval here.
/// R86, R87.
#[tokio::test(flavor = "multi_thread")]
async fn gates_stop_approval() {
    let Some(case) = Case::new("gates").await else {
        return;
    };
    let mut unmet = case.input("packagevariant-injection.yaml");
    let cases = [
        (
            "no-injectors",
            json!([]),
            "NoInjectors",
            "no injectors defined",
        ),
        (
            "no-such-name",
            json!([{ "kind": "ConfigMap", "name": "nowhere" }]),
            "NoResourceSelected",
            "no resource matched any injection selector for this injection point",
        ),
        (
            "no-such-kind",
            json!([{ "kind": "Secret", "name": "eu" }]),
            "NoResourceSelected",
            "no resource matched any injection selector for this injection point",
        ),
    ];
    for (name, injectors, reason, message) in cases {
        unmet["metadata"]["name"] = json!(name);
        unmet["spec"]["downstream"]["package"] = json!(name);
        unmet["spec"]["injectors"] = injectors;
        case.api.create(VARIANTS, &unmet).await;
        case.until_ready(name).await;
        let draft = format!("deploy.{name}.packagevariant-1");
        let is = at(&case, &draft, POINT).await;
        assert_eq!(
            (is.0.as_str(), is.1.as_str(), is.2.as_str()),
            ("False", reason, message),
            "{name}"
        );
        case.api.lifecycle(&draft, "Proposed", "").await.unwrap();
        let why = case
            .api
            .lifecycle(&draft, "Published", "/approval")
            .await
            .unwrap_err();
        assert!(why.contains(POINT) && why.contains(AUTHORS), "{why}");
        case.until_lifecycle(&draft, "Proposed").await;
    }
    assert!(!case.refs().contains("refs/tags"), "nothing was published");
}

/// 8.2: functions were prepended again at every reconcile there.
/// R71, R72.
#[tokio::test(flavor = "multi_thread")]
async fn dots_in_a_variants_name_prepend_once() {
    let Some(case) = Case::new("dots").await else {
        return;
    };
    for (input, package) in [
        ("pipeline-plain-name", "b-plain-name"),
        ("pipeline-dots.in.name", "b-dots-in-name"),
    ] {
        let name = case.ready(input).await;
        for touch in 0..3 {
            let patch = json!({ "metadata": { "labels": { "touch": touch.to_string() } } });
            case.api.patch(VARIANTS, &name, patch).await.unwrap();
        }
        case.until_ready(&name).await;
        let kptfile = case
            .kptfile(&format!("deploy.{package}.packagevariant-1"))
            .await;
        let names: Vec<String> = (kptfile["pipeline"]["mutators"]
            .as_array()
            .into_iter()
            .flatten())
        .map(|f| text(&f["name"]))
        .collect();
        assert_eq!(names, [format!("PackageVariant.{name}.ns.0")]);
    }
    case.rests().await;
}

/// 8.3: 854 attempts in 76 seconds there, and the draft flickered.
/// R111, R115.
#[tokio::test(flavor = "multi_thread")]
async fn one_failing_render_backs_off() {
    let Some(case) = Case::new("render").await else {
        return;
    };
    let name = case.variant("fail-pipeline-unknown-function").await;
    let is = case.until(&name, "Ready", |c| c.0 == "False").await;
    assert_eq!(is.1, "RenderFailed", "{}", is.2);
    assert!(is.2.contains("no-such-function:v1"), "{}", is.2);
    case.rests().await;
    assert_eq!(
        case.revisions("deploy").await,
        [],
        "a failed render leaves no draft"
    );
    let log = case.git("deploy", &["rev-list", "--all", "--count"]);
    assert_eq!(log.trim(), "1", "nor a commit");
}

/// 8.4: a number was ignored there, and no number meant the branch.
/// R2.
#[tokio::test(flavor = "multi_thread")]
async fn a_revision_number_can_be_named() {
    let Some(case) = Case::new("number").await else {
        return;
    };
    for (input, upstream) in [
        ("by-revision-1", "app/v1"),
        ("by-workspace-v1", "app/v1"),
        ("by-neither", "app/v2"),
    ] {
        let name = case.ready(input).await;
        let kptfile = case
            .kptfile(&format!("deploy.{name}.packagevariant-1"))
            .await;
        assert_eq!(kptfile["upstreamLock"]["git"]["ref"], upstream, "{input}");
        let stored = case.api.get(VARIANTS, &name).await;
        let given = case.input(&format!("packagevariant-{input}.yaml"));
        assert_eq!(
            stored["spec"]["upstream"], given["spec"]["upstream"],
            "stored as written"
        );
    }
    let name = case.variant("by-workspace-main").await;
    let is = case.until(&name, "Stalled", |c| c.0 == "True").await;
    assert_eq!(
        is.1, "UpstreamNotFound",
        "A2: a branch is no workspace: {}",
        is.2
    );
    let name = case.variant("by-revision-1-and-workspace-v2").await;
    let is = case.until(&name, "Stalled", |c| c.0 == "True").await;
    assert_eq!(is.1, "ValidationError", "two forms that disagree: {}", is.2);
}

/// 8.5: a dry run made the revision for real there; a duplicate was an internal error.
#[tokio::test(flavor = "multi_thread")]
async fn dry_run_creates_nothing() {
    let Some(case) = Case::new("dry").await else {
        return;
    };
    let object = revision(&case, "dry");
    let path = case.api.path(REVISIONS, "?dryRun=All");
    let answer = case.api.client.post(&path, &object).await.unwrap();
    assert_eq!(answer["metadata"]["name"], "deploy.dry.ws1");
    assert_eq!(case.revisions("deploy").await, []);
    assert!(!case.refs().contains("drafts/"), "nor a branch");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_is_a_conflict() {
    let Some(case) = Case::new("twice").await else {
        return;
    };
    let object = revision(&case, "cre");
    let made = case.api.create(REVISIONS, &object).await;
    assert_eq!(made["metadata"]["name"], "deploy.cre.ws1");
    let why = case.api.refused(REVISIONS, "", &object).await;
    assert!(
        why.contains("deploy.cre.ws1") && why.contains("already exists"),
        "{why}"
    );
    assert_eq!(case.revisions("deploy").await.len(), 1);
}

/// The record's way to make a revision by hand.
pub(super) fn revision(case: &Case, package: &str) -> Value {
    let mut object = case.input("packagerevision-init.yaml");
    object["metadata"]["name"] = json!(format!("deploy.{package}.ws1"));
    object["metadata"]["namespace"] = json!(case.api.namespace);
    object["spec"]["packageName"] = json!(package);
    object
}

/// 8.6: the same selectors, answers and refusals as there.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_field_selectors_are_refused() {
    let Some(case) = Case::new("select").await else {
        return;
    };
    for line in case.record("d-selectors-and-watch.txt").lines() {
        let Some((query, answer)) = line.strip_prefix("list ").and_then(|l| l.split_once(": "))
        else {
            continue;
        };
        // `!=` is refused there and served here.
        let Some((kind, selector)) = query
            .split_once(' ')
            .filter(|_| !answer.contains("operator"))
        else {
            continue;
        };
        let selector = selector
            .replace('=', "%3D")
            .replace("metadata.namespace%3Dbd", "metadata.namespace%3Dselect");
        let path = case.api.path(REVISIONS, &format!("?{kind}={selector}"));
        let got = case.api.client.get(&path).await;
        if let Some(names) = answer.strip_prefix("200 ") {
            let mut got: Vec<String> = (got.unwrap()["items"].as_array().into_iter().flatten())
                .map(|r| text(&r["metadata"]["name"]))
                .collect();
            got.sort();
            assert_eq!(names.replace('\'', "\""), format!("{got:?}"), "{query}");
        } else {
            let field = selector.split('%').next().unwrap_or_default();
            let why = got.unwrap_err().to_string();
            assert!(why.contains(field), "{answer} for {query}: {why}");
        }
    }
}

/// 8.11: the second variant got an internal error there, for ever. V15.
/// R51, V15.
#[tokio::test(flavor = "multi_thread")]
async fn two_variants_one_downstream() {
    let Some(case) = Case::new("dup").await else {
        return;
    };
    case.ready("dup-a").await;
    // Age counts in whole seconds, as everywhere in Kubernetes.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let younger = case.variant("dup-b").await;
    let is = case.until(&younger, "Stalled", |c| c.0 == "True").await;
    assert!(is.2.contains("dup-a"), "it names the other: {is:?}");
    case.until_ready("dup-a").await;
    case.rests().await;
    assert_eq!(
        case.revisions("deploy").await,
        [("deploy.dup.packagevariant-1".to_owned(), "Draft".to_owned())]
    );
}
