//! Derivations that failed, remembered until their input changes (V16): the same input is
//! not tried again hot. Kept in memory: after a restart each is tried once more.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::{Class, ObjectKey};
use plan::variant::FailedDerivation;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(300);

/// Failures by variant.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    known: Mutex<BTreeMap<ObjectKey, (FailedDerivation, Instant)>>,
}

impl Failures {
    /// The variant's failure, and whether its time to be tried again has come.
    pub(crate) fn get(&self, variant: &ObjectKey) -> Option<FailedDerivation> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (failure, at) = known.get(variant)?;
        let worth = matches!(failure.class, Class::Unavailable | Class::Bug);
        Some(FailedDerivation {
            due: worth && Instant::now() >= *at,
            ..failure.clone()
        })
    }

    /// Notes a failure; returns it with its count.
    pub(crate) fn note(
        &self,
        variant: &ObjectKey,
        mut failure: FailedDerivation,
    ) -> FailedDerivation {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known
            .get(variant)
            .filter(|(f, _)| f.digest == failure.digest);
        failure.attempts = before.map_or(0, |(f, _)| f.attempts).saturating_add(1);
        let wait = FIRST.saturating_mul(1 << failure.attempts.saturating_sub(1).min(10));
        let at = Instant::now() + wait.min(LONGEST);
        known.insert(variant.clone(), (failure.clone(), at));
        failure
    }

    /// How many are remembered.
    pub(crate) fn len(&self) -> usize {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.len()
    }

    /// Forgets it: something was written since.
    pub(crate) fn clear(&self, variant: &ObjectKey) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(variant);
    }
}
