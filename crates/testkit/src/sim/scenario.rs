//! Twelve short stories for the crash matrix: what a person, a platform and git do, in a fixed order.
//!
//! Each is prepared in peace; then comes the part in which the process dies once. People are patient:
//! what was not answered is asked again. Nothing here rolls dice.

use std::sync::Arc;

use model::{AdoptionPolicy, DeletionPolicy, Lifecycle, PackageName, Variant};

use super::Violation;
use super::fixtures::{self, BLUEPRINTS, NS, TARGETS};
use super::people;
use super::world::World;
use crate::twin::key;

type Told = Result<(), Violation>;

/// The two packages, in the repository written in place and in the one that is pushed to.
const PLACES: [(&str, &str); 2] = [("deploy", "shop"), ("edge", "cafe")];

/// One story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    /// Variants make their first drafts.
    Create,
    /// The spec and what is injected change under open drafts that a person edited.
    Mutate,
    /// Upstream publishes; the downstream has a person's edit.
    Upgrade,
    /// Drafts are proposed and approved.
    Publish,
    /// Variants take over what others left.
    Adopt,
    /// Variants go and leave everything in place.
    Orphan,
    /// Variants go and take everything along.
    DeleteVariant,
    /// A set goes, and its variants with it.
    DeleteSet,
    /// Variants turn to other downstream packages.
    Retarget,
    /// People push to drafts and branches beside us.
    ExternalPush,
    /// A repository is unregistered and comes back.
    RepositoryLost,
    /// Targets leave a selection one by one; a few are let go, and what is too many waits until it is confirmed or undone.
    Shrink,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Create,
        Self::Mutate,
        Self::Upgrade,
        Self::Publish,
        Self::Adopt,
        Self::Orphan,
        Self::DeleteVariant,
        Self::DeleteSet,
        Self::Retarget,
        Self::ExternalPush,
        Self::RepositoryLost,
        Self::Shrink,
    ];

    /// Its name on a command line and in the matrix.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Mutate => "mutate",
            Self::Upgrade => "upgrade",
            Self::Publish => "publish",
            Self::Adopt => "adopt",
            Self::Orphan => "orphan",
            Self::DeleteVariant => "delete-variant",
            Self::DeleteSet => "delete-set",
            Self::Retarget => "retarget",
            Self::ExternalPush => "external-push",
            Self::RepositoryLost => "repository-lost",
            Self::Shrink => "shrink",
        }
    }

    /// The scenario of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// What stands before anything can die.
    pub(super) async fn prepare(self, world: &mut World) -> Told {
        match self {
            Self::Create => Ok(()),
            Self::Mutate | Self::Publish | Self::ExternalPush | Self::RepositoryLost => {
                world.drafts().await?;
                world.edit_both().await
            }
            Self::Upgrade => {
                world.drafts().await?;
                world.edit_both().await?;
                world.publish_both(1).await
            }
            Self::Adopt => {
                world.put_both(|v| v.spec.deletion = DeletionPolicy::Orphan);
                world.settle().await?;
                world.delete_both();
                world.settle().await
            }
            Self::Orphan => {
                world.put_both(|v| v.spec.deletion = DeletionPolicy::Orphan);
                world.settle().await?;
                world.publish_at("deploy/shop", 1).await?;
                world.settle().await
            }
            Self::DeleteVariant | Self::Retarget => {
                world.drafts().await?;
                world.publish_at("edge/cafe", 1).await?;
                world.settle().await
            }
            Self::DeleteSet => {
                world.put_set(&["deploy", "edge"], 0);
                world.settle().await
            }
            Self::Shrink => {
                world.put_set(&["deploy", "edge"], 6);
                world.settle().await
            }
        }
    }

    /// What happens while the process may die.
    pub(super) async fn play(self, world: &mut World) -> Told {
        match self {
            Self::Create => world.put_both(|_| ()),
            Self::Mutate => {
                world.put_both(|v| drop(v.spec.context.data.insert("region".into(), "us".into())));
                world.settle().await?;
                world.inject("second.example.test");
            }
            Self::Upgrade => world.release_next().await,
            Self::Publish => world.publish_both(1).await?,
            Self::Adopt => world.put_both(|v| {
                v.spec.adoption = AdoptionPolicy::Existing;
                v.spec.context.data.insert("region".into(), "ap".into());
            }),
            Self::Orphan | Self::DeleteVariant => world.delete_both(),
            Self::DeleteSet => {
                world.durable.twin.delete_set(NS, "fan");
                world.note_wanted();
            }
            Self::Retarget => world.put_both(|v| {
                let other = format!("{}-two", v.spec.downstream.package);
                if let Ok(other) = PackageName::parse(&other) {
                    v.spec.downstream.package = other;
                }
            }),
            Self::ExternalPush => {
                world.push_both().await;
                world.settle().await?;
                world.release_next().await;
            }
            Self::RepositoryLost => {
                for (name, _) in TARGETS {
                    world.durable.twin.delete_repository(NS, name);
                }
                world.pass(5_000).await?;
                for (name, url) in TARGETS {
                    let again = fixtures::repository(name, url, "warm");
                    world.durable.twin.put_repository(again);
                }
                world.inject("after.example.test");
            }
            Self::Shrink => world.shrink().await?,
        }
        world.settle().await
    }

    /// What must stand at the end, beside everything that always must.
    pub(super) fn ended(self, world: &World) -> Told {
        let draft = |at: &str| world.open(at).is_some();
        let published = |at: &str| world.published(at).map(|r| r.lifecycle);
        let both = |is: &dyn Fn(&str) -> bool| is("deploy/shop") && is("edge/cafe");
        let owned = world.durable.twin.revisions();
        let owned = owned.iter().filter(|r| !r.meta.owners.is_empty()).count();
        let holds = match self {
            Self::Create | Self::Mutate | Self::ExternalPush => both(&draft),
            Self::Upgrade => both(&|at| draft(at) && published(at).is_some()),
            Self::Publish => both(&|at| published(at).is_some() && !draft(at)),
            Self::Adopt => both(&draft) && owned == 2,
            Self::Orphan => published("deploy/shop").is_some() && draft("edge/cafe") && owned == 0,
            Self::DeleteVariant => !draft("deploy/shop") && world.proposed_deletion("edge/cafe"),
            Self::DeleteSet => owned == 0 && !draft("deploy/fan") && !draft("edge/fan"),
            Self::Retarget => {
                draft("deploy/shop-two")
                    && draft("edge/cafe-two")
                    && !draft("deploy/shop")
                    && world.proposed_deletion("edge/cafe")
            }
            Self::RepositoryLost => both(&draft),
            Self::Shrink => {
                !draft("deploy/site-s0") && draft("deploy/site-s1") && !draft("deploy/site-s2")
            }
        };
        if holds {
            return Ok(());
        }
        let name = self.name();
        Err(Violation(format!("convergence: {name} did not come about")))
    }
}

impl World {
    /// Puts both variants, changed as the story wants them; an annotation of somebody else on each.
    fn put_both(&self, change: impl Fn(&mut Variant)) {
        for (repo, name) in PLACES {
            let mut variant = fixtures::variant(name, repo, "eu");
            let annotations = &mut Arc::make_mut(&mut variant.meta).annotations;
            annotations.insert(KEPT.to_owned(), "yes".to_owned());
            change(&mut variant);
            self.durable.twin.put_variant(variant);
        }
    }

    fn delete_both(&self) {
        for (_, name) in PLACES {
            self.durable.twin.delete_variant(NS, name);
        }
    }

    async fn drafts(&mut self) -> Told {
        self.put_both(|_| ());
        self.settle().await
    }

    /// Everybody comes to rest, as often as the process dies.
    async fn settle(&mut self) -> Told {
        for _ in 0..4 {
            if self.rest().await? {
                return Ok(());
            }
        }
        Err(Violation("convergence: no rest".to_owned()))
    }

    async fn edit_both(&mut self) -> Told {
        for (repo, name) in PLACES {
            let at = format!("{repo}/{name}");
            let Some(draft) = self.open(&at) else {
                return Err(Violation(format!("convergence: {at} has no draft")));
            };
            self.edit_of(&draft.key, &at).await?;
        }
        self.settle().await
    }

    async fn publish_both(&mut self, number: i64) -> Told {
        for (repo, name) in PLACES {
            self.publish_at(&format!("{repo}/{name}"), number).await?;
        }
        self.settle().await
    }

    /// Proposes and approves until the package is published under this number.
    async fn publish_at(&mut self, at: &str, number: i64) -> Told {
        for _ in 0..60 {
            if self.published(at).is_some_and(|r| r.revision.0 >= number) {
                return Ok(());
            }
            match self.open(at) {
                Some(draft) if draft.lifecycle == Lifecycle::Draft => {
                    self.propose(at).await?;
                }
                Some(draft) => self.publish(&draft.key).await?,
                None => {}
            }
            self.pass(1_000).await?;
        }
        Err(Violation(format!("convergence: {at} was never published")))
    }

    async fn release_next(&mut self) {
        let next = self.version + 1;
        if people::release(&self.durable.store, BLUEPRINTS, next, false).await {
            self.version = next;
        }
    }

    async fn push_both(&mut self) {
        for (repo, name) in PLACES {
            let at = format!("{repo}/{name}");
            self.push_edit(&at).await;
        }
        for (_, url) in TARGETS {
            people::push_noise(&self.durable.store, &self.durable.ledger, url).await;
        }
    }

    /// A set over cold repositories and sites.
    fn put_set(&mut self, repositories: &[&str], sites: usize) {
        for (name, url) in TARGETS {
            if repositories.contains(&name) {
                self.cold.insert(name.to_owned());
                let cold = fixtures::repository(name, url, "cold");
                self.durable.twin.put_repository(cold);
            }
        }
        for n in 0..sites {
            self.label_site(&format!("s{n}"), "cold");
        }
        let mut set = fixtures::set("eu");
        set.spec.deletion_guard.enabled = true;
        self.durable.twin.put_set(set);
        self.note_wanted();
    }

    fn label_site(&mut self, name: &str, zone: &str) {
        if zone == "cold" {
            self.sites.insert(name.to_owned());
        } else {
            self.sites.remove(name);
        }
        let (kind, labels) = (fixtures::site(), [("zone", zone)]);
        let twin = &self.durable.twin;
        twin.put_object(&kind, &key(NS, name), &labels, None, Some("{}"));
        self.note_wanted();
    }

    /// One goes, since a few are free. Four more are too many: they wait, also while the mistake is undone one by one,
    /// and what is meant goes once it is confirmed.
    async fn shrink(&mut self) -> Told {
        self.label_site("s0", "warm");
        self.still_there(8)?;
        self.settle().await?;
        self.still_there(7)?;
        for site in ["s1", "s2", "s3", "s4"] {
            self.label_site(site, "warm");
            self.pass(1_000).await?;
        }
        self.pass(12_000).await?;
        self.still_there(7)?;
        for (site, pause) in [("s1", 13_000), ("s3", 13_000), ("s4", 1_000)] {
            self.label_site(site, "cold");
            self.pass(pause).await?;
            self.still_there(7)?;
        }
        for _ in 0..30 {
            if self.confirm() {
                return Ok(());
            }
            self.pass(1_000).await?;
        }
        Err(Violation(
            "S3: nobody is asked to confirm what waits".to_owned(),
        ))
    }

    /// Annotates the set with what its condition asks for, if it asks.
    fn confirm(&self) -> bool {
        let Some(stored) = self.durable.twin.set(NS, "fan") else {
            return false;
        };
        let guarded = stored.status.condition("DeletionGuarded");
        let asked =
            guarded.and_then(|c| c.message.rsplit_once(&format!("{}=", plan::set::CONFIRM)));
        let (Some((_, hash)), Ok(mut set)) = (asked, stored.parsed.clone()) else {
            return false;
        };
        let annotations = &mut set.meta.annotations;
        annotations.insert(plan::set::CONFIRM.to_owned(), hash.to_owned());
        self.durable.twin.put_set(set);
        true
    }

    /// So many variants are there, however many are selected (S3).
    fn still_there(&self, count: usize) -> Told {
        let there = self.durable.twin.variants();
        let alive = there.iter().filter(|v| v.meta.deleted.is_none()).count();
        if alive == count {
            return Ok(());
        }
        Err(Violation(format!(
            "S3: {alive} variants are there instead of {count}"
        )))
    }

    fn proposed_deletion(&self, at: &str) -> bool {
        self.records().iter().any(|r| {
            format!("{}/{}", r.repository, r.package) == at
                && r.lifecycle == Lifecycle::DeletionProposed
        })
    }

    /// What somebody else wrote on the variants is on them still (I12).
    pub(super) fn untouched(&self) -> Told {
        for variant in self.durable.twin.variants() {
            let by_person = variant.meta.owners.is_empty();
            if by_person && !variant.meta.annotations.contains_key(KEPT) {
                let key = &variant.key;
                return Err(Violation(format!("I12: {key} has lost an annotation")));
            }
        }
        Ok(())
    }
}

/// An annotation that asks for nothing.
const KEPT: &str = "sim.example.test/kept";
