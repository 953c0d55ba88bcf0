//! Conflicts that nobody has to decide, because the render decides them (V4: `derived`).

use std::collections::BTreeSet;

use model::{Conflict, ConflictId, ConflictPolicy, ConflictState, Decision, Files, PackagePath};

use crate::conflicts::{derived_by_render, value_at};
use crate::kptfile::Kptfile;
use crate::merge::MergeOptions;
use crate::render::{Options, Rendered};
use crate::{context, kptfile};

use super::progress::{Halt, Progress};

/// The same merge, with the conflicts that were decided so decided the other way.
pub(super) fn otherwise(options: &MergeOptions, decided: Decision) -> MergeOptions {
    MergeOptions {
        policy: match decided {
            Decision::Upstream => ConflictPolicy::Local,
            Decision::Local => ConflictPolicy::Upstream,
        },
        ..*options
    }
}

/// The open conflicts that were decided so, and that the other merge decides otherwise.
pub(super) fn turned(
    conflicts: &[Conflict],
    other: &[Conflict],
    decided: Decision,
) -> BTreeSet<ConflictId> {
    let other: BTreeSet<&ConflictId> = other
        .iter()
        .filter(|c| c.decision != decided)
        .map(|c| &c.id)
        .collect();
    conflicts
        .iter()
        .filter(|c| c.blocks() && c.decision == decided && other.contains(&c.id))
        .map(|c| c.id.clone())
        .collect()
}

/// Marks those of the conflicts that stand at fields which the render writes whatever is decided there.
///
/// `merged` is what was rendered into `rendered`; `other` is the same with these conflicts decided the other way.
/// The other way is rendered for two groups of files apart: those that configure functions, whose conflicts are
/// causes, and the rest.
pub(super) fn mark(
    progress: &mut Progress,
    conflicts: &mut [Conflict],
    turned: &BTreeSet<ConflictId>,
    (merged, rendered, other): (&Files, &Files, &Files),
) -> Result<(), Halt> {
    let configuring = configuring_files(merged);
    let is_open = |conflict: &&Conflict| turned.contains(&conflict.id);
    let is_cause = |conflict: &Conflict| configuring.contains(&conflict.file);
    let causes: Vec<ConflictId> = conflicts
        .iter()
        .filter(is_open)
        .filter(|c| is_cause(c))
        .map(|c| c.id.clone())
        .collect();
    let others = conflicts.iter().filter(is_open).any(|c| !is_cause(c));
    if !others {
        return Ok(());
    }
    let otherwise = swapped(merged, other, |path| !configuring.contains(path));
    let otherwise = render(progress, &otherwise)?;
    let by_render = |conflict: &Conflict| {
        otherwise.status.succeeded()
            && value_at(&otherwise.files, conflict) == value_at(rendered, conflict)
    };
    let mut written: Vec<Conflict> = Vec::new();
    for conflict in conflicts.iter().filter(is_open) {
        if !is_cause(conflict) && by_render(conflict) {
            written.push(conflict.clone());
        }
    }
    if written.is_empty() {
        return Ok(());
    }
    if !causes.is_empty() {
        let otherwise = swapped(merged, other, |path| configuring.contains(path));
        let otherwise = render(progress, &otherwise)?;
        if otherwise.status.succeeded() {
            derived_by_render(&mut written, &causes, rendered, &otherwise.files);
        }
    }
    for conflict in conflicts {
        if let Some(found) = written.iter().find(|found| found.id == conflict.id) {
            conflict.derived_from.clone_from(&found.derived_from);
            if conflict.derived_from.is_none() {
                conflict.state = ConflictState::Recorded;
            }
        }
    }
    Ok(())
}

fn render(progress: &mut Progress, files: &Files) -> Result<Rendered, Halt> {
    progress.render(
        files,
        Options {
            without_status: true,
            ..Options::default()
        },
    )
}

/// The package with some files as another one has them.
fn swapped(files: &Files, other: &Files, takes: impl Fn(&PackagePath) -> bool) -> Files {
    let kept = files.iter().filter(|(path, _)| !takes(path));
    let taken = other.iter().filter(|(path, _)| takes(path));
    kept.chain(taken)
        .map(|(path, file)| (path.clone(), file.clone()))
        .collect()
}

/// The files that say what functions do: Kptfiles, the package context, and what a `configPath` names.
fn configuring_files(files: &Files) -> BTreeSet<PackagePath> {
    let mut all: BTreeSet<PackagePath> = context::find(files)
        .map(|(path, _)| path)
        .into_iter()
        .collect();
    for (path, file) in files
        .iter()
        .filter(|(path, _)| path.file_name() == kptfile::FILE_NAME)
    {
        all.insert(path.clone());
        let Ok(kptfile) = Kptfile::of_file(file) else {
            continue;
        };
        let pipeline = &kptfile.fields().pipeline;
        let functions = pipeline.mutators.iter().chain(&pipeline.validators);
        for config in functions.filter_map(|function| function.config_path.as_deref()) {
            let clean = kptfile::clean_config_path(config).unwrap_or_default();
            let dir = path.dir();
            let full = if dir.is_empty() {
                clean
            } else {
                format!("{dir}/{clean}")
            };
            all.extend(PackagePath::parse(&full));
        }
    }
    all
}
