//! A field that there is none of is told, whatever level it stands at (A3, A4a): some definitions keep what they do not
//! know.

use model::Problem;
use serde_json::{Value, json};

use crate::variant;

/// A way to read an object of one kind: what is wrong with it.
type Read = fn(Value) -> Vec<Problem>;

fn of_variant(spec: Value) -> Vec<Problem> {
    let read = api::read_variant(&variant(spec)).unwrap().2;
    read.err().unwrap_or_default()
}

fn of_set(spec: Value) -> Vec<Problem> {
    let read = api::read_set(&variant(spec)).unwrap().2;
    read.err().unwrap_or_default()
}

fn of_revision_set(spec: Value) -> Vec<Problem> {
    let read = api::read_revision_set(&variant(spec));
    read.err().unwrap_or_default()
}

/// Mappings whose keys are anybody's.
const FREE: [&str; 5] = ["labels", "annotations", "data", "configMap", "matchLabels"];

/// The pointers of all mappings that have fields of their own.
fn levels(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            out.push(at.to_owned());
            for (key, value) in map.iter().filter(|(key, _)| !FREE.contains(&key.as_str())) {
                levels(value, &format!("{at}/{key}"), out);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                levels(item, &format!("{at}/{i}"), out);
            }
        }
        _ => {}
    }
}

/// How a problem names this place.
fn path(pointer: &str) -> String {
    let mut out = "spec".to_owned();
    for part in pointer.split('/').skip(1) {
        match part.parse::<usize>() {
            Ok(n) => out.push_str(&format!("[{n}]")),
            Err(_) => out.push_str(&format!(".{part}")),
        }
    }
    out
}

fn with(mut value: Value, more: Value) -> Value {
    for (key, part) in more.as_object().unwrap() {
        value[key] = part.clone();
    }
    value
}

fn upstream() -> Value {
    json!({
        "repo": "up", "package": "app", "revision": "v1", "workspaceName": "v1", "allowUnpublished": true,
    })
}

fn function() -> Value {
    let selector = json!([{
        "apiVersion": "v1", "kind": "Pod", "name": "n", "namespace": "s", "labels": { "a": "b" },
        "annotations": { "a": "b" },
    }]);
    json!({
        "name": "f", "image": "set-labels", "tag": "v1", "configPath": "x.yaml", "configMap": { "a": "b" },
        "selectors": selector, "exclude": selector,
    })
}

fn labels() -> Value {
    json!({
        "matchLabels": { "a": "b" },
        "matchExpressions": [{ "key": "k", "operator": "In", "values": ["v"] }],
    })
}

/// What variants and templates share.
fn policies() -> Value {
    json!({
        "adoptionPolicy": "adoptNone", "deletionPolicy": "orphan", "conflictPolicy": "Block",
        "proposedRevisions": "wait", "upgradeStrategy": "copy-merge",
        "labels": { "a": "b" }, "annotations": { "a": "b" },
    })
}

/// A template in today's form, and what only older documents write.
fn templates() -> [Value; 2] {
    let pairs = json!([{ "key": "k", "valueExpr": "'v'" }, { "keyExpr": "'k'", "value": "v" }]);
    let computed = with(function(), json!({ "configMapExprs": pairs }));
    let injectors = json!([
        { "group": "g", "version": "v1", "kind": "K", "name": "n" },
        { "groupExpr": "'g'", "versionExpr": "'v1'", "kindExpr": "'K'", "nameExpr": "'n'" },
    ]);
    let context = json!({
        "data": { "a": "b" }, "dataExprs": pairs, "removeKeys": ["c"], "removeKeyExprs": ["'d'"], "create": true,
    });
    let today = json!({
        "downstream": { "repoExpr": "'r'", "packageExpr": "'p'" },
        "labelExprs": pairs, "annotationExprs": pairs, "packageContext": context,
        "pipeline": { "mutators": [computed], "validators": [computed] },
        "injectors": injectors, "injectorExprs": injectors,
    });
    let older = json!({
        "downstreamExprs": { "repoExpr": "'r'" }, "downstreamExpr": { "packageExpr": "'p'" },
        "packageContextExprs": { "dataExprs": pairs, "removeKeyExprs": ["'d'"] },
        "labelExprs": { "key": "k", "value": "v" }, "injectors": { "name": "n" },
    });
    [with(policies(), today), older]
}

fn set() -> Value {
    let [template, older] = templates();
    let repositories = with(labels(), json!({ "packageNames": ["a"] }));
    let objects = with(
        repositories.clone(),
        json!({ "apiVersion": "v1", "kind": "Pod", "name": "n" }),
    );
    json!({
        "upstream": upstream(),
        "targets": [
            { "repositories": [{ "name": "r", "packageNames": ["a"] }], "template": template },
            { "repositorySelector": repositories, "packageNames": ["b"], "template": older },
            { "objectSelector": objects },
        ],
        "onError": "Stop", "maxInFlight": 3, "suspend": true,
        "deletionGuard": { "enabled": true, "percent": 10 },
        "rollout": {
            "steps": [{ "name": "canary", "selector": labels() }, { "name": "tenth", "percent": 10 }, { "name": "rest" }],
            "open": { "published": 95, "soak": "2h" },
            "halt": { "conflicts": 1, "failed": 2, "rejected": 3 },
        },
    })
}

/// Specs that together have every field at every level.
fn specs() -> Vec<(Read, Value)> {
    let one = json!({
        "upstream": with(upstream(), json!({ "commit": "ab".repeat(20) })),
        "downstream": { "repo": "d", "package": "p" },
        "packageContext": { "data": { "a": "b" }, "removeKeys": ["c"], "create": true },
        "pipeline": { "mutators": [function()], "validators": [function()] },
        "injectors": [{ "group": "g", "version": "v1", "kind": "K", "name": "n" }],
        "suspend": true,
    });
    let upstreams = json!([
        { "repo": "up", "package": "app", "tag": "stable" },
        { "repo": "up", "selector": labels() },
    ]);
    let mut several = with(set(), json!({ "upstreams": upstreams }));
    several.as_object_mut().unwrap().remove("upstream");
    vec![
        (of_variant, with(policies(), one)),
        (of_set, set()),
        (of_set, several),
        (of_revision_set, json!({ "upstreams": upstreams })),
    ]
}

#[test]
fn a_field_that_there_is_none_of_is_a_problem_at_every_level() {
    for (read, spec) in specs() {
        assert_eq!(read(spec.clone()), [], "{spec}");
        let mut all = Vec::new();
        levels(&spec, "", &mut all);
        for pointer in all {
            let mut wrong = spec.clone();
            wrong.pointer_mut(&pointer).unwrap()["notAField"] = json!("x");
            let problems = read(wrong);
            let mut fields = problems.iter().map(|p| p.what.clone());
            // One given as a single mapping counts as the first of a list.
            let place =
                [".labelExprs", ".injectors"]
                    .iter()
                    .fold(path(&pointer), |at, end| match at.strip_suffix(end) {
                        Some(_) => format!("{at}[0]"),
                        None => at,
                    });
            let told = fields.any(|what| {
                what.starts_with(&format!("{place}.notAField: "))
                    || what == format!("{place}: `selector` cannot be combined with `notAField`")
            });
            assert!(told, "{place}: {problems:?}");
        }
    }
}

/// Every field of the definitions stands in those specs: what is added to a definition is added here.
#[test]
fn the_specs_have_every_field_of_the_definitions() {
    fn walk(schema: &Value, given: &[&Value], at: &str, missing: &mut Vec<String>) {
        if let Some(items) = schema.get("items") {
            let inside: Vec<&Value> = given.iter().flat_map(|v| v.as_array()).flatten().collect();
            walk(items, &inside, at, missing);
        }
        for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
            let inside: Vec<&Value> = given.iter().filter_map(|v| v.get(key)).collect();
            let at = format!("{at}.{key}");
            if inside.is_empty() {
                missing.push(at);
            } else {
                walk(schema, &inside, &at, missing);
            }
        }
    }
    let specs = specs();
    for (kind, read) in [
        ("PackageVariant", of_variant as Read),
        ("PackageVariantSet", of_set),
        ("PackageRevisionSet", of_revision_set),
    ] {
        let crds = api::crds().unwrap();
        let crd = crds
            .iter()
            .find(|c| c["spec"]["names"]["kind"] == kind)
            .unwrap();
        let versions = crd["spec"]["versions"].as_array().unwrap();
        let stored = versions.iter().find(|v| v["storage"] == true).unwrap();
        let schema = &stored["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let fields: Vec<String> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        for field in fields {
            let mut missing = Vec::new();
            let given: Vec<&Value> = specs
                .iter()
                .filter(|(r, _)| std::ptr::fn_addr_eq(*r, read))
                .filter_map(|(_, spec)| spec.get(&field))
                .collect();
            walk(&schema["properties"][&field], &given, &field, &mut missing);
            missing.retain(|at| !EXCLUSIVE.contains(&at.as_str()));
            assert_eq!(missing, [""; 0], "{kind}");
        }
    }
}

/// Fields without fields of their own that cannot stand beside others of the specs.
const EXCLUSIVE: [&str; 11] = [
    "upstream.tag",
    "upstreams.revision",
    "upstreams.workspaceName",
    "upstreams.allowUnpublished",
    "upstreams.revisionSet",
    "targets.template.downstream.repo",
    "targets.template.downstream.package",
    "targets.template.pipeline.mutators.exec",
    "targets.template.pipeline.validators.exec",
    "pipeline.mutators.exec",
    "pipeline.validators.exec",
];

/// The nearest field is named; a mapping of texts is no context with a misspelt field.
#[test]
fn the_field_that_was_meant_is_named() {
    let set = |target: Value| {
        let problems = of_set(json!({
            "upstream": { "repo": "up", "package": "app", "revision": "v1" },
            "targets": [target],
        }));
        model::join_problems(&problems)
    };
    let at = "spec.targets[0]";
    for (target, what) in [
        (
            json!({ "repositorySelector": { "matchLabel": { "tier": "edge" } } }),
            format!(
                "{at}.repositorySelector.matchLabel: there is no such field; did you mean \"matchLabels\"?"
            ),
        ),
        (
            json!({ "objectSelector": { "apiVersion": "v1", "kind": "Pod", "matchExpressons": [] } }),
            format!(
                "{at}.objectSelector.matchExpressons: there is no such field; did you mean \"matchExpressions\"?"
            ),
        ),
        (
            json!({ "repositorySelector": { "kind": "Repository" } }),
            format!("{at}.repositorySelector.kind: there is no such field"),
        ),
        (
            json!({ "repositories": [{ "name": "r" }], "template": { "packageContext": { "removeKey": ["a"] } } }),
            format!(
                "{at}.template.packageContext.removeKey: there is no such field; did you mean \"removeKeys\"?"
            ),
        ),
        (
            json!({ "repositories": [{ "name": "r" }], "template": { "packageContext": { "region": "eu" } } }),
            String::new(),
        ),
    ] {
        assert_eq!(set(target), what);
    }
    let of = |key: &str| {
        let mut injector = json!({ "name": "n" });
        injector[key] = json!("ConfigMap");
        model::join_problems(&of_variant(json!({
            "upstream": { "repo": "up", "package": "app" }, "downstream": { "repo": "d", "package": "p" },
            "injectors": [injector],
        })))
    };
    assert_eq!(
        of("kin"),
        "spec.injectors[0].kin: there is no such field; did you mean \"kind\"?"
    );
    assert_eq!(
        of("nameExpr"),
        "spec.injectors[0].nameExpr: there is no such field"
    );
}
