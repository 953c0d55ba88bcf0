//! What is seen of the world: for a decision, and from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{Injection, InjectionOutcome, Lifecycle, ObjectName, Revision, Task};
use plan::Next;
use plan::variant::{
    Lineage, Observed, ObservedBase, RepositorySummary, Stated, Subject, Writer, base_of, check,
    decide, next_after, resolve_upstream, status_after, words,
};

use super::shuffled;
use super::world::World;
use crate::wire::repo;

impl World {
    pub(super) fn observe(&self) -> Option<Observed> {
        let variant = self.variant.as_ref()?;
        let owned = |r: &Revision| {
            variant
                .meta
                .uid
                .as_ref()
                .is_some_and(|u| r.meta.is_owned_by(u))
        };
        let here = |r: &Revision| r.package == variant.spec.downstream.package;
        let downstream: Vec<_> = self.revisions.iter().filter(|r| here(r)).cloned().collect();
        let base = base_of(&downstream).map(|choice| ObservedBase {
            commit: choice.commit,
            lineage: self.lineage(&choice.revision, 0),
        });
        let summary = || RepositorySummary {
            deployment: true,
            branch: "main".to_owned(),
            writable: Ok(()),
            ready: Ok(()),
        };
        Some(Observed {
            variant: Subject::Valid(Arc::new(variant.clone())),
            status: self.status.clone(),
            namespace_terminating: false,
            repositories: ["blueprints", "deploy"]
                .into_iter()
                .map(|r| (repo(r), summary()))
                .collect(),
            upstream: resolve_upstream(&self.upstream, &variant.spec.upstream, "main"),
            feeders: Vec::new(),
            elsewhere: self
                .revisions
                .iter()
                .filter(|r| !here(r) && owned(r))
                .cloned()
                .collect(),
            downstream,
            made_elsewhere: BTreeSet::new(),
            take_back: None,
            set_suspended: false,
            step_closed: false,
            claimed_elsewhere: BTreeSet::new(),
            rivals: Vec::new(),
            injections: vec![Injection {
                group: None,
                version: None,
                kind: None,
                name: "eu".to_owned(),
                found: BTreeMap::from([("/v1/ConfigMap".to_owned(), self.found())]),
            }],
            writer: Writer::Known,
            base,
            lost_tag: None,
            deleted_up_to: None,
            off_branch: None,
            absent: Vec::new(),
            stated: Stated::default(),
            failure: None,
            unreadable: None,
        })
    }

    pub(super) fn found(&self) -> InjectionOutcome {
        InjectionOutcome::Content(format!("{{\"v\":{}}}", self.injected).into())
    }

    pub(super) fn lineage(&self, revision: &Revision, depth: usize) -> Lineage {
        if let Some(machine) = &revision.machine {
            return Lineage::Trailer(machine.clone());
        }
        let source = match revision.tasks.first() {
            Some(Task::Edit { source }) if depth < 50 => source,
            _ => {
                return Lineage::NoTrailer {
                    lock: revision.upstream_lock.clone(),
                    old_upstream: plan::variant::OldUpstream::Commit,
                };
            }
        };
        match self.revisions.iter().find(|r| r.key.name == *source) {
            Some(source) => self.lineage(source, depth + 1),
            None => Lineage::NoTrailer {
                lock: revision.upstream_lock.clone(),
                old_upstream: plan::variant::OldUpstream::Commit,
            },
        }
    }

    /// Observes, decides and applies until nothing is to be done; every plan passes its check.
    pub(super) fn settle(&mut self) {
        for _ in 0..12 {
            let Some(observed) = self.observe() else {
                return;
            };
            let plan = decide(&observed);
            check(&plan, &observed).unwrap_or_else(|v| panic!("{v}\n{plan}"));
            assert_eq!(
                plan,
                decide(&shuffled(&observed)),
                "the order of what is seen matters"
            );
            let outcomes = self.apply(&plan, plan.steps.len());
            let status = status_after(&observed, &plan, &outcomes);
            let written = status.is_some();
            if let Some(status) = status {
                self.status = status;
            }
            let again = next_after(&plan, &outcomes) == Next::Again;
            if plan.steps.is_empty() && !written && !again {
                return;
            }
        }
        panic!(
            "no rest: {:?}",
            self.observe().map(|o| decide(&o).to_string())
        );
    }

    /// What can be seen from outside, without versions.
    pub(super) fn face(&self) -> Vec<String> {
        let mut face: Vec<String> = self
            .revisions
            .iter()
            .map(|r| {
                let digest = r.machine.as_ref().map(|m| m.full_digest.to_string());
                let owners: Vec<&str> = r.meta.owners.iter().map(|o| o.uid.as_str()).collect();
                format!(
                    "{} {} {} {} {digest:?} {owners:?} {:?} {:?}",
                    r.key.name, r.lifecycle, r.revision, r.tree, r.meta.annotations, r.noted_digest
                )
            })
            .collect();
        face.sort();
        let variant = self.variant.as_ref();
        face.push(format!("{:?}", variant.map(|v| &v.meta.finalizers)));
        face.push(format!("{:?}", self.status));
        face
    }

    pub(super) fn open_drafts_of_ours(&self) -> usize {
        let uid = self.variant.as_ref().and_then(|v| v.meta.uid.as_ref());
        self.revisions
            .iter()
            .filter(|r| !r.lifecycle.is_published())
            .filter(|r| !r.meta.annotations.contains_key(model::marks::ADOPTED_BY))
            .filter(|r| uid.is_some_and(|uid| r.meta.is_owned_by(uid)))
            .count()
    }

    /// At rest, ready and not suspended, our drafts are based on today's published state (V20).
    pub(super) fn drafts_are_based_on_what_is_published(&self) {
        let Some(variant) = &self.variant else { return };
        let ready = self
            .status
            .condition(words::READY)
            .is_some_and(|c| c.status == model::Status::True);
        if variant.spec.suspend || !ready {
            return;
        }
        let here: Vec<_> = self
            .revisions
            .iter()
            .filter(|r| r.package == variant.spec.downstream.package)
            .cloned()
            .collect();
        let base = base_of(&here).map(|b| b.tree);
        for draft in here.iter().filter(|r| !r.lifecycle.is_published()) {
            let owned = variant
                .meta
                .uid
                .as_ref()
                .is_some_and(|u| draft.meta.is_owned_by(u));
            if let Some(machine) = draft.machine.as_ref().filter(|_| owned) {
                assert_eq!(machine.base_tree, base, "{}", draft.key.name);
            }
        }
    }

    pub(super) fn published(&self) -> BTreeSet<(ObjectName, Lifecycle)> {
        self.revisions
            .iter()
            .filter(|r| r.lifecycle.is_published())
            .map(|r| (r.key.name.clone(), r.lifecycle))
            .collect()
    }
}
