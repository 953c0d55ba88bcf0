//! Names of variants, problems of templates, and what sets may cost.

use expr::MAX_NESTING;
use model::{DeletionGuard, Downstream, OnError, Status, UpstreamSource, VariantSetSpec};
use plan::set::{Compiled, SetStep, decide, variant_name};

use crate::set::{observed, on_large_stack, target};
use crate::wire::{Json, key, package, place, repo, upstream};

/// R161.
#[test]
fn names_are_those_that_porch_gives() {
    let set = key("my-pvs");
    let long = format!("dnrepo4/supersupersuperloooo{}ngpkgname", "o".repeat(34));
    let at = |text: &str| {
        let (r, p) = text.split_once('/').expect("repo/package");
        Downstream {
            repo: repo(r),
            package: package(p),
        }
    };
    let name = |text: &str| variant_name(&set, &at(text)).expect("a name").to_string();
    assert_eq!(name("east/shop"), "my-pvs-east-shop");
    assert_eq!(name("east/apps/shop"), "my-pvs-east-apps.shop");
    let hashed = name(&long);
    assert_eq!(hashed.len(), 63);
    assert!(
        hashed.starts_with("my-pvs-dnrepo4-supersupersuperloooo"),
        "{hashed}"
    );
}

/// R139, R153, R156, R168, R195, S4.
#[test]
fn all_template_problems_are_found_at_once_with_their_place() {
    let problems = on_large_stack(|| {
        let spec = VariantSetSpec {
            upstreams: vec![UpstreamSource::Package(upstream("blueprints/nginx@v1"))],
            targets: vec![target(&Json(serde_json::json!({
                "repositories": {"east": []},
                "template": {
                    "repoExpr": "repository.name",
                    "packageExpr": "package + 'x'",
                    "labelExprs": [{"keyExpr": "1", "valueExpr": "target.repo"}, {"valueExpr": "'x'"}],
                    "context": {"data": {"name": "x"}, "removeKeys": ["package-path"], "removeKeyExprs": ["'a' +"]},
                    "injectors": [{"nameExpr": "nope"}],
                    "mutators": [{"image": "set-labels", "configExprs": [{"key": "k", "valueExpr": "repoDefault + 1"}]}],
                },
            })))],
            on_error: OnError::Continue,
            deletion_guard: DeletionGuard::default(),
            max_in_flight: None,
            rollout: None,
            suspend: false,
        };
        Compiled::of(&spec).map(|_| ()).expect_err("problems")
    });
    let text: Vec<String> = problems.iter().map(|p| p.what.replace('\n', "⏎")).collect();
    let t = "spec.targets[0].template";
    assert_eq!(
        text,
        [
            format!(
                "{t}.downstream.repoExpr: ERROR: <input>:1:1: undeclared reference to 'repository' (in container ''): it is not available in downstream.repoExpr⏎ | repository.name⏎ | ^"
            ),
            format!(
                "{t}.downstream.packageExpr: ERROR: <input>:1:1: reserved identifier: package: it is called packageDefault now⏎ | package + 'x'⏎ | ^"
            ),
            format!("{t}.packageContext.data: must not contain the key \"name\""),
            format!("{t}.packageContext.removeKeys: must not contain the key \"package-path\""),
            text[4].clone(),
            format!(
                "{t}.labelExprs[0].keyExpr: ERROR: <input>:1:1: unsupported type conversion from 'int' to string⏎ | 1⏎ | ^"
            ),
            format!("{t}.labelExprs[1] must specify one of `key` and `keyExpr`"),
            format!(
                "{t}.pipeline.mutators[0].configMapExprs[0].valueExpr: ERROR: <input>:1:13: found no matching overload for '_+_' applied to '(string, int)'⏎ | repoDefault + 1⏎ | ............^"
            ),
            format!(
                "{t}.injectors[0].nameExpr: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')⏎ | nope⏎ | ^"
            ),
        ]
    );
    assert!(
        text[4].starts_with(&format!("{t}.packageContext.removeKeyExprs[0]: ERROR")),
        "{}",
        text[4]
    );
}

/// A set of a few kilobytes is read at once, however much its expressions repeat.
#[test]
fn what_all_expressions_of_a_set_may_cost_is_bounded() {
    let problems = |expressions: Vec<String>| {
        let labels = (0..)
            .zip(expressions)
            .map(|(i, text)| serde_json::json!({"key": format!("k{i}"), "valueExpr": text}));
        let labels = labels.collect::<Vec<_>>();
        on_large_stack(move || {
            let spec = VariantSetSpec {
                upstreams: vec![UpstreamSource::Package(upstream("blueprints/nginx@v1"))],
                targets: vec![target(&Json(serde_json::json!({
                    "repositories": {"east": []}, "template": {"labelExprs": labels},
                })))],
                on_error: OnError::Continue,
                deletion_guard: DeletionGuard::default(),
                max_in_flight: None,
                rollout: None,
                suspend: false,
            };
            Compiled::of(&spec).map_or_else(
                |problems| problems.into_iter().map(|p| p.what).collect(),
                |_| Vec::new(),
            )
        })
    };
    let weighty = |n: usize| format!("string(repository.name.matches('[a-z]{{{}}}'))", 900 + n);
    assert_eq!(
        problems((0..15).map(weighty).collect()),
        Vec::<String>::new()
    );
    let told = problems((0..300).map(weighty).collect());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("the patterns of all expressions of a set together may weigh"),
        "{told:?}"
    );
    let long = |n: usize| format!("'{}{n}'", "x".repeat(2_000));
    assert_eq!(problems((0..30).map(long).collect()), Vec::<String>::new());
    let told = problems((0..1_000).map(long).collect());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains(
            "spec.targets[0].template.labelExprs[32].valueExpr: all expressions of a set"
        ),
        "{told:?}"
    );
}

/// Ten thousand targets cost about ten times as much as a thousand: nothing is looked up twice.
/// R183.
#[test]
fn ten_thousand_targets_are_linear() {
    let time = |n: usize| {
        let mut repositories = serde_json::Map::new();
        for i in 0..n {
            repositories.insert(
                format!("r{i:05}"),
                serde_json::json!({"labels": {"fan": "yes"}}),
            );
        }
        let world = serde_json::json!({
            "repositories": repositories,
            "set": {"targets": [{"labels": {"fan": "yes"}, "template": {
                "packageExpr": "packageDefault + '-' + repoDefault",
                "labelExprs": [{"key": "r", "valueExpr": "repository.name"}],
            }}]},
        });
        let observed = observed(&Json(world));
        on_large_stack(|| {
            let start = std::time::Instant::now();
            let plan = decide(&observed);
            assert_eq!(plan.steps.len(), n);
            assert!(plan.steps.iter().all(|s| matches!(s, SetStep::Create(_))));
            start.elapsed()
        })
    };
    time(100);
    let (small, large) = (time(1_000), time(10_000));
    assert!(
        large < small * 30 + std::time::Duration::from_millis(200),
        "1,000 took {small:?}, 10,000 took {large:?}"
    );
}

/// X9: what a set writes is bounded, not only what is written in it.
#[test]
fn a_long_template_for_many_targets_is_refused_beyond_the_limit() {
    let plan = |count: usize, value: usize| {
        let repositories: serde_json::Map<String, serde_json::Value> = (0..count)
            .map(|i| (format!("r{i}"), serde_json::json!([])))
            .collect();
        let known: serde_json::Map<String, serde_json::Value> = repositories
            .keys()
            .map(|r| (r.clone(), serde_json::json!({})))
            .collect();
        let data = serde_json::json!({"key": "x".repeat(value)});
        let template = serde_json::json!({"context": {"data": data}});
        let world = serde_json::json!({
            "set": {"targets": [{"repositories": repositories, "template": template}]},
            "repositories": known,
        });
        on_large_stack(move || decide(&observed(&Json(world))))
    };
    let (count, value) = (256, plan::set::MAX_BYTES / 256);
    let within = plan(count, value - 100);
    assert_eq!(within.steps.len(), count, "{:?}", within.status.conditions);
    let beyond = plan(count, value);
    let ready = beyond.status.condition("Ready").expect("a condition");
    assert_eq!(
        (ready.status, ready.reason.as_str()),
        (Status::False, "TooMuch")
    );
    let told = "the first 256 of 256 package variants come to 671";
    assert!(ready.message.starts_with(told), "{}", ready.message);
    assert!(beyond.steps.is_empty());
}

/// R183.
#[test]
fn one_beyond_the_limit_of_targets_is_refused() {
    let repositories: serde_json::Map<String, serde_json::Value> = (0..=plan::set::MAX_TARGETS)
        .map(|i| (format!("r{i}"), serde_json::json!([])))
        .collect();
    let world = serde_json::json!({"set": {"targets": [{"repositories": repositories}]}});
    let plan = on_large_stack(|| decide(&observed(&Json(world))));
    let stalled = plan.status.condition("Stalled").expect("a condition");
    assert_eq!(
        (stalled.status, stalled.reason.as_str()),
        (Status::True, "TooManyTargets")
    );
    assert!(plan.steps.is_empty());
    assert_eq!(MAX_NESTING, 32);
    let _unused = place("a/b");
}
