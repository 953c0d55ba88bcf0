//! The deletion guard: deletions that nobody can have meant wait for a confirmation (S3).
//!
//! Accidents come as loops of single changes. So a deletion that follows from a selection waits until the selection is
//! quiet, and is judged together with all others that wait and with those of the last hour. A verdict is remembered in
//! the status before anything is deleted: what was counted stays counted, and what was let go or confirmed goes, also
//! where the process dies in between. What was found too many waits, whatever its share has become.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use model::{GuardMemory, Shrink, Uid, UidMark, VariantSet, WaitingDeletions};
use sha2::{Digest, Sha256};

use super::names::{CONFIRM, EXPLICIT};
use super::observed::{Existing, Observed, QuietTime};

/// How long a deletion counts, in seconds.
const HOUR: i64 = 3600;
/// So many deletions within an hour are free whatever their share.
const FREE: usize = 3;
/// So many shrinks are remembered one by one. More than an hour of quiet times has room for.
const REMEMBERED: usize = 400;

/// What is to be judged.
pub(super) struct Candidates {
    /// Variants that are wanted no more.
    pub(super) surplus: Vec<Arc<Existing>>,
    /// How many variants the set has that are not on their way out.
    pub(super) present: usize,
    /// What speaks against every deletion.
    pub(super) doubt: Doubt,
}

/// What speaks against every deletion that nobody confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Nothing.
    None,
    /// A selector selects nothing.
    Empty,
    /// A selected kind is not served: its selection has failed, and nothing follows from it (S2).
    Unserved,
}

/// What the guard lets through.
pub(super) struct Verdict {
    /// What goes now.
    pub(super) delete: Vec<Arc<Existing>>,
    /// What waits.
    pub(super) waiting: Vec<Arc<Existing>>,
    /// What to annotate the set with to let it go; `None` while the selection is not quiet.
    pub(super) hash: Option<String>,
    /// What is to be remembered.
    pub(super) memory: GuardMemory,
    /// In how many seconds to judge again, if that changes anything.
    pub(super) look_after: Option<u64>,
}

impl Verdict {
    /// Nothing is judged now: what is remembered stays, save deletions whose targets are back.
    pub(super) fn postponed(before: &GuardMemory, surplus: &[Arc<Existing>]) -> Self {
        let marks: BTreeSet<UidMark> = surplus.iter().map(|v| mark(v)).collect();
        let mut memory = before.clone();
        memory.decided.retain(|mark| marks.contains(mark));
        Self::of(memory)
    }

    fn of(memory: GuardMemory) -> Self {
        Self {
            delete: Vec::new(),
            waiting: Vec::new(),
            hash: None,
            memory,
            look_after: None,
        }
    }
}

/// Judges the candidates.
pub(super) fn judge(o: &Observed, set: &VariantSet, candidates: Candidates) -> Verdict {
    let guard = set.spec.deletion_guard;
    let before = &o.status.guard;
    let Candidates {
        surplus,
        present,
        doubt,
    } = candidates;
    let mut verdict = Verdict::of(GuardMemory {
        recent: before.recent.clone(),
        ..GuardMemory::default()
    });
    // What a person took off a list, or asked for by switching the guard off, is no accident. Nothing at all
    // follows from a selection that failed.
    let unserved = doubt == Doubt::Unserved;
    let meant = |v: &Arc<Existing>| {
        !unserved && (!guard.enabled || v.meta.annotations.contains_key(EXPLICIT))
    };
    let (meant, guarded): (Vec<_>, Vec<_>) = surplus.into_iter().partition(meant);
    let (decided, open): (Vec<_>, Vec<_>) = guarded
        .into_iter()
        .partition(|v| before.decided.contains(&mark(v)));
    let present = present.saturating_sub(meant.len() + decided.len());
    intended(&mut verdict.memory, meant.len());
    verdict.memory.decided = decided.iter().map(|v| mark(v)).collect();
    verdict.delete = meant;
    verdict.delete.extend(decided);
    verdict.delete.sort_by(|a, b| a.key.name.cmp(&b.key.name));
    if open.is_empty() {
        return verdict;
    }
    let hash = hash(set, &open);
    if set.meta.annotations.get(CONFIRM) == Some(&hash) {
        intended(&mut verdict.memory, open.len());
        verdict.memory.decided.extend(open.iter().map(|v| mark(v)));
        return verdict;
    }
    let mut waiting = seen(before.waiting.as_ref(), hash, o.now, o.quiet);
    let due = due(&waiting, o.quiet);
    let few = is_free(o.now, &verdict.memory, present, open.len(), guard.percent);
    // However few are left of them while the mistake is undone.
    waiting.held |= !few;
    if o.now < due {
        verdict.look_after = u64::try_from(due - o.now).ok();
    } else if !waiting.held && doubt == Doubt::None {
        verdict.memory.decided.extend(open.iter().map(|v| mark(v)));
        let shrink = Shrink {
            at: o.now,
            deletions: open.len(),
            variants: present,
        };
        remember(&mut verdict.memory.recent, shrink);
        return verdict;
    } else {
        waiting.held = true;
        verdict.hash = Some(waiting.hash.clone());
    }
    verdict.memory.waiting = Some(waiting);
    verdict.waiting = open;
    verdict
}

/// What is known about the deletions that wait, now that these do.
fn seen(
    before: Option<&WaitingDeletions>,
    hash: String,
    now: i64,
    quiet: QuietTime,
) -> WaitingDeletions {
    let new = |held: bool| WaitingDeletions {
        hash: hash.clone(),
        since: now,
        changed: now,
        held,
    };
    let Some(before) = before else {
        return new(false);
    };
    // A clock that was set back must not make anything wait for longer.
    let mut waiting = WaitingDeletions {
        since: before.since.min(now),
        changed: before.changed.min(now),
        ..before.clone()
    };
    if waiting.hash == hash {
        return waiting;
    }
    let overdue = now - due(&waiting, quiet);
    if (waiting.held && overdue >= 0) || overdue > quiet.quiet {
        // They had come to rest, or would have if anybody had looked: what left since is a change of its own.
        return new(waiting.held);
    }
    waiting.hash = hash;
    waiting.changed = now;
    waiting
}

/// When deletions that wait are judged. Times are in whole seconds, so that one more makes sure of the last.
fn due(waiting: &WaitingDeletions, quiet: QuietTime) -> i64 {
    let more = i64::from(quiet.quiet > 0);
    let quiet_at = waiting.changed.saturating_add(quiet.quiet + more);
    quiet_at.min(waiting.since.saturating_add(quiet.longest))
}

/// Whether so many more deletions are few: three within the hour, or the share of the largest number within it.
fn is_free(now: i64, memory: &GuardMemory, present: usize, more: usize, percent: u8) -> bool {
    let hour = || {
        let recent = memory.recent.iter();
        recent.filter(move |shrink| now.saturating_sub(shrink.at) < HOUR)
    };
    let gone = hour().fold(more, |sum, shrink| sum.saturating_add(shrink.deletions));
    let most = hour().fold(present, |most, shrink| most.max(shrink.variants));
    gone <= FREE.max(most.saturating_mul(usize::from(percent)) / 100)
}

/// Deletions that somebody wanted make the numbers smaller that others are counted against.
fn intended(memory: &mut GuardMemory, count: usize) {
    for shrink in &mut memory.recent {
        shrink.variants = shrink.variants.saturating_sub(count);
    }
}

/// Remembers one shrink more, and forgets those that no longer count.
fn remember(recent: &mut Vec<Shrink>, new: Shrink) {
    recent.retain(|shrink| new.at.saturating_sub(shrink.at) < HOUR);
    recent.push(new);
    while recent.len() > REMEMBERED {
        // The oldest two as one, so that no more goes than if they were told apart.
        let oldest = recent.remove(0);
        if let Some(next) = recent.first_mut() {
            next.deletions += oldest.deletions;
            next.variants = next.variants.min(oldest.variants);
        }
    }
}

/// Stands for a variant in what is remembered.
fn mark(variant: &Existing) -> UidMark {
    uid_mark(variant.meta.uid.as_ref().map_or("", Uid::as_str))
}

/// Stands for the variant with this uid in what a set's guard remembers.
pub fn uid_mark(uid: &str) -> UidMark {
    let hash = Sha256::digest(uid.as_bytes());
    let [a, b, c, d, e, f, ..] = <[u8; 32]>::from(hash);
    UidMark::new([a, b, c, d, e, f])
}

/// Over the set's uid and the uids of the variants, whatever their order.
fn hash(set: &VariantSet, variants: &[Arc<Existing>]) -> String {
    let mut uids: Vec<&str> = variants
        .iter()
        .filter_map(|v| v.meta.uid.as_ref())
        .map(Uid::as_str)
        .collect();
    uids.sort_unstable();
    let mut hasher = Sha256::new();
    hasher.update(set.meta.uid.as_ref().map_or("", Uid::as_str));
    for uid in uids {
        hasher.update([0]);
        hasher.update(uid);
    }
    let mut text = String::new();
    for byte in hasher.finalize().iter().take(6) {
        // Writing to a String cannot fail.
        _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests;
