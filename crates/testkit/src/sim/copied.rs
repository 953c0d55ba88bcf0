//! Worlds in which somebody registers a copy of a downstream repository under another address. What stands there is nobody's but
//! theirs: no variant of the original moves, takes over or deletes anything in it, whichever registration comes or goes (V25).

use model::CommitId;
use store::RefName;

use super::Violation;
use super::dice::Dice;
use super::fixtures::{self, COPY, COPY_AT, NS, TARGETS};
use super::reading::Seen;
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

    /// The copy stands as it was made, apart from what was half done in it, and none of it belongs to anybody.
    ///
    /// # Errors
    /// A ref of it came, moved or went, or it cannot be read.
    pub(super) fn leaves_the_copy(&self) -> Checked {
        let Some((_, Some(made))) = &self.copy else {
            return Ok(());
        };
        let now = self.seen(COPY_AT)?;
        for (name, at) in made.iter() {
            let stands = now.refs.get(name) == Some(at);
            if !stands && !is_completed(&now, name, *at)? {
                let is = &now.refs;
                return broken(format!(
                    "V25: {name} of {COPY_AT} was {at}; there is {is:?}"
                ));
            }
        }
        if let Some(name) = now.refs.keys().find(|name| !made.contains_key(*name)) {
            return broken(format!("V25: {name} came to {COPY_AT}"));
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

/// Whether a ref went since the copy was made while it stood beside what takes its place, as when somebody proposes by git: a look at
/// a repository completes that, and all that the ref held is in the other one's history.
fn is_completed(now: &Seen, name: &RefName, at: CommitId) -> Result<bool, Violation> {
    if now.refs.contains_key(name) {
        return Ok(false);
    }
    let beside = match name.short().split_once('/') {
        Some(("drafts", of)) => format!("proposed/{of}"),
        Some(("proposed", of)) => format!("drafts/{of}"),
        _ => return Ok(false),
    };
    match now.branch(&beside)? {
        Some(stands) => Ok(stands == at || now.leads(at, stands)?),
        None => Ok(false),
    }
}
