//! The files of a package, as bytes whatever they hold (A11).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{BlobId, PackagePath};

/// A package's files by path, in path order. Bytes, never text: a package may hold binaries.
pub type Files = BTreeMap<PackagePath, File>;

/// Whether a file may be executed; git knows no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum FileMode {
    /// `100644`
    #[default]
    Regular,
    /// `100755`
    Executable,
}

/// One file.
///
/// A file that no step touches stays [`File::Kept`] from the snapshot to the commit: it is never
/// parsed, hashed or written again.
#[derive(Debug, Clone)]
pub enum File {
    /// As git holds it: the id says that nothing changed.
    Kept {
        /// The blob that holds it.
        id: BlobId,
        /// Its mode.
        mode: FileMode,
        /// Its content, shared with the snapshot's cache.
        bytes: Arc<[u8]>,
    },
    /// Made by a step; git does not have it yet (or nobody asked).
    New {
        /// Its mode.
        mode: FileMode,
        /// Its content.
        bytes: Arc<[u8]>,
    },
}

impl File {
    /// A new regular file.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::New {
            mode: FileMode::Regular,
            bytes: bytes.into(),
        }
    }

    /// A new regular file of text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::new(text.as_ref().as_bytes())
    }

    /// Its content.
    pub fn bytes(&self) -> &Arc<[u8]> {
        match self {
            Self::Kept { bytes, .. } | Self::New { bytes, .. } => bytes,
        }
    }

    /// Its content as text; `None` for a file that is not UTF-8 or holds a NUL (A11: binary).
    pub fn as_text(&self) -> Option<&str> {
        let bytes = self.bytes();
        if bytes.contains(&0) {
            return None;
        }
        std::str::from_utf8(bytes).ok()
    }

    /// Its mode.
    pub fn mode(&self) -> FileMode {
        match self {
            Self::Kept { mode, .. } | Self::New { mode, .. } => *mode,
        }
    }

    /// The blob that holds it, if git has it.
    pub fn id(&self) -> Option<BlobId> {
        match self {
            Self::Kept { id, .. } => Some(*id),
            Self::New { .. } => None,
        }
    }

    /// The same file with other content, which keeps the mode.
    ///
    /// Equal content returns the file as it is, so that an edit to an equal value is no edit.
    #[must_use]
    pub fn with_bytes(&self, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        if bytes == *self.bytes() {
            return self.clone();
        }
        Self::New {
            mode: self.mode(),
            bytes,
        }
    }
}

/// Equal in mode and content; by id alone where both ids are known.
impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        if self.mode() != other.mode() {
            return false;
        }
        match (self.id(), other.id()) {
            (Some(a), Some(b)) => a == b,
            _ => Arc::ptr_eq(self.bytes(), other.bytes()) || self.bytes() == other.bytes(),
        }
    }
}

impl Eq for File {}

/// The size of all files in bytes.
pub fn total_bytes(files: &Files) -> usize {
    files.values().map(|f| f.bytes().len()).sum()
}
