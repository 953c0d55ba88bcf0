//! What the compiler and clippy cannot see, as a check: each finding names its file and the rule.
//!
//! ARCHITECTURE.md lists the rules as invariants, CONTRIBUTING.md says how to keep them.

mod arrows;
mod circles;
mod decisions;
mod docs;
mod files;
mod modules;
mod order;
mod public;
mod words;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs every check and prints what it found.
pub(crate) fn run(root: &Path) -> ExitCode {
    let mut findings = Vec::new();
    let sources = walk(root, &|path| path.extension().is_some_and(|e| e == "rs"));
    findings.extend(arrows::check(root));
    findings.extend(circles::check(root));
    findings.extend(order::check(root));
    findings.extend(public::check(root));
    findings.extend(files::check(root, &sources));
    findings.extend(docs::check(root));
    findings.extend(words::check(root, &sources));
    findings.extend(decisions::check(root));
    findings.extend(crate::requirements::check(root));
    findings.extend(crate::mutate::check(root));
    let mut out = std::io::stdout().lock();
    for finding in &findings {
        if writeln!(out, "{}: {}", finding.place, finding.what).is_err() {
            return ExitCode::FAILURE;
        }
    }
    let verdict = writeln!(
        out,
        "tidy: {} files, {} findings",
        sources.len(),
        findings.len()
    );
    if findings.is_empty() && verdict.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Files below the root that a test accepts, sorted, without build output and hidden directories.
pub(crate) fn walk(root: &Path, accept: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        let entries = std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let path = entry.path();
            let name = entry.file_name();
            let hidden = name.to_string_lossy().starts_with('.');
            if path.is_dir() {
                if !hidden && name != "target" && name != "testdata" && name != "corpus" {
                    waiting.push(path);
                }
            } else if accept(&path) {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

/// A path as findings show it.
pub(crate) fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}
