//! What people do in the world.

use std::sync::Arc;

use model::{
    AdoptionPolicy, DeletionPolicy, Lifecycle, ObjectName, ProposedPolicy, Revision,
    RevisionNumber, UpstreamVersion, Variant, VariantStatus,
};
use plan::variant::base_of;

use super::action::Action;
use super::world::{Content, World};
use crate::wire::{Json, key, place, revision, spec, uid};

impl World {
    pub(super) fn act(&mut self, action: &Action) {
        match action {
            Action::NewUpstream => {
                let n = self.upstream.len() + 1;
                let said = serde_json::json!({"at": "blueprints/nginx", "ws": format!("v{n}"),
                    "n": n, "commit": format!("u{n}")});
                self.upstream.push(Arc::new(revision(&Json(said), "")));
            }
            Action::ChangeInjected(value) => self.injected = *value,
            Action::Propose => self.move_all(Lifecycle::Draft, Lifecycle::Proposed),
            Action::Reject => self.move_all(Lifecycle::Proposed, Lifecycle::Draft),
            Action::Approve => self.approve(),
            Action::PersonEditsDraft => self.edit(),
            Action::PersonPublishes => self.copy(),
            Action::PersonProposesDeletion => {
                if let Some(p) = self.latest() {
                    self.change(&p.key.name, |r| r.lifecycle = Lifecycle::DeletionProposed);
                }
            }
            Action::ApproveDeletion => self
                .revisions
                .retain(|r| r.lifecycle != Lifecycle::DeletionProposed),
            Action::RejectDeletion => {
                self.move_all(Lifecycle::DeletionProposed, Lifecycle::Published);
            }
            Action::ForeignDraft => self.foreign(),
            Action::DeleteVariant => {
                if let Some(variant) = &mut self.variant {
                    Arc::make_mut(&mut variant.meta).deleted =
                        Some("2026-03-01T00:00:00Z".to_owned());
                }
            }
            Action::Recreate(adopt) => self.recreate(*adopt),
            other => self.edit_spec(other),
        }
    }

    pub(super) fn edit_spec(&mut self, action: &Action) {
        let Some(variant) = &mut self.variant else {
            return;
        };
        Arc::make_mut(&mut variant.meta).generation += 1;
        let spec = &mut variant.spec;
        match action {
            Action::SetContext(0) => spec.context.data.clear(),
            Action::SetContext(n) => {
                spec.context.data = model::Pairs::from_iter([("tier".to_owned(), n.to_string())]);
            }
            Action::FollowLatest(true) => spec.upstream.version = UpstreamVersion::Latest,
            Action::FollowLatest(false) => spec.upstream.version = UpstreamVersion::Revision(1),
            Action::SetConflictPolicy(local) => {
                spec.conflict_policy = if *local {
                    model::ConflictPolicy::Local
                } else {
                    model::ConflictPolicy::Block
                };
            }
            Action::Retarget(store) => {
                spec.downstream = place(if *store {
                    "deploy/store"
                } else {
                    "deploy/shop"
                });
            }
            Action::RevertProposals(on) => {
                spec.proposed = if *on {
                    ProposedPolicy::RevertToDraft
                } else {
                    ProposedPolicy::Wait
                };
            }
            Action::Suspend(on) => spec.suspend = *on,
            Action::SetOrphan(on) => {
                spec.deletion = if *on {
                    DeletionPolicy::Orphan
                } else {
                    DeletionPolicy::Delete
                };
            }
            _ => {}
        }
    }

    pub(super) fn recreate(&mut self, adopt: bool) {
        if self.variant.is_some() {
            return;
        }
        self.incarnation += 1;
        let said = serde_json::json!({"upstream": "blueprints/nginx", "injectors": ["eu"]});
        let mut variant = Variant {
            key: key("shop"),
            meta: Arc::new(model::ObjectMeta {
                uid: Some(uid(&format!("uid-{}", self.incarnation))),
                generation: 1,
                created: "2026-01-01T00:00:00Z".to_owned(),
                ..model::ObjectMeta::default()
            }),
            spec: spec(&Json(said)),
        };
        if adopt {
            variant.spec.adoption = AdoptionPolicy::Existing;
        }
        self.variant = Some(variant);
        self.status = VariantStatus::default();
    }

    pub(super) fn move_all(&mut self, from: Lifecycle, to: Lifecycle) {
        let names: Vec<ObjectName> = self
            .revisions
            .iter()
            .filter(|r| r.lifecycle == from)
            .map(|r| r.key.name.clone())
            .collect();
        for name in names {
            self.change(&name, |r| r.lifecycle = to);
        }
    }

    pub(super) fn latest(&self) -> Option<Arc<Revision>> {
        let mut all: Vec<_> = self
            .revisions
            .iter()
            .filter(|r| r.lifecycle == Lifecycle::Published)
            .collect();
        all.sort_by_key(|r| r.revision);
        all.last().map(|r| Arc::clone(r))
    }

    /// Approves what is based on what is published now; the rest has to be re-based first.
    pub(super) fn approve(&mut self) {
        let Some(proposed) = self.first(|r| r.lifecycle == Lifecycle::Proposed) else {
            return;
        };
        let siblings: Vec<_> = self
            .revisions
            .iter()
            .filter(|r| r.package == proposed.package)
            .cloned()
            .collect();
        let base = base_of(&siblings).map(|b| b.tree);
        if proposed.machine.as_ref().and_then(|m| m.base_tree) != base {
            return;
        }
        self.highest += 1;
        let number = self.highest;
        self.change(&proposed.key.name, |r| {
            r.lifecycle = Lifecycle::Published;
            r.revision = RevisionNumber(number);
        });
    }

    pub(super) fn edit(&mut self) {
        let Some(draft) = self.first(|r| r.lifecycle == Lifecycle::Draft) else {
            return;
        };
        let mut content = self.contents.get(&draft.key.name).expect("content").clone();
        content.people += 1;
        let tree = content.tree();
        self.contents.insert(draft.key.name.clone(), content);
        self.change(&draft.key.name, |r| r.tree = tree);
    }

    /// A person copies the latest revision, edits it and publishes it at once.
    pub(super) fn copy(&mut self) {
        let Some(p) = self.latest() else { return };
        self.highest += 1;
        let mut content = self.contents.get(&p.key.name).expect("content").clone();
        content.people += 1;
        let ws = format!("hand-{}", self.highest);
        let said = serde_json::json!({"at": format!("deploy/{}", p.package), "ws": ws,
            "n": self.highest, "task": format!("edit {}", p.key.name), "rv": self.version});
        let mut made = revision(&Json(said), "");
        made.tree = content.tree();
        made.upstream_lock.clone_from(&p.upstream_lock);
        self.contents.insert(made.key.name.clone(), content);
        self.revisions.push(Arc::new(made));
    }

    pub(super) fn foreign(&mut self) {
        self.version += 1;
        let said = serde_json::json!({"ws": format!("foreign-{}", self.version), "state": "Draft",
            "lock": "https://git/blueprints.git nginx u1 nginx/v1", "rv": self.version});
        let made = revision(&Json(said), "");
        let content = Content {
            inputs: "foreign".to_owned(),
            people: 0,
        };
        self.contents.insert(made.key.name.clone(), content);
        self.revisions.push(Arc::new(made));
    }
}
