//! Definitions: good and bad ones, names in conflict, changes of versions, and what becomes of objects.

use serde_json::{Value, json};

use super::Maker;

const ALL: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// One or two definitions in a group of the sequence's own.
pub(super) fn make(maker: &mut Maker) {
    maker.home();
    for _ in 0..6 + maker.roll(8) {
        let mut body = definition("things", "Thing");
        odd(maker, &mut body);
        maker.post(&format!("{ALL}?dryRun=All"), body);
    }
    maker.post(ALL, definition("things", "Thing"));
    maker
        .step("GET", &format!("{ALL}/things.$N.example.dev"))
        .eventually();
    maker
        .step("GET", "/apis/$N.example.dev/v1/namespaces/$N/things")
        .eventually();
    maker.post("/apis/$N.example.dev/v1/namespaces/$N/things", json!({"apiVersion": "$N.example.dev/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"x": "1"}}));
    if maker.chance(50) {
        conflicting(maker);
    }
    for _ in 0..2 + maker.roll(3) {
        change(maker);
        at_rest(maker);
        maker.step("GET", "/apis/$N.example.dev").eventually();
        maker.step("GET", "/apis/$N.example.dev/v1").eventually();
        maker
            .step("GET", "/apis/$N.example.dev/v1/namespaces/$N/things/a")
            .eventually();
    }
    for plural in ["things", "others"] {
        maker.step("DELETE", &format!("{ALL}/{plural}.$N.example.dev"));
        at_rest(maker);
    }
}

/// Waits for what is said of both definitions: a controller gives names that come free to the other one.
fn at_rest(maker: &mut Maker) {
    for plural in ["things", "others"] {
        maker
            .step("GET", &format!("{ALL}/{plural}.$N.example.dev"))
            .eventually();
    }
}

fn definition(plural: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("{plural}.$N.example.dev")},
        "spec": {
            "group": "$N.example.dev", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": {"type": "string"}, "n": {"type": "integer"}}}}}}}],
        },
    })
}

fn schema(body: &mut Value) -> &mut Value {
    &mut body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

/// What a definition should not be.
fn odd(maker: &mut Maker, body: &mut Value) {
    match maker.roll(16) {
        0 => body["metadata"]["name"] = maker.pick(&["wrong", "things.other.dev", "THINGS.$N.example.dev", ""]).into(),
        1 => body["spec"]["names"]["kind"] = maker.pick(&[json!("thing"), json!(""), json!("Bad Kind"), Value::Null, json!("ThingList")]),
        2 => body["spec"]["names"]["plural"] = maker.pick(&[json!("Things"), json!(""), json!("thing_s")]),
        3 => body["spec"]["names"]["shortNames"] = maker.pick(&[json!(["th"]), json!(["TH"]), json!(["th", "th"]), json!("th"), json!([""])]),
        4 => body["spec"]["names"][maker.pick(&["singular", "listKind"])] = maker.pick(&[json!("Bad"), json!("bad"), json!(""), json!("b d")]),
        5 => body["spec"]["scope"] = maker.pick(&[json!("Odd"), Value::Null, json!("namespaced"), json!("Cluster")]),
        6 => body["spec"]["group"] = maker.pick(&["", "nodots", "Bad.Group", "other.example.dev", "x.k8s.io", "a..b"]).into(),
        7 => body["spec"]["versions"] = maker.pick(&[json!([]), Value::Null, json!([{"name": "v1", "served": true, "storage": true}]), json!([{"name": "V1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}])]),
        8 => body["spec"]["versions"][0][maker.pick(&["storage", "served", "name"])] = maker.pick(&[json!(false), Value::Null, json!("v1")]),
        9 => body["spec"]["conversion"] = maker.pick(&[json!({"strategy": "None"}), json!({"strategy": "Webhook"}), json!({"strategy": "Odd"}), json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}), json!({})]),
        10 => body["spec"]["versions"][0]["subresources"] = maker.pick(&[
            json!({"status": {}}), json!({"scale": {}}), json!({"scale": {"specReplicasPath": "spec.x", "statusReplicasPath": ".status.y"}}), json!({"scale": {"specReplicasPath": ".spec.x", "statusReplicasPath": ".spec.y"}}),
            json!({"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": "x"}}), json!({"odd": {}}),
        ]),
        11 => body["spec"]["versions"][0]["additionalPrinterColumns"] = maker.pick(&[
            json!([{"name": "A", "type": "string", "jsonPath": ".spec.x"}]), json!([{"name": "", "type": "odd", "jsonPath": "x"}]), json!([{"name": "A", "type": "string"}]), json!([{"name": "A", "type": "string", "jsonPath": ".a[", "format": "odd"}]),
        ]),
        12 => body["spec"]["versions"][0]["selectableFields"] = maker.pick(&[
            json!([{"jsonPath": ".spec.x"}]), json!([{"jsonPath": "spec.x"}]), json!([{"jsonPath": ".spec.nosuch"}]), json!([{"jsonPath": ".spec"}]), json!([{"jsonPath": ".metadata.name"}]), json!([{"jsonPath": ".spec.x"}, {"jsonPath": ".spec.x"}]), json!([{}]),
        ]),
        13 => body["spec"][maker.pick(&["preserveUnknownFields", "odd", "version"])] = maker.pick(&[json!(true), json!("v1"), json!(false)]),
        _ => odd_schema(maker, body),
    }
}

fn odd_schema(maker: &mut Maker, body: &mut Value) {
    let property = maker.pick(&[
        json!({}), json!({"type": "odd"}), json!({"type": "array"}), json!({"type": "array", "items": {}}), json!({"type": "string", "pattern": "("}), json!({"type": "string", "default": 3}), json!({"type": "integer", "default": 3}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}), json!({"type": "object", "additionalProperties": false}), json!({"$ref": "#/x"}), json!({"type": "string", "nullable": true, "default": null}),
        json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object", "properties": {"k": {"type": "string"}}}}), json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}}),
        json!({"type": "array", "x-kubernetes-list-type": "odd", "items": {"type": "string"}}), json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}), json!({"type": "object", "x-kubernetes-map-type": "odd"}), json!({"x-kubernetes-int-or-string": true, "type": "string"}),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}), json!({"type": "object", "x-kubernetes-embedded-resource": true}), json!({"type": "string", "x-kubernetes-validations": [{"rule": "self.size() > 1"}]}), json!({"type": "string", "x-kubernetes-validations": [{"rule": "self +"}]}),
        json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == 3"}]}), json!({"type": "string", "x-kubernetes-validations": [{"rule": ""}]}), json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "message": "a\nb"}]}), json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "optionalOldSelf": true}]}),
        json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "reason": "Odd"}]}), json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".x"}]}), json!({"type": "string", "enum": ["a", "a"]}), json!({"type": "string", "enum": []}), json!({"type": "integer", "minimum": 3, "maximum": 1}), json!({"type": "string", "format": "odd"}),
        json!({"anyOf": [{"type": "string"}]}), json!({"type": "string", "anyOf": [{"type": "string"}]}), json!({"type": "string", "allOf": [{"minLength": 1}]}), json!({"type": "string", "not": {"pattern": "x"}}), json!({"type": "string", "oneOf": [{"default": "x"}]}), json!({"type": "string", "minLength": -1}), json!({"type": "string", "uniqueItems": true}),
        json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}), json!({"type": "string", "example": 3, "description": "d", "title": "t"}), json!({"type": "string", "id": "x"}), json!({"type": "object", "required": ["a", "a"]}), json!({"type": "object", "dependencies": {"a": ["b"]}}), json!({"type": "number", "multipleOf": 0}),
    ]);
    match maker.roll(10) {
        0 => *schema(body) = maker.pick(&[json!({}), json!({"type": "string"}), json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}, "labels": {"type": "object"}}}}}), json!({"type": "object", "nullable": true})]),
        1 => schema(body)["required"] = maker.pick(&[json!(["spec"]), json!(["nosuch"]), json!("spec")]),
        2 => schema(body)["properties"]["apiVersion"] = json!({"type": "integer"}),
        _ => schema(body)["properties"]["spec"]["properties"]["p"] = property,
    }
}

/// A second definition that wants names of the first.
fn conflicting(maker: &mut Maker) {
    let mut body = definition("others", "Other");
    match maker.roll(6) {
        0 => body["spec"]["names"]["kind"] = "Thing".into(),
        1 => body["spec"]["names"]["singular"] = maker.pick(&["thing", "things"]).into(),
        2 => {
            body["spec"]["names"]["shortNames"] =
                maker.pick(&[json!(["thing"]), json!(["things"]), json!(["x", "thing"])])
        }
        3 => body["spec"]["names"]["listKind"] = maker.pick(&["ThingList", "Thing"]).into(),
        4 => {
            body["spec"]["names"]["kind"] = "ThingList".into();
            body["spec"]["names"]["listKind"] = "ThingListList".into();
        }
        _ => {
            body["spec"]["names"]["kind"] = "Thing".into();
            body["spec"]["names"]["singular"] = "thing".into();
            body["spec"]["names"]["shortNames"] = json!(["things"]);
        }
    }
    maker.post(ALL, body);
    maker
        .step("GET", &format!("{ALL}/others.$N.example.dev"))
        .eventually();
    maker.step("GET", "/apis/$N.example.dev/v1").eventually();
    maker
        .step("GET", "/apis/$N.example.dev/v1/namespaces/$N/others")
        .eventually();
    if maker.chance(50) {
        let value = maker.pick(&[
            json!({"kind": "Fine", "singular": "fine", "listKind": "FineList", "shortNames": null}),
            json!({"shortNames": ["fi"]}),
        ]);
        merge(maker, "others", &json!({"spec": {"names": value}}));
        at_rest(maker);
    } else {
        let method = maker.pick(&["DELETE", "GET"]);
        maker.step(method, &format!("{ALL}/things.$N.example.dev"));
        at_rest(maker);
        maker.step("GET", "/apis/$N.example.dev/v1").eventually();
    }
}

fn merge(maker: &mut Maker, plural: &str, body: &Value) {
    maker
        .step("PATCH", &format!("{ALL}/{plural}.$N.example.dev"))
        .header("content-type", "application/merge-patch+json")
        .json(body.clone());
}

/// A change of the first definition.
fn change(maker: &mut Maker) {
    let mut first = definition("things", "Thing");
    let version = first["spec"]["versions"][0].take();
    let with = |name: &str, served: bool, storage: bool| {
        let mut version = version.clone();
        version["name"] = name.into();
        version["served"] = served.into();
        version["storage"] = storage.into();
        version
    };
    let body = match maker.roll(14) {
        0 => json!({"spec": {"versions": [with("v1", true, true), with("v2", true, false)]}}),
        1 => json!({"spec": {"versions": [with("v1", true, false), with("v2", true, true)]}}),
        2 => json!({"spec": {"versions": [with("v2", true, true)]}}),
        3 => json!({"spec": {"versions": [with("v1", true, true), with("v1", true, false)]}}),
        4 => json!({"spec": {"versions": [with("v1", false, true)]}}),
        5 => {
            json!({"spec": {"versions": [with("v1", true, true), with("v1beta1", false, false), with("v1alpha1", true, false)]}})
        }
        6 => {
            json!({"spec": {"names": {"shortNames": maker.pick(&[json!(["a"]), json!([])]), "categories": ["all"]}}})
        }
        7 => json!({"spec": {"names": {"kind": "Renamed"}}}),
        8 => json!({"spec": {"scope": "Cluster"}}),
        9 => json!({"spec": {"group": "x.example.dev"}}),
        10 => json!({"status": {"storedVersions": []}}),
        11 => {
            let mut narrow = with("v1", true, true);
            narrow["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
                json!({"y": {"type": "string", "default": "d"}});
            json!({"spec": {"versions": [narrow]}})
        }
        12 => {
            let mut old = with("v1", true, true);
            old["deprecated"] = true.into();
            old["deprecationWarning"] = maker.pick(&[json!("old"), Value::Null, json!("")]);
            json!({"spec": {"versions": [old]}})
        }
        _ => {
            let mut sub = with("v1", true, true);
            sub["subresources"] = json!({"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}});
            json!({"spec": {"versions": [sub]}})
        }
    };
    merge(maker, "things", &body);
}
