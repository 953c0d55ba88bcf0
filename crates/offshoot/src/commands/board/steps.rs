//! The step of each target, as cells show it, by the code that decides on it (F7). Computed where a change may have moved a
//! target, for all changes that came together, and never by page.

use std::collections::BTreeSet;

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
