//! The files that mutations have open: each parsed once and written once, however many touch it.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{File, Files, PackagePath};
use yaml::owned::Value;

use super::MutateError;
use crate::documents::{Documents, Parsed, Written};

/// A file under change.
struct OpenFile {
    parsed: Documents,
    documents: Vec<Arc<Value>>,
}

/// A package under change.
pub(super) struct OpenFiles<'f> {
    files: &'f Files,
    /// What of them was parsed already.
    parsed: &'f Parsed,
    made: BTreeMap<PackagePath, File>,
    open: BTreeMap<PackagePath, OpenFile>,
}

impl<'f> OpenFiles<'f> {
    pub(super) fn new(files: &'f Files, parsed: &'f Parsed) -> Self {
        Self {
            files,
            parsed,
            made: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// The files as they came, and those made since.
    pub(super) fn paths(&self) -> Vec<PackagePath> {
        self.files.keys().chain(self.made.keys()).cloned().collect()
    }

    fn file(&self, path: &PackagePath) -> Option<&File> {
        self.made.get(path).or_else(|| self.files.get(path))
    }

    /// Whether a file's bytes hold a text: a cheap look before parsing.
    pub(super) fn mentions(&self, path: &PackagePath, needle: &str) -> bool {
        self.open.contains_key(path)
            || self
                .file(path)
                .and_then(File::as_text)
                .is_some_and(|text| text.contains(needle))
    }

    /// The documents of a file, to be changed.
    pub(super) fn documents(
        &mut self,
        path: &PackagePath,
    ) -> Result<&mut [Arc<Value>], MutateError> {
        if !self.open.contains_key(path) {
            let file = self.file(path).ok_or(MutateError::KptfileMissing)?;
            let parsed = self.parsed.documents(path, file);
            let parsed = parsed.map_err(MutateError::File)?;
            let documents = parsed
                .documents()
                .iter()
                .map(|document| document.value.clone())
                .collect();
            self.open
                .insert(path.clone(), OpenFile { parsed, documents });
        }
        let open = self.open.get_mut(path).ok_or(MutateError::KptfileMissing)?;
        Ok(&mut open.documents)
    }

    /// The root's Kptfile, to be changed.
    pub(super) fn kptfile(&mut self) -> Result<&mut Arc<Value>, MutateError> {
        let documents = self.documents(&crate::kptfile::path())?;
        documents.first_mut().ok_or(MutateError::KptfileMissing)
    }

    /// Adds a file.
    pub(super) fn make(&mut self, path: PackagePath, file: File) {
        self.made.insert(path, file);
    }

    /// The package with every change written, and what was parsed of it.
    pub(super) fn finish(self) -> Result<(Files, Parsed), MutateError> {
        let (mut files, mut parsed) = (self.files.clone(), Parsed::default());
        files.extend(self.made);
        for (path, open) in self.open {
            let written = open.parsed.written(|at| open.documents.get(at).cloned());
            let (Some(written), Some(file)) =
                (written.map_err(MutateError::File)?, files.get(&path))
            else {
                continue;
            };
            let file = match written {
                Written::Whole(stream) => {
                    let file = file.with_bytes(stream.text().as_bytes());
                    parsed.note(&path, &file, stream);
                    file
                }
                Written::Fewer(text) => file.with_bytes(text.into_bytes()),
            };
            files.insert(path, file);
        }
        Ok((files, parsed))
    }
}
