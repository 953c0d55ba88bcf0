//! Whether what is named can be read: looked up where objects are kept, never in a cache.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gix::ObjectId;
use gix::objs::Kind;
use model::{CommitId, TreeId};

use super::RepoReader;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::object::{Oid as _, SUBMODULE, TREE, next_entry};

/// How many objects one look visits; beyond it, commits and the packages' own directories are looked up alone.
const VISITS: usize = 200_000;
/// A directory of this many bytes counts for one more.
const LARGE: usize = 4_000;
/// How many levels it goes down.
const DEPTH: usize = 64;

/// One look.
#[derive(Default)]
struct Look {
    /// Objects below which everything is there.
    whole: HashSet<ObjectId>,
    visits: usize,
}

impl<D: Disk> RepoReader<D> {
    /// Which of these packages are not whole, each with what is missing first.
    pub(crate) fn find_broken(
        &self,
        of: &BTreeSet<(CommitId, TreeId)>,
    ) -> Result<BTreeMap<(CommitId, TreeId), String>> {
        self.look()?;
        let mut look = Look::default();
        let mut broken = BTreeMap::new();
        for (commit, tree) in of {
            let id = commit.oid()?;
            let missing = match self.disk.kind(&id) {
                Ok(Some(Kind::Commit)) => self.find_hole(&tree.oid()?, &mut look)?,
                _ => Some(format!("commit {id}")),
            };
            if let Some(missing) = missing {
                broken.insert((*commit, *tree), missing);
            }
        }
        Ok(broken)
    }

    fn find_hole(&self, top: &ObjectId, look: &mut Look) -> Result<Option<String>> {
        let mut seen = Vec::new();
        let hole = self.walk_for_hole(top, look, &mut seen)?;
        if hole.is_some() {
            // Something below these is missing: whoever else names them is not whole, either.
            for tree in seen {
                look.whole.remove(&tree);
            }
        }
        Ok(hole)
    }

    fn walk_for_hole(
        &self,
        top: &ObjectId,
        look: &mut Look,
        seen: &mut Vec<ObjectId>,
    ) -> Result<Option<String>> {
        let mut left = vec![(*top, 0)];
        while let Some((tree, depth)) = left.pop() {
            // Each is looked into once, however often it is named.
            if !look.whole.insert(tree) {
                continue;
            }
            seen.push(tree);
            look.visits += 1;
            let raw = match self.disk.read(&tree) {
                Ok(Some((Kind::Tree, raw))) => raw,
                // It is there, and whoever asks for it is told that it is too large.
                Err(Error::TooLarge { .. }) => continue,
                // One that cannot be read is as good as missing.
                _ => return Ok(Some(format!("directory {tree}"))),
            };
            look.visits += raw.len() / LARGE;
            let mut rest = &*raw;
            while let Some((entry, after)) = next_entry(rest) {
                rest = after;
                let submodule = entry.mode & 0o170_000 == SUBMODULE;
                if submodule || look.visits >= VISITS {
                    continue;
                }
                if entry.mode == TREE {
                    if depth < DEPTH {
                        left.push((entry.id, depth + 1));
                    }
                } else if look.whole.insert(entry.id) {
                    look.visits += 1;
                    if !self.disk.has(&entry.id)? {
                        look.whole.remove(&entry.id);
                        return Ok(Some(format!("file {}", entry.id)));
                    }
                }
            }
        }
        Ok(None)
    }
}
