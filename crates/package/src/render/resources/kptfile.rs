//! The root's Kptfile among the resources of a render. This never looks at those of subpackages.

use std::sync::Arc;

use yaml::owned::Value;

use super::super::entry::Entry;
use super::Resources;

impl Resources {
    /// The root's Kptfile, if functions see it and left it where it was.
    pub(in crate::render) fn kptfile(&self) -> Option<&Arc<Value>> {
        let is_it =
            |entry: &&Entry| entry.path == crate::kptfile::FILE_NAME && entry.is_at_origin();
        self.entries.iter().find(is_it).map(|entry| &entry.value)
    }

    /// Makes the root's Kptfile say this, where there is something to say.
    pub(in crate::render) fn put_kptfile(&mut self, value: Option<Arc<Value>>) {
        if let (Some(value), Some(place)) = (value, self.kptfile_mut()) {
            *place = value;
        }
    }

    fn kptfile_mut(&mut self) -> Option<&mut Arc<Value>> {
        let is_it =
            |entry: &&mut Entry| entry.path == crate::kptfile::FILE_NAME && entry.is_at_origin();
        self.entries
            .iter_mut()
            .find(is_it)
            .map(|entry| &mut entry.value)
    }
}
