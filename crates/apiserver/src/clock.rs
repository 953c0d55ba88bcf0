//! Time and fresh identities as inputs.
//!
//! The rules of this crate never read a wall clock or a random source themselves: whoever builds a server gives
//! both, so that a simulation can replay a run exactly.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;

/// Tells the time that objects are stamped with.
pub trait Clock: Send + Sync {
    /// Returns the current instant.
    fn now(&self) -> Timestamp;
}

/// Gives fresh identities: object uids and the suffixes of generated names.
pub(crate) trait Uids: Send + Sync {
    /// Returns a uid that was never returned before, in UUID form.
    fn uid(&self) -> String;
    /// Returns five characters of the alphabet that generated names use.
    fn suffix(&self) -> String;
}

/// The alphabet of generated names: no vowels, so that no words appear (recorded from kube-apiserver).
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The wall clock of the machine.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Random (version 4) uids.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RandomUids;

impl Uids for RandomUids {
    fn uid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn suffix(&self) -> String {
        letters(uuid::Uuid::new_v4().as_u128())
    }
}

/// Uids and suffixes that count up from a seed: the deterministic twin of [`RandomUids`].
#[derive(Debug, Default)]
pub(crate) struct CountingUids {
    next: AtomicU64,
}

impl CountingUids {
    /// Starts counting at `seed`.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            next: AtomicU64::new(seed),
        }
    }
}

impl Uids for CountingUids {
    fn uid(&self) -> String {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        uuid::Uuid::from_u128((0x8000_4000_8000_u128 << 64) | u128::from(n)).to_string()
    }

    fn suffix(&self) -> String {
        letters(u128::from(self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Writes the five lowest digits of `n` in the alphabet of generated names.
fn letters(mut n: u128) -> String {
    let base = ALPHABET.len() as u128;
    let mut out = String::with_capacity(5);
    for _ in 0..5 {
        let digit = usize::try_from(n % base).unwrap_or(0);
        out.push(char::from(ALPHABET.get(digit).copied().unwrap_or(b'b')));
        n /= base;
    }
    out
}

/// Writes an instant as Kubernetes does in `creationTimestamp`: RFC 3339, UTC, whole seconds.
#[must_use]
pub(crate) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
