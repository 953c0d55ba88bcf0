//! How little a process that is at rest holds, and reads when something happens: both follow from what is there, however much was
//! done before (I14).

use super::Violation;
use super::fixtures::{BLUEPRINTS, NS, TARGETS};
use super::people;
use super::settled::{Checked, beyond, broken};
use super::world::World;

/// How long a journal is in which nothing is open: its first line.
const EMPTY: usize = 17;

impl World {
    /// Nothing is written any more (I9), nothing is held for what is over, and a commit that concerns nobody is looked at and no
    /// more.
    ///
    /// # Errors
    /// The first of it that does not hold.
    pub(super) async fn calm(&mut self) -> Checked {
        self.silent().await?;
        self.holds_little()?;
        self.reads_little().await
    }

    /// Nothing is held for work that is over, and there is one note at most for each object that is there.
    fn holds_little(&self) -> Checked {
        let twin = &self.durable.twin;
        let variants = twin.variants().len();
        let sets = ["fan", "rival"].into_iter();
        let sets = sets.filter(|name| twin.set(NS, name).is_some()).count();
        let registered = self.registrations().len() + usize::from(self.again.is_some());
        // Of an address it is known for good that what the last process left there was looked at.
        let addresses = TARGETS.len() + 1 + usize::from(self.is_copied());
        let held = self.engine.held();
        let held = held.map_err(|e| Violation(format!("I14: {}", e.chain())))?;
        for (what, count) in held {
            let most = match what {
                "locks" | "waits" | "marks" | "missed" | "left_intents" | "intents" | "unheard"
                | "pending" | "kept" | "staged" | "opening" => 0,
                "failures" | "seen_variants" | "uids" | "wants" | "claims" => variants,
                "set_failures" | "sources" => sets,
                "timers" => variants + sets + registered,
                "open" | "hints" | "polls" => registered,
                "journals" => addresses,
                "journal_bytes" => EMPTY * addresses,
                _ => return broken(format!("I14: nobody says how many {what} there may be")),
            };
            if count > most {
                return broken(format!(
                    "I14: {count} {what} are held in a world at rest, at most {most} are needed"
                ));
            }
        }
        Ok(())
    }

    /// Somebody commits beside all packages of each repository: what is read for it does not grow with what was done before.
    async fn reads_little(&mut self) -> Checked {
        let before = self.work();
        let mut commits = 0;
        for url in TARGETS.map(|(_, url)| url).into_iter().chain([BLUEPRINTS]) {
            let (store, ledger) = (&self.durable.store, &self.durable.ledger);
            commits += u64::from(people::push_noise(store, ledger, url).await);
        }
        if !self.rest().await? {
            return broken("I14: no rest after commits that concern nobody");
        }
        let after = self.work();
        // The commit, its tree and the one above; more where something was looked at again for another reason.
        let most = [
            ("reads", 8 * commits),
            ("discovered", 0),
            ("derivations", 0),
        ];
        match beyond(&before, &after, &most) {
            Some((what, count, most)) => broken(format!(
                "I14: {count} {what} for {commits} commits that concern nobody, at most {most} are needed"
            )),
            None => Ok(()),
        }
    }
}
