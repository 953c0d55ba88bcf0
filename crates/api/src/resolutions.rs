//! Decisions about conflicts on the wire (F4), and the key by which people name equal conflicts.

use model::{Choice, Conflict, ConflictSide, ConflictValue, PackagePath, Problem, Resolution};
use serde_json::{Map, Value};
use sha1::{Digest, Sha1};

use crate::fields::{FieldReader, name, put};
use crate::sides::{read_side, write_side};

/// The most decisions of one request.
const LIMIT: usize = 100;
/// The longest value of a person's own, in bytes.
const VALUE_LIMIT: usize = 16 << 10;

/// The key of all conflicts that are equal to this one: the same place, base and upstream, whatever is local. Short
/// enough to be typed; whoever decides by it looks whether it means one thing.
pub fn conflict_key(conflict: &Conflict) -> String {
    let mut hash = Sha1::new();
    let (base, upstream) = (tagged(&conflict.base), tagged(&conflict.upstream));
    for (tag, part) in [
        ("", conflict.file.as_str()),
        ("", conflict.resource.as_str()),
        ("", conflict.path.as_str()),
        base,
        upstream,
    ] {
        hash.update(tag.as_bytes());
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digits: String = hash
        .finalize()
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("k{digits}")
}

fn tagged(value: &ConflictValue) -> (&'static str, &str) {
    match value {
        ConflictValue::Absent => ("absent", ""),
        ConflictValue::Json(text) => ("json ", text),
        ConflictValue::Hash(text) => ("hash ", text),
    }
}

/// Reads `spec.resolutions` of a request.
///
/// # Errors
/// What is wrong with each of them.
pub fn read_resolutions(object: &Value) -> Result<Vec<Resolution>, Vec<Problem>> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let entries = FieldReader::new(spec, "spec").list("resolutions");
    if entries.len() > LIMIT {
        let what = format!(
            "spec.resolutions has {} entries, and one request may have {LIMIT}",
            entries.len()
        );
        return Err(vec![Problem::new("spec.resolutions", what)]);
    }
    let mut problems = Vec::new();
    let read: Vec<Resolution> = entries
        .iter()
        .filter_map(|entry| read_one(entry, &mut problems))
        .collect();
    if problems.is_empty() {
        Ok(read)
    } else {
        Err(problems)
    }
}

fn read_one(entry: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<Resolution> {
    let text = entry.text("file").unwrap_or_default();
    let file = name(problems, &entry.field("file"), text, PackagePath::parse);
    for side in ["base", "upstream"] {
        if entry.child(side).is_none() {
            let field = entry.field(side);
            let what = format!("{field} must be given: {{absent: true}} where there is nothing");
            problems.push(Problem::new(field, what));
        }
    }
    let choice = choice(entry, problems)?;
    let local = entry.child("local").map(|_| read_side(entry, "local"));
    if matches!(choice, Choice::Value(_)) && local.is_none() {
        let field = entry.field("local");
        let what =
            format!("{field} must be given beside a value: only equal conflicts are decided");
        problems.push(Problem::new(field, what));
    }
    Some(Resolution {
        file: file?,
        resource: entry.owned("resource").unwrap_or_default(),
        path: entry.owned("path").unwrap_or_default(),
        base: read_side(entry, "base"),
        upstream: read_side(entry, "upstream"),
        local,
        choice,
    })
}

fn choice(entry: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<Choice> {
    let (take, value) = (entry.text("take"), entry.text("value"));
    let (field, what) = match (take, value) {
        (Some(side), None) => {
            if let Some(side) = ConflictSide::parse(side) {
                return Some(Choice::Side(side));
            }
            let field = entry.field("take");
            let what = format!(
                "{field}: Unsupported value: {side:?}: supported values: local, upstream, base"
            );
            (field, what)
        }
        (None, Some(value)) if value.len() > VALUE_LIMIT => {
            let field = entry.field("value");
            let what = format!(
                "{field} has {} bytes, and {VALUE_LIMIT} are allowed: edit the drafts",
                value.len()
            );
            (field, what)
        }
        (None, Some(value)) => {
            if serde_json::from_str::<Value>(value).is_ok() {
                return Some(Choice::Value(value.to_owned()));
            }
            let field = entry.field("value");
            let what = format!("{field}: Invalid value: {value:?}: must be JSON");
            (field, what)
        }
        _ => {
            let field = entry.path().to_owned();
            let what = format!("{field}: either take or value must be given");
            (field, what)
        }
    };
    problems.push(Problem::new(field, what));
    None
}

/// Writes a decision as requests have it.
pub fn write_resolution(resolution: &Resolution) -> Value {
    let mut out = Map::new();
    put(&mut out, "file", resolution.file.as_str());
    put(&mut out, "resource", &resolution.resource);
    put(&mut out, "path", &resolution.path);
    out.insert("base".to_owned(), write_side(&resolution.base));
    out.insert("upstream".to_owned(), write_side(&resolution.upstream));
    if let Some(local) = &resolution.local {
        out.insert("local".to_owned(), write_side(local));
    }
    match &resolution.choice {
        Choice::Side(side) => put(&mut out, "take", side.as_str()),
        Choice::Value(json) => put(&mut out, "value", json),
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use model::{ConflictId, ConflictState, Decision};
    use serde_json::json;

    use super::*;

    fn conflict(base: ConflictValue, local: &str) -> Conflict {
        Conflict {
            id: ConflictId("0011223344556677".to_owned()),
            file: PackagePath::parse("deployment.yaml").unwrap(),
            resource: "apps/Deployment//web".to_owned(),
            path: "spec.replicas".to_owned(),
            base,
            local: ConflictValue::Json(local.to_owned()),
            upstream: ConflictValue::Json("5".to_owned()),
            decision: Decision::Upstream,
            state: ConflictState::Open,
            derived_from: None,
        }
    }

    #[test]
    fn equal_conflicts_have_one_key_whatever_is_local() {
        let json = |text: &str| ConflictValue::Json(text.to_owned());
        let key = conflict_key(&conflict(json("3"), "9"));
        assert_eq!(key, conflict_key(&conflict(json("3"), "12")));
        for other in [
            json("4"),
            ConflictValue::Absent,
            ConflictValue::Hash("3".to_owned()),
        ] {
            assert_ne!(key, conflict_key(&conflict(other, "9")));
        }
        assert!(key.len() == 9 && key.starts_with('k'), "{key}");
    }

    #[test]
    fn decisions_come_back_as_written() {
        for (base, choice) in [
            (ConflictValue::Absent, Choice::Side(ConflictSide::Base)),
            (
                ConflictValue::Hash("ab".to_owned()),
                Choice::Side(ConflictSide::Local),
            ),
            (
                ConflictValue::Json("3".to_owned()),
                Choice::Value("\"x\"".to_owned()),
            ),
        ] {
            let written = Resolution::of(&conflict(base, "9"), choice);
            let object = json!({ "spec": { "resolutions": [write_resolution(&written)] } });
            assert_eq!(read_resolutions(&object).unwrap(), [written]);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_field() {
        let whole = json!({ "file": "a.yaml", "base": {"value": "1"}, "upstream": {"absent": true}, "take": "local" });
        let with = |key: &str, value: Value| {
            let mut one = whole.clone();
            one[key] = value;
            let object = json!({ "spec": { "resolutions": [one] } });
            let problems = read_resolutions(&object).err().unwrap_or_default();
            problems.iter().map(|p| p.what.clone()).collect::<String>()
        };
        assert_eq!(with("path", "spec".into()), "");
        for (key, value, wanted) in [
            ("file", "../a".into(), "spec.resolutions[0].file"),
            (
                "take",
                "mine".into(),
                "spec.resolutions[0].take: Unsupported value",
            ),
            (
                "take",
                Value::Null,
                "spec.resolutions[0]: either take or value",
            ),
            (
                "base",
                Value::Null,
                "spec.resolutions[0].base must be given",
            ),
            ("value", "1".into(), "either take or value"),
        ] {
            let told = with(key, value);
            assert!(told.contains(wanted), "{key}: {told}");
        }
    }
}
