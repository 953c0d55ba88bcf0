//! The resource merge of whole packages: file by file, behind what moved and what became of subpackages.

use std::collections::BTreeSet;

use model::{Conflict, Files, PackagePath};

use super::options::{MergeError, MergeOptions, Merged};
use super::record::Recorder;
use super::schemas::Schemas;
use super::sides::{Sides, kind};
use super::subpackages::{self, Fate};
use super::{file, moves};
use crate::ignore::Ignore;
use crate::place::inside;

/// The resource merge.
pub(super) fn merge(sides: Sides<'_>, options: &MergeOptions) -> Result<Merged, MergeError> {
    sides.check(options)?;
    let ignored = sides.all().map(Ignore::of);
    // What stands twice is asked of the sides as they were written: with everything moved, none tells where it had it.
    let original = sides;
    let mut moved = moves::follow(sides, options, &ignored);
    let mut conflicts = std::mem::take(&mut moved.conflicts);
    let sides = moved.sides();
    let schemas = Schemas::new(sides);
    // Behind the moves: a subpackage under a new name would look deleted at the one place and new at the other.
    let whole = subpackages::fates(sides, options, &mut conflicts);
    let mut files = Files::new();
    for path in sides.paths() {
        if let Some((_, fate)) = whole.iter().rev().find(|(dir, _)| inside(path, dir)) {
            let file = match fate {
                Fate::Keep => sides.local.get(path),
                Fate::Take => sides.upstream.get(path),
                Fate::Remove => None,
            };
            files.extend(file.map(|file| (path.clone(), file.clone())));
            continue;
        }
        let kind = kind(path, options, &ignored);
        let mut record = Recorder::new(options, path);
        let merged = file::merge(path, kind, sides.of(path), &schemas, &mut record)?;
        conflicts.extend(record.finish());
        if let Some(file) = merged {
            files.insert(path.clone(), file);
        }
    }
    // Only the result can tell: every side for itself holds either the file or the directory.
    clashes(sides, options, &mut files, &mut conflicts);
    conflicts.extend(moves::stands_twice(original, &files, options, &ignored));
    let parted = moves::moved_and_edited(original, &files, options, &ignored, &conflicts);
    conflicts.extend(parted);
    Ok(Merged { files, conflicts })
}

/// A file cannot stand where a directory does: what is local stays, upstream's is recorded.
pub(super) fn clashes(
    sides: Sides<'_>,
    options: &MergeOptions,
    files: &mut Files,
    conflicts: &mut Vec<Conflict>,
) {
    let paths: Vec<PackagePath> = files.keys().cloned().collect();
    let mut without_place: BTreeSet<PackagePath> = BTreeSet::new();
    for path in &paths {
        // Paths below a directory follow it, behind those that continue its name otherwise.
        let from = format!("{path}/");
        let at = paths.partition_point(|other| other.as_str() < from.as_str());
        let below = paths
            .iter()
            .skip(at)
            .take_while(|other| other.as_str().starts_with(&from));
        let below: Vec<&PackagePath> = below.collect();
        if below.is_empty() {
            continue;
        }
        // Whichever of the two is local stays: people may have edited it, and upstream's is told.
        if sides.local.contains_key(path) {
            without_place.extend(below.into_iter().cloned());
        } else {
            without_place.insert(path.clone());
        }
    }
    tell_without_place(sides, options, &without_place, files, conflicts);
}

/// Takes files out that have no place. That is all there is to say of them: what was found in one, or about it, is not in the
/// result whatever is decided there.
pub(super) fn tell_without_place(
    sides: Sides<'_>,
    options: &MergeOptions,
    without_place: &BTreeSet<PackagePath>,
    files: &mut Files,
    conflicts: &mut Vec<Conflict>,
) {
    conflicts.retain(|conflict| !without_place.contains(&conflict.file));
    for path in without_place {
        let mut record = Recorder::new(options, path);
        record.clash(sides.of(path));
        conflicts.extend(record.finish());
        files.remove(path);
    }
}
