//! Sizes, module docs, and words that do not belong into sources.

use std::path::{Path, PathBuf};

use super::shown;
use crate::finding::Finding;

/// Lines of a file, tests included.
const LONGEST: usize = 500;

/// What no line may hold, where (a crate's path or everywhere), and why.
const WORDS: &[(&str, &str)] = &[
    ("#[allow(", "exceptions are #[expect(…, reason = …)]"),
    ("todo!(", "nothing is left to do in a commit"),
    ("unimplemented!(", "nothing is left to do in a commit"),
    ("TODO", "nothing is left to do in a commit"),
    ("FIXME", "nothing is left to do in a commit"),
];

/// Everything that is wrong with single files.
pub(crate) fn check(root: &Path, sources: &[PathBuf]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in sources {
        let place = shown(root, path);
        match std::fs::read_to_string(path) {
            Ok(text) => check_file(&place, &text, &mut findings),
            Err(error) => findings.push(Finding::new(place, format!("cannot be read: {error}"))),
        }
    }
    findings
}

fn check_file(place: &str, text: &str, findings: &mut Vec<Finding>) {
    let is_test =
        place.contains("/tests/") || place.ends_with("tests.rs") || place.contains("/benches/");
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
    if !first.is_some_and(|line| line.starts_with("//!")) && !is_test {
        findings.push(Finding::new(
            place,
            "opens without //!: say what the module is for",
        ));
    }
    let code = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let lines = text.lines().count();
    if lines > LONGEST {
        findings.push(Finding::new(
            place,
            format!("{lines} lines: at most {LONGEST}"),
        ));
    }
    for (number, line) in code.lines().enumerate() {
        if !place.starts_with("xtask/") {
            for (word, why) in WORDS.iter().filter(|(word, _)| line.contains(word)) {
                findings.push(Finding::new(
                    format!("{place}:{}", number + 1),
                    format!("{word}: {why}"),
                ));
            }
        }
    }
}
