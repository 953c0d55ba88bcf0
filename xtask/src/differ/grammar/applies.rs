//! Server-side apply by several managers, with and without force, beside updates.

use serde_json::{Value, json};

use super::Maker;
use super::bodies::yaml;
use super::objects::patch;
use super::things::{
    ACCOUNT, CONFIG, GADGET, Kind, LEASE, NOTE, OLD_GADGET, ROLE, SECRET, SITE, field, object,
    wrong,
};

const KINDS: &[Kind] = &[
    GADGET, GADGET, GADGET, GADGET, OLD_GADGET, NOTE, SITE, CONFIG, SECRET, ACCOUNT, ROLE, LEASE,
];

/// Applies to one object.
pub(super) fn make(maker: &mut Maker) {
    maker.home();
    let kind = maker.pick(KINDS);
    if maker.chance(40) {
        let first = object(maker, kind, "a");
        let manager = maker.pick(&["?fieldManager=one", "", "?fieldManager=kubectl"]);
        maker.post(&(kind.all() + manager), first);
    }
    for _ in 0..14 + maker.roll(14) {
        match maker.roll(16) {
            0 => drop(maker.step("GET", &kind.one("a"))),
            1 | 2 => patch(maker, kind, "a"),
            3 => replace(maker, kind),
            4 if kind.status => status(maker, kind),
            5 if kind == GADGET => scale(maker),
            6 => drop(maker.step("DELETE", &kind.one("a"))),
            _ => apply(maker, kind),
        }
    }
}

fn parameters(maker: &mut Maker) -> String {
    let mut all = Vec::new();
    if !maker.chance(3) {
        all.push(maker.pick(&["fieldManager=one", "fieldManager=two", "fieldManager=three"]));
    }
    if maker.chance(25) {
        all.push(maker.pick(&[
            "force=true",
            "force=true",
            "force=true",
            "force=false",
            "force=1",
            "force=maybe",
        ]));
    }
    if maker.chance(10) {
        all.push("dryRun=All");
    }
    if maker.chance(12) {
        all.push(maker.pick(&[
            "fieldValidation=Strict",
            "fieldValidation=Ignore",
            "fieldValidation=Warn",
        ]));
    }
    format!("?{}", all.join("&"))
}

fn apply(maker: &mut Maker, kind: Kind) {
    let mut body = match maker.chance(25) {
        true => object(maker, kind, "a"),
        false => small(maker, kind),
    };
    match maker.roll(30) {
        0 => body["metadata"]["managedFields"] = maker.pick(&[json!([]), Value::Null, json!([{}])]),
        1 => body["metadata"]["resourceVersion"] = maker.pick(&["1", "abc", ""]).into(),
        2 => body["metadata"]["name"] = maker.pick(&[Value::Null, json!("other"), json!("")]),
        3 => body["kind"] = maker.pick(&[Value::Null, json!("Odd"), json!("")]),
        4 => {
            body["apiVersion"] = maker.pick(&[
                Value::Null,
                json!("v1"),
                json!("differ.example.dev/v1beta1"),
                json!("x/y/z"),
            ])
        }
        5 => body["colour"] = json!("red"),
        6 => {
            body["metadata"]["labels"] =
                maker.pick(&[json!({"a": null}), json!({"a": 1}), Value::Null])
        }
        7 => body["metadata"]["uid"] = "12345678-1234-1234-1234-123456789012".into(),
        8 => body["metadata"]["finalizers"] = json!(["example.dev/hold"]),
        9 => body["metadata"]["namespace"] = maker.pick(&["other", "$N", ""]).into(),
        10 => body["metadata"]["generation"] = json!(9),
        11 => body["metadata"]["creationTimestamp"] = Value::Null,
        12 => {
            body["metadata"]["deletionTimestamp"] =
                maker.pick(&[json!("2020-01-01T00:00:00Z"), json!("x"), Value::Null])
        }
        13 => body["metadata"]["deletionGracePeriodSeconds"] = maker.pick(&[json!(0), json!(7)]),
        _ => {}
    }
    let path = kind.one("a") + &parameters(maker);
    let text = match maker.chance(70) {
        true => body.to_string(),
        false => yaml(&body),
    };
    maker
        .step("PATCH", &path)
        .header("content-type", "application/apply-patch+yaml")
        .text(&text);
}

/// Only some fields, so that managers come to share and to contest them.
fn small(maker: &mut Maker, kind: Kind) -> Value {
    let mut body = kind.bare("a");
    if maker.chance(30) {
        let (key, value) = (maker.pick(&["x", "y"]), maker.pick(&["1", "2"]));
        body["metadata"]["labels"] = json!({key: value});
    }
    match kind.kind {
        "Gadget" => body["spec"] = small_spec(maker),
        "Note" => {
            body["spec"] = maker.pick(&[
                json!({"copies": 1}),
                json!({"text": "a", "l": [1, 2]}),
                json!({"l": [3]}),
                json!({"m": {"a": 1}}),
                json!({"m": null}),
            ])
        }
        "Site" => {
            body["spec"] = maker.pick(&[
                json!({"title": "a"}),
                json!({"zones": ["a"]}),
                json!({"weights": {"a": 1}}),
                json!({"weights": {"b": 1}}),
            ])
        }
        "ConfigMap" => {
            body["data"] = maker.pick(&[
                json!({"k": "1"}),
                json!({"k": "2"}),
                json!({"l": "1"}),
                json!({"k": "1", "l": "2"}),
                json!({"k": 1}),
            ])
        }
        "Secret" => {
            body["data"] = maker.pick(&[
                json!({"k": "aGk="}),
                json!({"l": "aGk="}),
                json!({"k": "bm8="}),
            ])
        }
        "ServiceAccount" => {
            body["secrets"] =
                maker.pick(&[json!([{"name": "s"}]), json!([{"name": "t"}]), json!([])])
        }
        "Role" => {
            body["rules"] = maker.pick(&[
                json!([]),
                json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]),
            ])
        }
        _ => {
            body["spec"] = maker.pick(&[
                json!({"holderIdentity": "a"}),
                json!({"leaseDurationSeconds": 3}),
                json!({"holderIdentity": "b"}),
            ])
        }
    }
    body
}

fn small_spec(maker: &mut Maker) -> Value {
    let mut spec = match maker.chance(70) {
        true => json!({"size": maker.pick(&["small", "large"])}),
        false => json!({}),
    };
    for _ in 0..maker.roll(3) {
        let (field, value) = field(maker);
        spec[field] = value;
    }
    if maker.chance(50) {
        let (field, value) = shared(maker);
        spec[field] = value;
    }
    if maker.chance(10) {
        let (field, value) = wrong(maker);
        spec[field] = value;
    }
    spec
}

/// Lists and maps whose items several managers own.
fn shared(maker: &mut Maker) -> (&'static str, Value) {
    match maker.roll(6) {
        0 => (
            "tags",
            maker.pick(&[
                json!(["a"]),
                json!(["b"]),
                json!(["a", "c"]),
                json!(["c", "b", "a"]),
                json!([]),
            ]),
        ),
        1 => (
            "parts",
            maker.pick(&[
                json!([{"name": "a"}]),
                json!([{"name": "b", "amount": 2}]),
                json!([{"name": "a", "kind": "x"}, {"name": "c"}]),
                json!([{"name": "c"}, {"name": "a", "amount": 3}]),
            ]),
        ),
        2 => (
            "ports",
            maker.pick(&[
                json!([{"port": 80}]),
                json!([{"port": 80, "protocol": "UDP"}]),
                json!([{"port": 80, "protocol": "TCP", "name": "w"}, {"port": 443}]),
            ]),
        ),
        3 => (
            "labels",
            maker.pick(&[json!({"a": "1"}), json!({"b": "1"}), json!({"a": "2"})]),
        ),
        4 => (
            "box",
            maker.pick(&[json!({"width": 1}), json!({"height": 1}), json!({})]),
        ),
        _ => (
            "steps",
            maker.pick(&[json!(["a"]), json!(["b", "c"]), json!([])]),
        ),
    }
}

fn replace(maker: &mut Maker, kind: Kind) {
    let read = maker.step("GET", &kind.one("a")).id();
    let mut body = object(maker, kind, "a");
    body["metadata"]["resourceVersion"] =
        format!("{{{{{read}:/metadata/resourceVersion}}}}").into();
    let manager = maker.pick(&["?fieldManager=one", "?fieldManager=two", ""]);
    maker.step("PUT", &(kind.one("a") + manager)).json(body);
}

fn status(maker: &mut Maker, kind: Kind) {
    let mut body = kind.bare("a");
    body["status"] = maker.pick(&[
        json!({"phase": "Ready"}),
        json!({"replicas": 2}),
        json!({"conditions": [{"type": "A", "status": "True"}]}),
        json!({"conditions": [{"type": "B", "status": "False"}, {"type": "A", "status": "False"}]}),
        json!({}),
    ]);
    if maker.chance(20) {
        body["metadata"]["labels"] = json!({"via": "status"});
    }
    let path = kind.one("a") + "/status" + &parameters(maker);
    maker
        .step("PATCH", &path)
        .header("content-type", "application/apply-patch+yaml")
        .json(body);
}

fn scale(maker: &mut Maker) {
    let body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": "$N"}, "spec": {"replicas": maker.roll(5)}});
    let path = GADGET.one("a") + "/scale" + &parameters(maker);
    maker
        .step("PATCH", &path)
        .header("content-type", "application/apply-patch+yaml")
        .json(body);
}
