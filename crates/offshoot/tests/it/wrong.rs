//! Every field of variants and sets, wrong in every way that its definition and the documents allow: what the server
//! refuses (as Porch's definitions do), and what is accepted, warned about, and stalls (A4a).
//!
//! `testdata/wrong.txt` holds each case with its exact answer; `BLESS=1` writes it, the change is reviewed.

use std::fmt::Write as _;
use std::path::Path;

use objects::schema::{FieldError, Structural};
use serde_json::{Value, json};

/// Fields that the definitions keep as they are written: where they stand, and what they hold.
fn kept(kind: &str) -> Vec<(&'static str, Value)> {
    let injectors = json!([{ "group": "g", "version": "v1", "kind": "K", "name": "n" }]);
    if kind == "PackageVariant" {
        return vec![("spec.injectors", injectors)];
    }
    let pair = json!([{ "key": "k", "value": "v" }]);
    let computed = json!([{ "keyExpr": "'k'", "valueExpr": "'v'" }]);
    let expressions =
        json!([{ "kind": "K", "nameExpr": "'n'", "groupExpr": "'g'", "versionExpr": "'v'" }]);
    let labels = json!({
        "matchLabels": { "env": "prod" },
        "matchExpressions": [{ "key": "env", "operator": "In", "values": ["prod"] }],
        "packageNames": ["app"],
    });
    if kind == "PackageRevisionSet" {
        let mut selector = labels;
        selector.as_object_mut().unwrap().remove("packageNames");
        return vec![("spec.upstreams[1].selector", selector)];
    }
    let mut objects = labels.clone();
    objects["apiVersion"] = json!("v1");
    objects["kind"] = json!("ConfigMap");
    objects["name"] = json!("one");
    vec![
        ("spec.targets[1].repositorySelector", labels),
        ("spec.targets[2].objectSelector", objects),
        (
            "spec.targets[1].template.downstreamExprs",
            json!({ "repoExpr": "'r'", "packageExpr": "'p'" }),
        ),
        ("spec.targets[0].template.labelExprs", pair.clone()),
        ("spec.targets[1].template.labelExprs", computed.clone()),
        ("spec.targets[0].template.annotationExprs", pair.clone()),
        (
            "spec.targets[0].template.packageContext",
            json!({
                "data": { "k": "v" }, "dataExprs": pair, "removeKeys": ["x"], "removeKeyExprs": ["'y'"], "create": true,
            }),
        ),
        (
            "spec.targets[1].template.packageContextExprs",
            json!({ "dataExprs": computed, "removeKeyExprs": ["'y'"] }),
        ),
        (
            "spec.targets[0].template.pipeline.mutators[0].configMapExprs",
            pair,
        ),
        ("spec.targets[0].template.injectors", injectors),
        ("spec.targets[1].template.injectorExprs", expressions),
    ]
}

/// A whole object of a kind, with every field that can stand beside the others.
fn whole(kind: &str) -> Value {
    let function = json!({
        "name": "f", "image": "set-labels", "tag": "v1", "configPath": "c.yaml", "configMap": { "k": "v" },
        "selectors": [{ "apiVersion": "v1", "kind": "K", "name": "n", "namespace": "ns", "labels": { "a": "b" }, "annotations": { "a": "b" } }],
        "exclude": [{ "apiVersion": "v1", "kind": "K", "name": "n", "namespace": "ns", "labels": { "a": "b" }, "annotations": { "a": "b" } }],
    });
    let policies = json!({
        "adoptionPolicy": "adoptExisting", "deletionPolicy": "orphan", "conflictPolicy": "Local",
        "proposedRevisions": "revertToDraft", "upgradeStrategy": "fast-forward",
        "labels": { "team": "web" }, "annotations": { "note": "x" },
        "pipeline": { "mutators": [function], "validators": [function] },
    });
    let mut spec = json!({
        "upstream": { "repo": "blueprints", "package": "app", "revision": 1, "allowUnpublished": true },
        "suspend": false,
    });
    let merge = |into: &mut Value, from: &Value| {
        into.as_object_mut()
            .unwrap()
            .extend(from.as_object().unwrap().clone());
    };
    if kind == "PackageVariant" {
        merge(&mut spec, &policies);
        spec["downstream"] = json!({ "repo": "deploy", "package": "shop" });
        spec["packageContext"] =
            json!({ "data": { "k": "v" }, "removeKeys": ["x"], "create": true });
    } else if kind == "PackageRevisionSet" {
        let mut tagged = spec["upstream"].clone();
        tagged["tag"] = json!("stable");
        tagged.as_object_mut().unwrap().remove("revision");
        spec = json!({ "upstreams": [spec["upstream"], { "repo": "blueprints" }, tagged] });
    } else {
        let mut template = policies;
        template["downstream"] = json!({ "repo": "deploy", "package": "shop" });
        spec["targets"] = json!([
            { "repositories": [{ "name": "east", "packageNames": ["one"] }], "template": template },
            { "template": {} },
            { "packageNames": ["beside"] },
        ]);
        spec["onError"] = json!("Stop");
        spec["deletionGuard"] = json!({ "enabled": true, "percent": 30 });
        spec["maxInFlight"] = json!(3);
    }
    let version = if kind == "PackageVariantSet" {
        "v1alpha2"
    } else {
        "v1alpha1"
    };
    let mut object = json!({
        "apiVersion": format!("config.porch.kpt.dev/{version}"),
        "kind": kind,
        "metadata": { "name": "x", "namespace": "default" },
        "spec": spec,
    });
    for (path, value) in kept(kind) {
        put(&mut object, path, value);
    }
    object
}

/// `spec.targets[0].name` as a JSON pointer.
fn pointer(path: &str) -> String {
    format!("/{}", path.replace(['.', '['], "/").replace(']', ""))
}

fn put(object: &mut Value, path: &str, value: Value) {
    let pointer = pointer(path);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).unwrap();
    match key.parse::<usize>() {
        Ok(index) => parent[index] = value,
        Err(_) => parent[key] = value,
    }
}

/// The paths of everything below `spec`, containers too.
fn paths(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}.{key}");
                out.push(path.clone());
                paths(value, &path, out);
            }
        }
        Value::Array(items) => {
            for (i, value) in items.iter().enumerate() {
                let path = format!("{path}[{i}]");
                out.push(path.clone());
                paths(value, &path, out);
            }
        }
        _ => {}
    }
}

/// What else can stand in the place of a value.
fn wrong(path: &str, is: &Value) -> Vec<Value> {
    let all = [
        json!(7),
        json!(true),
        json!("odd text/\n"),
        json!(["x"]),
        json!({ "k": "v" }),
    ];
    let same = |v: &Value| std::mem::discriminant(v) == std::mem::discriminant(is);
    let mut out: Vec<Value> = all.into_iter().filter(|v| !same(v)).collect();
    let last = path.rsplit('.').next().unwrap_or_default();
    let texts: &[&str] = match last {
        "repo" | "name" | "package" if is.is_string() => &["", "Upper", "-edge", "a/../b"],
        "packageNames[0]" => &["", "Upper", "a/../b"],
        "adoptionPolicy" | "deletionPolicy" | "conflictPolicy" | "proposedRevisions"
        | "upgradeStrategy" | "onError" | "operator" => &["", "nonsense"],
        "revision" => &["v0", "a b", "../x"],
        "apiVersion" | "kind" | "image" => &[""],
        _ => &[],
    };
    out.extend(texts.iter().map(|t| json!(t)));
    match last {
        "revision" => out.extend([json!(0), json!(-2), json!(1.5)]),
        "maxInFlight" => out.extend([json!(0), json!(-1)]),
        "percent" => out.extend([json!(-1), json!(101)]),
        "targets" | "repositories" | "upstreams" => out.push(json!([])),
        "labels" | "annotations" if is.get("note").is_some() || is.get("team").is_some() => out
            .extend([
                json!({ "-edge": "v" }),
                json!({ "a/b/c": "v" }),
                json!({ "team": "v".repeat(64) }),
                json!({ "team": "odd value" }),
            ]),
        "data" | "removeKeys" if path.contains("ontext") && is.is_object() => {
            out.extend([json!({ "name": "v" }), json!({ "package-path": "v" })]);
        }
        "removeKeys" if path.contains("ontext") => {
            out.extend([json!(["name"]), json!(["package-path"])])
        }
        _ => {}
    }
    out
}

/// Whole ways of being wrong that no single field has.
fn together(kind: &str) -> Vec<(&'static str, Value)> {
    if kind == "PackageRevisionSet" {
        let one = "spec.upstreams[0]";
        let selector = json!({ "matchLabels": { "env": "prod" } });
        return vec![
            (one, json!({})),
            (one, json!({ "repo": "a" })),
            (one, json!({ "selector": selector, "tag": "stable" })),
            (one, json!({ "selector": {} })),
            (one, json!({ "selector": { "kind": "ConfigMap" } })),
            (one, json!({ "revisionSet": "other" })),
            (
                one,
                json!({ "repo": "a", "package": "b", "revision": 2, "workspaceName": "v3" }),
            ),
            (
                one,
                json!({ "repo": "a", "package": "b", "revision": 2, "tag": "stable" }),
            ),
        ];
    }
    let mut out = vec![
        (
            "spec.upstream",
            json!({ "repo": "a", "package": "b", "revision": 2, "workspaceName": "v3" }),
        ),
        (
            "spec.upstream",
            json!({ "repo": "a", "package": "b", "revision": 2, "tag": "stable" }),
        ),
        (
            "spec.upstream",
            json!({ "repo": "a", "package": "b", "tag": "no tag" }),
        ),
        ("spec.upstream", json!({})),
    ];
    if kind == "PackageVariant" {
        out.push(("spec.injectors[0]", json!({ "kind": "K" })));
        out.push(("spec.pipeline.mutators[0]", json!({ "name": "a.b" })));
        return out;
    }
    let selector = "spec.targets[1].repositorySelector.matchExpressions[0]";
    let pair = "spec.targets[0].template.labelExprs[0]";
    out.extend([
        (selector, json!({ "key": "a", "operator": "In" })),
        (selector, json!({ "key": "a", "operator": "Exists", "values": ["x"] })),
        (selector, json!({ "operator": "Exists" })),
        (pair, json!({ "key": "a", "keyExpr": "b", "value": "c" })),
        (pair, json!({ "key": "a", "value": "b", "valueExpr": "c" })),
        (pair, json!({ "value": "b" })),
        (pair, json!({ "key": "b" })),
        ("spec.targets[0].template.downstream", json!({ "repo": "a", "repoExpr": "'b'" })),
        ("spec.targets[0].template.downstream", json!({ "package": "a", "packageExpr": "'b'" })),
        ("spec.targets[0].template.injectors[0]", json!({ "name": "a", "nameExpr": "'b'" })),
        ("spec.targets[0].template.injectors[0]", json!({ "kind": "K" })),
        ("spec.targets[0].template.pipeline.mutators[0]", json!({ "name": "a.b" })),
        ("spec.targets[0].template.packageContext", json!({ "dataExprs": { "key": "name", "value": "v" } })),
        ("spec.targets[0]", json!({})),
        ("spec.targets[0]", json!({ "repositories": [{ "name": "a" }], "objectSelector": { "apiVersion": "v1", "kind": "K" } })),
    ]);
    out
}

/// What becomes of an object.
fn answer(schema: &Structural, kind: &str, mut object: Value) -> String {
    let unknown = schema.prune(&mut object);
    let errors = schema.validate(&object, None);
    let mut out: Vec<String> = unknown
        .iter()
        .map(|path| format!("unknown field {path}"))
        .collect();
    if !errors.is_empty() {
        let told = |e: &FieldError| format!("refused: {}: {}", e.field(), e.body());
        out.extend(errors.iter().map(|e| told(e).replace('\n', "\\n")));
        return out.join(" | ");
    }
    let problems = match kind {
        "PackageVariant" => api::read_variant(&object).unwrap().2.err(),
        "PackageRevisionSet" => api::read_revision_set(&object).err(),
        _ => api::read_set(&object).unwrap().2.err(),
    };
    let problems = problems.into_iter().flatten();
    out.extend(problems.map(|p| format!("stalls: {}: {p}", p.field).replace('\n', "\\n")));
    if out.is_empty() {
        return "accepted".to_owned();
    }
    out.join(" | ")
}

/// R16: each case has its exact answer, and none is taken for something else in silence.
#[test]
fn every_field_wrong_in_every_way() {
    let mut text = String::new();
    let (mut cases, mut accepted) = (0, Vec::new());
    for crd in api::crds().unwrap() {
        let kind = crd
            .pointer("/spec/names/kind")
            .and_then(Value::as_str)
            .unwrap()
            .to_owned();
        if kind == "Repository" {
            continue;
        }
        let raw = crd
            .pointer("/spec/versions/0/schema/openAPIV3Schema")
            .unwrap();
        let Ok(schema) = Structural::trusted(raw) else {
            unreachable!("the definition of {kind}");
        };
        let base = whole(&kind);
        assert_eq!(
            answer(&schema, &kind, base.clone()),
            "accepted",
            "{kind} as it stands"
        );
        let mut all = Vec::new();
        paths(&base["spec"], "spec", &mut all);
        let singles = all.into_iter().flat_map(|path| {
            let is = base.pointer(&pointer(&path)).unwrap().clone();
            wrong(&path, &is)
                .into_iter()
                .map(move |value| (path.clone(), value))
        });
        let whole = together(&kind)
            .into_iter()
            .map(|(path, value)| (path.to_owned(), value));
        for (path, value) in singles.chain(whole) {
            let mut object = base.clone();
            put(&mut object, &path, value.clone());
            let answer = answer(&schema, &kind, object);
            let shown = value.to_string();
            if answer == "accepted" {
                accepted.push(format!("{kind} {path} = {shown}"));
            }
            writeln!(text, "{kind} {path} = {shown}\n    {answer}").unwrap();
            cases += 1;
        }
    }
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/wrong.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&place, &text).unwrap();
    }
    assert!(cases >= 400, "{cases} cases");
    // What may be written in another way than it stands: none of these is wrong.
    let odd: Vec<&String> = accepted.iter().filter(|case| !is_fine(case)).collect();
    assert!(odd.is_empty(), "accepted in silence: {odd:#?}");
    let stands = std::fs::read_to_string(&place).unwrap();
    for (is, was) in text.lines().zip(stands.lines()) {
        assert_eq!(is, was, "BLESS=1 writes testdata/wrong.txt");
    }
    assert_eq!(text.lines().count(), stands.lines().count());
}

/// Whether a case is no mistake: what is left out, and texts that nobody can judge beforehand.
fn is_fine(case: &str) -> bool {
    let (path, value) = case.split_once(" = ").unwrap_or_default();
    let free = [
        "pipeline.",
        "injectors[",
        "injectorExprs[",
        "objectSelector.name",
    ];
    let annotation = path.ends_with("annotations") && value.starts_with("{\"team\"");
    value == "\"\"" || value == "\"v0\"" || annotation || free.iter().any(|f| path.contains(f))
}
