//! Values as text: Go's `%v`, and `printf`.

use std::fmt::Write as _;

use serde_json::Value;

use super::functions::kind;

/// Is it neither empty, nor zero, nor false, nor missing?
pub(super) fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// `%v`: texts as they are, `[a b]`, `map[key:value]`.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<_> = items.iter().map(plain).collect();
            format!("[{}]", texts.join(" "))
        }
        Value::Object(map) => {
            let mut texts: Vec<_> = map.iter().map(|(k, v)| (k, plain(v))).collect();
            texts.sort();
            let texts: Vec<_> = texts.iter().map(|(k, v)| format!("{k}:{v}")).collect();
            format!("map[{}]", texts.join(" "))
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// `%-10s`, taken apart.
#[derive(Default)]
struct Verb {
    left: bool,
    zero: bool,
    plus: bool,
    width: usize,
    precision: Option<usize>,
}

/// Go's `Sprintf` with the verbs v, s, q, d, f, t and x.
pub(super) fn printf(format: &str, values: &[Value]) -> Result<String, String> {
    let mut out = String::new();
    let mut left = values.iter();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut verb = Verb::default();
        while let Some(flag) = rest.next_if(|c| matches!(c, '-' | '0' | '+' | ' ' | '#')) {
            match flag {
                '-' => verb.left = true,
                '0' => verb.zero = true,
                '+' => verb.plus = true,
                other => return Err(format!("printf: the flag {other:?} is not known here")),
            }
        }
        verb.width = number(&mut rest)?.unwrap_or(0);
        if rest.next_if_eq(&'.').is_some() {
            verb.precision = Some(number(&mut rest)?.unwrap_or(0));
        }
        let Some(letter) = rest.next() else {
            return Err(format!("printf: {format:?} ends within a verb"));
        };
        if letter == '%' {
            out.push('%');
            continue;
        }
        let Some(value) = left.next() else {
            return Err(format!(
                "printf: no value is left for %{letter} of {format:?}"
            ));
        };
        let text = one(letter, &verb, value)?;
        pad(&mut out, &text, &verb);
    }
    match left.next() {
        Some(_) => Err(format!("printf: {format:?} takes fewer values")),
        None => Ok(out),
    }
}

fn number(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Option<usize>, String> {
    let mut digits = String::new();
    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    match digits.as_str() {
        "" => Ok(None),
        digits => match digits.parse() {
            Ok(number) if number <= 1000 => Ok(Some(number)),
            _ => Err(format!("printf: {digits} is too wide")),
        },
    }
}

fn one(letter: char, verb: &Verb, value: &Value) -> Result<String, String> {
    let cut = |text: String| match verb.precision {
        Some(n) => text.chars().take(n).collect(),
        None => text,
    };
    let signed = |text: String| {
        let plus = verb.plus && !text.starts_with('-');
        if plus { format!("+{text}") } else { text }
    };
    let wrong = || format!("printf: %{letter} of {}", kind(value));
    Ok(match (letter, value) {
        ('v' | 's', Value::String(text)) => cut(text.clone()),
        ('v' | 's', value) => plain(value),
        ('q', Value::String(text)) => format!("{:?}", cut(text.clone())),
        ('t', Value::Bool(value)) => value.to_string(),
        ('d', Value::Number(n)) if !n.is_f64() => signed(n.to_string()),
        ('f', Value::Number(n)) => {
            let n = n.as_f64().ok_or_else(wrong)?;
            signed(format!("{n:.*}", verb.precision.unwrap_or(6)))
        }
        ('x', Value::Number(n)) => n.as_u64().map(|n| format!("{n:x}")).ok_or_else(wrong)?,
        ('x', Value::String(text)) => text.bytes().fold(String::new(), |mut out, byte| {
            // Writing to a String cannot fail.
            _ = write!(out, "{byte:02x}");
            out
        }),
        ('q' | 't' | 'd' | 'f' | 'x', _) => return Err(wrong()),
        _ => {
            return Err(format!(
                "printf: %{letter} is not one of: %v %s %q %d %f %t %x %%"
            ));
        }
    })
}

fn pad(out: &mut String, text: &str, verb: &Verb) {
    let missing = verb.width.saturating_sub(text.chars().count());
    if verb.left {
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', missing));
        return;
    }
    if verb.zero {
        let sign = text.len() - text.trim_start_matches(['-', '+']).len();
        out.push_str(&text[..sign]);
        out.extend(std::iter::repeat_n('0', missing));
        out.push_str(&text[sign..]);
        return;
    }
    out.extend(std::iter::repeat_n(' ', missing));
    out.push_str(text);
}
