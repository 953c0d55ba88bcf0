//! The recorded results of real implementations, held against ours, by set.
//!
//! The formats are those of the READMEs beside the vectors. A comparison is of values unless its module says otherwise.

pub mod edits;
pub mod evals;
pub mod functions;
pub mod known;
pub mod kptfile;
pub mod merge;
pub mod render;
pub mod scalars;

use std::path::Path;

use known::Checked;

/// The sets that are compared here.
pub const SETS: [&str; 6] = [
    "yaml-scalars",
    "yaml-edit",
    "kptfile",
    "merge",
    "functions",
    "render",
];

/// What running a set showed: each case, and the names of those that cannot be run here.
#[derive(Debug, Clone, Default)]
pub struct Ran {
    /// What was run.
    pub checked: Vec<Checked>,
    /// What needs a container, a network or a program that the vectors do not hold.
    pub elsewhere: Vec<String>,
}

/// Runs a set.
///
/// # Errors
/// The folder cannot be read, or is of no known set.
pub fn run(set: &str, folder: &Path) -> std::io::Result<Ran> {
    let mut ran = Ran::default();
    match set {
        "yaml-scalars" => ran.checked = scalars::check(folder)?,
        "yaml-edit" => ran.checked = edits::check(folder)?,
        "kptfile" => ran.checked = kptfile::read(folder)?.iter().map(kptfile::check).collect(),
        "merge" => {
            for folder in with(folder, &["porch-flow", "upstream"]) {
                ran.checked
                    .extend(merge::read(&folder)?.iter().map(merge::check));
            }
        }
        "functions" => {
            let mut folders: Vec<_> = std::fs::read_dir(folder)?
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.is_dir())
                .collect();
            folders.sort();
            for folder in folders {
                for case in functions::read(&folder)? {
                    if ::functions::find(&case.function).is_some() {
                        ran.checked.push(functions::run(&case));
                    } else {
                        ran.elsewhere.push(case.name);
                    }
                }
            }
        }
        "render" => {
            for folder in with(folder, &["upstream"]) {
                for case in render::read(&folder)? {
                    if render::can_run(&case) {
                        ran.checked.push(render::run(&case));
                    } else {
                        ran.elsewhere.push(case.name);
                    }
                }
            }
        }
        _ => return Err(std::io::Error::other(format!("there is no set {set:?}"))),
    }
    Ok(ran)
}

/// A folder and those below it that exist.
fn with(folder: &Path, below: &[&str]) -> Vec<std::path::PathBuf> {
    let below = below
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path.is_dir());
    [folder.to_owned()].into_iter().chain(below).collect()
}
