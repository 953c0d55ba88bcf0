//! The facts about trees, read once of each.

use std::sync::Arc;

use model::TreeId;

use crate::facts::Facts;
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result};

/// The facts about a package's tree. One that cannot be understood has none: deriving it will
/// say why.
pub(crate) fn of(engine: &Engine, open: &OpenRepository, tree: TreeId) -> Result<Arc<Facts>> {
    if let Some(known) = engine.inner.trees.facts.get(&tree) {
        return Ok(known);
    }
    let snapshot = open.repo.snapshot(tree).map_err(|source| Error::Store {
        attempt: "read a package",
        source,
    })?;
    Ok(keep(engine, tree, || Facts::of(&snapshot.files)))
}

/// Takes the facts of a tree whose files are at hand, so that they need not be read again; a plan may have done so.
pub(crate) fn keep(engine: &Engine, tree: TreeId, look: impl FnOnce() -> Facts) -> Arc<Facts> {
    if let Some(known) = engine.inner.trees.facts.get(&tree) {
        return known;
    }
    let facts = Arc::new(look());
    let bytes = facts.bytes();
    engine
        .inner
        .trees
        .facts
        .put(tree, Arc::clone(&facts), bytes);
    facts
}
