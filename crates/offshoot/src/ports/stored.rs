//! Objects of ours as the server keeps them, read into what the engine knows of them.

use std::sync::Arc;

use engine::ports::{Stored, StoredRepository, StoredSet, StoredVariant};
use model::{Variant, VariantSet};
use serde_json::Value;

/// A variant; `None` without a readable name.
pub(crate) fn read_variant(object: &Value) -> Option<StoredVariant> {
    let (key, meta, spec) = api::read_variant(object)?;
    let meta = Arc::new(meta);
    let variant = |spec| {
        Arc::new(Variant {
            key: key.clone(),
            meta: Arc::clone(&meta),
            spec,
        })
    };
    Some(Stored {
        parsed: spec.map(variant),
        status: api::read_variant_status(object),
        key,
        meta,
    })
}

/// The same of a set.
pub(crate) fn read_set(object: &Value) -> Option<StoredSet> {
    let (key, meta, spec) = api::read_set(object)?;
    let set = |spec| VariantSet {
        key: key.clone(),
        meta: meta.clone(),
        spec,
    };
    Some(Stored {
        parsed: spec.map(set),
        status: api::read_set_status(object),
        key,
        meta: Arc::new(meta),
    })
}

/// The same of a repository.
pub(crate) fn read_repository(object: &Value) -> Option<StoredRepository> {
    Some(Stored {
        key: api::read_key(object)?,
        meta: Arc::new(api::read_meta(object)),
        parsed: api::read_repository(object),
        status: api::read_repository_status(object),
    })
}
