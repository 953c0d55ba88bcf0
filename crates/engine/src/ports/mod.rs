//! The traits between the engine and the outside: what it asks of records, of the cluster, of time
//! and of a simulation. (What runs functions is `functions`' own trait.)
//!
//! All of them speak `model`; `offshoot` implements them over `apiserver` and `api`, a twin over
//! memory. A port carries out one thing and decides nothing: what an implementation retries, it
//! retries below one call and never across two.

mod cluster;
mod events;
mod feed;
mod objects;
mod records;
mod secrets;

use std::fmt;
use std::sync::Arc;

use model::{Class, Namespace, ObjectName, Repository, Uid, VariantSet};

pub use cluster::{Cluster, Found, Gvk, ObjectContent, ObjectSummary, Requester};
pub use events::{ClusterEvent, EventType, Events};
pub use feed::{Delta, Feed, Known};
pub(crate) use objects::reported;
pub use objects::{
    Objects, OurKind, Ours, Stored, StoredRepository, StoredSet, StoredVariant, Variants,
};
pub use records::{Change, Expect, RecordWrite, Records};
pub use secrets::{Reader, Secret, Secrets};

/// Why a port could not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot {attempt}: {message}")]
pub struct PortError {
    /// What was attempted, such as `write the status of variant default/shop`.
    pub attempt: String,
    /// What kind of failure it is.
    pub class: Class,
    /// Why, for people.
    pub message: String,
}

impl PortError {
    /// A failure of the given class.
    pub fn new(class: Class, attempt: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            attempt: attempt.into(),
            class,
            message: message.into(),
        }
    }
}

/// The time, as the world tells it.
///
/// Waiting is tokio's: a simulation pauses its clock.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Seconds since 1970.
    fn unix_seconds(&self) -> i64;

    /// Now, as RFC 3339 in UTC with seconds, such as `2026-01-31T12:00:00Z`.
    fn rfc3339(&self) -> String {
        model::utc(self.unix_seconds())
    }
}

/// Fresh identities.
pub trait Ids: Send + Sync + fmt::Debug {
    /// A uid that nobody had before.
    fn fresh_uid(&self) -> Uid;

    /// The uid of the first incarnation of a package revision of this name (A5: Porch's v5).
    fn revision_uid(&self, namespace: &Namespace, name: &ObjectName) -> Uid;
}

/// A moment just before or after a side effect of the engine's own.
///
/// Those inside of `store` and of the object store have points of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Point {
    /// Content is derived, nothing is written.
    Derived,
    /// Refs are durable, no record tells of them.
    Published,
    /// The record is written, its intent not settled.
    Recorded,
    /// The intent is settled, the caller not answered.
    Settled,
    /// A status is about to be written.
    BeforeStatus,
    /// A variant is about to be written by a set.
    BeforeVariant,
    /// A finalizer is about to be added or removed.
    BeforeFinalizer,
}

impl Point {
    /// Whether nothing of what follows is written yet.
    pub fn begins(self) -> bool {
        matches!(
            self,
            Self::Derived | Self::BeforeStatus | Self::BeforeVariant | Self::BeforeFinalizer
        )
    }
}

/// Told at every [`Point`]: a simulation may end the process there.
pub trait Faults: Send + Sync + fmt::Debug {
    /// Whether the process dies here: the call returns [`crate::Error::Stopped`] and nothing more
    /// is done.
    fn dies_at(&self, point: Point) -> bool;

    /// Whether nothing may begin for the time being: where nothing is written yet, the call fails as unavailable, and whoever
    /// made it tries again. Nothing dies of it.
    fn holds_off(&self) -> bool {
        false
    }
}

/// No fault, ever.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn dies_at(&self, _point: Point) -> bool {
        false
    }
}

/// Everything outside, in one value.
#[derive(Clone)]
pub struct Ports {
    /// Records of package revisions.
    pub records: Arc<dyn Records>,
    /// Variants.
    pub variants: Arc<dyn Variants>,
    /// Sets.
    pub sets: Arc<dyn Objects<VariantSet>>,
    /// Repositories.
    pub repositories: Arc<dyn Objects<Repository>>,
    /// Secrets with credentials.
    pub secrets: Arc<dyn Secrets>,
    /// What is selected and injected.
    pub cluster: Arc<dyn Cluster>,
    /// What people are told.
    pub events: Arc<dyn Events>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Identities.
    pub ids: Arc<dyn Ids>,
    /// What runs functions that are not built in (X2); built-in ones run in place.
    pub functions: Arc<dyn functions::Runner>,
    /// Fault points.
    pub faults: Arc<dyn Faults>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("records", &self.records)
            .field("cluster", &self.cluster)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
