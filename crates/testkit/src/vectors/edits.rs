//! The vectors of `yaml-edit`: edits that leave everything else alone.
//!
//! The parsed result and the bytes before and after the edited region must be as recorded; the recommended text is no law.

use std::path::Path as FilePath;

use serde_json::Value as Json;
use yaml::{Edit, Limits, NodeStep, Path, Reader, Stream, Value};

use super::known::{Checked, cases, digest};

/// Runs all cases of a folder.
///
/// # Errors
/// A file that cannot be read.
pub fn check(folder: &FilePath) -> std::io::Result<Vec<Checked>> {
    let checked = cases(folder)?.into_iter().map(|case| {
        let name = case.get("name").and_then(Json::as_str).unwrap_or_default();
        let after = apply(&case);
        Checked {
            more: false,
            name: name.to_owned(),
            difference: after
                .as_ref()
                .map_or_else(|why| Some(why.clone()), |text| differs(&case, text)),
            result: digest([after.as_deref().unwrap_or_default()]),
        }
    });
    Ok(checked.collect())
}

fn apply(case: &Json) -> Result<String, String> {
    let wanted = case
        .get("edit")
        .and_then(edit)
        .ok_or("the edit cannot be read")?;
    let before = text(case, "before");
    let document = case
        .pointer("/edit/document")
        .and_then(Json::as_u64)
        .unwrap_or_default();
    let stream = Stream::parse(before, &Limits::default()).map_err(|error| error.to_string())?;
    let document = usize::try_from(document).unwrap_or_default();
    let after = stream
        .apply(document, &[wanted])
        .map_err(|error| error.to_string())?;
    Ok(after.text().to_owned())
}

fn differs(case: &Json, after: &str) -> Option<String> {
    let before = text(case, "before").as_bytes();
    let length = |key: &str| {
        let length = case.get(key).and_then(Json::as_u64).unwrap_or_default();
        usize::try_from(length)
            .unwrap_or_default()
            .min(before.len())
    };
    let (head, tail) = before.split_at(length("keep_prefix"));
    let tail = tail
        .get(tail.len().saturating_sub(length("keep_suffix"))..)
        .unwrap_or_default();
    if !after.as_bytes().starts_with(head) || !after.as_bytes().ends_with(tail) {
        return Some(format!("bytes outside of the edit changed:\n{after}"));
    }
    let values = match Stream::parse(after, &Limits::default()) {
        Err(error) => return Some(format!("the result cannot be read: {error}\n{after}")),
        Ok(stream) => stream
            .documents()
            .map(|document| document.to_json(Reader::V3).ok())
            .collect::<Vec<_>>(),
    };
    let wanted = case
        .get("expected_value")
        .and_then(Json::as_array)
        .cloned()
        .unwrap_or_default();
    // Null stands where the document holds a key twice elsewhere.
    let same =
        |(ours, theirs): (&Option<Json>, &Json)| theirs.is_null() || ours.as_ref() == Some(theirs);
    let same = values.len() == wanted.len() && values.iter().zip(&wanted).all(same);
    (!same).then(|| format!("the values differ:\n{after}"))
}

fn text<'c>(case: &'c Json, key: &str) -> &'c str {
    case.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn edit(edit: &Json) -> Option<Edit> {
    let step = |step: &Json| match step {
        Json::String(key) => Some(NodeStep::Key(key.clone())),
        index => Some(NodeStep::Index(usize::try_from(index.as_u64()?).ok()?)),
    };
    let path = edit
        .get("path")?
        .as_array()?
        .iter()
        .map(step)
        .collect::<Option<Vec<_>>>()?;
    let path = Path(path);
    let value = || edit.get("value").cloned().map(Value::from);
    Some(match text(edit, "op") {
        "set" => Edit::Set {
            path,
            value: value()?,
        },
        "append" => Edit::Append {
            path,
            value: value()?,
        },
        "insert" => Edit::Insert {
            path,
            index: usize::try_from(edit.get("index")?.as_u64()?).ok()?,
            value: value()?,
        },
        "delete" => Edit::Remove { path },
        "rename" => Edit::Rename {
            path,
            to: text(edit, "to").to_owned(),
        },
        _ => return None,
    })
}
