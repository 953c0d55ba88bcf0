//! What applying something would do to every target: the supposed world is observed and decided on as the real one, and
//! what the steps would make is prepared, never published (F2).
//!
//! Nothing is guessed: what cannot be known is listed as unknown, and what would fail is named while the rest is planned.

mod known;
mod leave;
mod set;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use model::{
    CommitId, Conflict, Files, Namespace, ObjectKey, ObjectName, PackageName, RepositoryName,
    TreeId,
};
use package::changes::{self, Changes, ClassId, Inputs};
use plan::variant::words::SET_KIND;

use crate::ports::{Cluster, OurKind};
use crate::queue::Key;
use crate::suppose::{Supposed, SupposedContent, SupposedUpstream, Suppositions};
use crate::{Engine, Result, opening, waiting};

/// How many targets are derived at once.
const AT_ONCE: usize = 16;

/// What would happen.
#[derive(Debug, Clone, Default)]
pub struct FleetPlan {
    /// The sets, in the order of their names.
    pub sets: Vec<PlannedSet>,
    /// The targets, in the order of their variants' names.
    pub targets: Vec<PlannedTarget>,
    /// The classes of their changes.
    pub classes: BTreeMap<ClassId, PlannedClass>,
    /// What goes.
    pub leaving: Vec<Leaving>,
    /// Sets that would be stalled: reason and message of the condition.
    pub stalled: Vec<(ObjectKey, String, String)>,
    /// What cannot be known, and why.
    pub unknown: Vec<(String, String)>,
}

/// What a set comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSet {
    /// The set.
    pub key: ObjectKey,
    /// Whether the deletion guard holds its deletions (S3).
    pub held: bool,
    /// How many of its variants leave.
    pub deleting: usize,
    /// Of how many that it has.
    pub of: usize,
    /// The names of the steps of its rollout, in their order (F7).
    pub steps: Vec<String>,
    /// What the author of its rollout may not have meant.
    pub warning: Option<String>,
    /// The value of the annotation that lets held deletions go.
    pub confirm: Option<String>,
    /// Whether its targets are not known, so that no plan can be made for it.
    pub unknown: bool,
}

/// What comes of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A first draft.
    Create,
    /// A draft from another upstream commit.
    Upgrade,
    /// A draft from the same upstream commit: recipe, injection or base changed.
    Edit,
    /// A draft with conflicts that somebody has to decide.
    Conflict,
    /// The variant goes.
    Leave,
    /// Nothing.
    Unchanged,
    /// It would fail.
    Failed,
    /// It cannot be known.
    Unknown,
}

impl Verdict {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Upgrade,
        Self::Edit,
        Self::Conflict,
        Self::Leave,
        Self::Unchanged,
        Self::Failed,
        Self::Unknown,
    ];

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.word() == word)
    }

    /// Whether something changes.
    pub fn changes(self) -> bool {
        match self {
            Self::Create | Self::Upgrade | Self::Edit | Self::Conflict | Self::Leave => true,
            Self::Unchanged | Self::Failed | Self::Unknown => false,
        }
    }

    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Upgrade => "upgrade",
            Self::Edit => "edit",
            Self::Conflict => "conflict",
            Self::Leave => "leave",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// A variant and what comes of it.
#[derive(Debug, Clone)]
pub struct PlannedTarget {
    /// The variant.
    pub variant: ObjectKey,
    /// Its set; `None` for a variant of its own.
    pub set: Option<ObjectKey>,
    /// Where its package is.
    pub place: Option<(RepositoryName, PackageName)>,
    /// The step of its set's rollout in which it is reached (F7); `None` without rollout.
    pub step: Option<String>,
    /// What comes of it.
    pub verdict: Verdict,
    /// Why its tree is not exactly what would be written; `None` where it is.
    pub inexact: Option<String>,
    /// The class of its change.
    pub class: Option<ClassId>,
    /// Its upstream, now and then.
    pub upstream: Option<UpstreamChange>,
    /// The draft that is made or moved on.
    pub draft: Option<ObjectName>,
    /// The package's tree in that draft, where it is exact.
    pub tree: Option<TreeId>,
    /// What it states.
    pub inputs: Inputs,
    /// What it would inject and nobody has, each by kind and name.
    pub absent: Vec<String>,
    /// What nobody has decided.
    pub conflicts: Vec<Conflict>,
    /// Why it would fail, is not known, or stays as it is: a reason and a sentence; empty otherwise.
    pub why: (String, String),
}

impl PlannedTarget {
    /// Notes why it may be otherwise in the end: its tree is not exact then.
    pub fn doubt(&mut self, why: &str) {
        self.tree = None;
        let more = self.inexact.take().map(|more| format!("; {more}"));
        self.inexact = Some(why.to_owned() + &more.unwrap_or_default());
    }
}

/// Another upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamChange {
    /// The upstream's repository.
    pub repository: RepositoryName,
    /// The upstream package.
    pub package: PackageName,
    /// The revision and commit that the published package stems from.
    pub from: Option<(String, Option<CommitId>)>,
    /// Those that are wanted; the commit of files from elsewhere does not exist yet.
    pub to: (String, Option<CommitId>),
}

/// A class: the change, and the first of its targets as an example.
#[derive(Debug, Clone)]
pub struct PlannedClass {
    /// What changes.
    pub changes: Changes,
    /// The first target, by name.
    pub first: ObjectKey,
    /// The files that change, as that target has them now.
    pub before: Files,
    /// And then.
    pub after: Files,
}

/// What leaves with a variant, or because it went elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// The variant.
    pub variant: ObjectKey,
    /// Why.
    pub why: String,
    /// Its revisions.
    pub revisions: Vec<Fate>,
    /// The branch's own revision of the package of a variant that goes: no variant owns it, so that it stays.
    pub branch: Option<ObjectName>,
}

/// What becomes of a revision whose variant goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// The revision.
    pub name: ObjectName,
    /// One of the words below.
    pub fate: &'static str,
    /// What it holds, so that its deletion can be bound to that.
    pub tree: Option<TreeId>,
}

impl Fate {
    /// It goes.
    pub const DELETED: &str = "deleted";
    /// It goes once somebody approves.
    pub const DELETION_PROPOSED: &str = "deletion proposed";
    /// It stays, and no variant looks after it.
    pub const ORPHANED: &str = "orphaned";
}

/// Plans what would follow from suppositions in a namespace; without any, what follows from what is there. What
/// objects hold is read through `cluster`, which also decides for whom.
///
/// # Errors
/// A supposed upstream cannot be had; the process is on its way out. What is wrong with a target stands in the plan.
pub(crate) async fn fleet(
    engine: &Engine,
    namespace: &Namespace,
    suppositions: Suppositions,
    cluster: Arc<dyn Cluster>,
) -> Result<FleetPlan> {
    let everything = suppositions.is_empty();
    let mut plan = FleetPlan::default();
    known::asked_for(engine, namespace, &mut plan.unknown).await;
    look_again(engine, &suppositions.upstreams, &mut plan.unknown).await;
    let mut world = Supposed::of(engine, cluster, suppositions.run_functions);
    let kinds = suppositions.kinds.clone();
    let written = written(&suppositions);
    plan.unknown.extend(put_back(engine, &suppositions));
    let by_hand = deleted_variants(&suppositions);
    let gone = suppose(&mut world, suppositions).await?;
    for kind in &kinds {
        known::take(&world, namespace, kind, &mut plan.unknown).await;
    }
    let by_hand = by_hand
        .into_iter()
        .filter(|key| key.namespace == *namespace);
    let mut keys = world.touched();
    if everything {
        keys = known::all(&world, namespace);
    }
    keys.extend(gone.into_iter().map(Key::Variant));
    keys.extend(written);
    let mut variants = BTreeSet::new();
    let told = set::plan(&world, namespace, keys, &mut variants, &mut plan).await?;
    targets(&world, namespace, variants, &mut plan).await?;
    for variant in by_hand {
        set::anew(&world, &variant, &mut plan).await?;
    }
    for target in &mut plan.targets {
        target.step = told.steps.get(&target.variant).cloned();
    }
    for leaving in &mut plan.leaving {
        if let Some(why) = told.held.get(&leaving.variant) {
            leaving.why.clone_from(why);
        }
    }
    plan.classes = without_aside(engine, std::mem::take(&mut plan.classes)).await?;
    plan.targets.sort_by(|a, b| a.variant.cmp(&b.variant));
    plan.leaving.sort_by(|a, b| a.variant.cmp(&b.variant));
    // Targets come as they are done.
    plan.unknown.sort();
    Ok(plan)
}

/// The classes whose first target's files are shown without what belongs to no class: taken off once for each class, not for
/// each target.
async fn without_aside(
    engine: &Engine,
    mut classes: BTreeMap<ClassId, PlannedClass>,
) -> Result<BTreeMap<ClassId, PlannedClass>> {
    let cpu = engine.inner.options.cpu.clone();
    cpu.run(move || {
        for class in classes.values_mut() {
            let (before, after) = (changes::aside(&class.before), changes::aside(&class.after));
            class.before = changes::differing(&before, &after);
            class.after = changes::differing(&after, &before);
        }
        classes
    })
    .await
}

/// Asks the repositories of supposed commits what was pushed since they were looked at: a branch means what it is now. Whoever
/// cannot be asked is told of.
async fn look_again(
    engine: &Engine,
    all: &[SupposedUpstream],
    unknown: &mut Vec<(String, String)>,
) {
    let mut asked = BTreeSet::new();
    for upstream in all {
        let SupposedContent::GitRef(name) = &upstream.content else {
            continue;
        };
        let place = (&upstream.namespace, &upstream.repository);
        // What is no registration is told where it is read.
        let Ok(open) = opening::here(engine, place.0, place.1).await else {
            continue;
        };
        if asked.insert(place)
            && let Err(error) = waiting::remote(engine, open.repo.url(), open.repo.fetch()).await
        {
            let what = format!("{name} of repository {}", upstream.repository);
            let why = format!("what was pushed since it was looked at last: {error}");
            unknown.push((what, why));
        }
    }
}

/// The sets and variants that are supposed: they are planned also where nothing of them changes.
fn written(all: &Suppositions) -> Vec<Key> {
    let sets = all.sets.iter().map(|s| Key::Set(s.key.clone()));
    let variants = all.variants.iter().map(|v| Key::Variant(v.key.clone()));
    sets.chain(variants).collect()
}

/// Variants of a set that somebody would write by hand: their set writes them back, and whether a draft is made before that, which may
/// keep what was stated there, is decided by who comes first.
fn put_back(engine: &Engine, all: &Suppositions) -> Vec<(String, String)> {
    let changed = all.variants.iter().filter(|wanted| {
        let known = engine.world(|w| w.variant(&wanted.key).cloned());
        let of_set = known.filter(|v| v.meta.controller().is_some_and(|c| c.kind == SET_KIND));
        let both = of_set
            .as_ref()
            .map(|v| v.parsed.as_ref())
            .zip(Some(wanted.parsed.as_ref()));
        both.is_some_and(|(known, wanted)| match (known, wanted) {
            (Ok(known), Ok(wanted)) => known.spec != wanted.spec,
            _ => false,
        })
    });
    let told = changed.map(|v| {
        let why = "its set writes it back; a draft that is made of it before may keep keys of its packageContext";
        (format!("packagevariant {}", v.key), why.to_owned())
    });
    told.collect()
}

/// The variants that somebody would delete.
fn deleted_variants(all: &Suppositions) -> Vec<ObjectKey> {
    let variants = all
        .deleted
        .iter()
        .filter(|(kind, _)| *kind == OurKind::Variant);
    variants.map(|(_, key)| key.clone()).collect()
}

/// Puts everything that is supposed into the world; answers the variants that go with their sets.
async fn suppose(world: &mut Supposed, all: Suppositions) -> Result<Vec<ObjectKey>> {
    for repository in all.repositories {
        world.put_repository(repository);
    }
    for upstream in &all.upstreams {
        world.publish(upstream).await?;
    }
    for set in all.sets {
        world.put_set(set);
    }
    for variant in all.variants {
        world.put_variant(variant);
    }
    let mut gone = Vec::new();
    for (kind, key) in &all.deleted {
        match kind {
            OurKind::Variant => world.delete_variant(key),
            OurKind::Set => gone.extend(world.delete_set(key)),
            OurKind::Repository => world.delete_repository(key),
            OurKind::Revision => world.delete_revision(key),
        }
    }
    Ok(gone)
}

/// Plans the targets, many at once, and puts their changes into classes.
async fn targets(
    world: &Supposed,
    namespace: &Namespace,
    variants: BTreeSet<ObjectKey>,
    plan: &mut FleetPlan,
) -> Result<()> {
    let mut rest = variants.into_iter().filter(|v| v.namespace == *namespace);
    let first = rest.by_ref().take(AT_ONCE);
    let mut going: FuturesUnordered<_> = first.map(|v| target::plan(world, v)).collect();
    while let Some(planned) = going.next().await {
        going.extend(rest.next().map(|v| target::plan(world, v)));
        let Some(planned) = planned? else { continue };
        take(plan, planned);
    }
    Ok(())
}

fn take(plan: &mut FleetPlan, planned: target::Planned) {
    let target::Planned {
        target,
        change,
        leaving,
    } = planned;
    plan.leaving.extend(leaving);
    if let Some((id, class)) = change {
        // The first by name is shown, whoever was derived first.
        let known = plan.classes.get(&id);
        if known.is_none_or(|known| class.first < known.first) {
            plan.classes.insert(id, class);
        }
    }
    if target.verdict == Verdict::Unknown {
        let what = format!("variant {}", target.variant);
        plan.unknown.push((what, target.why.1.clone()));
    }
    plan.targets.push(target);
}
