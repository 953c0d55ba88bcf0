//! What holds a Secret, wherever it stands: its values are recorded as hashes and shown nowhere.

use yaml::{Limits, Node, Reader, Stream, Value};

/// Whether a value is a Secret or holds one: lists do, and so do resources that carry manifests of others, also as text, and
/// kustomizations that make one.
pub fn holds_secret(value: &Value) -> bool {
    let kind = value.get("kind").and_then(Value::as_str);
    let holds = |key: &&str| value.get(key).is_some();
    // A mere reference to a Secret has its kind and none of its values.
    let secret = kind == Some("Secret") && ["data", "stringData", "metadata"].iter().any(holds);
    secret
        || kind == Some("SecretList")
        || value.get("secretGenerator").is_some()
        || match value {
            Value::Str(text) => text_within_holds_secret(text),
            Value::Seq(items) => items.iter().any(holds_secret),
            Value::Map(entries) => entries.iter().any(|(_, value)| holds_secret(value)),
            _ => false,
        }
}

/// A text with what double quotes take for characters by their numbers, wherever that stands: words are looked for in it.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = match after.chars().next() {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        let code = after
            .get(1..=digits)
            .and_then(|hex| u32::from_str_radix(hex, 16).ok());
        rest = match code.and_then(char::from_u32) {
            Some(character) => {
                out.push(character);
                after.get(digits + 1..).unwrap_or_default()
            }
            // A line may end within a word.
            None if after.starts_with(['\n', '\r']) => after.trim_start(),
            None => after,
        };
    }
    out.push_str(rest);
    out
}

/// Whether a text within a document is a manifest that holds a Secret. A sentence that has the word is none.
pub(crate) fn text_within_holds_secret(text: &str) -> bool {
    let words = unescaped(text);
    if !(words.contains("Secret") && words.contains("kind")) {
        return false;
    }
    // What cannot be read is hidden; a text that is one text, whatever it says, is no manifest.
    let Ok(stream) = Stream::parse(text, &Limits::default()) else {
        return text.contains('\n');
    };
    let mut values = stream.documents().map(|d| d.to_value(Reader::V3));
    values.any(|value| match value {
        Ok(value @ (Value::Map(_) | Value::Seq(_))) => holds_secret(&value),
        Ok(_) => false,
        Err(_) => text.contains('\n'),
    })
}

/// Whether a value within a resource holds one, such as an annotation with a whole manifest.
pub(crate) fn secret_within(node: Node<'_>) -> bool {
    // Where the word is not, and no escape may be it, nothing is read.
    let source = node.source();
    if !source.contains("Secret") && !source.contains('\\') {
        return false;
    }
    let value = node.to_value(Reader::V3);
    value.is_ok_and(|value| holds_secret(&value))
}
