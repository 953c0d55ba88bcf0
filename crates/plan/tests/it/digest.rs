//! Laws of input digests: equal inputs, equal digests; everything that counts changes them, and
//! nothing else does.

use std::collections::BTreeMap;

use model::{Injection, InjectionOutcome, KeptInjection, Recipe, Strategy};
use plan::digest::{FORMAT, draft, inputs};

use crate::wire::{Json, functions, lock, package, revision, tree};

/// A name, and what it does to a recipe.
type Change = (&'static str, fn(&mut Recipe));

fn recipe() -> Recipe {
    let pipeline = Json(
        serde_json::json!({"m": [{"image": "set-labels", "name": "l", "config": {"a": "b"}}]}),
    );
    Recipe {
        package: package("shop"),
        variant: crate::wire::name("shop"),
        deployment: true,
        context: model::Pairs::from_iter([("region".to_owned(), "eu".to_owned())]),
        remove_keys: std::iter::once("old".to_owned()).collect(),
        create_context: false,
        pipeline: model::Pipeline {
            mutators: functions(&pipeline, "m"),
            validators: Vec::new(),
        },
        injections: vec![injection(
            "eu",
            InjectionOutcome::Content("{\"db\":1}".into()),
        )],
        kept: Vec::new(),
        strategy: Strategy::default(),
        conflict_policy: model::ConflictPolicy::Block,
        push_on_render_failure: false,
    }
}

fn injection(name: &str, outcome: InjectionOutcome) -> Injection {
    Injection {
        group: None,
        version: None,
        kind: None,
        name: name.to_owned(),
        found: BTreeMap::from([("/v1/ConfigMap".to_owned(), outcome)]),
    }
}

fn upstream(commit: &str) -> model::Revision {
    let mut made = revision(
        &Json(serde_json::json!({"at": "blueprints/nginx", "n": 1})),
        "",
    );
    made.self_lock = Some(lock(&format!(
        "https://git/blueprints.git nginx {commit} nginx/v1"
    )));
    made
}

/// R38, V21.
#[test]
fn what_counts_for_the_machine_changes_the_digest() {
    let plain = inputs(&upstream("u1"), &recipe());
    assert_eq!(plain, inputs(&upstream("u1"), &recipe()));
    assert_eq!(plain.format(), FORMAT);
    let changes: [Change; 9] = [
        ("package", |r| r.package = package("store")),
        ("variant", |r| r.variant = crate::wire::name("other")),
        ("deployment", |r| r.deployment = false),
        ("context value", |r| {
            r.context.insert("region".to_owned(), "us".to_owned());
        }),
        ("context key", |r| {
            r.context.insert("tier".to_owned(), String::new());
        }),
        ("remove keys", |r| r.remove_keys.clear()),
        ("pipeline", |r| r.pipeline.mutators.clear()),
        ("validator instead of mutator", |r| {
            r.pipeline.validators = std::mem::take(&mut r.pipeline.mutators);
        }),
        ("injected content", |r| {
            r.injections = vec![injection(
                "eu",
                InjectionOutcome::Content("{\"db\":2}".into()),
            )];
        }),
    ];
    for (what, change) in changes {
        let mut changed = recipe();
        change(&mut changed);
        assert_ne!(plain, inputs(&upstream("u1"), &changed), "{what}");
    }
    assert_ne!(plain, inputs(&upstream("u2"), &recipe()), "upstream commit");
}

/// R52, V21.
#[test]
fn what_only_a_draft_depends_on_changes_its_digest_alone() {
    let digest = inputs(&upstream("u1"), &recipe());
    let plain = draft(&digest, &recipe(), None);
    assert_ne!(plain, draft(&digest, &recipe(), Some(tree("p"))), "base");
    let changes: [Change; 4] = [
        ("strategy", |r| r.strategy = Strategy::CopyMerge),
        ("conflict policy", |r| {
            r.conflict_policy = model::ConflictPolicy::Local
        }),
        ("push on failure", |r| r.push_on_render_failure = true),
        ("an injector that finds nothing", |r| {
            r.injections.push(injection("us", InjectionOutcome::Absent));
        }),
    ];
    for (what, change) in changes {
        let mut changed = recipe();
        change(&mut changed);
        assert_eq!(digest, inputs(&upstream("u1"), &changed), "{what}");
        assert_ne!(plain, draft(&digest, &changed, None), "{what}");
    }
}

/// R14, V21: whatever a function is told counts, in whichever list it stands.
#[test]
fn every_field_of_a_function_counts() {
    type Told = fn(&mut model::Function, model::Selector);
    type Select = fn(&mut model::Selector);
    let changes: [(&str, Told); 9] = [
        ("image", |f, _| f.image = Some("other".to_owned())),
        ("tag", |f, _| f.tag = Some("v1".to_owned())),
        ("exec", |f, _| f.exec = Some("sed".to_owned())),
        ("config path", |f, _| {
            f.config_path = Some("f.yaml".to_owned());
        }),
        ("config value", |f, _| f.config_map[0].1.push('b')),
        ("config key", |f, _| f.config_map[0].0.push('b')),
        ("name", |f, _| f.name.push('b')),
        ("selectors", |f, s| f.selectors.push(s)),
        ("exclude", |f, s| f.exclude.push(s)),
    ];
    let digest = |change: &dyn Fn(&mut model::Function)| {
        let mut recipe = recipe();
        change(&mut recipe.pipeline.mutators[0]);
        inputs(&upstream("u1"), &recipe)
    };
    let mut seen = vec![("nothing", digest(&|_| ()))];
    for (what, change) in changes {
        seen.push((what, digest(&|f| change(f, model::Selector::default()))));
    }
    let selects: [(&str, Select); 6] = [
        ("apiVersion", |s| s.api_version = Some("a".to_owned())),
        ("kind", |s| s.kind = Some("a".to_owned())),
        ("name", |s| s.name = Some("a".to_owned())),
        ("namespace", |s| s.namespace = Some("a".to_owned())),
        ("label", |s| {
            s.labels.insert("a".to_owned(), "b".to_owned());
        }),
        ("annotation", |s| {
            s.annotations.insert("a".to_owned(), "b".to_owned());
        }),
    ];
    for (what, select) in selects {
        let mut selector = model::Selector::default();
        select(&mut selector);
        seen.push((what, digest(&|f| f.selectors.push(selector.clone()))));
        seen.push((what, digest(&|f| f.exclude.push(selector.clone()))));
    }
    for (i, (what, one)) in seen.iter().enumerate() {
        for (that, other) in seen.iter().skip(i + 1) {
            assert_ne!(one, other, "{what}, {that}");
        }
    }
}

/// R95, V22.
#[test]
fn a_vanished_object_whose_content_is_kept_changes_nothing() {
    let plain = inputs(&upstream("u1"), &recipe());
    let kept = KeptInjection {
        gvk: "/v1/ConfigMap".to_owned(),
        point: "endpoint".to_owned(),
        injected: "eu".to_owned(),
        content: "{\"db\":1}".into(),
    };
    let mut vanished = recipe();
    vanished.injections = vec![injection("eu", InjectionOutcome::Absent)];
    vanished.kept = vec![kept.clone()];
    assert_eq!(plain, inputs(&upstream("u1"), &vanished));
    let mut no_injector = recipe();
    no_injector.injections.clear();
    no_injector.kept = vec![kept];
    assert_eq!(plain, inputs(&upstream("u1"), &no_injector));
}

/// R91, V7.
#[test]
fn an_earlier_selector_whose_object_appears_takes_over() {
    let mut second = recipe();
    second
        .injections
        .insert(0, injection("first", InjectionOutcome::Absent));
    assert_eq!(
        inputs(&upstream("u1"), &recipe()),
        inputs(&upstream("u1"), &second)
    );
    second.injections[0] = injection("first", InjectionOutcome::Content("{}".into()));
    assert_ne!(
        inputs(&upstream("u1"), &recipe()),
        inputs(&upstream("u1"), &second)
    );
}

/// Frozen: a digest that is stored today must be found again by every later version (X7).
#[test]
fn the_encoding_is_frozen() {
    let digest = inputs(&upstream("u1"), &recipe());
    let full = draft(&digest, &recipe(), Some(tree("p")));
    assert_eq!(digest.as_str(), FROZEN_INPUTS);
    assert_eq!(full.as_str(), FROZEN_DRAFT);
}

const FROZEN_INPUTS: &str = "1:9ba9cc59e0de1c9224ffaf612ee3d60516e1f976a8e3e9be42b9c6ed41684db8";
const FROZEN_DRAFT: &str = "1:4f3a5d42c2afd8af98749e540db5b6f770f1166f46be95f2fafcc81f3dfa1698";
