//! Facts from recorded tables.

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn ages_read_as_kubectl_prints_them() {
    let now = at("2026-01-10T00:00:00Z");
    for (then, words) in [
        ("2026-01-10T00:00:01Z", "0s"),
        ("2026-01-10T00:00:05Z", "<invalid>"),
        ("2026-01-09T23:58:01Z", "119s"),
        ("2026-01-09T23:55:00Z", "5m"),
        ("2026-01-09T23:54:57Z", "5m3s"),
        ("2026-01-09T22:00:00Z", "120m"),
        ("2026-01-09T19:30:00Z", "4h30m"),
        ("2026-01-08T14:00:00Z", "34h"),
        ("2026-01-06T20:00:00Z", "3d4h"),
        ("2025-12-10T00:00:00Z", "31d"),
        ("2019-06-26T00:00:00Z", "6y200d"),
        ("2010-01-10T00:00:00Z", "16y"),
        ("yesterday", "<invalid>"),
        ("", "<unknown>"),
    ] {
        assert_eq!(since_text(then, now), words, "{then}");
    }
}

#[test]
fn paths_find_what_columns_name() {
    let object = json!({
        "metadata": {"labels": {"app.io/a": "x"}},
        "spec": {"ports": [{"port": 80}, {"port": 81}], "tags": ["a", "b"]},
        "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
    });
    for (path, found) in [
        (".spec.ports[0].port", json!([80])),
        (".spec.ports[-1].port", json!([81])),
        (".spec.ports[*].port", json!([80, 81])),
        (".spec.tags[*]", json!(["a", "b"])),
        (".spec.tags[1:]", json!(["b"])),
        (".metadata.labels['app.io/a']", json!(["x"])),
        (r".metadata.labels.app\.io/a", json!(["x"])),
        (
            r#".status.conditions[?(@.type=="Ready")].status"#,
            json!(["True"]),
        ),
        (
            ".status.conditions[?(@.type == 'Ready')].status",
            json!(["True"]),
        ),
        (".spec.ports[?(@.port>80)].port", json!([81])),
        (".spec.missing.deep", json!([])),
        ("..port", json!([80, 81])),
    ] {
        let path = JsonPath::parse(path).unwrap();
        assert_eq!(json!(path.find(&object)), found, "{path:?}");
    }
    for bad in [".spec.[", ".a[?(@.b==)]", "a b", ".a[x]", ".a..."] {
        assert!(JsonPath::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn cells_follow_the_columns_type() {
    let now = at("2026-01-10T00:00:00Z");
    let cell = |kind: &str, value: Value| typed(kind, &value, now);
    assert_eq!(cell("string", json!(5)), json!("5"));
    assert_eq!(
        cell("string", json!({"b": 1, "a": [true]})),
        json!(r#"{"a":[true],"b":1}"#)
    );
    assert_eq!(cell("integer", json!("5")), Value::Null);
    assert_eq!(cell("integer", json!(5.7)), json!(5));
    assert_eq!(cell("boolean", json!(true)), json!(true));
    assert_eq!(cell("date", json!("2026-01-09T23:59:00Z")), json!("60s"));
    assert_eq!(cell("date", json!("soon")), json!("<invalid>"));
}

#[test]
fn a_kind_without_columns_shows_name_and_age() {
    let now = at("2026-01-10T00:00:00Z");
    let object =
        json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-09T23:59:00Z"}, "spec": {}});
    let form = Form {
        include: Include::Metadata,
        api_version: "meta.k8s.io/v1",
        definitions: true,
        now,
    };
    let table = form.table(
        &custom_columns(&[]),
        [&object],
        json!({"resourceVersion": "5"}),
    );
    assert_eq!(table["columnDefinitions"][1]["type"], "date");
    assert_eq!(table["rows"][0]["cells"], json!(["a", "60s"]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    assert!(table["rows"][0]["object"].get("spec").is_none());
}

#[test]
fn built_in_columns_are_the_recorded_ones() {
    let now = at("2026-01-10T00:00:00Z");
    let form = Form {
        include: Include::None,
        api_version: "meta.k8s.io/v1",
        definitions: true,
        now,
    };
    let object = json!({
        "metadata": {"name": "a", "creationTimestamp": "2026-01-10T00:00:00Z"},
        "data": {"a": "", "b": ""}, "binaryData": {"c": ""},
    });
    let shown = form.table(&builtin_columns("ConfigMap"), [&object], json!({}));
    assert_eq!(
        shown["rows"][0],
        json!({"cells": ["a", 3, "0s"], "object": null})
    );
    let names: Vec<&str> = shown["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Name", "Data", "Age"]);
}

#[test]
fn an_absent_number_is_zero_only_where_go_prints_the_cells() {
    let now = at("2026-01-10T00:00:00Z");
    let column =
        |kind: &str| Column::from_crd(&json!({"name": "N", "type": kind, "jsonPath": ".spec.n"}));
    for (column, absent) in [
        (column("integer"), Value::Null),
        (column("integer").with_zero(), json!(0)),
        (column("string").with_zero(), Value::Null),
    ] {
        assert_eq!(column.cell(&json!({"spec": {}}), now), absent);
    }
    let three = json!({"spec": {"n": 3}});
    assert_eq!(column("integer").with_zero().cell(&three, now), 3);
}
