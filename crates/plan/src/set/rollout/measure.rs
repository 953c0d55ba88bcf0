//! How far a step is: counted by what is published at the wanted commit, never by `Ready` (F7).

use model::{
    MAX_NAMED, ObjectName, OpenWhen, RolloutStep, Standing, StepMembers, StepStatus, Unmade,
};

use super::super::observed::{Existing, Observed};
use super::members::{Members, Target};

/// Why no further step opens, or that the step is done.
pub(super) enum Verdict {
    /// Too few of its members are published.
    Open,
    /// Enough are, and so many seconds are left until the next step opens.
    Soaking(i64),
    /// It is done.
    Done,
    /// It has no members that could be published.
    Empty(String),
}

/// What is found of the members of a step beside the counts.
#[derive(Default)]
pub(super) struct MembersFound<'a> {
    /// When each of them was published that counts as published.
    pub(super) times: Vec<i64>,
    /// Those that have published what the rollout did not bring.
    pub(super) diverged: Vec<&'a ObjectName>,
    /// Those that are not published as they are wanted, and are suspended.
    pub(super) suspended: Vec<&'a ObjectName>,
    /// Those that have what is wanted on the branch, and no tag that publishes it.
    pub(super) untagged: Vec<&'a ObjectName>,
    /// Those that cannot be made.
    pub(super) unmade: Vec<Unmade>,
    /// Those in trouble that are not written yet as they are wanted.
    pub(super) former: Troubled,
}

/// How many members of a step are in trouble with what they were before: what is wanted by now may end it, and halts nothing
/// for it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Troubled {
    pub(super) conflicts: usize,
    pub(super) failed: usize,
}

/// The first targets that cannot be made, by name, as a status has room for them.
pub(super) fn first_unmade(found: &[MembersFound<'_>]) -> Vec<Unmade> {
    let all = found.iter().flat_map(|f| &f.unmade);
    let mut all: Vec<&Unmade> = all.collect();
    all.sort();
    all.into_iter().take(MAX_NAMED).cloned().collect()
}

/// Counts a target that has no variant in its step, if none can be made; what is to be said of it.
pub(super) fn unmade(step: &mut StepStatus, target: &Target<'_>) -> Option<Unmade> {
    let why = target.refusal()?;
    step.failed += 1;
    Some(Unmade {
        name: target.name.to_string(),
        step: step.name.clone(),
        why,
    })
}

/// Whether a target has published what is wanted, at the wanted commit.
pub(super) fn is_published(o: &Observed, target: &Target<'_>) -> bool {
    let commit = o.published.get(target.name).map(|p| p.commit);
    let says = target.variant.is_some_and(|v| v.published);
    target.is_written && says && commit.is_some() && commit == target.wanted.upstream.commit
}

/// Counts the members of a step. Where targets are unknown, those that are missing are not taken for deleted.
pub(super) fn count<'a>(
    (o, certain): (&Observed, bool),
    (remembered, began): (&Members, i64),
    members: &[&Target<'a>],
    step: &mut StepStatus,
) -> MembersFound<'a> {
    let mut found = MembersFound::default();
    *step = StepStatus {
        name: std::mem::take(&mut step.name),
        takes: std::mem::take(&mut step.takes),
        opened: step.opened,
        frozen: step.frozen,
        filled: step.filled,
        members: match step.frozen || !certain {
            // As many as it had; what was reached in it belongs to it, whatever was known then.
            true => step.members.max(members.len()),
            false => members.len(),
        },
        ..StepStatus::default()
    };
    if certain {
        step.deleted = step.members.saturating_sub(members.len());
    }
    for target in members {
        let Some(variant) = target.variant else {
            found.unmade.extend(unmade(step, target));
            continue;
        };
        let published = o.published.get(target.name);
        let commit = published.map(|p| p.commit);
        let wanted = target.wanted.upstream.commit;
        if is_published(o, target) {
            step.published += 1;
            let times = &mut found.times;
            times.push(published.and_then(|p| p.at).unwrap_or(o.now).min(o.now));
            continue;
        }
        let (conflicts, failed) = (step.conflicts, step.failed);
        held(step, variant, target.is_written);
        if !target.is_written {
            found.former.conflicts += step.conflicts - conflicts;
            found.former.failed += step.failed - failed;
        }
        if variant.variant.as_ref().is_some_and(|v| v.spec.suspend) {
            step.suspended += 1;
            found.suspended.push(target.name);
        }
        if target.is_written && variant.untagged {
            found.untagged.push(target.name);
        }
        let diverged = match target.reached(remembered) {
            Some(member) => {
                let before = member.before.as_ref().map(|b| b.commit);
                commit.is_some() && commit != wanted && commit != before
            }
            // Its step is closed, and somebody did not wait for it.
            None => target.is_ahead(published, began),
        };
        if diverged {
            step.diverged += 1;
            found.diverged.push(target.name);
        }
    }
    found
}

/// Counts what holds a member that has not published what it is to have: it is out of reach or gone, or waits for somebody.
/// A rejection counts where it is as it shall be.
pub(super) fn held(step: &mut StepStatus, variant: &Existing, is_written: bool) {
    match variant.ready.1.as_str() {
        "RepositoryNotReady" => step.unreachable += 1,
        "DownstreamDeleted" | "DownstreamDeletionProposed" => step.deleted += 1,
        _ => {
            troubled(step, variant);
            step.rejected += usize::from(is_written && variant.rejected);
        }
    }
}

/// Counts a member that cannot go on until somebody acts.
pub(super) fn troubled(step: &mut StepStatus, variant: &Existing) {
    step.conflicts += usize::from(variant.standing == Standing::Conflicts);
    step.failed += usize::from(variant.standing == Standing::Failed);
}

/// Whether an open step is done.
pub(super) fn judge(
    now: i64,
    open: OpenWhen,
    (wanted, matched): (&RolloutStep, bool),
    step: &mut StepStatus,
    mut times: Vec<i64>,
) -> Verdict {
    let able = step.members.saturating_sub(step.deleted + step.unreachable);
    if able == 0 && (step.members > 0 || (!matched && is_selector(wanted))) {
        step.filled = None;
        return Verdict::Empty(match step.members {
            0 => format!("step '{}' selects no target", wanted.name),
            _ => format!(
                "no member of step '{}' is left: deleted {}, unreachable {}",
                wanted.name, step.deleted, step.unreachable
            ),
        });
    }
    let needed = (able * usize::from(open.published)).div_ceil(100);
    if step.published < needed {
        step.filled = None;
        return Verdict::Open;
    }
    times.sort_unstable();
    // Of the publication that filled the share, whoever looked when.
    let nth = needed.checked_sub(1).and_then(|n| times.get(n)).copied();
    let filled = step.filled.or(nth).unwrap_or(now).min(now);
    step.filled = Some(filled);
    match filled.saturating_add(open.soak) - now {
        left @ 1.. => Verdict::Soaking(left),
        _ => Verdict::Done,
    }
}

fn is_selector(step: &RolloutStep) -> bool {
    matches!(step.members, StepMembers::Selector(_))
}
