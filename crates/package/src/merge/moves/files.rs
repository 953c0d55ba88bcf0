//! Files and directories under a new name: base's bytes stand at exactly one new path, and the old one is gone.

use std::collections::{BTreeMap, BTreeSet};

use model::{Files, PackagePath};

use super::super::options::MergeOptions;
use super::moved::{Moved, goes};
use crate::kptfile;
use crate::place::inside;

/// What one side renamed.
#[derive(Debug, Default)]
struct Renames {
    files: BTreeMap<PackagePath, PackagePath>,
    directories: Vec<(String, String)>,
}

/// Puts renamed files under their new names on all sides.
pub(super) fn follow(moved: &mut Moved<'_>, options: &MergeOptions) {
    let [base, local, upstream] = &moved.sides;
    let sides = [renames(base, local), renames(base, upstream)];
    if sides.iter().all(|side| side.files.is_empty()) {
        return;
    }
    let paths: BTreeSet<&PackagePath> = sides.iter().flat_map(|side| side.files.keys()).collect();
    for path in paths {
        one(moved, path, &sides, options);
    }
    // What the other side added to a directory goes along with it.
    let [local, upstream] = &sides;
    for (side, renames) in [(2, local), (1, upstream)] {
        for (from, to) in &renames.directories {
            added(moved, side, from, to);
        }
    }
}

/// One file that at least one side renamed.
fn one(moved: &mut Moved<'_>, path: &PackagePath, sides: &[Renames; 2], options: &MergeOptions) {
    let stays = |side: usize| {
        moved
            .sides
            .get(side)
            .is_some_and(|files| files.contains_key(path))
    };
    let place = |side: usize, renames: &Renames| {
        renames
            .files
            .get(path)
            .or_else(|| stays(side).then_some(path))
            .cloned()
    };
    let [local, upstream] = sides;
    let places = [Some(path.clone()), place(1, local), place(2, upstream)];
    let mut conflicts = Vec::new();
    let Some(at) = goes(
        places.each_ref().map(Option::as_ref),
        "",
        options,
        &mut conflicts,
    ) else {
        return;
    };
    let others = || {
        moved
            .sides
            .iter()
            .zip(&places)
            .filter(|(_, place)| place.as_ref() != Some(&at))
    };
    if others().any(|(files, _)| files.contains_key(&at)) {
        return; // Something else stands there: the paths decide (M16).
    }
    for (files, place) in moved.sides.iter_mut().zip(&places) {
        if let Some(place) = place.as_ref().filter(|place| **place != at)
            && let Some(file) = files.to_mut().remove(place)
        {
            files.to_mut().insert(at.clone(), file);
        }
    }
    moved.conflicts.extend(conflicts);
}

/// Files that a side has in a directory that another one renamed.
fn added(moved: &mut Moved<'_>, side: usize, from: &str, to: &str) {
    let base = &moved.sides[0];
    let new = moved
        .sides
        .get(side)
        .into_iter()
        .flat_map(|files| files.keys());
    let new = new.filter(|path| inside(path, from) && !base.contains_key(*path));
    let moves: Vec<(PackagePath, PackagePath)> = new
        .filter_map(|path| Some((path.clone(), renamed(path, from, to)?)))
        .collect();
    for (path, at) in moves {
        if let Some(files) = moved.sides.get_mut(side)
            && !files.contains_key(&at)
            && let Some(file) = files.to_mut().remove(&path)
        {
            files.to_mut().insert(at, file);
        }
    }
}

/// A path below a directory that has another name now.
fn renamed(path: &PackagePath, from: &str, to: &str) -> Option<PackagePath> {
    let rest = path.as_str().strip_prefix(from)?.strip_prefix('/')?;
    let at = if to.is_empty() {
        rest.to_owned()
    } else {
        format!("{to}/{rest}")
    };
    PackagePath::parse(&at).ok()
}

/// What a side renamed.
fn renames(base: &Files, side: &Files) -> Renames {
    let gone = base.iter().filter(|(path, _)| !side.contains_key(*path));
    // The package's own Kptfile has no other name: without it there is no package.
    let gone: Vec<_> = gone.filter(|(path, _)| **path != kptfile::path()).collect();
    if gone.is_empty() {
        return Renames::default();
    }
    let mut same: BTreeMap<&[u8], [Vec<&PackagePath>; 2]> = BTreeMap::new();
    let come = side.iter().filter(|(path, _)| !base.contains_key(*path));
    for (at, (path, file)) in gone
        .iter()
        .copied()
        .map(|f| (0, f))
        .chain(come.map(|f| (1, f)))
    {
        // Empty files are all alike, and none is another's new name.
        if !file.bytes().is_empty()
            && let Some(paths) = same.entry(file.bytes()).or_default().get_mut(at)
        {
            paths.push(path);
        }
    }
    let kptfile = |path: &PackagePath| path.file_name() == kptfile::FILE_NAME;
    let mut files: BTreeMap<PackagePath, PackagePath> = BTreeMap::new();
    for paths in same.values() {
        // Two files of the same bytes cannot be told apart: which of them went where nobody knows.
        if let ([from], [to]) = (paths[0].as_slice(), paths[1].as_slice())
            && kptfile(from) == kptfile(to)
        {
            files.insert((*from).clone(), (*to).clone());
        }
    }
    let directories = directories(base, side, &files);
    // Without its directory a Kptfile leaves what stays there to the package around it.
    let follows = |path: &PackagePath| directories.iter().any(|(dir, _)| inside(path, dir));
    files.retain(|from, _| !kptfile(from) || follows(from));
    for (from, to) in &directories {
        // A file that was edited in the renamed directory has other bytes than base: only its directory leads to it. One that was
        // deleted there on the way is missing at its new place, where whoever keeps it has it then.
        for (path, _) in gone.iter().filter(|(path, _)| inside(path, from)) {
            let at = renamed(path, from, to).filter(|at| !base.contains_key(at));
            if let Some(at) = at {
                files.entry((*path).clone()).or_insert(at);
            }
        }
    }
    Renames { files, directories }
}

/// The directories of which a side left nothing, and that all of its renamed files agree about.
fn directories(
    base: &Files,
    side: &Files,
    files: &BTreeMap<PackagePath, PackagePath>,
) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (from, to) in files {
        if all.iter().any(|(dir, _)| inside(from, dir)) {
            continue;
        }
        let agree = |(dir, at): &(&str, &str)| {
            let mut below = files.iter().filter(|(path, _)| inside(path, dir));
            below.all(|(path, new)| renamed(path, dir, at).as_ref() == Some(new))
                && base.keys().any(|path| inside(path, dir))
        };
        let outermost = candidates(from, to, side).into_iter().rev().find(agree);
        all.extend(outermost.map(|(dir, at)| (dir.to_owned(), at.to_owned())));
    }
    all
}

/// The directories that may have been renamed where a file of them was, the innermost first.
fn candidates<'p>(
    from: &'p PackagePath,
    to: &'p PackagePath,
    side: &Files,
) -> Vec<(&'p str, &'p str)> {
    let (from, to) = (from.as_str(), to.as_str());
    let pairs = from
        .rsplit('/')
        .zip(to.rsplit('/'))
        .take_while(|(a, b)| a == b);
    // From the end: as long as the names agree, what was renamed lies further out.
    let mut found = Vec::new();
    let mut length = 0;
    for (name, _) in pairs {
        length += name.len() + 1;
        let (Some(dir), at) = (
            from.len().checked_sub(length),
            to.len().saturating_sub(length),
        ) else {
            break;
        };
        let (Some(dir), Some(at)) = (from.get(..dir), to.get(..at)) else {
            break;
        };
        // A directory of which something is left was not renamed, some files left it.
        if !side.keys().any(|path| inside(path, dir)) {
            found.push((dir, at));
        }
    }
    found
}
