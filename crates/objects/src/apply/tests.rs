//! Laws of ownership, conflicts word for word, and the move from client-side apply.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::set::FieldSet;
use super::*;
use crate::schema::Structural;
use crate::tests::widgets;

fn writer<'a>(schema: &'a Structural, manager: &'a str, now: &'a str) -> Writer<'a> {
    Writer {
        manager,
        api_version: "shop.example.dev/v1",
        subresource: "",
        now,
        schema,
        reset: &["status"],
        blank: &Value::Null,
        claimed: true,
    }
}

fn widget(spec: Value) -> Value {
    json!({"apiVersion": "shop.example.dev/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec})
}

fn owned(object: &Value, manager: &str) -> Vec<String> {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found = entries.iter().filter(|e| e["manager"] == manager);
    found
        .flat_map(|e| FieldSet::decode(&e["fieldsV1"]).unwrap().paths())
        .collect()
}

const T1: &str = "2026-01-01T00:00:01Z";
const T2: &str = "2026-01-01T00:00:02Z";

#[test]
fn one_conflict_is_a_line_and_several_are_a_list() {
    let schema = widgets();
    let wanted = widget(json!({"size": "small", "count": 1}));
    let live = apply(None, &wanted, writer(&schema, "one", T1), false).unwrap();
    let refuse = |config: Value, manager: &str| {
        apply(Some(&live), &config, writer(&schema, manager, T2), false)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refuse(widget(json!({"size": "large"})), "two"),
        "Apply failed with 1 conflict: conflict with \"one\": .spec.size"
    );
    assert_eq!(
        refuse(widget(json!({"size": "large", "count": 2})), "two"),
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.count\n- .spec.size"
    );
    let mut updated = live.clone();
    updated["spec"]["count"] = json!(7);
    track(Some(&live), &mut updated, writer(&schema, "three", T2));
    let error = apply(
        Some(&updated),
        &widget(json!({"count": 8})),
        writer(&schema, "two", T2),
        false,
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "Apply failed with 1 conflict: conflict with \"three\" using shop.example.dev/v1: .spec.count"
    );
}

#[test]
fn force_moves_ownership() {
    let schema = widgets();
    let live = apply(
        None,
        &widget(json!({"size": "small"})),
        writer(&schema, "one", T1),
        false,
    )
    .unwrap();
    let forced = apply(
        Some(&live),
        &widget(json!({"size": "large"})),
        writer(&schema, "two", T2),
        true,
    )
    .unwrap();
    assert_eq!(forced["spec"]["size"], "large");
    assert_eq!(owned(&forced, "two"), [".spec.size"]);
    assert!(owned(&forced, "one").is_empty());
}

#[test]
fn what_nobody_wants_any_longer_goes_and_what_others_want_stays() {
    let schema = widgets();
    let both = widget(json!({"size": "small", "labels": {"x": "1"}, "tags": ["a"]}));
    let live = apply(None, &both, writer(&schema, "one", T1), false).unwrap();
    let other = widget(json!({"labels": {"y": "2"}, "tags": ["b"]}));
    let live = apply(Some(&live), &other, writer(&schema, "two", T1), false).unwrap();
    let live = apply(
        Some(&live),
        &widget(json!({"size": "small"})),
        writer(&schema, "one", T2),
        false,
    );
    let live = live.unwrap();
    assert_eq!(
        live["spec"],
        json!({"size": "small", "labels": {"y": "2"}, "tags": ["b"]})
    );
    let none =
        json!({"apiVersion": "shop.example.dev/v1", "kind": "Widget", "metadata": {"name": "a"}});
    let live = apply(Some(&live), &none, writer(&schema, "two", T2), false).unwrap();
    assert_eq!(live["spec"], json!({"size": "small"}));
    assert!(owned(&live, "two").is_empty());
}

#[test]
fn kubectl_takes_over_what_client_side_apply_wrote() {
    let schema = widgets();
    let note = widget(json!({"size": "small", "count": 3})).to_string();
    let mut live = widget(json!({"size": "small", "count": 4}));
    live["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": note});
    track(
        None,
        &mut live,
        writer(&schema, "kubectl-client-side-apply", T1),
    );
    let wanted = widget(json!({"size": "large"}));
    let moved = apply(Some(&live), &wanted, writer(&schema, "kubectl", T2), false).unwrap();
    assert_eq!(moved["spec"]["size"], "large");
    let text = moved["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
        .as_str();
    let kept: Value = serde_json::from_str(text.unwrap()).unwrap();
    assert_eq!(kept["spec"], json!({"size": "large"}));
    let changed_since = widget(json!({"count": 5}));
    let error = apply(
        Some(&live),
        &changed_since,
        writer(&schema, "kubectl", T2),
        false,
    );
    assert!(matches!(error, Err(ApplyError::Conflicts(_))));
    let stranger = apply(Some(&live), &wanted, writer(&schema, "argo", T2), false);
    assert!(matches!(stranger, Err(ApplyError::Conflicts(_))));
}

#[test]
fn more_than_ten_updaters_are_merged() {
    let schema = widgets();
    let mut live = widget(json!({"size": "small"}));
    track(
        None,
        &mut live,
        writer(&schema, "m00", "2026-01-01T00:00:00Z"),
    );
    for i in 1..15 {
        let mut next = live.clone();
        next["metadata"]["labels"][format!("l{i}")] = json!("x");
        let time = format!("2026-01-01T00:00:{i:02}Z");
        track(
            Some(&live),
            &mut next,
            writer(&schema, &format!("m{i:02}"), &time),
        );
        live = next;
    }
    let entries = live["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 10);
    assert!(entries.iter().any(|e| e["manager"] == "ancient-changes"));
    let all: usize = (1..15)
        .filter(|i| {
            let path = format!(".metadata.labels.l{i}");
            entries.iter().any(|e| {
                FieldSet::decode(&e["fieldsV1"])
                    .unwrap()
                    .paths()
                    .contains(&path)
            })
        })
        .count();
    assert_eq!(all, 14, "no ownership is lost");
}

#[test]
fn sets_read_back_as_they_were_written() {
    let wire = json!({
        "f:a": {".": {}, "f:b": {}},
        "f:l": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}},
        "f:s": {"v:\"x\"": {}, "v:5": {}},
    });
    assert_eq!(FieldSet::decode(&wire).unwrap().encode(), wire);
    assert!(FieldSet::decode(&json!([])).is_err());
    assert!(FieldSet::decode(&json!({"nonsense": {}})).is_err());
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({"f:a": deep});
    }
    assert!(FieldSet::decode(&deep).is_err());
}

#[test]
fn times_alone_are_no_change() {
    let schema = widgets();
    let wanted = widget(json!({"size": "small"}));
    let a = apply(None, &wanted, writer(&schema, "one", T1), false).unwrap();
    let mut b = a.clone();
    b["metadata"]["managedFields"][0]["time"] = json!(T2);
    assert!(same_but_times(&a, &b));
    b["spec"]["size"] = json!("large");
    assert!(!same_but_times(&a, &b));
}

prop_compose! {
    fn spec()(
        size in prop::option::of(prop::sample::select(vec!["small", "medium", "large"])),
        count in prop::option::of(0..5_i64),
        tags in prop::option::of(prop::collection::btree_set("[a-d]", 0..4)),
        ports in prop::option::of(prop::collection::btree_map(80..84_i64, prop::option::of("[a-c]"), 0..4)),
        labels in prop::option::of(prop::collection::btree_map("[x-z]", "[0-2]", 0..3)),
        steps in prop::option::of(prop::collection::vec("[s-u]", 0..3)),
        width in prop::option::of(0..3_i64),
        free in prop::option::of(prop::collection::btree_map("[p-r]", 0..3_i64, 0..3)),
    ) -> Value {
        let mut out = serde_json::Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                out.insert(name.to_owned(), value);
            }
        };
        put("size", size.map(Value::from));
        put("count", count.map(Value::from));
        put("tags", tags.map(|t| json!(t)));
        put("ports", ports.map(|p| {
            let item = |(port, name): (i64, Option<String>)| match name {
                Some(name) => json!({"port": port, "name": name}),
                None => json!({"port": port}),
            };
            Value::from(p.into_iter().map(item).collect::<Vec<_>>())
        }));
        put("labels", labels.map(|l| json!(l)));
        put("steps", steps.map(|s| json!(s)));
        put("box", width.map(|w| json!({"width": w})));
        put("extra", free.map(|f| json!({"deep": f})));
        Value::Object(out)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn applying_twice_changes_nothing(first in spec(), second in spec()) {
        let schema = widgets();
        let live = apply(None, &widget(first), writer(&schema, "one", T1), false).unwrap();
        let wanted = widget(second);
        let once = apply(Some(&live), &wanted, writer(&schema, "two", T1), true).unwrap();
        let twice = apply(Some(&once), &wanted, writer(&schema, "two", T2), false).unwrap();
        prop_assert_eq!(&once, &twice);
    }

    #[test]
    fn an_applier_owns_what_it_names_and_gets_what_it_wants(first in spec(), second in spec()) {
        let schema = widgets();
        let live = apply(None, &widget(first), writer(&schema, "one", T1), false).unwrap();
        let wanted = widget(second.clone());
        let after = apply(Some(&live), &wanted, writer(&schema, "two", T2), true).unwrap();
        let mut alone = apply(None, &wanted, writer(&schema, "two", T1), false).unwrap();
        prop_assert_eq!(owned(&after, "two"), owned(&alone, "two"));
        for name in ["size", "count", "steps", "box"] {
            if let Some(value) = second.get(name) {
                prop_assert_eq!(&after["spec"][name], value);
            }
        }
        alone["metadata"]["managedFields"] = json!([]);
    }

    #[test]
    fn nobody_else_keeps_a_field_whose_value_was_taken(first in spec(), second in spec()) {
        let schema = widgets();
        let live = apply(None, &widget(first), writer(&schema, "one", T1), false).unwrap();
        let after = apply(Some(&live), &widget(second), writer(&schema, "two", T2), true).unwrap();
        for path in owned(&after, "one") {
            let leaf = [".spec.size", ".spec.count", ".spec.steps", ".spec.box"].contains(&path.as_str());
            if leaf {
                let name = path.trim_start_matches(".spec.").to_owned();
                prop_assert_eq!(&after["spec"][&name], &live["spec"][&name]);
            }
        }
    }

    #[test]
    fn an_update_is_owned_by_who_made_it(first in spec(), second in spec()) {
        let schema = widgets();
        let mut live = widget(first);
        track(None, &mut live, writer(&schema, "one", T1));
        let mut next = widget(second);
        next["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
        track(Some(&live), &mut next, writer(&schema, "two", T2));
        let same = next.clone();
        let mut again = next.clone();
        track(Some(&same), &mut again, writer(&schema, "three", T2));
        prop_assert!(same_but_times(&same, &again), "no change, no owner");
        for (i, path) in owned(&next, "one").iter().enumerate() {
            prop_assert!(!owned(&next, "two").contains(path), "{i}: {path} has two owners");
        }
    }

    #[test]
    fn giving_everything_up_leaves_nothing_behind(first in spec()) {
        let schema = widgets();
        let live = apply(None, &widget(first), writer(&schema, "one", T1), false).unwrap();
        prop_assume!(!owned(&live, "one").is_empty());
        let none = json!({"apiVersion": "shop.example.dev/v1", "kind": "Widget", "metadata": {"name": "a"}});
        let after = apply(Some(&live), &none, writer(&schema, "one", T2), false).unwrap();
        prop_assert!(owned(&after, "one").is_empty());
        prop_assert_eq!(&after["metadata"], &json!({"name": "a"}));
        let left = &after["spec"];
        prop_assert!(left.is_null() || left.as_object().is_some_and(|m| {
            m.values().all(|v| v.is_null() || v == &json!([]) || v == &json!({}))
        }), "{}", left);
    }

    #[test]
    fn set_operations_keep_their_laws(first in spec(), second in spec()) {
        let schema = widgets();
        let shape = super::shape::Shape::root(&schema);
        let a = super::merge::paths(&widget(first), shape);
        let b = super::merge::paths(&widget(second), shape);
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(&a.difference(&b).union(&a.intersection(&b)), &a);
        prop_assert!(a.difference(&a).is_empty());
        prop_assert_eq!(FieldSet::decode(&a.encode()).unwrap(), a);
    }
}
