//! What is known of the world without asking: mirrors of objects and records with their indexes.
//!
//! Fed by watches, and by our own writes at once; whatever is older than what is known is dropped.
//! Everything here is in memory, synchronous and ordered, and is locked for moments only. It never
//! decides: it answers which keys a change touches, and what is known about a package.

mod keys;
mod mirror;
mod objects;
mod packages;
mod repositories;
mod revisions;
mod wake;
mod world;

pub(crate) use mirror::Changed;
pub(crate) use packages::PackageKey;
pub(crate) use repositories::READ_ONLY;
pub(crate) use wake::Wake;
pub(crate) use world::{World, downstream_of, package_of, upstream_of};
