//! The step of each target, as cells show it, by the code that decides on it (F7). Computed where a change may have moved a
//! target, for all changes that came together, and never by page.

use std::collections::BTreeSet;

use model::Lifecycle;
use plan::set::MemberPlace;

use super::fleet::{Fleet, Revision, Target, is_deletion, name};
use crate::client::lifecycle;

impl Fleet {
    /// Puts the targets of sets that changed into their steps.
    pub(super) fn place(&mut self) {
        for name in std::mem::take(&mut self.unplaced) {
            let Some(steps) = self.steps_of(&name) else {
                continue;
            };
            for (target, step, waits) in steps {
                if let Some(target) = self.targets.get_mut(&target)
                    && (target.step != step || target.waits != waits)
                {
                    target.step = step;
                    target.put(waits);
                    target.since = self.version;
                }
            }
        }
    }

    /// Why a rollout keeps a draft or a proposal from being approved now: the step of its target is closed, or it is of another
    /// version than is wanted there, as during an undo (F7, F8). The rule is the engine's, so that `why` says the same. No button
    /// for several takes such a revision; by itself it can be decided.
    pub(super) fn early(&self, revision: &Revision) -> Option<String> {
        let (variant, target) = self.target_of(name(revision))?;
        let name = &target.set;
        let set = self.sets.get(name).filter(|set| set.rollout.is_some())?;
        let status = set.status.rollout.as_ref()?;
        let is_proposed = match lifecycle(revision) {
            Some(Lifecycle::Draft) => false,
            Some(Lifecycle::Proposed) => true,
            _ => return None,
        };
        if plan::set::is_early(status, variant) {
            let waits = plan::set::waits_for_step(status, variant);
            return Some(match (waits, target.step.as_str()) {
                (false, _) => {
                    format!("the rollout of {name} is taken back, and this is of what it brought")
                }
                (true, "") => format!("no open step of the rollout of {name} has it"),
                (true, step) => format!("its step '{step}' of the rollout of {name} is closed"),
            });
        }
        // A draft is brought to what is wanted; a proposal stands until somebody rejects it.
        let holds = api::str_at(revision, &["status", "upstreamLock", "git", "commit"]);
        let holds = holds.filter(|_| is_proposed).unwrap_or_default();
        status
            .is_of_another(holds, &target.commit)
            .then(|| "it is of another version than is wanted; reject it".to_owned())
    }

    /// Revisions that a rollout keeps from being approved now, by name.
    pub(super) fn all_early(&self) -> BTreeSet<&str> {
        let open = self.open().filter(|r| self.early(r).is_some());
        open.map(name).collect()
    }

    /// Whether a target is one that a rollout still has: its variant is there to stay, whoever proposed the deletion of what it
    /// looks after.
    pub(super) fn is_kept(&self, target: &Target) -> bool {
        let set = self.sets.get(&target.set);
        !target.leaves && set.is_some_and(|set| set.rollout.is_some())
    }

    /// Revisions whose deletion is proposed although a rollout still has the target at their place: a variant that somebody
    /// deleted by hand proposes it, and is made anew (V10). Nobody is asked to approve these in bulk.
    pub(super) fn kept_deletions(&self) -> BTreeSet<&str> {
        let deletions = || self.open().filter(|r| is_deletion(r));
        if deletions().next().is_none() {
            return BTreeSet::new();
        }
        let kept = self.targets.values().filter(|t| self.is_kept(t));
        let places: BTreeSet<(&str, &str)> = kept
            .map(|t| (t.repository.as_str(), t.package.as_str()))
            .collect();
        let here = |r: &&Revision| {
            let of = |key: &str| api::str_at(r, &["spec", key]).unwrap_or_default();
            places.contains(&(of("repository"), of("packageName")))
        };
        deletions().filter(here).map(name).collect()
    }

    /// Each target of a set with its step, and whether it waits for that; `None` if there is no such set.
    fn steps_of(&self, name: &str) -> Option<Vec<(String, String, bool)>> {
        let set = self.sets.get(name)?;
        let theirs = || self.targets.iter().filter(|(_, t)| t.set == name);
        let begun = set.status.rollout.as_ref().filter(|s| !s.id.is_empty());
        let (Some(rollout), Some(status)) = (&set.rollout, begun) else {
            let none = theirs().map(|(n, _)| (n.clone(), String::new(), false));
            return Some(none.collect());
        };
        let places: Vec<MemberPlace<'_>> = theirs().map(|(n, t)| self.place_of(n, t)).collect();
        let steps = plan::set::steps(rollout, status, &places);
        let both = theirs().zip(steps);
        let named = both.map(|((n, _), s)| {
            let waits = plan::set::waits_for_step(status, n);
            (n.clone(), s.unwrap_or_default().to_owned(), waits)
        });
        Some(named.collect())
    }

    fn place_of<'a>(&'a self, name: &'a str, target: &'a Target) -> MemberPlace<'a> {
        MemberPlace {
            name,
            uid: Some(&target.uid),
            // What no step has reached waits to be written.
            is_written: false,
            labels: self.repositories.get(&target.repository),
        }
    }
}
