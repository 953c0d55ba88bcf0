//! Intents: the whole records that follow from a submission.

use model::{Namespace, ObjectKey, ObjectName, Revision};
use serde_json::{Value, json};

use super::parts::object;
use super::reader::{JsonFields, parse};
use super::{CodecError, revision};

/// The format that [`encode_intent`] writes.
const FORMAT: u64 = 1;

/// One record that follows from a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// It is written.
    Put {
        /// As it will be, but for its versions.
        record: Box<Revision>,
        /// Whether it describes the commit that the writer makes on the branch, whose id is not
        /// known when the intent is written.
        at_branch_commit: bool,
    },
    /// It is removed.
    Delete(ObjectKey),
}

/// Writes the records of one submission.
pub(crate) fn encode_intent<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<u8> {
    let list: Value = records.into_iter().map(one).collect();
    let intent = object([("format", FORMAT.into()), ("records", list)]);
    // Written straight into bytes: as a text, each piece would be looked at once more. A value of texts and numbers cannot fail.
    serde_json::to_vec(&intent).unwrap_or_default()
}

fn one(record: &Record) -> Value {
    match record {
        Record::Put {
            record,
            at_branch_commit,
        } => object([
            ("put", revision::to_json(record)),
            ("atBranchCommit", (*at_branch_commit).into()),
        ]),
        Record::Delete(key) => {
            json!({ "delete": { "namespace": key.namespace.as_str(), "name": key.name.as_str() } })
        }
    }
}

/// Reads what [`encode_intent`] wrote.
///
/// # Errors
/// Another shape, or a newer format.
pub(crate) fn decode_intent(bytes: &[u8]) -> Result<Vec<Record>, CodecError> {
    let text = std::str::from_utf8(bytes).map_err(|e| CodecError::Json(e.to_string()))?;
    let value = parse(text, FORMAT)?;
    JsonFields::of(&value, "intent")?.list("records", read_one)
}

fn read_one(value: &Value) -> Result<Record, CodecError> {
    let fields = JsonFields::of(value, "records")?;
    if let Some(put) = fields.get("put") {
        return Ok(Record::Put {
            record: Box::new(revision::from_json(put)?),
            at_branch_commit: fields.flag("atBranchCommit"),
        });
    }
    let key = fields.object("delete")?;
    Ok(Record::Delete(ObjectKey::new(
        key.parsed("namespace", |t| Namespace::parse(t).ok())?,
        key.parsed("name", |t| ObjectName::parse(t).ok())?,
    )))
}
