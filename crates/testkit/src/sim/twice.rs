//! Worlds in which one repository is registered twice in one namespace, and a second variant goes to the first one's package through
//! the other registration. The older registration works, and loses nothing to the other one, whichever comes or goes (V25).

use model::{PackageName, Status};

use super::dice::Dice;
use super::fixtures::{self, AGAIN, NS, TARGETS};
use super::settled::{Checked, broken};
use super::world::World;

/// Whose package it is.
const PACKAGE: &str = "shop";

impl World {
    /// Three worlds in 32 are such ones; none whose walk is pinned.
    pub(super) fn settle_registration(&mut self, seed: u64) {
        let such = self.complete.is_some() && matches!(seed % 32, 6 | 23 | 26);
        self.again = such.then(|| Dice::new(seed ^ 0x0a6a_1230));
    }

    /// The second registration, or what goes through it, comes, goes or changes.
    pub(super) fn register_again(&mut self) {
        let Some(dice) = &mut self.again else { return };
        let (now, what) = (dice.one_in(3), dice.roll(4));
        let region = dice.pick(&fixtures::REGIONS).copied().unwrap_or_default();
        if !now {
            return;
        }
        let twin = &self.durable.twin;
        let there = twin.variant(NS, AGAIN);
        let said = match what {
            0 if twin.repository(NS, AGAIN).is_some() => {
                self.durable.ledger.open().forget_labels_of(AGAIN);
                twin.delete_repository(NS, AGAIN);
                "is registered no more"
            }
            0 => {
                self.register();
                "is registered again"
            }
            1 if there.is_some() => {
                twin.delete_variant(NS, AGAIN);
                "has no second variant any more"
            }
            _ if there.is_none_or(|v| v.meta.deleted.is_none()) => {
                self.claim(region);
                "has a second variant"
            }
            _ => return,
        };
        let (name, _) = TARGETS[0];
        self.durable.chaos.say(format!("{name} {said}"));
    }

    fn register(&self) {
        let mut again = fixtures::repository(AGAIN, TARGETS[0].1, "again");
        again.meta.created = "2026-02-02T02:02:02Z".to_owned();
        fixtures::share(&mut again, self.tenants == super::world::Tenants::Shared);
        self.durable.twin.put_repository(again);
    }

    fn claim(&self, region: &str) {
        let mut variant = fixtures::variant(AGAIN, AGAIN, region);
        variant.spec.downstream.package = PackageName::parse(PACKAGE).expect("a name");
        self.durable.twin.put_variant(variant);
    }

    /// Both are there in the end.
    pub(super) fn settle_again(&self) {
        if self.again.is_some() {
            self.register();
        }
    }

    /// The second registration says that it is one, and what goes through it is not ready.
    ///
    /// # Errors
    /// One of them says that all is well.
    pub(super) fn works_once(&self) -> Checked {
        if self.again.is_none() {
            return Ok(());
        }
        let twin = &self.durable.twin;
        let Some(registered) = twin.repository(NS, AGAIN) else {
            return Ok(());
        };
        let registered = registered.status.conditions;
        let told = registered.iter().any(|c| {
            c.kind == "Ready" && c.status == Status::False && c.message.contains("registered as")
        });
        let ready = twin.variant(NS, AGAIN).is_some_and(|second| {
            let ready = second.status.condition("Ready");
            ready.is_some_and(|c| c.status == Status::True)
        });
        match told && !ready {
            true => Ok(()),
            false => broken(format!(
                "V25: {AGAIN} is {}, and says {registered:?}; what goes through it is ready: {ready}",
                TARGETS[0].0
            )),
        }
    }
}
