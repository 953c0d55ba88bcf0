//! Fields of the Kptfile that mutations share: sections, conditions and readiness gates.

use model::{Condition, Status};
use yaml::owned::{Map, Value};

/// A mapping at the Kptfile's top, made in front of the first of the given keys where it is missing.
pub(crate) fn section<'k>(
    kptfile: &'k mut Value,
    key: &str,
    before: &[&str],
) -> Option<&'k mut Map> {
    let top = kptfile.as_map_mut()?;
    if top.get(key).is_none() {
        let at = top
            .entries()
            .iter()
            .position(|entry| before.contains(&&*entry.key));
        top.insert(at.unwrap_or(top.len()), key, Value::null());
    }
    top.get_mut(key)?.ensure_map(&[])
}

/// Sets a condition in place, or appends it; one that says the same already is left as it is written.
pub(crate) fn set_condition(kptfile: &mut Value, wanted: &Condition) -> Option<()> {
    let is_it = |value: &Value| value.get("type").and_then(Value::text) == Some(&wanted.kind);
    let listed = kptfile
        .lookup(&["status", "conditions"])
        .and_then(Value::as_seq);
    if listed.is_some_and(|seq| {
        seq.items()
            .iter()
            .any(|item| is_it(item) && says(item, wanted))
    }) {
        return Some(());
    }
    let status = section(kptfile, "status", &[])?;
    if status.get("conditions").is_none_or(Value::is_null) {
        status.remove("conditions");
        status.insert(0, "conditions", Value::seq([]));
    }
    let conditions = status.get_mut("conditions")?.as_seq_mut()?.items_mut();
    match conditions.iter_mut().find(|value| is_it(value)) {
        Some(old) => old.overwrite(&condition(wanted)),
        None => conditions.push(condition(wanted)),
    }
    Some(())
}

fn says(value: &Value, wanted: &Condition) -> bool {
    let text = |key: &str| value.get(key).and_then(Value::text).unwrap_or_default();
    Status::parse(text("status")) == wanted.status
        && text("reason") == wanted.reason
        && text("message") == wanted.message
}

fn condition(condition: &Condition) -> Value {
    let mut fields = vec![
        ("type", Value::string(condition.kind.as_str())),
        ("status", Value::string(condition.status.as_str())),
    ];
    for (key, text) in [
        ("reason", &condition.reason),
        ("message", &condition.message),
    ] {
        if !text.is_empty() {
            fields.push((key, Value::string(text.as_str())));
        }
    }
    Value::map(fields)
}

/// Appends a readiness gate unless it is there; whether it was missing (V8: in place, never sorted).
pub(crate) fn add_gate(kptfile: &mut Value, kind: &str) -> Option<bool> {
    let is_it = |value: &Value| value.get("conditionType").and_then(Value::text) == Some(kind);
    let listed = kptfile
        .lookup(&["info", "readinessGates"])
        .and_then(Value::as_seq);
    if listed.is_some_and(|seq| seq.items().iter().any(is_it)) {
        return Some(false);
    }
    let info = section(kptfile, "info", &["pipeline", "inventory", "status"])?;
    if info.get("readinessGates").is_none_or(Value::is_null) {
        info.set("readinessGates", Value::seq([]));
    }
    let gates = info.get_mut("readinessGates")?.as_seq_mut()?;
    gates
        .items_mut()
        .push(Value::map([("conditionType", Value::string(kind))]));
    Some(true)
}

/// Takes a readiness gate and its condition off, with lists that held nothing else.
pub(crate) fn remove_gate(kptfile: &mut Value, kind: &str) {
    for (section, list, key) in [
        ("info", "readinessGates", "conditionType"),
        ("status", "conditions", "type"),
    ] {
        let is_it = |value: &Value| value.get(key).and_then(Value::text) == Some(kind);
        let listed = kptfile.lookup(&[section, list]).and_then(Value::as_seq);
        if !listed.is_some_and(|seq| seq.items().iter().any(is_it)) {
            continue;
        }
        let Some(map) = kptfile.get_mut(section).and_then(Value::as_map_mut) else {
            continue;
        };
        if let Some(seq) = map.get_mut(list).and_then(Value::as_seq_mut) {
            seq.items_mut().retain(|value| !is_it(value));
            if seq.items().is_empty() {
                map.remove(list);
            }
        }
    }
}
