//! The step of each target, as cells show it, by the code that decides on it (F7). Computed where a change may have moved a
//! target, for all changes that came together, and never by page.

use std::collections::{BTreeMap, BTreeSet};

use plan::set::Place;

use super::fleet::{Fleet, Revision, Target, lifecycle, name};

impl Fleet {
    /// Puts the targets of sets that changed into their steps.
    pub(super) fn place(&mut self) {
        for name in std::mem::take(&mut self.unplaced) {
            let Some(steps) = self.steps_of(&name) else {
                continue;
            };
            for (target, step) in steps {
                if let Some(target) = self.targets.get_mut(&target)
                    && target.step != step
                {
                    target.step = step;
                    target.since = self.version;
                }
            }
        }
    }

    /// Whether the step of a target is closed, so that what it has open is not to be approved now (F7).
    pub(super) fn is_early(&self, target: &Target) -> bool {
        let rollout = self.sets.get(&target.set);
        let rollout = rollout.and_then(|set| set.status.rollout.as_ref());
        let steps = rollout.into_iter().flat_map(|status| &status.steps);
        let mut closed = steps.filter(|step| step.opened.is_none());
        !target.step.is_empty() && closed.any(|step| step.name == target.step)
    }

    /// The step that keeps a draft or a proposal from being approved now, and the set that it is of: that of a target whose step
    /// is closed. No button for several takes such a revision; by itself it can be decided.
    pub(super) fn closed_step(&self, revision: &Revision) -> Option<(&str, &str)> {
        let (_, target) = self.target_of(name(revision))?;
        let open = matches!(lifecycle(revision), "Draft" | "Proposed");
        (open && self.is_early(target)).then_some((target.step.as_str(), target.set.as_str()))
    }

    /// Steps of each set that are closed now.
    pub(super) fn closed(&self) -> BTreeMap<&str, Vec<&str>> {
        let closed = self.sets.iter().filter_map(|(name, set)| {
            let steps = set.status.rollout.iter().flat_map(|status| &status.steps);
            let closed = steps.filter(|step| step.opened.is_none());
            let closed: Vec<&str> = closed.map(|step| step.name.as_str()).collect();
            (!closed.is_empty()).then_some((name.as_str(), closed))
        });
        closed.collect()
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
        let deletions = || self.open().filter(|r| lifecycle(r) == "DeletionProposed");
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

    /// Each target of a set with its step; `None` if there is no such set.
    fn steps_of(&self, name: &str) -> Option<Vec<(String, String)>> {
        let set = self.sets.get(name)?;
        let theirs = || self.targets.iter().filter(|(_, t)| t.set == name);
        let begun = set.status.rollout.as_ref().filter(|s| !s.id.is_empty());
        let (Some(rollout), Some(status)) = (&set.rollout, begun) else {
            return Some(theirs().map(|(n, _)| (n.clone(), String::new())).collect());
        };
        let places: Vec<Place<'_>> = theirs().map(|(n, t)| self.place_of(n, t)).collect();
        let steps = plan::set::steps(rollout, status, &places);
        let both = theirs().zip(steps);
        let named = both.map(|((n, _), s)| (n.clone(), s.unwrap_or_default().to_owned()));
        Some(named.collect())
    }

    fn place_of<'a>(&'a self, name: &'a str, target: &'a Target) -> Place<'a> {
        Place {
            name,
            uid: Some(&target.uid),
            // What no step has reached waits to be written.
            is_written: false,
            labels: self.repositories.get(&target.repository),
        }
    }
}
