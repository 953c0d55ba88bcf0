//! Request bodies: size limits, JSON and YAML.

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

use crate::status::Failure;

/// The media types of bodies, as refusals name them.
const READ: [&str; 3] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Reads a body up to the limit.
pub(super) async fn read(body: Body, limit: usize) -> Result<Bytes, Failure> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => {
            Err(Failure::too_large(limit))
        }
        Err(error) => Err(Failure::bad_request(format!(
            "read the request body: {error}"
        ))),
    }
}

/// The media type without parameters, in lower case; JSON if none was given.
pub(super) fn media_type(content_type: &str) -> String {
    let media = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    if media.is_empty() {
        "application/json".to_owned()
    } else {
        media
    }
}

/// Parses an object from a body.
pub(super) fn object(bytes: &Bytes, content_type: &str) -> Result<Value, Failure> {
    match media_type(content_type).as_str() {
        "application/json" => json(bytes),
        "application/yaml" => yaml(bytes),
        _ => Err(Failure::unsupported_media_type(&READ)),
    }
}

/// Parses JSON that must be an object.
pub(super) fn json(bytes: &Bytes) -> Result<Value, Failure> {
    let parsed: Result<Value, _> = serde_json::from_slice(bytes);
    match parsed {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) => Err(undecodable(
            bytes,
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
        )),
        Err(error) => Err(undecodable(
            bytes,
            &format!(
                "couldn't get version/kind; json parse error: {}",
                go_words(bytes, &error)
            ),
        )),
    }
}

/// Parses the first document of a YAML text.
pub(super) fn yaml(bytes: &Bytes) -> Result<Value, Failure> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| undecodable(bytes, "yaml: invalid leading UTF-8 octet"))?;
    let parsed =
        yaml::first_document_json(text, yaml::Reader::Sigs, false, &yaml::Limits::default());
    parsed.map_err(|e| undecodable(bytes, &format!("yaml: line {}: {}", e.line(), e.message())))
}

fn go_words(bytes: &Bytes, error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let line_start = bytes
        .split_inclusive(|b| *b == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum::<usize>();
    let at = line_start + error.column().saturating_sub(1);
    match bytes.get(at) {
        Some(byte) => format!(
            "invalid character '{}' looking for beginning of value",
            char::from(*byte)
        ),
        None => error.to_string(),
    }
}

/// 400 quoting the body as the real server does: 30 bytes of text, or hex where it is short.
fn undecodable(bytes: &Bytes, why: &str) -> Failure {
    let shown = if bytes.is_empty() {
        "<empty>".to_owned()
    } else if bytes.len() <= 5 {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    } else {
        let head = bytes.get(..30).unwrap_or(bytes);
        let dots = if bytes.len() > 30 { " ..." } else { "" };
        format!("{}{dots}", String::from_utf8_lossy(head))
    };
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type Unstructured): {why} ({shown})"
    ))
}
