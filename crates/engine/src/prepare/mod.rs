//! What a step on a draft would make: its files, its commits by id, its conflicts, and the record that would tell of it.
//!
//! Nothing outside of memory changes here, neither a ref nor a record nor a watch. What is prepared is published by `apply`,
//! or dropped by whoever only wants to know. The caller has seen to it that what the step expects still holds.

mod commits;
mod draft;
mod inputs;
mod metadata;

use std::sync::Arc;

use model::{Digest, Files, ObjectKey, Revision};
use plan::variant::RevisionRef;
use store::RefEdit;

use crate::Engine;
use crate::transaction::{Prepared, Transaction};
use crate::usecase::Caller;

pub(crate) use draft::{create, update};
pub(crate) use metadata::{Metadata, metadata};

/// What a step on a draft comes to.
pub(crate) enum Drafting<'e> {
    /// A draft: a new one, or the next commit of an open one.
    Draft(Box<Draft<'e>>),
    /// The result is what stands already: there is nothing to review (V17a, V20).
    Equal(Box<Equal>),
}

/// A draft whose commits are built, and not visible.
pub(crate) struct Draft<'e> {
    /// The package.
    pub(crate) files: Files,
    /// What makes it visible.
    pub(crate) transaction: Transaction<'e, Prepared>,
}

/// A result that equals what is published, or what the draft holds.
#[derive(Debug)]
pub(crate) struct Equal {
    /// The revision whose record notes the digest.
    pub(crate) noted: RevisionRef,
    /// What it notes.
    pub(crate) digest: Digest,
    /// The open draft that goes, with the ref that goes with it (V20).
    pub(crate) superseded: Option<(Arc<Revision>, RefEdit)>,
}

/// Who acts for a variant.
pub(crate) fn service(engine: &Engine, key: &ObjectKey) -> Caller {
    Caller {
        user: engine.inner.options.service.clone(),
        groups: Vec::new(),
        acting_for: format!("packagevariant {key}"),
        dry_run: false,
    }
}
