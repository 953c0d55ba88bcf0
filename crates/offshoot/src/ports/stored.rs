//! Objects of ours as the server keeps them, read into what the engine knows of them.

use std::sync::Arc;

use apiserver::ResourceName;
use engine::ports::{Ours, Stored, StoredRepository, StoredSet, StoredVariant};
use model::{Repository, RepositoryStatus, SetStatus, Variant, VariantSet, VariantStatus};
use serde_json::Value;

use super::{repositories, sets, variants};

/// A kind of ours as the server keeps it.
pub(super) trait Wire: Ours {
    /// What one is called in messages.
    const WORD: &'static str;

    /// Where they are.
    fn resource() -> ResourceName;

    /// What an object says; `None` without a readable name.
    fn read(object: &Value) -> Option<Stored<Self::Asked, Self::Status>>;

    /// A status after the one that stands, written at this time.
    fn write_status(old: Option<&Value>, status: &Self::Status, now: &str) -> Value;
}

impl Wire for Variant {
    const WORD: &'static str = "variant";

    fn resource() -> ResourceName {
        variants()
    }

    fn read(object: &Value) -> Option<StoredVariant> {
        read_variant(object)
    }

    fn write_status(old: Option<&Value>, status: &VariantStatus, now: &str) -> Value {
        api::write_variant_status(old, status, now)
    }
}

impl Wire for VariantSet {
    const WORD: &'static str = "set";

    fn resource() -> ResourceName {
        sets()
    }

    fn read(object: &Value) -> Option<StoredSet> {
        read_set(object)
    }

    fn write_status(old: Option<&Value>, status: &SetStatus, now: &str) -> Value {
        api::write_set_status(old, status, now)
    }
}

impl Wire for Repository {
    const WORD: &'static str = "repository";

    fn resource() -> ResourceName {
        repositories()
    }

    fn read(object: &Value) -> Option<StoredRepository> {
        read_repository(object)
    }

    fn write_status(old: Option<&Value>, status: &RepositoryStatus, now: &str) -> Value {
        api::write_repository_status(old, status, now)
    }
}

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
