//! Words that are not used: figures of speech and nicknames that only this project would understand.
//!
//! GLOSSARY.md has the words that are used; CONTRIBUTING.md says why. Spare space is still "room", and time by the clock
//! "wall time": what has an ordinary meaning of its own is not listed.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::{shown, walk};
use crate::finding::Finding;

/// Each word, as a pattern of whole words or parts of names, and what to say instead.
const WORDS: &[(&str, &str)] = &[
    ("cook(s|ed|ing)?", "derive"),
    ("recook(s|ed|ing)?", "derive anew"),
    (
        "kitchens?",
        "what it is: progress, a conversation with functions",
    ),
    ("dish(es)?", "output"),
    ("blend(s|ed)?", "merge, merged"),
    ("pots?", "commits"),
    ("shel(f|ves|ve|ved|ving)", "publication, staging"),
    ("lanes?", "branch, queue"),
    ("census", "counts"),
    ("desks?", "checkout"),
    ("trials?", "candidate"),
    ("the peers?", "Porch, kpt, kube-apiserver"),
];

static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words: Vec<_> = WORDS.iter().map(|(word, _)| *word).collect();
    // Parts of names count: an underscore is no letter, a capital begins a word.
    Regex::new(&format!(r"(?i:(?:\b|_)({})(?:\b|_))", words.join("|"))).ok()
});

/// Every forbidden word in sources and documents.
pub(crate) fn check(root: &Path, sources: &[PathBuf]) -> Vec<Finding> {
    let documents = walk(root, &|path| path.extension().is_some_and(|e| e == "md"));
    let mut findings = Vec::new();
    for path in sources.iter().chain(&documents) {
        let place = shown(root, path);
        // The list itself, and what was called so when it was released.
        if place.ends_with("tidy/words.rs") || place.ends_with("CHANGELOG.md") {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        findings.extend(of(&place, &text));
    }
    findings
}

fn of(place: &str, text: &str) -> Vec<Finding> {
    let Some(word) = WORD.as_ref() else {
        return vec![Finding::new(place, "the list of words is no pattern")];
    };
    let lines = text.lines().enumerate();
    let found = lines.flat_map(|(at, line)| word.captures_iter(line).map(move |c| (at, c)));
    found
        .filter_map(|(at, captures)| {
            let said = captures.get(1)?.as_str().to_lowercase();
            let whole = |pattern: &str| Regex::new(&format!("^(?:{pattern})$"));
            let (_, better) = WORDS
                .iter()
                .find(|(pattern, _)| whole(pattern).is_ok_and(|whole| whole.is_match(&said)))?;
            let what = format!("'{said}' is not used here: say {better} (GLOSSARY.md)");
            Some(Finding::new(format!("{place}:{}", at + 1), what))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn figures_of_speech_are_found_in_names_and_sentences_alone() {
        let said = |text: &str| of("a.rs", text).len();
        assert_eq!(said("let cooked = of(the_kitchen);"), 2);
        assert_eq!(said("/// As the peer does it."), 1);
        assert_eq!(said("fn put_on_shelf() {}"), 1);
        assert_eq!(said("a cookie, a desktop, spotless; the peer's"), 1);
        assert_eq!(said("peer.send(); room for more; wall time"), 0);
    }
}
