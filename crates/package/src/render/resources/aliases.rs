//! What a function changed at an anchor, for the functions after it (M1).
//!
//! Functions see values, in which an alias is what it stands for; the text alone knows that it is one. So a file with aliases
//! is written between the steps, and read again. Other files are left as they are.

use std::sync::Arc;

use model::{File, PackagePath};
use yaml::owned::Value;

use super::Resources;
use crate::documents::{Document, Documents};
use crate::render::entry::Entry;
use crate::render::resource::list_items;

impl Resources {
    /// What a function changed at an anchor is what its aliases stand for: the next function reads that (M1).
    pub(super) fn follow_aliases(&mut self) {
        let aliased = self
            .parsed_files
            .iter()
            .filter(|(_, parsed)| parsed.has_aliases());
        let paths: Vec<PackagePath> = aliased.map(|(path, _)| path.clone()).collect();
        for path in paths {
            if let Some(parsed) = self.written(&path) {
                self.read_again(&path, parsed);
            }
        }
    }

    /// A file as it would be written now; `None` where it is as it was read, or not all of its documents are there.
    fn written(&self, path: &PackagePath) -> Option<Documents> {
        let parsed = self.parsed_files.get(path)?;
        let stays = self.at_origin(path);
        let items = |document: &Document| list_items(&document.value).map_or(1, <[Value]>::len);
        if stays.len() != parsed.documents().iter().map(items).sum::<usize>() {
            return None;
        }
        let now = |document| self.document(parsed, document, &stays);
        let text = parsed.rewrite(now).ok().flatten()?;
        let again = Documents::parse(path, &File::text(text)).ok()?;
        (again.documents().len() == parsed.documents().len()).then_some(again)
    }

    /// Takes the values of a file anew, where its resources stand where they stood.
    fn read_again(&mut self, path: &PackagePath, parsed: Documents) {
        let origins = |entry: &Entry| entry.origin.clone().filter(|origin| origin.path == *path);
        for entry in &mut self.entries {
            let Some(origin) = origins(entry).filter(|_| entry.is_at_origin()) else {
                continue;
            };
            let read = parsed
                .documents()
                .get(origin.document)
                .map(|document| &document.value);
            let value = match (read, origin.item) {
                (Some(read), None) => Some(read.clone()),
                (Some(read), Some(item)) => {
                    let items = list_items(read);
                    items
                        .and_then(|items| items.get(item))
                        .map(|item| Arc::new(item.clone()))
                }
                (None, _) => None,
            };
            if let Some(value) = value {
                entry.read = Some(value.clone());
                entry.weight = value.weight().0;
                entry.value = value;
            }
        }
        self.parsed_files.insert(path.clone(), parsed);
    }
}
