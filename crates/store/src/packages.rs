//! Where packages are: directories with a `Kptfile`. The name of that file is all we know of them.
//!
//! A few objects may name each other so often that they are billions of paths: what one look visits has a budget, each
//! tree is judged once however often it is named, and what is beyond is said (X9).

use std::collections::HashMap;
use std::sync::Arc;

use gix::ObjectId;
use model::TreeId;

use crate::Dir;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::object::{Entry, Oid as _, tree_id};
use crate::room::Room;

const MARK: &[u8] = b"Kptfile";
/// How many levels below the directory of the repository packages are looked for: no package's name has more.
const DEPTH: usize = 64;
/// Bytes that all paths of one look may have.
const PATHS: usize = 16 << 20;
/// The longest name of a directory that may be on the way to a package.
const NAME: usize = 255;
/// A directory of this many entries counts for one more.
const LARGE: u64 = 100;

/// What a look for packages found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packages {
    /// The packages by their directories, in path order.
    pub found: Vec<(Dir, TreeId)>,
    /// Why some were not looked for.
    pub beyond: Vec<String>,
}

/// Whether there are packages below a tree, looked at down to so many levels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Below {
    any: bool,
    /// Whether something lies deeper than was looked.
    cut: bool,
    levels: usize,
}

/// One look.
struct Look {
    below: HashMap<ObjectId, Below>,
    visits: u64,
    bytes: usize,
    all: Packages,
    /// Whether something was left out.
    over: bool,
    /// Whether nothing more is looked at.
    done: bool,
}

impl Look {
    fn beyond(&mut self, why: String) {
        self.over = true;
        if !self.all.beyond.contains(&why) {
            self.all.beyond.push(why);
        }
    }
}

impl<D: Disk> Room<D> {
    pub(crate) fn find_packages(&self, root: TreeId, under: &Dir) -> Result<Packages> {
        let Some(top) = self.find_subtree(&root.oid()?, under)? else {
            return Ok(Packages::default());
        };
        let mut look = Look {
            below: HashMap::new(),
            visits: 0,
            bytes: 0,
            all: Packages::default(),
            over: false,
            done: false,
        };
        if self.below(&top, DEPTH, &mut look)?.any {
            self.list(&top, "", DEPTH, &mut look)?;
        }
        look.all.found.sort();
        Ok(look.all)
    }

    /// The tree of one package, as [`Room::find_packages`] would name it.
    pub(crate) fn find_package(
        &self,
        root: TreeId,
        under: &Dir,
        at: &Dir,
    ) -> Result<Option<TreeId>> {
        let Some(mut tree) = self.find_subtree(&root.oid()?, under)? else {
            return Ok(None);
        };
        let mut left: Vec<&str> = at.segments().rev().collect();
        if left.len() > DEPTH {
            return Ok(None);
        }
        loop {
            let entries = self.tree(&tree)?;
            match (is_package(&entries), left.pop()) {
                (true, None) => return Ok(Some(tree_id(&tree))),
                (false, Some(name)) => {
                    let next = entries
                        .iter()
                        .find(|e| e.is_tree() && e.name == name.as_bytes());
                    let Some(next) = next else { return Ok(None) };
                    tree = next.id;
                }
                // What lies inside a package is its content.
                _ => return Ok(None),
            }
        }
    }

    /// Counts a directory, the larger ones for more; whether it is within the budget.
    fn visit(&self, entries: &[Entry], look: &mut Look) -> bool {
        let most = self.limits.visits;
        look.visits += 1 + entries.len() as u64 / LARGE;
        if look.visits > most && !look.done {
            look.done = true;
            look.beyond(format!(
                "it has more than {most} directories: packages in those beyond are not served"
            ));
        }
        !look.done
    }

    /// Whether there are packages below a tree. What is known of a tree is known wherever it lies.
    fn below(&self, tree: &ObjectId, levels: usize, look: &mut Look) -> Result<Below> {
        let known = look.below.get(tree).copied();
        let known = known.or_else(|| self.found.get(tree));
        if let Some(known) = known.filter(|known| known.levels >= levels || !known.cut) {
            return Ok(known);
        }
        let mut below = Below {
            any: false,
            cut: false,
            levels,
        };
        if look.done {
            return Ok(below);
        }
        let entries = match self.tree(tree) {
            Ok(entries) => entries,
            Err(error @ (Error::Missing { .. } | Error::Damaged { .. })) if levels < DEPTH => {
                look.beyond(error.to_string());
                return Ok(below);
            }
            Err(error) => return Err(error),
        };
        if !self.visit(&entries, look) {
            return Ok(below);
        }
        if is_package(&entries) {
            below.any = true;
        } else if levels == 0 {
            below.cut = entries.iter().any(is_way);
        } else {
            for entry in entries.iter().filter(|entry| is_way(entry)) {
                let inside = self.below(&entry.id, levels - 1, look)?;
                below.any |= inside.any;
                below.cut |= inside.cut;
            }
        }
        // What a budget cut short is not remembered: the next look may get further.
        look.below.insert(*tree, below);
        if !look.over {
            self.found.put(*tree, below, 160);
        }
        Ok(below)
    }

    fn list(&self, tree: &ObjectId, at: &str, levels: usize, look: &mut Look) -> Result<()> {
        let entries = self.tree(tree)?;
        if is_package(&entries) {
            let most = self.limits.packages;
            look.bytes += at.len();
            if look.all.found.len() as u64 >= most || look.bytes > PATHS {
                look.done = true;
                look.beyond(format!(
                    "it has more than {most} packages: those beyond are not served"
                ));
            } else {
                look.all.found.push((Dir::trusted(at), tree_id(tree)));
            }
            return Ok(());
        }
        if levels == 0 || !self.visit(&entries, look) {
            return Ok(());
        }
        for entry in entries.iter().filter(|entry| is_way(entry)) {
            if !self.below(&entry.id, levels - 1, look)?.any {
                continue;
            }
            if look.done {
                return Ok(());
            }
            let name = String::from_utf8_lossy(&entry.name);
            let slash = if at.is_empty() { "" } else { "/" };
            self.list(&entry.id, &format!("{at}{slash}{name}"), levels - 1, look)?;
        }
        Ok(())
    }
}

fn is_package(entries: &Arc<[Entry]>) -> bool {
    entries.iter().any(|e| e.is_file() && e.name == MARK)
}

/// Whether a package may lie below an entry.
fn is_way(entry: &Entry) -> bool {
    let name = std::str::from_utf8(&entry.name).ok();
    entry.is_tree()
        && name.is_some_and(|n| n.len() <= NAME && !n.contains('/') && Dir::parse(n).is_ok())
}
