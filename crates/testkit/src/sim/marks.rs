//! Worlds whose sites lie in no namespace: a set may select them while its namespace says so, and somebody takes that back and
//! gives it again (S5). What was made while it was said stays; nothing is made of a site while it is not.

use std::time::Duration;

use model::Variant;
use tokio::time::Instant;

use super::dice::Dice;
use super::fixtures::{self, NS};
use super::ports::Ports;
use super::world::World;
use crate::twin::key;

/// What the namespace carries.
const MARK: &str = "offshoot.dev/cluster-targets";

/// How long whoever makes a variant may have looked before.
const LOOK: Duration = Duration::from_secs(1);

impl World {
    /// One world in sixteen is such a one, apart from those whose walk is pinned.
    pub(super) fn settle_sites(&mut self, seed: u64) {
        let such = self.complete.is_some() && seed % 16 == 13;
        self.marks = such.then(|| Dice::new(seed ^ 0x51de_c0de));
    }

    /// Sites are served, in namespaces or in none.
    pub(super) fn serve_sites(&self) {
        let twin = &self.durable.twin;
        if self.marks.is_none() {
            twin.serve(&fixtures::site());
            return;
        }
        twin.serve_at_cluster_scope(&fixtures::site());
        self.mark(true);
    }

    /// The namespace may be spread no more over what lies in none, or may again.
    pub(super) fn remark(&mut self) {
        if self.marks.as_mut().is_some_and(|marks| marks.one_in(4)) {
            let marked = self.durable.ledger.open().unmarked.is_none();
            self.mark(!marked);
        }
    }

    /// Whether the namespace carries its mark again, and was without it at some time.
    pub(super) fn give_mark_back(&self) -> bool {
        if self.marks.is_some() {
            self.mark(true);
        }
        self.marks.is_some()
    }

    fn mark(&self, marked: bool) {
        let namespace = key(NS, "any").namespace;
        let twin = &self.durable.twin;
        twin.label_namespace(&namespace, MARK, marked.then_some("true"));
        let what = if marked { "carries" } else { "has lost" };
        self.durable.chaos.say(format!("{NS} {what} its mark"));
        let mut promises = self.durable.ledger.open();
        promises.unmarked = match (marked, promises.unmarked) {
            (true, _) => None,
            (false, since) => since.or_else(|| Some(Instant::now())),
        };
    }
}

impl Ports {
    /// Notes a variant that a set makes: none of a site while its namespace may not select sites.
    pub(super) fn spreads(&self, variant: &Variant) {
        let mut promises = self.ledger.open();
        let unmarked = promises.unmarked.is_some_and(|at| at.elapsed() > LOOK);
        let package = variant.spec.downstream.package.as_str();
        if unmarked && package.starts_with(fixtures::package_of(false)) {
            let what = format!("S5: {} was made of a site, unmarked", variant.key);
            promises.wrong.push(what);
        }
    }
}
