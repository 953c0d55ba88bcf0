//! Where packages are: directories with a `Kptfile`. The name of that file is all we know of them.
//!
//! A few objects may name each other so often that they are billions of paths: what one look visits has a budget, each
//! tree is checked once however often it is named, and what is beyond is said (X9).

use std::collections::HashMap;

use gix::ObjectId;
use gix::objs::Kind;
use model::TreeId;

use super::RepoReader;
use super::caches::Below;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::object::{Oid as _, TREE, is_file, next_entry, tree_id};
use crate::{Dir, Packages};

const MARK: &[u8] = b"Kptfile";
/// How many levels below the directory of the repository packages are looked for: no package's name has more.
const DEPTH: usize = 64;
/// Bytes that all paths of one look may have.
const PATHS: usize = 16 << 20;
/// The longest name of a directory that may be on the way to a package.
const NAME: usize = 255;
/// A directory of this many entries counts for one more.
const LARGE: u64 = 100;

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

impl<D: Disk> RepoReader<D> {
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
        // First whether there is any, by trees and not by paths: a tree that stands in many places is looked into once.
        if self.below(&top, DEPTH, &mut look)?.any {
            self.list(&top, "", DEPTH, &mut look)?;
        }
        look.all.found.sort();
        Ok(look.all)
    }

    /// The tree of one package, as [`RepoReader::find_packages`] would name it.
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
            let directory = self.directory(&tree)?;
            match (directory.is_package, left.pop()) {
                (true, None) => return Ok(Some(tree_id(&tree))),
                (false, Some(name)) => {
                    let next = directory.ways.iter().find(|(n, _)| n == name);
                    let Some((_, next)) = next else {
                        return Ok(None);
                    };
                    tree = *next;
                }
                // What lies inside a package is its content.
                _ => return Ok(None),
            }
        }
    }

    /// What matters of a directory; entries that cannot lead to a package are only counted.
    fn directory(&self, id: &ObjectId) -> Result<Directory> {
        let raw = self.read_as(id, Kind::Tree)?;
        let mut found = Directory::default();
        let mut rest = &*raw;
        while !rest.is_empty() {
            let (entry, after) = next_entry(rest).ok_or_else(|| Error::Damaged {
                id: id.to_string(),
                why: "it is no tree".to_owned(),
            })?;
            rest = after;
            found.entries += 1;
            found.is_package |= is_file(entry.mode) && entry.name == MARK;
            if let Some(name) = way(entry.name).filter(|_| entry.mode == TREE) {
                found.ways.push((name.to_owned(), entry.id));
            }
        }
        Ok(found)
    }

    /// Counts a directory, the larger ones for more; whether it is within the budget.
    fn visit(&self, directory: &Directory, look: &mut Look) -> bool {
        let most = self.limits.visits;
        look.visits += 1 + directory.entries / LARGE;
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
        let directory = match self.directory(tree) {
            Ok(directory) => directory,
            Err(
                error @ (Error::Missing { .. } | Error::Damaged { .. } | Error::TooLarge { .. }),
            ) if levels < DEPTH => {
                look.beyond(error.to_string());
                return Ok(below);
            }
            Err(error) => return Err(error),
        };
        if !self.visit(&directory, look) {
            return Ok(below);
        }
        if directory.is_package {
            below.any = true;
        } else if levels == 0 {
            below.cut = !directory.ways.is_empty();
        } else {
            for (_, id) in &directory.ways {
                let inside = self.below(id, levels - 1, look)?;
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
        let directory = self.directory(tree)?;
        if directory.is_package {
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
        if levels == 0 || !self.visit(&directory, look) {
            return Ok(());
        }
        for (name, id) in &directory.ways {
            if !self.below(id, levels - 1, look)?.any {
                continue;
            }
            if look.done {
                return Ok(());
            }
            let slash = if at.is_empty() { "" } else { "/" };
            self.list(id, &format!("{at}{slash}{name}"), levels - 1, look)?;
        }
        Ok(())
    }
}

/// What matters of a directory when packages are looked for.
#[derive(Debug, Default)]
struct Directory {
    is_package: bool,
    /// The directories in it that a package may lie below.
    ways: Vec<(String, ObjectId)>,
    entries: u64,
}

/// The name of a directory, if a package may lie below it.
fn way(name: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(name).ok()?;
    (name.len() <= NAME && !name.contains('/') && Dir::parse(name).is_ok()).then_some(name)
}
