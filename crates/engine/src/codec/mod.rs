//! The texts that the engine keeps in git: trailers of commits, and whole records in intents.
//!
//! Every one carries a format version (X7): what an older version wrote is read,
//! what a newer one wrote is refused untouched. Nothing here is served to anybody.

mod intent;
mod machine;
mod parts;
mod reader;
mod rendering;
mod revision;
mod task;

pub(crate) use intent::{Record, decode_intent, encode_intent};
pub(crate) use machine::{decode_conditions, decode_machine, encode_conditions, encode_machine};
pub(crate) use task::{decode_task, encode_task};

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CodecError {
    /// It is not of the expected shape.
    #[error("field {0:?} is missing or wrong")]
    Field(String),
    /// It is no JSON.
    #[error("it is not JSON: {0}")]
    Json(String),
    /// A newer program wrote it.
    #[error("it has format {0}, which is newer than this program")]
    Newer(u64),
}

#[cfg(test)]
mod tests;
