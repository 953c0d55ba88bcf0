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
        let of = |key: &str| class.get(key).and_then(|all| all.get(path));
        if let Some(modes) = of("modes") {
            out.push_str(&changed_mode(path, modes));
        }
        match of("hidden").and_then(Value::as_str) {
            None => out.push_str(&unified(path, old, new)),
            // Its bytes may differ where both sides read alike.
            Some(why) => {
                let line = match (&old, &new) {
                    (None, _) => format!("Only in b: {path}, not shown: {why}\n"),
                    (_, None) => format!("Only in a: {path}, not shown: {why}\n"),
                    _ => format!("a/{path} and b/{path} differ, not shown: {why}\n"),
                };
                out.push_str(&visible(&line));
            }
        }
    }
    Some(out)
}

/// The lines in which git tells modes.
fn changed_mode(path: &str, modes: &Value) -> String {
    let mode = |at: usize| {
        let mode = modes.get(at).and_then(Value::as_str);
        mode.map(|mode| format!("10{mode}"))
    };
    let lines = match (mode(0), mode(1)) {
        (Some(old), Some(new)) => format!("old mode {old}\nnew mode {new}\n"),
        (None, Some(new)) => format!("new file mode {new}\n"),
        (Some(old), None) => format!("deleted file mode {old}\n"),
        (None, None) => String::new(),
    };
    let head = format!("diff --git a/{path} b/{path}\n");
    visible(&(head + &lines)).into_owned()
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
