//! Comparing packages without what runs leave in them (M12, V8).

use std::collections::BTreeSet;

use model::Files;

use crate::documents::Parsed;
use crate::kptfile::{self, Kptfile};
use crate::merge::without_runtime;
use crate::mutate::points_of;

use super::DeriveError;

/// The condition types of the injection points of some packages; one that cannot be read has none to tell.
pub(super) fn point_conditions(packages: &[&Files], parsed: &Parsed) -> Vec<String> {
    // Most of a fleet is published as the machine made it: what is one package is read once.
    let first = |at: usize, files: &Files| packages.iter().take(at).all(|known| **known != *files);
    let packages = packages.iter().enumerate();
    let points = packages
        .filter(|(at, files)| first(*at, files))
        .map(|(_, files)| files)
        .filter_map(|files| points_of(files, parsed).ok())
        .flatten();
    let kinds: BTreeSet<String> = points.map(|point| point.condition_type()).collect();
    kinds.into_iter().collect()
}

/// A package without run-time conditions and `offshoot.dev/` gates.
pub(super) fn bare(files: &Files, kinds: &[String]) -> Result<Files, DeriveError> {
    without_runtime(files, kinds).map_err(DeriveError::Kptfile)
}

/// A package without the readiness gates that the machine added: they follow their points, not a merge (V8).
pub(super) fn without_gates(files: Files, gates: &[String]) -> Result<Files, DeriveError> {
    if gates.is_empty() {
        return Ok(files);
    }
    let Ok(kptfile) = Kptfile::of_files(&files) else {
        return Ok(files);
    };
    let edits: Vec<_> = gates
        .iter()
        .cloned()
        .map(kptfile::Edit::RemoveGate)
        .collect();
    let mut files = files;
    kptfile
        .edit_into(&edits, &mut files)
        .map_err(DeriveError::Kptfile)?;
    Ok(files)
}

/// Whether two packages are the same but for what runs leave in them.
pub(super) fn alike(a: &Files, b: &Files, kinds: &[String]) -> Result<bool, DeriveError> {
    if a == b {
        return Ok(true);
    }
    if !others_equal(a, b) {
        return Ok(false);
    }
    Ok(bare(a, kinds)? == bare(b, kinds)?)
}

/// Whether two packages are the same but for what a render notes in the Kptfile.
pub(super) fn alike_but_status(a: &Files, b: &Files) -> bool {
    let path = kptfile::path();
    let bare = |files: &Files| {
        let kptfile = Kptfile::of_files(files).ok()?.without_render().ok()?;
        Some(kptfile.text().to_owned())
    };
    others_equal(a, b) && (a.get(&path) == b.get(&path) || bare(a) == bare(b))
}

/// Whether all files but the root's Kptfile are equal.
fn others_equal(a: &Files, b: &Files) -> bool {
    let path = kptfile::path();
    let others = |files: &Files| files.len() - usize::from(files.contains_key(&path));
    others(a) == others(b)
        && a.iter()
            .filter(|(p, _)| **p != path)
            .all(|(p, file)| b.get(p) == Some(file))
}
