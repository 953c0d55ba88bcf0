//! The id of a conflict.

use model::{ConflictId, PackagePath};
use sha2::{Digest, Sha256};

/// The id of the conflict at one place: the same (file, resource, path) has the same id in every
/// draft, whatever its values are (V18).
///
/// Sixteen lower-case hex digits: the beginning of the SHA-256 over the three, each ended by a NUL,
/// which none of them can hold.
pub fn conflict_id(file: &PackagePath, resource: &str, path: &str) -> ConflictId {
    let mut hash = Sha256::new();
    for part in [file.as_str(), resource, path] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    ConflictId(hex(&hash.finalize(), 8))
}

/// The first `bytes` bytes as lower-case hex digits.
pub(crate) fn hex(hash: &[u8], bytes: usize) -> String {
    hash.iter()
        .take(bytes)
        .map(|b| format!("{b:02x}"))
        .collect()
}
