//! The scale subresource: reads, updates and every kind of patch, of objects with and without what its paths name.

use serde_json::{Value, json};

use super::Maker;
use super::things::{GADGET, NOTE, SITE, object};

/// Scales of one or two objects.
pub(super) fn make(maker: &mut Maker) {
    maker.home();
    let kind = maker.pick(&[GADGET, GADGET, GADGET, NOTE]);
    let mut first = object(maker, kind, "a");
    if maker.chance(50) {
        first["spec"][if kind == GADGET { "replicas" } else { "copies" }] = maker.pick(&[
            json!(2),
            json!(0),
            json!(-1),
            json!("2"),
            json!(1.5),
            Value::Null,
            json!(3_000_000_000_u64),
        ]);
    }
    maker.post(&kind.all(), first);
    for _ in 0..14 + maker.roll(14) {
        let sub = kind.one(maker.pick(&["a", "a", "a", "a", "a", "a", "z"])) + "/scale";
        match maker.roll(16) {
            0..=2 => {
                let accept = maker.pick(&[
                    "application/json",
                    "*/*",
                    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                    "application/yaml",
                    "text/html",
                ]);
                maker.step("GET", &sub).header("accept", accept);
            }
            3..=5 => put(maker, &sub),
            6..=11 => patch(maker, &sub),
            12 if kind == GADGET => {
                let status = maker.pick(&[
                    json!({"replicas": 1, "selector": "a=b"}),
                    json!({"replicas": 0}),
                    json!({"selector": ""}),
                    Value::Null,
                ]);
                maker
                    .step("PATCH", &(kind.one("a") + "/status"))
                    .header("content-type", "application/merge-patch+json")
                    .json(json!({"status": status}));
            }
            13 => {
                let path = if maker.chance(50) {
                    SITE.one("a")
                } else {
                    kind.one("a")
                };
                let method = maker.pick(&["GET", "DELETE", "POST"]);
                maker.step(method, &(path + "/scale"));
            }
            14 => {
                let field = if kind == GADGET { "replicas" } else { "copies" };
                let value = maker.pick(&[json!(4), Value::Null, json!(0)]);
                maker
                    .step("PATCH", &kind.one("a"))
                    .header("content-type", "application/merge-patch+json")
                    .json(json!({"spec": {field: value}}));
            }
            _ => drop(maker.step("GET", &kind.one("a"))),
        }
    }
}

fn put(maker: &mut Maker, path: &str) {
    let read = maker.step("GET", path).id();
    let mut body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": "$N"}, "spec": {"replicas": maker.roll(6)}});
    if maker.chance(60) {
        body["metadata"]["resourceVersion"] =
            format!("{{{{{read}:/metadata/resourceVersion}}}}").into();
    }
    odd(maker, &mut body);
    let path = path.to_owned()
        + maker.pick(&[
            "",
            "",
            "",
            "?dryRun=All",
            "?fieldManager=one",
            "?fieldValidation=Strict",
        ]);
    maker.step("PUT", &path).json(body);
}

/// What a scale should not be.
fn odd(maker: &mut Maker, body: &mut Value) {
    match maker.roll(22) {
        0 => {
            body["spec"]["replicas"] = maker.pick(&[
                json!(-1),
                json!("3"),
                json!(1.5),
                Value::Null,
                json!(3_000_000_000_u64),
                json!([]),
            ])
        }
        1 => body["spec"] = maker.pick(&[Value::Null, json!({}), json!("x"), json!([])]),
        2 => body["kind"] = maker.pick(&[json!("Gadget"), Value::Null, json!("")]),
        3 => {
            body["apiVersion"] = maker.pick(&[
                json!("autoscaling/v2"),
                Value::Null,
                json!("apps/v1"),
                json!("extensions/v1beta1"),
                json!("differ.example.dev/v1"),
            ])
        }
        4 => body["metadata"]["name"] = maker.pick(&[json!("b"), Value::Null, json!("")]),
        5 => body["metadata"]["namespace"] = maker.pick(&[json!("other"), Value::Null, json!("")]),
        6 => {
            body["metadata"]["resourceVersion"] = maker.pick(&[json!("1"), json!("abc"), json!("")])
        }
        7 => body["metadata"]["uid"] = "12345678-1234-1234-1234-123456789012".into(),
        8 => body["metadata"]["labels"] = json!({"a": "b"}),
        9 => {
            body["status"] = maker.pick(&[
                json!({"replicas": 7}),
                json!({"replicas": 7, "selector": "x=y"}),
                json!("x"),
            ])
        }
        10 => body["odd"] = json!(1),
        11 => body["metadata"] = maker.pick(&[Value::Null, json!({}), json!([])]),
        _ => {}
    }
}

fn patch(maker: &mut Maker, path: &str) {
    let path = path.to_owned()
        + maker.pick(&[
            "",
            "",
            "",
            "?dryRun=All",
            "?fieldManager=one",
            "?fieldValidation=Strict",
            "?force=true&fieldManager=two",
        ]);
    match maker.roll(10) {
        0..=3 => {
            let mut body = json!({"spec": {"replicas": maker.roll(6)}});
            odd(maker, &mut body);
            let media = maker.pick(&[
                "application/merge-patch+json",
                "application/merge-patch+json",
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
            ]);
            maker
                .step("PATCH", &path)
                .header("content-type", media)
                .json(body);
        }
        4..=7 => {
            let value = maker.pick(&[json!(3), json!(-1), json!("3"), Value::Null]);
            let place = maker.pick(&[
                "/spec/replicas",
                "/spec/replicas",
                "/status/replicas",
                "/spec",
                "/metadata/name",
                "/metadata/labels",
                "/spec/odd",
                "/kind",
                "/metadata/resourceVersion",
            ]);
            let op = maker.pick(&["replace", "add", "remove", "test"]);
            maker
                .step("PATCH", &path)
                .header("content-type", "application/json-patch+json")
                .json(json!([{"op": op, "path": place, "value": value}]));
        }
        _ => {
            let mut body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": maker.roll(6)}});
            odd(maker, &mut body);
            maker
                .step("PATCH", &path)
                .header("content-type", "application/apply-patch+yaml")
                .json(body);
        }
    }
}
