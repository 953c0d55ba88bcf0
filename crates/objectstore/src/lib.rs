//! The object store: durable objects, resource versions and the events that watches follow.
//!
//! One writer gives out resource versions and makes each group of batches durable in one transaction of a
//! medium; readers take an immutable picture from memory and never wait for it.
//! The store knows keys, bytes and a few typed fields; it never interprets a spec, knows a kind or speaks HTTP.
//!
//! Two media exist, a file and [`Memory`]; `tests.rs` is the one suite that both pass.

mod backend;
mod check;
mod copy;
pub mod files;
mod key;
mod labels;
mod memory;
mod object;
mod redb_file;
mod shared;
mod state;
mod store;
mod text;
mod watch;
mod whole;
mod writer;

pub use backend::{FaultPoint, Faults, StorageError};
pub use check::{Findings, NOTES};
pub use copy::{Copy, CopyError};
pub use key::{Key, ObjectRef, ResourceKey};
pub use labels::LabelSet;
pub use memory::Memory;
pub use object::{NewObject, Object, Owner, StoredFields, sorted};
pub use redb_file::Durability;
pub use state::{Event, EventKind, Touched};
pub use store::{Listing, Options, Store, key_of};
pub use watch::{Gone, Watch};
pub use writer::{CommitError, Expect, Op};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex; a panic elsewhere does not take the store down with it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
