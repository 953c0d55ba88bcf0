//! What shall be beside what is: creations, updates, and candidates for deletion (R160, S1, S8).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    Downstream, Lifecycle, MemberMark, ObjectKey, ObjectMeta, ObjectName, Pairs, Status, Uid,
    Variant, VariantSet, VariantSpec,
};

use super::SetStep;
use super::names::{EXPLICIT, LABEL, WRITTEN_BY, owner, variant_name};
use super::observed::{Existing, Observed};
use super::render::Failed;
use super::rollout::{self, Fate, Steered};
use crate::variant::words::{FINALIZER, PUT_BACK, ROLLOUT};

/// One variant that shall be.
struct Wanted {
    spec: Spec,
    explicit: bool,
    /// What a rollout notes on it; `None` leaves what stands there (F7).
    mark: Option<MemberMark>,
    /// Whether somebody changed it by hand while it waits for its step.
    by_hand: bool,
}

/// What a variant shall be. Most already are what they shall be; those are not held twice.
enum Spec {
    /// As it was rendered.
    Rendered(Box<VariantSpec>),
    /// As this variant is, whatever a person suspended.
    Is(Arc<Variant>),
}

impl Spec {
    fn as_ref(&self) -> &VariantSpec {
        match self {
            Self::Rendered(spec) => spec,
            Self::Is(variant) => &variant.spec,
        }
    }

    fn rendered(self) -> VariantSpec {
        match self {
            Self::Rendered(spec) => *spec,
            Self::Is(variant) => VariantSpec {
                suspend: false,
                ..variant.spec.clone()
            },
        }
    }
}

/// Specs by name, and what cannot be.
pub(super) struct Desired {
    wanted: BTreeMap<ObjectName, Wanted>,
    /// Names of variants that stay as they are, because their target failed.
    kept: BTreeSet<ObjectName>,
    pub(super) failed: Vec<Failed>,
    /// Whether some target's place is unknown: nothing may be deleted (S2).
    pub(super) unknown: bool,
}

impl Desired {
    pub(super) fn new() -> Self {
        Self {
            wanted: BTreeMap::new(),
            kept: BTreeSet::new(),
            failed: Vec::new(),
            unknown: false,
        }
    }

    /// Adds a rendered target. Equal ones merge quietly; of different ones for one name, the
    /// first stays unless another is what exists (S1).
    pub(super) fn add(
        &mut self,
        set: &VariantSet,
        spec: VariantSpec,
        explicit: bool,
        existing: &BTreeMap<&ObjectName, &Arc<Existing>>,
    ) {
        let place = spec.downstream.clone();
        let name = match variant_name(&set.key, &place) {
            Ok(name) => name,
            Err(error) => {
                return self.fail(set, failed(place, "NameNotValid", error.to_string()));
            }
        };
        let is = existing.get(&name).and_then(|e| e.variant.as_ref());
        let is = is.filter(|v| same(&v.spec, &spec));
        let Some(first) = self.wanted.get_mut(&name) else {
            let spec = match is {
                Some(variant) => Spec::Is(Arc::clone(variant)),
                None => Spec::Rendered(Box::new(spec)),
            };
            self.wanted.insert(
                name,
                Wanted {
                    spec,
                    explicit,
                    mark: None,
                    by_hand: false,
                },
            );
            return;
        };
        if same(first.spec.as_ref(), &spec) {
            first.explicit |= explicit;
            return;
        }
        let (a, b) = (first.spec.as_ref().downstream.clone(), place);
        if let Some(variant) = is {
            let spec = Spec::Is(Arc::clone(variant));
            *first = Wanted {
                spec,
                explicit,
                mark: None,
                by_hand: false,
            };
        }
        let message = if a == b {
            format!(
                "targets for package '{}' in repo '{}' differ; what exists stays, else the first counts",
                b.package, b.repo
            )
        } else {
            format!(
                "package '{}' in repo '{}' and package '{}' in repo '{}' would both be called '{name}'; what exists stays, else the first counts",
                a.package, a.repo, b.package, b.repo
            )
        };
        self.failed.push(failed(b, "TargetsCollide", message));
    }

    /// What is wanted, and whether it is so already.
    pub(super) fn all<'a>(
        &'a self,
        uid: &'a Uid,
        o: &'a Observed,
    ) -> impl Iterator<Item = (&'a ObjectName, &'a VariantSpec, bool)> {
        let ours = o.variants.iter().filter(|v| v.meta.is_owned_by(uid));
        let ours: BTreeSet<&ObjectName> = ours.map(|v| &v.key.name).collect();
        self.wanted.iter().map(move |(name, wanted)| {
            let is = matches!(wanted.spec, Spec::Is(_)) && ours.contains(name);
            (name, wanted.spec.as_ref(), is)
        })
    }

    /// Leaves what waits for its step as it is, and what goes once every step is done.
    pub(super) fn obey(&mut self, uid: &Uid, o: &Observed, steered: &mut Steered) {
        let ours = o.variants.iter().filter(|v| v.meta.is_owned_by(uid));
        let ours: BTreeMap<&ObjectName, &Arc<Existing>> = ours.map(|v| (&v.key.name, v)).collect();
        for name in &steered.left {
            let stays = !self.wanted.contains_key(name) && self.kept.insert(name.clone());
            steered.waiting += usize::from(stays);
        }
        for (name, fate) in &steered.fates {
            let is = ours.get(name).and_then(|v| v.variant.as_ref());
            let explicit = ours
                .get(name)
                .is_some_and(|v| v.meta.annotations.contains_key(EXPLICIT));
            match (fate, self.wanted.get_mut(name), is) {
                (Fate::Stay, ..) => {}
                (Fate::Write(mark), Some(wanted), _) => wanted.mark = Some(mark.clone()),
                (Fate::Wait, Some(wanted), Some(is)) => wanted.spec = Spec::Is(Arc::clone(is)),
                (Fate::Wait, Some(_), None) => {
                    self.wanted.remove(name);
                    self.kept.insert(name.clone());
                }
                (Fate::Instead(spec), Some(wanted), is) => {
                    let is = is.filter(|is| same(&is.spec, spec));
                    wanted.spec = match is {
                        Some(is) => Spec::Is(Arc::clone(is)),
                        None => Spec::Rendered(spec.clone()),
                    };
                }
                // It cannot be rendered now, and goes back all the same.
                (Fate::Instead(spec), None, _) if self.kept.contains(name) => {
                    let spec = Spec::Rendered(spec.clone());
                    let wanted = Wanted {
                        spec,
                        explicit,
                        mark: None,
                        by_hand: false,
                    };
                    self.wanted.insert(name.clone(), wanted);
                }
                (Fate::Write(_) | Fate::Wait | Fate::Instead(_), None, _) => {}
            }
        }
        for name in &steered.by_hand {
            if let Some(wanted) = self.wanted.get_mut(name) {
                wanted.by_hand = true;
            }
        }
    }

    /// Adds a target that cannot be rendered: its variant stays as it is, if it is known which.
    pub(super) fn fail(&mut self, set: &VariantSet, failed: Failed) {
        match &failed.place {
            None => self.unknown = true,
            Some(place) => self.kept.extend(variant_name(&set.key, place).ok()),
        }
        self.failed.push(failed);
    }
}

fn failed(place: Downstream, reason: &'static str, message: String) -> Failed {
    Failed {
        place: Some(place),
        reason,
        message,
    }
}

/// What follows from the comparison.
#[derive(Default)]
pub(super) struct Diff {
    pub(super) writes: Vec<SetStep>,
    /// Ours, not wanted any more, by name.
    pub(super) surplus: Vec<Arc<Existing>>,
    /// Variants of the set, by name.
    pub(super) ours: Vec<Arc<Existing>>,
}

/// Compares what shall be with what is.
pub(super) fn diff(o: &Observed, set: &VariantSet, uid: &Uid, desired: &mut Desired) -> Diff {
    let mut diff = Diff {
        ours: o
            .variants
            .iter()
            .filter(|v| v.meta.is_owned_by(uid))
            .cloned()
            .collect(),
        ..Diff::default()
    };
    diff.ours.sort_by(|a, b| a.key.name.cmp(&b.key.name));
    let existing: BTreeMap<&ObjectName, &Arc<Existing>> =
        o.variants.iter().map(|v| (&v.key.name, v)).collect();
    diff.surplus = diff
        .ours
        .iter()
        .filter(|v| !v.meta.is_deleting())
        .filter(|v| {
            !desired.wanted.contains_key(&v.key.name) && !desired.kept.contains(&v.key.name)
        })
        .cloned()
        .collect();
    for (name, wanted) in std::mem::take(&mut desired.wanted) {
        let place = wanted.spec.as_ref().downstream.clone();
        let step = match existing.get(&name) {
            None => Ok(Some(create(o, set, uid, name, wanted))),
            Some(existing) if existing.meta.is_deleting() => Err((
                "VariantDeleting",
                format!("packagevariant '{name}' is being deleted; it is made again afterwards"),
            )),
            Some(existing) if existing.meta.is_owned_by(uid) => Ok(update(set, existing, wanted)),
            Some(existing) => adopt(set, uid, existing, wanted)
                .map(Some)
                .map_err(|message| ("NameTaken", message)),
        };
        match step {
            Ok(step) => diff.writes.extend(step),
            Err((reason, message)) => desired.failed.push(failed(place, reason, message)),
        }
    }
    diff
}

fn create(o: &Observed, set: &VariantSet, uid: &Uid, name: ObjectName, wanted: Wanted) -> SetStep {
    let finalizer = o.variants_here.then(|| FINALIZER.to_owned());
    let mut meta = ObjectMeta {
        finalizers: finalizer.into_iter().collect(),
        labels: Pairs::from_iter([(LABEL.to_owned(), uid.to_string())]),
        owners: vec![owner(&set.key, uid)],
        ..ObjectMeta::default()
    };
    mark(&mut meta, set, wanted.explicit);
    reached(&mut meta, set, wanted.mark.as_ref());
    SetStep::Create(Box::new(Variant {
        key: ObjectKey::new(set.key.namespace.clone(), name),
        meta: Arc::new(meta),
        spec: wanted.spec.rendered(),
    }))
}

/// Only the spec and what the set notes are written, and only where they differ; a person's `suspend` stays (R165).
fn update(set: &VariantSet, existing: &Existing, wanted: Wanted) -> Option<SetStep> {
    let ended = set.spec.rollout.is_none() && existing.meta.annotations.contains_key(ROLLOUT);
    let note = wanted.mark.as_ref().map(ToString::to_string);
    let noted = note.is_none() || existing.meta.annotations.get(ROLLOUT) == note.as_ref();
    let was_back = existing.meta.annotations.contains_key(PUT_BACK);
    let is_back = wanted.by_hand || (was_back && !is_settled(existing));
    let noted = noted && was_back == is_back;
    let known = is_marked(&existing.meta, set, wanted.explicit) && noted && !ended;
    if known && matches!(wanted.spec, Spec::Is(_)) {
        return None;
    }
    let mut meta = ObjectMeta::clone(&existing.meta);
    mark(&mut meta, set, wanted.explicit);
    reached(&mut meta, set, wanted.mark.as_ref());
    match is_back {
        true => drop(
            meta.annotations
                .insert(PUT_BACK.to_owned(), "true".to_owned()),
        ),
        false => drop(meta.annotations.remove(PUT_BACK)),
    }
    let is = existing.variant.as_ref();
    let mut spec = wanted.spec.rendered();
    spec.suspend = is.is_some_and(|v| v.spec.suspend);
    Some(SetStep::Update {
        resource_version: existing.meta.resource_version.clone(),
        variant: Box::new(Variant {
            key: existing.key.clone(),
            meta: Arc::new(meta),
            spec,
        }),
        adopt: false,
    })
}

/// Whether a variant was looked at as it is now, and no draft of it is open: what was written by hand is in none.
fn is_settled(existing: &Existing) -> bool {
    let open = matches!(
        existing.lifecycle,
        Some(Lifecycle::Draft | Lifecycle::Proposed)
    );
    existing.ready.0 != Status::Unknown && !open
}

/// Whether a variant is as it shall be, whatever a person suspended.
fn same(is: &VariantSpec, wanted: &VariantSpec) -> bool {
    if is.suspend == wanted.suspend {
        return is == wanted;
    }
    let mut is = is.clone();
    is.suspend = wanted.suspend;
    is == *wanted
}

/// A variant without a controller that carries the set's own name and place is taken back (S8).
fn adopt(
    set: &VariantSet,
    uid: &Uid,
    existing: &Existing,
    wanted: Wanted,
) -> Result<SetStep, String> {
    if let Some(why) = existing.refusal(&wanted.spec.as_ref().downstream) {
        return Err(why);
    }
    let mut meta = ObjectMeta::clone(&existing.meta);
    meta.owners.push(owner(&set.key, uid));
    meta.labels.insert(LABEL.to_owned(), uid.to_string());
    mark(&mut meta, set, wanted.explicit);
    reached(&mut meta, set, wanted.mark.as_ref());
    let mut spec = wanted.spec.rendered();
    // Who stopped it has not said that it may go on (R165).
    spec.suspend = existing.variant.as_ref().is_some_and(|v| v.spec.suspend);
    Ok(SetStep::Update {
        resource_version: existing.meta.resource_version.clone(),
        variant: Box::new(Variant {
            key: existing.key.clone(),
            meta: Arc::new(meta),
            spec,
        }),
        adopt: true,
    })
}

/// Whether [`mark`] would change nothing.
fn is_marked(meta: &ObjectMeta, set: &VariantSet, explicit: bool) -> bool {
    let found = meta.annotations.get(EXPLICIT).map(String::as_str);
    let writer = |annotations: &Pairs| annotations.get(WRITTEN_BY).cloned();
    found == explicit.then_some("true")
        && writer(&meta.annotations) == writer(&set.meta.annotations)
}

/// Notes on a variant that a rollout reached it; without rollouts nothing of one stays.
fn reached(meta: &mut ObjectMeta, set: &VariantSet, mark: Option<&MemberMark>) {
    if set.spec.rollout.is_none() || mark.is_some() {
        rollout::write(&mut meta.annotations, mark);
    }
}

/// Notes on a variant that it follows from an explicit list, and who wrote the set: its spec is theirs (X6).
fn mark(meta: &mut ObjectMeta, set: &VariantSet, explicit: bool) {
    let explicit = explicit.then_some("true");
    let writer = set.meta.annotations.get(WRITTEN_BY).map(String::as_str);
    for (name, value) in [(EXPLICIT, explicit), (WRITTEN_BY, writer)] {
        match value {
            Some(value) => drop(meta.annotations.insert(name.to_owned(), value.to_owned())),
            None => drop(meta.annotations.remove(name)),
        }
    }
}
