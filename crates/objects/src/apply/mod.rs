//! Field ownership: `metadata.managedFields` and server-side apply.
//!
//! A managed field is a path that a manager last wrote. [`track`] records what a create, update or patch
//! changed; [`apply()`] merges what a manager wants, finds conflicts with other owners and takes out what the
//! manager no longer wants. Both are pure: the time comes in as text, the result is an object.
//!
//! The rules are those of structured-merge-diff and the field manager of the real server.

mod managers;
mod merge;
mod path;
mod set;
mod shape;
mod typed;
mod update;

#[cfg(test)]
mod tests;

pub(crate) use managers::same_but_times;
pub(crate) use typed::unfit;
pub(crate) use update::{ApplyError, Writer, apply, conflict_message, describe, track};
