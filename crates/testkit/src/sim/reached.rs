//! What is remembered of the rollouts of a set, so that what is written can be held against it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use model::{CommitId, ObjectKey, Upstream, Variant, VariantSet, VariantSpec};
use tokio::time::Instant;

use super::fixtures::STEPS;

/// What is remembered of rollouts.
#[derive(Debug, Default)]
pub(super) struct Rolled {
    /// The variants that were there when a rollout first reached one.
    pub(super) began: BTreeMap<String, BTreeSet<ObjectKey>>,
    /// The upstream commits of what a variant had published when a rollout first reached it, the last two of each try.
    pub(super) before: BTreeMap<(String, ObjectKey), Vec<CommitId>>,
    /// When a variant last was out of reach or gone.
    pub(super) absent: BTreeMap<ObjectKey, Instant>,
    /// When an undo was last asked for, or ended.
    pub(super) undone: Option<Instant>,
    /// The upstreams that sets ever gave a variant.
    pub(super) given: BTreeMap<ObjectKey, Vec<Upstream>>,
    /// The places that sites have left for others, and are not wanted again.
    pub(super) left: BTreeSet<String>,
    /// Whether the rival set was there already.
    pub(super) rivalled: bool,
    /// What the steps were called in their order, and since when; the last is how they are called now.
    named: Vec<(Instant, Vec<String>)>,
    /// Which steps a variant may have been reached in, by rollout: the first is 0. One alone, unless steps exchanged their
    /// names just then.
    placed: BTreeMap<(String, ObjectKey), BTreeSet<usize>>,
    /// The spec that a set wrote to a variant last, by rollout.
    wrote: BTreeMap<(String, ObjectKey), VariantSpec>,
}

impl Rolled {
    /// Notes what the steps of a set are called.
    pub(super) fn called(&mut self, set: &VariantSet) {
        let steps = set.spec.rollout.iter().flat_map(|rollout| &rollout.steps);
        let names: Vec<String> = steps.map(|step| step.name.clone()).collect();
        if self.named.last().is_none_or(|(_, last)| *last != names) {
            self.named.push((Instant::now(), names));
        }
    }

    /// The steps that may be meant by a name that was written now, by somebody who may have read what stood so long ago.
    fn meant(&self, name: &str, stale: Duration) -> BTreeSet<usize> {
        let fresh = self.named.iter().rposition(|(at, _)| at.elapsed() > stale);
        let orders = self.named.iter().skip(fresh.unwrap_or(0));
        let at = orders.filter_map(|(_, names)| names.iter().position(|n| n == name));
        let found: BTreeSet<usize> = at.collect();
        match self.named.is_empty() {
            true => STEPS.iter().position(|n| *n == name).into_iter().collect(),
            false => found,
        }
    }

    /// Notes the step that a set writes onto a variant, anew where the variant is made; where it cannot be the one in which
    /// that was reached, those in which it may have been.
    pub(super) fn place(
        &mut self,
        (rollout, key, name): (&str, &ObjectKey, &str),
        is_new: bool,
        stale: Duration,
    ) -> Result<(), BTreeSet<usize>> {
        let meant = self.meant(name, stale);
        let at = (rollout.to_owned(), key.clone());
        let known = self.placed.get(&at).filter(|_| !is_new);
        let both: BTreeSet<usize> = match known {
            Some(known) => known.intersection(&meant).copied().collect(),
            None => meant,
        };
        if both.is_empty() {
            return Err(known.cloned().unwrap_or_default());
        }
        self.placed.insert(at, both);
        Ok(())
    }

    /// Notes what a set writes to a variant; whether it wrote that last time, too: what somebody changed is put back. Of other
    /// fields that cannot be told any more, the upstream alone is.
    pub(super) fn wrote(
        &mut self,
        rollout: &str,
        variant: &Variant,
        stood: Option<&VariantSpec>,
    ) -> bool {
        let at = (rollout.to_owned(), variant.key.clone());
        let plain = |spec: &VariantSpec| VariantSpec {
            suspend: false,
            ..spec.clone()
        };
        let spec = plain(&variant.spec);
        let before = self.wrote.get(&at);
        let stood = stood.map(|stood| VariantSpec {
            upstream: spec.upstream.clone(),
            ..plain(stood)
        });
        let is_back = before.is_some_and(|b| {
            *b == spec || (b.upstream == spec.upstream && stood.as_ref() == Some(&spec))
        });
        // What was put back in part is put back whole once that can be told.
        if !is_back {
            self.wrote.insert(at, spec);
        }
        is_back
    }

    /// Notes what a variant had published when a rollout first reached it; `None` where the rollout makes it: then it had
    /// published nothing, whatever was at its place before, also for the rollout itself. Where it is written once more, since
    /// the write before failed, somebody may have published meanwhile.
    pub(super) fn had(
        &mut self,
        at: (String, ObjectKey),
        last: Option<Vec<CommitId>>,
        once_more: bool,
    ) {
        let Some(last) = last else {
            self.before.insert(at, Vec::new());
            return;
        };
        match self.before.get_mut(&at) {
            None => drop(self.before.insert(at, last)),
            Some(had) if once_more && !had.is_empty() => had.extend(last),
            Some(_) => {}
        }
    }

    /// The steps in which a variant may have been reached.
    pub(super) fn placed(&self, rollout: &str, key: &ObjectKey) -> Option<&BTreeSet<usize>> {
        self.placed.get(&(rollout.to_owned(), key.clone()))
    }
}
