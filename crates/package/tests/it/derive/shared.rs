//! Every derivation of these tests runs with what the clones of an upstream share, and without; and what is asked of the results.

use std::sync::Arc;

use model::{Conflict, ConflictState};
use package::clone::Marked;
use package::derive::{Derivation, DeriveError, DeriveInput, Derived};

use crate::vectors;

/// Derives with what the clones of an upstream share, and without: it makes no difference.
pub(super) fn try_derive(input: DeriveInput) -> Result<Derived, DeriveError> {
    let marked = Marked::of(&input.upstream, &input.git_upstream, &input.lock);
    let shared = DeriveInput {
        marked: Some(Arc::new(marked)),
        ..input.clone()
    };
    let derived = vectors::drive(Derivation::new(input));
    assert_eq!(vectors::drive(Derivation::new(shared)), derived);
    derived
}

/// Where conflicts stand, and whether they wait.
pub(super) fn places(conflicts: &[Conflict]) -> Vec<(String, ConflictState)> {
    let place = |c: &Conflict| format!("{} {}", c.file, c.path);
    conflicts.iter().map(|c| (place(c), c.state)).collect()
}
