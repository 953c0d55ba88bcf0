//! Answers: status line, headers, JSON or YAML.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use objects::{Failure, Reason};
use serde_json::Value;

use super::negotiate::{Accept, Format};
use super::protobuf;

/// An answer with the headers that every answer has.
pub(super) fn with(code: u16, content_type: &str, body: Body, warnings: &[String]) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, private"),
    );
    set(headers, header::CONTENT_TYPE, content_type);
    for warning in told(warnings) {
        if let Ok(value) = HeaderValue::from_bytes(warned(&warning).as_bytes()) {
            headers.append(header::WARNING, value);
        }
    }
    response
}

/// A warning as its header has it. Line breaks and the like, which no header can hold, are written as escapes: a file's
/// name that somebody chose must not make the warning about it vanish.
fn warned(warning: &str) -> String {
    let mut text = String::with_capacity(warning.len() + 8);
    text.push_str("299 - \"");
    for c in warning.chars() {
        match c {
            '\\' | '"' => text.extend(['\\', c]),
            c if c.is_control() => {
                for e in c.escape_default() {
                    match e {
                        '\\' => text.push_str("\\\\"),
                        e => text.push(e),
                    }
                }
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// The warnings that an answer carries: each once, and where they have more than 4,096 characters together the first of them,
/// none with more than 256 (kube-apiserver's limits).
fn told(warnings: &[String]) -> Vec<String> {
    const TOGETHER: usize = 4 << 10;
    const EACH: usize = 256;
    let mut seen = std::collections::BTreeSet::new();
    let all = warnings.iter().map(String::as_str);
    let once: Vec<&str> = all.filter(|warning| seen.insert(*warning)).collect();
    let length = |text: &str| text.chars().count();
    if once.iter().map(|w| length(w)).sum::<usize>() <= TOGETHER {
        return once.into_iter().map(str::to_owned).collect();
    }
    let mut told = 0;
    let short = once.into_iter().map(|w| w.chars().take(EACH).collect());
    let fits = |short: &String| {
        let before = told;
        told += length(short);
        before < TOGETHER
    };
    short.take_while(fits).collect()
}

/// Sets a header; a value that no header can hold is left out.
pub(super) fn set(headers: &mut http::HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// JSON text as an answer, turned into YAML where that was asked for.
pub(super) fn text(code: u16, format: Format, json: Bytes, warnings: &[String]) -> Response {
    match format {
        Format::Json => with(code, "application/json", json.into(), warnings),
        Format::Yaml => {
            let value: Value = serde_json::from_slice(&json).unwrap_or(Value::Null);
            with(code, "application/yaml", to_yaml(&value).into(), warnings)
        }
        Format::Protobuf => {
            let value: Value = serde_json::from_slice(&json).unwrap_or(Value::Null);
            binary(code, &value, warnings)
        }
    }
}

/// Protobuf; what has no such form is a 406, in protobuf.
fn binary(code: u16, value: &Value, warnings: &[String]) -> Response {
    if let Some(body) = protobuf::body(value) {
        return with(code, protobuf::MEDIA, body.into(), warnings);
    }
    let why = "the object does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message";
    let refusal = Failure::new(406, Reason::NotAcceptable, why).to_status();
    let body = protobuf::body(&refusal).unwrap_or_default();
    with(406, protobuf::MEDIA, body.into(), &[])
}

/// A value as an answer.
pub(super) fn value(code: u16, format: Format, value: &Value, warnings: &[String]) -> Response {
    if format == Format::Protobuf {
        return binary(code, value, warnings);
    }
    let json = serde_json::to_vec(value).unwrap_or_default();
    text(code, format, json.into(), warnings)
}

/// A failure as an answer.
pub(super) fn failure(failure: &Failure, accept: &Accept, warnings: &[String]) -> Response {
    if failure.plain {
        let mut response = with(
            failure.code,
            "text/plain; charset=utf-8",
            failure.message.clone().into(),
            &[],
        );
        set(
            response.headers_mut(),
            HeaderName::from_static("x-content-type-options"),
            "nosniff",
        );
        return response;
    }
    let warnings = [warnings, &failure.warnings].concat();
    let mut response = value(
        failure.code,
        accept.plain(),
        &failure.to_status(),
        &warnings,
    );
    if failure.unadmitted {
        let name = HeaderName::from_static("x-content-type-options");
        set(response.headers_mut(), name, "nosniff");
    }
    let waits = failure
        .details
        .as_ref()
        .is_some_and(|d| d.contains_key("retryAfterSeconds"));
    if waits || matches!(failure.code, 429 | 503 | 504) {
        set(response.headers_mut(), header::RETRY_AFTER, "1");
    }
    response
}

/// Writes a value as block YAML with sorted keys, the way the real server does.
fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    block(&mut out, value, 0, false);
    out
}

fn block(out: &mut String, value: &Value, depth: usize, in_list: bool) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 || !in_list {
                    out.push_str(&"  ".repeat(depth));
                }
                scalar_text(out, key);
                out.push(':');
                nested(out, map.get(key).unwrap_or(&Value::Null), depth);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                out.push_str(&"  ".repeat(depth));
                out.push_str("- ");
                match item {
                    Value::Object(map) if !map.is_empty() => block(out, item, depth + 1, true),
                    Value::Array(list) if !list.is_empty() => {
                        out.push('\n');
                        block(out, item, depth + 1, false);
                    }
                    other => leaf(out, other),
                }
            }
        }
        other => leaf(out, other),
    }
}

fn nested(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            block(out, value, depth + 1, false);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(out, value, depth, false);
        }
        other => {
            out.push(' ');
            leaf(out, other);
        }
    }
}

fn leaf(out: &mut String, value: &Value) {
    match value {
        Value::Object(_) => out.push_str("{}"),
        Value::Array(_) => out.push_str("[]"),
        Value::String(text) => scalar_text(out, text),
        other => out.push_str(&other.to_string()),
    }
    out.push('\n');
}

/// Writes a text plainly where every YAML reader takes it for that text, otherwise in double quotes.
fn scalar_text(out: &mut String, text: &str) {
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '.' | '_'));
    // What starts with a digit is a number, a date or a text; with other letters than those of numbers it is a text.
    let name = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && text.contains(|c: char| c.is_ascii_alphabetic() && !"eExXoObB".contains(c));
    let plain = (word || name)
        && text.chars().all(|c| {
            c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | ' ' | '(' | ')')
        })
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && !matches!(
            text.to_lowercase().as_str(),
            "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | ".inf" | ".nan"
        );
    if plain {
        out.push_str(text);
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that somebody chose for a file must not make the warning about it vanish.
    #[test]
    fn a_warning_of_any_characters_has_a_header() {
        let warnings = ["caf\u{e9} \"a\\b\" line\nbreak".to_owned()];
        let response = with(200, "application/json", Body::empty(), &warnings);
        let value = response
            .headers()
            .get(header::WARNING)
            .map(HeaderValue::as_bytes);
        let wanted = "299 - \"caf\u{e9} \\\"a\\\\b\\\" line\\\\nbreak\"";
        assert_eq!(value, Some(wanted.as_bytes()));
    }
}
