//! The walk: what a person, a platform team and git do to one world, in an order that the seed
//! decides, while faults strike; then the faults stop and everything has to be well.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::usecase::{Caller, Input, Made, Preconditions, input_of};
use model::{Class, Door, Lifecycle, ObjectKey, Revision};

use super::Violation;
use super::check::{MACHINE, PERSONS};
use super::fixtures::{
    self, BLUEPRINTS, Derived, EDITED, NS, REGIONS, TARGETS, TENANT, mark, path,
};
use super::ledger::{Edit, Label, Published};
use super::people;
use super::world::World;
use crate::twin::key;

type Stepped = Result<(), Violation>;

/// How many steps a walk has.
const STEPS: u64 = 22;

/// What a complete draft looks like, from a world without faults.
pub(super) async fn golden() -> Result<Derived, Violation> {
    let mut world = World::new(0, None, None).await;
    let rested = world.rest().await?;
    let files = world
        .open_draft("deploy/shop")
        .and_then(|(_, _, files)| files);
    world.end();
    match files {
        Some(files) if rested => Ok(Derived::of(&files, "shop")),
        _ => Err(Violation(
            "a world without faults makes no draft".to_owned(),
        )),
    }
}

/// The walk of one seed.
pub(super) async fn walk(world: &mut World) -> Stepped {
    world.durable.chaos.set_on(true);
    for _ in 0..STEPS {
        world.step().await?;
        let pause = match world.dice.roll(4) {
            0 => 0,
            1 => world.dice.roll(60),
            2 => world.dice.roll(1_000),
            _ => 800 + world.dice.roll(3_000),
        };
        world.pass(pause).await?;
        world.look()?;
    }
    world.durable.chaos.set_on(false);
    world.tag_again().await?;
    world.settle_again();
    world.give_rights_back();
    // Nobody is told of a right that is given back: it is found out at the next look at everything.
    let denied = !world.durable.ledger.open().denied.is_empty();
    let waits = world.give_mark_back() || denied;
    world.pass(if waits { 25_000 } else { 1 }).await?;
    world.finale().await
}

impl World {
    async fn step(&mut self) -> Stepped {
        if self.wide_step().await? {
            return Ok(());
        }
        let package = if self.dice.one_in(2) {
            "deploy/shop"
        } else {
            "edge/cafe"
        };
        let of_sets = self.durable.chaos.is_about_sets() && self.dice.one_in(2);
        let step = if of_sets {
            18 + self.dice.roll(7)
        } else {
            self.dice.roll(28)
        };
        match step {
            0..=1 => self.spec(package),
            2 => self.host(),
            3..=4 => self.release().await,
            5..=7 => self.edit(package).await?,
            8 => self.push_edit(package).await,
            9..=10 => self.propose(package).await?,
            11..=13 => self.approve(package).await?,
            14 => self.reject(package).await?,
            15..=16 => self.own(package).await?,
            17 => self.label().await?,
            18..=19 => self.fan_out(),
            20..=21 => self.relabel(),
            22..=24 => self.site(),
            25 => self.withdraw().await?,
            26 => self.leave(),
            _ => self.durable.chaos.kill(),
        }
        Ok(())
    }

    /// Everybody finishes what they were at; then all has to be well, and stay so.
    pub(super) async fn finale(&mut self) -> Stepped {
        let mut last = Violation("convergence: no rest".to_owned());
        for _ in 0..6 {
            if !self.rest().await? {
                return Err(last);
            }
            if self.decide_all().await? {
                continue;
            }
            match self.settled() {
                Ok(()) => return self.calm().await,
                // A failure may be waiting for its next turn.
                Err(violation) => last = violation,
            }
            self.pass(30_000).await?;
        }
        Err(last)
    }

    /// A call of a person. `None`: it failed, and nobody promised anything.
    pub(super) async fn ask<T>(
        &self,
        what: &str,
        call: impl Future<Output = engine::Result<T>>,
    ) -> Result<Option<T>, Violation> {
        match tokio::time::timeout(Duration::from_secs(300), call).await {
            Ok(Ok(done)) => {
                self.durable.chaos.say(format!("{what}: done"));
                Ok(Some(done))
            }
            Ok(Err(error)) if error.class() == Class::Bug => {
                Err(Violation(format!("{what}: {}", error.chain())))
            }
            Ok(Err(error)) => {
                self.durable.chaos.say(format!("{what}: {}", error.chain()));
                Ok(None)
            }
            Err(_) => Err(Violation(format!("{what}: never answered"))),
        }
    }

    /// The machine's open draft of a package.
    pub(super) fn open(&self, at: &str) -> Option<Revision> {
        self.records().into_iter().find(|r| {
            format!("{}/{}", r.repository, r.package) == at
                && !r.lifecycle.is_published()
                && r.workspace.as_str().starts_with(MACHINE)
        })
    }

    pub(super) fn published(&self, at: &str) -> Option<Revision> {
        self.records()
            .into_iter()
            .filter(|r| format!("{}/{}", r.repository, r.package) == at)
            .filter(|r| r.lifecycle == Lifecycle::Published)
            .max_by_key(|r| r.revision)
    }

    /// The draft's record, ref and files as git has them.
    fn open_draft(&self, at: &str) -> Option<(Revision, store::RefName, Option<model::Files>)> {
        let record = self.open(at)?;
        let name = store::RefName::branch(&record.self_lock.as_ref()?.git_ref).ok()?;
        // What the record says may have gone from git by now: a check of its own looks for that.
        let files = self.files(&record).ok();
        Some((record, name, files))
    }

    pub(super) fn spec(&mut self, at: &str) {
        let Some((repo, name)) = at.split_once('/') else {
            return;
        };
        let Some(region) = self.dice.pick(&REGIONS) else {
            return;
        };
        if self
            .durable
            .twin
            .variant(NS, name)
            .is_some_and(|v| v.meta.deleted.is_none())
        {
            self.durable
                .chaos
                .say(format!("{name} is to be in {region}"));
            self.durable
                .twin
                .put_variant(fixtures::variant(name, repo, region));
        }
    }

    pub(super) fn host(&mut self) {
        let host = format!("host-{}.example.test", self.hosts.len());
        self.durable.chaos.say(format!("the endpoint is {host}"));
        self.inject(&host);
    }

    pub(super) async fn release(&mut self) {
        if self.version < 5 {
            self.publish_upstream().await;
        }
    }

    /// Publishes the next version of upstream.
    pub(super) async fn publish_upstream(&mut self) {
        let next = self.version + 1;
        if people::release(&self.durable.store, BLUEPRINTS, next, self.links.is_some()).await {
            self.durable.chaos.say(format!("upstream v{next}"));
            self.version = next;
        }
    }

    pub(super) async fn edit(&mut self, at: &str) -> Stepped {
        let Some(draft) = self.open(at) else {
            return Ok(());
        };
        let key = draft.key.clone();
        self.edit_of(&key, at).await.map(drop)
    }

    /// A person reads a draft, adds an annotation, and saves it.
    pub(super) async fn edit_of(&mut self, key: &ObjectKey, at: &str) -> Result<bool, Violation> {
        let engine = self.engine.clone();
        let Some((revision, files)) = self.ask("read a draft", engine.resources(key)).await? else {
            return Ok(false);
        };
        let marker = self.durable.ledger.open().fresh("edit");
        let texts: BTreeMap<_, _> = files
            .iter()
            .filter_map(|(p, f)| Some((p.clone(), f.as_text()?.to_owned())))
            .map(|(p, text)| {
                let text = if p == path(EDITED) {
                    mark(&text, &marker)
                } else {
                    text
                };
                (p, text)
            })
            .collect();
        let at_version = Preconditions {
            uid: None,
            version: Some(revision.content_version.clone()),
        };
        let by = alice();
        let save = engine.save(&by, key, &at_version, texts);
        let saved = self.ask(&format!("save {marker} in {key}"), save).await?;
        if saved.is_some() {
            self.durable.ledger.open().promise(Edit {
                marker,
                package: at.to_owned(),
                revision: key.clone(),
            });
        }
        Ok(saved.is_some())
    }

    pub(super) async fn push_edit(&mut self, at: &str) {
        let Some((draft, name, _)) = self.open_draft(at) else {
            return;
        };
        let Some((_, url)) = TARGETS
            .iter()
            .find(|(r, _)| *r == draft.repository.as_str())
        else {
            return;
        };
        let (store, ledger) = (&self.durable.store, &self.durable.ledger);
        let place = (&name, draft.commit);
        let pushed = people::push_edit(store, ledger, url, place, people::Put::Annotation).await;
        self.durable
            .chaos
            .say(format!("a person pushes to {name}: {pushed}"));
    }

    pub(super) async fn propose(&mut self, at: &str) -> Stepped {
        let Some(draft) = self.open(at) else {
            return Ok(());
        };
        self.move_to(&draft.key, Door::Main, Lifecycle::Proposed)
            .await
            .map(drop)
    }

    /// Proposes where need be, and approves.
    pub(super) async fn approve(&mut self, at: &str) -> Stepped {
        let Some(draft) = self.open(at) else {
            return Ok(());
        };
        let key = draft.key.clone();
        if draft.lifecycle == Lifecycle::Draft
            && self
                .move_to(&key, Door::Main, Lifecycle::Proposed)
                .await?
                .is_none()
        {
            return Ok(());
        }
        self.publish(&key).await
    }

    pub(super) async fn publish(&mut self, key: &ObjectKey) -> Stepped {
        let made = self
            .move_to(key, Door::Approval, Lifecycle::Published)
            .await?;
        if let Some(made) = made {
            let (number, tree) = (made.revision.revision, made.revision.tree);
            let published = Published { number, tree };
            self.durable
                .ledger
                .open()
                .published
                .insert(key.clone(), published);
        }
        Ok(())
    }

    pub(super) async fn move_to(
        &self,
        key: &ObjectKey,
        door: Door,
        to: Lifecycle,
    ) -> Result<Option<Made>, Violation> {
        let engine = self.engine.clone();
        let by = alice();
        self.note_mark(key, to);
        let what = format!("move {key} to {to}");
        let asked = engine.move_to(&by, key, door, to);
        let made = self.ask(&what, asked).await?;
        self.note_kept(key, made.as_ref());
        Ok(made)
    }

    /// Rejects the proposal of a place, if it has one.
    pub(super) async fn reject(&mut self, at: &str) -> Stepped {
        let Some(draft) = self.open(at) else {
            return Ok(());
        };
        if draft.lifecycle == Lifecycle::Proposed {
            self.move_to(&draft.key, Door::Approval, Lifecycle::Draft)
                .await?;
        }
        Ok(())
    }

    /// Whether anything was still undecided: the machine waits for a decision about it (V3).
    async fn decide_all(&mut self) -> Result<bool, Violation> {
        let mut any = false;
        for record in self.records() {
            let name = record.package.as_str();
            let twin = &self.durable.twin;
            let variant = twin
                .variant(NS, name)
                .or_else(|| twin.variant(TENANT, name));
            let to = match record.lifecycle {
                Lifecycle::Proposed => Lifecycle::Draft,
                Lifecycle::DeletionProposed if variant.is_some() => Lifecycle::Published,
                _ => continue,
            };
            any = true;
            self.move_to(&record.key, Door::Approval, to).await?;
        }
        Ok(any)
    }

    /// A person copies what is published, edits the copy, and publishes it alone (V20).
    async fn own(&mut self, at: &str) -> Stepped {
        let Some(from) = self.published(at) else {
            return Ok(());
        };
        let Some((repo, package)) = at.split_once('/') else {
            return Ok(());
        };
        let workspace = self.durable.ledger.open().fresh(PERSONS);
        let input = fixtures::copy(repo, package, &workspace, from.key.name.as_str());
        let engine = self.engine.clone();
        let (by, namespace) = (alice(), from.key.namespace.clone());
        let create = engine.create(&by, &namespace, input);
        let Some(made) = self.ask(&format!("copy {}", from.key), create).await? else {
            return Ok(());
        };
        let key = made.revision.key.clone();
        self.durable.ledger.open().made.push(key.clone());
        if !self.edit_of(&key, at).await? || self.dice.one_in(3) {
            return Ok(());
        }
        if self
            .move_to(&key, Door::Main, Lifecycle::Proposed)
            .await?
            .is_some()
        {
            self.publish(&key).await?;
        }
        Ok(())
    }

    /// A person labels a record.
    async fn label(&mut self) -> Stepped {
        let mut all = self.durable.twin.revisions();
        all.retain(|r| !r.placeholder && r.repository.as_str() != "blueprints");
        let Some(record) = self.dice.pick(&all).cloned() else {
            return Ok(());
        };
        let label = self.durable.ledger.open().fresh("label");
        let mut input: Input = input_of(&record);
        input.meta.labels.insert(label.clone(), "yes".to_owned());
        let engine = self.engine.clone();
        let (by, key) = (alice(), record.key.clone());
        let update = engine.update(&by, &key, Door::Main, input);
        if let Some(made) = self.ask(&format!("label {key} {label}"), update).await? {
            let (record, uid) = (key, made.revision.meta.uid.clone());
            let promise = Label { record, uid, label };
            self.durable.ledger.open().promise_label(promise);
        }
        Ok(())
    }

    fn fan_out(&mut self) {
        let twin = &self.durable.twin;
        let there = twin.set(NS, "fan");
        if there.is_some() && self.dice.one_in(3) {
            self.durable.chaos.say("the set is deleted");
            twin.delete_set(NS, "fan");
        } else if there.is_none_or(|s| s.meta.deleted.is_none())
            && let Some(region) = self.dice.pick(&REGIONS)
        {
            self.durable
                .chaos
                .say(format!("the set is to be in {region}"));
            self.durable.twin.put_set(fixtures::set(region));
        }
        self.note_wanted();
    }

    fn relabel(&mut self) {
        let Some((name, url)) = self.dice.pick(&TARGETS).copied() else {
            return;
        };
        let cold = !self.cold.remove(name);
        if cold {
            self.cold.insert(name.to_owned());
        }
        let zone = if cold { "cold" } else { "warm" };
        self.durable.chaos.say(format!("{name} is {zone}"));
        self.put_target(name, url, zone);
        self.note_wanted();
    }

    fn site(&mut self) {
        let name = format!("s{}", self.dice.roll(2));
        let cold = !self.sites.remove(&name);
        if cold {
            self.sites.insert(name.clone());
        }
        let zone = if cold { "cold" } else { "warm" };
        self.durable.chaos.say(format!("site {name} is {zone}"));
        let (kind, labels) = (fixtures::site(), [("zone", zone)]);
        self.durable
            .twin
            .put_object(&kind, &key(NS, &name), &labels, None, Some("{}"));
        self.note_wanted();
    }

    /// A person proposes the deletion of something published, and takes it back.
    async fn withdraw(&mut self) -> Stepped {
        let mut all = self.records();
        let package = |r: &Revision| r.package.as_str().to_owned();
        all.retain(|r| r.lifecycle.is_published());
        all.retain(|r| package(r) == "shop" || package(r) == "cafe");
        let Some(record) = self.dice.pick(&all).cloned() else {
            return Ok(());
        };
        let to = match record.lifecycle {
            Lifecycle::Published => Lifecycle::DeletionProposed,
            _ => Lifecycle::Published,
        };
        self.move_to(&record.key, Door::Main, to).await?;
        self.move_to(&record.key, Door::Main, Lifecycle::Published)
            .await?;
        Ok(())
    }

    /// The variant of the remote repository goes; its drafts go with it.
    fn leave(&mut self) {
        if self.dice.one_in(2) {
            self.durable.chaos.say("cafe is deleted");
            self.durable.twin.delete_variant(NS, "cafe");
            self.durable.ledger.open().forget_package("edge/cafe");
        }
    }
}

pub(super) fn alice() -> Caller {
    Caller::user("alice")
}
