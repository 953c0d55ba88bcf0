//! The strategies that work on whole files: fast-forward, force-delete-replace, copy-merge.
//!
//! Bytes are copied, nothing is parsed but Kptfiles. A local change that a strategy replaces by its
//! nature is noted as a record that gates nothing: whoever asks for it wants that.

use std::collections::BTreeSet;

use model::{Conflict, File, Files, PackagePath};
use yaml::{Limits, Stream};

use super::file;
use super::layout::clashes;
use super::options::{MergeError, MergeOptions, Merged, Side};
use super::record::Recorder;
use super::runtime::without_runs;
use super::schemas::Schemas;
use super::sides::{FileKind, Files3, Own, Sides, is_documents, subpackages};
use crate::kptfile::{self, Edit, Kptfile};
use crate::place::inside;
use crate::values::{same_but_marks, unmarked};

/// Upstream's package, if nobody changed anything locally (M10: by bytes, or by values where the base was made up for;
/// `kpt-merge` comments, the lock and what runs left do not count), without the report of the last render.
pub(super) fn fast_forward(sides: Sides<'_>, options: &MergeOptions) -> Result<Merged, MergeError> {
    sides.check(options)?;
    let mut changed: BTreeSet<String> = BTreeSet::new();
    let packages = |files| -> BTreeSet<&str> { subpackages(files).into_keys().collect() };
    let (base, local) = (packages(sides.base), packages(sides.local));
    let lone: Vec<&str> = base.symmetric_difference(&local).copied().collect();
    // A subpackage that only one side has is told as one: its files say nothing more.
    changed.extend(lone.iter().map(|dir| format!("{dir} (Package)")));
    for path in sides.paths() {
        let [base, local, _] = sides.of(path);
        if lone.iter().any(|dir| inside(path, dir))
            || untouched(path, base, local, options.by_values)
        {
            continue;
        }
        changed.insert(path.to_string());
    }
    if changed.is_empty() {
        let local = without_report(sides.local)?;
        let sides = Sides {
            local: &local,
            ..sides
        };
        return force_delete_replace(sides, options);
    }
    Err(MergeError::LocalChanges {
        files: changed.into_iter().collect(),
    })
}

/// The files without the render report of the root's Kptfile: it tells of what a fast-forward replaces (M25).
fn without_report(files: &Files) -> Result<Files, MergeError> {
    let mut files = files.clone();
    if let Some(file) = files.get(&kptfile::path()) {
        let report = [
            Edit::SetRenderStatus(None),
            Edit::RemoveCondition("Rendered".to_owned()),
        ];
        let kptfile = Kptfile::of_file(file).map_err(|source| MergeError::ReadKptfile {
            side: Side::Local,
            source,
        })?;
        // A report that cannot be taken off where it stands is written anew by the next render.
        if let Ok(bare) = kptfile.edit(&report) {
            bare.put(&mut files);
        }
    }
    Ok(files)
}

fn untouched(
    path: &PackagePath,
    base: Option<&File>,
    local: Option<&File>,
    by_values: bool,
) -> bool {
    if base == local {
        return true;
    }
    if by_values && is_documents(path) {
        return mean_the_same(path, base, local);
    }
    let (Some(base), Some(local)) = (base, local) else {
        return false;
    };
    let (Some(old), Some(new)) = (base.as_text(), local.as_text()) else {
        return false;
    };
    if path.file_name() != kptfile::FILE_NAME {
        return base.mode() == local.mode() && unmarked(old) == unmarked(new);
    }
    bare(old, new).is_some_and(|old| Some(old) == bare(new, new))
}

/// A Kptfile's text with the name of the local one and without lock and what runs left: what is left was written by a
/// person.
fn bare(text: &str, local: &str) -> Option<String> {
    let name = Kptfile::parse(local).ok()?.fields().name.clone();
    let edits = [Edit::SetName(name), Edit::RemoveUpstream, Edit::RemoveLock];
    let bare = Kptfile::parse(text).ok()?.edit(&edits).ok()?;
    Some(unmarked(&without_runs(bare.text())?))
}

/// Whether two versions of a file hold the same documents, whatever layout and comments another tool gave them; a file
/// without a document is none.
fn mean_the_same(path: &PackagePath, base: Option<&File>, local: Option<&File>) -> bool {
    let text = |file: Option<&File>| -> Option<String> {
        let Some(file) = file else {
            return Some(String::new());
        };
        let text = file.as_text()?;
        match local.filter(|_| path.file_name() == kptfile::FILE_NAME) {
            Some(local) => bare(text, local.as_text()?),
            None => Some(text.to_owned()),
        }
    };
    let read = |file| Stream::parse(text(file)?, &Limits::default()).ok();
    let (Some(base), Some(local)) = (read(base), read(local)) else {
        return false;
    };
    let filled = |stream: &Stream| -> Vec<usize> {
        let filled = stream.documents().filter(|document| !document.is_empty());
        filled.map(|document| document.index()).collect()
    };
    let (old, new) = (filled(&base), filled(&local));
    old.len() == new.len()
        && old.iter().zip(&new).all(|(old, new)| {
            let sides = base.document(*old).zip(local.document(*new));
            sides.is_some_and(|(old, new)| same_but_marks(old.root(), new.root()))
        })
}

/// Upstream's package, whatever is local; the root's Kptfile merges, so that the package keeps its
/// own identity. Subpackages with an upstream of their own stay.
pub(super) fn force_delete_replace(
    sides: Sides<'_>,
    options: &MergeOptions,
) -> Result<Merged, MergeError> {
    sides.check(options)?;
    let remote = remote_subpackages(sides.local);
    let mut merged = Replacing::new(sides, options);
    for path in sides.paths() {
        let [base, local, upstream] = sides.of(path);
        if *path == kptfile::path() {
            merged.root_kptfile(path)?;
        } else if remote.iter().any(|dir| inside(path, dir)) {
            merged.put(path, local);
        } else {
            merged.replaced(path, [base, local, upstream]);
            merged.put(path, upstream);
        }
    }
    Ok(merged.done())
}

/// Upstream's files over the local ones; what upstream dropped goes, what is only local stays.
pub(super) fn copy_merge(sides: Sides<'_>, options: &MergeOptions) -> Result<Merged, MergeError> {
    sides.check(options)?;
    let mut merged = Replacing::new(sides, options);
    for path in sides.paths() {
        let [base, local, upstream] = sides.of(path);
        if *path == kptfile::path() {
            merged.root_kptfile(path)?;
            continue;
        }
        // What only local has stays as it is: nothing of it is replaced.
        if upstream.is_some() || base.is_some() {
            merged.replaced(path, [base, local, upstream]);
        }
        match (base, local, upstream) {
            (_, _, Some(upstream)) => merged.put(path, Some(upstream)),
            (None, local, None) => merged.put(path, local),
            (Some(_), _, None) => {}
        }
    }
    Ok(merged.done())
}

/// The directories of local subpackages that follow an upstream of their own.
fn remote_subpackages(files: &Files) -> Vec<&str> {
    let remote = subpackages(files).into_iter().filter(|(_, file)| {
        Kptfile::of_file(file).is_ok_and(|kptfile| kptfile.fields().upstream.is_some())
    });
    remote.map(|(dir, _)| dir).collect()
}

/// The result of a strategy while it is made.
struct Replacing<'f, 'o> {
    sides: Sides<'f>,
    options: &'o MergeOptions,
    files: Files,
    conflicts: Vec<Conflict>,
}

impl<'f, 'o> Replacing<'f, 'o> {
    fn new(sides: Sides<'f>, options: &'o MergeOptions) -> Self {
        Self {
            sides,
            options,
            files: Files::new(),
            conflicts: Vec::new(),
        }
    }

    fn put(&mut self, path: &PackagePath, file: Option<&File>) {
        if let Some(file) = file {
            self.files.insert(path.clone(), file.clone());
        }
    }

    /// Notes what of the local side goes, if a person made it (M10).
    fn replaced(&mut self, path: &PackagePath, sides: Files3<'_>) {
        let [base, local, upstream] = sides;
        if local == upstream || untouched(path, base, local, self.options.by_values) {
            return;
        }
        let mut record = Recorder::new(self.options, path);
        record.replaced_file(sides);
        self.conflicts.extend(record.finish());
    }

    fn root_kptfile(&mut self, path: &PackagePath) -> Result<(), MergeError> {
        let mut record = Recorder::new(self.options, path);
        let own = if self.options.own_identity {
            Own::Name
        } else {
            Own::Nothing
        };
        let kind = FileKind::Kptfile(own);
        let schemas = Schemas::new(self.sides);
        let merged = file::merge(path, kind, self.sides.of(path), &schemas, &mut record)?;
        self.conflicts.extend(record.finish());
        self.put(path, merged.as_ref());
        Ok(())
    }

    fn done(self) -> Merged {
        let Self {
            sides,
            options,
            mut files,
            mut conflicts,
        } = self;
        // What only local has stays beside upstream's files, and may stand where upstream has a file, or the other way round.
        clashes(sides, options, &mut files, &mut conflicts);
        Merged { files, conflicts }
    }
}
