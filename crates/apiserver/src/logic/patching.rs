//! From a patch body to the wanted object.

use serde_json::{Map, Value};

use super::Rules;
use crate::patch::{self, PatchError};
use crate::status::Failure;

/// How a patch is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Strategic merge, for built-in kinds.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchKind {
    /// Reads a media type.
    ///
    /// # Errors
    /// 415 naming what the kind supports.
    pub fn of(media: &str, custom: bool) -> Result<Self, Failure> {
        match media {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => {
                let mut known = vec![
                    "application/json-patch+json",
                    "application/merge-patch+json",
                ];
                if !custom {
                    known.push("application/strategic-merge-patch+json");
                }
                known.push("application/apply-patch+yaml");
                Err(Failure::unsupported_media_type(&known))
            }
        }
    }
}

/// RFC 7386: objects merge, null removes, everything else replaces.
#[must_use]
pub fn merge(old: &Value, patch: &Value) -> Value {
    let mut new = old.clone();
    json_patch::merge(&mut new, patch);
    new
}

/// Computes what a patch other than an apply makes of an object.
///
/// # Errors
/// 400 for a patch of the wrong form, 422 for one that does not fit the object.
pub fn apply(
    rules: Rules<'_>,
    kind: PatchKind,
    old: &Value,
    body: &Value,
) -> Result<Value, Failure> {
    let patched = match (kind, rules.resource.built_in) {
        (PatchKind::Json, _) => patch::json_patch(old, body),
        (PatchKind::Strategic, Some(built_in)) => {
            patch::strategic(old, body, built_in.schema_json())
        }
        _ => patch::merge_patch(old, body),
    };
    patched.map_err(|error| match error {
        PatchError::Unreadable(text) => Failure::bad_request(text),
        PatchError::TooLarge(text) => Failure::new(413, "RequestEntityTooLarge", text),
        PatchError::Unfit(_) => {
            Failure::new(422, "Invalid", error.to_string()).with_details(Map::new())
        }
    })
}
