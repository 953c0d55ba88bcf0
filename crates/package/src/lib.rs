//! Packages as files in, files out: Kptfiles, clone and init, mutations, rendering as a conversation, three-way
//! merge with conflicts as data.
//!
//! Everything here is pure: bytes come in as [`model::Files`], bytes go out. This crate never sees a
//! ref, a cluster or a clock, and it never re-emits a text that it was not asked to change.

pub mod changes;
pub mod clone;
pub mod conflicts;
pub mod context;
pub mod derive;
mod documents;
pub mod ignore;
pub mod init;
pub mod kptfile;
mod krm;
pub mod layers;
mod lines;
pub mod merge;
pub mod mutate;
pub mod place;
pub mod render;
pub mod schema;
pub mod values;

pub use documents::DocumentsError;
