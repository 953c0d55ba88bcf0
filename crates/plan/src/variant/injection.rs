//! What is to be said about a variant's injection points: told on the variant, and no verdict about it (R88, V22).

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    InjectionNote, InjectionOutcome, KeptInjection, Revision, Status, Variant, VariantStatus,
};

use super::{Observed, Subject, Writer, recipe};
use crate::News;

/// What the types of injection points' conditions begin with (R83).
const POINT: &str = "config.injection.";
/// The reason of a point that goes on holding what nothing in the cluster stands for any more.
pub(super) const STALE: &str = "InjectionStale";

/// The points of open revisions that hold nothing, and those that hold what is gone: of a published revision, too.
/// What cannot be looked at now stands as it was said last.
pub(super) fn notes(o: &Observed, open: &[Arc<Revision>]) -> Vec<InjectionNote> {
    let known = |variant: &Variant| {
        let repository = o.repositories.get(&variant.spec.downstream.repo);
        let read = repository.is_some_and(|r| r.ready.is_ok()) && o.unreadable.is_none();
        read && o.writer == Writer::Known
    };
    match &o.variant {
        Subject::Valid(variant) if known(variant) => {}
        _ => return o.status.injection.clone(),
    }
    let mut notes: BTreeMap<String, InjectionNote> = BTreeMap::new();
    let unfilled = open.iter().flat_map(|revision| &revision.conditions);
    for condition in unfilled.filter(|c| c.kind.starts_with(POINT) && c.status == Status::False) {
        let note = InjectionNote {
            point: condition.kind.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        };
        notes.insert(note.point.clone(), note);
    }
    for kept in recipe::kept(o) {
        let kind = kept.gvk.rsplit('/').next().unwrap_or_default();
        let note = InjectionNote {
            point: format!("{POINT}{kind}.{}", kept.point),
            reason: STALE.to_owned(),
            message: stale(o, &kept),
        };
        notes.insert(note.point.clone(), note);
    }
    notes.into_values().collect()
}

fn stale(o: &Observed, kept: &KeptInjection) -> String {
    let name = &kept.injected;
    let named = o.injections.iter().filter(|i| i.name == *name);
    let outcome = named.filter_map(|i| i.found.get(&kept.gvk)).next();
    let why = match outcome {
        None => "is named by no injector".to_owned(),
        Some(InjectionOutcome::KindMissing) => "is of a kind that is not served".to_owned(),
        Some(InjectionOutcome::FieldMissing(field)) => format!("has no field {field:?}"),
        Some(InjectionOutcome::Unreadable(why)) => format!("cannot be read: {why}"),
        Some(InjectionOutcome::Absent | InjectionOutcome::Content(_)) => "is gone".to_owned(),
    };
    format!(
        "'{name}' {why}; what was injected from it stays until an object that fits an injector is there"
    )
}

/// What of it people are told as events: that the source of what is injected is gone.
pub(super) fn news(before: &VariantStatus, after: &VariantStatus) -> Vec<News> {
    let gone = after.injection.iter().filter(|note| note.reason == STALE);
    gone.filter(|note| !before.injection.contains(note))
        .map(|note| News {
            warning: true,
            reason: note.reason.clone(),
            message: format!("{}: {}", note.point, note.message),
        })
        .collect()
}
