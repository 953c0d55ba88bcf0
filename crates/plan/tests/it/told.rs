//! What people are told: events of what has happened, what was seen, and what an expression yields.

use std::collections::BTreeMap;

use expr::Value;
use model::{Condition, InjectionOutcome, SetStatus, Status, VariantStatus};
use plan::News;
use plan::set::{Plan as SetPlan, SetOutcome, SetStep, evaluate};
use plan::variant::{FailedDerivation, Observed, VariantOutcome, VariantStep, decide, seen};
use serde_json::{Value as Yaml, json};

use crate::set::{observed as set_observed, on_large_stack};
use crate::variant::observed;
use crate::wire::Json;

fn world(value: Yaml) -> Observed {
    observed(&Json(value))
}

fn failure() -> FailedDerivation {
    FailedDerivation {
        digest: model::Digest::new(1, &[0]),
        class: model::Class::Invalid,
        reason: "RenderFailed".to_owned(),
        message: "no namespace given".to_owned(),
        attempts: 3,
        due: false,
    }
}

/// `kind=status reason: message` for each.
fn conditions(texts: &[(&str, Status, &str)]) -> Vec<Condition> {
    texts
        .iter()
        .map(|(kind, status, reason)| Condition::new(*kind, *status, *reason, "so it is"))
        .collect()
}

fn lines(news: &[News]) -> Vec<String> {
    news.iter()
        .map(|n| format!("{} {}: {}", n.warning, n.reason, n.message))
        .collect()
}

/// R118: what turns true of a variant is told once, and what Kubernetes calls a warning is one.
#[test]
fn a_variant_tells_what_turned() {
    let status = |texts: &[(&str, Status, &str)]| VariantStatus {
        conditions: conditions(texts),
        ..VariantStatus::default()
    };
    let before = status(&[("Stalled", Status::False, "Valid")]);
    let after = status(&[
        ("Stalled", Status::True, "UpstreamNotFound"),
        ("Ready", Status::True, "NoErrors"),
        ("DownstreamContested", Status::True, "OlderWorks"),
        ("DownstreamExistsUnowned", Status::True, "NotAdopted"),
        ("BranchChanged", Status::True, "ChangedSincePublished"),
    ]);
    let told = |before: &VariantStatus, outcomes: &[VariantOutcome]| {
        lines(&plan::variant::news(before, &after, outcomes))
    };
    let all = [
        "true UpstreamNotFound: so it is",
        "true OlderWorks: so it is",
        "false NotAdopted: so it is",
        "true ChangedSincePublished: so it is",
    ];
    assert_eq!(told(&before, &[VariantOutcome::Done]), all);
    assert_eq!(told(&after, &[VariantOutcome::Done]), Vec::<String>::new());
    // A step that failed was told when it failed.
    let failed = [VariantOutcome::Done, VariantOutcome::Failed(failure())];
    assert_eq!(told(&before, &failed), Vec::<String>::new());
}

/// One variant that is missing, one that is behind and one that is wanted no more.
fn fleet() -> SetPlan {
    let world = json!({
        "set": {"targets": [{"repositories": {"east": ["new", "old"]}}], "guard": "off"},
        "repositories": {"east": {}},
        "variants": [
            {"name": "fan-east-gone", "downstream": "east/gone", "listed": true},
            {"name": "fan-east-old", "downstream": "east/old", "listed": true, "upstream": "blueprints/nginx@v9"},
        ],
    });
    on_large_stack(|| plan::set::decide(&set_observed(&Json(world))))
}

/// R118: one event tells of all variants that were written, and only of those.
#[test]
fn a_set_tells_what_turned_and_how_many_variants_it_wrote() {
    let plan = fleet();
    let kinds: Vec<&str> = plan
        .steps
        .iter()
        .map(|step| match step {
            SetStep::Create(_) => "create",
            SetStep::Update { .. } => "update",
            SetStep::Delete { .. } => "delete",
        })
        .collect();
    assert_eq!(kinds, ["create", "update", "delete"]);
    let status = |texts: &[(&str, Status, &str)]| SetStatus {
        conditions: conditions(texts),
        ..SetStatus::default()
    };
    let still = status(&[]);
    let wrote =
        |outcomes: [SetOutcome; 3]| lines(&plan::set::news(&still, &still, &plan, &outcomes));
    let said = |created, updated, deleted| {
        vec![format!(
            "false VariantsWritten: package variants: {created} created, {updated} updated, {deleted} deleted"
        )]
    };
    let (done, skipped) = (SetOutcome::Done, SetOutcome::Skipped);
    let of =
        |a: &SetOutcome, b: &SetOutcome, c: &SetOutcome| wrote([a.clone(), b.clone(), c.clone()]);
    assert_eq!(of(&done, &done, &done), said(1, 1, 1));
    assert_eq!(of(&done, &skipped, &skipped), said(1, 0, 0));
    assert_eq!(of(&skipped, &done, &SetOutcome::Conflict), said(0, 1, 0));
    assert_eq!(
        of(&SetOutcome::Failed(failure()), &skipped, &done),
        said(0, 0, 1)
    );
    assert_eq!(
        of(&skipped, &SetOutcome::Conflict, &skipped),
        Vec::<String>::new()
    );

    let after = status(&[
        ("Stalled", Status::True, "UpstreamNotFound"),
        ("Ready", Status::True, "Reconciled"),
        ("DeletionGuarded", Status::True, "ConfirmationNeeded"),
        ("EmptySelection", Status::True, "NothingSelected"),
    ]);
    let told = |before: &SetStatus| lines(&plan::set::news(before, &after, &plan, &[]));
    assert_eq!(
        told(&still),
        [
            "true UpstreamNotFound: so it is",
            "true ConfirmationNeeded: so it is",
            "false NothingSelected: so it is",
        ]
    );
    assert_eq!(told(&after), Vec::<String>::new());
}

/// The whole world of a variant, one fact a line.
#[test]
fn everything_that_was_seen_is_said() {
    let mut o = world(json!({
        "variant": {"suspend": true},
        "upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}],
        "repositories": {"blueprints": {}, "deploy": {"notReady": "still reading"}},
        "downstream": [
            {"ws": "packagevariant-1", "n": 1, "mine": true, "gates": ["team/Reviewed"]},
            {"ws": "packagevariant-2", "state": "Draft", "mine": true, "conflicts": "2",
                "gates": ["team/Reviewed", "team/Tested"], "conditions": {"team/Tested": "True"}},
            {"ws": "packagevariant-3", "state": "Draft", "mine": true},
            {"ws": "hand", "state": "Proposed"},
            {"placeholder": true},
        ],
        "elsewhere": [{"at": "deploy/old", "ws": "packagevariant-1", "n": 1, "mine": true}],
        "rivals": [{"name": "rival"}],
        "injections": [{"name": "eu", "found": {"/v1/A": "content", "/v1/B": "absent", "/v1/C": "kind missing"}}],
    }));
    let found = &mut o.injections[0].found;
    found.insert(
        "/v1/D".to_owned(),
        InjectionOutcome::FieldMissing("data".to_owned()),
    );
    found.insert(
        "/v1/E".to_owned(),
        InjectionOutcome::Unreadable("forbidden".to_owned()),
    );
    o.failure = Some(failure());
    assert_eq!(
        seen(&o),
        "\
seen:
- upstream blueprints.nginx.v1 (Published)
- repository deploy is not ready: still reading
- downstream deploy.shop.packagevariant-1 (Published), ours
- downstream deploy.shop.packagevariant-2 (Draft), gates not true: team/Reviewed, 2 conflicts to decide, ours
- downstream deploy.shop.packagevariant-3 (Draft), ours
- downstream deploy.shop.hand (Proposed), not ours
- left behind: deploy.old.packagevariant-1 (Published)
- also claimed by fleet/rival
- /v1/A eu: found
- /v1/B eu: not there
- /v1/C eu: its kind is unknown here: is its definition (CRD) installed?
- /v1/D eu: has no field \"data\"
- /v1/E eu: cannot be read: forbidden
- the variant is suspended
- failed 3 times in a row: RenderFailed: no namespace given
"
    );
}

/// Where nothing is there, nothing is said to be; of a spec that cannot be understood, what is owned is ours.
#[test]
fn what_was_not_seen_is_not_said() {
    assert_eq!(seen(&world(json!({}))), "seen:\n- no upstream\n");
    let draft = json!({"upstream": [{"at": "blueprints/nginx", "ws": "v1", "state": "Draft"}],
        "variant": {"upstream": "blueprints/nginx@ws:v1"}});
    assert_eq!(
        seen(&world(draft)),
        "seen:\n- upstream blueprints.nginx.v1 (Draft), not published\n"
    );
    let invalid = json!({"variant": {"problems": ["no"]},
        "elsewhere": [{"at": "deploy/old", "ws": "packagevariant-1", "n": 1, "mine": true}]});
    assert_eq!(
        seen(&world(invalid)),
        "seen:\n- no upstream\n- ours: deploy.old.packagevariant-1 (Published)\n"
    );
}

/// R32: nothing waits for a step that fails but for the finalizer.
#[test]
fn only_the_finalizer_comes_before_everything() {
    let o = world(json!({"variant": {"finalizers": []},
        "upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}]}));
    let steps = decide(&o).steps;
    let first: Vec<bool> = steps.iter().map(VariantStep::is_prerequisite).collect();
    assert_eq!(first, [true, false], "{steps:?}");
}

/// R150, R153: an expression alone sees what it would see in a template.
#[test]
fn an_expression_is_evaluated_with_the_variables_of_a_template() {
    let text = |text: &str| Value::Text(text.to_owned());
    let variables = BTreeMap::from([
        ("repoDefault".to_owned(), text("east")),
        (
            "repository".to_owned(),
            Value::object("east", "fleet", &BTreeMap::new(), &BTreeMap::new()),
        ),
    ]);
    let yields = |expression: &str, of_repo: bool| {
        on_large_stack(|| evaluate(expression, &variables, of_repo)).map_err(|e| e.to_string())
    };
    assert_eq!(
        yields("repoDefault + '-shop'", true).as_deref(),
        Ok("east-shop")
    );
    assert_eq!(yields("repository.name", false).as_deref(), Ok("east"));
    let unknown = yields("repository.name", true).expect_err("an error");
    assert!(
        unknown.contains("it is not available in downstream.repoExpr"),
        "{unknown}"
    );
}

/// What `offshoot plan` prints is the whole plan.
#[test]
fn a_plan_is_printed_as_a_whole() {
    let o = world(json!({"upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}]}));
    let plan = decide(&o);
    let text = plan::variant::explain(&plan);
    let shown = |text: &str| {
        text.replace(
            "next: nothing else until something that it follows changes",
            "next: rest",
        )
    };
    assert_eq!(shown(&text), plan.to_string());
    assert!(
        text.contains("- create draft deploy.shop.packagevariant-1"),
        "{text}"
    );
    let plan = fleet();
    let text = plan::set::explain(&plan);
    assert_eq!(shown(&text), plan.to_string());
    assert!(text.contains("- delete fan-east-gone"), "{text}");
}

/// Where there is nothing to do, no heading stands over nothing, and no word is a riddle.
#[test]
fn what_is_at_rest_says_so() {
    let o = world(json!({
        "variant": {"upstream": "blueprints/nginx@v1"},
        "upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1, "commit": "u1"}],
        "downstream": [
            {
                "ws": "packagevariant-1", "n": 1, "mine": true, "commit": "p1", "task": "clone blueprints.nginx.v1",
                "lock": "https://git/blueprints nginx u1 nginx/v1",
            },
            {"placeholder": true, "commit": "p1"},
        ],
    }));
    let plan = decide(&o);
    assert!(plan.steps.is_empty(), "{plan}");
    let text = plan::variant::explain(&plan);
    assert!(!text.contains("steps:"), "{text}");
    let last = "next: nothing is to be done until something that it follows changes";
    assert_eq!(text.lines().last(), Some(last), "{text}");
}
