//! Conflicts and differences as people and programs read them.

use std::fmt::Write as _;

use model::{Conflict, ConflictValue, Decision};
use package::merge::Difference;
use serde_json::{Value, json};

use crate::planning;
use crate::visible::visible;

/// Values longer than this are cut in lines for people.
const WIDTH: usize = 120;
/// The path of what is compared as a text.
const LINES: &str = "#lines";

/// One paragraph for each conflict.
pub(super) fn conflicts(all: &[Conflict]) -> String {
    let mut out = String::new();
    for conflict in all {
        let kept = match conflict.decision {
            Decision::Upstream => "upstream",
            Decision::Local => "local",
        };
        // Writing to a String cannot fail.
        _ = writeln!(
            out,
            "conflict {}: {}\n  base:     {}\n  local:    {}\n  upstream: {}\n  result:   {kept}",
            conflict.id.0,
            place(conflict.file.as_str(), &conflict.resource, &conflict.path),
            shown(&conflict.base),
            shown(&conflict.local),
            shown(&conflict.upstream),
        );
    }
    visible(&out).into_owned()
}

/// The same as JSON.
pub(super) fn conflicts_json(all: &[Conflict]) -> String {
    lines(all.iter().map(|conflict| {
        json!({
            "id": conflict.id.0,
            "file": conflict.file.as_str(),
            "resource": conflict.resource,
            "path": conflict.path,
            "base": value(&conflict.base),
            "local": value(&conflict.local),
            "upstream": value(&conflict.upstream),
            "decision": match conflict.decision {
                Decision::Upstream => "Upstream",
                Decision::Local => "Local",
            },
            "open": conflict.blocks(),
        })
    }))
}

/// One line for each difference, `-` before and `+` after.
pub(in crate::commands) fn differences(all: &[Difference]) -> String {
    let mut out = String::new();
    let mut last = String::new();
    for difference in all {
        let head = place(difference.file.as_str(), &difference.resource, "");
        if head != last {
            _ = writeln!(out, "{head}");
            last = head;
            if let Some(twice) = &difference.twice {
                _ = writeln!(
                    out,
                    "  ! {twice}: functions and a cluster may take another one, so the text is compared"
                );
            }
        }
        let path = if difference.path.is_empty() {
            "."
        } else {
            &difference.path
        };
        if difference.is_form() {
            _ = writeln!(
                out,
                "  ~ {path}: no value differs, only comments, order or how it is written"
            );
            continue;
        }
        if matches!(
            (&difference.before, &difference.after),
            (ConflictValue::Hash(_), ConflictValue::Hash(_))
        ) {
            _ = writeln!(out, "  ~ {path}: changed, not shown");
            continue;
        }
        if let Some(lines) = lines_of(difference) {
            out.push_str(&lines);
            continue;
        }
        if difference.before != ConflictValue::Absent {
            _ = writeln!(out, "  - {path}: {}", shown(&difference.before));
        }
        if difference.after != ConflictValue::Absent {
            _ = writeln!(out, "  + {path}: {}", shown(&difference.after));
        }
    }
    visible(&out).into_owned()
}

/// Every line of what is compared as a text, none of them cut: something may stand behind what looks like the end.
fn lines_of(difference: &Difference) -> Option<String> {
    if difference.path != LINES {
        return None;
    }
    let mut out = String::new();
    for (sign, side) in [('-', &difference.before), ('+', &difference.after)] {
        let ConflictValue::Json(text) = side else {
            continue;
        };
        let text: String = serde_json::from_str(text).ok()?;
        for line in text.lines() {
            _ = writeln!(out, "  {sign} | {line}");
        }
    }
    Some(out)
}

/// The same as JSON.
pub(in crate::commands) fn differences_json(all: &[Difference]) -> String {
    lines(all.iter().map(|difference| {
        json!({
            "file": difference.file.as_str(),
            "resource": difference.resource,
            "path": difference.path,
            "before": value(&difference.before),
            "after": value(&difference.after),
            "form": difference.is_form(),
            "twice": difference.twice,
        })
    }))
}

fn lines(values: impl Iterator<Item = Value>) -> String {
    let all: Vec<Value> = values.collect();
    // Writing a JSON value to a string cannot fail.
    serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
}

fn place(file: &str, resource: &str, path: &str) -> String {
    let parts = [file, resource, path]
        .into_iter()
        .filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

fn shown(value: &ConflictValue) -> String {
    let text = match value {
        ConflictValue::Absent => return "(absent)".to_owned(),
        ConflictValue::Json(text) => text.replace('\n', "\\n"),
        ConflictValue::Hash(_) => return "(hidden)".to_owned(),
    };
    match text.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

fn value(value: &ConflictValue) -> Value {
    match value {
        ConflictValue::Absent => Value::Null,
        ConflictValue::Json(text) => {
            let parsed: Value = serde_json::from_str(text).unwrap_or_else(|_| text.clone().into());
            json!({ "value": parsed })
        }
        ConflictValue::Hash(hash) => json!({ "hash": planning::of_this_process().hash(hash) }),
    }
}

#[cfg(test)]
mod tests {
    use model::{File, Files, PackagePath};
    use sha2::{Digest, Sha256};

    use super::*;

    fn secret(value: &str) -> Files {
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringData: {{p: {value}}}\n"
        );
        let path = PackagePath::parse("secret.yaml").unwrap();
        [(path, File::text(text))].into_iter().collect()
    }

    /// Whoever tries values finds none by what is put out, on a page or as JSON; equal ones are still told as equal.
    #[test]
    fn no_secret_is_told_by_its_hash() {
        let of = |from: &str, to: &str| package::merge::diff(&secret(from), &secret(to));
        let changed = of("hunter1", "hunter2");
        let text = differences(&changed);
        assert!(
            text.contains("~ stringData.p: changed, not shown"),
            "{text}"
        );
        let json = differences_json(&changed);
        assert_eq!(json, differences_json(&of("hunter1", "hunter2")));
        assert_ne!(json, differences_json(&of("hunter1", "hunter3")));
        let gone = differences(&package::merge::diff(&secret("hunter1"), &Files::new()));
        for value in ["hunter1", "hunter2", "\"hunter1\"", "\"hunter2\""] {
            let hash = Sha256::digest(value);
            let hash: String = hash.iter().take(4).map(|b| format!("{b:02x}")).collect();
            for told in [&text, &json, &gone] {
                assert!(!told.contains(&hash) && !told.contains("sha256:"), "{told}");
            }
        }
    }
}
