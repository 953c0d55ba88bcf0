//! A directory's tree as files, within limits; what we do not touch is carried by id.

use std::collections::BTreeSet;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use model::{File, FileMode, Files, PackagePath, TreeId};

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::object::{EXEC, Entry, Oid as _, blob_id, tree_id};
use crate::room::Room;
use crate::wall::Limits;

/// What a tree holds beyond what we read: symlinks, submodules, names that we refuse (X1). It is
/// written back as it was and never followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opaque {
    /// The path inside the package, as git has it.
    pub path: Vec<u8>,
    /// Git's mode.
    pub mode: u32,
    /// The id, 20 bytes.
    pub(crate) id: ObjectId,
}

impl Opaque {
    pub(crate) fn oid(&self) -> Result<ObjectId> {
        Ok(self.id)
    }

    /// An entry with the id of some file; for tests.
    #[cfg(feature = "conformance")]
    pub(crate) fn new(path: Vec<u8>, mode: u32, like: Option<&File>) -> Option<Self> {
        let id = like.and_then(File::id)?.oid().ok()?;
        Some(Self { path, mode, id })
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

/// Directories of a package that are looked into: a few objects may name each other so often that they are billions.
const DIRECTORIES: u64 = 4_000;
/// A directory of this many entries counts for one more.
const LARGE: u64 = 10;

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

impl Snapshot {
    fn of(tree: &ObjectId) -> Self {
        Self {
            tree: tree_id(tree),
            files: Files::new(),
            opaque: Vec::new(),
            bytes: 0,
        }
    }
}

/// A file, or a directory nested too deep, that is beyond the limits: it is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beyond {
    /// Where it is.
    pub path: PackagePath,
    /// Why it was left out, with its size and the limit.
    pub why: String,
}

impl Limits {
    /// Whether a package of these files, and so many that are carried unread, could be read again.
    ///
    /// # Errors
    /// The first limit that it is beyond, with the file where one alone is too large.
    pub fn check(&self, files: &Files, carried: usize) -> Result<()> {
        let count = files.len() + carried;
        self.check_count(count)?;
        let mut all = 0;
        for (path, file) in files {
            let bytes = file.bytes().len() as u64;
            self.check_file(path, bytes)?;
            all += bytes;
        }
        self.check_package(all)
    }

    fn check_count(&self, count: usize) -> Result<()> {
        limit(
            "number of files of a package",
            self.package_files,
            count as u64,
        )
    }

    fn check_file(&self, path: &PackagePath, bytes: u64) -> Result<()> {
        limit(&format!("size of {path}"), self.file_bytes, bytes)
    }

    fn check_package(&self, bytes: u64) -> Result<()> {
        limit("size of a package", self.package_bytes, bytes)
    }
}

impl<D: Disk> Room<D> {
    /// As [`Room::take_snapshot`], without the files that are beyond the limits.
    pub(crate) fn take_snapshot_within(
        &self,
        tree: TreeId,
    ) -> Result<(Arc<Snapshot>, Vec<Beyond>)> {
        match self.take_snapshot(tree) {
            Err(Error::TooLarge { .. }) => {}
            other => return Ok((other?, Vec::new())),
        }
        let id = tree.oid()?;
        let mut beyond = Vec::new();
        let mut shot = Snapshot::of(&id);
        self.walk(&id, "", &mut shot, Some(&mut beyond), (0, &mut 0))?;
        Ok((Arc::new(shot), beyond))
    }

    pub(crate) fn take_snapshot(&self, tree: TreeId) -> Result<Arc<Snapshot>> {
        let id = tree.oid()?;
        if let Some(known) = self.snapshots.get(&id) {
            return Ok(known);
        }
        let mut shot = Snapshot::of(&id);
        self.walk(&id, "", &mut shot, None, (0, &mut 0))?;
        let shot = Arc::new(shot);
        let cost = 512 + shot.files.len() * 256 + usize::try_from(shot.bytes).unwrap_or(usize::MAX);
        self.snapshots.put(id, Arc::clone(&shot), cost);
        Ok(shot)
    }

    /// Takes a directory's files. What is beyond the limits ends the walk, unless somebody wants to know of it.
    fn walk(
        &self,
        tree: &ObjectId,
        at: &str,
        shot: &mut Snapshot,
        mut beyond: Option<&mut Vec<Beyond>>,
        (depth, visits): (usize, &mut u64),
    ) -> Result<()> {
        const DEPTH: u64 = 64;
        limit("nesting of directories", DEPTH, depth as u64)?;
        limit("number of directories of a package", DIRECTORIES, *visits)?;
        let mut seen = BTreeSet::new();
        let entries = self.tree(tree)?;
        *visits += 1 + entries.len() as u64 / LARGE;
        for entry in entries.iter() {
            let name = std::str::from_utf8(&entry.name)
                .ok()
                .filter(|n| !n.contains('/'));
            let path = name.and_then(|name| {
                let full = if at.is_empty() {
                    name.to_owned()
                } else {
                    format!("{at}/{name}")
                };
                PackagePath::parse(&full).ok()
            });
            // Names that differ only in case would overwrite each other on some disks (X1): the
            // first is read, the others are carried.
            let unique = name.is_some_and(|n| seen.insert(n.to_lowercase()));
            match path {
                Some(path) if unique && (entry.is_tree() || entry.is_file()) => {
                    let taken = if entry.is_tree() {
                        let below = beyond.as_deref_mut();
                        let at = (depth + 1, &mut *visits);
                        self.walk(&entry.id, path.as_str(), shot, below, at)
                    } else {
                        self.take_file(entry, &path, shot)
                    };
                    match (taken, beyond.as_deref_mut()) {
                        (Err(error @ Error::TooLarge { .. }), Some(beyond)) => {
                            let why = error.to_string();
                            beyond.push(Beyond { path, why });
                        }
                        (taken, _) => taken?,
                    }
                }
                _ => shot.opaque.push(carry(entry, at)),
            }
            if beyond.is_none() {
                let count = shot.files.len() + shot.opaque.len();
                self.limits.check_count(count)?;
            }
        }
        Ok(())
    }

    fn take_file(&self, entry: &Entry, path: &PackagePath, shot: &mut Snapshot) -> Result<()> {
        self.limits
            .check_count(shot.files.len() + shot.opaque.len() + 1)?;
        // What is too large is not read to find that out; what is only staged was measured when it was made.
        if let Some(size) = self.disk.size(&entry.id)? {
            self.limits.check_file(path, size)?;
            self.limits.check_package(shot.bytes + size)?;
        }
        let bytes = self.read_as(&entry.id, Kind::Blob)?;
        let length = bytes.len() as u64;
        self.limits.check_file(path, length)?;
        self.limits.check_package(shot.bytes + length)?;
        shot.bytes += length;
        let exec = entry.mode & 0o111 != 0 || entry.mode == EXEC;
        let mode = if exec {
            FileMode::Executable
        } else {
            FileMode::Regular
        };
        shot.files.insert(
            path.clone(),
            File::Kept {
                id: blob_id(&entry.id),
                mode,
                bytes,
            },
        );
        Ok(())
    }
}

fn carry(entry: &Entry, at: &str) -> Opaque {
    let mut path = Vec::new();
    if !at.is_empty() {
        path.extend_from_slice(at.as_bytes());
        path.push(b'/');
    }
    path.extend_from_slice(&entry.name);
    Opaque {
        path,
        mode: entry.mode,
        id: entry.id,
    }
}

fn limit(what: &str, limit: u64, found: u64) -> Result<()> {
    if found > limit {
        return Err(Error::TooLarge {
            what: what.to_owned(),
            limit,
            found,
        });
    }
    Ok(())
}
