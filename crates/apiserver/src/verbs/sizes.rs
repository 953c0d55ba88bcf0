//! How large a stored object may be: measured, and refused, as the real server's store does.

use objects::write::metadata_mut;
use objects::{Failure, Reason};
use objectstore::NewObject;
use serde_json::Value;

use super::RequestTarget;

/// A request to the store may have this many bytes.
const LIMIT: usize = 2 << 20;

/// The limit of objects of a resource with a larger request limit is that limit.
fn limit(target: &RequestTarget) -> usize {
    if target.resource.takes_larger_bodies() {
        target.resource.body_limit
    } else {
        LIMIT
    }
}

/// Writes an object down. One that is too large is tried once more without its managed fields.
///
/// # Errors
/// 400 for metadata of the wrong shape, 500 for what is too large, in the words of the real server.
pub(super) fn draft(target: &RequestTarget, mut object: Value) -> Result<NewObject, Failure> {
    let write = |object: &Value| {
        NewObject::new(object)
            .map_err(|e| Failure::bad_request(format!("write the object down: {e}")))
    };
    let limit = limit(target);
    let draft = write(&object)?;
    if request(target, &draft) <= limit {
        return Ok(draft);
    }
    if let Some(metadata) = metadata_mut(&mut object) {
        metadata.remove("managedFields");
    }
    let draft = write(&object)?;
    let size = request(target, &draft);
    if size <= limit {
        return Ok(draft);
    }
    let why = format!(
        "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {limit})"
    );
    Err(Failure::new(500, Reason::Unknown, why))
}

/// How long the request of the real server to its store would be that creates the object: a comparison of the key's
/// version and a put, each in the envelopes of its protocol.
fn request(target: &RequestTarget, draft: &NewObject) -> usize {
    /// What a draft has room for and the store does not keep, and the line's end.
    const VERSION: usize = "\"resourceVersion\":\"\",".len() - 1;
    let resource = &target.resource;
    let mut key = "/registry/".len() + resource.plural.len() + 1 + target.key().len();
    if resource.custom() {
        key += resource.group.len() + 1;
    }
    let put = field(key) + field(draft.len().saturating_sub(VERSION));
    let compare = field(key) + 4;
    field(field(put)) + field(compare)
}

/// A field of so many bytes, with its number and its length.
fn field(length: usize) -> usize {
    let digits = length
        .checked_ilog2()
        .map_or(1, |bits| bits as usize / 7 + 1);
    1 + digits + length
}
