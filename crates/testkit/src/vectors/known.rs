//! Reading recorded cases, and `vectors-known.toml`: the cases where we differ on purpose, each with the decision that says so and what we make of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// One such case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The decision, as `M11`.
    pub decision: String,
    /// What it means here.
    pub why: String,
    /// The digest of our result.
    pub result: String,
}

/// What running one case showed.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The case's name.
    pub name: String,
    /// How our result differs from the recorded one.
    pub difference: Option<String>,
    /// The digest of our result.
    pub result: String,
    /// Whether it holds what nobody recorded there, as conflicts and places of comments: its digest is listed, too, where
    /// nothing differs.
    pub more: bool,
}

/// What is listed of a set.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// The cases that differ on purpose, by name.
    pub differ: BTreeMap<String, Known>,
    /// The digests of results that agree, and hold more than was recorded there.
    pub agree: BTreeMap<String, String>,
}

/// What a case counts as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Our result is the recorded one.
    Passed,
    /// It differs as it was said to.
    Known(String),
    /// Anything else, and why.
    Failed(String),
}

/// What the list says of a set.
///
/// # Errors
/// The text is not as it should be.
pub fn read(text: &str, set: &str) -> Result<Listed, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let entries = table.get(set).and_then(toml::Value::as_array);
    let mut listed = Listed::default();
    for entry in entries.into_iter().flatten() {
        let text = |key: &str| {
            let text = entry.get(key).and_then(toml::Value::as_str);
            text.map(str::to_owned)
                .ok_or_else(|| format!("an entry of {set} has no {key}: {entry}"))
        };
        let known = Known {
            decision: text("decision")?,
            why: text("why")?,
            result: text("result")?,
        };
        if let Some(twice) = listed.differ.insert(text("case")?, known) {
            return Err(format!("{set}: a case stands twice: {twice:?}"));
        }
    }
    let agree = table.get("agree").and_then(|agree| agree.get(set));
    let agree = agree.and_then(toml::Value::as_table).into_iter().flatten();
    for (case, digest) in agree {
        let digest = digest.as_str().unwrap_or_default().to_owned();
        listed.agree.insert(case.clone(), digest);
    }
    Ok(listed)
}

/// Holds a case against what is listed about it.
pub fn judge(checked: &Checked, listed: &Listed) -> Verdict {
    let known = listed.differ.get(&checked.name);
    let agrees = listed.agree.get(&checked.name);
    match (&checked.difference, known) {
        (None, None) => match agrees {
            Some(digest) if *digest == checked.result => Verdict::Passed,
            None if !checked.more => Verdict::Passed,
            _ => Verdict::Failed(format!(
                "the values agree, but conflicts or comments are others than listed (now {})",
                checked.result
            )),
        },
        (None, Some(known)) => Verdict::Failed(format!(
            "listed with {}, but does not differ",
            known.decision
        )),
        (Some(_), Some(known)) if known.result == checked.result => {
            Verdict::Known(known.decision.clone())
        }
        (Some(difference), Some(known)) => Verdict::Failed(format!(
            "listed with {}, but our result is another one (now {}):\n{difference}",
            known.decision, checked.result
        )),
        (Some(difference), None) => {
            Verdict::Failed(format!("(result {})\n{difference}", checked.result))
        }
    }
}

/// All cases of a place, by the names of their files or in the order of their lines.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub fn cases(place: &Path) -> std::io::Result<Vec<Value>> {
    if place.is_file() {
        let text = std::fs::read_to_string(place)?;
        return text
            .lines()
            .map(|line| Ok(serde_json::from_str(line)?))
            .collect();
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(place)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
        .iter()
        .map(|path| Ok(serde_json::from_slice(&std::fs::read(path)?)?))
        .collect()
}

/// A short name for what a result means.
pub fn digest<'t>(parts: impl IntoIterator<Item = &'t str>) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.into_iter().flat_map(|part| part.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

/// The cases that failed, one paragraph each, for a test of a room. The list is the checkout's own.
pub fn failures(set: &str, checked: &[Checked]) -> Vec<String> {
    let listed = match read(include_str!("../../../../vectors-known.toml"), set) {
        Ok(listed) => listed,
        Err(error) => return vec![error],
    };
    let judged = checked.iter().map(|case| (case, judge(case, &listed)));
    judged
        .filter_map(|(case, verdict)| match verdict {
            Verdict::Failed(why) => Some(format!("{}: {why}\n", case.name)),
            Verdict::Passed | Verdict::Known(_) => None,
        })
        .collect()
}
