//! The shrink fuse: deletions that nobody can have meant wait for a confirmation (S3).

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use model::{SetStatus, Uid, VariantSet};
use sha2::{Digest, Sha256};

use super::names::{CONFIRM, EXPLICIT};
use super::observed::{Existing, Observed};

/// How long a shrink is remembered, in seconds.
const HOUR: i64 = 3600;

/// What the fuse lets through.
pub(super) struct Verdict {
    pub(super) delete: Vec<Arc<Existing>>,
    pub(super) held: Vec<Arc<Existing>>,
    /// What to annotate the set with to let the held ones go.
    pub(super) hash: String,
    pub(super) confirmed: BTreeSet<Uid>,
    pub(super) peak: Option<(usize, i64)>,
}

/// Judges the candidates. `ours` is how many variants the set has; `blind` says that a selector
/// selects nothing.
pub(super) fn judge(
    o: &Observed,
    set: &VariantSet,
    ours: usize,
    surplus: Vec<Arc<Existing>>,
    blind: bool,
) -> Verdict {
    let (listed, guarded): (Vec<_>, Vec<_>) = surplus
        .into_iter()
        .partition(|v| v.meta.annotations.contains_key(EXPLICIT));
    let uids: BTreeSet<Uid> = guarded.iter().filter_map(|v| v.meta.uid.clone()).collect();
    let mut confirmed: BTreeSet<Uid> = o
        .status
        .confirmed_deletions
        .intersection(&uids)
        .cloned()
        .collect();
    let (free, mut open): (Vec<_>, Vec<_>) = guarded.into_iter().partition(|v| {
        v.meta
            .uid
            .as_ref()
            .is_some_and(|uid| confirmed.contains(uid))
    });
    let hash = hash(set, &open);
    let mut delete = listed;
    delete.extend(free);
    if set.meta.annotations.get(CONFIRM) == Some(&hash) && !open.is_empty() {
        confirmed.extend(open.iter().filter_map(|v| v.meta.uid.clone()));
        delete.append(&mut open);
    }
    let exempt = delete.len();
    let recent = recent_peak(&o.status, o.now).unwrap_or(0).max(ours);
    let trips = set.spec.deletion_guard.enabled
        && !open.is_empty()
        && (blind || too_many(recent, ours, open.len(), set.spec.deletion_guard.percent));
    let mut verdict = Verdict {
        delete,
        held: Vec::new(),
        hash,
        confirmed,
        peak: o.status.peak,
    };
    if trips {
        verdict.held = open;
    } else if !open.is_empty() {
        verdict.peak = Some((recent.saturating_sub(exempt), o.now));
        verdict.delete.append(&mut open);
    } else {
        let forget = |(count, at): (usize, i64)| (count.saturating_sub(exempt), at);
        verdict.peak = o.status.peak.map(forget);
    }
    verdict.delete.sort_by(|a, b| a.key.name.cmp(&b.key.name));
    verdict
}

/// More than one, and more than the share of the largest number within the last hour.
fn too_many(recent: usize, ours: usize, now: usize, percent: u8) -> bool {
    let gone = recent.saturating_sub(ours).saturating_add(now);
    gone > 1 && gone.saturating_mul(100) > recent.saturating_mul(usize::from(percent))
}

fn recent_peak(status: &SetStatus, now: i64) -> Option<usize> {
    status
        .peak
        .filter(|(_, at)| now.saturating_sub(*at) < HOUR)
        .map(|(count, _)| count)
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
