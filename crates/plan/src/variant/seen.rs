//! What was seen of a variant's world, as text: the first half of the answer to "why".

use std::fmt::Write;

use model::{InjectionOutcome, Revision};

use super::{Observed, Subject, UpstreamResolution, Writer};
use crate::report::counted;

/// What was seen, one fact a line.
pub fn seen(o: &Observed) -> String {
    let mut text = String::from("seen:\n");
    let mut line = |what: String| {
        // Writing to a String cannot fail.
        _ = writeln!(text, "- {what}");
    };
    match &o.upstream {
        UpstreamResolution::Found(r) => line(format!("upstream {}", revision(r))),
        UpstreamResolution::NotPublished(r) => {
            line(format!("upstream {}, not published", revision(r)))
        }
        UpstreamResolution::NotFound { .. } => line("no upstream".to_owned()),
    }
    for (name, repository) in &o.repositories {
        if let Err(why) = &repository.ready {
            line(format!("repository {name} is not ready: {why}"));
        }
    }
    let uid = o.variant.meta().uid.as_ref();
    for r in o.downstream.iter().filter(|r| !r.placeholder) {
        let whose = if uid.is_some_and(|uid| r.meta.is_owned_by(uid)) {
            "ours"
        } else {
            "not ours"
        };
        line(format!("downstream {}, {whose}", revision(r)));
    }
    // Where the spec cannot be understood, nobody knows what was left behind.
    let left = match &o.variant {
        Subject::Valid(_) => "left behind:",
        Subject::Invalid { .. } => "ours:",
    };
    for r in &o.elsewhere {
        line(format!("{left} {}", revision(r)));
    }
    for rival in &o.rivals {
        line(format!("also claimed by {}", rival.key));
    }
    for injection in &o.injections {
        for (gvk, outcome) in &injection.found {
            line(format!("{gvk} {}: {}", injection.name, found(outcome)));
        }
    }
    if o.writer != Writer::Known {
        line("it is not recorded who wrote the variant last: nothing is read for it".to_owned());
    }
    if o.is_suspended() {
        let which = match o.set_suspended {
            true => "the variant's set is suspended",
            false => "the variant is suspended",
        };
        line(which.to_owned());
    }
    if let Some(failure) = &o.failure {
        line(format!(
            "failed {} in a row: {}: {}",
            counted(
                usize::try_from(failure.attempts).unwrap_or(usize::MAX),
                "time",
                "times"
            ),
            failure.reason,
            failure.message
        ));
    }
    text
}

fn revision(r: &Revision) -> String {
    let gates = r.open_gates();
    let mut text = format!("{} ({})", r.key.name, r.lifecycle);
    if !gates.is_empty() && !r.lifecycle.is_published() {
        // Writing to a String cannot fail.
        _ = write!(text, ", gates not true: {}", gates.join(", "));
    }
    let open = r.conflicts.iter().filter(|c| c.blocks()).count();
    if open > 0 {
        _ = write!(
            text,
            ", {} to decide",
            counted(open, "conflict", "conflicts")
        );
    }
    text
}

fn found(outcome: &InjectionOutcome) -> String {
    match outcome {
        InjectionOutcome::Content(_) => "found".to_owned(),
        InjectionOutcome::Absent => "not there".to_owned(),
        InjectionOutcome::KindMissing => {
            "its kind is unknown here: is its definition (CRD) installed?".to_owned()
        }
        InjectionOutcome::FieldMissing(field) => format!("has no field {field:?}"),
        InjectionOutcome::Unreadable(why) => format!("cannot be read: {why}"),
    }
}
