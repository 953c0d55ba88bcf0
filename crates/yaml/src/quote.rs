//! Scalars as text: written so that both readers read back the same value (Y2).

use crate::number;
use crate::scalar::{Reader, Scalar, plain};
use crate::tree::Style;
use crate::value::Value;

/// Where a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// By indentation.
    Block,
    /// Inside brackets.
    Flow,
    /// Inside brackets of a JSON text: strings and keys in double quotes.
    Json,
}

/// A scalar or an empty collection on one line, in the style of the scalar it replaces where that is possible.
pub(crate) fn inline(value: &Value, like: Style, context: Context) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Float(f) => typed_float(*f),
        Value::Str(text) => string(text, like, context),
        Value::Seq(_) => "[]".to_owned(),
        Value::Map(_) => "{}".to_owned(),
    }
}

/// A float that does not read back as an integer.
fn typed_float(value: f64) -> String {
    let text = number::float(value);
    let integral = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    if integral { format!("{text}.0") } else { text }
}

/// A string on one line.
pub(crate) fn string(text: &str, like: Style, context: Context) -> String {
    match like {
        _ if context == Context::Json => double(text),
        Style::SingleQuoted if single_holds(text) => format!("'{}'", text.replace('\'', "''")),
        Style::SingleQuoted | Style::DoubleQuoted => double(text),
        _ if plain_holds(text, context) => text.to_owned(),
        _ => double(text),
    }
}

/// A key.
pub(crate) fn key(text: &str, context: Context) -> String {
    string(text, Style::Plain, context)
}

fn single_holds(text: &str) -> bool {
    text.chars().all(printable)
}

/// Whether the text, unquoted, is this string for both readers and for the grammar.
pub(crate) fn plain_holds(text: &str, context: Context) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let string = |reader| matches!(plain(reader, text, true), Scalar::Str(_));
    if !string(Reader::V3)
        || !string(Reader::Sigs)
        || old_number(text)
        || matches!(text, "<<" | "=")
    {
        return false;
    }
    if text.starts_with("---") || text.starts_with("...") || text.ends_with([' ', ':']) {
        return false;
    }
    let second = text.chars().nth(1);
    let begins = match first {
        '-' => {
            second.is_some_and(|c| c != ' ') && (context == Context::Block || second != Some(','))
        }
        ' ' | '?' | ':' | ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>'
        | '\'' | '"' | '%' | '@' | '`' => false,
        _ => true,
    };
    begins
        && text.chars().all(printable)
        && !text.contains(": ")
        && !text.contains(" #")
        && (context == Context::Block || !text.contains([',', '[', ']', '{', '}', '?']))
}

/// What older or stricter readers take for a number although ours do not: base 60, numbers beyond a double.
fn old_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return false;
    }
    digits.contains(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ':' | '.' | '_' | 'e' | 'E' | '+' | '-'))
        && (digits.contains(':') || digits.contains(['e', 'E']) && !digits.contains('-'))
        && !digits.contains("..")
}

/// Whether a character may stand in a text as it is, inside one line.
fn printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// A string in double quotes, with escapes that JSON knows too.
pub(crate) fn double(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if printable(c) => out.push(c),
            c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// The header and the lines of a block scalar; `None` when the text cannot be one.
///
/// Lines come without indentation; empty ones stay empty.
pub(crate) fn block(text: &str, like: Style, indicator: usize) -> Option<(String, Vec<String>)> {
    let body = text.trim_end_matches('\n');
    let breaks = text.len() - body.len();
    let lines: Vec<&str> = body.split('\n').collect();
    let first = lines.iter().find(|line| !line.is_empty())?;
    let holds = text
        .chars()
        .all(|c| printable(c) || matches!(c, '\n' | '\t'));
    if !holds || first.starts_with('\t') || first.trim_matches([' ', '\t']).is_empty() {
        return None;
    }
    if first.starts_with(' ') && indicator > 9
        || lines
            .last()
            .is_some_and(|last| last.trim_matches([' ', '\t']).is_empty())
    {
        return None;
    }
    let folded = like == Style::Folded
        && lines
            .iter()
            .all(|line| !line.is_empty() && !line.starts_with([' ', '\t']) && !line.ends_with(' '));
    let mut header = if folded { ">" } else { "|" }.to_owned();
    if first.starts_with(' ') {
        header.push_str(&indicator.to_string());
    }
    match breaks {
        0 => header.push('-'),
        1 => {}
        _ => header.push('+'),
    }
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if folded && at > 0 {
            out.push(String::new());
        }
        out.push((*line).to_owned());
    }
    out.extend((1..breaks).map(|_| String::new()));
    Some((header, out))
}
