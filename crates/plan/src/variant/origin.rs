//! The labels that say which variant and which set a revision belongs to: `-l offshoot.dev/set=web` selects a fleet (F6).

use std::fmt::Write as _;

pub(crate) use model::marks::{SET, VARIANT};
use model::{Pairs, Variant};
use sha2::{Digest as _, Sha256};

use super::words::SET_KIND;

/// How long the value of a label may be.
const LONGEST: usize = 63;
/// How much of a longer name is kept: the rest is eight digits of its hash.
const KEPT: usize = 54;

/// The labels of a variant's revisions: those of its spec, and these two.
pub fn labels(variant: &Variant) -> Pairs {
    let mut labels = variant.spec.labels.clone();
    let name = value(variant.key.name.as_str());
    labels.insert(VARIANT.to_owned(), name);
    let set = variant.meta.controller().filter(|c| c.kind == SET_KIND);
    if let Some(set) = set {
        labels.insert(SET.to_owned(), value(&set.name));
    }
    labels
}

/// Whether a label is one of ours.
pub(super) fn is_ours(key: &str) -> bool {
    key == VARIANT || key == SET
}

/// A name as the value of a label: as it is, or, where it is too long for one, its beginning and a hash of it.
pub fn value(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let mut out: String = name.chars().take(KEPT).collect();
    out.push('-');
    for byte in Sha256::digest(name.as_bytes()).iter().take(4) {
        // Writing to a String cannot fail.
        _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_value_and_two_long_ones_are_two() {
        for name in ["web", &"a".repeat(63), &"a".repeat(64), &"a.".repeat(126)] {
            let value = value(name);
            assert_eq!(model::label(VARIANT, &value), Ok(()), "{name}");
            assert_eq!(value == name, name.len() <= LONGEST);
        }
        let long = |end: &str| value(&format!("{}{end}", "a".repeat(100)));
        assert_ne!(long("b"), long("c"));
    }
}
