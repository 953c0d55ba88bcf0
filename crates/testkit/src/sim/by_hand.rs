//! What somebody who may write variants does to those of a set that rolls out (F7): other commits, other fields, and forged
//! marks. At rest each is at an upstream that the set once gave it.

use std::sync::Arc;

use model::{CommitId, ObjectKey, Upstream, Variant};
use plan::variant::words::ROLLOUT;

use super::fixtures::{NS, STEPS};
use super::ports::Ports;
use super::settled::{Checked, broken};
use super::world::World;

/// The hash in marks that somebody wrote by hand.
pub(super) const FORGED: &str = "00ff00ff00ff00ff";

impl Ports {
    /// Notes the upstream that the set gives to a variant.
    pub(super) fn gives(&self, variant: &Variant) {
        if let Some(rolled) = &mut self.ledger.open().rolled {
            let given = rolled.given.entry(variant.key.clone()).or_default();
            if !given.contains(&variant.spec.upstream) {
                given.push(variant.spec.upstream.clone());
            }
        }
    }
}

impl World {
    /// Somebody writes a variant of the set.
    pub(super) fn by_hand(&mut self) {
        let mut all = self.members();
        all.sort_by(|a, b| a.key.cmp(&b.key));
        let Some(mut variant) = self.dice.pick(&all).cloned() else {
            return;
        };
        let key = variant.key.clone();
        let twin = &self.durable.twin;
        let set = twin.set(NS, "fan");
        let rollout = set.and_then(|s| s.status.rollout).unwrap_or_default();
        let what = match self.dice.roll(4) {
            0 => {
                // Mostly the one that it waits for.
                let mut commits: Vec<CommitId> =
                    all.iter().filter_map(|v| v.spec.upstream.commit).collect();
                commits.extend(self.upstream_commits());
                variant.spec.upstream.commit = self.dice.pick(&commits).copied();
                format!("is at {:?}", variant.spec.upstream.commit)
            }
            1 => {
                variant.spec.upstream.commit = None;
                "follows its ref".to_owned()
            }
            2 => {
                let hand = ("by".to_owned(), "hand".to_owned());
                variant.spec.labels.extend([hand]);
                "gets a label".to_owned()
            }
            _ => {
                let step = self.dice.pick(&STEPS).copied().unwrap_or_default();
                let mark = format!("{} {step} {FORGED}", rollout.id);
                let meta = Arc::make_mut(&mut variant.meta);
                meta.annotations.insert(ROLLOUT.to_owned(), mark.clone());
                format!("is marked {mark}")
            }
        };
        self.durable.chaos.say(format!("by hand: {key} {what}"));
        self.durable.twin.put_variant(variant);
    }

    /// The commits of the upstream's published revisions.
    fn upstream_commits(&self) -> Vec<CommitId> {
        let all = self.durable.twin.revisions().into_iter();
        let upstream = all.filter(|r| r.repository.as_str() == "blueprints");
        let locks = upstream.filter_map(|r| r.self_lock.as_ref()?.commit);
        locks.collect()
    }

    /// What somebody wrote into a variant by hand is put back, whether it waits or not.
    pub(super) fn put_back(&self) -> Checked {
        let promises = self.durable.ledger.open();
        let Some(rolled) = &promises.rolled else {
            return Ok(());
        };
        let given =
            |key: &ObjectKey| -> &[Upstream] { rolled.given.get(key).map_or(&[], Vec::as_slice) };
        let odd = self
            .members()
            .into_iter()
            .find(|v| !given(&v.key).contains(&v.spec.upstream));
        match odd {
            Some(v) => broken(format!(
                "F7: {} is at an upstream that its set never gave it: {:?}",
                v.key, v.spec.upstream
            )),
            None => Ok(()),
        }
    }
}
