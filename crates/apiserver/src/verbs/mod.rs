//! The verbs: what may be done with a resource, over the rules of [`write`](objects::write) and the one store.
//!
//! The HTTP door and the in-process [`handle`] call the same functions, so a write means the same whoever asks.
//! Each verb reads what it needs, lets the pure rules compute, and commits with the version that it has read.

mod accounts;
mod chores;
mod claims;
pub(crate) mod crds;
mod followed;
pub(crate) mod handle;
mod homes;
mod import;
pub(crate) mod keep;
mod namespaces;
mod owners;
pub(crate) mod patches;
pub(crate) mod read;
pub(crate) mod records;
pub(crate) mod remove;
mod roles;
mod signed;
mod sizes;
pub(crate) mod target;
pub(crate) mod write;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use objects::resource::{Converter, Origin, Version};
use objects::write::{Moment, metadata_mut};
use objects::{Failure, Reason, Resource};
use objectstore::{CommitError, Object, StorageError, Store, Watch};
use serde_json::Value;

use crate::aggregated::Host;
use crate::authz::{Roles, Setters, Writers};
use crate::clock::{Clock, Uids, seconds};
use crate::gateway::{Authorizer, Gateway, Refusal};
use crate::metrics::Metrics;
use crate::registry::Registry;

pub(crate) use chores::keep;
pub use target::{RequestTarget, Whose};

/// Everything that the verbs work with.
pub(crate) struct Core {
    /// The objects.
    pub(crate) store: Store,
    /// The resources.
    pub(crate) registry: Registry,
    /// Counters.
    pub(crate) metrics: Metrics,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) uids: Arc<dyn Uids>,
    /// The embedding program's. It comes later, and of many servers in a cluster to one at a time only: it writes through a
    /// handle on this core.
    pub(crate) gateway: OnceLock<Arc<dyn Gateway>>,
    /// Who says what somebody may do.
    pub(crate) authorizer: Arc<dyn Authorizer>,
    /// The roles from which it says so, where they lie here.
    pub(crate) roles: Roles,
    /// Which objects say who wrote them.
    writers: Option<Writers>,
    /// Which field says who set it.
    setters: Option<Setters>,
    /// Tells when the rules of gathering cluster roles may have changed.
    pub(crate) aggregated: Mutex<Option<Watch>>,
    /// What housekeeping tries again, and when.
    pub(crate) chores: chores::Chores,
    /// Tells which namespaces may lack their service account.
    pub(crate) accounts: Mutex<Option<followed::Followed>>,
    converters: BTreeMap<String, Arc<dyn Converter>>,
    /// The cluster that this server is a part of, if it is.
    pub(crate) host: Option<Arc<dyn Host>>,
    /// Field owners of records that the embedding program is writing.
    claims: claims::Claims,
}

/// What a core is made of.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) metrics: Metrics,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) uids: Arc<dyn Uids>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) roles: Roles,
    pub(crate) writers: Option<Writers>,
    pub(crate) setters: Option<Setters>,
    pub(crate) converters: BTreeMap<String, Arc<dyn Converter>>,
    pub(crate) host: Option<Arc<dyn Host>>,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// An object as it is shown: the stored bytes where they are in the right version, a tree otherwise.
#[derive(Debug, Clone)]
pub(crate) enum Shown {
    /// As stored.
    Stored(Arc<Object>),
    /// Computed.
    Value(Value),
}

impl Shown {
    /// The whole object as JSON.
    #[must_use]
    pub(crate) fn bytes(&self) -> Bytes {
        match self {
            Self::Stored(object) => object.bytes(),
            Self::Value(value) => {
                let mut text = Vec::new();
                // Writing into memory cannot fail; a value has only text keys.
                drop(objectstore::sorted(&mut text, value));
                text.into()
            }
        }
    }

    /// Its resource version; empty for an object that is stored nowhere.
    #[must_use]
    pub(crate) fn version(&self) -> String {
        match self {
            Self::Stored(object) => object.rv.to_string(),
            Self::Value(value) => objects::write::meta(value, "resourceVersion").to_owned(),
        }
    }

    /// The object as a tree.
    #[must_use]
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Stored(object) => object.value(),
            Self::Value(value) => value.clone(),
        }
    }
}

/// The answer to a write.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// The HTTP status.
    pub(crate) code: u16,
    /// The object.
    pub(crate) object: Shown,
    /// Texts for `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

impl Core {
    /// Makes a core on an opened store, without resources.
    #[must_use]
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            store: parts.store,
            registry: Registry::default(),
            metrics: parts.metrics,
            clock: parts.clock,
            uids: parts.uids,
            gateway: OnceLock::new(),
            authorizer: parts.authorizer,
            roles: parts.roles,
            writers: parts.writers,
            setters: parts.setters,
            aggregated: Mutex::new(None),
            chores: chores::Chores::default(),
            accounts: Mutex::new(None),
            converters: parts.converters,
            host: parts.host,
            claims: claims::Claims::default(),
        }
    }

    /// Makes everything durable and closes the store.
    pub(crate) async fn close(&self) {
        let store = self.store.clone();
        let closed = tokio::task::spawn_blocking(move || store.close()).await;
        if closed.is_err() {
            tracing::error!("closing the object store ended by a panic");
        }
    }

    /// Time and fresh names for one request.
    #[must_use]
    pub(crate) fn moment(&self) -> Moment {
        Moment {
            now: seconds(self.clock.now()),
            uid: self.uids.uid(),
            suffix: self.uids.suffix(),
        }
    }

    /// The time that ages in tables are counted to.
    #[must_use]
    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    pub(crate) fn gateway(&self) -> Result<&Arc<dyn Gateway>, Failure> {
        let missing = || {
            Failure::new(
                503,
                Reason::ServiceUnavailable,
                "the service that handles this resource is not ready",
            )
        };
        self.gateway.get().ok_or_else(missing)
    }

    /// Shows a stored object in a version of its resource.
    ///
    /// # Errors
    /// A registered converter refused.
    pub(crate) fn show(
        &self,
        resource: &Resource,
        version: &Version,
        object: Arc<Object>,
    ) -> Result<Shown, Failure> {
        if as_stored(resource, version, &object) {
            return Ok(Shown::Stored(object));
        }
        let shown = resource.read(object.value(), version)?;
        Ok(Shown::Value(shown))
    }

    /// As [`Self::show`] for a page of objects.
    ///
    /// # Errors
    /// A registered converter refused.
    pub(crate) fn show_all(
        &self,
        resource: &Resource,
        version: &Version,
        objects: Vec<Arc<Object>>,
    ) -> Result<Vec<Shown>, Failure> {
        if objects.iter().all(|o| as_stored(resource, version, o)) {
            return Ok(objects.into_iter().map(Shown::Stored).collect());
        }
        let values = objects.iter().map(|o| o.value()).collect();
        let converted = resource.read_all(values, version)?;
        Ok(converted.into_iter().map(Shown::Value).collect())
    }

    /// Whether an object that stays as it is read would be stored otherwise than it is: then it is written all the same.
    pub(crate) fn outdated(
        &self,
        target: &RequestTarget,
        found: Option<&Object>,
        object: &Value,
    ) -> Result<bool, Failure> {
        let resource = &target.resource;
        let Some(found) = found.filter(|_| resource.origin == Origin::Crd) else {
            return Ok(false);
        };
        let kept = resource.version(&resource.storage_version);
        if kept.is_some_and(|version| as_stored(resource, version, found)) {
            return Ok(false);
        }
        let unversioned = |mut object: Value| {
            if let Some(metadata) = metadata_mut(&mut object) {
                metadata.shift_remove("resourceVersion");
            }
            object
        };
        let kept = resource.to_storage(object.clone())?;
        Ok(unversioned(kept) != unversioned(found.value()))
    }
}

/// Whether an object lies in the store in the form that a version shows: not one that was stored before the definition was
/// as it is now, nor one that another version may have written without the defaults of the one that is stored.
pub(crate) fn as_stored(resource: &Resource, version: &Version, object: &Object) -> bool {
    let read_again = resource.origin == Origin::Crd
        && (object.rv <= resource.since || (resource.versions.len() > 1 && version.defaults));
    version.name == resource.storage_version
        && resource.stored_as.is_none()
        && !read_again
        && (resource.versions.len() == 1 || object.is_of(&resource.api_version(&version.name)))
}

/// Turns a refusal of the gateway into what the client is told.
#[must_use]
pub(crate) fn refused(target: &RequestTarget, refusal: Refusal) -> Failure {
    let (code, reason) = refusal.class.status();
    let resource = &target.resource;
    let kind = if code == 422 {
        &resource.kind
    } else {
        &resource.plural
    };
    let mut details = serde_json::Map::new();
    for (key, value) in [
        ("name", &target.name),
        ("group", &resource.group),
        ("kind", kind),
    ] {
        if !value.is_empty() {
            details.insert(key.to_owned(), value.clone().into());
        }
    }
    let causes = refusal
        .causes
        .into_iter()
        .map(|c| serde_json::json!({"reason": c.reason, "message": c.message, "field": c.field}));
    Failure::new(code, reason, refusal.message)
        .with_details(details)
        .with_causes(causes.collect())
}

/// What the object store could not do, as the client is told: 507 when the disk is full, otherwise 503.
#[must_use]
pub(crate) fn unstored(error: &StorageError) -> Failure {
    let (code, reason) = match error {
        StorageError::Full(_) => (507, Reason::InsufficientStorage),
        _ => (503, Reason::ServiceUnavailable),
    };
    Failure::new(code, reason, error.to_string())
}

/// A failed commit as the client is told; a lost race is a conflict.
#[must_use]
pub(crate) fn lost(target: &RequestTarget, error: &CommitError) -> Failure {
    match error {
        CommitError::Conflict { .. } => Failure::modified(
            &target.resource.group,
            &target.resource.plural,
            &target.name,
        ),
        CommitError::Homeless {
            resource, found, ..
        } => homes::homeless(target, resource, found.as_deref()),
        CommitError::Storage(error) => unstored(error),
    }
}
