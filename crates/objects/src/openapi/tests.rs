//! The recorded documents of the two custom kinds, and that every reference leads somewhere.

use super::*;
use crate::builtin::definitions;
use crate::tests::{definition, file};

fn custom() -> Vec<ServedKind> {
    let crds = ["widgets", "regions"].map(|name| {
        let mut crd = definition(name);
        crate::builtin::crd::default(&mut crd);
        Resource::from_crd(&crd).unwrap()
    });
    crds.iter()
        .flat_map(|crd| crd.versions.iter().map(|v| ServedKind::of(crd, v)))
        .collect()
}

/// A kind with this schema.
fn thing(schema: &Value) -> ServedKind {
    let crd = json!({"spec": {
        "group": "a.dev", "names": {"plural": "things", "kind": "Thing"}, "scope": "Namespaced",
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
    }});
    let resource = Resource::from_crd(&crd).unwrap();
    ServedKind::of(&resource, &resource.versions[0])
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map
                .iter()
                .filter(|(k, v)| *k != "description" || !v.is_string());
            Value::Object(kept.map(|(k, v)| (k.clone(), plain(v))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

#[test]
fn documents_of_custom_kinds_are_the_recorded_ones() {
    let kinds = custom();
    let scenario = file("openapi-v3");
    let mut compared = 0;
    for step in scenario["steps"].as_array().unwrap() {
        let reduced = step["reduced"].as_str().unwrap_or_default();
        let path = step["request"]["path"].as_str().unwrap_or_default();
        let Some(version) = path.strip_prefix("/openapi/v3/apis/shop.example.dev/") else {
            continue;
        };
        let document = ServedKind::document("shop.example.dev", version, &kinds);
        let body = &step["response"]["body"];
        if reduced.starts_with("openapi-v3") {
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let mut names: Vec<&String> = schemas.keys().collect();
            names.sort();
            assert_eq!(json!(names), body["components"]["schemaNames"]);
            for (name, wanted) in body["components"]["schemas"].as_object().unwrap() {
                assert_eq!(&schemas[name], wanted, "{name}");
            }
            for (path, methods) in body["paths"].as_object().unwrap() {
                let item = document["paths"][path].as_object().unwrap();
                let mut found: Vec<&String> = item.keys().filter(|k| *k != "parameters").collect();
                found.sort();
                assert_eq!(json!(found), *methods, "{path}");
            }
            assert_eq!(document["info"]["title"], body["info"]["title"]);
            compared += 1;
        } else if reduced.starts_with("one-path") {
            for (path, wanted) in body.as_object().unwrap() {
                for (part, wanted) in wanted.as_object().unwrap() {
                    assert_eq!(
                        plain(&document["paths"][path][part]),
                        *wanted,
                        "{path} {part}"
                    );
                }
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 3);
}

fn check_links(value: &Value, document: &Value) {
    match value {
        Value::Object(map) => {
            if let Some(link) = map.get("$ref").and_then(Value::as_str) {
                let pointer = link.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{link}");
            }
            map.values().for_each(|v| check_links(v, document));
        }
        Value::Array(items) => items.iter().for_each(|v| check_links(v, document)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let mut kinds = custom();
    kinds.extend(definitions().iter().map(ServedKind::builtin));
    for kind in &kinds {
        let document = ServedKind::document(&kind.group, &kind.version, &kinds);
        assert!(
            document["components"]["schemas"][kind.component()].is_object(),
            "{}",
            kind.kind
        );
        check_links(&document, &document);
    }
    let swagger = ServedKind::swagger(&kinds);
    check_links(&swagger, &swagger);
    let namespace = &swagger["definitions"]["io.k8s.api.core.v1.Namespace"]["properties"]["spec"];
    assert_eq!(
        namespace["$ref"],
        "#/definitions/io.k8s.api.core.v1.NamespaceSpec"
    );
}

#[test]
fn parts_of_built_in_kinds_have_names() {
    let kinds: Vec<ServedKind> = definitions().iter().map(ServedKind::builtin).collect();
    let document = ServedKind::document("", "v1", &kinds);
    let spec =
        &document["components"]["schemas"]["io.k8s.api.core.v1.Namespace"]["properties"]["spec"];
    assert!(
        spec["description"]
            .as_str()
            .unwrap()
            .starts_with("Spec defines the behavior of the Namespace.")
    );
    assert_eq!(
        spec["allOf"][0]["$ref"],
        "#/components/schemas/io.k8s.api.core.v1.NamespaceSpec"
    );
    let patch = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"];
    assert!(
        patch["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .any(|p| p["name"] == "fieldValidation")
    );
}

/// The rules that kube-apiserver follows for kubectl (`ToStructuralOpenAPIV2`).
#[test]
fn version_2_says_nothing_of_what_it_cannot_say() {
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object", "required": ["may", "must"], "properties": {
            "may": {"type": "string", "nullable": true}, "must": text,
            "default": text, "not": text, "nullable": text, "type": text,
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": text}},
            "list": {"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": text},
            "maybe": {"type": "object", "nullable": true, "properties": {"a": text}},
            "one": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true},
            "count": {"type": "integer", "default": 3},
        },
    }}});
    let kind = thing(&schema);
    let document = ServedKind::swagger(std::slice::from_ref(&kind));
    let spec = &document["definitions"]["dev.a.v1.Thing"]["properties"]["spec"];
    let keeps = json!({"x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(spec["required"], json!(["must"]));
    let wanted = json!({
        "may": {}, "must": text, "default": text, "not": text, "nullable": text, "type": text,
        "any": keeps, "list": keeps, "maybe": {}, "one": {"x-kubernetes-int-or-string": true},
        "count": {"type": "integer", "default": 3},
    });
    assert_eq!(spec["properties"], wanted);

    let mut open = schema;
    open["x-kubernetes-preserve-unknown-fields"] = true.into();
    let kind = thing(&open);
    let document = ServedKind::swagger(std::slice::from_ref(&kind));
    let gvk = json!([{"group": "a.dev", "kind": "Thing", "version": "v1"}]);
    assert_eq!(
        document["definitions"]["dev.a.v1.Thing"],
        json!({"type": "object", "x-kubernetes-group-version-kind": gvk})
    );
    check_links(&document, &document);
    let version_3 = ServedKind::document("a.dev", "v1", &[kind]);
    let whole = &version_3["components"]["schemas"]["dev.a.v1.Thing"]["properties"];
    assert!(whole["metadata"].is_object() && whole["spec"].is_object());
}
