//! What stands in a package and is no file: links, submodules, names that nobody reads. It is carried along by its id, and no
//! file takes its place. Says where a file has none; never what stands there.

use std::collections::BTreeSet;

use model::{Files, PackagePath};

use super::layout::tell_without_place;
use super::options::{MergeOptions, Merged};
use super::sides::Sides;

/// Paths at which no file can stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occupied {
    paths: BTreeSet<String>,
    /// The directories above them.
    above: BTreeSet<String>,
}

impl Occupied {
    /// What stands at these paths, inside the package.
    pub fn new(paths: impl IntoIterator<Item = String>) -> Self {
        let paths: BTreeSet<String> = paths.into_iter().collect();
        let above = paths.iter().flat_map(|path| directories(path));
        let above = above.map(str::to_owned).collect();
        Self { paths, above }
    }

    /// Whether something can stand at a path: at none of these, nor below one of them, nor where a directory of theirs is.
    pub fn leaves_room_at(&self, path: &str) -> bool {
        let taken = self.paths.contains(path) || self.above.contains(path);
        !taken && !directories(path).any(|dir| self.paths.contains(dir))
    }

    /// A base without the files in whose place upstream has what is no file: that cannot be taken along, and nobody took the file
    /// away. `None` where there are none such.
    pub fn unknown_in(&self, base: &Files, upstream: &Files) -> Option<Files> {
        if self.paths.is_empty() {
            return None;
        }
        let is_known =
            |path: &PackagePath| self.leaves_room_at(path.as_str()) || upstream.contains_key(path);
        if base.keys().all(is_known) {
            return None;
        }
        let known = base.iter().filter(|(path, _)| is_known(path));
        Some(
            known
                .map(|(path, file)| (path.clone(), file.clone()))
                .collect(),
        )
    }

    pub(crate) fn leaves_room_for(&self, files: &Files) -> bool {
        self.paths.is_empty() || files.keys().all(|path| self.leaves_room_at(path.as_str()))
    }
}

/// The directories that a path lies in, the outermost first.
fn directories(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(end, _)| end);
    ends.filter_map(|end| path.get(..end))
}

impl Merged {
    /// Takes out what has no place beside what stands in the local package and is no file: that stays, and upstream's file is a
    /// conflict, as where a directory stands (M16).
    pub fn beside(
        &mut self,
        occupied: &Occupied,
        [base, local, upstream]: [&Files; 3],
        options: &MergeOptions,
    ) {
        let has_none = |path: &&PackagePath| !occupied.leaves_room_at(path.as_str());
        let without_place: BTreeSet<PackagePath> =
            self.files.keys().filter(has_none).cloned().collect();
        if without_place.is_empty() {
            return;
        }
        let sides = Sides {
            base,
            local,
            upstream,
        };
        let (files, conflicts) = (&mut self.files, &mut self.conflicts);
        tell_without_place(sides, options, &without_place, files, conflicts);
        crate::place::sort(conflicts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stands_at_an_occupied_path_below_it_or_where_its_directory_is() {
        let occupied = Occupied::new(["conf/link".to_owned(), "module".to_owned()]);
        for taken in ["conf/link", "conf/link/x", "conf", "module", "module/a/b"] {
            assert!(!occupied.leaves_room_at(taken), "{taken}");
        }
        for free in [
            "conf/other",
            "conf/link.yaml",
            "con",
            "modules",
            "other/conf",
        ] {
            assert!(occupied.leaves_room_at(free), "{free}");
        }
    }
}
