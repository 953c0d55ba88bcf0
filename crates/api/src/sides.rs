//! What one side of a conflict holds, on the wire.

use model::ConflictValue;
use serde_json::{Value, json};

use crate::fields::FieldReader;

/// Absent is absent, a value stands under `value` as JSON text, a hash under `hash`.
pub(crate) fn write_side(value: &ConflictValue) -> Value {
    match value {
        ConflictValue::Absent => json!({ "absent": true }),
        ConflictValue::Json(text) => json!({ "value": text }),
        ConflictValue::Hash(hash) => json!({ "hash": hash }),
    }
}

pub(crate) fn read_side(fields: &FieldReader<'_>, key: &str) -> ConflictValue {
    let Some(side) = fields.child(key) else {
        return ConflictValue::Absent;
    };
    match (
        side.raw("value").and_then(Value::as_str),
        side.owned("hash"),
    ) {
        (Some(text), _) => ConflictValue::Json(text.to_owned()),
        (None, Some(hash)) => ConflictValue::Hash(hash),
        (None, None) => ConflictValue::Absent,
    }
}
