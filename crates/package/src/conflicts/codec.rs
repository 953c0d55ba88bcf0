//! The text form of conflicts: one line of JSON, as the `offshoot-conflicts:` trailer holds it (V4a, X7).

use model::{Conflict, ConflictId, ConflictState, ConflictValue, Decision, PackagePath};
use serde_json::{Map, Value, json};

/// The format version that [`encode`] writes.
const FORMAT: u64 = 1;

/// The longest text that goes into a trailer, in bytes; a longer one goes into a blob (V4a).
pub const TRAILER_LIMIT: usize = 64 * 1024;

/// Why a text is not a list of conflicts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// It is not JSON of the expected shape.
    #[error("the list of conflicts cannot be read: {0}")]
    Malformed(String),
    /// A newer Offshoot wrote it (X7: refused untouched).
    #[error("the list of conflicts has format {0}, which is newer than this program")]
    Newer(u64),
}

/// Writes conflicts as one line.
pub fn encode(conflicts: &[Conflict]) -> String {
    let list: Vec<Value> = conflicts.iter().map(encode_one).collect();
    json!({ "format": FORMAT, "conflicts": list }).to_string()
}

fn encode_one(conflict: &Conflict) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        map.insert(key.to_owned(), value);
    };
    put("id", conflict.id.0.as_str().into());
    put("file", conflict.file.as_str().into());
    put("resource", conflict.resource.as_str().into());
    put("path", conflict.path.as_str().into());
    put("base", encode_value(&conflict.base));
    put("local", encode_value(&conflict.local));
    put("upstream", encode_value(&conflict.upstream));
    put("decision", decision(conflict.decision).into());
    put("state", state(conflict.state).into());
    if let Some(cause) = &conflict.derived_from {
        put("derivedFrom", cause.0.as_str().into());
    }
    Value::Object(map)
}

fn encode_value(value: &ConflictValue) -> Value {
    match value {
        ConflictValue::Absent => Value::Null,
        ConflictValue::Json(text) => json!({ "json": text }),
        ConflictValue::Hash(text) => json!({ "hash": text }),
    }
}

fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Upstream => "Upstream",
        Decision::Local => "Local",
    }
}

fn state(state: ConflictState) -> &'static str {
    match state {
        ConflictState::Open => "Open",
        ConflictState::Acknowledged => "Acknowledged",
        ConflictState::Resolved => "Resolved",
        ConflictState::Recorded => "Recorded",
    }
}

/// Reads what [`encode`] wrote. Fields that this version does not know are ignored.
pub fn decode(text: &str) -> Result<Vec<Conflict>, CodecError> {
    let value: Value =
        serde_json::from_str(text).map_err(|e| CodecError::Malformed(e.to_string()))?;
    let format = value.get("format").and_then(Value::as_u64);
    match format {
        Some(FORMAT) => {}
        Some(newer) if newer > FORMAT => return Err(CodecError::Newer(newer)),
        _ => return Err(malformed("format")),
    }
    let list = value.get("conflicts").and_then(Value::as_array);
    let list = list.ok_or_else(|| malformed("conflicts"))?;
    list.iter().map(decode_one).collect()
}

fn malformed(field: &str) -> CodecError {
    CodecError::Malformed(format!("field `{field}` is missing or wrong"))
}

fn decode_one(value: &Value) -> Result<Conflict, CodecError> {
    let text = |field: &str| {
        let text = value.get(field).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| malformed(field))
    };
    Ok(Conflict {
        id: ConflictId(text("id")?),
        file: PackagePath::parse(&text("file")?).map_err(|_| malformed("file"))?,
        resource: text("resource")?,
        path: text("path")?,
        base: decode_value(value, "base")?,
        local: decode_value(value, "local")?,
        upstream: decode_value(value, "upstream")?,
        decision: match text("decision")?.as_str() {
            "Upstream" => Decision::Upstream,
            "Local" => Decision::Local,
            _ => return Err(malformed("decision")),
        },
        state: match text("state")?.as_str() {
            "Open" => ConflictState::Open,
            "Acknowledged" => ConflictState::Acknowledged,
            "Resolved" => ConflictState::Resolved,
            "Recorded" => ConflictState::Recorded,
            _ => return Err(malformed("state")),
        },
        derived_from: text("derivedFrom").ok().map(ConflictId),
    })
}

fn decode_value(conflict: &Value, field: &str) -> Result<ConflictValue, CodecError> {
    let value = conflict.get(field).unwrap_or(&Value::Null);
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    match (value, text("json"), text("hash")) {
        (Value::Null, ..) => Ok(ConflictValue::Absent),
        (_, Some(json), None) => Ok(ConflictValue::Json(json)),
        (_, None, Some(hash)) => Ok(ConflictValue::Hash(hash)),
        _ => Err(malformed(field)),
    }
}
