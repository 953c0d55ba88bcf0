//! `spec.rollout` and `spec.upstream.commit` at the door (F7).

use model::{HaltWhen, OpenWhen, StepMembers};
use serde_json::{Value, json};

fn set(rollout: Value) -> Result<model::VariantSetSpec, String> {
    let object = json!({
        "metadata": { "namespace": "fleet", "name": "fan" },
        "spec": {
            "upstream": { "repo": "up", "package": "web" },
            "targets": [{ "repositories": [{ "name": "edge" }] }],
            "rollout": rollout,
        },
    });
    let (_, _, spec) = api::read_set(&object).unwrap();
    spec.map_err(|problems| model::join_problems(&problems))
}

#[test]
fn a_rollout_is_read_with_its_defaults() {
    let read = set(json!({ "steps": [{ "name": "all" }] })).unwrap();
    let rollout = read.rollout.unwrap();
    assert_eq!(rollout.steps[0].members, StepMembers::Rest);
    assert_eq!((rollout.open.published, rollout.open.soak), (100, 0));
    assert_eq!(rollout.halt, HaltWhen::default());

    let read = set(json!({
        "steps": [
            { "name": "canary", "selector": { "matchLabels": { "ring": "0" } } },
            { "name": "tenth", "percent": 10 },
            { "name": "rest" },
        ],
        "open": { "published": 95, "soak": "2h" },
        "halt": { "failed": 3 },
    }));
    let rollout = read.unwrap().rollout.unwrap();
    assert_eq!(rollout.steps[1].members, StepMembers::Percent(10));
    assert_eq!(
        rollout.open,
        OpenWhen {
            published: 95,
            soak: 7200
        }
    );
    assert_eq!(rollout.halt.failed, 3);
    assert_eq!(set(Value::Null).unwrap().rollout, None);
}

/// Everything that is wrong is told at once, each with its field.
#[test]
fn what_is_wrong_with_a_rollout_is_told_with_its_field() {
    let told = set(json!({
        "steps": [
            { "name": "Canary", "selector": { "matchLabels": {} } },
            { "name": "tenth", "percent": 10, "selector": { "matchLabels": { "a": "b" } } },
            { "name": "none" },
            { "name": "more", "percent": 50 },
            { "name": "more", "percent": 20 },
            { "name": "most", "percent": 101 },
        ],
        "open": { "published": 0, "soak": "2 hours" },
        "halt": { "conflicts": -1, "failures": 0 },
    }))
    .unwrap_err();
    for wanted in [
        "spec.rollout.steps[0].name must be 1 to 63 lower case letters",
        "spec.rollout.steps[0].selector must name at least one label",
        "spec.rollout.steps[1] cannot have both `selector` and `percent`",
        "spec.rollout.steps[2] needs `selector` or `percent`: only the last step takes the rest",
        "spec.rollout.steps[4].name must be unique: there are two steps \"more\"",
        "spec.rollout.steps[4].percent counts the earlier steps' targets, too: it must be more than the 50",
        "spec.rollout.steps[5].percent must be at least 1 and at most 100",
        "spec.rollout.open.published must be at least 1 and at most 100",
        "spec.rollout.open.soak must be a duration",
        "spec.rollout.halt.conflicts must be at least 0",
        "spec.rollout.halt.failures: there is no such field",
    ] {
        assert!(told.contains(wanted), "{wanted} in {told}");
    }
    // Each field once: what has both is not told to have neither as well.
    for once in ["steps[1]", "steps[5]", "steps[0].selector"] {
        let field = format!("spec.rollout.{once}");
        assert_eq!(told.matches(&field).count(), 1, "{field} in {told}");
    }
    for (rollout, wanted) in [
        (json!({}), "spec.rollout.steps must have at least one entry"),
        (
            json!({ "steps": [{ "name": "a", "selector": { "matchLabel": { "a": "b" } } }] }),
            "did you mean \"matchLabels\"?",
        ),
        (
            json!({ "steps": vec![json!({ "name": "a", "percent": 1 }); 51] }),
            "spec.rollout.steps must not have more than 50 entries",
        ),
    ] {
        let told = set(rollout).unwrap_err();
        assert!(told.contains(wanted), "{wanted} in {told}");
    }
}

#[test]
fn a_variant_may_name_a_whole_commit_and_a_set_may_not() {
    let read = |commit: Value| {
        let object = json!({
            "metadata": { "namespace": "fleet", "name": "one" },
            "spec": {
                "upstream": { "repo": "up", "package": "web", "commit": commit },
                "downstream": { "repo": "edge", "package": "web" },
            },
        });
        let (_, _, spec) = api::read_variant(&object).unwrap();
        spec.map_err(|problems| model::join_problems(&problems))
    };
    let spec = read(json!("ab".repeat(20))).unwrap();
    assert_eq!(spec.upstream.commit.unwrap().to_string(), "ab".repeat(20));
    let again = json!({
        "metadata": { "namespace": "fleet", "name": "one" },
        "spec": api::write_variant_spec(&spec),
    });
    assert_eq!(api::read_variant(&again).unwrap().2.unwrap(), spec);
    for odd in [json!("abcdef"), json!(7), json!("AB".repeat(20)), json!("")] {
        let told = read(odd).unwrap_err();
        assert!(
            told.contains("spec.upstream.commit must be a whole commit id"),
            "{told}"
        );
    }
    let object = json!({
        "metadata": { "namespace": "fleet", "name": "fan" },
        "spec": {
            "upstream": { "repo": "up", "package": "web", "commit": "ab".repeat(20) },
            "targets": [{ "repositories": [{ "name": "edge" }] }],
        },
    });
    let problems = api::read_set(&object).unwrap().2.unwrap_err();
    let told = model::join_problems(&problems);
    assert!(
        told.contains("spec.upstream.commit: there is no such field"),
        "{told}"
    );
}
