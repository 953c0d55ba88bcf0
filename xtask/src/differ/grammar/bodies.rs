//! Bodies that are not what the path asks for: without kind or version, of another one, of the wrong type, cut off, too much.

use serde_json::{Value, json};

use super::Maker;
use super::things::{CONFIG, GADGET, KINDS, Kind, NOTE, SITE, object};

/// Odd bodies for every verb that takes one.
pub(super) fn make(maker: &mut Maker) {
    maker.home();
    let kind = match maker.roll(4) {
        0 => maker.pick(KINDS),
        _ => maker.pick(&[GADGET, GADGET, NOTE, SITE, CONFIG]),
    };
    let there = kind.bare("a");
    let there = if kind == GADGET {
        json!({"spec": {"size": "small"}, "apiVersion": there["apiVersion"], "kind": "Gadget", "metadata": there["metadata"]})
    } else {
        there
    };
    maker.post(&kind.all(), there);
    for _ in 0..16 + maker.roll(14) {
        one(maker, kind);
    }
}

fn one(maker: &mut Maker, kind: Kind) {
    let (method, path) = match maker.roll(10) {
        0..=4 => ("POST", kind.all()),
        5..=6 => ("PUT", kind.one("a")),
        7 => ("DELETE", kind.one("z")),
        8 => ("PUT", kind.one("a") + "/status"),
        _ => ("PATCH", kind.one("a")),
    };
    let path = match maker.roll(8) {
        0 => path + "?fieldValidation=Strict",
        1 => path + "?dryRun=All",
        2 => path + "?fieldValidation=Ignore",
        _ => path,
    };
    let name = maker.pick(&["a", "b", "c"]);
    let body = object(maker, kind, name);
    if maker.chance(55) {
        let body = changed(maker, kind, body);
        let step = maker.step(method, &path).json(body);
        if method == "PATCH" {
            step.header("content-type", "application/merge-patch+json");
        }
        return;
    }
    let text = odd_text(maker, &body);
    let media = match method {
        "PATCH" => maker.pick(&[
            "application/merge-patch+json",
            "application/json-patch+json",
            "application/apply-patch+yaml",
        ]),
        _ => maker.pick(&[
            "",
            "application/json",
            "application/json",
            "application/yaml",
            "application/yaml",
            "text/plain",
            "application/x",
            "application/json; charset=utf-8",
        ]),
    };
    let path = match (media, path.contains('?')) {
        ("application/apply-patch+yaml", false) => path + "?fieldManager=one",
        _ => path,
    };
    let step = maker.step(method, &path).text(&text);
    if !media.is_empty() {
        step.header("content-type", media);
    }
}

/// A body with its head changed.
fn changed(maker: &mut Maker, kind: Kind, mut body: Value) -> Value {
    match maker.roll(22) {
        0 | 1 => without(&mut body, &["kind"]),
        2 | 3 => without(&mut body, &["apiVersion"]),
        4 => without(&mut body, &["kind", "apiVersion"]),
        5 => without(&mut body, &["metadata"]),
        6 => body["kind"] = maker.pick(&[json!("Odd"), json!(""), Value::Null, json!(3), json!(kind.kind.to_lowercase()), json!(format!("{}List", kind.kind))]),
        7 | 8 => {
            body["apiVersion"] = maker.pick(&[
                json!("v1"), json!("v2"), json!("differ.example.dev/v1"), json!("differ.example.dev/v1beta1"), json!("differ.example.dev/v2"), json!("a/b/c"),
                json!(""), Value::Null, json!(1), json!("differ.example.dev"), json!("/v1"), json!("other.dev/v1"),
            ]);
        }
        9 => body["metadata"] = maker.pick(&[Value::Null, json!([]), json!("x"), json!({}), json!(3)]),
        10 => body["metadata"]["name"] = maker.pick(&[Value::Null, json!(""), json!(3), json!([])]),
        11 => body["metadata"]["labels"] = maker.pick(&[Value::Null, json!([]), json!("x"), json!({"a": null}), json!({"a": 1}), json!({"a": {}}), json!({"": "x"}), json!({"x/y/z": "a"})]),
        12 => body["metadata"]["annotations"] = maker.pick(&[json!([]), json!({"a": true}), json!({"a": null}), json!({"": ""})]),
        13 => body["metadata"]["finalizers"] = maker.pick(&[json!("x"), json!([1]), json!([""]), json!(["a/b/c"]), json!(["kubernetes"]), json!(["x.dev/a", "x.dev/a"])]),
        14 => body["metadata"]["ownerReferences"] = maker.pick(&[json!({}), json!([{}]), json!([{"kind": "A", "name": "b", "uid": ""}]), json!(["x"])]),
        15 => body["spec"] = maker.pick(&[Value::Null, json!([]), json!("x"), json!({}), json!(true)]),
        16 => body["metadata"]["managedFields"] = maker.pick(&[json!([{"manager": "m"}]), json!([{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]), json!("x"), json!([{"manager": "m", "operation": "Odd", "apiVersion": "v1"}])]),
        17 => body["metadata"]["generateName"] = maker.pick(&[json!("x-"), json!("BAD_"), json!(3)]),
        18 => body["metadata"]["creationTimestamp"] = maker.pick(&[json!("x"), json!(3), Value::Null]),
        19 => body["metadata"]["deletionGracePeriodSeconds"] = maker.pick(&[json!(3), json!("3")]),
        20 => return maker.pick(&[json!([]), json!("text"), json!(3), Value::Null, json!({}), json!({"kind": "Status", "apiVersion": "v1"}), json!({"kind": format!("{}List", kind.kind), "apiVersion": kind.api_version(), "items": []})]),
        _ => body["status"] = maker.pick(&[json!("x"), json!({"replicas": "two"}), json!({"odd": 1})]),
    }
    body
}

fn without(body: &mut Value, keys: &[&str]) {
    if let Some(map) = body.as_object_mut() {
        map.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// Bytes around a good body.
fn odd_text(maker: &mut Maker, body: &Value) -> String {
    let good = body.to_string();
    let half = good.len() / 2;
    match maker.roll(18) {
        0 => String::new(),
        1 => good.chars().take(half).collect(),
        2 => good + "trailing",
        3 => good.replacen("\"metadata\"", "\"kind\":\"Again\",\"metadata\"", 1),
        4 => good.replacen("\"spec\":", "\"spec\":{\"size\":\"small\"},\"spec\":", 1),
        5 => good.clone() + &good,
        6 => "{".to_owned(),
        7 => "null".to_owned(),
        8 => "  ".to_owned(),
        9 => format!("{good}\n---\nkind: Other\n"),
        10 => yaml(body),
        11 => yaml(body) + "unknown: &x [1, *x]\n",
        12 => yaml(body).replace("metadata:", "metadata:\n  name: twice"),
        13 => format!("--- # first\n{}...\n", yaml(body)),
        14 => format!("\t{good}"),
        15 => "<xml/>".to_owned(),
        16 => good.replacen(':', ": 00", 1),
        _ => good,
    }
}

/// A value as block YAML, its leaves as JSON.
pub(super) fn yaml(value: &Value) -> String {
    let mut out = String::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Object(map) if !map.is_empty() => {
                out += &format!("{key}:\n");
                for line in yaml(value).lines() {
                    out += &format!("  {line}\n");
                }
            }
            other => out += &format!("{key}: {other}\n"),
        }
    }
    out
}
