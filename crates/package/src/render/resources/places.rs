//! Where a function may put a resource: nowhere that no function reads, for each render would add another copy (M26).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{Files, PackagePath};

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
