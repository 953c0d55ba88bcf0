//! What the steps of a plan do to the world.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{DraftOwner, Lifecycle, Machine, ObjectName, Revision};
use plan::variant::{CreateDraft, OnEqual, Plan, UpdateDraft, VariantOutcome, VariantStep};

use super::world::{Content, World, made_of};
use crate::wire::{Json, revision, tree, uid};

impl World {
    /// Applies the first steps of a plan, as the engine does: each finds what it expects, or is a
    /// conflict.
    pub(super) fn apply(&mut self, plan: &Plan, steps: usize) -> Vec<VariantOutcome> {
        plan.steps
            .iter()
            .take(steps)
            .map(|step| self.step(step))
            .collect()
    }

    pub(super) fn step(&mut self, step: &VariantStep) -> VariantOutcome {
        match step {
            VariantStep::AddFinalizer { finalizer, .. } => {
                let variant = self.variant.as_mut().expect("a variant");
                let meta = Arc::make_mut(&mut variant.meta);
                meta.finalizers.push(finalizer.clone());
            }
            VariantStep::RemoveFinalizer { .. } => self.variant = None,
            VariantStep::CreateDraft(draft) => return self.create(draft),
            VariantStep::UpdateDraft(update) => return self.update(update),
            VariantStep::RenderDraft { revision, .. } => self.change(&revision.key.name, |r| {
                r.conditions.clear();
                r.readiness_gates.clear();
            }),
            VariantStep::RevertToDraft { revision } => {
                self.change(&revision.key.name, |r| r.lifecycle = Lifecycle::Draft);
            }
            VariantStep::DeleteRevision { revision, .. } => {
                assert!(!revision.lifecycle.is_published(), "{}", step.summary());
                self.revisions.retain(|r| r.key != revision.key);
            }
            VariantStep::ProposeDeletion {
                revision,
                annotations,
                disown,
            } => self.change(&revision.key.name, |r| {
                r.lifecycle = Lifecycle::DeletionProposed;
                r.meta.annotations.extend(annotations.clone());
                r.meta.owners.retain(|o| Some(&o.uid) != disown.as_ref());
            }),
            VariantStep::WithdrawDeletionProposal {
                revision,
                remove_annotations,
            } => self.change(&revision.key.name, |r| {
                r.lifecycle = Lifecycle::Published;
                r.meta
                    .annotations
                    .retain(|k, _| !remove_annotations.contains(k));
            }),
            VariantStep::Orphan {
                revision, owner, ..
            } => self.change(&revision.key.name, |r| {
                r.meta.owners.retain(|o| o.uid != *owner);
                forget_rejection(r);
            }),
            VariantStep::Adopt {
                revision,
                owner,
                replace,
                annotations,
                ..
            } => self.change(&revision.key.name, |r| {
                r.meta.owners.retain(|o| !replace.contains(&o.uid));
                r.meta.owners.push(owner.clone());
                forget_rejection(r);
                r.meta.annotations.extend(annotations.clone());
            }),
            VariantStep::NoteDigest { revision, digest } => {
                self.change(&revision.key.name, |r| {
                    r.noted_digest = Some(digest.to_string());
                });
            }
        }
        VariantOutcome::Done
    }

    pub(super) fn people(&self, name: &ObjectName) -> u32 {
        self.contents.get(name).map_or(0, |c| c.people)
    }

    pub(super) fn create(&mut self, draft: &CreateDraft) -> VariantOutcome {
        if self.revisions.iter().any(|r| r.key == draft.key) {
            return VariantOutcome::Conflict;
        }
        let base = draft.base.as_ref().map(|b| b.revision.key.name.clone());
        let content = Content {
            inputs: made_of(&draft.upstream, &draft.recipe),
            people: base.as_ref().map_or(0, |name| self.people(name)),
        };
        if let (Some(base), OnEqual::NoteDigest(p)) = (&draft.base, &draft.on_equal)
            && content.tree() == base.tree
        {
            let digest = draft.digest.to_string();
            self.change(&p.key.name, |r| r.noted_digest = Some(digest));
            return VariantOutcome::Unchanged;
        }
        self.version += 1;
        let said = serde_json::json!({"at": format!("deploy/{}", draft.package),
            "ws": draft.workspace.as_str(), "state": "Draft", "rv": self.version,
            "commit": format!("d{}", self.version)});
        let mut made = revision(&Json(said), "");
        made.tree = content.tree();
        made.meta.owners.push(draft.owner.clone());
        made.tasks = vec![draft.task.clone()];
        made.upstream_lock.clone_from(&draft.upstream.self_lock);
        made.machine = Some(Machine {
            owner: DraftOwner {
                namespace: draft.key.namespace.clone(),
                name: self.variant.as_ref().expect("a variant").key.name.clone(),
                uid: draft.owner.uid.clone(),
            },
            adopted: false,
            workspace: draft.workspace.clone(),
            digest: draft.digest.clone(),
            full_digest: draft.full_digest.clone(),
            m_tree: content.tree(),
            v_tree: tree("v"),
            base: draft.base.as_ref().map(|b| b.commit),
            base_tree: draft.base.as_ref().map(|b| b.tree),
            gates: Vec::new(),
            context_keys: BTreeSet::new(),
        });
        self.contents.insert(made.key.name.clone(), content);
        let made = Arc::new(made);
        self.revisions.push(Arc::clone(&made));
        VariantOutcome::Draft(made)
    }

    pub(super) fn update(&mut self, update: &UpdateDraft) -> VariantOutcome {
        let name = &update.draft.key.name;
        let Some(draft) = self.revisions.iter().find(|r| r.key.name == *name).cloned() else {
            return VariantOutcome::Conflict;
        };
        let base = update
            .base
            .as_ref()
            .map(|b| self.people(&b.revision.key.name));
        let content = Content {
            inputs: made_of(&update.upstream, &update.recipe),
            people: self.people(name).max(base.unwrap_or(0)),
        };
        let merged = Content {
            people: base.unwrap_or(0),
            ..content.clone()
        };
        if let (Some(base), OnEqual::DeleteDraft(p)) = (&update.base, &update.on_equal)
            && merged.tree() == base.tree
            && content == merged
        {
            self.revisions.retain(|r| r.key.name != *name);
            let digest = update.digest.to_string();
            self.change(&p.key.name, |r| r.noted_digest = Some(digest));
            return VariantOutcome::Unchanged;
        }
        let mut machine = draft.machine.clone().unwrap_or_else(|| Machine {
            owner: DraftOwner {
                namespace: draft.key.namespace.clone(),
                name: self.variant.as_ref().expect("a variant").key.name.clone(),
                uid: uid("uid-adopted"),
            },
            adopted: false,
            workspace: draft.workspace.clone(),
            digest: update.digest.clone(),
            full_digest: update.full_digest.clone(),
            m_tree: merged.tree(),
            v_tree: tree("v"),
            base: None,
            base_tree: None,
            gates: Vec::new(),
            context_keys: BTreeSet::new(),
        });
        machine.digest = update.digest.clone();
        machine.full_digest = update.full_digest.clone();
        machine.base_tree = update.base.as_ref().map(|b| b.tree);
        let (tree, lock) = (content.tree(), update.upstream.self_lock.clone());
        self.contents.insert(name.clone(), content);
        self.change(name, |r| {
            r.tree = tree;
            r.machine = Some(machine);
            r.upstream_lock = lock;
        });
        let record = self.revisions.iter().find(|r| r.key.name == *name);
        VariantOutcome::Draft(Arc::clone(record.expect("the draft")))
    }
}

/// A proposal that was rejected is over (V10).
fn forget_rejection(revision: &mut Revision) {
    if revision.lifecycle == Lifecycle::Published {
        revision.meta.annotations.remove(model::marks::PROPOSED_BY);
    }
}
