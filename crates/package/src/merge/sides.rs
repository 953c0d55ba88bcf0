//! The three packages of a merge, and what their paths say.

use std::collections::{BTreeMap, BTreeSet};

use model::{File, Files, PackagePath};

use super::options::{MergeError, MergeOptions, Side};
use crate::ignore::Ignore;
use crate::kptfile::{self, Kptfile, ReadError};

/// The three sides of a merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides<'f> {
    pub(super) base: &'f Files,
    pub(super) local: &'f Files,
    pub(super) upstream: &'f Files,
}

impl<'f> Sides<'f> {
    pub(super) fn all(self) -> [&'f Files; 3] {
        [self.base, self.local, self.upstream]
    }

    pub(super) fn of(self, path: &PackagePath) -> Files3<'f> {
        self.all().map(|files| files.get(path))
    }

    /// Every path of any side, in order.
    pub(super) fn paths(self) -> BTreeSet<&'f PackagePath> {
        self.all()
            .into_iter()
            .flat_map(|files| files.keys())
            .collect()
    }

    /// M5: each side has a Kptfile that can be read; one that several sides share is read once.
    pub(super) fn check(self, options: &MergeOptions) -> Result<(), MergeError> {
        let sides = [Side::Base, Side::Local, Side::Upstream];
        let mut read: Vec<&File> = Vec::new();
        for (side, files) in sides.into_iter().zip(self.all()) {
            let Some(file) = files.get(&kptfile::path()) else {
                if options.need_kptfile {
                    let source = ReadError::Missing;
                    return Err(MergeError::ReadKptfile { side, source });
                }
                continue;
            };
            if !read.contains(&file) {
                Kptfile::of_file(file)
                    .map_err(|source| MergeError::ReadKptfile { side, source })?;
                read.push(file);
            }
        }
        Ok(())
    }
}

/// The three sides of one file.
pub(super) type Files3<'f> = [Option<&'f File>; 3];

/// What a file is, which decides how it merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// The root's Kptfile, or a subpackage's.
    Kptfile(Own),
    /// Resources.
    Yaml,
    /// Everything else: bytes.
    Bytes,
}

/// What of a Kptfile stays local whatever upstream says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// Nothing: every field merges.
    Nothing,
    /// Name and namespace.
    Name,
    /// Name and namespace, upstream and lock.
    Identity,
}

/// What a path is.
pub(super) fn kind(path: &PackagePath, options: &MergeOptions, ignored: &[Ignore; 3]) -> FileKind {
    let name = path.file_name();
    if name == kptfile::FILE_NAME {
        let own = options.own_identity && path.dir().is_empty();
        return FileKind::Kptfile(if own { Own::Identity } else { Own::Nothing });
    }
    let yaml = name.ends_with(".yaml") || name.ends_with(".yml");
    // An ignored file is no resource: it merges as bytes (M7, M16).
    if yaml && !ignored.iter().any(|ignore| ignore.matches(path)) {
        FileKind::Yaml
    } else {
        FileKind::Bytes
    }
}

/// Whether a file is read as documents, by its name.
pub(super) fn is_documents(path: &PackagePath) -> bool {
    let name = path.file_name();
    name == kptfile::FILE_NAME || name.ends_with(".yaml") || name.ends_with(".yml")
}

/// The directories of a package's subpackages, with whether they follow an upstream of their own.
pub(super) fn subpackages(files: &Files) -> BTreeMap<&str, &File> {
    files
        .iter()
        .filter(|(path, _)| path.file_name() == kptfile::FILE_NAME && !path.dir().is_empty())
        .map(|(path, file)| (path.dir(), file))
        .collect()
}
