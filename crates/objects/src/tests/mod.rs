//! Replays recorded requests against the pure functions: what the HTTP door does, in a hundred lines and
//! in memory, so that texts and ownership are held to the recordings where they are made.
//!
//! The recordings (`testdata/http`) are answers of a real server to requests of our own; paging, watches,
//! authorisation and storage are not looked at here.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests read recorded cases, and lend a stack"
)]

mod world;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::schema::Structural;
use world::World;

/// Answers that lie outside of this crate's pure part, by file and step, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("PatchOptions", "options are checked by the door"),
    ("CreateOptions", "options are checked by the door"),
    (
        "does not match the name on the URL",
        "the door compares names",
    ),
    ("name must be provided", "the door compares names"),
    ("the object has been modified", "versions are the storage's"),
    ("media types include", "the door negotiates"),
    ("error decoding YAML", "the door reads YAML"),
    ("error strict decoding YAML", "the door reads YAML"),
    ("invalid object type", "the door reads types"),
    ("already set in map", "the door reads YAML"),
    ("duplicate field", "the door reads JSON"),
    ("unknown conversion", "the door reads types"),
    ("is registered for version", "the door reads types"),
    ("managedFields must be nil", "the door refuses it"),
    (
        "resourceVersion should not be set",
        "versions are the storage's",
    ),
    ("is not supported on resources", "the door knows methods"),
];

fn elsewhere(answer: &str) -> bool {
    ELSEWHERE.iter().any(|(part, _)| answer.contains(part))
}

/// A recorded definition of a custom resource.
pub(crate) fn definition(name: &str) -> Value {
    read(name)
}

/// The compiled schema of the first version of the recorded widgets.
pub(crate) fn widgets() -> Structural {
    static SCHEMA: LazyLock<Structural> = LazyLock::new(|| {
        let crd = definition("widgets");
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        Structural::from_json_at(schema, "", stack).unwrap()
    });
    SCHEMA.clone()
}

/// A stack that deep expressions fit.
pub(crate) fn stack(work: &mut (dyn FnMut() + Send)) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap();
    });
}

fn read(name: &str) -> Value {
    let path = format!("{}/testdata/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A recorded scenario.
pub(crate) fn file(name: &str) -> Value {
    read(&format!("http/{name}"))
}

/// What of an answer is compared: everything that the pure part decides.
fn essence(body: &Value) -> Value {
    if body["kind"] == "Status" {
        let list = body["details"]["causes"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let causes: BTreeSet<String> = list.iter().map(|c| cut(&c.to_string())).collect();
        let many = causes.len() > 1;
        let message = if many {
            json!("")
        } else {
            json!(cut(body["message"].as_str().unwrap()))
        };
        return json!({"reason": body["reason"], "causes": causes, "message": message});
    }
    let mut out = body.clone();
    for (name, implicit) in [("kind", "ConfigMap"), ("apiVersion", "v1")] {
        if out.get(name).is_none() {
            out[name] = json!(implicit);
        }
    }
    let metadata = out["metadata"].as_object_mut().unwrap();
    let entries = metadata.remove("managedFields");
    metadata
        .retain(|name, _| ["name", "labels", "annotations", "finalizers"].contains(&name.as_str()));
    let entry = |e: &Value| {
        let time = e.get("time").is_some();
        json!([
            e["manager"],
            e["operation"],
            e["apiVersion"],
            e["subresource"],
            e["fieldsV1"],
            time
        ])
        .to_string()
    };
    let entries: Vec<Value> = entries
        .and_then(|e| e.as_array().cloned())
        .unwrap_or_default();
    let owners: BTreeSet<String> = entries
        .iter()
        .map(|e| entry(&serde_json::from_str(&sorted(e)).unwrap()))
        .collect();
    json!({"object": out, "owners": owners})
}

fn yaml_value(text: &str) -> Option<Value> {
    yaml::first_document_json(text, yaml::Reader::Sigs, false, &yaml::Limits::default()).ok()
}

fn sorted(value: &Value) -> String {
    crate::schema::sorted_json(value)
}

/// Go's inner dumps are compared up to where they start.
fn cut(text: &str) -> String {
    let text = sorted(&Value::from(text));
    text.split("&value.").next().unwrap_or_default().to_owned()
}

/// Long runs are written `$REPEAT(x,262200)`.
fn expand(text: &str) -> String {
    let mut out = text.replace("$TIME", "2026-01-01T00:00:00Z");
    while let Some(start) = out.find("$REPEAT(") {
        let end = start + out[start..].find(')').unwrap();
        let (unit, count) = out[start + 8..end].split_once(',').unwrap();
        let run = unit.repeat(count.parse().unwrap());
        out.replace_range(start..=end, &run);
    }
    out
}

fn replay(name: &str) {
    let scenario = file(name);
    let mut world = World::new();
    let mut compared = 0;
    for (i, step) in scenario["steps"].as_array().unwrap().iter().enumerate() {
        if step["do"] != "request" {
            continue;
        }
        let (request, response) = (&step["request"], &step["response"]);
        let request: Value = serde_json::from_str(&expand(&request.to_string())).unwrap();
        let response: Value = serde_json::from_str(&expand(&response.to_string())).unwrap();
        let text = response["body"].to_string();
        if elsewhere(&text) || response.get("bodyText").is_some() || text.contains("\"Table\"") {
            continue;
        }
        let Some((status, body, warnings)) = world.answer(&request) else {
            continue;
        };
        if step["compare"] == "status" {
            continue;
        }
        let at = format!("{name} step {i}: {} {}", request["method"], request["path"]);
        assert_eq!(
            essence(&body),
            essence(&response["body"]),
            "{at}\n{request}"
        );
        assert_eq!(json!(status), response["status"], "{at}");
        let told = response["headers"]["warning"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let expected: Vec<String> = told
            .iter()
            .filter_map(|w| serde_json::from_str(w.as_str()?.trim_start_matches("299 - ")).ok())
            .filter(|w: &String| !elsewhere(w))
            .collect();
        assert_eq!(warnings, expected, "{at}");
        compared += 1;
    }
    assert!(compared > 0, "{name}: nothing was compared");
}

macro_rules! scenarios {
    ($($test:ident = $name:literal;)*) => { $(
        #[test]
        fn $test() {
            replay($name);
        }
    )* };
}

scenarios! {
    types = "create-types";
    value_limits = "create-value-limits";
    lists = "create-lists";
    pruning = "create-pruning";
    field_validation = "create-field-validation";
    metadata = "create-metadata-invalid";
    crd_schemas = "crd-invalid-schema";
    crd_rules = "crd-invalid-cel";
    crd_fields = "crd-invalid-fields";
    apply_create_update = "apply-create-update";
    apply_lists_and_maps = "apply-lists-and-maps";
    apply_builtin = "apply-builtin";
    apply_errors = "apply-errors";
    managed_fields = "managed-fields";
    status = "status-subresource";
    patches = "patch-media-types";
    config_maps = "configmap-basics";
    update_builtin = "update-builtin";
}
