//! Where a function may put a resource: nowhere that no function reads, for each render would add another copy (M26), and under
//! no name that differs from another one in case alone (X1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{Files, PackagePath};

use super::Resources;
use crate::documents::Documents;
use crate::ignore::Ignore;
use crate::render::resource::is_resource_file;

/// The files beside those that functions read.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    ignore: Arc<Ignore>,
    /// What is there, and read by no function.
    unread: Arc<BTreeSet<PackagePath>>,
}

impl Places {
    pub(super) fn of(
        files: &Files,
        ignore: Ignore,
        parsed: &BTreeMap<PackagePath, Documents>,
    ) -> Self {
        let unread = files.keys().filter(|path| !parsed.contains_key(*path));
        Self {
            unread: Arc::new(unread.cloned().collect()),
            ignore: Arc::new(ignore),
        }
    }

    /// Refuses a place from which nothing is read.
    ///
    /// # Errors
    /// It names the file, and the way out.
    pub(super) fn is_read(&self, path: &str) -> Result<(), String> {
        let Ok(path) = PackagePath::parse(path) else {
            return Ok(());
        };
        let (why, way) = if self.ignore.matches(&path) {
            (
                ".krmignore leaves the file out",
                "take its pattern out of .krmignore, or name another file",
            )
        } else if !is_resource_file(&path) || self.unread.contains(&path) {
            (
                "no resources are read from there",
                "name a file that holds resources (.yaml, .yml or .json)",
            )
        } else {
            return Ok(());
        };
        Err(format!(
            "function must not put a resource into {:?}: {why}, so that each render would add another copy; {way}",
            path.as_str()
        ))
    }
}

impl Resources {
    /// Refuses names that differ from another one in case alone, of those that a step gave.
    ///
    /// # Errors
    /// It names both.
    pub(super) fn differ(&self, placed: &BTreeSet<String>) -> Result<(), String> {
        if placed.is_empty() {
            return Ok(());
        }
        let empty = self
            .parsed_files
            .iter()
            .filter(|(_, parsed)| parsed.documents().is_empty());
        let empty = empty.map(|(path, _)| path.as_str());
        let unread = self.places.unread.iter().map(PackagePath::as_str);
        let held = self.entries.iter().map(|entry| entry.path.as_str());
        let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for path in empty.chain(unread).chain(held) {
            names.entry(path.to_lowercase()).or_default().insert(path);
        }
        for path in placed {
            let alike = names.get(&path.to_lowercase()).into_iter().flatten();
            if let Some(other) = alike.copied().find(|other| *other != path.as_str()) {
                return Err(format!(
                    "function must not put a resource into {path:?}: it differs from {other:?} in case alone; name one file for both"
                ));
            }
        }
        Ok(())
    }
}
