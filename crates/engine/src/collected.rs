//! Whom news would wake in a world that is only supposed.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::index::Wake;
use crate::queue::Key;

/// Whom news touch in a supposed world: nobody is woken, whoever plans asks for them.
#[derive(Debug, Default)]
pub(crate) struct Collected(Mutex<BTreeSet<Key>>);

impl Collected {
    pub(crate) fn wake(&self, wake: Wake) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sets = wake.sets.into_iter().chain(wake.sets_later);
        keys.extend(sets.map(Key::Set));
        let variants = wake.variants.into_iter().chain(wake.variants_later);
        keys.extend(variants.map(Key::Variant));
    }

    /// Everybody since the last question.
    pub(crate) fn take(&self) -> BTreeSet<Key> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
