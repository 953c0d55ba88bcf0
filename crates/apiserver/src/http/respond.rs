//! Answers: status line, headers, JSON or YAML.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use objects::{Failure, Reason};
use serde_json::Value;

use super::negotiate::{Accept, Format};
use super::protobuf;

/// An answer that is being made: every answer of the server is made here.
#[must_use = "finish it with `done`"]
pub(super) struct Answer(Response);

impl Answer {
    /// An answer with the headers that every answer has.
    pub(super) fn new(code: u16, media: &str, body: impl Into<Body>) -> Self {
        let mut response = Response::new(body.into());
        *response.status_mut() =
            StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self(response)
            .header(header::CACHE_CONTROL, "no-cache, private")
            .header(header::CONTENT_TYPE, media)
    }

    /// Nothing: whoever asks knows the document already.
    pub(super) fn known() -> Self {
        let mut answer = Self::new(304, "", Body::empty());
        answer.0.headers_mut().remove(header::CONTENT_TYPE);
        answer
    }

    /// Nothing: there is no such document.
    pub(super) fn nothing() -> Self {
        let mut answer = Self::new(404, "", Body::empty());
        answer.0.headers_mut().remove(header::CONTENT_TYPE);
        answer
    }

    /// An answer that was made before.
    pub(super) fn of(response: Response) -> Self {
        Self(response)
    }

    /// Adds texts for `Warning` headers.
    pub(super) fn warned(mut self, warnings: &[String]) -> Self {
        for warning in told(warnings) {
            if let Ok(value) = HeaderValue::from_bytes(warned(&warning).as_bytes()) {
                self.0.headers_mut().append(header::WARNING, value);
            }
        }
        self
    }

    /// Sets a header; a value that no header can hold is left out.
    pub(super) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers_mut().insert(name, value);
        }
        self
    }

    /// Says which state of a document it is, and that there are others for who accepts others.
    pub(super) fn tagged(self, etag: &str) -> Self {
        self.header(header::ETAG, etag)
            .header(header::VARY, "Accept")
    }

    /// Nobody shall guess another media type.
    fn unsniffed(self) -> Self {
        self.header(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
    }

    /// The answer.
    pub(super) fn done(self) -> Response {
        self.0
    }
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

/// JSON text as an answer, turned into YAML where that was asked for.
pub(super) fn text(code: u16, format: Format, json: Bytes, warnings: &[String]) -> Response {
    let value = || serde_json::from_slice(&json).unwrap_or(Value::Null);
    let answer = match format {
        Format::Json => Answer::new(code, "application/json", json),
        Format::Yaml => Answer::new(code, "application/yaml", to_yaml(&value())),
        Format::Protobuf => return binary(code, &value(), warnings),
    };
    answer.warned(warnings).done()
}

/// Protobuf; what has no such form is a 406, in protobuf.
fn binary(code: u16, value: &Value, warnings: &[String]) -> Response {
    if let Some(body) = protobuf::body(value) {
        return Answer::new(code, protobuf::MEDIA, body)
            .warned(warnings)
            .done();
    }
    let why = "the object does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message";
    let refusal = Failure::new(406, Reason::NotAcceptable, why).to_status();
    let body = protobuf::body(&refusal).unwrap_or_default();
    Answer::new(406, protobuf::MEDIA, body).done()
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
        let media = "text/plain; charset=utf-8";
        let answer = Answer::new(failure.code, media, failure.message.clone());
        return answer.unsniffed().done();
    }
    let warnings = [warnings, &failure.warnings].concat();
    let status = failure.to_status();
    let mut answer = Answer::of(value(failure.code, accept.plain(), &status, &warnings));
    if failure.unadmitted {
        answer = answer.unsniffed();
    }
    let waits = failure
        .details
        .as_ref()
        .is_some_and(|d| d.contains_key("retryAfterSeconds"));
    if waits || matches!(failure.code, 429 | 503 | 504) {
        answer = answer.header(header::RETRY_AFTER, "1");
    }
    answer.done()
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
        let answer = Answer::new(200, "application/json", Body::empty());
        let response = answer.warned(&warnings).done();
        let value = response
            .headers()
            .get(header::WARNING)
            .map(HeaderValue::as_bytes);
        let wanted = "299 - \"caf\u{e9} \\\"a\\\\b\\\" line\\\\nbreak\"";
        assert_eq!(value, Some(wanted.as_bytes()));
    }
}
