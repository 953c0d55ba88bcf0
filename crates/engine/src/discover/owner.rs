//! What a record that is found in git gets back from its variant: the owner, labels and annotations. Git holds none of them.

use model::{ObjectKey, OwnerReference};

use super::record;
use crate::codec::Record;
use crate::index::PackageKey;
use crate::transaction::Follow;
use crate::{Engine, Error, Result};

/// Gives a new record what another server kept of the revision (A5): what it owns and who owns it stays.
pub(super) fn inherit(engine: &Engine, follow: &mut Follow) {
    let Record::Put { record, .. } = &mut follow.record else {
        return;
    };
    if follow.from.is_some() {
        return;
    }
    let Some(kept) = engine.ports().records.inherited(&record.key) else {
        return;
    };
    let meta = &mut record.meta;
    meta.uid = kept.uid.or_else(|| meta.uid.take());
    (meta.labels, meta.annotations) = (kept.labels, kept.annotations);
    (meta.owners, meta.finalizers) = (kept.owners, kept.finalizers);
    meta.deleted = kept.deleted;
}

/// Gives a new record to the variant that its trailer names, by the store's word. A list that came late may lack it, and
/// it would make another draft beside what it takes for a foreign one; or may hold one that has gone, and what that left
/// behind would be nobody's to take over for ever.
pub(super) async fn find_owner(
    engine: &Engine,
    package: &PackageKey,
    follow: &mut Follow,
) -> Result<()> {
    let Record::Put { record, .. } = &mut follow.record else {
        return Ok(());
    };
    let Some(machine) = &record.machine else {
        return Ok(());
    };
    if follow.from.is_some() || record.placeholder {
        return Ok(());
    }
    let owner = &machine.owner;
    let others = |o: &OwnerReference| o.uid != owner.uid;
    // What another server kept of its owners stays.
    if record.meta.owners.iter().any(others) {
        return Ok(());
    }
    let key = ObjectKey::new(machine.owner.namespace.clone(), machine.owner.name.clone());
    if key.namespace != package.namespace {
        return Ok(());
    }
    let read = engine.ports().variants.get(&key).await;
    let found = read.map_err(|source| Error::Port { source })?;
    let owned = found
        .as_ref()
        .and_then(|found| record::owned_by(package, owner, found));
    let is_owned = owned.is_some();
    record.meta.owners = owned.into_iter().collect();
    if let Some(found) = found.filter(|_| is_owned) {
        engine.learn_variant(found);
    }
    Ok(())
}

/// Gives a new record what its variant's spec says of labels and annotations: git holds neither, and
/// whoever selects by them must find it again after its record was lost (R52).
pub(super) fn label_anew(engine: &Engine, follow: &mut Follow) {
    let Record::Put { record, .. } = &mut follow.record else {
        return;
    };
    if follow.from.is_some() {
        return;
    }
    let Some(owner) = record.meta.controller().map(|o| o.uid.clone()) else {
        return;
    };
    let found = engine.world(|w| {
        let variant = w.variant_of_uid(&owner)?;
        let variant = variant.parsed.as_ref().ok()?;
        let mut annotations = variant.spec.annotations.clone();
        // What it took over is not its to delete (V9), which the record alone said.
        annotations.extend(plan::variant::adopted_mark(&variant.key, record));
        Some((plan::variant::origin::labels(variant), annotations))
    });
    let Some((labels, annotations)) = found else {
        return;
    };
    for (key, value) in labels {
        record.meta.labels.entry(key).or_insert(value);
    }
    for (key, value) in annotations {
        record.meta.annotations.entry(key).or_insert(value);
    }
}
