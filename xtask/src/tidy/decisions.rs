//! Codes of decisions and names of documents lead to something that is in the repository.
//!
//! A code such as `V17` in a comment, a document or at the beginning of a message of a test has an entry in
//! docs/decisions.md, and every entry there is named somewhere. Which letters are codes is what the entries
//! say: requirements (R), invariants (I) and the words of other fields (`RFC`, `UTF8`) are none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::parts::{PartKind, parts};
use super::{shown, walk};
use crate::finding::Finding;

mod parts;

/// Where the entries stand.
const ENTRIES: &str = "docs/decisions.md";

/// What comments and documents called texts that are not here, and what to do instead.
const OUTSIDE: &[(&str, &str)] = &[
    ("models:", "say the rule in words"),
    ("rel:", "say the rule in words"),
    (
        "§",
        "name a section by its title, in a document that is here",
    ),
    (
        "../shared",
        "what stands beside the repository is nobody else's",
    ),
];

/// Files that may name a place beside the repository: their tests run there and say so where it is missing.
const BESIDE: &[(&str, &str)] = &[
    (
        "crates/functions/tests/it/main.rs",
        "recorded cases, else the copies below testdata",
    ),
    (
        "crates/package/tests/it/main.rs",
        "recorded cases, else the copies below testdata",
    ),
    (
        "crates/offshoot/tests/it/porch/mod.rs",
        "inputs of a record, or OFFSHOOT_OBSERVED",
    ),
    (
        "crates/offshoot/tests/it/porch/world.rs",
        "inputs of a record, or OFFSHOOT_OBSERVED",
    ),
    (
        "crates/offshoot/tests/it/porchctl/mod.rs",
        "transcripts, or OFFSHOOT_OBSERVED",
    ),
    (
        "crates/offshoot/tests/it/requests/mod.rs",
        "recorded requests, or OFFSHOOT_PORCHCTL",
    ),
];

/// Everything that leads nowhere.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let (entries, mut findings) = entries(&read(&root.join(ENTRIES)));
    let mut files = walk(root, &|path| {
        let kind = path.extension().and_then(|e| e.to_str());
        kind.is_some_and(|kind| ["rs", "toml", "md"].contains(&kind))
    });
    let cases = root.join("crates/plan/testdata");
    files.extend(walk(&cases, &|path| path.ends_with("world.yaml")));
    let documents = documents(root, &files);
    let mut named = BTreeSet::new();
    for path in &files {
        let place = shown(root, path);
        // This crate's own files hold examples of what must not be.
        if place.starts_with("xtask/src/tidy/decisions") {
            continue;
        }
        let text = read(path);
        for said in said(&place, &text) {
            let at = format!("{place}:{}", said.line);
            for code in codes(&said, &entries) {
                if !entries.contains_key(code) {
                    let what = format!("{code} has no entry in {ENTRIES}");
                    findings.push(Finding::new(&at, what));
                } else if place != ENTRIES {
                    named.insert(code.to_owned());
                }
            }
            let outside = outside(&place, &said, &documents);
            findings.extend(outside.into_iter().map(|what| Finding::new(&at, what)));
        }
    }
    findings.extend(idle(&entries, &named));
    findings.extend(BESIDE.iter().filter_map(|(place, _)| unused(root, place)));
    findings
}

/// A piece of a file that people read, without what is code.
#[derive(Debug, Clone, Copy)]
struct Said<'a> {
    line: usize,
    kind: PartKind,
    text: &'a str,
}

fn said<'a>(place: &str, text: &'a str) -> Vec<Said<'a>> {
    let whole = |(number, text)| Said {
        line: number + 1,
        kind: PartKind::Comment,
        text,
    };
    if place.ends_with(".yaml") {
        let lines = text.lines().enumerate();
        return lines
            .filter(|(_, line)| line.starts_with('#'))
            .map(whole)
            .collect();
    }
    if !place.ends_with(".rs") {
        return text.lines().enumerate().map(whole).collect();
    }
    let lines = parts(text).into_iter().flat_map(|part| {
        let lines = part.text.lines().enumerate();
        lines.map(move |(number, text)| Said {
            line: part.line + number,
            kind: part.kind,
            text,
        })
    });
    lines.collect()
}

/// The entries by code, with their lines, and what is wrong with them.
fn entries(text: &str) -> (BTreeMap<String, usize>, Vec<Finding>) {
    let mut entries = BTreeMap::new();
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(heading) = line.strip_prefix("### ") else {
            continue;
        };
        let at = format!("{ENTRIES}:{}", number + 1);
        let (code, words) = heading.split_once(' ').unwrap_or((heading, ""));
        if !is_code(code) || words.trim().is_empty() {
            findings.push(Finding::new(&at, "is no code with words that say its rule"));
        } else if entries.insert(code.to_owned(), number + 1).is_some() {
            findings.push(Finding::new(&at, format!("{code} has two entries")));
        }
    }
    (entries, findings)
}

fn idle(entries: &BTreeMap<String, usize>, named: &BTreeSet<String>) -> Vec<Finding> {
    let idle = entries.iter().filter(|(code, _)| !named.contains(*code));
    idle.map(|(code, line)| {
        Finding::new(
            format!("{ENTRIES}:{line}"),
            format!("{code} is named by no code, test or other document: it goes, or is named where it holds"),
        )
    })
    .collect()
}

/// A capital letter, one or two digits, perhaps a small letter.
fn is_code(word: &str) -> bool {
    let tail = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let digits = tail.trim_end_matches(|c: char| c.is_ascii_lowercase());
    word.len() - tail.len() == 1
        && (1..=2).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
        && tail.len() - digits.len() <= 1
}

/// The codes that a text names, of the letters that entries have.
fn codes<'a>(said: &Said<'a>, entries: &BTreeMap<String, usize>) -> Vec<&'a str> {
    let ours = |word: &str| {
        let letter = word.get(..1);
        is_code(word) && entries.keys().any(|code| code.get(..1) == letter)
    };
    let all = |text: &'a str| -> Vec<&'a str> {
        let mut found = Vec::new();
        for (at, word) in words(text) {
            let before = text.get(..at).and_then(|t| t.chars().next_back());
            // A path, a value of code, a part of a longer name.
            if !before.is_some_and(|c| ":./-{\\".contains(c)) && ours(word) {
                found.push(word);
            }
        }
        found
    };
    match said.kind {
        PartKind::Comment => all(said.text),
        // Of a message: what stands before its colon, or alone in parentheses.
        PartKind::Text => {
            let inner = said.text.trim_start_matches(['r', '#', '"']);
            let head = inner.split_once(": ").map(|(head, _)| head);
            let asides = said.text.split('(').skip(1);
            let asides = asides.filter_map(|aside| aside.split_once(')').map(|(text, _)| text));
            let alone = |text: &&'a str| text.split(", ").all(&ours);
            head.into_iter()
                .chain(asides)
                .filter(alone)
                .flat_map(all)
                .collect()
        }
    }
}

/// Words with the byte at which each begins.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    text.split_inclusive(move |c| !is_word(c))
        .map(move |piece| {
            let begin = at;
            at += piece.len();
            (begin, piece.trim_end_matches(|c| !is_word(c)))
        })
}

/// All documents of the repository, by their paths.
fn documents(root: &Path, files: &[PathBuf]) -> Vec<String> {
    let documents = files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "md"));
    documents.map(|file| shown(root, file)).collect()
}

/// What of a text leads to something that is not here.
fn outside(place: &str, said: &Said<'_>, documents: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (mark, instead) in OUTSIDE {
        let beside = *mark == "../shared";
        let allowed = beside && BESIDE.iter().any(|(file, _)| *file == place);
        let counts = said.kind == PartKind::Comment || beside;
        if counts && !allowed && stands(said.text, mark) {
            found.push(format!("{mark} leads out of the repository: {instead}"));
        }
    }
    if said.kind == PartKind::Comment {
        let missing = named_documents(said.text).filter(|name| !is_here(name, documents));
        found.extend(missing.map(|name| format!("{name} is not in the repository")));
    }
    found
}

/// Whether a mark stands there: one that ends with a colon with a code behind it, and as a word of its own.
fn stands(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let behind = text.get(at + mark.len()..).unwrap_or_default();
        let word = behind.split(|c: char| !c.is_alphanumeric()).next();
        !mark.ends_with(':')
            || word.is_some_and(is_code) && !before.is_some_and(|c| c.is_alphanumeric() || c == ':')
    })
}

/// Names that end with `.md`, without addresses.
fn named_documents(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || "._-/:".contains(c);
    text.split(move |c| !is_name(c))
        .map(|word| word.trim_end_matches(['.', ':']))
        .filter(|word| word.ends_with(".md") && word.len() > ".md".len() && !word.contains("//"))
}

/// Whether a document of that name, or below that path, is here.
fn is_here(name: &str, documents: &[String]) -> bool {
    let name = name.trim_start_matches("../").trim_start_matches("./");
    let at_end = |path: &String| {
        let head = path.strip_suffix(name);
        head.is_some_and(|head| head.is_empty() || head.ends_with('/'))
    };
    documents.iter().any(at_end)
}

/// A file that may name a place beside the repository, and does not.
fn unused(root: &Path, place: &str) -> Option<Finding> {
    let text = std::fs::read_to_string(root.join(place)).unwrap_or_default();
    (!text.contains("../shared")).then(|| {
        Finding::new(
            place,
            "names no place beside the repository: it need not be allowed",
        )
    })
}

#[cfg(test)]
mod tests;
