//! Takes a rollout back (F8): each member to the commit that it had published before, all at once, and it stays there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    Before, Lifecycle, Member, ObjectName, Rollout, RolloutState, StepStatus, Upstream,
    UpstreamVersion, VariantSet, VariantSpec,
};

use super::super::guard::uid_mark;
use super::super::observed::{Existing, Observed};
use super::before;
use super::measure;
use super::members::{self, Target};
use super::named;
use super::restore::{self, Former};
use super::{Fate, Steered, UNDO, UNTAGGED, first, named_few};
use crate::digest::wanted;
use crate::early::Early;
use crate::report::counted;

/// The undo that a set is annotated with, if it is of the rollout that goes on and `spec.upstream` is the same since.
pub(super) fn of(
    o: &Observed,
    (set, rollout): (&VariantSet, &Rollout),
    ours: &BTreeMap<&ObjectName, &Arc<Existing>>,
    targets: &[Target<'_>],
) -> Option<Steered> {
    let before = o.status.rollout.as_ref()?;
    let asked = set.meta.annotations.get(UNDO)?;
    if *asked != before.id || before.asked != wanted::asked(&set.spec.upstreams) {
        return None;
    }
    let mut status = before.clone();
    status.state = RolloutState::Undone;
    status.complete = false;
    status.halted = None;
    status.created.clear();
    named::named(rollout, &mut status);
    for step in &mut status.steps {
        *step = StepStatus {
            name: std::mem::take(&mut step.name),
            takes: std::mem::take(&mut step.takes),
            opened: step.opened,
            frozen: step.frozen,
            filled: step.filled,
            members: step.members,
            ..StepStatus::default()
        };
    }
    let mut undo = Undo {
        o,
        count: 0,
        back: 0,
        suspended: Vec::new(),
        proposed: Vec::new(),
        untagged: Vec::new(),
        steered: Steered {
            status,
            waiting: targets.iter().filter(|t| !t.is_written).count(),
            fates: BTreeMap::new(),
            memory: BTreeMap::new(),
            by_hand: BTreeSet::new(),
            early: BTreeMap::new(),
            left: BTreeSet::new(),
            steps: BTreeMap::new(),
            after: None,
            notes: Vec::new(),
        },
    };
    for target in targets {
        undo.target(target);
    }
    // Also what cannot be rendered now goes back.
    for (name, variant) in ours {
        if !undo.steered.fates.contains_key(*name) {
            undo.kept(name, variant);
        }
    }
    undo.named(rollout, targets);
    undo.tell();
    Some(undo.steered)
}

struct Undo<'a> {
    o: &'a Observed,
    /// How many members had published something before, and how many are there again.
    count: usize,
    back: usize,
    /// Those that are suspended, and not back yet.
    suspended: Vec<&'a ObjectName>,
    /// Those whose proposal stands in the way.
    proposed: Vec<&'a ObjectName>,
    /// Those that are back on the branch, and no tag publishes that.
    untagged: Vec<&'a ObjectName>,
    steered: Steered,
}

impl<'a> Undo<'a> {
    /// A target of the set. What was never reached, or appears now, stays as it is: nothing goes forward.
    fn target(&mut self, target: &Target<'a>) {
        let mut member = self.steered.status.members.get(&target.mark).cloned();
        if let Some(member) = member.as_mut().filter(|m| m.before.is_none()) {
            member.before = before::late(self.o, &self.steered.status, target);
        }
        let is = target.variant.and_then(|v| v.variant.as_ref());
        let former = restore::former(target, member.as_ref());
        if restore::is_by_hand(target, member.as_ref()) {
            self.steered.by_hand.insert(target.name.clone());
        }
        let then = member.as_ref().and_then(|m| self.reached(target.name, m));
        if target.is_open() {
            let back = then.as_ref().map(|then| then.commit);
            let early = match back {
                Some(_) => target.is_open_at_another(back).then_some(Early::Other),
                // What was never reached waits, and what the rollout made is what is taken back.
                None => Some(Early::Closed),
            };
            let early = early.map(|early| (target.name.clone(), early));
            self.steered.early.extend(early);
        }
        let fate = match (then, member, former) {
            (Some(then), Some(member), former) => {
                self.count(target.name, target.variant, &member, &then);
                let back = upstream(&member.upstream, &then);
                let moves = member.upstream != back;
                let base = match (former, is) {
                    (Former::Stands, Some(is)) if moves => Some(is.spec.clone()),
                    (Former::Back(spec) | Former::Partly(spec), _) => Some(*spec),
                    (Former::Unknown, Some(is)) => Some(is.spec.clone()),
                    // It was deleted, and what else the set wrote cannot be told any more: it is made as the set wants it
                    // by now, at what it had published.
                    (Former::Unknown, None) => Some(target.wanted.clone()),
                    (Former::Stands, _) => None,
                };
                let anew = target.variant.is_none();
                self.takes(target.name, base, member, (back, moves || anew))
            }
            (_, _, Former::Back(spec) | Former::Partly(spec)) => Fate::Instead(spec),
            (_, _, Former::Stands | Former::Unknown) => Fate::Wait,
        };
        self.steered.fates.insert(target.name.clone(), fate);
    }

    /// A variant of the set that is no target now.
    fn kept(&mut self, name: &'a ObjectName, variant: &'a Arc<Existing>) {
        let member = self.steered.status.members.get(&uid_mark(name.as_str()));
        let (Some(member), Some(is)) = (member.cloned(), &variant.variant) else {
            return;
        };
        let mut steps = self.steered.status.steps.iter_mut();
        if let Some(step) = steps.find(|s| Some(&s.name) == member.step.as_ref()) {
            hold(self.o, step, variant, Some(&member));
        }
        let Some(then) = self.reached(name, &member) else {
            return;
        };
        self.count(name, Some(variant), &member, &then);
        let back = upstream(&member.upstream, &then);
        let moves = member.upstream != back;
        let differs = is.spec.upstream != back;
        let base = differs.then(|| is.spec.clone());
        let fate = self.takes(name, base, member, (back, moves));
        self.steered.fates.insert(name.clone(), fate);
    }

    /// What a member had published before the rollout reached it; what the rollout made is named.
    fn reached(&mut self, name: &ObjectName, member: &Member) -> Option<Before> {
        member.step.as_ref()?;
        if member.before.is_none() {
            self.steered.status.created.push(name.to_string());
        }
        member.before.clone()
    }

    /// A member that goes back to what it had published: remembered first where the set did not write it yet.
    fn takes(
        &mut self,
        name: &ObjectName,
        base: Option<VariantSpec>,
        member: Member,
        (back, writes): (Upstream, bool),
    ) -> Fate {
        let Some(base) = base else {
            return Fate::Wait;
        };
        let spec = restore::at(&base, &back);
        if writes {
            let member = restore::written(&spec, member);
            self.steered.memory.insert(name.clone(), member);
        }
        Fate::Instead(Box::new(spec))
    }

    /// Counts a member, in its step, too.
    fn count(
        &mut self,
        name: &'a ObjectName,
        variant: Option<&Arc<Existing>>,
        member: &Member,
        then: &Before,
    ) {
        self.count += 1;
        let Some(variant) = variant else { return };
        let is_back = is_back(self.o, variant, then);
        self.back += usize::from(is_back);
        // Also where what was published is still there: approved, the proposal would go forward.
        let of_that = variant.holds == Some(then.commit);
        if variant.lifecycle == Some(Lifecycle::Proposed) && !of_that {
            self.proposed.push(name);
        }
        if !is_back && variant.untagged && is_at(variant, then) {
            self.untagged.push(name);
        }
        let suspended = variant.variant.as_ref().is_some_and(|v| v.spec.suspend);
        let suspended = suspended && !is_back;
        if suspended {
            self.suspended.push(name);
        }
        let mut steps = self.steered.status.steps.iter_mut();
        if let Some(step) = steps.find(|s| Some(&s.name) == member.step.as_ref()) {
            step.published += usize::from(is_back);
            step.suspended += usize::from(suspended);
        }
    }

    /// What was never reached does not go back, also where somebody published it ahead of its step. Whatever holds a target
    /// is counted in its step.
    fn named(&mut self, rollout: &Rollout, targets: &[Target<'a>]) {
        let status = &mut self.steered.status;
        let steps = members::assign(rollout, status, targets);
        let mut diverged = Vec::new();
        let mut cannot = measure::MembersFound::default();
        for (target, step) in targets.iter().zip(steps) {
            let member = target.reached(&status.members);
            match (status.steps.get_mut(step), target.variant) {
                (Some(step), Some(variant)) => hold(self.o, step, variant, member),
                (Some(step), None) => cannot.unmade.extend(measure::unmade(step, target)),
                (None, _) => {}
            }
            let published = self.o.published.get(target.name);
            let is_reached = target.reached(&status.members).is_some();
            if is_reached || !target.is_ahead(published, status.began) {
                continue;
            }
            diverged.push(target.name);
            if let Some(step) = status.steps.get_mut(step) {
                step.diverged += 1;
            }
        }
        status.unmade = measure::first_unmade(&[cannot]);
        status.diverged = first(diverged);
        status.suspended = first(std::mem::take(&mut self.suspended));
    }

    fn tell(&mut self) {
        let status = &mut self.steered.status;
        let made = match status.created.len() {
            0 => String::new(),
            1 => format!("; {} is what it made, and stays", status.created.join(", ")),
            n => format!("; {n} that it made stay: {}", status.created.join(", ")),
        };
        status.created.truncate(20);
        let proposed = named_few(&self.proposed).map_or_else(String::new, |named| {
            let keep = counted(self.proposed.len(), "keeps", "keep");
            format!("; {keep} a proposal until somebody rejects or approves it: {named}")
        });
        let untagged = named_few(&self.untagged).map_or_else(String::new, |named| {
            format!("; {} {UNTAGGED}: {named}", self.untagged.len())
        });
        let back = match self.count {
            // What moved to other packages had published nothing there.
            0 => "no member had published anything before".to_owned(),
            1 => format!("{} of 1 member is published as it was before", self.back),
            count => format!(
                "{} of {count} members are published as they were before",
                self.back
            ),
        };
        status.message = format!("{back}{proposed}{untagged}{made}");
    }
}

/// Whether a member is published as it was before.
fn is_back(o: &Observed, variant: &Existing, then: &Before) -> bool {
    let published = o.published.get(&variant.key.name).map(|p| p.commit);
    variant.published && published == Some(then.commit) && is_at(variant, then)
}

fn is_at(variant: &Existing, then: &Before) -> bool {
    let is = variant.variant.as_ref();
    is.is_some_and(|v| v.spec.upstream.commit == Some(then.commit))
}

/// Counts what holds a variant, also on its way back: where what was published before still is, a draft with somebody's
/// edits goes back all the same.
fn hold(o: &Observed, step: &mut StepStatus, variant: &Existing, member: Option<&Member>) {
    let then = member.and_then(|m| m.before.as_ref());
    match then.is_some_and(|then| is_back(o, variant, then)) {
        true => measure::troubled(step, variant),
        false => measure::held(step, variant, then.is_some_and(|then| is_at(variant, then))),
    }
}

/// The upstream that a member gets back.
fn upstream(written: &Upstream, then: &Before) -> Upstream {
    Upstream {
        repo: then.repo.clone(),
        package: then.package.clone(),
        version: UpstreamVersion::Latest,
        commit: Some(then.commit),
        allow_unpublished: written.allow_unpublished,
    }
}
