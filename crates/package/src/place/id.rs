//! The id of a conflict, and the order of conflicts.

use model::{Conflict, ConflictId, ConflictValue, PackagePath};
use sha2::{Digest, Sha256};

/// The id of the conflict at one place between a local and an upstream value (V4a): a conflict that opens again with
/// other values has another id, so that what was said about the old one cannot be taken for an answer. The base does
/// not count.
///
/// Sixteen lower-case hex digits: the beginning of the SHA-256 over the five, each ended by a NUL, which none of them
/// can hold.
pub fn conflict_id(
    (file, resource, path): (&PackagePath, &str, &str),
    local: &ConflictValue,
    upstream: &ConflictValue,
) -> ConflictId {
    let mut hash = Sha256::new();
    let (local, upstream) = (tagged(local), tagged(upstream));
    for (tag, part) in [
        ("", file.as_str()),
        ("", resource),
        ("", path),
        local,
        upstream,
    ] {
        hash.update(tag.as_bytes());
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    ConflictId(hex(&hash.finalize(), 8))
}

/// A value as it is hashed: no two kinds of it look the same.
fn tagged(value: &ConflictValue) -> (&'static str, &str) {
    match value {
        ConflictValue::Absent => ("absent", ""),
        ConflictValue::Json(text) => ("json ", text),
        ConflictValue::Hash(text) => ("hash ", text),
    }
}

/// The order in which conflicts are listed everywhere (M9): by place.
pub fn sort(conflicts: &mut [Conflict]) {
    conflicts.sort_by(|a, b| (a.place(), &a.id).cmp(&(b.place(), &b.id)));
}

/// The first `bytes` bytes as lower-case hex digits.
pub(crate) fn hex(hash: &[u8], bytes: usize) -> String {
    hash.iter()
        .take(bytes)
        .map(|b| format!("{b:02x}"))
        .collect()
}
