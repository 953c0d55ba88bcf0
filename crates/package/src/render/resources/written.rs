//! The resources' way back into files: each that changed is written once.

use std::sync::Arc;

use model::{File, Files, PackagePath};
use yaml::owned::Value;

use super::super::entry::Entry;
use super::super::resource::list_items;
use super::Resources;
use crate::documents::{Documents, DocumentsError, Parsed, Written};

impl Resources {
    /// The files with every changed one written once, and what was written as it was parsed to be checked.
    pub(in crate::render) fn write(
        &self,
        files: &Files,
    ) -> Result<(Files, Parsed), DocumentsError> {
        let (mut out, mut known) = (files.clone(), Parsed::default());
        for (path, parsed) in &self.parsed_files {
            let Some(file) = files.get(path) else {
                continue;
            };
            let stays: Vec<&Entry> = self.at_origin(path);
            let written = parsed.written(|document| self.document(parsed, document, &stays))?;
            // A file with aliases was written between the steps already.
            let before = || Some(parsed.whole()).filter(|_| file.as_text() != Some(parsed.text()));
            let Some(written) = written.or_else(before) else {
                continue;
            };
            if stays.is_empty() && !parsed.documents().is_empty() {
                out.remove(path);
                continue;
            }
            let now = file.with_bytes(written.text().as_bytes());
            if let Written::Whole(stream) = written {
                known.note(path, &now, stream);
            }
            out.insert(path.clone(), now);
        }
        let mut strays: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|entry| !entry.is_at_origin())
            .collect();
        strays.sort_by_key(|entry| (&entry.path, entry.index.is_none(), entry.index, entry.id));
        for entry in strays {
            let Ok(path) = PackagePath::parse(&entry.path) else {
                continue;
            };
            let text = self.text(entry)?;
            let file = match out.get(&path) {
                Some(old) => old.with_bytes(appended(old, &text).into_bytes()),
                None => File::text(if path.as_str().ends_with(".json") {
                    json(&entry.value)
                } else {
                    text
                }),
            };
            out.insert(path, file);
        }
        Ok((out, known))
    }

    pub(super) fn at_origin(&self, path: &PackagePath) -> Vec<&Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.is_at_origin() && entry.path == path.as_str())
            .collect()
    }

    /// What a document says now; nothing if its resources are gone.
    pub(super) fn document(
        &self,
        parsed: &Documents,
        document: usize,
        stays: &[&Entry],
    ) -> Option<Arc<Value>> {
        let here: Vec<&&Entry> = stays
            .iter()
            .filter(|entry| entry.document() == Some(document))
            .collect();
        let read = &parsed.documents().get(document)?.value;
        let Some(items) = list_items(read) else {
            return here.first().map(|entry| entry.value.clone());
        };
        let unchanged = here.len() == items.len() && here.iter().all(|entry| entry.is_unchanged());
        if unchanged {
            return Some(read.clone());
        }
        if here.is_empty() {
            return None;
        }
        let mut list = Value::clone(read);
        let seq = list.get_mut("items").and_then(Value::as_seq_mut)?;
        *seq.items_mut() = here
            .iter()
            .map(|entry| Value::clone(&entry.value))
            .collect();
        Some(Arc::new(list))
    }

    /// The text of a resource that leaves its file, or is new: its own text where it has one.
    fn text(&self, entry: &Entry) -> Result<String, DocumentsError> {
        let own = entry.origin.as_ref().filter(|origin| origin.item.is_none());
        let Some((origin, parsed)) =
            own.and_then(|origin| Some((origin, self.parsed_files.get(&origin.path)?)))
        else {
            return Ok(yaml::owned::to_text(&entry.value));
        };
        parsed.only(origin.document, &entry.value)
    }
}

fn appended(file: &File, text: &str) -> String {
    let mut old = file.as_text().unwrap_or_default().to_owned();
    if !old.is_empty() && !old.ends_with('\n') {
        old.push('\n');
    }
    if !old.trim().is_empty() {
        old.push_str("---\n");
    }
    old + text
}

fn json(value: &Value) -> String {
    // Writing a JSON value to a string cannot fail.
    serde_json::to_string_pretty(&value.to_json()).unwrap_or_default() + "\n"
}
