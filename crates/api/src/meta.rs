//! `metadata` of any object.

use model::{Namespace, ObjectKey, ObjectMeta, ObjectName, OwnerReference, Uid};
use serde_json::{Map, Value, json};

use crate::fields::{FieldReader, put, put_list, put_strings};

/// The namespace and name of an object; `None` where either is missing or no name.
pub fn read_key(object: &Value) -> Option<ObjectKey> {
    let meta = FieldReader::new(object.get("metadata")?, "metadata");
    Some(ObjectKey {
        namespace: Namespace::parse(meta.text("namespace")?).ok()?,
        name: ObjectName::parse(meta.text("name")?).ok()?,
    })
}

/// The metadata of an object, leniently: the server has validated it.
pub fn read_meta(object: &Value) -> ObjectMeta {
    let Some(value) = object.get("metadata") else {
        return ObjectMeta::default();
    };
    let meta = FieldReader::new(value, "metadata");
    ObjectMeta {
        uid: meta.text("uid").and_then(|t| Uid::parse(t).ok()),
        resource_version: meta.owned("resourceVersion").unwrap_or_default(),
        generation: meta.int("generation").unwrap_or_default(),
        created: meta.owned("creationTimestamp").unwrap_or_default(),
        deleted: meta.owned("deletionTimestamp"),
        labels: meta.strings("labels"),
        annotations: meta.strings("annotations"),
        finalizers: meta.texts("finalizers"),
        owners: meta
            .list("ownerReferences")
            .iter()
            .filter_map(read_owner)
            .collect(),
    }
}

fn read_owner(owner: &FieldReader<'_>) -> Option<OwnerReference> {
    Some(OwnerReference {
        api_version: owner.owned("apiVersion").unwrap_or_default(),
        kind: owner.owned("kind").unwrap_or_default(),
        name: owner.owned("name").unwrap_or_default(),
        uid: Uid::parse(owner.text("uid")?).ok()?,
        controller: owner.flag("controller"),
        block_owner_deletion: owner.flag("blockOwnerDeletion"),
    })
}

/// The wire form of metadata.
pub fn write_meta(key: &ObjectKey, meta: &ObjectMeta) -> Value {
    let mut out = Map::new();
    put(&mut out, "name", key.name.as_str());
    put(&mut out, "namespace", key.namespace.as_str());
    put(
        &mut out,
        "uid",
        meta.uid.as_ref().map_or("", |u| u.as_str()),
    );
    put(&mut out, "resourceVersion", &meta.resource_version);
    if meta.generation != 0 {
        out.insert("generation".to_owned(), meta.generation.into());
    }
    put(&mut out, "creationTimestamp", &meta.created);
    put(
        &mut out,
        "deletionTimestamp",
        meta.deleted.as_deref().unwrap_or_default(),
    );
    if meta.deleted.is_some() {
        out.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
    }
    put_strings(&mut out, "labels", &meta.labels);
    put_strings(&mut out, "annotations", &meta.annotations);
    put_list(
        &mut out,
        "finalizers",
        meta.finalizers.iter().map(|f| f.clone().into()).collect(),
    );
    put_list(
        &mut out,
        "ownerReferences",
        meta.owners.iter().map(write_owner).collect(),
    );
    Value::Object(out)
}

fn write_owner(owner: &OwnerReference) -> Value {
    let mut out = json!({
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid.as_str(),
    });
    if owner.controller {
        out["controller"] = true.into();
    }
    if owner.block_owner_deletion {
        out["blockOwnerDeletion"] = true.into();
    }
    out
}
