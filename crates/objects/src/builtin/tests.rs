//! Every built-in kind compiles, and recorded refusals come back word for word.

use serde_json::json;

use super::*;
use crate::schema::metadata as meta;
use crate::tests::stack;

#[test]
fn every_schema_compiles() {
    for definition in definitions().iter().chain([&kinds::TOKEN_REQUEST]) {
        let schema = definition.schema();
        assert!(
            schema.root().properties.contains_key("metadata"),
            "{}",
            definition.kind
        );
    }
}

#[test]
fn wrong_types_are_told_as_the_decoder_tells_them() {
    let config_map = definition("", "v1", "configmaps").unwrap();
    let told = |object: Value| config_map.type_error(&object).unwrap_or_default();
    assert_eq!(
        told(json!({"data": {"k": 5}})),
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    );
    assert_eq!(
        told(json!({"binaryData": {"k": "not base64!"}})),
        "illegal base64 data at input byte 3"
    );
    assert_eq!(
        told(json!({"binaryData": {"k": 5}})),
        "json: cannot unmarshal number into Go struct field ConfigMap.binaryData of type []uint8"
    );
    assert_eq!(told(json!({"data": null})), "");
    let lease = definition("coordination.k8s.io", "v1", "leases").unwrap();
    let told = |time: &str| {
        lease
            .type_error(&json!({"spec": {"renewTime": time}}))
            .unwrap_or_default()
    };
    assert_eq!(
        told("2020-01-01T00:00:09Z"),
        r#"parsing time "2020-01-01T00:00:09Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
    );
    assert_eq!(
        told("yesterday"),
        r#"parsing time "yesterday" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "yesterday" as "2006""#
    );
    assert_eq!(told("2020-01-01T00:00:01.123456Z"), "");
}

/// What Go's converter says of an object that a strategic patch made, put into the fields of its kind one by one; its JSON
/// reader has no part in that.
fn converted(plural: &str, mut object: Value) -> Option<String> {
    let all = definitions().iter();
    let mut kinds = all.filter(|d| d.plural == plural && d.group != "events.k8s.io");
    let put = kinds.next_back().unwrap().put_into_fields(&mut object);
    put.err()
}

#[test]
fn fields_that_cannot_take_a_value_are_told_as_the_converter_tells_them() {
    let base64 = "error decoding from json: illegal base64 data at input byte 0";
    for (object, why) in [
        (json!({"data": {"k": 5}}), "cannot convert int64 to string"),
        (json!({"data": {"k": true}}), "unrecognized type: string"),
        (json!({"data": {"k": 1.5}}), "unrecognized type: string"),
        (json!({"data": {"k": {}}}), "unrecognized type: string"),
        (json!({"data": "k"}), "cannot restore map from string"),
        (json!({"data": [1]}), "cannot restore map from slice"),
        (json!({"immutable": "yes"}), "unrecognized type: bool"),
        (json!({"metadata": 3}), "cannot restore struct from: int64"),
        (
            json!({"metadata": {"finalizers": "a"}}),
            "cannot restore slice from string",
        ),
        (json!({"binaryData": {"k": "*"}}), base64),
        (
            json!({"binaryData": {"k": 1}}),
            "cannot restore slice from int64",
        ),
    ] {
        let said = converted("configmaps", object.clone());
        assert_eq!(said.as_deref(), Some(why), "{object}");
    }
    for (spec, why) in [
        (
            json!({"leaseDurationSeconds": "3"}),
            "unrecognized type: int32",
        ),
        (
            json!({"leaseDurationSeconds": 1.5}),
            "cannot convert float64 to int32",
        ),
        (
            json!({"renewTime": 1}),
            "json: cannot unmarshal number into Go value of type string",
        ),
    ] {
        let said = converted("leases", json!({"spec": spec.clone()}));
        assert_eq!(said.as_deref(), Some(why), "{spec}");
    }
}

#[test]
fn fields_take_what_the_converter_makes_fit() {
    for (plural, object) in [
        (
            "configmaps",
            json!({"data": {"k": null}, "immutable": null}),
        ),
        ("configmaps", json!({"data": null, "other": 3})),
        ("configmaps", json!({"binaryData": {"k": [1, 2]}})),
        (
            "configmaps",
            json!({"metadata": {"managedFields": [{"fieldsV1": "odd"}]}}),
        ),
        ("leases", json!({"spec": {"leaseDurationSeconds": 3.0}})),
    ] {
        assert_eq!(converted(plural, object.clone()), None, "{object}");
    }
}

fn causes(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn config_maps_keep_their_rules() {
    let config_map = definition("", "v1", "configmaps").unwrap();
    let check =
        |new: Value, old: Option<Value>| causes(&config_map.validate(&new, old.as_ref(), stack));
    let words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    assert_eq!(
        check(json!({"data": {"bad key": "v"}}), None),
        [format!(
            "data[bad key]: Invalid value: \"bad key\": {words}"
        )]
    );
    assert_eq!(
        check(
            json!({"data": {"k": "v"}, "binaryData": {"k": "AA=="}}),
            None
        ),
        ["data[k]: Invalid value: \"k\": duplicate of key present in binaryData"]
    );
    let fixed = json!({"immutable": true, "data": {"k": "w"}});
    assert_eq!(
        check(
            json!({"immutable": true, "data": {"k": "x"}}),
            Some(fixed.clone())
        ),
        ["data: Forbidden: field is immutable when `immutable` is set"]
    );
    assert_eq!(
        check(json!({"immutable": false, "data": {"k": "w"}}), Some(fixed)),
        ["immutable: Forbidden: field is immutable when `immutable` is set"]
    );
    let big = "x".repeat(1024 * 1024 + 1);
    assert_eq!(
        check(json!({"data": {"k": big}}), None),
        ["[]: Too long: may not be more than 1048576 bytes"]
    );
}

#[test]
fn secrets_take_their_texts_in_and_keep_their_type() {
    let secret = definition("", "v1", "secrets").unwrap();
    let mut object = json!({"stringData": {"a": "x"}, "data": {"a": "b2xk", "b": "Yg=="}});
    secret.prepare(&mut object);
    assert_eq!(
        object,
        json!({"data": {"a": "eA==", "b": "Yg=="}, "type": "Opaque"})
    );
    let other = json!({"type": "other"});
    assert_eq!(
        causes(&secret.validate(&other, Some(&object), stack)),
        [r#"type: Invalid value: "other": field is immutable"#]
    );
    let tls = causes(&secret.validate(&json!({"type": "kubernetes.io/tls"}), None, stack));
    assert_eq!(
        tls,
        [
            "data[tls.crt]: Required value",
            "data[tls.key]: Required value"
        ]
    );
}

#[test]
fn metadata_is_refused_in_the_real_servers_words() {
    let check = |metadata: Value| causes(&meta::validate(&metadata, false, NameRule::Subdomain));
    assert_eq!(
        check(json!({})),
        ["metadata.name: Required value: name or generateName is required"]
    );
    let owner = |name: &str| {
        let uid = "00000000-0000-0000-0000-000000000001";
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "controller": true})
    };
    let two = check(json!({"name": "a", "ownerReferences": [owner("x"), owner("y")]}));
    assert_eq!(two.len(), 1);
    assert!(two[0].ends_with(
        "Only one reference can have Controller set to true. Found \"true\" in references for ConfigMap/x and ConfigMap/y"
    ));
    assert_eq!(
        check(
            json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "u"}]})
        ),
        [concat!(
            r#"metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}: "#,
            "/v1, Kind=Event is disallowed from being an owner"
        )]
    );
    let big = "x".repeat(262_200);
    assert_eq!(
        check(json!({"name": "a", "annotations": {"big": big}})),
        ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    );
    assert_eq!(
        metadata_type_error(&json!({"labels": {"k": 5}})).unwrap(),
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    );
    assert_eq!(
        meta::finalizer_warnings(&json!({"finalizers": ["nodomain", "a.b/c"]}), None).len(),
        1
    );
}

#[test]
fn updates_may_not_touch_identity() {
    let old = json!({"name": "a", "uid": "1", "deletionTimestamp": "t", "finalizers": ["a.b/c"]});
    let new = json!({"name": "a", "uid": "2", "deletionTimestamp": "t", "finalizers": ["a.b/c", "a.b/d"]});
    let told = causes(&meta::validate_update(&new, &old));
    assert_eq!(told.len(), 2);
    assert_eq!(
        told[0],
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
         finalizers []string{\"a.b/d\"}"
    );
    assert_eq!(
        told[1],
        r#"metadata.uid: Invalid value: "2": field is immutable"#
    );
}

#[test]
fn events_are_held_to_the_rules_of_their_age() {
    let core = definition("", "v1", "events").unwrap();
    let check = |event: Value| causes(&core.validate(&event, None, stack));
    let old = |about: &str| json!({"metadata": {"namespace": "a"}, "involvedObject": {"namespace": about}});
    assert!(check(old("a")).is_empty());
    assert_eq!(
        check(old("b")),
        [r#"involvedObject.namespace: Invalid value: "b": does not match event.namespace"#]
    );
    let mut new = old("a");
    new["eventTime"] = json!("2020-01-01T00:00:00.000000Z");
    assert_eq!(
        check(new.clone())[..2],
        [
            "reportingComponent: Required value",
            "reportingComponent: Invalid value: \"\": name part must be non-empty"
        ]
    );
    let full = json!({
        "metadata": {"namespace": "a"}, "regarding": {"namespace": "a"}, "type": "Normal",
        "eventTime": "2020-01-01T00:00:00.000000Z", "reportingController": "example.dev/c",
        "reportingInstance": "c-0", "action": "Making", "reason": "Made",
    });
    let group = definition("events.k8s.io", "v1", "events").unwrap();
    assert!(causes(&group.validate(&full, None, stack)).is_empty());
    let mut wrong = full;
    wrong["type"] = json!("Odd");
    wrong["deprecatedCount"] = json!(3);
    assert_eq!(
        causes(&group.validate(&wrong, None, stack)),
        [
            r#"type: Invalid value: "": has invalid value: Odd"#,
            r#"count: Invalid value: "": needs to be unset"#
        ]
    );
}
