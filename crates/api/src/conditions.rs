//! Conditions on the wire: transition times and observed generations are added here, and only
//! when a condition's status changes.

use model::{Condition, Status};
use serde_json::{Map, Value};

use crate::fields::{FieldReader, put};

/// Reads a list of conditions; an unknown status reads as `Unknown` (M18).
pub fn read_conditions(list: Option<&Value>) -> Vec<Condition> {
    let items = list.and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .map(|item| {
            let c = FieldReader::new(item, "");
            Condition {
                kind: c.owned("type").unwrap_or_default(),
                status: Status::parse(c.text("status").unwrap_or_default()),
                reason: c.owned("reason").unwrap_or_default(),
                message: c.owned("message").unwrap_or_default(),
            }
        })
        .collect()
}

/// A package's own conditions: no times.
pub(crate) fn write_plain(conditions: &[Condition]) -> Vec<Value> {
    conditions.iter().map(|c| Value::Object(plain(c))).collect()
}

fn plain(condition: &Condition) -> Map<String, Value> {
    let mut out = Map::new();
    put(&mut out, "type", &condition.kind);
    put(&mut out, "status", condition.status.as_str());
    put(&mut out, "reason", &condition.reason);
    put(&mut out, "message", &condition.message);
    out
}

/// The new list of an object's conditions: times stay where the status stayed.
///
/// Conditions of types that are not among `new` are dropped: the caller states them all. The
/// order is that of `new`.
pub fn merge_conditions(
    old: Option<&Value>,
    new: &[Condition],
    generation: i64,
    now: &str,
) -> Value {
    let before = |kind: &str| {
        old.and_then(Value::as_array)?
            .iter()
            .find(|c| c.get("type") == Some(&kind.into()))
    };
    let write = |condition: &Condition| {
        let mut out = plain(condition);
        let same = before(&condition.kind)
            .filter(|b| b.get("status") == Some(&condition.status.as_str().into()));
        let time = same.and_then(|b| b.get("lastTransitionTime")).cloned();
        out.insert(
            "lastTransitionTime".to_owned(),
            time.unwrap_or_else(|| now.into()),
        );
        out.insert("observedGeneration".to_owned(), generation.into());
        Value::Object(out)
    };
    Value::Array(new.iter().map(write).collect())
}
