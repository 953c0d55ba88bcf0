//! A directory's tree as files, within limits; what we do not touch is carried by id.

use std::collections::BTreeSet;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use model::{File, FileMode, Files, PackagePath, TreeId};

use super::RepoReader;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::limits::limit;
use crate::object::{EXEC, Entry, Oid as _, blob_id, count_entries, decode_tree, tree_id};
use crate::{Beyond, Opaque, Snapshot};

/// Directories within directories.
const DEPTH: u64 = 64;
/// Directories of a package that are looked into: a few objects may name each other so often that they are billions.
const DIRECTORIES: u64 = 4_000;
/// Entries of all of them: each costs a few hundred bytes where it is named, read or not.
const ENTRIES: u64 = 40_000;
/// A directory of this many entries counts for one more.
const LARGE: usize = 10;

/// A file that was found, and not read yet.
struct FoundFile {
    path: PackagePath,
    entry: Entry,
    size: u64,
}

/// What a walk over a package's trees found.
#[derive(Default)]
struct Listing {
    files: Vec<FoundFile>,
    opaque: Vec<Opaque>,
    beyond: Vec<Beyond>,
    visits: usize,
    entries: usize,
}

impl Listing {
    fn count(&self) -> usize {
        self.files.len() + self.opaque.len()
    }

    /// Leaves something out: it is carried on by its id.
    fn hide(&mut self, path: PackagePath, entry: &Entry, why: String) {
        self.opaque.push(Opaque {
            hidden: true,
            ..carry(entry, path.dir())
        });
        self.beyond.push(Beyond { path, why });
    }
}

impl<D: Disk> RepoReader<D> {
    /// As [`RepoReader::take_snapshot`], without what is beyond the limits: of files, the largest go first.
    pub(crate) fn take_snapshot_within(
        &self,
        tree: TreeId,
    ) -> Result<(Arc<Snapshot>, Vec<Beyond>)> {
        match self.take_snapshot(tree) {
            Err(Error::TooLarge { .. }) => {}
            other => return Ok((other?, Vec::new())),
        }
        let id = tree.oid()?;
        let mut listing = Listing::default();
        self.list_files(&id, "", &mut listing, true, 0)?;
        let total: u64 = listing.files.iter().map(|file| file.size).sum();
        let most = self.limits.package_bytes;
        let mut files = std::mem::take(&mut listing.files);
        // The largest go first, so that few are hidden; paths decide among equals, so that each look hides the same.
        files.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.path.cmp(&b.path)));
        let (mut rest, mut kept) = (total, Vec::with_capacity(files.len()));
        for found in files {
            if rest <= most {
                kept.push(found);
                continue;
            }
            rest -= found.size;
            let why = format!(
                "it has {} bytes: the package has {total}, which exceeds the limit of {most}",
                found.size
            );
            listing.hide(found.path, &found.entry, why);
        }
        listing.files = kept;
        listing.beyond.sort_by(|a, b| a.path.cmp(&b.path));
        let beyond = std::mem::take(&mut listing.beyond);
        Ok((Arc::new(self.read_all(&id, listing)?), beyond))
    }

    pub(crate) fn take_snapshot(&self, tree: TreeId) -> Result<Arc<Snapshot>> {
        let id = tree.oid()?;
        if let Some(known) = self.snapshots.get(&id) {
            return Ok(known);
        }
        let mut listing = Listing::default();
        self.list_files(&id, "", &mut listing, false, 0)?;
        // What is too large is not read to find that out.
        let sizes = listing.files.iter().map(|file| (&file.path, file.size));
        self.limits.check_package(sizes)?;
        let shot = Arc::new(self.read_all(&id, listing)?);
        let cost = 512 + shot.files.len() * 256 + usize::try_from(shot.bytes).unwrap_or(usize::MAX);
        self.snapshots.put(id, Arc::clone(&shot), cost);
        Ok(shot)
    }

    /// Lists a directory. What is beyond the limits of number and depth ends the walk, unless it is to be left out:
    /// then directories beyond them are left out as they are, so that the walk stays within the limits, too.
    fn list_files(
        &self,
        tree: &ObjectId,
        at: &str,
        listing: &mut Listing,
        lenient: bool,
        depth: usize,
    ) -> Result<()> {
        let mut seen = BTreeSet::new();
        let raw = self.read_as(tree, Kind::Tree)?;
        // Of a directory that is beyond it not even a list is made.
        let count = count_entries(&raw);
        let all = listing.entries + count;
        limit("number of entries of a package's directories", ENTRIES, all)?;
        listing.entries = all;
        listing.visits += 1 + count / LARGE;
        for entry in decode_tree(tree, &raw)?.iter() {
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
            let Some(path) = path.filter(|_| unique && (entry.is_tree() || entry.is_file())) else {
                listing.opaque.push(carry(entry, at));
                if !lenient {
                    self.limits.check_count(listing.count())?;
                }
                continue;
            };
            let within = if entry.is_tree() {
                let deep = limit("nesting of directories", DEPTH, depth + 1);
                let many = "number of directories of a package";
                deep.and_then(|()| limit(many, DIRECTORIES, listing.visits))
            } else {
                self.limits.check_count(listing.count() + 1)
            };
            match within {
                Err(error) if lenient => listing.hide(path, entry, error.to_string()),
                Err(error) => return Err(error),
                Ok(()) if entry.is_tree() => {
                    let below =
                        self.list_files(&entry.id, path.as_str(), listing, lenient, depth + 1);
                    match below {
                        Err(error @ Error::TooLarge { .. }) if lenient => {
                            listing.hide(path, entry, error.to_string());
                        }
                        below => below?,
                    }
                }
                Ok(()) => listing.files.push(FoundFile {
                    size: self.size(&entry.id)?,
                    path,
                    entry: entry.clone(),
                }),
            }
        }
        Ok(())
    }

    /// A file's size; what is only staged was measured when it was made.
    fn size(&self, id: &ObjectId) -> Result<u64> {
        match self.disk.header(id)? {
            Some((_, size)) => Ok(size),
            None => Ok(self.read_as(id, Kind::Blob)?.len() as u64),
        }
    }

    fn read_all(&self, tree: &ObjectId, listing: Listing) -> Result<Snapshot> {
        let mut shot = Snapshot {
            tree: tree_id(tree),
            files: Files::new(),
            opaque: listing.opaque,
            bytes: 0,
        };
        for FoundFile { path, entry, .. } in listing.files {
            let bytes = self.read_as(&entry.id, Kind::Blob)?;
            shot.bytes += bytes.len() as u64;
            let exec = entry.mode & 0o111 != 0 || entry.mode == EXEC;
            let mode = if exec {
                FileMode::Executable
            } else {
                FileMode::Regular
            };
            let id = blob_id(&entry.id);
            shot.files.insert(path, File::Kept { id, mode, bytes });
        }
        Ok(shot)
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
        hidden: false,
    }
}
