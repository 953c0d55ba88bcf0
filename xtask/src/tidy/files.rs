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

/// What people are told decides nothing: no line of these crates takes a hint or a decision from it.
const TELLING: [&str; 7] = [
    "crates/api/",
    "crates/apiserver/",
    "crates/engine/",
    "crates/objects/",
    "crates/objectstore/",
    "crates/offshoot/",
    "crates/plan/",
];
const MESSAGE: &str =
    "a message is for people: decide by its reason, an enum of plan, objects or store";

/// Whether a line looks into a message.
fn looks_into_a_message(line: &str) -> bool {
    let looks = [
        "contains(",
        "starts_with(",
        "ends_with(",
        "strip_prefix(",
        "find(",
    ];
    ["message().", ".message."].iter().any(|message| {
        let mut after = line.split(message).skip(1);
        after.any(|after| looks.iter().any(|look| after.starts_with(look)))
    })
}

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
    let tells = !is_test && TELLING.iter().any(|of| place.starts_with(of));
    for (number, line) in code.lines().enumerate() {
        if tells && looks_into_a_message(line) {
            let line = format!("{place}:{}", number + 1);
            findings.push(Finding::new(line, MESSAGE));
        }
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

#[cfg(test)]
mod tests {
    use super::looks_into_a_message;

    #[test]
    fn a_decision_by_a_message_is_found() {
        assert!(looks_into_a_message(
            "if why.message().contains(\"modified\") {"
        ));
        assert!(looks_into_a_message(
            "_ if refusal.message.starts_with(IN_CONFLICT) =>"
        ));
        assert!(!looks_into_a_message(
            "condition.message.push_str(&way_out);"
        ));
        assert!(!looks_into_a_message(
            "let said = line.message(); said.len()"
        ));
    }
}
