//! The schema of `metadata`, which every kind shares.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::node::Node;
use super::parse;

/// The schema of `metadata` (meta/v1 `ObjectMeta`), which every kind shares.
#[must_use]
pub(crate) fn object_meta() -> &'static Node {
    static NODE: LazyLock<Node> =
        LazyLock::new(|| parse::node(&object_meta_json(), "").unwrap_or_default());
    &NODE
}

/// [`object_meta`] as a schema text, without descriptions.
#[must_use]
pub(crate) fn object_meta_json() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let owner = json!({
        "type": "object",
        "required": ["apiVersion", "kind", "name", "uid"],
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": text, "kind": text, "name": text, "uid": text,
            "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
        },
    });
    let entry = json!({
        "type": "object",
        "properties": {
            "manager": text, "operation": text, "apiVersion": text, "time": text, "fieldsType": text,
            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "subresource": text,
        },
    });
    json!({
        "type": "object",
        "properties": {
            "name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text,
            "resourceVersion": text,
            "generation": {"type": "integer", "format": "int64"},
            "creationTimestamp": {"type": "string", "format": "date-time", "nullable": true},
            "deletionTimestamp": {"type": "string", "format": "date-time", "nullable": true},
            "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
            "labels": texts, "annotations": texts,
            "ownerReferences": {
                "type": "array", "items": owner,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
            },
            "finalizers": {
                "type": "array", "items": text, "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
            },
            "managedFields": {"type": "array", "items": entry, "x-kubernetes-list-type": "atomic"},
        },
    })
}
