//! Worlds in which somebody registers a copy of a downstream repository under another address. What stands there is nobody's but
//! theirs: no variant of the original moves, takes over or deletes anything in it, whichever registration comes or goes (V25).

use super::dice::Dice;
use super::fixtures::{self, COPY, COPY_AT, NS, TARGETS};
use super::settled::{Checked, broken};
use super::world::World;

/// The first seed of the worlds of which an eighth are such ones.
const WIDER: u64 = 200_000;

impl World {
    /// Two worlds in 32 are such ones, and an eighth of the later ones; none whose walk is pinned.
    pub(super) fn settle_copy(&mut self, seed: u64) {
        let such = matches!(seed % 32, 5 | 26) || (seed >= WIDER && seed % 8 == 3);
        let such = such && self.complete.is_some();
        self.copy = such.then(|| (Dice::new(seed ^ 0x00c0_9135), None));
    }

    /// The copy is made and registered; later its registration goes, or comes back.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn register_copy(&mut self) -> Checked {
        let Some((dice, made)) = self.copy.as_mut() else {
            return Ok(());
        };
        if !dice.one_in(5) {
            return Ok(());
        }
        let is_made = made.is_some();
        let twin = &self.durable.twin;
        let said = match (is_made, twin.repository(NS, COPY).is_some()) {
            (true, true) => {
                self.durable.ledger.open().forget_labels_of(COPY);
                twin.delete_repository(NS, COPY);
                "is registered no more"
            }
            (true, false) => {
                twin.put_repository(fixtures::repository(COPY, COPY_AT, "copy"));
                "is registered again"
            }
            (false, _) => {
                let (_, url) = TARGETS[0];
                let store = &self.durable.store;
                store.serve(COPY_AT);
                store.put_copy(COPY_AT, &store.copy(url));
                twin.put_repository(fixtures::repository(COPY, COPY_AT, "copy"));
                let refs = self.seen(COPY_AT)?.refs;
                if let Some((_, made)) = self.copy.as_mut() {
                    *made = Some(refs);
                }
                "is made"
            }
        };
        self.durable.chaos.say(format!("{COPY} {said}"));
        Ok(())
    }

    /// Whether the copy was made.
    pub(super) fn is_copied(&self) -> bool {
        matches!(self.copy, Some((_, Some(_))))
    }

    /// The copy stands as it was made, and none of it belongs to anybody.
    ///
    /// # Errors
    /// A ref of it came, moved or went, or it cannot be read.
    pub(super) fn leaves_the_copy(&self) -> Checked {
        let Some((_, Some(made))) = &self.copy else {
            return Ok(());
        };
        let now = self.seen(COPY_AT)?.refs;
        if now != *made {
            return broken(format!("V25: {COPY_AT} was {made:?}, and is {now:?}"));
        }
        let mut owned = self.durable.twin.revisions();
        owned.retain(|r| r.repository.as_str() == COPY && !r.meta.owners.is_empty());
        match owned.first() {
            Some(record) => broken(format!(
                "V25: {} belongs to {:?}",
                record.key, record.meta.owners
            )),
            None => Ok(()),
        }
    }
}
