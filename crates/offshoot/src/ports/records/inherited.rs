//! What Porch kept of package revisions beside git, for a server that takes over from it: uids, labels, annotations, owners
//! and finalizers of its `PackageRev` objects. Nothing is written to these: Porch may come back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use model::{ObjectKey, ObjectMeta};
use serde_json::Value;

/// What begins the names of Porch's own label and finalizer on its objects.
const INTERNAL: &str = "internal.porch.kpt.dev/";

/// The kind that such an object keeps the metadata of; it is also one of its owners.
const SERVED: (&str, &str) = ("porch.kpt.dev/v1alpha1", "PackageRevision");

/// Metadata by the names of the revisions.
#[derive(Debug, Default)]
pub(crate) struct Inherited(Mutex<HashMap<ObjectKey, ObjectMeta>>);

impl Inherited {
    /// Of `PackageRev` objects.
    pub(crate) fn of(objects: &[Value]) -> Self {
        let read = |object| Some((api::read_key(object)?, read(api::read_meta(object))));
        Self(Mutex::new(objects.iter().filter_map(read).collect()))
    }

    /// Of how many revisions something is known.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// What was kept of a revision.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<ObjectMeta> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(key).cloned()
    }

    /// The revision went: what comes by its name later is another one.
    pub(super) fn forget(&self, key: &ObjectKey) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(key);
    }
}

/// The revision's own metadata in that of Porch's object.
fn read(meta: ObjectMeta) -> ObjectMeta {
    let mut kept = ObjectMeta::default();
    for owner in meta.owners {
        if (owner.api_version.as_str(), owner.kind.as_str()) == SERVED {
            kept.uid = Some(owner.uid);
        } else {
            kept.owners.push(owner);
        }
    }
    kept.labels = meta.labels;
    kept.labels.retain(|key, _| !key.starts_with(INTERNAL));
    kept.annotations = meta.annotations;
    kept.finalizers = meta.finalizers;
    kept.finalizers.retain(|name| !name.starts_with(INTERNAL));
    // Its deletion waits for whoever put a finalizer on it.
    kept.deleted = meta.deleted.filter(|_| !kept.finalizers.is_empty());
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_porchs_own_stays_behind() {
        let owner = |version: &str, kind: &str, uid: &str| json!({"apiVersion": version, "kind": kind, "name": "deploy.web.packagevariant-1", "uid": uid});
        let variant = "ed2631c8-5e06-4918-a69f-512e4d1d9089";
        let served = "17ee8245-e54b-5e3c-b74a-56fd66857d45";
        let object = json!({"metadata": {
            "name": "deploy.web.packagevariant-1", "namespace": "shop", "uid": "a5cce1da-ed5f-4d86-a054-c5993637a21d",
            "labels": {"internal.porch.kpt.dev/repository": "deploy", "team": "one"},
            "annotations": {"note": "kept"},
            "finalizers": ["internal.porch.kpt.dev/packagerevision", "example.com/hold"],
            "ownerReferences": [
                owner("config.porch.kpt.dev/v1alpha1", "PackageVariant", variant),
                owner("porch.kpt.dev/v1alpha1", "PackageRevision", served),
            ],
        }});
        let key = api::read_key(&object).unwrap();
        let inherited = Inherited::of(&[object]);
        let kept = inherited.get(&key).unwrap();
        assert_eq!(kept.uid.unwrap().as_str(), served);
        assert_eq!(kept.owners.len(), 1);
        assert_eq!(kept.owners[0].uid.as_str(), variant);
        assert_eq!(kept.finalizers, ["example.com/hold"]);
        let labels: Vec<_> = kept.labels.keys().collect();
        assert_eq!(labels, ["team"]);
        assert_eq!(
            kept.annotations.get("note").map(String::as_str),
            Some("kept")
        );
        inherited.forget(&key);
        assert!(inherited.get(&key).is_none());
    }
}
