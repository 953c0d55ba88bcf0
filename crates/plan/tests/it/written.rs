//! What is written into the world, field by field: marks, owners and the facts of a status that its text does not show.

use model::DeletionPolicy::{Delete, Orphan};
use model::{ObjectMeta, Pairs, SetStatus, Status};
use plan::set::{
    EXPLICIT, LABEL, Observed, Plan, SetOutcome, SetStep, WRITTEN_BY, decide, status_after,
};
use serde_json::{Value, json};

use crate::set::{observed, on_large_stack};
use crate::wire::Json;

fn world(value: Value) -> Observed {
    observed(&Json(value))
}

fn plan(o: &Observed) -> Plan {
    on_large_stack(|| decide(o))
}

/// The set `fan`, with one place by list and one by labels.
fn two_places() -> Value {
    json!({
        "set": {"targets": [{"repositories": {"east": []}}, {"labels": {"region": "us"}}]},
        "repositories": {"east": {}, "west": {"labels": {"region": "us"}}},
    })
}

fn texts(pairs: &[(&str, &str)]) -> Pairs {
    pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

/// The owners of an object: kind, name, uid, and whether it controls.
fn owners(meta: &ObjectMeta) -> Vec<(&str, &str, &str, bool)> {
    let owners = meta.owners.iter();
    owners
        .map(|o| {
            (
                o.kind.as_str(),
                o.name.as_str(),
                o.uid.as_str(),
                o.controller,
            )
        })
        .collect()
}

const OURS: (&str, &str, &str, bool) = ("PackageVariantSet", "fan", "uid-fan", true);

/// R162, R163, S3: a new variant carries its set's label and owner, and a mark where an explicit list names it.
#[test]
fn a_new_variant_is_marked_as_its_sets() {
    let steps = plan(&world(two_places())).steps;
    let made: Vec<_> = steps
        .iter()
        .map(|step| match step {
            SetStep::Create(v) => (v.key.name.as_str(), &v.meta),
            other => panic!("no creation: {other:?}"),
        })
        .collect();
    let names: Vec<&str> = made.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["fan-east-nginx", "fan-west-nginx"]);
    for (name, meta) in &made {
        assert_eq!(meta.labels, texts(&[(LABEL, "uid-fan")]), "{name}");
        assert_eq!(owners(meta), [OURS], "{name}");
    }
    assert_eq!(made[0].1.annotations, texts(&[(EXPLICIT, "true")]));
    assert_eq!(made[1].1.annotations, texts(&[]));
}

/// V10: a set makes a variant with its finalizer where whoever takes it off again is at work in the same process.
#[test]
fn a_new_variant_has_its_finalizer_where_somebody_takes_it_off() {
    let finalizers = |here: bool| {
        let mut two = two_places();
        two["variantsHere"] = json!(here);
        let steps = plan(&world(two)).steps;
        let of = |step: &SetStep| match step {
            SetStep::Create(v) => v.meta.finalizers.clone(),
            other => panic!("no creation: {other:?}"),
        };
        steps.iter().flat_map(of).collect::<Vec<_>>()
    };
    assert_eq!(finalizers(true), [plan::variant::words::FINALIZER; 2]);
    assert_eq!(finalizers(false), Vec::<String>::new());
}

/// R165: an update keeps the variant's own metadata but for the mark, and names the version that it expects.
#[test]
fn an_update_keeps_the_metadata() {
    let mut two = two_places();
    two["variants"] = json!([
        {"name": "fan-east-nginx", "downstream": "east/nginx", "upstream": "blueprints/nginx@v7", "rv": "41",
            "annotations": {"team": "web"}, "suspend": true},
        {"name": "fan-west-nginx", "downstream": "west/nginx", "listed": true, "rv": "42"},
    ]);
    let steps = plan(&world(two)).steps;
    let [
        SetStep::Update {
            variant: east,
            resource_version: first,
            adopt: false,
        },
        SetStep::Update {
            variant: west,
            resource_version: second,
            adopt: false,
        },
    ] = steps.as_slice()
    else {
        panic!("two updates: {steps:?}");
    };
    assert_eq!((first.as_str(), second.as_str()), ("41", "42"));
    assert_eq!(
        east.meta.annotations,
        texts(&[("team", "web"), (EXPLICIT, "true")])
    );
    assert_eq!(owners(&east.meta), [OURS]);
    assert!(east.spec.suspend, "a person's suspension stays");
    assert_eq!(west.meta.annotations, texts(&[]));
    assert!(!west.spec.suspend);
}

/// S8: what is taken back keeps the owners that it has, and gets the set's label and mark.
#[test]
fn an_adopted_variant_is_marked_as_its_sets() {
    let mut two = two_places();
    two["variants"] = json!([{"name": "fan-east-nginx", "downstream": "east/nginx", "foreign": true, "rv": "41",
        "owners": ["Team web uid-web plain"], "labels": {"team": "web"}, "annotations": {"note": "hello"}}]);
    let steps = plan(&world(two)).steps;
    let Some(SetStep::Update {
        variant,
        resource_version,
        adopt: true,
    }) = steps.first()
    else {
        panic!("an adoption: {steps:?}");
    };
    assert_eq!(resource_version, "41");
    assert_eq!(
        owners(&variant.meta),
        [("Team", "web", "uid-web", false), OURS]
    );
    assert_eq!(
        variant.meta.labels,
        texts(&[("team", "web"), (LABEL, "uid-fan")])
    );
    assert_eq!(
        variant.meta.annotations,
        texts(&[("note", "hello"), (EXPLICIT, "true")])
    );
}

/// X6: a set's variants say who wrote it, new ones, adopted ones, and those that somebody else wrote since; where that is
/// not known of the set, it is not known of them.
#[test]
fn variants_say_who_wrote_their_set() {
    let written = |set: Option<&str>, east: Option<&str>, foreign: bool| {
        let note =
            |who: Option<&str>| who.map_or_else(|| json!({}), |who| json!({WRITTEN_BY: who}));
        let mut two = two_places();
        two["set"]["annotations"] = note(set);
        two["variants"] = json!([{"name": "fan-east-nginx", "downstream": "east/nginx", "listed": !foreign,
            "foreign": foreign, "annotations": note(east)}]);
        let steps = plan(&world(two)).steps;
        let of = |name: &str| {
            let mut found = steps.iter().filter_map(|step| match step {
                SetStep::Create(v) | SetStep::Update { variant: v, .. } => Some(v),
                SetStep::Delete { .. } => None,
            });
            let meta = found.find(|v| v.key.name.as_str() == name).map(|v| &v.meta);
            meta.map(|meta| meta.annotations.get(WRITTEN_BY).cloned())
        };
        (of("fan-east-nginx"), of("fan-west-nginx"))
    };
    let ann = Some("ann".to_owned());
    assert_eq!(
        written(Some("ann"), Some("ann"), false),
        (None, Some(ann.clone()))
    );
    for (east, foreign) in [
        (None, false),
        (Some("bob"), false),
        (None, true),
        (Some("bob"), true),
    ] {
        let made = written(Some("ann"), east, foreign);
        assert_eq!(
            made,
            (Some(ann.clone()), Some(ann.clone())),
            "{east:?} {foreign}"
        );
    }
    assert_eq!(written(None, None, false), (None, Some(None)));
    assert_eq!(written(None, Some("bob"), false), (Some(None), Some(None)));
}

/// R166: every status tells which generation it is of, what was asked, and what is followed: one of a set at rest, of
/// one that can do nothing, and of one that is suspended.
#[test]
fn every_status_tells_of_what_it_is() {
    let said = |status: &SetStatus| {
        let SetStatus {
            observed_generation,
            handled,
            upstream,
            ..
        } = status;
        (*observed_generation, handled.clone(), upstream.clone())
    };
    for change in [
        json!({}),
        json!({"problems": ["no"]}),
        json!({"suspend": true}),
        json!({"upstream": "blueprints/other@v1"}),
    ] {
        let mut two = two_places();
        two["set"]["generation"] = json!("7");
        two["set"]["annotations"] = json!({"offshoot.dev/reconcile": "now"});
        for (key, value) in change.as_object().expect("a map") {
            two["set"][key] = value.clone();
        }
        let followed = if change.get("upstream").is_some() {
            "other"
        } else {
            "nginx"
        };
        let status = plan(&world(two)).status;
        let expected = (7, Some("now".to_owned()), followed.to_owned());
        assert_eq!(said(&status), expected, "{change}");
    }
}

/// R166, R184: packages are named once and in order, the first three of them; while a source cannot be read, those of before stay.
#[test]
fn the_packages_that_are_followed_are_named() {
    let followed = |upstreams: Value, more: Value| {
        let mut two = two_places();
        two["set"]["upstreams"] = upstreams;
        for (key, value) in more.as_object().expect("a map") {
            two[key] = value.clone();
        }
        let mut o = world(two);
        o.status.upstream = "as before".to_owned();
        plan(&o).status.upstream
    };
    let nothing = || json!({});
    assert_eq!(
        followed(json!(["b/two", "b/one", "c/two"]), nothing()),
        "two, one"
    );
    assert_eq!(followed(json!(["b/c", "b/b", "b/a"]), nothing()), "c, b, a");
    assert_eq!(
        followed(json!(["b/e", "b/d", "b/c", "b/b", "b/a"]), nothing()),
        "e, d, c and 2 more"
    );
    assert_eq!(
        followed(json!(["b/one"]), json!({"unread": ["it is gone"]})),
        "as before"
    );
}

/// S7: a refusal is counted, and tells of the variants that there are; a conflict alone writes nothing.
#[test]
fn what_was_refused_is_counted() {
    let mut two = two_places();
    two["variants"] =
        json!([{"name": "fan-east-nginx", "downstream": "east/nginx", "listed": true}]);
    two["status"] = json!({"recent": ["1 of 5 at 100"]});
    let o = world(two);
    let plan = plan(&o);
    assert_eq!(plan.steps.len(), 1);
    assert_eq!((plan.status.variants, plan.status.failed), (2, 0));
    let refused = SetOutcome::Failed(plan::variant::FailedDerivation {
        digest: model::Digest::new(1, &[0]),
        class: model::Class::Denied,
        reason: "Forbidden".to_owned(),
        message: "no quota".to_owned(),
        attempts: 1,
        due: false,
    });
    let after = |outcomes: &[SetOutcome]| status_after(&o, &plan, outcomes);
    let status = after(&[refused.clone(), refused, SetOutcome::Conflict]).expect("a status");
    assert_eq!((status.variants, status.failed), (1, 2));
    assert_eq!(status.guard, o.status.guard);
    let ready = status.condition("Ready").expect("a condition");
    assert_eq!(
        (ready.status, ready.reason.as_str(), ready.message.as_str()),
        (Status::False, "VariantRefused", "no quota; no quota")
    );
    let stalled = status.condition("Stalled").expect("a condition");
    assert_eq!(stalled.status, Status::False);
    assert_eq!(after(&[SetOutcome::Conflict]), None);
    assert_eq!(after(&[SetOutcome::Done]).as_ref(), Some(&plan.status));
    // R20: what the status says already is not written again.
    let mut again = o.clone();
    again.status = plan.status.clone();
    assert_eq!(status_after(&again, &plan, &[SetOutcome::Done]), None);
}

/// R183: as many targets as a set may have.
#[test]
fn the_last_target_within_the_limit_is_made() {
    let packages: Vec<String> = (0..500).map(|i| format!("p{i}")).collect();
    let repositories: serde_json::Map<String, Value> = (0..plan::set::MAX_TARGETS / 500)
        .map(|i| (format!("r{i}"), json!(packages)))
        .collect();
    let known: serde_json::Map<String, Value> = repositories
        .keys()
        .map(|r| (r.clone(), json!({})))
        .collect();
    let o =
        world(json!({"set": {"targets": [{"repositories": repositories}]}, "repositories": known}));
    let plan = plan(&o);
    assert_eq!(plan.status.targets, plan::set::MAX_TARGETS);
    assert_eq!(plan.steps.len(), plan::set::MAX_TARGETS);
}

/// R10, R138: a deletion policy is written out only where the template does so, and only if it is to delete.
#[test]
fn a_policy_of_deletion_is_explicit_where_it_is_written() {
    let explicit = |template: Value| {
        let world = world(json!({
            "set": {"targets": [{"repositories": {"east": []}, "template": template}]},
            "repositories": {"east": {}},
        }));
        match plan(&world).steps.as_slice() {
            [SetStep::Create(v)] => (v.spec.deletion, v.spec.deletion_explicit),
            other => panic!("one creation: {other:?}"),
        }
    };
    assert_eq!(explicit(json!({})), (Delete, false));
    assert_eq!(explicit(json!({"deletion": "delete"})), (Delete, true));
    assert_eq!(explicit(json!({"deletion": "orphan"})), (Orphan, false));
}

/// So many variants, each of a repository of its own.
fn variants(count: usize, more: &Value) -> Value {
    let all = (0..count).map(|i| {
        let mut variant =
            json!({"name": format!("fan-r{i:02}-nginx"), "downstream": format!("r{i:02}/nginx")});
        for (key, value) in more.as_object().expect("a map") {
            variant[key] = value.clone();
        }
        variant
    });
    all.collect()
}

fn message(plan: &Plan, kind: &str) -> String {
    let condition = plan.status.condition(kind).expect("a condition");
    condition.message.clone()
}

/// R166, S7: three failures are named, more are counted.
#[test]
fn the_first_failures_are_named() {
    let said = |count: usize| {
        let repositories: serde_json::Map<String, Value> =
            (0..count).map(|i| (format!("r{i}"), json!([]))).collect();
        let o = world(
            json!({"set": {"targets": [{"repositories": repositories}]}, "repositories": {}}),
        );
        message(&plan(&o), "Ready")
    };
    let missing = |count: usize| {
        let all = (0..count)
            .map(|i| format!("spec.targets[0] (r{i}): repository \"r{i}\" could not be loaded"));
        all.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(said(1), missing(1));
    assert_eq!(said(3), missing(3));
    assert_eq!(said(4), format!("{}; and 1 more", missing(3)));
    assert_eq!(said(6), format!("{}; and 3 more", missing(3)));
}

/// R167, S6: so are variants that are not ready.
#[test]
fn the_first_variants_that_are_not_ready_are_named() {
    let said = |count: usize| {
        let repositories: serde_json::Map<String, Value> = (0..count)
            .map(|i| (format!("r{i:02}"), json!({})))
            .collect();
        let listed: serde_json::Map<String, Value> = repositories
            .keys()
            .map(|r| (r.clone(), json!([])))
            .collect();
        let not = json!({"listed": true, "ready": "Unknown", "reason": "", "message": ""});
        let o = world(json!({
            "set": {"targets": [{"repositories": listed}]},
            "repositories": repositories,
            "variants": variants(count, &not),
        }));
        message(&plan(&o), "VariantsReady")
    };
    let named = |count: usize| {
        let all = (0..count).map(|i| format!("'fan-r{i:02}-nginx' was not looked at yet"));
        all.collect::<Vec<_>>().join("; ")
    };
    let total = |count: usize| format!("0 of {count} package variants are ready");
    assert_eq!(said(0), total(0));
    assert_eq!(said(1), format!("{}; {}", total(1), named(1)));
    assert_eq!(said(3), format!("{}; {}", total(3), named(3)));
    assert_eq!(said(4), format!("{}; {}; and 1 more", total(4), named(3)));
    assert_eq!(said(6), format!("{}; {}; and 3 more", total(6), named(3)));
}

/// S3: ten of the deletions that wait are named, and the others counted.
#[test]
fn the_first_deletions_that_wait_are_named() {
    let said = |count: usize| {
        let mut o = world(json!({
            "set": {"targets": [{"labels": {"on": "yes"}}]},
            "repositories": {"east": {"labels": {"on": "yes"}}},
            "variants": variants(count, &json!({})),
        }));
        o.status.guard.waiting = plan(&o).status.guard.waiting;
        o.now += 11;
        message(&plan(&o), "DeletionGuarded")
    };
    let named = |count: usize| {
        let all = (0..count).map(|i| format!("fan-r{i:02}-nginx"));
        all.collect::<Vec<_>>().join(", ")
    };
    let more = |more: usize| {
        format!(
            "{} and {more} more, see `offshoot why pvset/fan`",
            named(10)
        )
    };
    for (count, names) in [(4, named(4)), (10, named(10)), (11, more(1)), (13, more(3))] {
        let begins =
            format!("{count} of {count} package variants would be deleted ({names}); to confirm, ");
        let said = said(count);
        assert!(said.starts_with(&begins), "{said}");
    }
}

/// R116: how a draft rendered last is known from its target where its record does not say, and of no other's.
#[test]
fn a_target_keeps_how_it_rendered() {
    let mut o = crate::variant::observed(&Json(json!({
        "upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}],
        "downstream": [
            {"ws": "packagevariant-1", "state": "Draft", "mine": true, "machine": "current"},
            {"ws": "packagevariant-2", "state": "Draft", "mine": true, "machine": "current", "render": "ok"},
            {"ws": "packagevariant-3", "state": "Draft", "mine": true, "machine": "current"},
        ],
        "status": {"targets": [
            {"ws": "packagevariant-2", "state": "Draft"},
            {"ws": "packagevariant-1", "state": "Draft"},
        ]},
    })));
    let of = |error: &str| {
        let rendered = json!({"ws": "packagevariant-1", "state": "Draft", "render": error});
        crate::wire::revision(&Json(rendered), "uid-shop").render_status
    };
    o.status.downstream_targets[0].render_status = of("two");
    o.status.downstream_targets[1].render_status = of("one");
    let targets = plan::variant::decide(&o).status.downstream_targets;
    let renders: Vec<_> = targets.into_iter().map(|t| t.render_status).collect();
    assert_eq!(renders, [of("one"), of("ok"), None]);
}
