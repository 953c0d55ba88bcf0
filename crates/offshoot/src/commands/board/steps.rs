//! The step of each target, as cells show it, by the code that decides on it (F7). Computed where a change may have moved a
//! target, for all changes that came together, and never by page.

use plan::set::Place;

use super::fleet::{Fleet, Target};

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
