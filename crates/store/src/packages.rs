//! Where packages are: directories with a `Kptfile`. The name of that file is all we know of them.

use std::sync::Arc;

use gix::ObjectId;
use model::TreeId;

use crate::Dir;
use crate::disk::Disk;
use crate::error::Result;
use crate::object::{Oid as _, tree_id};
use crate::room::Room;

/// Paths of packages below some tree, relative to it.
pub(crate) type Found = Arc<[(String, ObjectId)]>;

const MARK: &[u8] = b"Kptfile";
const DEPTH: usize = 32;

impl<D: Disk> Room<D> {
    pub(crate) fn find_packages(&self, root: TreeId, under: &Dir) -> Result<Vec<(Dir, TreeId)>> {
        let Some(top) = self.find_subtree(&root.oid()?, under)? else {
            return Ok(Vec::new());
        };
        let found = self.packages_below(&top, 0)?;
        let mut all: Vec<_> = found
            .iter()
            .map(|(path, id)| (Dir::trusted(path), tree_id(id)))
            .collect();
        all.sort();
        Ok(all)
    }

    /// Cached by tree id: what did not change is not walked again.
    fn packages_below(&self, tree: &ObjectId, depth: usize) -> Result<Found> {
        if let Some(known) = self.found.get(tree) {
            return Ok(known);
        }
        let entries = self.tree(tree)?;
        let mut found = Vec::new();
        if entries.iter().any(|e| e.is_file() && e.name == MARK) {
            found.push((String::new(), *tree));
        } else if depth < DEPTH {
            for entry in entries.iter().filter(|e| e.is_tree()) {
                let Ok(name) = std::str::from_utf8(&entry.name) else {
                    continue;
                };
                if Dir::parse(name).is_err() || name.contains('/') {
                    continue;
                }
                for (path, id) in self.packages_below(&entry.id, depth + 1)?.iter() {
                    let slash = if path.is_empty() { "" } else { "/" };
                    found.push((format!("{name}{slash}{path}"), *id));
                }
            }
        }
        let found: Found = found.into();
        let cost = 96 + found.iter().map(|(path, _)| path.len() + 64).sum::<usize>();
        self.found.put(*tree, Arc::clone(&found), cost);
        Ok(found)
    }
}
