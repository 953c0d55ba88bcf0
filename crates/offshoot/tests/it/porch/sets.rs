//! 8.12 and 8.13: sets, their variants and their failures.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::case::{Case, condition, text};
use super::client::{MAPS, SETS, VARIANTS};
use super::failures::document;
use crate::process::wait_for;

/// Sets that work as they do there: the same variants with the same specs.
const SAME: [&str; 7] = [
    "repositories",
    "repository-selector",
    "object-selector",
    "all-expressions",
    "collide-same-target",
    "long-name-nnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
    "upstream-by-revision",
];

/// Sets that are refused in the same words.
const REFUSED: [&str; 4] = [
    "empty-targets",
    "target-with-two-selectors",
    "target-with-none",
    "both-key-and-keyexpr",
];

/// Sets that cannot work as a whole: reason of Stalled, and what the message says.
const STALLED: [(&str, &str, &str); 10] = [
    (
        "unknown-kind",
        "NoMatchingTargets",
        "no matches for kind \"Nothing\" in version \"example.test/v1\"",
    ),
    (
        "cel-syntax-error",
        "TemplateError",
        "template.downstream.packageExpr: ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>'",
    ),
    (
        "cel-undeclared",
        "TemplateError",
        "ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')",
    ),
    (
        "cel-non-string",
        "TemplateError",
        "unsupported type conversion from 'int' to string",
    ),
    ("cel-repository-spec", "TemplateError", "no such key: spec"),
    (
        "upstream-missing",
        "UpstreamNotFound",
        "could not find upstream package revision 'app/v9' in repo 'blueprints'",
    ),
    (
        "upstream-empty",
        "ValidationError",
        "spec.upstream.package is a required field; spec.upstream.repo is a required field",
    ),
    (
        "missing-repository-with-template",
        "RepositoryNotFound",
        "repository \"nope\" could not be loaded",
    ),
    (
        "missing-repository-no-template",
        "RepositoryNotFound",
        "repository \"nope\" could not be loaded",
    ),
    (
        "object-selector-default-repo",
        "RepositoryNotFound",
        "repository \"site-1\" could not be loaded",
    ),
];

async fn world(namespace: &str) -> Option<Case> {
    let labels =
        |region: &str| json!({ "tier": "prod", "region": region, "x": format!("val-{region}") });
    let repositories = [
        ("deploy", Value::Null),
        ("east", labels("east")),
        ("west", labels("west")),
        ("north", Value::Null),
        ("east-west", Value::Null),
    ];
    let case = Case::with(namespace, &repositories).await?;
    for (name, labels) in [
        ("site-1", json!({ "kind": "site", "repo": "east" })),
        ("site-2", json!({ "kind": "site", "repo": "west" })),
        ("site-x", Value::Null),
    ] {
        case.map(name, labels, json!({})).await;
    }
    Some(case)
}

async fn set(case: &Case, name: &str) -> Value {
    let object = case.input(&format!("packagevariantset-{name}.yaml"));
    case.api.create(SETS, &object).await;
    wait_for(&format!("a word of the set {name}"), async || {
        let set = case.api.get(SETS, name).await;
        let (stalled, ready) = (condition(&set, "Stalled"), condition(&set, "Ready"));
        // Objects of a kind that nothing read before are listed first: no answer yet.
        let listing = stalled.0 == "False" && ready.1 == "SelectionUnknown";
        !stalled.0.is_empty() && !ready.0.is_empty() && !listing
    })
    .await;
    case.api.get(SETS, name).await
}

/// The variants of a set, with their specs.
async fn variants(case: &Case, set: &str) -> BTreeMap<String, Value> {
    let all = case.api.list(VARIANTS, "").await;
    let own = all
        .into_iter()
        .filter(|v| v["metadata"]["ownerReferences"][0]["name"] == set);
    own.map(|v| (text(&v["metadata"]["name"]), v["spec"].clone()))
        .collect()
}

fn recorded(document: &Value) -> BTreeMap<String, Value> {
    let all = document["variants"].as_array().into_iter().flatten();
    all.map(|v| (text(&v["name"]), v["spec"].clone())).collect()
}

/// R131, R138, R160-R163.
#[tokio::test(flavor = "multi_thread")]
async fn set_cases() {
    // The namespace is the record's own: an expression shows it.
    let Some(case) = world("bj").await else {
        return;
    };
    let record = case.record("j-packagevariantset-cases.yaml");
    let mut wrong = Vec::new();
    for name in SAME {
        set(&case, name).await;
        let theirs = recorded(&document(&record, name));
        wait_for(&format!("the variants of {name}"), async || {
            variants(&case, name).await.len() == theirs.len()
        })
        .await;
        let ours = variants(&case, name).await;
        if ours != theirs {
            wrong.push(format!("{name}: {ours:?}\n  there {theirs:?}"));
        }
    }
    for name in REFUSED {
        let is = set(&case, name).await;
        let theirs = document(&record, name);
        for kind in ["Stalled", "Ready"] {
            let (is, there) = (condition(&is, kind), condition(&theirs, kind));
            if is != there {
                wrong.push(format!("{name}: {is:?}\n  there {there:?}"));
            }
        }
    }
    for (name, reason, words) in STALLED {
        let set = set(&case, name).await;
        let is = condition(&set, "Stalled");
        let right = is.0 == "True" && is.1 == reason && is.2.contains(words);
        if !right
            || condition(&set, "Ready").0 != "False"
            || !variants(&case, name).await.is_empty()
        {
            wrong.push(format!("{name}: {is:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{}", wrong.join("\n"));
}

/// 8.12: one bad target stopped all there. S2: the others go on, and the set says what is wrong.
/// R155, S2.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_fails_stops_no_other() {
    let Some(case) = world("partial").await else {
        return;
    };
    let is = set(&case, "cel-missing-key").await;
    let ready = condition(&is, "Ready");
    assert_eq!(ready.0, "False", "{ready:?}");
    assert!(ready.2.contains("no such key: absent"), "{ready:?}");
    let made: Vec<String> = variants(&case, "cel-missing-key")
        .await
        .into_keys()
        .collect();
    assert_eq!(made, ["cel-missing-key-east-ok"]);

    let is = set(&case, "missing-repository-with-template").await;
    let ready = condition(&is, "Ready");
    assert!(
        ready.0 == "False" && ready.2.contains("repository \"nope\""),
        "{ready:?}"
    );
    let is = set(&case, "no-objects-selected").await;
    assert!(
        is["status"]["conditions"].to_string().contains("select"),
        "S7: it says so: {is}"
    );
}

/// 8.12: the name was ignored there, and every object of the kind taken.
/// R135.
#[tokio::test(flavor = "multi_thread")]
async fn object_selector_by_name() {
    let Some(case) = world("byname").await else {
        return;
    };
    set(&case, "object-selector-by-name").await;
    case.until_ready("object-selector-by-name-north-on-site-x")
        .await;
    let made: Vec<String> = variants(&case, "object-selector-by-name")
        .await
        .into_keys()
        .collect();
    assert_eq!(made, ["object-selector-by-name-north-on-site-x"]);
}

/// 8.12: the last one won there, or one was silently missing.
/// R161, S1.
#[tokio::test(flavor = "multi_thread")]
async fn colliding_targets_are_reported() {
    let Some(case) = world("collide").await else {
        return;
    };
    for (name, about) in [
        ("collide-two-targets", "c2"),
        (
            "collide-ambiguous-names",
            "collide-ambiguous-names-east-west-a",
        ),
    ] {
        let is = set(&case, name).await;
        let ready = condition(&is, "Ready");
        assert_eq!(ready.0, "False", "{name}: {ready:?}");
        assert!(ready.2.contains(about), "{name}: {ready:?}");
    }
}

/// 8.13: objects were not watched there.
/// R123, R135.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_follows_its_objects() {
    let Some(case) = world("scale").await else {
        return;
    };
    let scale = case.input("packagevariantset-scale.yaml");
    case.api.create(SETS, &scale).await;
    let are = async |names: &[&str]| {
        wait_for(&format!("the variants {names:?}"), async || {
            variants(&case, "scale")
                .await
                .into_keys()
                .collect::<Vec<_>>()
                == *names
        })
        .await;
    };
    are(&["scale-deploy-k-site-1", "scale-deploy-k-site-2"]).await;
    case.map("site-3", json!({ "kind": "site" }), json!({}))
        .await;
    are(&[
        "scale-deploy-k-site-1",
        "scale-deploy-k-site-2",
        "scale-deploy-k-site-3",
    ])
    .await;
    case.until_ready("scale-deploy-k-site-1").await;
    case.publish("deploy.k-site-1.packagevariant-1").await;
    case.api.delete(MAPS, "site-1").await.unwrap();
    are(&["scale-deploy-k-site-2", "scale-deploy-k-site-3"]).await;
    let published = "deploy.k-site-1.packagevariant-1";
    case.until_lifecycle(published, "DeletionProposed").await;
    case.api.delete(SETS, "scale").await.unwrap();
    are(&[]).await;
    let left = case.revisions("deploy").await;
    assert_eq!(
        left,
        [(published.to_owned(), "DeletionProposed".to_owned())]
    );
}

/// V11: it watches names that do not exist yet.
/// R113, R168.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_notices_the_upstream_that_it_waits_for() {
    let Some(case) = world("late").await else {
        return;
    };
    let mut waiting = case.input("packagevariantset-repositories.yaml");
    waiting["spec"]["upstream"]["repo"] = json!("later");
    case.api.create(SETS, &waiting).await;
    wait_for("the set to miss its upstream", async || {
        condition(&case.api.get(SETS, "repositories").await, "Stalled").1 == "UpstreamNotFound"
    })
    .await;
    case.copy("blueprints", "late-upstream");
    case.register("later", "late-upstream", false, &Value::Null)
        .await;
    case.until_ready("repositories-east-r-a").await;
}
