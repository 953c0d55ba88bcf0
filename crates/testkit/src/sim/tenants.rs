//! A second namespace that registers the same repositories, with variants of the same downstream and people of its own;
//! and writers who may not read what is injected (decisions.md V25, X6).
//!
//! In some worlds both namespaces let each other write, in others the first one alone writes: then nothing that the
//! second one does moves a ref.

use std::collections::BTreeSet;

use engine::usecase::{Caller, Preconditions};
use model::{Door, Lifecycle, ObjectKey, Revision, Status};

use super::fixtures::{self, BLUEPRINTS, NS, REGIONS, TARGETS, TENANT};
use super::settled::{Checked, broken};
use super::world::{Tenants, World};
use crate::twin::key;

/// The second namespace's variants, with where they write: one for what is the first's already, one of its own.
const VARIANTS: [(&str, &str); 2] = [("cafe", "edge"), ("kiosk", "deploy")];

impl World {
    /// Registers everything a second time, with something to inject and two variants.
    pub(super) fn settle_tenants(&mut self) {
        if self.tenants == Tenants::None {
            return;
        }
        self.inject_theirs();
        let twin = &self.durable.twin;
        twin.put_repository(fixtures::theirs("blueprints", BLUEPRINTS, false));
        self.register_theirs();
        for (name, repo) in VARIANTS {
            let variant = fixtures::variant(name, repo, "eu");
            self.durable.twin.put_variant(fixtures::moved(variant));
        }
    }

    fn register_theirs(&self) {
        for (name, url) in TARGETS {
            let shared = self.tenants == Tenants::Shared;
            let theirs = fixtures::theirs(name, url, shared);
            self.durable.twin.put_repository(theirs);
        }
    }

    fn inject_theirs(&mut self) {
        let host = format!("theirs-{}.example.test", self.theirs.len());
        let data = format!("{{\"host\":\"{host}\"}}");
        let (kind, object) = (fixtures::config_map(), key(TENANT, "endpoint"));
        let twin = &self.durable.twin;
        twin.put_object(&kind, &object, &[], Some(&data), None);
        self.durable.ledger.open().made_host(TENANT, &host);
        self.theirs.push(host);
    }

    /// Something that the second namespace does, or that is done to its rights.
    pub(super) async fn tenant_step(&mut self) -> Checked {
        match self.wide.roll(8) {
            0 => self.rights(),
            1 => {
                self.inject_theirs();
                self.durable.chaos.say("their endpoint moves");
            }
            2 => {
                if let Some(region) = self.wide.pick(&REGIONS) {
                    let variant = fixtures::variant("kiosk", "deploy", region);
                    self.durable.twin.put_variant(fixtures::moved(variant));
                    self.durable
                        .chaos
                        .say(format!("kiosk is to be in {region}"));
                }
            }
            3 => self.rival(),
            4 => self.unregister_theirs(),
            _ => self.reach_over().await?,
        }
        Ok(())
    }

    /// Whoever wrote a variant loses the right to read what it injects, or the record of who that was; or all have it back.
    pub(super) fn rights(&mut self) {
        let all = [key(NS, "shop"), key(NS, "cafe"), key(TENANT, "kiosk")];
        let Some(variant) = self.wide.pick(&all).cloned() else {
            return;
        };
        let unknown = self.wide.one_in(2);
        let mut promises = self.durable.ledger.open();
        let lacks = promises.rights.contains_key(&variant);
        let what = if lacks {
            promises.rights.remove(&variant);
            "may read again"
        } else {
            promises.rights.insert(variant.clone(), BTreeSet::new());
            promises.denied.insert(variant.clone());
            "may read no more"
        };
        drop(promises);
        self.durable.twin.know_writer(&variant, lacks || !unknown);
        self.durable.chaos.say(format!("{variant} {what}"));
    }

    /// Everybody may read again.
    pub(super) fn give_rights_back(&self) {
        let all = std::mem::take(&mut self.durable.ledger.open().rights);
        for variant in all.keys() {
            self.durable.twin.know_writer(variant, true);
        }
    }

    /// Their variant of the first namespace's downstream comes or goes.
    fn rival(&self) {
        let twin = &self.durable.twin;
        match twin.variant(TENANT, "cafe") {
            Some(there) if there.meta.deleted.is_some() => {}
            Some(_) => {
                self.durable.chaos.say("their cafe is deleted");
                // Where both write, it may have been theirs.
                if self.tenants == Tenants::Shared {
                    self.durable.ledger.open().forget_package("edge/cafe");
                }
                twin.delete_variant(TENANT, "cafe");
            }
            None => {
                self.durable.chaos.say("their cafe comes");
                let variant = fixtures::variant("cafe", "edge", "eu");
                twin.put_variant(fixtures::moved(variant));
            }
        }
    }

    /// They unregister a repository, or register what is missing.
    fn unregister_theirs(&self) {
        let twin = &self.durable.twin;
        if self.tenants == Tenants::Shared {
            return;
        }
        if twin.repository(TENANT, "edge").is_some() {
            self.durable.chaos.say("they unregister edge");
            self.durable.ledger.open().fleeting = true;
            self.durable.ledger.open().forget_labels(TENANT);
            twin.delete_repository(TENANT, "edge");
        } else {
            self.durable.chaos.say("they register edge");
            self.register_theirs();
        }
    }

    /// One of their people takes one of their records and edits, proposes, approves, withdraws or deletes it.
    async fn reach_over(&mut self) -> Checked {
        let mut all = self.durable.twin.revisions();
        let theirs = |r: &Revision| r.key.namespace.as_str() == TENANT && !r.placeholder;
        all.retain(|r| theirs(r) && r.repository.as_str() != "blueprints");
        let Some(record) = self.wide.pick(&all).cloned() else {
            return Ok(());
        };
        let what = self.wide.roll(4);
        if self.tenants == Tenants::Shared {
            return self.share(&record, what).await;
        }
        let (key, to) = (record.key.clone(), other(record.lifecycle));
        let done = match what {
            0 => self.edit_of(&key, "theirs").await?,
            1 => {
                let (engine, by) = (self.engine.clone(), Caller::user("bob"));
                let anything = Preconditions::default();
                let delete = engine.delete(&by, &key, &anything);
                self.ask(&format!("delete {key}"), delete).await?.is_some()
            }
            2 => self.move_to(&key, Door::Main, to).await?.is_some(),
            _ => self.move_to(&key, Door::Approval, to).await?.is_some(),
        };
        let there = self
            .durable
            .twin
            .repository(TENANT, record.repository.as_str());
        // What is left of one that goes is forgotten, which moves nothing.
        if done && there.is_some_and(|r| r.meta.deleted.is_none()) {
            return broken(format!(
                "V25: {key} was changed through a registration that may not write"
            ));
        }
        Ok(())
    }

    /// Where both write: what one of them does counts for both.
    async fn share(&mut self, record: &Revision, what: u64) -> Checked {
        let at = format!("{}/{}", record.repository, record.package);
        match (what, record.lifecycle) {
            (0, Lifecycle::Draft) => self.edit_of(&record.key, &at).await.map(drop),
            (1, Lifecycle::Draft) => {
                let to = Lifecycle::Proposed;
                self.move_to(&record.key, Door::Main, to).await.map(drop)
            }
            (2, Lifecycle::Proposed) => self.publish(&record.key).await,
            (3, Lifecycle::Proposed) => {
                let to = Lifecycle::Draft;
                self.move_to(&record.key, Door::Approval, to)
                    .await
                    .map(drop)
            }
            _ => Ok(()),
        }
    }

    /// What the second namespace has at rest, and what it is to the first.
    pub(super) fn tenancy(&self) -> Checked {
        self.owners()?;
        if self.tenants == Tenants::None {
            return Ok(());
        }
        for (name, _) in TARGETS {
            let ours = self.is_read_only(NS, name);
            let theirs = self.is_read_only(TENANT, name);
            let registered = self.durable.twin.repository(TENANT, name).is_some();
            if ours || theirs != (self.tenants == Tenants::Beside && registered) {
                return broken(format!("V25: of {name}, read-only are {ours} and {theirs}"));
            }
        }
        if self.tenants == Tenants::Shared {
            return Ok(());
        }
        for (name, _) in VARIANTS {
            let stored = self.durable.twin.variant(TENANT, name);
            let ready = stored.and_then(|s| s.status.condition("Ready").map(|c| c.status));
            if ready == Some(Status::True) {
                return broken(format!("V25: {TENANT}/{name} is ready, and may not write"));
            }
        }
        for (repo, _) in TARGETS {
            for name in self.seen_as(repo)?.refs.keys() {
                if name.as_str().contains("/kiosk/") {
                    return broken(format!("V25: {name} of {repo} was made by {TENANT}"));
                }
            }
        }
        Ok(())
    }

    fn is_read_only(&self, namespace: &str, name: &str) -> bool {
        let stored = self.durable.twin.repository(namespace, name);
        stored.is_some_and(|s| s.status.conditions.iter().any(|c| c.kind == "ReadOnly"))
    }

    /// Who owns a record is a variant of its own namespace (V25).
    fn owners(&self) -> Checked {
        let variants = self.durable.twin.variants();
        for record in self.durable.twin.revisions() {
            for owner in &record.meta.owners {
                let is = variants.iter().any(|v| {
                    v.key.namespace == record.key.namespace
                        && v.meta.uid.as_ref() == Some(&owner.uid)
                });
                if !is {
                    return broken(format!(
                        "V25: {} belongs to {} {}, which is not in its namespace",
                        record.key, owner.name, owner.uid
                    ));
                }
            }
        }
        Ok(())
    }

    /// Of two variants for one downstream, one has it.
    pub(super) fn claimed_elsewhere(&self, of: &ObjectKey) -> bool {
        if self.tenants != Tenants::Shared || of.name.as_str() != "cafe" {
            return false;
        }
        let other = if of.namespace.as_str() == NS {
            TENANT
        } else {
            NS
        };
        let stored = self.durable.twin.variant(other, "cafe");
        stored.is_some_and(|s| s.status.condition("Ready").map(|c| c.status) == Some(Status::True))
    }
}

fn other(of: Lifecycle) -> Lifecycle {
    match of {
        Lifecycle::Draft => Lifecycle::Proposed,
        Lifecycle::Proposed => Lifecycle::Published,
        Lifecycle::Published => Lifecycle::DeletionProposed,
        Lifecycle::DeletionProposed => Lifecycle::Published,
    }
}
