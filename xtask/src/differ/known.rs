//! The differences that are meant: `tests/peer/differences.toml` names each with the decision behind it.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;
use serde::Deserialize;

use super::Result;
use super::compare::Difference;
use super::step::Step;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    difference: Vec<Entry>,
}

/// One kind of difference. Each pattern that is given must be found in its text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// Why they differ, and by which decision.
    why: String,
    /// In the request's line: user, method, path.
    request: Option<String>,
    /// Where in the answer.
    at: Option<String>,
    ours: Option<String>,
    peer: Option<String>,
    /// In the line of an earlier step of the sequence.
    after: Option<String>,
    /// In the body of an earlier step.
    sent: Option<String>,
    /// Whether the two have parted for good: what follows in the sequence is not compared.
    #[serde(default)]
    ends: bool,
}

/// The list, compiled.
pub(super) struct Known {
    entries: Vec<(String, [Option<Regex>; 6])>,
    ends: Vec<String>,
}

impl Known {
    /// Reads the list.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let file: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut entries = Vec::new();
        let ending = file.difference.iter().filter(|entry| entry.ends);
        let ends = ending.map(|entry| entry.name.clone()).collect();
        for entry in file.difference {
            if entry.why.trim().is_empty() {
                return Err(format!("{}: {} says no why", path.display(), entry.name));
            }
            let mut patterns = [None, None, None, None, None, None];
            let given = [
                entry.request,
                entry.at,
                entry.ours,
                entry.peer,
                entry.after,
                entry.sent,
            ];
            for (pattern, text) in patterns.iter_mut().zip(given) {
                *pattern = match text {
                    Some(text) => {
                        Some(Regex::new(&text).map_err(|e| format!("{}: {e}", entry.name))?)
                    }
                    None => None,
                };
            }
            entries.push((entry.name, patterns));
        }
        Ok(Self { entries, ends })
    }

    /// Whether nothing can be compared after this entry's difference.
    pub(super) fn ends(&self, name: &str) -> bool {
        self.ends.iter().any(|known| known == name)
    }

    /// The name of the entry that explains a difference.
    pub(super) fn explains(
        &self,
        (step, earlier): (&Step, &[Step]),
        difference: &Difference,
    ) -> Option<&str> {
        let line = step.line();
        let before: Vec<String> = earlier.iter().map(Step::line).collect();
        let before = before.join("\n");
        let sent: Vec<String> = earlier.iter().map(Step::sent).collect();
        let sent = sent.join("\n");
        let texts = [
            &line,
            &difference.at,
            &difference.ours,
            &difference.peer,
            &before,
            &sent,
        ];
        let fits = |patterns: &[Option<Regex>; 6]| {
            let mut pairs = patterns.iter().zip(texts);
            pairs.all(|(p, text)| p.as_ref().is_none_or(|p| p.is_match(text)))
        };
        let found = self.entries.iter().find(|(_, patterns)| fits(patterns));
        found.map(|(name, _)| name.as_str())
    }

    /// Entries that nothing was explained by.
    pub(super) fn unused(&self, used: &BTreeMap<String, u64>) -> Vec<&str> {
        let names = self.entries.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !used.contains_key(*name)).collect()
    }
}
