//! Walks the steps of a rollout: which is open, which target is written, and what holds the next one (F7).

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Lifecycle, Member, MemberMark, ObjectName, Rollout, RolloutState, RolloutStatus, StepMembers,
    StepStatus,
};

use super::super::observed::{Existing, Observed};
use super::before;
use super::measure::{self, MembersFound, Troubled, Verdict};
use super::members::{self, Target};
use super::restore::{self, Former};
use super::{Fate, PAUSE, Steered, UNTAGGED, first, named_few};
use crate::digest::wanted;
use crate::early::Early;
use crate::report::counted;
use crate::variant::words::PUT_BACK;

/// A rollout, and what its steps are walked over.
pub(super) struct RolloutWalk<'a, 'b> {
    pub(super) o: &'a Observed,
    pub(super) rollout: &'b Rollout,
    pub(super) paused: bool,
    /// Whether nothing may be written, so that no step opens; what is open is counted.
    pub(super) suspended: bool,
    pub(super) certain: bool,
    /// Whether something else is wanted than what is rolled out, and cannot begin yet: then nothing is written at all.
    pub(super) waits: bool,
    pub(super) targets: &'b [Target<'a>],
    pub(super) notes: Vec<String>,
}

/// Where the walk ended.
struct End {
    /// The first step that is not done: nothing behind it is written.
    current: Option<usize>,
    /// In how many seconds the next step may open.
    after: Option<i64>,
    state: RolloutState,
    message: String,
}

/// Why no step opens and no rollout begins.
const UNKNOWN: &str = "a target or an upstream of the set is unknown";

impl End {
    /// Nothing is written, since it cannot be told yet what begins.
    fn unknown() -> Self {
        Self {
            current: None,
            after: None,
            state: RolloutState::Halted,
            message: UNKNOWN.to_owned(),
        }
    }
}

impl RolloutWalk<'_, '_> {
    /// Counts the members of each step, opens what may be open, and says what becomes of each target.
    pub(super) fn walk(self, mut status: RolloutStatus) -> Steered {
        let steps = members::assign(self.rollout, &status, self.targets);
        let of = |at: usize| -> Vec<&Target<'_>> {
            let both = self.targets.iter().zip(&steps);
            both.filter(|(_, s)| **s == at).map(|(t, _)| t).collect()
        };
        let mut found = Vec::new();
        let remembered = (&status.members, status.began);
        for (at, step) in status.steps.iter_mut().enumerate() {
            let members = of(at);
            let counted = measure::count((self.o, self.certain), remembered, &members, step);
            found.push(counted);
        }
        status.diverged = first(found.iter().flat_map(|f| f.diverged.clone()).collect());
        status.suspended = first(found.iter().flat_map(|f| f.suspended.clone()).collect());
        status.unmade = measure::first_unmade(&found);
        let former: Vec<Troubled> = found.iter().map(|f| f.former).collect();
        self.halt(&mut status, &former);
        let end = match self.waits {
            true => End::unknown(),
            false => self.open(&mut status, found, &former),
        };
        for (at, step) in status.steps.iter_mut().enumerate() {
            let all_reached = || of(at).iter().all(|t| t.reached(&status.members).is_some());
            let takes = self.rollout.steps.get(at).map(|step| &step.members);
            // A step that selects nothing has reached nothing: what it selects later on is in no later step.
            let any = !of(at).is_empty() || !matches!(takes, Some(StepMembers::Selector(_)));
            // What is not known may belong to it.
            let may = self.certain && step.opened.is_some() && any;
            step.frozen = step.frozen || (may && all_reached());
        }
        let at = end.current.and_then(|at| status.steps.get(at));
        status.step = at.map(|step| step.name.clone());
        status.complete |= end.state == RolloutState::Complete;
        (status.state, status.message) = (end.state, end.message);
        let name = |at: usize| self.rollout.steps.get(at).map_or("", |s| &s.name);
        let placed = || self.targets.iter().zip(&steps);
        let named = placed().map(|(t, at)| (t.name.clone(), name(*at).to_owned()));
        let mut steered = Steered {
            waiting: 0,
            fates: BTreeMap::new(),
            memory: BTreeMap::new(),
            by_hand: BTreeSet::new(),
            early: BTreeMap::new(),
            left: BTreeSet::new(),
            steps: named.collect(),
            status,
            after: end.after,
            notes: self.notes.clone(),
        };
        let mut waits = Waits::default();
        for (t, step) in placed() {
            let open = self.o.whole_rollout || end.current.is_some_and(|current| *step <= current);
            let by_hand = restore::is_by_hand(t, steered.status.members.get(&t.mark));
            let fate = match open && !self.is_put_back_first(&steered.status, t, by_hand) {
                true => self.write(&mut steered, t, name(*step)),
                false => {
                    let changed = by_hand.then(|| t.name.clone());
                    steered.by_hand.extend(changed);
                    waits.fate(&steered.status, t)
                }
            };
            let early = match open {
                true => is_outdated(t).then_some(Early::Other),
                false => t.is_open().then_some(Early::Closed),
            };
            steered
                .early
                .extend(early.map(|early| (t.name.clone(), early)));
            steered.fates.insert(t.name.clone(), fate);
        }
        waits.tell(&mut steered);
        steered
    }

    /// Opens the steps whose turn it is, one after the other, up to the first that is not done.
    fn open(
        &self,
        status: &mut RolloutStatus,
        mut found: Vec<MembersFound<'_>>,
        former: &[Troubled],
    ) -> End {
        let mut end = End {
            current: None,
            after: None,
            state: RolloutState::Complete,
            message: String::new(),
        };
        let worked = status.step.as_deref();
        let worked = worked.and_then(|name| status.steps.iter().position(|s| s.name == name));
        for (at, wanted) in self.rollout.steps.iter().enumerate() {
            let is_closed = status.steps.get(at).is_some_and(|s| s.opened.is_none());
            // Where something else is wanted, or an undo has ended, the steps that were open are walked once more: what holds
            // the next one holds it again.
            let opens = is_closed || worked.is_some_and(|worked| at > worked);
            if opens && let Some((why, text)) = self.held(status, former) {
                (end.state, end.message) = (why, text);
                break;
            }
            if is_closed {
                if self.suspended {
                    end.state = RolloutState::Progressing;
                    break;
                }
                self.opens(status, at, former);
            }
            let holds = self.held(status, former);
            let Some(step) = status.steps.get_mut(at) else {
                break;
            };
            end.current = Some(at);
            let selected = |t: &Target<'_>| members::selected(self.rollout, t) == Some(at);
            let matched = self.targets.iter().any(selected);
            let last = at + 1 == self.rollout.steps.len();
            let mut found = found.get_mut(at).map(std::mem::take).unwrap_or_default();
            let open = self.rollout.open;
            let times = std::mem::take(&mut found.times);
            match measure::judge(self.o.now, open, (wanted, matched), step, times) {
                Verdict::Done => continue,
                Verdict::Soaking(_) if last => continue,
                Verdict::Soaking(left) => {
                    (end.after, end.state) = (Some(left), RolloutState::Soaking);
                    let until = model::utc(self.o.now.saturating_add(left));
                    end.message = format!("step '{}' soaks until {until}", wanted.name);
                }
                Verdict::Empty(why) => (end.state, end.message) = (RolloutState::Halted, why),
                Verdict::Open => {
                    end.state = RolloutState::Progressing;
                    end.message = waits_for(step, &found);
                }
            }
            if let Some((why, text)) = holds {
                (end.state, end.message) = (why, text);
            }
            break;
        }
        // Also behind the last step a halt is somebody's to end: what halts it is not rolled out.
        let ends = end.state == RolloutState::Complete && !status.complete;
        let halted = ends && status.halted.is_some();
        if halted && let Some((why, text)) = self.held(status, former) {
            (end.state, end.message) = (why, text);
        }
        end
    }

    /// Opens a step. What cannot be made in it, and what is in trouble with what is wanted, halts the rollout at once: nothing
    /// happens to it that would be heard of later, and a share that is published opens no other step past it.
    fn opens(&self, status: &mut RolloutStatus, at: usize, former: &[Troubled]) {
        if let Some(step) = status.steps.get_mut(at) {
            step.opened = Some(self.o.now);
        }
        self.halt(status, former);
    }

    /// A count beyond what is borne halts the rollout until somebody asks for another try.
    fn halt(&self, status: &mut RolloutStatus, former: &[Troubled]) {
        if let Some(why) = self.exceeded(status, former) {
            status.halted = Some(why);
        }
    }

    /// The count that is beyond what is borne, as it is now. What is in trouble with what it was before is written first.
    fn exceeded(&self, status: &RolloutStatus, former: &[Troubled]) -> Option<String> {
        let open = || {
            let both = status.steps.iter().zip(former);
            both.filter(|(s, _)| s.opened.is_some())
        };
        let sum = |of: fn((&StepStatus, &Troubled)) -> usize| open().map(of).sum::<usize>();
        let conflicts = sum(|(s, former)| s.conflicts.saturating_sub(former.conflicts));
        let failed = sum(|(s, former)| s.failed.saturating_sub(former.failed));
        let halt = self.rollout.halt;
        let found = [
            ("with conflicts", conflicts, halt.conflicts),
            ("failed", failed, halt.failed),
            ("rejected", sum(|(s, _)| s.rejected), halt.rejected),
        ];
        let (what, count, most) = found.into_iter().find(|(_, count, most)| count > most)?;
        let members = counted(count, "member", "members");
        Some(format!("{members} {what}, more than {most}"))
    }

    /// Why no further step opens.
    fn held(&self, status: &RolloutStatus, former: &[Troubled]) -> Option<(RolloutState, String)> {
        if let Some(why) = &status.halted {
            let why = match self.exceeded(status, former) {
                Some(why) => why,
                None => format!("{why}; that is mended, and it waits for a retry"),
            };
            return Some((RolloutState::Halted, why));
        }
        if self.paused {
            return Some((
                RolloutState::Paused,
                format!("the set is annotated with {PAUSE}"),
            ));
        }
        (!self.certain).then(|| (RolloutState::Halted, UNKNOWN.to_owned()))
    }

    /// Whether a target whose step opens is put back before it is written: what somebody changed by hand while it waited
    /// would stay in its draft.
    fn is_put_back_first(&self, status: &RolloutStatus, t: &Target<'_>, by_hand: bool) -> bool {
        let marked = |v: &Existing| v.meta.annotations.contains_key(PUT_BACK);
        let noted = t.variant.is_some_and(|v| marked(v));
        by_hand && !noted && !self.o.whole_rollout && t.reached(&status.members).is_none()
    }

    /// A target whose step is open is written as it is wanted, and is a member from then on, whatever becomes of its spec.
    fn write(&self, steered: &mut Steered, t: &Target<'_>, step: &str) -> Fate {
        let reached = t.reached(&steered.status.members);
        let kept_before = reached.and_then(|member| member.before.clone());
        let before = match t.is_of(&steered.status.id) {
            true if reached.is_some() => {
                kept_before.or_else(|| before::late(self.o, &steered.status, t))
            }
            // What is published while it is remembered and not written yet stands before the rollout, too.
            _ => before::now(self.o, &steered.status, t).or(kept_before),
        };
        let kept = reached.and_then(|member| member.step.as_deref());
        let kept = kept.filter(|name| self.rollout.steps.iter().any(|s| s.name == *name));
        let step = kept.unwrap_or(step).to_owned();
        let mark = MemberMark {
            rollout: steered.status.id.clone(),
            step: step.clone(),
            spec: t.hash.clone(),
            before: before.clone(),
        };
        let member = Member {
            upstream: t.wanted.upstream.clone(),
            spec: t.hash.clone(),
            step: Some(step),
            before,
        };
        steered.memory.insert(t.name.clone(), member);
        Fate::Write(mark)
    }
}

/// Whom an open step waits for although nothing of them is open; empty where there is nobody.
fn waits_for(step: &StepStatus, found: &MembersFound<'_>) -> String {
    let mut said = Vec::new();
    if let Some(named) = named_few(&found.suspended) {
        let members = counted(step.suspended, "member that is", "members that are");
        said.push(format!("{members} suspended by hand: {named}"));
    }
    if let Some(named) = named_few(&found.untagged) {
        let members = counted(found.untagged.len(), "member", "members");
        said.push(format!("{members} {UNTAGGED}: {named}"));
    }
    match said.is_empty() {
        true => String::new(),
        false => format!("step '{}' waits for {}", step.name, said.join("; and for ")),
    }
}

/// Whether the proposal of a target that is to be written is of what was wanted before: it stands until somebody rejects it.
fn is_outdated(t: &Target<'_>) -> bool {
    let proposed = t.variant.and_then(|v| v.lifecycle) == Some(Lifecycle::Proposed);
    proposed && t.is_open_at_another(t.wanted.upstream.commit)
}

/// Whether the open revision of a target that is not written yet is of what is wanted all the same: an undo took its spec back,
/// and the proposal stayed.
fn is_open_at_wanted(t: &Target<'_>) -> bool {
    let upstream = &t.wanted.upstream;
    let Some(existing) = t.variant.filter(|v| v.holds.is_some()) else {
        return false;
    };
    let is = existing.variant.as_ref().map(|v| &v.spec);
    let same = |spec| wanted::spec(&restore::at(spec, upstream)) == t.hash;
    existing.holds == upstream.commit && is.is_some_and(same)
}

/// The targets that wait for their step.
#[derive(Default)]
struct Waits<'a> {
    count: usize,
    /// Those that somebody changed, so that not all of what they were can be told.
    changed: Vec<&'a ObjectName>,
    /// Those that are made anew when their step opens, since what they were cannot be told.
    lost: Vec<&'a ObjectName>,
    /// Those with an open revision of something else than what is wanted now.
    open: Vec<&'a ObjectName>,
    /// Those with an open revision of what is wanted.
    ahead: Vec<&'a ObjectName>,
}

impl<'a> Waits<'a> {
    fn fate(&mut self, status: &RolloutStatus, t: &Target<'a>) -> Fate {
        if t.is_written {
            if t.is_open() {
                self.ahead.push(t.name);
            }
            return Fate::Stay;
        }
        self.count += 1;
        match (t.is_open(), is_open_at_wanted(t)) {
            (true, true) => self.ahead.push(t.name),
            (true, false) => self.open.push(t.name),
            (false, _) => {}
        }
        match restore::former(t, status.members.get(&t.mark)) {
            Former::Stands => Fate::Wait,
            Former::Back(spec) => Fate::Instead(spec),
            Former::Partly(spec) => {
                self.changed.push(t.name);
                Fate::Instead(spec)
            }
            Former::Unknown => {
                match t.variant {
                    Some(_) => self.changed.push(t.name),
                    None => self.lost.push(t.name),
                }
                Fate::Wait
            }
        }
    }

    fn tell(self, steered: &mut Steered) {
        steered.waiting = self.count;
        let said = [
            (
                self.changed,
                (
                    "variant that waits for its step was",
                    "variants that wait for their step were",
                ),
                "changed by hand, and not all of what was there can be told: the upstream stays, and the rest is written when the step opens",
            ),
            (
                self.lost,
                (
                    "variant that waits for its step was",
                    "variants that wait for their step were",
                ),
                "deleted by hand, and what was there cannot be told: it is made anew when the step opens",
            ),
            (
                self.open,
                (
                    "target whose step is closed has",
                    "targets whose step is closed have",
                ),
                "an open revision that is not of what is wanted now: it stays as it is until the step opens, and is brought to what is wanted then; approve none of these before",
            ),
            (
                self.ahead,
                (
                    "target whose step is closed has",
                    "targets whose step is closed have",
                ),
                "an open revision of what is wanted: approved now, it goes ahead of the step",
            ),
        ];
        for (names, (one, many), what) in said {
            if let Some(named) = named_few(&names) {
                let counted = counted(names.len(), one, many);
                steered.notes.push(format!("{counted} {what}: {named}"));
            }
        }
    }
}
