//! Request bodies: size limits, JSON and YAML.

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use objects::schema::{Reading, Structural};
use objects::write::{FieldValidation, WriteOptions};
use objects::{Failure, Misread, Reason};
use serde_json::Value;

use crate::verbs::RequestTarget;

/// The media types of bodies, as refusals name them.
const READ: [&str; 3] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// A body that takes longer to arrive is given up.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The media type that typed clients write built-in kinds in.
pub(super) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Reads a body up to the limit.
pub(super) async fn read(body: Body, limit: usize) -> Result<Bytes, Failure> {
    let Ok(read) = tokio::time::timeout(PATIENCE, Limited::new(body, limit).collect()).await else {
        return Err(Failure::new(
            408,
            Reason::Timeout,
            "the request body did not arrive in time",
        ));
    };
    match read {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => {
            Err(Failure::too_large(limit))
        }
        Err(error) => Err(Failure::bad_request(format!(
            "read the request body: {error}"
        ))),
    }
}

/// The media type without parameters, in lower case; JSON if none was given, nothing for what is none.
pub(super) fn media_type(content_type: &str) -> String {
    if content_type.trim().is_empty() {
        return "application/json".to_owned();
    }
    let mut parts = content_type.split(';');
    let media = parts.next().unwrap_or_default().trim().to_lowercase();
    let token = |text: &str| !text.is_empty() && !text.contains([' ', '\t', ',', '"']);
    let named = |part: &str| match part.split_once('=') {
        Some((name, value)) => token(name.trim()) && !value.trim().is_empty(),
        None => false,
    };
    let mut named = parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .all(named);
    named &= token(&media);
    if named { media } else { String::new() }
}

/// An object from a body, and what a strict reader would refuse about its text.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) object: Value,
    /// `duplicate field "spec.size"`, in the order of the text; where the type of the body is known, what is no field of it, too.
    pub(super) duplicates: Vec<String>,
}

/// What a body is to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) kind: &'a str,
    pub(super) version: &'a str,
    /// Whether the kind has no type in Go.
    pub(super) custom: bool,
    /// The type in Go that it is read into.
    pub(super) fields: Option<&'a Structural>,
    /// Whether nobody asks for a strict reader: then another one reads, with words of its own.
    pub(super) lax: bool,
}

impl<'a> Wanted<'a> {
    /// A kind that has a type in Go.
    pub(super) fn typed(kind: &'a str) -> Self {
        Self {
            kind,
            version: "v1",
            custom: false,
            fields: None,
            lax: false,
        }
    }

    /// What a request with these options writes to a resource.
    pub(super) fn of(target: &'a RequestTarget, options: &WriteOptions) -> Result<Self, Failure> {
        let rules = target.rules()?;
        let schema = rules.version.schema.as_deref();
        Ok(Self {
            kind: &rules.resource.kind,
            version: &rules.version.name,
            custom: rules.resource.custom(),
            fields: schema.filter(|_| !rules.resource.custom()),
            lax: options.field_validation == FieldValidation::Ignore,
        })
    }

    fn reading(&self) -> Reading<'a> {
        self.fields
            .map_or_else(Reading::anything, Structural::reading)
    }
}

/// Parses an object of a kind from a body.
pub(super) fn object(
    bytes: &Bytes,
    content_type: &str,
    wanted: Wanted<'_>,
) -> Result<Decoded, Failure> {
    let Wanted { kind, custom, .. } = wanted;
    let is_json = media_type(content_type) == "application/json";
    let read = |decoded: Result<Decoded, String>| {
        let nothing = match decoded {
            Err(why) if why == NOTHING => true,
            Err(why) => return Err(undecodable(bytes, kind, &why)),
            Ok(mut decoded) => {
                Misread::interpret(&decoded.object)
                    .map_err(|why| undecodable(bytes, kind, &why))?;
                if custom {
                    go_numbers(&mut decoded.object);
                    kind_of(&decoded.object, bytes, is_json, wanted)?;
                }
                return Ok(decoded);
            }
        };
        if nothing && custom {
            kind_of(&Value::Null, bytes, is_json, wanted)?;
        }
        // What has a type in Go is an empty object then.
        Ok(Decoded {
            object: serde_json::json!({}),
            duplicates: Vec::new(),
        })
    };
    match media_type(content_type).as_str() {
        "application/json" => read(json(bytes, wanted.reading())),
        "application/yaml" => read(yaml(bytes).and_then(map).map(|read| put(read, wanted))),
        PROTOBUF if !custom => protobuf(bytes).map_err(Failure::bad_request),
        _ => Err(Failure::unsupported_media_type(&READ)),
    }
}

/// What came as YAML is put into the fields of its type as Go does it: from JSON, with its keys in order.
fn put(read: Decoded, wanted: Wanted<'_>) -> Decoded {
    let mut text = Vec::new();
    let fields = wanted.fields.is_some();
    if !fields || objectstore::sorted(&mut text, &read.object).is_err() {
        return read;
    }
    match super::strict::parse(&text, wanted.reading()) {
        Ok((object, odd)) => Decoded {
            object,
            duplicates: read.duplicates.into_iter().chain(odd).collect(),
        },
        Err(_) => read,
    }
}

/// What has no type in Go must say what it is.
fn kind_of(
    object: &Value,
    bytes: &Bytes,
    is_json: bool,
    wanted: Wanted<'_>,
) -> Result<(), Failure> {
    let Wanted {
        kind, version, lax, ..
    } = wanted;
    let said = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let given = said("apiVersion").rsplit('/').next().unwrap_or_default();
    if !said("kind").is_empty() {
        return match object.get("apiVersion") {
            Some(Value::Null) => {
                let why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string";
                let why = Misread::Type(why.to_owned());
                Err(Failure::misread((said("kind"), ""), kind, why))
            }
            _ => Ok(()),
        };
    }
    let text = match is_json || !lax {
        true => String::from_utf8_lossy(bytes).into_owned(),
        // Another reader sees what became of YAML.
        false => {
            let mut sorted = Vec::new();
            match objectstore::sorted(&mut sorted, object) {
                Ok(()) => String::from_utf8_lossy(&sorted).into_owned(),
                Err(_) => object.to_string(),
            }
        }
    };
    let why = format!("Object 'Kind' is missing in '{text}'");
    if !lax {
        return Err(undecodable(bytes, kind, &why));
    }
    let version = if given.is_empty() { version } else { given };
    Err(Failure::misread((kind, version), kind, Misread::Type(why)))
}

/// Whole numbers beyond 64 bits with a sign become floating-point numbers, as in every tool that is written in Go.
fn go_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.as_i64().is_none() => {
            let text = number.to_string();
            if !text.contains(['.', 'e', 'E'])
                && let Some(float) = number.as_f64().and_then(serde_json::Number::from_f64)
            {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(go_numbers),
        Value::Object(map) => map.values_mut().for_each(go_numbers),
        _ => {}
    }
}

/// Parses the protobuf form of a built-in kind.
pub(super) fn protobuf(bytes: &Bytes) -> Result<Decoded, String> {
    let object = super::protobuf::object(bytes)?;
    Ok(Decoded {
        object,
        duplicates: Vec::new(),
    })
}

/// What is said of a body that holds nothing.
const NOTHING: &str = "Object 'Kind' is missing in 'null'";

/// An empty object where a body held nothing.
pub(super) fn nothing(why: String) -> Result<Decoded, String> {
    match why == NOTHING {
        true => Ok(Decoded {
            object: serde_json::json!({}),
            duplicates: Vec::new(),
        }),
        false => Err(why),
    }
}

/// Parses JSON that must be an object.
pub(super) fn json(bytes: &Bytes, place: Reading<'_>) -> Result<Decoded, String> {
    let couldnt = |why: &str| format!("couldn't get version/kind; json parse error: {why}");
    let (object, duplicates) =
        super::strict::parse(bytes, place).map_err(|e| couldnt(&go_words(bytes, &e)))?;
    map(Decoded { object, duplicates })
}

/// What is decoded must be a map: Go reads kind and version of it.
pub(super) fn map(decoded: Decoded) -> Result<Decoded, String> {
    let found = match &decoded.object {
        Value::Object(_) => return Ok(decoded),
        Value::Null => return Err(NOTHING.to_owned()),
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    Err(format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    ))
}

/// Parses the first document of a YAML text; the last of duplicate keys wins.
pub(super) fn yaml(bytes: &Bytes) -> Result<Decoded, String> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    let limits = yaml::Limits::default();
    let read = |strict| yaml::first_document_json(text, yaml::Reader::Sigs, strict, &limits);
    let object = read(false).map_err(|e| e.as_go_says())?;
    let duplicates = read(true)
        .err()
        .map(|e| format!("line {}: {}", e.line(), e.message()));
    Ok(Decoded {
        object,
        duplicates: duplicates.into_iter().collect(),
    })
}

/// What Go's decoder says about a broken text.
pub(super) fn go_words(bytes: &Bytes, error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    super::scan::problem(bytes).unwrap_or_else(|| error.to_string())
}

/// 400 quoting the body as the real server does: 30 bytes, in hex unless it looks like JSON.
fn undecodable(bytes: &Bytes, kind: &str, why: &str) -> Failure {
    const SHOWN: usize = 30;
    let head = bytes.get(..SHOWN).unwrap_or(bytes);
    let dots = if bytes.len() > SHOWN { " ..." } else { "" };
    let shown = match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{dots}", String::from_utf8_lossy(head)),
        Some(_) => head.iter().map(|b| format!("{b:02x}")).collect::<String>() + dots,
    };
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({shown})"
    ))
}
