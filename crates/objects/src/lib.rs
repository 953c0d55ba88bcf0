//! Kubernetes objects as pure functions: what a schema, a write, a patch or a version makes of an object, and in which words it is refused.
//!
//! Values go in and values come out. Nothing here waits, keeps an object, reads a clock or starts a thread: time, fresh names and a
//! stack that deep expressions fit are lent by whoever calls (`write::Moment`, `schema::Stack`). The texts are those of kube-apiserver,
//! as recorded; people and tools grep for them.

mod apply;
pub mod builtin;
mod names;
pub mod openapi;
mod patch;
mod printed;
mod reason;
pub mod resource;
pub mod schema;
pub mod select;
mod status;
pub mod table;
pub mod write;

pub use reason::Reason;
pub use resource::{Backing, Resource};
pub use status::{Failure, Misread};

#[cfg(test)]
mod tests;
