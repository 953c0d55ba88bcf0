//! What the deletion guard of a set remembers (S3). It is written into the set's status before anything that follows
//! from it is done, so that a process that dies forgets nothing; it is small, however many variants a set has.

use std::collections::BTreeSet;
use std::fmt;

/// What the deletion guard of a set remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuardMemory {
    /// Variants whose deletion was let go or confirmed, and is not carried out yet.
    pub decided: BTreeSet<UidMark>,
    /// The deletions that wait, if any do.
    pub waiting: Option<WaitingDeletions>,
    /// The deletions that nobody confirmed, oldest first; those that are older than an hour no longer count.
    pub recent: Vec<Shrink>,
}

/// Deletions that wait: all variants whose targets are gone, and that were not let go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingDeletions {
    /// Stands for the variants that wait: another value says that a target has left or returned.
    pub hash: String,
    /// When the first of their targets left since the selection was last quiet, in Unix seconds.
    pub since: i64,
    /// When a target last left or returned, in Unix seconds.
    pub changed: i64,
    /// Whether they were found too many: they wait until they are confirmed, their targets are back, or the guard is off.
    pub held: bool,
}

/// Deletions that were let go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shrink {
    /// When, in Unix seconds.
    pub at: i64,
    /// How many.
    pub deletions: usize,
    /// How many variants there were before.
    pub variants: usize,
}

/// Stands for a variant's uid in a list that may hold many: 48 bits of its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UidMark([u8; 6]);

/// 6 bits a character, none of which JSON escapes.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl UidMark {
    /// How many characters its text has.
    pub const TEXT: usize = 8;

    /// From the first bytes of a hash of the uid.
    pub fn new(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }

    /// From its text.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != Self::TEXT {
            return None;
        }
        let mut number = 0_u64;
        for byte in text.bytes() {
            let digit = DIGITS.iter().position(|d| *d == byte)?;
            number = number << 6 | u64::try_from(digit).ok()?;
        }
        let [_, _, bytes @ ..] = number.to_be_bytes();
        Some(Self(bytes))
    }
}

/// Its text, in base64 for URLs.
impl fmt::Display for UidMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        let number = u64::from_be_bytes([0, 0, a, b, c, d, e, g]);
        for at in (0..Self::TEXT).rev() {
            let digit = usize::try_from(number >> (6 * at) & 0x3f).unwrap_or_default();
            let digit = DIGITS.get(digit).copied().unwrap_or_default();
            fmt::Write::write_char(f, char::from(digit))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is written is what is read, and nothing else is.
        #[test]
        fn a_mark_survives_its_text(bytes in any::<[u8; 6]>(), other in "[A-Za-z0-9_-]{8}", odd in ".{0,9}") {
            let mark = UidMark::new(bytes);
            prop_assert_eq!(UidMark::parse(&mark.to_string()), Some(mark));
            prop_assert_eq!(UidMark::parse(&other).map(|m| m.to_string()), Some(other));
            if let Some(mark) = UidMark::parse(&odd) {
                prop_assert_eq!(mark.to_string(), odd);
            }
        }
    }
}
