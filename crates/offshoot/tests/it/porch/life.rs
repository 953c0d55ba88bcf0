//! Comments, drafts that upstream overtakes, deletion, retargeting and adoption.

use serde_json::{Value, json};

use super::case::{Case, condition, parse};
use super::client::{REVISIONS, VARIANTS};
use super::first::{check, revision};
use crate::process::wait_for;

/// The comments of a text, without the mark that a clone adds.
fn comments(text: &str) -> Vec<String> {
    let found = text
        .lines()
        .filter_map(|l| l.split_once('#').map(|(_, c)| c.trim()));
    found
        .filter(|c| !c.starts_with("kpt-merge"))
        .map(str::to_owned)
        .collect()
}

/// The files of the package `demo` as upstream has them, and as a revision has them.
async fn same_comments(case: &Case, version: &str, revision: &str) {
    for file in ["Kptfile", "cm.yaml", "package-context.yaml"] {
        let upstream = case.record(&format!("inputs/packages/demo-{version}/{file}"));
        let ours = case.file(revision, file).await;
        assert_eq!(
            comments(&ours),
            comments(&upstream),
            "{revision} {file}:\n{ours}"
        );
    }
}

/// 8.7: all comments of the Kptfile were lost by the clone there, others by the upgrade.
/// R76.
#[tokio::test(flavor = "multi_thread")]
async fn comments_survive_clone_and_upgrade() {
    let Some(case) = Case::new("comments").await else {
        return;
    };
    for input in [
        "comments-plain",
        "comments-context",
        "comments-pipeline",
        "comments-app",
    ] {
        case.ready(input).await;
    }
    for name in ["plain", "context", "pipe"] {
        same_comments(&case, "v1", &format!("deploy.{name}.packagevariant-1")).await;
    }
    let context = parse(
        &case
            .file("deploy.context.packagevariant-1", "package-context.yaml")
            .await,
    );
    let wanted =
        json!({ "name": "context", "package-path": "context", "region": "eu-2", "zone": "a" });
    assert_eq!(context["data"], wanted);
    let plain = parse(
        &case
            .file("deploy.plain.packagevariant-1", "package-context.yaml")
            .await,
    );
    assert_eq!(
        plain["data"]["region"], "eu-1",
        "V13: upstream's own keys stay"
    );
    for name in ["plain", "pipe", "app", "context"] {
        let record = format!("e-1-clone-{name}.txt");
        let revision = format!("deploy.{name}.packagevariant-1");
        values_of_the_record(&case, &record, &revision).await;
    }

    for name in ["plain", "context", "pipe", "app"] {
        let first = format!("deploy.{name}.packagevariant-1");
        if name != "app" {
            check(&case, &first).await;
        }
        case.publish(&first).await;
        let patch = json!({ "spec": { "upstream": { "workspaceName": "v2" } } });
        case.api.patch(VARIANTS, name, patch).await.unwrap();
    }
    for name in ["plain", "context", "pipe", "app"] {
        let second = format!("deploy.{name}.packagevariant-2");
        case.until_lifecycle(&second, "Draft").await;
        if name != "app" {
            same_comments(&case, "v2", &second).await;
        }
        let cm = if name == "app" {
            "deployment.yaml"
        } else {
            "cm.yaml"
        };
        let (ours, record) = (
            case.file(&second, cm).await,
            case.record(&format!("e-2-upgrade-{name}.txt")),
        );
        assert_eq!(parse(&ours), parse(&section(&record, cm)), "{name} {cm}");
    }
}

/// A file in a record of a whole package.
pub(super) fn section(record: &str, file: &str) -> String {
    let start = format!("=== {file}\n");
    let rest = record.split_once(&start).unwrap().1;
    let text = rest.split("\n=== ").next().unwrap_or_default();
    format!("{}\n", text.trim_end_matches('\n'))
}

/// Every resource file means what the record says, the context apart (V13).
async fn values_of_the_record(case: &Case, record: &str, revision: &str) {
    let record = case.record(record);
    for file in record.lines().filter_map(|l| l.strip_prefix("=== ")) {
        if !file.ends_with(".yaml") || file == "package-context.yaml" {
            continue;
        }
        let ours = case.file(revision, file).await;
        assert_eq!(
            parse(&ours),
            parse(&section(&record, file)),
            "{revision} {file}"
        );
    }
}

/// 8.8: the draft was left behind and the variant in error there. V18: it is brought up to date.
/// R27.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_follows_its_upstream() {
    let Some(case) = Case::new("follow").await else {
        return;
    };
    case.ready("draft-then-v2").await;
    let draft = "deploy.draft.packagevariant-1";
    let patch = json!({ "spec": { "upstream": { "workspaceName": "v2" } } });
    case.api.patch(VARIANTS, "draft", patch).await.unwrap();
    wait_for("the draft to stand on v2", async || {
        case.kptfile(draft).await["upstreamLock"]["git"]["ref"] == "app/v2"
    })
    .await;
    case.until_ready("draft").await;
    case.publish(draft).await;
    case.rests().await;
    assert_eq!(
        case.revisions("deploy").await,
        rows(&[(draft, "Published")])
    );
}

fn rows(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

/// 8.10: what becomes of a downstream when its variant goes.
/// R10, R103-R105.
#[tokio::test(flavor = "multi_thread")]
async fn deletion_policies() {
    let Some(case) = Case::new("delete").await else {
        return;
    };
    let states = ["draft", "proposed", "published"];
    for policy in ["delete", "orphan"] {
        for state in states {
            let name = case.ready(&format!("deletion-{policy}-{state}")).await;
            let revision = format!("deploy.{name}.packagevariant-1");
            if state == "proposed" {
                case.api.lifecycle(&revision, "Proposed", "").await.unwrap();
            } else if state == "published" {
                case.publish(&revision).await;
            }
        }
    }
    for policy in ["delete", "orphan"] {
        for state in states {
            let name = format!("{policy}-{state}");
            case.api.delete(VARIANTS, &name).await.unwrap();
            wait_for("the variant to go", async || {
                case.api.get(VARIANTS, &name).await.is_null()
            })
            .await;
        }
    }
    let left = rows(&[
        (
            "deploy.delete-published.packagevariant-1",
            "DeletionProposed",
        ),
        ("deploy.orphan-draft.packagevariant-1", "Draft"),
        ("deploy.orphan-proposed.packagevariant-1", "Proposed"),
        ("deploy.orphan-published.packagevariant-1", "Published"),
    ]);
    assert_eq!(case.revisions("deploy").await, left);
    for (name, _) in left {
        let owners = case.api.get(REVISIONS, &name).await["metadata"]["ownerReferences"].take();
        assert_eq!(owners.as_array().map_or(0, Vec::len), 0, "{name}: {owners}");
    }
}

/// 8.10, its end: the downstream changed, and changed back.
/// R31.
#[tokio::test(flavor = "multi_thread")]
async fn retarget_and_back() {
    let Some(case) = Case::new("move").await else {
        return;
    };
    for policy in ["delete", "orphan"] {
        let old = format!("move-{policy}");
        let mut object = case.input("packagevariant-deletion-delete-published.yaml");
        object["metadata"]["name"] = json!(old);
        object["spec"]["downstream"]["package"] = json!(old);
        object["spec"]["deletionPolicy"] = json!(policy);
        case.api.create(VARIANTS, &object).await;
        case.until_ready(&old).await;
        case.publish(&format!("deploy.{old}.packagevariant-1"))
            .await;
        retarget(&case, &old, &format!("{old}-new")).await;
        case.until_lifecycle(&format!("deploy.{old}-new.packagevariant-1"), "Draft")
            .await;
    }
    case.until_lifecycle("deploy.move-delete.packagevariant-1", "DeletionProposed")
        .await;
    wait_for("the old one to be orphaned", async || {
        let old = "deploy.move-orphan.packagevariant-1";
        let orphan = case.api.get(REVISIONS, old).await;
        assert_eq!(orphan["spec"]["lifecycle"], "Published");
        let owners = orphan["metadata"]["ownerReferences"].as_array();
        owners.map_or(0, Vec::len) == 0
    })
    .await;

    retarget(&case, "move-delete", "move-delete").await;
    case.until_lifecycle("deploy.move-delete.packagevariant-1", "Published")
        .await;
    wait_for("the draft elsewhere to go", async || {
        case.api
            .get(REVISIONS, "deploy.move-delete-new.packagevariant-1")
            .await
            .is_null()
    })
    .await;
    case.until_ready("move-delete").await;
    case.rests().await;
}

async fn retarget(case: &Case, variant: &str, package: &str) {
    let patch = json!({ "spec": { "downstream": { "package": package } } });
    case.api.patch(VARIANTS, variant, patch).await.unwrap();
}

/// 8.11: revisions made by hand, then variants that adopt them or not.
/// R9, R100-R102.
#[tokio::test(flavor = "multi_thread")]
async fn adoption() {
    let Some(case) = Case::new("adopt").await else {
        return;
    };
    for package in ["ad-draft", "ad-pub", "none-draft", "none-pub"] {
        let mut object = revision(&case, package);
        object["metadata"] = json!({ "labels": { "mine": "yes" } });
        object["spec"]["workspaceName"] = json!("hand");
        object["spec"]["tasks"] = json!([{ "type": "clone", "clone": { "upstreamRef": { "upstreamRef": { "name": "blueprints.app.v1" } } } }]);
        case.api.create(REVISIONS, &object).await;
        if package.ends_with("pub") {
            case.publish(&format!("deploy.{package}.hand")).await;
        }
    }
    for name in ["ad-draft", "ad-pub"] {
        case.ready(&format!("adoption-{name}")).await;
        let adopted = case
            .api
            .get(REVISIONS, &format!("deploy.{name}.hand"))
            .await;
        let meta = &adopted["metadata"];
        assert_eq!(meta["ownerReferences"][0]["name"], name, "{meta}");
        assert_eq!(
            (&meta["labels"]["by"], &meta["labels"]["mine"]),
            (&json!("variant"), &json!("yes"))
        );
        assert_eq!(meta["annotations"]["note"], "variant");
    }
    case.ready("adoption-none-draft").await;
    let foreign = case.api.get(REVISIONS, "deploy.none-draft.hand").await;
    assert_eq!(
        foreign["metadata"]["labels"]["by"],
        Value::Null,
        "V15: left alone"
    );
    let name = case.variant("adoption-none-pub").await;
    let is = case.until(&name, "Stalled", |c| c.0 == "True").await;
    assert_eq!(is.1, "DownstreamExistsUnowned", "{}", is.2);

    let patch = json!({ "spec": { "labels": { "by": "changed" } } });
    case.api.patch(VARIANTS, "ad-draft", patch).await.unwrap();
    wait_for("the change to be seen", async || {
        let variant = case.api.get(VARIANTS, "ad-draft").await;
        variant["status"]["observedGeneration"] == variant["metadata"]["generation"]
    })
    .await;
    case.rests().await;
    let adopted = case.api.get(REVISIONS, "deploy.ad-draft.hand").await;
    assert_eq!(
        adopted["metadata"]["labels"]["by"], "variant",
        "R52: written once"
    );
    let ready = condition(&case.api.get(VARIANTS, "ad-draft").await, "Stalled");
    assert_eq!(ready.0, "False");
}
