//! Worlds in which somebody proposes the deletion of what is published, and has it approved. With a revision goes what it alone
//! holds: no other one, no number that a later one could take, no draft of which it was the base (V23, I4, I10).

use engine::ports::StoredVariant;
use engine::usecase::Preconditions;
use model::{Door, Lifecycle, NOT_TAGGED, Revision, Status};

use super::Violation;
use super::dice::Dice;
use super::reading::carries;
use super::settled::Checked;
use super::steps::alice;
use super::world::{Tenants, World};

/// The packages in which that happens, as `repository/package`: those whose variants never go by a step of the set.
const PACKAGES: [&str; 2] = ["deploy/shop", "edge/cafe"];

/// The first seed of the worlds of which an eighth are such ones.
const WIDER: u64 = 200_000;

impl World {
    /// Two worlds in 32 are such ones, and an eighth of the later ones, where one namespace is alone; none whose walk is pinned.
    pub(super) fn settle_ends(&mut self, seed: u64) {
        let such = matches!(seed % 32, 13 | 24) || (seed >= WIDER && seed % 8 == 1);
        let such = such && self.complete.is_some() && self.tenants == Tenants::None;
        self.ends = such.then(|| Dice::new(seed ^ 0x0e4d_5eed));
    }

    /// A published revision goes: mostly one that a later one replaces.
    ///
    /// # Errors
    /// The repository cannot be read, or a call is never answered.
    pub(super) async fn end_one(&mut self) -> Checked {
        let Some(dice) = self.ends.as_mut() else {
            return Ok(());
        };
        let (now, latest) = (dice.one_in(2), dice.one_in(2));
        let at = dice.pick(&PACKAGES).copied().unwrap_or_default();
        if !now {
            return Ok(());
        }
        let mut published = self.records();
        published.retain(|r| {
            format!("{}/{}", r.repository, r.package) == at && r.lifecycle.is_published()
        });
        published.sort_by_key(|r| r.revision);
        if published.len() < 2 && !latest {
            // There is nothing that a later one replaces: somebody publishes more.
            return self.approve(at).await;
        }
        if !latest {
            published.pop();
        }
        let dice = self.ends.as_mut();
        let Some(record) = dice.and_then(|dice| dice.pick(&published).cloned()) else {
            return Ok(());
        };
        let key = record.key.clone();
        let proposed = record.lifecycle == Lifecycle::DeletionProposed
            || self
                .move_to(&key, Door::Main, Lifecycle::DeletionProposed)
                .await?
                .is_some();
        if !proposed {
            return Ok(());
        }
        // From here on it may be gone, whatever the answer says.
        self.give_up(&record)?;
        let (engine, by, anything) = (self.engine.clone(), alice(), Preconditions::default());
        let delete = engine.delete(&by, &key, &anything);
        self.ask(&format!("approve the deletion of {key}"), delete)
            .await
            .map(drop)
    }

    /// What the branch holds of a package whose latest revision somebody had deleted while its variant did not wait for that: drafts
    /// start from there, none is made of what is there already, and the variant says that no tag publishes it (V20).
    pub(super) fn held_without_tag(&self, stored: &StoredVariant, at: &str) -> Option<Revision> {
        let said = stored.status.condition("BranchChanged")?;
        let told = said.status == Status::True && said.reason == NOT_TAGGED;
        let marked = self.durable.ledger.open().marked.contains(at);
        let place = &stored.parsed.as_ref().ok()?.spec.downstream;
        let mut all = self.in_place(&stored.key.namespace, place);
        let is_open = all.iter().any(|r| !r.lifecycle.is_published());
        all.retain(|r| r.placeholder);
        all.pop().filter(|_| told && marked && !is_open)
    }

    /// Nothing is promised any more of what a revision alone holds.
    fn give_up(&self, record: &Revision) -> Result<(), Violation> {
        let at = format!("{}/{}", record.repository, record.package);
        let mut promises = self.durable.ledger.open();
        promises.forget_revision(&record.key);
        promises
            .published
            .retain(|key, _| key.name != record.key.name);
        drop(promises);
        let seen = self.seen_as(record.repository.as_str())?;
        if !seen.refs.values().any(|at| *at == record.commit) {
            // The repository was made anew since: it holds none of it, and what was promised of it went with it.
            return Ok(());
        }
        let held = self.snapshot(record)?;
        let mut promises = self.durable.ledger.open();
        // What a revision lacks may have been replaced by it, knowingly.
        promises
            .edits
            .retain(|edit| edit.package != at || carries(&held, &edit.marker));
        Ok(())
    }
}
