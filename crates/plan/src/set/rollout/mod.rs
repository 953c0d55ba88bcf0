//! Rolls out what a set wants in steps (F7): which targets are written now, and which wait for their step.
//!
//! It gates on commits that are published, never on `Ready`. What it remembers stands in the set's status, which nobody else
//! writes: what is to be written to a variant is remembered first and written then, so that a process that dies in any step
//! forgets nothing, and nothing that a variant says of itself decides.

mod before;
mod measure;
mod members;
mod moves;
mod named;
mod news;
mod restore;
mod undo;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    CommitId, Condition, MAX_NAMED, Member, MemberMark, ObjectName, Pairs, Revision,
    RolledUpstream, Rollout, RolloutState, RolloutStatus, Status, Uid, UidMark, Upstream,
    UpstreamVersion, VariantSet, VariantSpec,
};

use super::guard::uid_mark;
use super::observed::{Existing, Observed};
use crate::Report;
use crate::digest::wanted;
use crate::early::Early;
use crate::report::counted;
pub use members::{MemberPlace, is_early, step_of, steps, waits_for_step};
use members::{Members, Target};
use moves::Moves;
pub(super) use news::news;
use walk::RolloutWalk;

/// On a set (any value): no further step opens while it stands.
pub const PAUSE: &str = "offshoot.dev/rollout-pause";
/// On a set: try again after a halt; any new value asks again.
pub const RETRY: &str = "offshoot.dev/rollout-retry";
/// On a set: the id of the rollout to take back (F8). It ends when it is removed, or with another `spec.upstream`.
pub const UNDO: &str = "offshoot.dev/rollout-undo";

/// Of whom a tag was deleted, and the way out, for people.
const UNTAGGED: &str = "whose published revision is gone, since its tag was deleted in git, while the branch holds it: put the tag back (TagDeleted of the Repository names the commit)";

/// What becomes of a target.
#[derive(Debug)]
pub(super) enum Fate {
    /// It is written as it is wanted, with this mark.
    Write(MemberMark),
    /// It is as it is wanted already.
    Stay,
    /// It waits for its step: its variant stays as it is, and none is made.
    Wait,
    /// Its variant gets this spec instead: what it was, or had published before (F7, F8).
    Instead(Box<VariantSpec>),
}

/// What a rollout comes to.
#[derive(Debug)]
pub(super) struct Steered {
    pub(super) status: RolloutStatus,
    pub(super) fates: BTreeMap<ObjectName, Fate>,
    /// What is to be remembered of a variant before it is written.
    pub(super) memory: BTreeMap<ObjectName, Member>,
    /// The variants that somebody changed by hand in other fields than their upstream, while nothing is written to them.
    pub(super) by_hand: BTreeSet<ObjectName>,
    /// The variants whose open revision is not to be approved now.
    pub(super) early: BTreeMap<ObjectName, Early>,
    /// The variants that targets left for other packages, and that stay until every step is done.
    pub(super) left: BTreeSet<ObjectName>,
    /// The name of each target's step.
    pub(super) steps: BTreeMap<ObjectName, String>,
    /// How many targets are not as they are wanted, and wait for their step or for the end of an undo.
    pub(super) waiting: usize,
    /// In how many seconds the next step may open.
    pub(super) after: Option<i64>,
    pub(super) notes: Vec<String>,
}

/// Decides which of the wanted targets are written now.
pub(super) fn steer<'a>(
    o: &'a Observed,
    (set, uid): (&VariantSet, &Uid),
    rollout: &Rollout,
    upstreams: &[(&Upstream, &Revision)],
    all: impl Iterator<Item = (&'a ObjectName, &'a VariantSpec, bool)>,
    certain: bool,
) -> Steered {
    let ours: BTreeMap<&ObjectName, _> = o
        .variants
        .iter()
        .filter(|v| v.meta.is_owned_by(uid))
        .map(|v| (&v.key.name, v))
        .collect();
    let targets = members::targets(o, uid, &ours, all);
    let taken: Vec<&ObjectName> = targets
        .iter()
        .filter(|t| t.theirs.is_some())
        .map(|t| t.name)
        .collect();
    let moves = Moves::of(o.status.rollout.as_ref(), set, &ours, &targets);
    if let Some(mut undone) = undo::of(o, (set, rollout), &ours, &targets) {
        undone.status.taken = first(taken);
        // The rollout in which they move begins once this has ended.
        undone.status.moves |= moves.begins;
        undone.keep(o, &ours, &targets);
        return undone;
    }
    let mut notes = set.spec.rollout_warnings();
    let begun = begin(
        o,
        (set, uid),
        upstreams,
        &targets,
        (certain, &moves),
        &mut notes,
    );
    let Begun { mut status, waits } = begun;
    status.taken = first(taken);
    remember(o, &mut status, &ours, upstreams);
    named::named(rollout, &mut status);
    answer(set, &mut status);
    let mut steered = RolloutWalk {
        o,
        rollout,
        paused: set.meta.annotations.contains_key(PAUSE),
        suspended: set.spec.suspend,
        certain,
        waits,
        targets: &targets,
        notes,
    }
    .walk(status);
    if certain {
        forget(&mut steered.status, &ours, &targets);
    }
    moves::settle(&mut steered.status, set, (&ours, &targets), certain);
    steered.keep(o, &ours, &targets);
    steered
}

/// A rollout that goes on or begins.
struct Begun {
    status: RolloutStatus,
    /// Whether it goes on only since another one cannot begin yet: nothing of that is written.
    waits: bool,
}

/// The rollout that goes on, or the one that begins: with other upstream commits, where targets move to other packages, or where
/// what is wanted changed after every step was done. None begins while a target or an upstream is unknown.
fn begin(
    o: &Observed,
    (set, uid): (&VariantSet, &Uid),
    upstreams: &[(&Upstream, &Revision)],
    targets: &[Target<'_>],
    (certain, moves): (bool, &Moves),
    notes: &mut Vec<String>,
) -> Begun {
    let wants = wanted::wants(upstreams.iter().map(|(wanted, _)| *wanted));
    let asked = wanted::asked(&set.spec.upstreams);
    let before = o.status.rollout.as_ref();
    let anew = |t: &Target<'_>| {
        // Somebody edited a variant by hand: it is written back, and nothing else is wanted.
        let member = before.and_then(|b| b.members.get(&t.mark));
        let by_hand = member.is_some_and(|m| m.spec == t.hash);
        t.variant.is_some() && !t.is_written && !by_hand
    };
    if let Some(before) = before {
        let same = before.wants == wants && !moves.begins;
        let same = same && !(before.complete && targets.iter().any(anew));
        if same || !certain {
            let mut status = before.clone();
            status.asked = asked;
            status.moves |= moves.begins;
            if same {
                status.upstreams = rolled(upstreams);
            }
            // What was taken back is rolled out again, step by step.
            if status.state == RolloutState::Undone {
                status.created.clear();
                status.steps.iter_mut().for_each(|s| s.filled = None);
            }
            // A share is of what is there when the first step opens.
            if certain && status.steps.iter().all(|s| s.opened.is_none()) {
                status.total = targets.len();
                status.awaited = unmade(targets);
            }
            // One that is not selected now keeps its place: whoever looked may have heard of nothing yet.
            let made: BTreeSet<UidMark> = made(targets).collect();
            status.awaited.retain(|mark| !made.contains(mark));
            let waits = !same;
            return Begun { status, waits };
        }
        if !before.complete && before.state != RolloutState::Undone {
            let why = match before.wants == wants {
                true => "its targets move to other packages",
                false => "another upstream is wanted",
            };
            notes.push(format!("rollout {} is restarted: {why}", before.id));
        }
    }
    let last = before.map_or("", |b| b.id.as_str());
    // What is known to be published comes before this rollout, also where a clock that was ahead said otherwise.
    let latest = o.published.values().filter_map(|p| p.at).max();
    let mut members = before.map_or_else(Members::new, |b| b.members.clone());
    for member in members.values_mut() {
        (member.step, member.before) = (None, None);
    }
    let status = RolloutStatus {
        id: wanted::rollout(uid, wanted::number(last) + 1, last, &wants),
        wants,
        asked,
        total: targets.len(),
        began: latest.map_or(o.now, |at| at.max(o.now)),
        upstreams: rolled(upstreams),
        retried: before.and_then(|b| b.retried.clone()),
        awaited: unmade(targets),
        moves: moves.begins || (moves.leaves && before.is_none_or(|b| b.moves)),
        members,
        ..RolloutStatus::default()
    };
    let waits = false;
    Begun { status, waits }
}

/// What is rolled out, for people.
fn rolled(upstreams: &[(&Upstream, &Revision)]) -> Vec<RolledUpstream> {
    let of = |(wanted, revision): &(&Upstream, &Revision)| {
        Some(RolledUpstream {
            repo: wanted.repo.clone(),
            package: wanted.package.clone(),
            revision: revision.workspace.to_string(),
            commit: wanted.commit?,
        })
    };
    upstreams.iter().filter_map(of).take(MAX_NAMED).collect()
}

/// Takes what stands when the first rollout of a set begins for what the set wrote, at the upstream commits that it comes to
/// then: a variant that waits follows no tag that is made later and no branch that goes on.
fn remember(
    o: &Observed,
    status: &mut RolloutStatus,
    ours: &BTreeMap<&ObjectName, &Arc<Existing>>,
    upstreams: &[(&Upstream, &Revision)],
) {
    if o.status.rollout.is_some() {
        return;
    }
    let known = ours.iter().filter_map(|(name, variant)| {
        let spec = &variant.variant.as_ref()?.spec;
        let commit = stands_at(o, (name, &spec.upstream), upstreams);
        let upstream = Upstream {
            commit,
            ..spec.upstream.clone()
        };
        Some((uid_mark(name.as_str()), restore::standing(spec, upstream)))
    });
    status.members = known.collect();
}

/// The commit that a variant follows now: that of the wanted upstream where it is the same, else what it has published of one
/// that moves. `None` where neither is known, or it names a revision that stands.
fn stands_at(
    o: &Observed,
    (name, upstream): (&ObjectName, &Upstream),
    upstreams: &[(&Upstream, &Revision)],
) -> Option<CommitId> {
    if upstream.commit.is_some() {
        return upstream.commit;
    }
    let same = |wanted: &Upstream| {
        let plain = Upstream {
            commit: None,
            ..wanted.clone()
        };
        plain == *upstream
    };
    let wanted = upstreams.iter().find(|(wanted, _)| same(wanted));
    let moves = matches!(
        upstream.version,
        UpstreamVersion::Latest | UpstreamVersion::BranchHead
    );
    let published = o.published.get(name).filter(|_| moves);
    let published = published.map(|published| published.commit);
    wanted.and_then(|(wanted, _)| wanted.commit).or(published)
}

/// Forgets what is gone. What was reached keeps its step until the rollout is through, also where nothing is known of it for a
/// while: a list of what was there long ago, after a start, empties no step.
fn forget(
    status: &mut RolloutStatus,
    ours: &BTreeMap<&ObjectName, &Arc<Existing>>,
    targets: &[Target<'_>],
) {
    let here = ours.keys().map(|name| uid_mark(name.as_str()));
    let here: BTreeSet<UidMark> = here.chain(targets.iter().map(|t| t.mark)).collect();
    let through = status.complete;
    let kept = |member: &Member| !through && member.step.is_some();
    let members = &mut status.members;
    members.retain(|mark, member| here.contains(mark) || kept(member));
}

/// The targets that have no variant.
fn unmade(targets: &[Target<'_>]) -> BTreeSet<UidMark> {
    let new = targets.iter().filter(|t| t.variant.is_none());
    new.map(|t| t.mark).collect()
}

/// The targets that have one.
fn made(targets: &[Target<'_>]) -> impl Iterator<Item = UidMark> {
    let there = targets.iter().filter(|t| t.variant.is_some());
    there.map(|t| t.mark)
}

/// A request to try again ends a halt; what halts it still does so anew.
fn answer(set: &VariantSet, status: &mut RolloutStatus) {
    let asked = set.meta.annotations.get(RETRY);
    if asked.is_some() && status.retried.as_ref() != asked {
        status.halted = None;
        status.retried = asked.cloned();
    }
}

/// Says in the report how the rollout stands, and who ends what holds it. The set is not `Ready` while targets wait for
/// their step: `Ready` says that all variants are as specified (S6).
pub(super) fn tell(
    set: &VariantSet,
    (status, steered): (&RolloutStatus, &Steered),
    conditions: &mut [Condition],
    report: &mut Report,
) {
    let name = &set.key.name;
    for note in &steered.notes {
        report.note(note.clone());
    }
    let how = format!("rollout {}: {}", status.id, told(status));
    let resume = format!("offshoot rollout resume {name}");
    match status.state {
        RolloutState::Halted if status.halted.is_some() => report.hint(
            how,
            format!("mend it, then offshoot rollout retry {name}; or offshoot rollout undo {name}"),
        ),
        RolloutState::Paused | RolloutState::Undone => report.hint(how, resume),
        RolloutState::Complete => {}
        _ => match status.without_members() {
            Some(way_out) => report.hint(how, way_out),
            None => report.note(how),
        },
    }
    for told in status.told() {
        report.note(format!("rollout {}: {told}", status.id));
    }
    if report.state == "up to date" && status.state != RolloutState::Complete {
        let words = status.words().unwrap_or("rolling out");
        words.clone_into(&mut report.state);
    }
    if steered.waiting == 0 {
        return;
    }
    let message = match status.state {
        RolloutState::Undone => {
            let waits = counted(steered.waiting, "target waits", "targets wait");
            format!("{waits} until somebody resumes")
        }
        _ => {
            let (one, many) = ("target waits for its", "targets wait for their");
            let waits = counted(steered.waiting, one, many);
            format!("{waits} step of the rollout")
        }
    };
    let ready = conditions.iter_mut().find(|c| c.kind == "Ready");
    if let Some(ready) = ready.filter(|c| c.status == Status::True) {
        *ready = Condition::new("Ready", Status::False, "RollingOut", message);
    }
}

/// How the rollout of a set stands that is suspended: it is counted, and nothing else of it changes. One that would begin
/// waits until something may be written.
pub(super) fn suspended(o: &Observed, steered: &Steered) -> Option<RolloutStatus> {
    let mut status = o.status.rollout.clone()?;
    status.message = match status.id == steered.status.id {
        true => {
            status = steered.status.clone();
            let said = [status.message.as_str(), COUNTED];
            let said = said.into_iter().filter(|text| !text.is_empty());
            said.collect::<Vec<_>>().join("; ")
        }
        false => OF_BEFORE.to_owned(),
    };
    Some(status)
}

/// That a suspended set is counted, for people.
const COUNTED: &str =
    "the set is suspended (spec.suspend): what is open is counted, and nothing is written";
/// That it is not, since it wants something else by now.
const OF_BEFORE: &str = "the set is suspended (spec.suspend): the counts are of before something else was wanted, and another rollout begins once it goes on";

/// The first names, in their order, as a status has room for them.
fn first(mut names: Vec<&ObjectName>) -> Vec<String> {
    names.sort();
    let few = names.iter().take(MAX_NAMED);
    few.map(ToString::to_string).collect()
}

/// The first names, and how many more there are; `None` where there are none.
fn named_few(names: &[&ObjectName]) -> Option<String> {
    let few = names.iter().take(MAX_NAMED).map(ToString::to_string);
    let mut few: Vec<String> = few.collect();
    if names.len() > MAX_NAMED {
        few.push(format!("and {} more", names.len() - MAX_NAMED));
    }
    (!few.is_empty()).then(|| few.join(", "))
}

/// How it stands, with the reason.
fn told(status: &RolloutStatus) -> String {
    match status.message.as_str() {
        "" => status.progress(),
        message => format!("{}: {message}", status.progress()),
    }
}

/// `RolledOut`: whether every step is done of what is wanted now. Where that cannot begin, since the set is suspended or a
/// failure stops it, what is told is of the rollout before, and says nothing of what is wanted.
pub(super) fn condition(
    (set, status): (&VariantSet, &RolloutStatus),
    steered: &Steered,
) -> Condition {
    let mut message = format!("rollout {}: {}", status.id, told(status));
    let wanted = &steered.status;
    let begun = wanted.id == status.id && wanted.state == status.state;
    let (verdict, reason) = match (status.state, begun) {
        (RolloutState::Complete, true) => (Status::True, status.state.word()),
        (_, true) => (Status::False, status.state.word()),
        (_, false) => (Status::False, NOT_BEGUN),
    };
    if !begun && !set.spec.suspend {
        message = format!("{message}; {OF_STOPPED}");
    }
    Condition::new(ROLLED_OUT, verdict, reason, message)
}

/// Its reason where more is wanted than the rollout that it tells of brought.
const NOT_BEGUN: &str = "NotBegun";
/// That a failure stops that, for people.
const OF_STOPPED: &str =
    "more is wanted by now, and begins once every target can be made (spec.onError: Stop)";

/// Condition: every step of the rollout is done (F7).
const ROLLED_OUT: &str = "RolledOut";

/// The annotations of a variant with its mark; without any, where it has none.
pub(super) fn write(annotations: &mut Pairs, mark: Option<&MemberMark>) {
    let name = crate::variant::words::ROLLOUT;
    match mark {
        Some(mark) => drop(annotations.insert(name.to_owned(), mark.to_string())),
        None => drop(annotations.remove(name)),
    }
}
