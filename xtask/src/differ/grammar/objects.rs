//! Objects that are made, read, changed and deleted, with everything that parameters and metadata can ask.

use serde_json::{Value, json};

use super::Maker;
use super::things::{GADGET, KINDS, Kind, field, metadata, object, wrong};

const NAMES: &[&str] = &["a", "a", "b", "c"];

/// Creations, reads, updates and deletions of one or two kinds.
pub(super) fn make(maker: &mut Maker) {
    maker.home();
    let kinds = [maker.pick(KINDS), maker.pick(KINDS)];
    for _ in 0..14 + maker.roll(16) {
        let kind = maker.pick(&kinds);
        let name = maker.pick(NAMES);
        one(maker, kind, name);
    }
}

/// Patches of one kind.
pub(super) fn patches(maker: &mut Maker) {
    maker.home();
    let kind = if maker.chance(60) {
        GADGET
    } else {
        maker.pick(KINDS)
    };
    let first = object(maker, kind, "a");
    maker.post(&kind.all(), first);
    for _ in 0..12 + maker.roll(16) {
        match maker.roll(12) {
            0 => create(maker, kind, "b"),
            1 => update(maker, kind, "a"),
            2 => drop(maker.step("GET", &kind.one("a"))),
            _ => patch(maker, kind, "a"),
        }
    }
}

fn one(maker: &mut Maker, kind: Kind, name: &str) {
    match maker.roll(20) {
        0..=5 => create(maker, kind, name),
        6 | 7 => drop(maker.step("GET", &kind.one(name))),
        8..=11 => update(maker, kind, name),
        12..=15 => patch(maker, kind, name),
        16 | 17 => delete(maker, kind, name),
        18 => collection(maker, kind),
        _ => drop(maker.step("GET", &format!("{}?labelSelector=seq%3D$N", kind.all()))),
    }
}

/// Parameters of a write.
pub(super) fn options(maker: &mut Maker) -> String {
    let mut all = Vec::new();
    if maker.chance(12) {
        all.push(maker.pick(&["dryRun=All", "dryRun=All", "dryRun=Some", "dryRun="]));
    }
    if maker.chance(18) {
        all.push(maker.pick(&[
            "fieldManager=one",
            "fieldManager=two",
            "fieldManager=%07bell",
        ]));
    }
    if maker.chance(18) {
        all.push(maker.pick(&[
            "fieldValidation=Strict",
            "fieldValidation=Ignore",
            "fieldValidation=Warn",
            "fieldValidation=Odd",
        ]));
    }
    if maker.chance(3) {
        all.push(maker.pick(&["pretty=true", "force=true", "unknown=1", "timeout=5s"]));
    }
    match all.is_empty() {
        true => String::new(),
        false => format!("?{}", all.join("&")),
    }
}

fn create(maker: &mut Maker, kind: Kind, name: &str) {
    let mut body = object(maker, kind, name);
    match maker.roll(16) {
        0 => {
            body["metadata"]["name"] = Value::Null;
            body["metadata"]["generateName"] = kind.named("gen-").into();
        }
        1 => {
            let name = maker.pick(&[
                "UPPER",
                "has space",
                "-dash",
                "a/b",
                "dot.",
                "",
                "%41",
                "..",
            ]);
            body["metadata"]["name"] = name.into();
        }
        2 => odd_metadata(maker, &mut body),
        3 => body["metadata"]["namespace"] = maker.pick(&["$N", "other", ""]).into(),
        4 if kind == GADGET => body["status"] = json!({"phase": "Ready"}),
        5 => {
            let field = maker.pick(&["colour", "specs", "apiversion"]);
            body[field] = json!("x");
        }
        _ => {}
    }
    let path = kind.all() + &options(maker);
    maker.post(&path, body);
}

/// Metadata that a server sets itself, or refuses.
fn odd_metadata(maker: &mut Maker, body: &mut Value) {
    let (key, value) = match maker.roll(14) {
        0 => ("resourceVersion", json!("1")),
        1 => ("uid", json!("12345678-1234-1234-1234-123456789012")),
        2 => ("creationTimestamp", json!("2020-01-01T00:00:00Z")),
        3 => ("generation", json!(7)),
        4 => ("deletionTimestamp", json!("2020-01-01T00:00:00Z")),
        5 => ("selfLink", json!("/x")),
        6 => ("labels", json!({"bad key": "v"})),
        7 => ("labels", json!({"a": "bad value"})),
        8 => ("annotations", json!({"bad key": "v"})),
        9 => ("finalizers", json!(["nodomain"])),
        10 => (
            "ownerReferences",
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": ""}]),
        ),
        11 => (
            "ownerReferences",
            json!([{"apiVersion": "v1", "kind": "", "name": "x"}]),
        ),
        12 => ("labels", json!({"a": 1})),
        _ => ("unknown", json!("x")),
    };
    body["metadata"][key] = value;
}

fn update(maker: &mut Maker, kind: Kind, name: &str) {
    let read = maker.step("GET", &kind.one(name)).id();
    let mut body = object(maker, kind, name);
    match maker.roll(10) {
        0 => {}
        1 => body["metadata"]["resourceVersion"] = "1".into(),
        2 => body["metadata"]["resourceVersion"] = maker.pick(&["", "abc", "0", "-1"]).into(),
        _ => {
            body["metadata"]["resourceVersion"] =
                format!("{{{{{read}:/metadata/resourceVersion}}}}").into()
        }
    }
    match maker.roll(14) {
        0 => body["metadata"]["uid"] = format!("{{{{{read}:/metadata/uid}}}}").into(),
        1 => body["metadata"]["uid"] = "12345678-1234-1234-1234-123456789012".into(),
        2 => body["metadata"]["name"] = "other".into(),
        3 => odd_metadata(maker, &mut body),
        4 if kind == GADGET => body["status"] = json!({"phase": "Ready"}),
        5 => body["metadata"]["managedFields"] = maker.pick(&[json!([]), json!([{}]), Value::Null]),
        _ => {}
    }
    let sub = match maker.roll(8) {
        0 if kind.status => {
            body["status"] = maker.pick(&[
                json!({"phase": "Ready"}),
                json!({"replicas": 2}),
                json!({"phase": "Odd"}),
                json!("x"),
            ]);
            "/status"
        }
        1 => maker.pick(&["/status", "/nosuch"]),
        _ => "",
    };
    let path = kind.one(name) + sub + &options(maker);
    maker.step("PUT", &path).json(body);
    if maker.chance(15) {
        // The same once more changes nothing, or meets its own version.
        let again = maker.steps.last().cloned();
        if let Some(again) = again {
            let id = maker.step("PUT", "").id();
            if let Some(step) = maker.steps.last_mut() {
                *step = again;
                step.id = id;
            }
        }
    }
}

/// A patch of any of the kinds of patches.
pub(super) fn patch(maker: &mut Maker, kind: Kind, name: &str) {
    let sub = if kind.status && maker.chance(20) {
        "/status"
    } else {
        ""
    };
    let path = kind.one(name) + sub + &options(maker);
    match maker.roll(10) {
        0..=4 => {
            let body = merge(maker, kind, sub);
            let media = if !kind.custom() && maker.chance(40) {
                "application/strategic-merge-patch+json"
            } else {
                "application/merge-patch+json"
            };
            maker
                .step("PATCH", &path)
                .header("content-type", media)
                .json(body);
        }
        5..=8 => {
            let operations: Vec<Value> = (0..1 + maker.roll(3))
                .map(|_| operation(maker, kind, sub))
                .collect();
            let media = "application/json-patch+json";
            maker
                .step("PATCH", &path)
                .header("content-type", media)
                .json(operations.into());
        }
        _ => {
            let media = maker.pick(&[
                "application/strategic-merge-patch+json",
                "application/json",
                "text/plain",
                "application/merge-patch+json; charset=utf-8",
                "application/apply-patch+cbor",
                "",
            ]);
            let body = merge(maker, kind, sub);
            maker
                .step("PATCH", &path)
                .header("content-type", media)
                .json(body);
        }
    }
}

fn merge(maker: &mut Maker, kind: Kind, sub: &str) -> Value {
    if maker.chance(6) {
        return maker.pick(&[
            json!([]),
            json!("x"),
            Value::Null,
            json!({}),
            json!({"metadata": null}),
            json!({"spec": null}),
            json!({"spec": []}),
        ]);
    }
    if !sub.is_empty() {
        return maker.pick(&[
            json!({"status": {"phase": "Ready"}}),
            json!({"status": {"phase": null}}),
            json!({"status": null}),
            json!({"status": {"phase": "Odd"}}),
            json!({"status": {"conditions": [{"type": "A", "status": "True"}]}, "spec": {"size": "large"}}),
            json!({"metadata": {"labels": {"via": "status"}}}),
        ]);
    }
    if maker.chance(35) {
        return merge_metadata(maker);
    }
    if kind.kind == "Gadget" {
        let (field, value) = if maker.chance(20) {
            wrong(maker)
        } else {
            field(maker)
        };
        let value = if maker.chance(15) { Value::Null } else { value };
        return json!({"spec": {field: value}});
    }
    let mut other = object(maker, kind, "a");
    if let Some(map) = other.as_object_mut() {
        map.retain(|key, _| !matches!(key.as_str(), "metadata" | "kind" | "apiVersion"));
        if maker.chance(20) {
            for value in map.values_mut() {
                *value = Value::Null;
            }
        }
    }
    other
}

fn merge_metadata(maker: &mut Maker) -> Value {
    let last = maker.last();
    match maker.roll(12) {
        0 => json!({"metadata": {"labels": {"seq": null}}}),
        1 => json!({"metadata": {"annotations": {"a": "b"}}}),
        2 => json!({"metadata": {"annotations": null}}),
        3 => json!({"metadata": {"finalizers": ["example.dev/a"]}}),
        4 => json!({"metadata": {"finalizers": null}}),
        5 => json!({"metadata": {"resourceVersion": "1"}}),
        6 => {
            json!({"metadata": {"resourceVersion": format!("{{{{{last}:/metadata/resourceVersion}}}}")}})
        }
        7 => json!({"metadata": {"name": "other"}}),
        8 => json!({"metadata": {"uid": "12345678-1234-1234-1234-123456789012"}}),
        9 => json!({"metadata": {"managedFields": [{}]}}),
        10 => {
            let mut body = json!({"metadata": {}});
            metadata(maker, &mut body);
            body
        }
        _ => json!({"metadata": {"namespace": "other"}, "kind": maker.pick(&["Gadget", "Odd"])}),
    }
}

fn operation(maker: &mut Maker, kind: Kind, sub: &str) -> Value {
    let value = maker.pick(&[
        json!("small"),
        json!(3),
        Value::Null,
        json!({"a": "b"}),
        json!(["x"]),
        json!(true),
    ]);
    let place = match (kind.kind, sub) {
        (_, "/status") => maker.pick(&["/status", "/status/phase", "/status/conditions/-"]),
        ("Gadget", _) => maker.pick(&[
            "/spec/size",
            "/spec/count",
            "/spec/tags",
            "/spec/tags/-",
            "/spec/tags/0",
            "/spec/tags/7",
            "/spec/nosuch",
            "/spec/extra",
            "/spec/parts/0/amount",
            "/metadata/labels/tier",
            "/metadata/labels",
            "/metadata/finalizers",
            "/metadata/annotations/example.dev~1why",
            "/metadata/name",
            "",
            "nope",
            "/spec",
        ]),
        ("ConfigMap" | "Secret", _) => maker.pick(&[
            "/data/k",
            "/data/z",
            "/data",
            "/metadata/labels/tier",
            "/data/k/x",
        ]),
        _ => maker.pick(&[
            "/metadata/labels/tier",
            "/spec/title",
            "/metadata/annotations",
            "/spec",
            "/rules/0/verbs/0",
            "/nosuch/a",
        ]),
    };
    match maker.roll(12) {
        0..=3 => json!({"op": "add", "path": place, "value": value}),
        4 | 5 => json!({"op": "replace", "path": place, "value": value}),
        6 | 7 => json!({"op": "remove", "path": place}),
        8 => json!({"op": "test", "path": place, "value": value}),
        9 => json!({"op": "copy", "from": "/metadata/labels", "path": place}),
        10 => {
            json!({"op": "move", "from": maker.pick(&["/spec/size", "/metadata/labels/seq"]), "path": place})
        }
        _ => maker.pick(&[
            json!({"op": "odd", "path": place}),
            json!({"op": "add", "path": place}),
            json!({"path": place}),
            json!({"op": "add", "value": 1}),
            json!({"op": "remove"}),
            json!({}),
        ]),
    }
}

/// A deletion of one object.
pub(super) fn delete(maker: &mut Maker, kind: Kind, name: &str) {
    let last = maker.last();
    let mut path = kind.one(name);
    if maker.chance(20) {
        path += maker.pick(&[
            "?propagationPolicy=Background",
            "?gracePeriodSeconds=0",
            "?dryRun=All",
            "?propagationPolicy=Odd",
            "?gracePeriodSeconds=abc",
            "?orphanDependents=true",
            "?gracePeriodSeconds=-1",
            "?dryRun=Odd",
        ]);
    }
    let step = maker.roll(10);
    let body = match step {
        0 => {
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "12345678-1234-1234-1234-123456789012"}})
        }
        1 => json!({"preconditions": {"uid": format!("{{{{{last}:/metadata/uid}}}}")}}),
        2 => {
            json!({"preconditions": {"resourceVersion": format!("{{{{{last}:/metadata/resourceVersion}}}}")}})
        }
        3 => {
            json!({"apiVersion": maker.pick(&["v1", "meta.k8s.io/v1", "odd/v1"]), "kind": "DeleteOptions", "dryRun": ["All"]})
        }
        4 => maker.pick(&[
            json!({"kind": "Gadget", "apiVersion": "differ.example.dev/v1"}),
            json!([]),
            json!({"propagationPolicy": "Odd"}),
            json!({"gracePeriodSeconds": "x"}),
            json!({"unknown": 1}),
            json!({"preconditions": {"resourceVersion": "1"}}),
            json!({"dryRun": ["Odd"]}),
            json!({"orphanDependents": true, "propagationPolicy": "Background"}),
        ]),
        _ => Value::Null,
    };
    let step = maker.step("DELETE", &path);
    if !body.is_null() {
        step.json(body);
    }
}

fn collection(maker: &mut Maker, kind: Kind) {
    let only = maker.pick(&[
        "",
        "&limit=1",
        "&dryRun=All",
        "&fieldSelector=metadata.name%3Da",
        "&labelSelector=tier",
        "&propagationPolicy=Odd",
    ]);
    maker.step(
        "DELETE",
        &format!("{}?labelSelector=seq%3D$N{only}", kind.all()),
    );
}
