//! One of the revisions that a command is about.

/// A revision, and the tree that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) tree: Option<String>,
}
