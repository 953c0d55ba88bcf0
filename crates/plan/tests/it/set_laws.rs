//! Laws of sets over random worlds: applying a plan leaves nothing to do, a crash after any step
//! leads to the same end, order does not matter, and what the deletion guard holds goes once it is confirmed.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Status, Uid};
use plan::Next;
use plan::set::{
    CONFIRM, Existing, Observed, Plan, SetOutcome, SetStep, Subject, decide, status_after,
};
use proptest::prelude::*;

use crate::set::{observed, on_large_stack};
use crate::wire::Json;

/// Which repositories carry the label, which are listed, how the template goes, what exists.
#[derive(Debug, Clone)]
struct Fleet {
    labelled: Vec<bool>,
    listed: Vec<bool>,
    template: u8,
    there: Vec<bool>,
    guard: bool,
}

fn fleets() -> impl Strategy<Value = Fleet> {
    let flags = || proptest::collection::vec(any::<bool>(), 8);
    (flags(), flags(), 0_u8..4, flags(), any::<bool>()).prop_map(
        |(labelled, listed, template, there, guard)| Fleet {
            labelled,
            listed,
            template,
            there,
            guard,
        },
    )
}

fn world(fleet: &Fleet) -> Observed {
    let mut repositories = serde_json::Map::new();
    let mut listed = serde_json::Map::new();
    let mut variants = Vec::new();
    for (i, labelled) in fleet.labelled.iter().enumerate() {
        let name = format!("r{i}");
        let labels = if *labelled {
            serde_json::json!({"fan": "yes", "zone": "z"})
        } else {
            serde_json::json!({})
        };
        repositories.insert(name.clone(), serde_json::json!({"labels": labels}));
        if fleet.listed[i] {
            listed.insert(name.clone(), serde_json::json!([]));
        }
        if fleet.there[i] {
            variants.push(serde_json::json!({"name": format!("fan-{name}-nginx"),
                "downstream": format!("{name}/nginx"), "listed": i % 2 == 0}));
        }
    }
    let template = match fleet.template {
        0 => serde_json::Value::Null,
        1 => serde_json::json!({"labels": {"a": "b"}}),
        2 => serde_json::json!({"packageExpr": "packageDefault + '-' + repository.name"}),
        _ => {
            serde_json::json!({"labelExprs": [{"key": "z", "valueExpr": "repository.labels['zone']"}]})
        }
    };
    let mut targets = vec![serde_json::json!({"labels": {"fan": "yes"}, "template": template})];
    if !listed.is_empty() {
        targets.push(serde_json::json!({"repositories": listed, "template": template}));
    }
    let guard = if fleet.guard { "on" } else { "off" };
    observed(&Json(
        serde_json::json!({"repositories": repositories, "variants": variants,
        "set": {"targets": targets, "guard": guard}}),
    ))
}

/// Carries out the first steps.
fn apply(o: &mut Observed, plan: &Plan, steps: usize) -> Vec<SetOutcome> {
    let mut variants: BTreeMap<_, Arc<Existing>> = o
        .variants
        .iter()
        .map(|v| (v.key.clone(), Arc::clone(v)))
        .collect();
    for step in plan.steps.iter().take(steps) {
        match step {
            SetStep::Create(variant) | SetStep::Update { variant, .. } => {
                let mut meta = variant.meta.clone();
                let stored = Arc::make_mut(&mut meta);
                stored.uid = Uid::parse(&format!("uid-{}", variant.key.name)).ok();
                stored.resource_version.push('1');
                let ready = (Status::True, String::new(), String::new());
                let existing = Existing {
                    key: variant.key.clone(),
                    meta,
                    variant: Some(Arc::new((**variant).clone())),
                    ready,
                    stalled: false,
                    lifecycle: None,
                    holds: None,
                    standing: model::Standing::UpToDate,
                    published: false,
                    rejected: false,
                    untagged: false,
                };
                variants.insert(variant.key.clone(), Arc::new(existing));
            }
            SetStep::Delete { key, .. } => {
                variants.remove(key);
            }
        }
    }
    o.variants = variants.into_values().collect();
    plan.steps
        .iter()
        .take(steps)
        .map(|_| SetOutcome::Done)
        .collect()
}

/// Decides and applies until nothing is to be done.
fn settle(o: &mut Observed) {
    for _ in 0..12 {
        let plan = decide(o);
        let mut other = o.clone();
        other.variants.reverse();
        assert_eq!(plan, decide(&other), "the order of what is seen matters");
        let before = o.clone();
        let outcomes = apply(o, &plan, plan.steps.len());
        let status = status_after(&before, &plan, &outcomes);
        let at_rest = plan.steps.is_empty() && status.is_none();
        if let Some(status) = status {
            o.status = status;
        }
        match plan.next {
            Next::After(time) => o.now += i64::try_from(time.as_secs()).expect("seconds"),
            _ if at_rest => return,
            _ => {}
        }
    }
    panic!("no rest: {}", decide(o));
}

fn face(o: &Observed) -> Vec<String> {
    let mut face: Vec<String> = o
        .variants
        .iter()
        .map(|v| {
            let spec = v.variant.as_ref().map(|v| &v.spec);
            format!(
                "{} {:?} {:?} {spec:?}",
                v.key, v.meta.labels, v.meta.annotations
            )
        })
        .collect();
    face.sort();
    face.extend(o.status.conditions.iter().map(|c| format!("{c:?}")));
    face
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// R160, V16.
    #[test]
    fn fleets_come_to_rest(fleet in fleets(), crash_after in 0_usize..6) {
        on_large_stack(|| {
            let mut one = world(&fleet);
            let mut crashed = one.clone();
            let plan = decide(&crashed);
            let first_delete = plan.steps.iter().position(|s| matches!(s, SetStep::Delete { .. }));
            let last_write = plan.steps.iter().rposition(|s| !matches!(s, SetStep::Delete { .. }));
            assert!(first_delete.is_none_or(|d| last_write.is_none_or(|w| w < d)), "deletions go last");
            let _lost = apply(&mut crashed, &plan, crash_after);
            settle(&mut crashed);
            settle(&mut one);
            if !fleet.guard {
                assert_eq!(face(&crashed), face(&one), "{fleet:?}");
            }
        });
    }

    /// R169, S3.
    #[test]
    fn what_the_fuse_holds_goes_once_it_is_confirmed(fleet in fleets()) {
        on_large_stack(|| {
            let mut o = world(&fleet);
            settle(&mut o);
            let Some(hash) = hash_of(&o) else { return };
            let Subject::Valid { set, .. } = &mut o.set else { return };
            let mut confirmed = (**set).clone();
            confirmed.meta.annotations.insert(CONFIRM.to_owned(), hash);
            *set = Arc::new(confirmed);
            settle(&mut o);
            assert_eq!(hash_of(&o), None, "{:?}", o.status.conditions);
            assert!(o.status.condition("DeletionGuarded").is_none());
        });
    }
}

/// What the condition asks to be annotated.
fn hash_of(o: &Observed) -> Option<String> {
    let message = &o.status.condition("DeletionGuarded")?.message;
    Some(message.rsplit('=').next()?.to_owned())
}
