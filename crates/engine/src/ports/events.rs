//! What people are told beside statuses.

use std::fmt;

use async_trait::async_trait;
use model::ObjectKey;

use super::OurKind;

/// Whether an event is a worry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// For information.
    Normal,
    /// Somebody should look.
    Warning,
}

/// An `Event` about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterEvent {
    /// The kind of the object that it is about.
    pub kind: OurKind,
    /// That object.
    pub about: ObjectKey,
    /// Whether it is a worry.
    pub event_type: EventType,
    /// A word in `CamelCase`.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// Tells people.
#[async_trait]
pub trait Events: Send + Sync + fmt::Debug {
    /// Tells people about something; never fails, counts what is lost.
    async fn tell(&self, event: ClusterEvent);
}
