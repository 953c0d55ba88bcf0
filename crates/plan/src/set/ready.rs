//! The condition `VariantsReady`: what the variants say of themselves, in one sentence (R167, S6).

use std::sync::Arc;

use model::{Condition, Status};

use super::observed::Existing;
use super::step::Earliest;
use crate::conflicts::EDIT;
use crate::report::counted;
use crate::variant::words::{CLAIMED, WAITING_FOR_APPROVAL};

/// How many variants the sentence names.
const NAMED: usize = 3;

/// What keeps the variants that are there from being all that shall be.
pub(super) enum Lacking {
    /// Nothing.
    Nothing,
    /// So many targets cannot be made as specified.
    Targets(usize),
    /// What there shall be is unknown; `Ready` says why.
    Everything,
}

/// What a variant says that is not ready.
fn said(variant: &Existing, early: Earliest<'_>) -> String {
    let (name, (_, reason, message)) = (&variant.key.name, &variant.ready);
    let is_early = || early.map(|early| early.get(name));
    match (reason.as_str(), message) {
        ("", _) => format!("'{name}' was not looked at yet"),
        // Its message tells how to approve it, which only the set knows to be too early.
        (WAITING_FOR_APPROVAL, message) => match is_early() {
            Some(None) => format!("'{name}': {reason}: {message}"),
            Some(Some(early)) => {
                format!(
                    "'{name}': {reason}: not to be approved now: {}",
                    early.why()
                )
            }
            None => format!("'{name}': {reason}"),
        },
        (reason, message) => {
            // The variant itself names the ways out, and so does whoever is asked what waits.
            let what = message.split_once(&format!("; {EDIT}"));
            let what = what.map_or(message.as_str(), |(what, _)| what);
            format!("'{name}': {reason}: {what}")
        }
    }
}

impl Lacking {
    /// Of so many unknown targets, and so many that cannot be made.
    pub(super) fn of(unknown: usize, failures: usize) -> Self {
        match (failures, unknown) {
            (0, _) => Self::Nothing,
            (_, 0) => Self::Targets(failures),
            (_, _) => Self::Everything,
        }
    }
}

/// That a set has nothing of its own, since other variants have every downstream that it wants (V15): no variant of it does
/// anything, so that it is not `Ready`, however well it wrote them.
pub(super) fn claimed(ours: &[Arc<Existing>], created: usize) -> Option<Condition> {
    let is_claimed = |v: &Arc<Existing>| v.stalled && v.ready.1 == CLAIMED;
    let first = ours.first()?;
    if created > 0 || !ours.iter().all(is_claimed) {
        return None;
    }
    let message = format!(
        "other package variants have the downstreams of all {} package variants; '{}': {}",
        ours.len(),
        first.key.name,
        first.ready.2
    );
    Some(Condition::new("Ready", Status::False, CLAIMED, message))
}

/// Sums up the variants' own state (R167, S6). It is true only of a set that knows what it shall
/// have, and has it: no variants of no known targets are not "all ready". Nothing is offered for approval that a rollout says
/// is not to be approved now (F7, F8), or of which it cannot be told.
pub(super) fn variants_ready(
    ours: &[Arc<Existing>],
    created: usize,
    lacking: Lacking,
    early: Earliest<'_>,
) -> Condition {
    let not: Vec<&Arc<Existing>> = ours.iter().filter(|v| v.ready.0 != Status::True).collect();
    let ready = ours.len() - not.len();
    let total = ours.len() + created;
    let mut notes: Vec<String> = not.iter().take(NAMED).map(|v| said(v, early)).collect();
    if not.len() > NAMED {
        notes.push(format!("and {} more", not.len() - NAMED));
    }
    if created > 0 {
        notes.push(counted(created, "is new", "are new"));
    }
    let mut verdict = match ready == total {
        true => (Status::True, "AllReady"),
        false => (Status::False, "SomeNotReady"),
    };
    match lacking {
        Lacking::Nothing => {}
        Lacking::Targets(failed) => {
            let targets = counted(failed, "target", "targets");
            notes.push(format!("{targets} cannot be made as specified"));
            verdict = (Status::False, "SomeNotReady");
        }
        Lacking::Everything => {
            notes.push("what there shall be is unknown".to_owned());
            if verdict.0 == Status::True {
                verdict = (Status::Unknown, "TargetsUnknown");
            }
        }
    }
    let mut message = format!("{ready} of {total} package variants are ready");
    if !notes.is_empty() {
        message = format!("{message}; {}", notes.join("; "));
    }
    Condition::new("VariantsReady", verdict.0, verdict.1, message)
}
