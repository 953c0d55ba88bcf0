//! What becomes of whole subpackages: merged, added and deleted as packages of their own (M24).
//!
//! One that both sides hold merges by its files, like everything else. Here is what one side deleted.

use std::collections::BTreeMap;

use model::{Conflict, ConflictValue, Decision, File, Files, PackagePath};

use super::diff::{Difference, diff, diff_where};
use super::options::MergeOptions;
use super::record::Recorder;
use super::runtime::without_runs;
use super::sides::{Sides, subpackages};
use crate::kptfile::{self, Kptfile};
use crate::place::{identify, inside};
use crate::values::{tree_value, unmarked};

/// What becomes of a subpackage that does not merge file by file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// What is local stays, there or not there.
    Keep,
    /// It goes.
    Remove,
    /// What is upstream comes back.
    Take,
}

/// Subpackages that one side deleted, or that were led to another upstream locally.
///
/// One that upstream deletes goes if nothing in it was changed; one that was deleted locally stays away if upstream
/// left it alone. Otherwise it is a conflict. A directory that merely lost or gained its Kptfile merges by its paths (M16).
pub(super) fn fates<'f>(
    sides: Sides<'f>,
    options: &MergeOptions,
    conflicts: &mut Vec<Conflict>,
) -> BTreeMap<&'f str, Fate> {
    let mut fates: BTreeMap<&str, Fate> = BTreeMap::new();
    for (dir, file) in subpackages(sides.base) {
        // What lies in a subpackage shares its fate, and is asked about with it.
        if fates
            .keys()
            .any(|outer| dir.starts_with(&format!("{outer}/")))
        {
            continue;
        }
        let [base, local, upstream] = sides.all().map(|files| content(files, dir));
        let fate = match (local.is_empty(), upstream.is_empty()) {
            (true, true) => continue,
            (true, false) if unchanged(&base, &upstream) || same_values(&base, &upstream) => {
                Fate::Keep
            }
            (true, false) => match record(dir, [&base, &local, &upstream], options, conflicts) {
                Decision::Local => Fate::Keep,
                Decision::Upstream => Fate::Take,
            },
            (false, true) if unchanged(&base, &local) => Fate::Remove,
            (false, true) if same_values(&base, &local) => {
                // Only its form was changed: it stays, as a resource does, and nobody needs to look.
                note(dir, [&base, &local, &upstream], options, conflicts);
                Fate::Keep
            }
            (false, true) => match record(dir, [&base, &local, &upstream], options, conflicts) {
                Decision::Local => Fate::Keep,
                Decision::Upstream => Fate::Remove,
            },
            (false, false) if led_elsewhere(file, sides, dir) => Fate::Keep,
            (false, false) => continue,
        };
        fates.insert(dir, fate);
    }
    fates
}

type Content<'f> = BTreeMap<&'f PackagePath, &'f File>;

fn content<'f>(files: &'f Files, dir: &str) -> Content<'f> {
    files.iter().filter(|(path, _)| inside(path, dir)).collect()
}

/// Whether a person changed nothing: identity marks of a clone do not count.
fn unchanged(base: &Content<'_>, local: &Content<'_>) -> bool {
    base.len() == local.len()
        && base.iter().zip(local).all(|((a, old), (b, new))| {
            a == b
                && (old == new
                    || match (old.as_text(), new.as_text()) {
                        (Some(old), Some(new)) => bare(a, old) == bare(b, new),
                        _ => false,
                    })
        })
}

/// Whether two contents differ in form alone: layout, order, quotes, comments (V5), and identity marks.
fn same_values(a: &Content<'_>, b: &Content<'_>) -> bool {
    let [a, b] = [a, b].map(|content| -> Files {
        let bare = |(path, file): (&&PackagePath, &&File)| {
            let text = file.as_text().map(|text| bare(path, text));
            let file = text.map_or_else(
                || (*file).clone(),
                |text| file.with_bytes(text.into_bytes()),
            );
            ((*path).clone(), file)
        };
        content.iter().map(bare).collect()
    });
    diff(&a, &b).iter().all(Difference::is_form)
}

/// A file's text without identity marks and what runs left.
fn bare(path: &PackagePath, text: &str) -> String {
    let text = unmarked(text);
    let kptfile = path.file_name() == kptfile::FILE_NAME;
    let without = kptfile.then(|| without_runs(&text)).flatten();
    without.unwrap_or(text)
}

/// A subpackage whose own upstream was changed locally follows that one, not ours.
fn led_elsewhere(base: &File, sides: Sides<'_>, dir: &str) -> bool {
    let path = PackagePath::parse(&format!("{dir}/{}", kptfile::FILE_NAME));
    let local = path.ok().and_then(|path| sides.local.get(&path));
    let Some(local) = local.filter(|local| *local != base) else {
        return false;
    };
    let upstream = |file: &File| {
        let fields = Kptfile::of_file(file).ok()?.fields().clone();
        fields.upstream?.git
    };
    match (upstream(base), upstream(local)) {
        (Some(base), Some(local)) => base != local,
        (None, Some(_)) => true,
        _ => false,
    }
}

/// Notes a subpackage that upstream deleted, and of which nothing but the form was changed here.
fn note(
    dir: &str,
    contents: [&Content<'_>; 3],
    options: &MergeOptions,
    conflicts: &mut Vec<Conflict>,
) {
    if let Ok(path) = PackagePath::parse(&format!("{dir}/{}", kptfile::FILE_NAME)) {
        let mut record = Recorder::new(options, &path);
        record.note(contents.map(hashed), Decision::Local);
        conflicts.extend(record.finish());
    }
}

/// Records a subpackage that one side deleted as one conflict, at its Kptfile, and below it what the other side changed
/// there, field by field: that follows from the one decision (M24).
fn record(
    dir: &str,
    contents: [&Content<'_>; 3],
    options: &MergeOptions,
    conflicts: &mut Vec<Conflict>,
) -> Decision {
    let Ok(path) = PackagePath::parse(&format!("{dir}/{}", kptfile::FILE_NAME)) else {
        return Decision::Local;
    };
    let mut record = Recorder::new(options, &path);
    let decision = record.subpackage(contents.map(hashed));
    let whole = record.finish();
    let [base, local, upstream] = contents.map(files);
    let deleted = local.is_empty();
    let changed = diff_where(&base, if deleted { &upstream } else { &local }, |_| true);
    let changed = changed.into_iter().filter(|change| !change.is_form());
    for cause in whole {
        for change in changed.clone() {
            let (local, upstream) = match deleted {
                true => (ConflictValue::Absent, change.after),
                false => (change.after, ConflictValue::Absent),
            };
            let mut conflict = Conflict {
                file: change.file,
                resource: change.resource,
                path: change.path,
                base: change.before,
                local,
                upstream,
                derived_from: Some(cause.id.clone()),
                ..cause.clone()
            };
            identify(&mut conflict);
            // A difference of the Kptfile as a whole would have the place of the cause itself: one place has one conflict.
            let same = |other: &Conflict| other.place() == conflict.place();
            if !same(&cause) {
                conflicts.push(conflict);
            }
        }
        conflicts.push(cause);
    }
    decision
}

fn files(content: &Content<'_>) -> Files {
    let files = content.iter();
    files
        .map(|(path, file)| ((*path).clone(), (*file).clone()))
        .collect()
}

/// A subpackage's value in a record.
fn hashed(content: &Content<'_>) -> ConflictValue {
    tree_value(content.iter().map(|(path, file)| (*path, *file)))
}
