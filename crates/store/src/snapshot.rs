//! A directory's tree as files, and what is carried by id.

use gix::ObjectId;
use model::{File, Files, PackagePath, TreeId};

use crate::error::Result;
use crate::object::Oid as _;

/// What a tree holds beyond what we read: symlinks, submodules, names that we refuse (X1), and what is beyond the
/// limits (A11). It is written back as it was and never followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opaque {
    /// The path inside the package, as git has it.
    pub path: Vec<u8>,
    /// Git's mode.
    pub mode: u32,
    /// The id, 20 bytes.
    pub(crate) id: ObjectId,
    /// Whether it could be read but for a limit.
    pub(crate) hidden: bool,
}

impl Opaque {
    pub(crate) fn oid(&self) -> Result<ObjectId> {
        Ok(self.id)
    }

    /// An entry with the id of a file that git has; none of any other. What writes packages by hand, as tests and simulations do,
    /// makes links with it.
    pub fn new(path: Vec<u8>, mode: u32, like: Option<&File>) -> Option<Self> {
        let id = like.and_then(File::id)?.oid().ok()?;
        Some(Self {
            path,
            mode,
            id,
            hidden: false,
        })
    }

    /// Its id in git, in hexadecimal.
    pub fn id(&self) -> String {
        self.id.to_string()
    }

    /// Whether it is carried because it is beyond a limit.
    pub fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// What it is, in words.
    pub fn what(&self) -> &'static str {
        match self.mode & 0o170_000 {
            0o120_000 => "symlink",
            0o160_000 => "submodule",
            0o040_000 => "directory",
            _ => "file",
        }
    }
}

/// The files of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The tree that it shows.
    pub tree: TreeId,
    /// Its files, all [`File::Kept`].
    pub files: Files,
    /// What is carried along unread.
    pub opaque: Vec<Opaque>,
    /// The bytes of all files.
    pub bytes: u64,
}

/// A file or a directory that is beyond the limits: it is not read, and carried on by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beyond {
    /// Where it is.
    pub path: PackagePath,
    /// Why it was left out, with its size and the limit.
    pub why: String,
}
