//! Deep equality of a recorded and an actual value, under the rules of the recordings.

use serde_json::{Map, Value};

use super::tokens::Tokens;

/// Compares; differences are told by their place. `sets` are places where the order of a list is not fixed.
pub(crate) fn compare(
    tokens: &mut Tokens,
    recorded: &Value,
    actual: &Value,
    sets: &[String],
) -> Vec<String> {
    let mut out = Vec::new();
    walk(tokens, recorded, actual, "", sets, &mut out);
    out
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(300).collect()
}

fn walk(
    tokens: &mut Tokens,
    recorded: &Value,
    actual: &Value,
    at: &str,
    sets: &[String],
    out: &mut Vec<String>,
) {
    match (recorded, actual) {
        (Value::String(e), Value::String(a)) => {
            let same = tokens.matches(e, a)
                || (at.contains("message") && parts(e) == parts(a))
                || bound_alike(e, a);
            if !same {
                out.push(format!(
                    "{at}: {} instead of {}",
                    short(actual),
                    short(recorded)
                ));
            }
        }
        (Value::Object(e), Value::Object(a)) => {
            let e = &without_moving_version(tokens, e, actual);
            let filled: Map<String, Value> =
                e.iter().map(|(k, v)| (tokens.fill(k), v.clone())).collect();
            for (key, value) in &filled {
                match a.get(key) {
                    Some(found) => walk(tokens, value, found, &format!("{at}/{key}"), sets, out),
                    None => out.push(format!("{at}/{key}: missing, {}", short(value))),
                }
            }
            for (key, value) in a.iter().filter(|(key, _)| !filled.contains_key(*key)) {
                out.push(format!("{at}/{key}: not recorded, {}", short(value)));
            }
        }
        (Value::Array(e), Value::Array(a)) if e.len() == a.len() => {
            let (mut e, mut a) = (e.clone(), a.clone());
            let owners = at.ends_with("managedFields");
            // Rules come in the order in which the real server finds the bindings: that of a map.
            if owners
                || at.ends_with("/causes")
                || at.ends_with("/resourceRules")
                || sets
                    .iter()
                    .any(|set| set.ends_with(at) || at.ends_with(set.as_str()))
            {
                e.sort_by_key(|v| key(tokens, v, owners));
                a.sort_by_key(|v| key(tokens, v, owners));
            }
            for (i, (e, a)) in e.iter().zip(&a).enumerate() {
                walk(tokens, e, a, &format!("{at}/{i}"), sets, out);
            }
        }
        (Value::Number(e), Value::Number(a)) if e.as_f64() == a.as_f64() => {}
        (e, a) if e == a => {}
        _ => out.push(format!(
            "{at}: {} instead of {}",
            short(actual),
            short(recorded)
        )),
    }
}

/// Other writers move the version of a list, a table or a bookmark: it need only be late enough, and is
/// replaced by the actual one then.
fn without_moving_version(
    tokens: &mut Tokens,
    recorded: &Map<String, Value>,
    actual: &Value,
) -> Map<String, Value> {
    let mut out = recorded.clone();
    let kind = recorded.get("kind").and_then(Value::as_str);
    let at = if recorded.get("type").and_then(Value::as_str) == Some("BOOKMARK") {
        "/object/metadata/resourceVersion"
    } else if kind.is_some_and(|k| k == "Table" || k.ends_with("List")) {
        "/metadata/resourceVersion"
    } else {
        return out;
    };
    let mut whole = Value::Object(std::mem::take(&mut out));
    let found = actual.pointer(at).and_then(Value::as_str);
    if let (Some(Value::String(wanted)), Some(found)) = (whole.pointer_mut(at), found)
        && tokens.not_before(wanted, found)
    {
        found.clone_into(wanted);
    }
    match whole {
        Value::Object(map) => map,
        _ => out,
    }
}

/// Which of the default bindings that allow a request is named is left to chance by the real server.
fn bound_alike(recorded: &str, actual: &str) -> bool {
    let subject = |text: &str| {
        let rest = text.strip_prefix("RBAC: allowed by ClusterRoleBinding \"system:")?;
        rest.rsplit_once(" to ")
            .map(|(_, subject)| subject.to_owned())
    };
    subject(recorded).is_some_and(|wanted| subject(actual) == Some(wanted))
}

/// The parts of a message that lists several errors, in any order.
fn parts(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text.split([',', '[', ']']).map(str::trim).collect();
    parts.sort_unstable();
    parts
}

fn key(tokens: &Tokens, value: &Value, owners: bool) -> String {
    if owners {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        return [
            text("manager"),
            text("operation"),
            text("apiVersion"),
            text("subresource"),
        ]
        .join(" ");
    }
    let mut text = Vec::new();
    objectstore::sorted(&mut text, &tokens.fill_value(value)).expect("writable");
    String::from_utf8(text).expect("JSON")
}

/// Cuts an answer down as a recording was: to its own keys, lists of named things to its own names.
pub(crate) fn reduce(recorded: &Value, actual: &Value, cut: bool) -> Value {
    let names = recorded.get("names").and_then(Value::as_array);
    if let (Some(names), Some(root)) = (names, actual.as_object()) {
        let both = names
            .first()
            .and_then(Value::as_str)
            .is_some_and(|n| n.contains('/'));
        let kept = root
            .iter()
            .filter(|(k, _)| recorded.get(k.as_str()).is_some());
        let mut out: Map<String, Value> = kept.map(|(k, v)| (k.clone(), v.clone())).collect();
        let items = actual
            .get("items")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let text = |item: &Value, field: &str| objects::write::meta(item, field).to_owned();
        let name = |item: &Value| match both {
            true => format!("{}/{}", text(item, "namespace"), text(item, "name")),
            false => text(item, "name"),
        };
        out.insert("names".to_owned(), items.iter().map(name).collect());
        return out.into();
    }
    let by_name = |root: &Map<String, Value>| {
        root.len() == 2 && root.contains_key("kind") && root.contains_key("name")
    };
    if cut && recorded.as_object().is_some_and(by_name) {
        return serde_json::json!({"kind": actual["kind"], "name": actual["metadata"]["name"]});
    }
    let of_paths = |root: &Map<String, Value>| root.keys().all(|k| k.starts_with('/'));
    if let Some(paths) = actual
        .get("paths")
        .filter(|_| recorded.as_object().is_some_and(of_paths))
    {
        return undescribed(&project(recorded, paths));
    }
    let mut out = if cut {
        project(recorded, actual)
    } else {
        actual.clone()
    };
    let schemas = actual
        .pointer("/components/schemas")
        .and_then(Value::as_object);
    if let (Some(_), Some(schemas)) = (recorded.pointer("/components/schemaNames"), schemas) {
        let mut all: Vec<&String> = schemas.keys().collect();
        all.sort();
        out["components"]["schemaNames"] = all.into_iter().cloned().collect();
    }
    out
}

/// Leaves descriptions out, as the recording does.
fn undescribed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map
                .iter()
                .filter(|(k, v)| *k != "description" || !v.is_string());
            kept.map(|(k, v)| (k.clone(), undescribed(v))).collect()
        }
        Value::Array(items) => items.iter().map(undescribed).collect(),
        other => other.clone(),
    }
}

/// The part of `actual` that `recorded` speaks of.
pub(crate) fn project(recorded: &Value, actual: &Value) -> Value {
    match (recorded, actual) {
        (Value::Object(e), Value::Object(a)) => {
            let both = e
                .iter()
                .filter_map(|(k, v)| a.get(k).map(|found| (k.clone(), project(v, found))));
            both.collect()
        }
        (Value::Array(e), Value::Object(a))
            if e.iter()
                .all(|v| v.as_str().is_some_and(|k| a.contains_key(k))) =>
        {
            recorded.clone()
        }
        (Value::Array(e), Value::Array(a)) => {
            let named = e.iter().map(identity).collect::<Option<Vec<_>>>();
            match named.filter(|n| !n.is_empty()) {
                Some(_) => e
                    .iter()
                    .filter_map(|v| {
                        a.iter()
                            .find(|x| identity(x) == identity(v))
                            .map(|x| project(v, x))
                    })
                    .collect(),
                None => a
                    .iter()
                    .enumerate()
                    .map(|(i, x)| e.get(i).map_or_else(|| x.clone(), |v| project(v, x)))
                    .collect(),
            }
        }
        _ => actual.clone(),
    }
}

fn identity(value: &Value) -> Option<&str> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    text("/name")
        .or_else(|| text("/resource"))
        .or_else(|| text("/groupVersion"))
        .or_else(|| text("/metadata/name"))
}
