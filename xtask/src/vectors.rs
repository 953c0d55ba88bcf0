//! `cargo xtask vectors DIR`: the recorded results of real implementations, held against ours.
//!
//! Each room compares its own sets in its tests; here they run with the vectors at hand, and a set
//! that was skipped is a failure.

use std::path::Path;
use std::process::{Command, ExitCode};

/// The rooms that have vectors, and the sets that they compare.
const ROOMS: &[(&str, &[&str])] = &[
    ("yaml", &["yaml-scalars", "yaml-edit"]),
    ("expr", &["cel"]),
    ("package", &["kptfile", "merge", "render"]),
    ("functions", &["functions"]),
    ("apiserver", &["apiserver"]),
];

/// Runs every room's comparison with the vectors of this directory.
pub(crate) fn run(directory: &Path) -> ExitCode {
    let directory = match directory.canonicalize() {
        Ok(directory) => directory,
        Err(error) => return crate::fail(&format!("{}: {error}", directory.display())),
    };
    let mut failed = 0;
    for (room, sets) in ROOMS {
        if let Some(set) = sets.iter().find(|set| !directory.join(set).is_dir()) {
            return crate::fail(&format!("{} has no set {set}", directory.display()));
        }
        let output = Command::new("cargo")
            .args([
                "test",
                "--quiet",
                "--locked",
                "--package",
                room,
                "--test",
                "it",
                "--",
                "--nocapture",
            ])
            .env("OFFSHOOT_VECTORS", &directory)
            .current_dir(crate::root())
            .output();
        let output = match output {
            Ok(output) => output,
            Err(error) => return crate::fail(&format!("run cargo: {error}")),
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        let skipped = text.lines().any(|line| line.starts_with("skipped"));
        let verdict = match (output.status.success(), skipped) {
            (true, false) => "agree, or differ by a decision that is named",
            (true, true) => "were skipped",
            (false, _) => "differ",
        };
        crate::say(&format!("{}: {verdict}", sets.join(", ")));
        if !output.status.success() || skipped {
            crate::say(&text);
            failed += 1;
        }
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
