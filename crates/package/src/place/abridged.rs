//! Values of conflicts that are too long for a record: it tells them by their hashes (V4a).

use model::{Conflict, ConflictValue};
use sha2::{Digest, Sha256};

use super::id::{conflict_id, hex};

/// Gives a conflict the values that its record has room for, and the id that its place and these make.
pub(crate) fn identify(conflict: &mut Conflict) {
    abridge(conflict);
    conflict.id = conflict_id(conflict.place(), &conflict.local, &conflict.upstream);
}

/// The longest value that a record holds as it is, in bytes: each record is written with all of its conflicts, and stores have
/// limits.
const LONGEST: usize = 4096;
/// The longest one beside a longer one.
const BESIDE: usize = 1024;

/// Leaves of the values of a conflict no more than a record has room for: where one is too long, a hash of it and of others that
/// are not short either, so that equal values still look equal. What a record says of lines, comments, order and places is read
/// from it again, and stays.
fn abridge(conflict: &mut Conflict) {
    let mark = |end: &str| conflict.path.ends_with(end);
    if ["#lines", "#comment", "#order", "#file"]
        .into_iter()
        .any(mark)
    {
        return;
    }
    let sides = [
        &mut conflict.base,
        &mut conflict.local,
        &mut conflict.upstream,
    ];
    let too_long = |value: &ConflictValue| match value {
        ConflictValue::Json(json) => json.len() > LONGEST,
        value => value.abridged().is_some(),
    };
    if sides.iter().any(|value| too_long(value)) {
        for value in sides {
            *value = short(std::mem::replace(value, ConflictValue::Absent));
        }
    }
}

/// A value as the record of a conflict would hold it.
pub(crate) fn as_in(conflict: &Conflict, value: ConflictValue) -> ConflictValue {
    let sides = [&conflict.base, &conflict.local, &conflict.upstream];
    match sides.into_iter().any(|side| side.abridged().is_some()) {
        true => short(value),
        false => value,
    }
}

fn short(value: ConflictValue) -> ConflictValue {
    let ConflictValue::Json(json) = value else {
        return value;
    };
    if json.len() <= BESIDE {
        return ConflictValue::Json(json);
    }
    let what = match json.as_bytes().first() {
        Some(b'{') => MAP,
        Some(b'[') => LIST,
        _ => "a text",
    };
    let digest = hex(&Sha256::digest(json.as_bytes()), 32);
    ConflictValue::Hash(format!("sha256:{digest} ({what} of {} bytes)", json.len()))
}

const MAP: &str = "a map";
const LIST: &str = "a list";

/// Whether a value is a map or a list, also where it is told by its hash.
pub(crate) fn is_collection(value: &ConflictValue) -> bool {
    match value {
        ConflictValue::Json(json) => json.starts_with(['{', '[']),
        value => value
            .abridged()
            .is_some_and(|told| told.starts_with(MAP) || told.starts_with(LIST)),
    }
}
