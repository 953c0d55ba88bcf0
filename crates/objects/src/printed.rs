//! Values as Go prints them, for messages that name what was found.

use serde_json::Value;

/// A value as Go prints it with `%v`.
pub(crate) fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_value).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by_key(|(key, _)| key.as_str());
            let members: Vec<String> = members
                .into_iter()
                .map(|(key, value)| format!("{key}:{}", go_value(value)))
                .collect();
            format!("map[{}]", members.join(" "))
        }
        other => other.to_string(),
    }
}

/// The Go type of a value.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What Go's JSON reader calls a value that it cannot put where it stands; a number with a fraction by its digits.
pub(crate) fn go_kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(n) if n.is_f64() => format!("number {n}"),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    }
}
