//! How Go prints values in messages, and the one place that knows it.

use serde_json::{Number, Value};

/// A text as Go's `%q` prints it.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value as `field.Error` shows it: texts quoted, numbers plain, the rest as JSON.
pub(crate) fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => go_number(n),
        Value::String(s) => quote(s),
        Value::Array(_) | Value::Object(_) => go_json(value),
    }
}

/// A number as Go's `%v` prints it (an exponent from 1e21 on and below 1e-4).
pub(crate) fn go_number(number: &Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    go_float(number.as_f64().unwrap_or_default())
}

/// A float as Go's `%v` prints it.
pub(crate) fn go_float(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || (1e-4..1e21).contains(&magnitude) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = exponent
                .strip_prefix('-')
                .map_or(("+", exponent), |d| ("-", d));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

/// Compact JSON with sorted keys and Go's HTML escapes.
pub(crate) fn go_json(value: &Value) -> String {
    sorted_json(value)
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// Compact JSON with keys in alphabetical order.
pub(crate) fn sorted_json(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(sorted_json).collect();
            format!("[{}]", parts.join(","))
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let parts: Vec<String> = keys
                .into_iter()
                .filter_map(|k| {
                    map.get(k)
                        .map(|v| format!("{}:{}", json_text(k), sorted_json(v)))
                })
                .collect();
            format!("{{{}}}", parts.join(","))
        }
        other => other.to_string(),
    }
}

fn json_text(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// No path is longer: a key of a megabyte with a hundred thousand fields below it would be told as often.
const LONGEST_PATH: usize = 1 << 10;

/// The path of a property below `path`.
#[must_use]
pub(crate) fn child(path: &str, name: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    step(path, [dot, name, ""])
}

/// The path of a list item below `path`.
#[must_use]
pub(crate) fn index(path: &str, index: usize) -> String {
    step(path, ["[", &index.to_string(), "]"])
}

/// Where a walk through an object stands. The path is written out only where something is told of the place: nearly all
/// places are only passed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum At<'a> {
    /// A path that is written already.
    Text(&'a str),
    /// A property.
    Field(&'a Self, &'a str),
    /// The same with a dot before it, whatever it stands below.
    Dotted(&'a Self, &'a str),
    /// An item of a list.
    Item(&'a Self, usize),
}

impl At<'_> {
    /// The whole object.
    pub(crate) const ROOT: At<'static> = At::Text("");

    /// The path.
    pub(crate) fn path(self) -> String {
        match self {
            Self::Text(path) => path.to_owned(),
            Self::Field(above, name) => child(&above.path(), name),
            Self::Dotted(above, name) => step(&above.path(), [".", name, ""]),
            Self::Item(above, at) => index(&above.path(), at),
        }
    }
}

/// The path of a map entry below `path`, in brackets (as `field.Path.Key` writes it).
pub(crate) fn key(path: &str, key: &str) -> String {
    step(path, ["[", key, "]"])
}

/// A path with one more step, cut where it gets too long.
pub(crate) fn step(path: &str, parts: [&str; 3]) -> String {
    let length = path.len() + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut out = String::with_capacity(length.min(LONGEST_PATH + 4));
    for part in std::iter::once(path).chain(parts) {
        let room = LONGEST_PATH.saturating_sub(out.len());
        if part.len() > room {
            let end = (0..=room).rev().find(|at| part.is_char_boundary(*at));
            out.push_str(part.get(..end.unwrap_or(0)).unwrap_or_default());
            if !out.ends_with("...") {
                out.push_str("...");
            }
            return out;
        }
        out.push_str(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_do_not_grow_without_end() {
        assert_eq!(child("", "a"), "a");
        assert_eq!(key(&index(&child("a", "b"), 3), "c"), "a.b[3][c]");
        let long = child("a", &"ü".repeat(1_000));
        assert!(long.len() <= LONGEST_PATH + 3 && long.ends_with("..."));
        let longer = index(&child(&long, "more"), 7);
        assert!(longer.len() <= LONGEST_PATH + 6, "{}", longer.len());
    }
}
