//! 8.14: variants that cannot work say so, in the record's words where they are right.

use serde_json::Value;

use super::case::{Case, condition, parse, text};
use super::client::VARIANTS;
use crate::process::wait_for;

/// What a failing variant says: reason of Stalled (empty: not stalled), reason of Ready, and
/// what the message names. The record's own words where this says `None`.
type Words = Option<(&'static str, &'static str, &'static str)>;

const CASES: [(&str, Words); 12] = [
    (
        "upstream-package-missing",
        Some((
            "UpstreamNotFound",
            "UpstreamNotFound",
            "'nope/v1' in repo 'blueprints'",
        )),
    ),
    (
        "upstream-repository-missing",
        Some((
            "UpstreamNotFound",
            "UpstreamNotFound",
            "in repo 'nope': the repository is not registered",
        )),
    ),
    (
        "upstream-workspace-missing",
        Some((
            "UpstreamNotFound",
            "UpstreamNotFound",
            "'app/v9' in repo 'blueprints'",
        )),
    ),
    (
        "downstream-repository-missing",
        Some((
            "DownstreamRepositoryNotFound",
            "DownstreamRepositoryNotFound",
            "'nope'",
        )),
    ),
    ("empty-spec", None),
    ("missing-fields", None),
    ("bad-policies", None),
    ("reserved-context-keys", None),
    ("injector-without-name", None),
    (
        "bad-package-name",
        Some(("ValidationError", "Error", "\"Bad_Name\"")),
    ),
    (
        "pipeline-unknown-function",
        Some(("", "RenderFailed", "no-such-function:v1")),
    ),
    (
        "pipeline-failing-function",
        Some(("", "RenderFailed", "`data.namespace` should not be empty")),
    ),
];

/// The document of a case in a record of many.
pub(super) fn document(record: &str, name: &str) -> Value {
    let start = format!("# {name}\n");
    parse(
        record
            .split("---\n")
            .find(|d| d.starts_with(&start))
            .unwrap(),
    )
}

fn differs(name: &str, words: Words, object: &Value, recorded: &Value) -> Option<String> {
    let (stalled, ready) = (condition(object, "Stalled"), condition(object, "Ready"));
    let right = match words {
        None => {
            let wrapped = serde_json::json!({ "status": recorded });
            stalled == condition(&wrapped, "Stalled") && ready == condition(&wrapped, "Ready")
        }
        Some(("", reason, names)) => {
            stalled.0 == "False"
                && ready.0 == "False"
                && ready.1 == reason
                && ready.2.contains(names)
        }
        Some((reason, then, names)) => {
            stalled.0 == "True"
                && stalled.1 == reason
                && stalled.2.contains(names)
                && (ready.0.as_str(), ready.1.as_str()) == ("False", then)
        }
    };
    let go = stalled.2.contains("&v1alpha1") || ready.2.contains("&v1alpha1");
    (!right || go).then(|| format!("{name}: {stalled:?} {ready:?}\n  there {recorded}"))
}

/// R16, R110-R113.
#[tokio::test(flavor = "multi_thread")]
async fn failing_statuses_of_variants() {
    let Some(case) = Case::new("fail").await else {
        return;
    };
    let record = case.record("l-packagevariant-failures.yaml");
    for (name, _) in CASES {
        case.variant(&format!("fail-{name}")).await;
    }
    let mut wrong = Vec::new();
    for (name, words) in CASES {
        wait_for(name, async || {
            condition(&case.api.get(VARIANTS, name).await, "Ready").0 == "False"
        })
        .await;
        let object = case.api.get(VARIANTS, name).await;
        wrong.extend(differs(name, words, &object, &document(&record, name)));
        if text(&object["metadata"]["name"]) != name {
            wrong.push(format!("{name} is gone"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{}", wrong.join("\n"));
    case.rests().await;
    assert_eq!(
        case.revisions("deploy").await,
        [],
        "V2: no draft is left behind"
    );
}
