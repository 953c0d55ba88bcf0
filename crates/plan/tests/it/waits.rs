//! What of a set waits for a person (F6).

use model::Standing;
use plan::set::{SetOutcome, decide, status_after, waits};
use serde_json::json;

use crate::wire::Json;

/// Where a variant stands, as its other facts say.
pub(crate) fn standing(world: &Json) -> Standing {
    let ready = world.or("ready", "True");
    match (world.text("at").as_deref(), ready.as_str()) {
        _ if world.text("conflicts").is_some() => Standing::Conflicts,
        _ if world.text("gates").is_some() => Standing::Gates,
        _ if world.flag("stalled") => Standing::Failed,
        (_, "False") => Standing::Waiting,
        (Some("Draft"), _) => Standing::Draft,
        (Some("Proposed"), _) => Standing::Proposed,
        _ => Standing::UpToDate,
    }
}

fn world(variants: &serde_json::Value) -> Json {
    let packages: Vec<_> = variants.as_array().map_or_else(Vec::new, |all| {
        let package =
            |v: &serde_json::Value| v["downstream"].as_str().unwrap_or_default()[5..].to_owned();
        all.iter().map(package).collect()
    });
    Json(json!({
        "set": { "targets": [{ "repositories": { "east": packages } }] },
        "repositories": { "east": {} },
        "variants": variants,
    }))
}

fn one(name: &str, more: &serde_json::Value) -> serde_json::Value {
    let mut variant = json!({ "name": format!("fan-east-{name}"), "downstream": format!("east/{name}"), "listed": true });
    for (key, value) in more.as_object().expect("a map") {
        variant[key] = value.clone();
    }
    variant
}

#[test]
fn each_variant_that_waits_is_named_under_what_it_waits_for() {
    let variants = json!([
        one("a", &json!({ "at": "Published" })),
        one(
            "b",
            &json!({ "at": "Draft", "conflicts": "2", "ready": "False" })
        ),
        one("c", &json!({ "at": "Draft", "gates": "1" })),
        one("d", &json!({ "at": "Draft" })),
        one("e", &json!({ "at": "Proposed" })),
        one(
            "f",
            &json!({ "stalled": true, "ready": "False", "reason": "UpstreamNotFound" })
        ),
    ]);
    let o = crate::set::observed(&world(&variants));
    let text = waits(&o, &decide(&o));
    for line in [
        "waits for a person:",
        "- 1 failed: fan-east-f (UpstreamNotFound)",
        "- 1 with conflicts to decide: fan-east-b",
        "- 1 with gates that are not true: fan-east-c",
        "- 1 with a draft to propose: fan-east-d",
        "  hint: offshoot rpkg propose -l offshoot.dev/set=fan",
        "- 1 with a proposal to approve: fan-east-e",
        "  hint: offshoot rpkg approve -l offshoot.dev/set=fan",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    assert!(!text.contains("fan-east-a"), "{text}");
    let plan = decide(&o);
    let done: Vec<SetOutcome> = plan.steps.iter().map(|_| SetOutcome::Done).collect();
    let status = status_after(&o, &plan, &done).expect("a status");
    assert_eq!(
        (status.up_to_date, status.conflicted, status.gated),
        (1, 1, 1)
    );
    assert_eq!(status.words(), "variants failed");
}

#[test]
fn a_fleet_at_rest_asks_for_nothing_and_a_large_one_is_cut() {
    let rest = json!([one("a", &json!({ "at": "Published" }))]);
    let asked = |world: &Json| {
        let o = crate::set::observed(world);
        waits(&o, &decide(&o))
    };
    assert_eq!(asked(&world(&rest)), "");
    let many: Vec<_> = (0..25)
        .map(|n| one(&format!("p{n:02}"), &json!({ "at": "Draft" })))
        .collect();
    let text = asked(&world(&json!(many)));
    assert!(
        text.contains("- 25 with a draft to propose: fan-east-p00, "),
        "{text}"
    );
    assert!(text.contains("fan-east-p19, and 5 more\n"), "{text}");
}
