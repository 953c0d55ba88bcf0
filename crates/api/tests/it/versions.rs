//! Sets between versions: nothing is lost in either direction (R130, A3).

use proptest::prelude::*;
use serde_json::{Value, json};

const NEW: &str = "config.porch.kpt.dev/v1alpha2";
const OLD: &str = "config.porch.kpt.dev/v1alpha1";

fn set(api_version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": "PackageVariantSet",
        "metadata": { "name": "fan", "namespace": "default" },
        "spec": spec,
    })
}

/// An older spec and the newer one that it means.
fn pair() -> (Value, Value) {
    let old = json!({
        "upstream": { "package": { "repo": "blueprints", "name": "app" }, "revision": "v1" },
        "adoptionPolicy": "adoptExisting",
        "labels": { "team": "web" },
        "targets": [
            { "package": { "repo": "east", "name": "shop" } },
            { "package": { "repo": "west" } },
            { "repositories": { "matchLabels": { "env": "prod" } },
              "packageName": { "baseName": { "value": "app" }, "nameSuffix": { "value": "-eu" } } },
            { "objects": {
                "selectors": [
                    { "apiVersion": "infra/v1", "kind": "Cluster", "labelSelector": { "matchLabels": { "a": "b" } } },
                    { "apiVersion": "v1", "kind": "ConfigMap", "name": "one" },
                ],
                "repoName": { "fromField": "metadata.labels[infra/repo's]" } },
              "packageName": { "namePrefix": { "fromField": "metadata.name" } } },
        ],
    });
    let common = json!({ "adoptionPolicy": "adoptExisting", "labels": { "team": "web" } });
    let with = |downstream: Value| {
        let mut template = common.clone();
        template["downstream"] = downstream;
        template
    };
    let objects = with(json!({
        "repoExpr": r"target.labels['infra/repo\'s']",
        "packageExpr": "target.name + packageDefault",
    }));
    let new = json!({
        "upstream": { "repo": "blueprints", "package": "app", "revision": "v1" },
        "targets": [
            { "repositories": [{ "name": "east", "packageNames": ["shop"] }], "template": common.clone() },
            { "repositories": [{ "name": "west" }], "template": common.clone() },
            { "repositorySelector": { "matchLabels": { "env": "prod" } },
              "template": with(json!({ "package": "app-eu" })) },
            { "objectSelector": { "apiVersion": "infra/v1", "kind": "Cluster", "matchLabels": { "a": "b" } },
              "template": &objects },
            { "objectSelector": { "apiVersion": "v1", "kind": "ConfigMap", "name": "one" }, "template": &objects },
        ],
    });
    (old, new)
}

/// R130: the older shape means what it meant, and comes back as it was written.
#[test]
fn the_older_shape_is_rewritten_and_comes_back() {
    let (old, new) = pair();
    let written = set(OLD, old);
    let stored = api::convert_set(written.clone(), NEW).unwrap();
    assert_eq!(stored["spec"], new);
    assert!(api::read_set(&stored).unwrap().2.is_ok());
    assert_eq!(api::convert_set(stored.clone(), OLD).unwrap(), written);
    // Changed by whoever writes the newer version, it is shown as it is now.
    let mut changed = stored;
    changed["spec"]["targets"][1]["repositories"][0]["name"] = json!("north");
    let shown = api::convert_set(changed.clone(), OLD).unwrap();
    assert_eq!(shown["spec"], changed["spec"]);
    assert_eq!(shown["metadata"].get("annotations"), None);
}

/// R130: what cannot be said in the newer version is refused, never dropped.
#[test]
fn what_has_no_counterpart_is_named() {
    let refused = |pointer: &str, value: Value| {
        let (mut old, _) = pair();
        let at = pointer.rsplit_once('/').unwrap();
        old.pointer_mut(at.0).unwrap()[at.1] = value;
        api::convert_set(set(OLD, old), NEW)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("/targets/3/objects/repoName/fromField", json!("spec.repo")),
        "spec.targets[3].objects.repoName.fromField: \"spec.repo\" cannot be expressed in v1alpha2: \
         only name, namespace, labels and annotations are visible"
    );
    assert_eq!(
        refused(
            "/targets/0/packageName",
            json!({ "baseName": { "value": "x" } })
        ),
        "spec.targets[0]: cannot specify both fields `packageName` and `package`"
    );
    assert_eq!(
        refused("/targets/0/objects", json!({})),
        "spec.targets[0]: must specify one of `package`, `repositories`, or `objects`"
    );
    assert_eq!(
        refused("/targets/3/objects/selectors", json!([])),
        "spec.targets[3].objects: must have at least one selector"
    );
    assert_eq!(
        refused("/targets/3/objects/repoName", Value::Null),
        "spec.targets[3].objects: must specify `repoName` field"
    );
    assert_eq!(
        refused(
            "/targets/3/objects/selectors/0/labelSelector",
            json!({ "matchLabel": { "a": "b" } })
        ),
        "spec.targets[3].objects.selectors[0].labelSelector.matchLabel: has no counterpart in v1alpha2"
    );
    assert_eq!(
        refused("/prune", json!(true)),
        "spec.prune: has no counterpart in v1alpha2"
    );
    assert_eq!(
        refused("/targets/2/repositorySelector", json!({})),
        "spec.targets[2].repositorySelector: is of another shape than spec.upstream.package: \
         a set is written in one of the two"
    );
}

fn word() -> impl Strategy<Value = Value> {
    "[a-z'\\\\]{1,6}".prop_map(Value::from)
}

fn said() -> impl Strategy<Value = Value> {
    prop_oneof![
        word().prop_map(|w| json!({ "value": w })),
        Just(json!({ "fromField": "metadata.name" })),
        "[a-z'/.]{1,8}".prop_map(|k| json!({ "fromField": format!("metadata.labels[{k}]") })),
    ]
}

fn some(key: &'static str, of: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::option::of(of).prop_map(move |v| v.map_or(json!({}), |v| json!({ key: v })))
}

fn both(
    a: impl Strategy<Value = Value>,
    b: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Value> {
    (a, b).prop_map(|(mut a, b)| {
        a.as_object_mut()
            .unwrap()
            .extend(b.as_object().unwrap().clone());
        a
    })
}

fn package_name() -> impl Strategy<Value = Value> {
    let parts = both(some("namePrefix", said()), some("nameSuffix", said()));
    some("packageName", both(parts, some("baseName", said())))
}

fn labels() -> impl Strategy<Value = Value> {
    some("matchLabels", word().prop_map(|w| json!({ "env": w })))
}

fn old_target() -> impl Strategy<Value = Value> {
    let selector =
        labels().prop_map(|l| json!({ "apiVersion": "v1", "kind": "Team", "labelSelector": l }));
    let selectors = proptest::collection::vec(selector, 1..3);
    let objects = (selectors, said())
        .prop_map(|(s, r)| json!({ "objects": { "selectors": s, "repoName": r } }));
    prop_oneof![
        both(
            word().prop_map(|r| json!({ "repo": r })),
            some("name", word())
        )
        .prop_map(|p| json!({ "package": p })),
        both(
            labels().prop_map(|l| json!({ "repositories": l })),
            package_name()
        ),
        both(objects, package_name()),
    ]
}

fn old_spec() -> impl Strategy<Value = Value> {
    let upstream = both(some("revision", word()), some("ref", word())).prop_map(|mut u| {
        u["package"] = json!({ "repo": "blueprints", "name": "app" });
        json!({ "upstream": u })
    });
    let targets =
        proptest::collection::vec(old_target(), 1..4).prop_map(|t| json!({ "targets": t }));
    both(
        both(upstream, targets),
        some("labels", word().prop_map(|w| json!({ "a": w }))),
    )
}

fn new_spec() -> impl Strategy<Value = Value> {
    let template = both(
        labels().prop_map(|l| json!({ "labels": l })),
        some("deletionPolicy", word()),
    );
    let target = prop_oneof![
        word().prop_map(|w| json!({ "repositories": [{ "name": w }] })),
        labels().prop_map(|l| json!({ "repositorySelector": l })),
        labels().prop_map(|l| json!({ "objectSelector": l })),
    ];
    let targets = proptest::collection::vec(both(target, some("template", template)), 1..4);
    (word(), targets).prop_map(|(w, t)| {
        json!({ "upstream": { "repo": w, "package": "app", "revision": 1 }, "targets": t })
    })
}

proptest! {
    /// R130: a v1alpha1 set of either shape comes back from the store as it was written.
    #[test]
    fn v1alpha1_comes_back(spec in prop_oneof![old_spec(), new_spec()]) {
        let written = set(OLD, spec);
        let stored = api::convert_set(written.clone(), NEW).unwrap();
        prop_assert_eq!(&stored["apiVersion"], NEW);
        prop_assert_eq!(api::convert_set(stored.clone(), OLD).unwrap(), written);
        // Once more through the other version, the stored one is the same, its note too.
        let again = api::convert_set(api::convert_set(stored.clone(), OLD).unwrap(), NEW).unwrap();
        prop_assert_eq!(again, stored);
    }

    /// R130: a v1alpha2 set that is read and written as v1alpha1 stays as it is.
    #[test]
    fn v1alpha2_comes_back(spec in new_spec()) {
        let stored = set(NEW, spec);
        let shown = api::convert_set(stored.clone(), OLD).unwrap();
        prop_assert_eq!(&shown["spec"], &stored["spec"]);
        prop_assert_eq!(api::convert_set(shown, NEW).unwrap(), stored);
    }
}

/// R130, R184: several upstream packages are of the newer shape, in either version, and come through unchanged.
#[test]
fn several_upstreams_come_through() {
    let spec = json!({
        "upstreams": [{ "repo": "blueprints", "package": "app" }, { "revisionSet": "stack" }],
        "targets": [{ "repositories": [{ "name": "east" }] }],
    });
    let stored = api::convert_set(set(OLD, spec.clone()), NEW).unwrap();
    assert_eq!(stored, set(NEW, spec.clone()));
    let shown = api::convert_set(stored, OLD).unwrap();
    assert_eq!(shown, set(OLD, spec.clone()));
    let mut mixed = spec;
    mixed["labels"] = json!({ "team": "web" });
    let refused = api::convert_set(set(OLD, mixed), NEW).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "spec.upstreams: is of another shape than spec.labels: a set is written in one of the two"
    );
}
