//! Names and marks of a set's variants (S1, R161–R163).

use std::fmt::Write;

use model::{Downstream, ObjectKey, ObjectName, OwnerReference, Uid};
use sha1::{Digest, Sha1};

/// The label of a set's variants; its value is the set's uid (R162).
pub const LABEL: &str = "config.porch.kpt.dev/packagevariantset";
/// On a variant: it follows from an entry of an explicit list, whose removal needs no
/// confirmation (S3).
pub const EXPLICIT: &str = "offshoot.dev/explicit-target";
/// On a set, and on its variants: who wrote the set last, by the server's word. What a variant injects is read as that
/// user, also once it has no set any more (X6).
pub const WRITTEN_BY: &str = "offshoot.dev/written-by";
/// On a set: the hash of the deletions that are confirmed (S3).
pub const CONFIRM: &str = "offshoot.dev/confirm-deletion";

const LONGEST: usize = 63;
const KEPT: usize = 54;

/// The name of the variant for a downstream: `{set}-{repo}-{package}`, past 63 bytes the first 54
/// of it and 8 hex digits of its SHA-1 (S1). A nested package's slashes become dots.
///
/// # Errors
/// Why that is no name.
pub fn variant_name(set: &ObjectKey, place: &Downstream) -> Result<ObjectName, model::NameError> {
    let identifier = format!("{}-{}-{}", set.name, place.repo, place.package).replace('/', ".");
    if identifier.len() <= LONGEST {
        return ObjectName::parse(&identifier);
    }
    let mut hash = String::new();
    for byte in Sha1::digest(identifier.as_bytes()).iter().take(4) {
        // Writing to a String cannot fail.
        _ = write!(hash, "{byte:02x}");
    }
    let head = identifier.get(..KEPT).unwrap_or(&identifier);
    let head = head.trim_end_matches('.');
    ObjectName::parse(&format!("{head}-{hash}"))
}

/// The owner reference of a set (R163).
pub(super) fn owner(set: &ObjectKey, uid: &Uid) -> OwnerReference {
    OwnerReference {
        api_version: "config.porch.kpt.dev/v1alpha2".to_owned(),
        kind: "PackageVariantSet".to_owned(),
        name: set.name.to_string(),
        uid: uid.clone(),
        controller: true,
        block_owner_deletion: false,
    }
}
