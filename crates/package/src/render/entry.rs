//! One resource of a package while its pipeline runs.

use std::sync::Arc;

use model::PackagePath;
use yaml::owned::Value;

/// Where a resource was read from: a document of a file, or an item of a list in one (M17).
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) path: PackagePath,
    pub(super) document: usize,
    pub(super) item: Option<usize>,
}

/// One resource.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) id: u32,
    pub(super) value: Arc<Value>,
    /// The bytes of the value.
    pub(super) weight: u64,
    /// As read, to see whether anything changed.
    pub(super) read: Option<Arc<Value>>,
    /// The package that it belongs to.
    pub(super) package: Arc<str>,
    /// Relative to the root.
    pub(super) path: String,
    pub(super) index: Option<u32>,
    pub(super) origin: Option<Origin>,
}

impl Entry {
    pub(super) fn is_at_origin(&self) -> bool {
        self.origin
            .as_ref()
            .is_some_and(|origin| origin.path.as_str() == self.path)
    }

    pub(super) fn document(&self) -> Option<usize> {
        self.origin.as_ref().map(|origin| origin.document)
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.read
            .as_ref()
            .is_some_and(|read| Arc::ptr_eq(read, &self.value))
    }
}
