//! One class as the diff of its first target.

use serde_json::Value;
use similar::TextDiff;

use super::{list, text};
use crate::visible::visible;

/// The diff of a class; `None` if there is no such class. What is aside in classes (upstream, lock, render report) is
/// aside here, too.
pub(crate) fn diff(document: &Value, class: &str) -> Option<String> {
    let class = list(document, "classes").find(|c| text(c, "id").starts_with(class))?;
    let files = |key: &str| {
        class
            .get(key)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let (before, after) = (files("before"), files("contents"));
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let mut out = String::new();
    for path in paths {
        let side = |files: &serde_json::Map<String, Value>| {
            files
                .get(path)
                .and_then(Value::as_str)
                .map(ToOwned::to_owned)
        };
        let (old, new) = (side(&before), side(&after));
        out.push_str(&unified(path, old, new));
    }
    Some(out)
}

/// One file's lines as git shows them, for people; a side that lacks the file is `/dev/null`.
pub(crate) fn unified(
    path: impl std::fmt::Display,
    old: Option<String>,
    new: Option<String>,
) -> String {
    let name = |side: &Option<String>, prefix: &str| match side {
        Some(_) => format!("{prefix}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (from, to) = (name(&old, "a"), name(&new, "b"));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let text = TextDiff::from_lines(old.as_str(), new.as_str());
    let mut lines = text.unified_diff();
    let shown = lines.context_radius(3).header(&from, &to).to_string();
    visible(&shown).into_owned()
}
