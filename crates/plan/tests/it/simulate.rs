//! Laws over random lives of a variant, in a world small enough to be pure: whatever happens, every
//! plan passes its own check, applying it comes to rest, rest writes nothing, the order of what was
//! observed does not matter, and a crash after any step leads to the same end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    AdoptionPolicy, DeletionPolicy, Downstream, Injection, InjectionOutcome, Lifecycle, Machine,
    ObjectName, Owner, ProposedPolicy, Revision, RevisionNumber, Task, TreeId, UpstreamVersion,
    Variant, VariantStatus,
};
use plan::Next;
use plan::variant::{
    Base, CreateDraft, Lineage, Observed, OnEqual, Outcome, Plan, RepositorySummary, Resolution,
    Stated, Step, Subject, UpdateDraft, base_of, check, decide, next_after, resolve_upstream,
    status_after, words,
};
use proptest::prelude::*;

use crate::wire::{Json, key, place, repo, revision, spec, tree, uid};

/// What can happen to a variant and its packages.
#[derive(Debug, Clone)]
enum Action {
    SetContext(u8),
    NewUpstream,
    FollowLatest(bool),
    ChangeInjected(u8),
    SetConflictPolicy(bool),
    Propose,
    Reject,
    Approve,
    PersonEditsDraft,
    PersonPublishes,
    PersonProposesDeletion,
    ApproveDeletion,
    RejectDeletion,
    Retarget(bool),
    RevertProposals(bool),
    Suspend(bool),
    ForeignDraft,
    SetOrphan(bool),
    DeleteVariant,
    Recreate(bool),
}

fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (0_u8..3).prop_map(Action::SetContext),
        3 => Just(Action::NewUpstream),
        1 => any::<bool>().prop_map(Action::FollowLatest),
        2 => (0_u8..3).prop_map(Action::ChangeInjected),
        1 => any::<bool>().prop_map(Action::SetConflictPolicy),
        4 => Just(Action::Propose),
        1 => Just(Action::Reject),
        4 => Just(Action::Approve),
        2 => Just(Action::PersonEditsDraft),
        2 => Just(Action::PersonPublishes),
        1 => Just(Action::PersonProposesDeletion),
        1 => Just(Action::ApproveDeletion),
        1 => Just(Action::RejectDeletion),
        1 => any::<bool>().prop_map(Action::Retarget),
        1 => any::<bool>().prop_map(Action::RevertProposals),
        1 => any::<bool>().prop_map(Action::Suspend),
        1 => Just(Action::ForeignDraft),
        1 => any::<bool>().prop_map(Action::SetOrphan),
        1 => Just(Action::DeleteVariant),
        2 => any::<bool>().prop_map(Action::Recreate),
    ]
}

/// A package's content: what the machine made it of, and what people added since.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Content {
    inputs: String,
    people: u32,
}

impl Content {
    fn tree(&self) -> TreeId {
        use std::hash::{Hash, Hasher};
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        (&self.inputs, self.people).hash(&mut hasher);
        TreeId::from_bytes(&hasher.finish().to_be_bytes()).expect("eight bytes")
    }
}

/// What the machine makes of its inputs; two values of the context come to the same bytes, so that
/// an input can change without a change of content.
fn made_of(upstream: &Revision, recipe: &model::Recipe) -> String {
    let tier = recipe.context.get("tier").map(|t| t.replace('2', "1"));
    format!("{} {tier:?} {:?}", upstream.commit, recipe.injections)
}

#[derive(Debug, Clone)]
struct World {
    variant: Option<Variant>,
    status: VariantStatus,
    incarnation: u32,
    upstream: Vec<Arc<Revision>>,
    revisions: Vec<Arc<Revision>>,
    contents: BTreeMap<ObjectName, Content>,
    injected: u8,
    version: u64,
    highest: i64,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            variant: None,
            status: VariantStatus::default(),
            incarnation: 0,
            upstream: Vec::new(),
            revisions: Vec::new(),
            contents: BTreeMap::new(),
            injected: 0,
            version: 1,
            highest: 0,
        };
        world.act(&Action::NewUpstream);
        world.act(&Action::Recreate(false));
        world
    }

    fn change(&mut self, name: &ObjectName, how: impl FnOnce(&mut Revision)) {
        self.version += 1;
        let version = self.version.to_string();
        for revision in &mut self.revisions {
            if revision.key.name == *name {
                let mut changed = Revision::clone(revision);
                how(&mut changed);
                changed.meta.resource_version.clone_from(&version);
                *revision = Arc::new(changed);
                return;
            }
        }
        panic!("there is no {name}");
    }

    fn first(&self, wanted: impl Fn(&Revision) -> bool) -> Option<Arc<Revision>> {
        let mut found: Vec<_> = self.revisions.iter().filter(|r| wanted(r)).collect();
        found.sort_by(|a, b| a.key.name.cmp(&b.key.name));
        found.first().map(|r| Arc::clone(r))
    }

    fn act(&mut self, action: &Action) {
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
                    variant.meta.deleted = Some("2026-03-01T00:00:00Z".to_owned());
                }
            }
            Action::Recreate(adopt) => self.recreate(*adopt),
            other => self.edit_spec(other),
        }
    }

    fn edit_spec(&mut self, action: &Action) {
        let Some(variant) = &mut self.variant else {
            return;
        };
        variant.meta.generation += 1;
        let spec = &mut variant.spec;
        match action {
            Action::SetContext(0) => spec.context.data.clear(),
            Action::SetContext(n) => {
                spec.context.data = BTreeMap::from([("tier".to_owned(), n.to_string())]);
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

    fn recreate(&mut self, adopt: bool) {
        if self.variant.is_some() {
            return;
        }
        self.incarnation += 1;
        let said = serde_json::json!({"upstream": "blueprints/nginx", "injectors": ["eu"]});
        let mut variant = Variant {
            key: key("shop"),
            meta: model::ObjectMeta {
                uid: Some(uid(&format!("uid-{}", self.incarnation))),
                generation: 1,
                created: "2026-01-01T00:00:00Z".to_owned(),
                ..model::ObjectMeta::default()
            },
            spec: spec(&Json(said)),
        };
        if adopt {
            variant.spec.adoption = AdoptionPolicy::Existing;
        }
        self.variant = Some(variant);
        self.status = VariantStatus::default();
    }

    fn move_all(&mut self, from: Lifecycle, to: Lifecycle) {
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

    fn latest(&self) -> Option<Arc<Revision>> {
        let mut all: Vec<_> = self
            .revisions
            .iter()
            .filter(|r| r.lifecycle == Lifecycle::Published)
            .collect();
        all.sort_by_key(|r| r.revision);
        all.last().map(|r| Arc::clone(r))
    }

    /// Approves what is based on what is published now; the rest has to be re-based first.
    fn approve(&mut self) {
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

    fn edit(&mut self) {
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
    fn copy(&mut self) {
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

    fn foreign(&mut self) {
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

    fn observe(&self) -> Option<Observed> {
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
        let base = base_of(&downstream).map(|choice| Base {
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
            reclaim: false,
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
            claimed_elsewhere: BTreeSet::new(),
            rivals: Vec::new(),
            injections: vec![Injection {
                group: None,
                version: None,
                kind: None,
                name: "eu".to_owned(),
                found: BTreeMap::from([("/v1/ConfigMap".to_owned(), self.found())]),
            }],
            base,
            stated: Stated::default(),
            failure: None,
        })
    }

    fn found(&self) -> InjectionOutcome {
        InjectionOutcome::Content(format!("{{\"v\":{}}}", self.injected).into())
    }

    fn lineage(&self, revision: &Revision, depth: usize) -> Lineage {
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

    /// Applies the first steps of a plan, as the engine does: each finds what it expects, or is a
    /// conflict.
    fn apply(&mut self, plan: &Plan, steps: usize) -> Vec<Outcome> {
        plan.steps
            .iter()
            .take(steps)
            .map(|step| self.step(step))
            .collect()
    }

    fn step(&mut self, step: &Step) -> Outcome {
        match step {
            Step::AddFinalizer { finalizer, .. } => {
                let variant = self.variant.as_mut().expect("a variant");
                variant.meta.finalizers.push(finalizer.clone());
            }
            Step::RemoveFinalizer { .. } => self.variant = None,
            Step::CreateDraft(draft) => return self.create(draft),
            Step::UpdateDraft(update) => return self.update(update),
            Step::RevertToDraft { revision } => {
                self.change(&revision.key.name, |r| r.lifecycle = Lifecycle::Draft);
            }
            Step::DeleteRevision { revision, .. } => {
                assert!(!revision.lifecycle.is_published(), "{}", step.summary());
                self.revisions.retain(|r| r.key != revision.key);
            }
            Step::ProposeDeletion {
                revision,
                annotations,
                disown,
            } => self.change(&revision.key.name, |r| {
                r.lifecycle = Lifecycle::DeletionProposed;
                r.meta.annotations.extend(annotations.clone());
                r.meta.owners.retain(|o| Some(&o.uid) != disown.as_ref());
            }),
            Step::WithdrawDeletionProposal {
                revision,
                remove_annotations,
            } => self.change(&revision.key.name, |r| {
                r.lifecycle = Lifecycle::Published;
                r.meta
                    .annotations
                    .retain(|k, _| !remove_annotations.contains(k));
            }),
            Step::Orphan {
                revision, owner, ..
            } => self.change(&revision.key.name, |r| {
                r.meta.owners.retain(|o| o.uid != *owner);
            }),
            Step::Adopt {
                revision,
                owner,
                replace,
                annotations,
                ..
            } => self.change(&revision.key.name, |r| {
                r.meta.owners.retain(|o| !replace.contains(&o.uid));
                r.meta.owners.push(owner.clone());
                r.meta.annotations.extend(annotations.clone());
            }),
            Step::NoteDigest { revision, digest } => {
                self.change(&revision.key.name, |r| {
                    r.noted_digest = Some(digest.to_string());
                });
            }
        }
        Outcome::Done
    }

    fn people(&self, name: &ObjectName) -> u32 {
        self.contents.get(name).map_or(0, |c| c.people)
    }

    fn create(&mut self, draft: &CreateDraft) -> Outcome {
        if self.revisions.iter().any(|r| r.key == draft.key) {
            return Outcome::Conflict;
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
            return Outcome::Unchanged;
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
            owner: Owner {
                namespace: draft.key.namespace.clone(),
                name: self.variant.as_ref().expect("a variant").key.name.clone(),
                uid: draft.owner.uid.clone(),
            },
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
        Outcome::Draft(made)
    }

    fn update(&mut self, update: &UpdateDraft) -> Outcome {
        let name = &update.draft.key.name;
        let Some(draft) = self.revisions.iter().find(|r| r.key.name == *name).cloned() else {
            return Outcome::Conflict;
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
            return Outcome::Unchanged;
        }
        let mut machine = draft.machine.clone().unwrap_or_else(|| Machine {
            owner: Owner {
                namespace: draft.key.namespace.clone(),
                name: self.variant.as_ref().expect("a variant").key.name.clone(),
                uid: uid("uid-adopted"),
            },
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
        Outcome::Draft(Arc::clone(record.expect("the draft")))
    }

    /// Observes, decides and applies until nothing is to be done; every plan passes its check.
    fn settle(&mut self) {
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
    fn face(&self) -> Vec<String> {
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

    fn open_drafts_of_ours(&self) -> usize {
        let uid = self.variant.as_ref().and_then(|v| v.meta.uid.as_ref());
        self.revisions
            .iter()
            .filter(|r| !r.lifecycle.is_published())
            .filter(|r| !r.meta.annotations.contains_key(words::ADOPTED_BY))
            .filter(|r| uid.is_some_and(|uid| r.meta.is_owned_by(uid)))
            .count()
    }

    /// At rest, ready and not suspended, our drafts are based on today's published state (V20).
    fn drafts_are_based_on_what_is_published(&self) {
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

    fn published(&self) -> BTreeSet<(ObjectName, Lifecycle)> {
        self.revisions
            .iter()
            .filter(|r| r.lifecycle.is_published())
            .map(|r| (r.key.name.clone(), r.lifecycle))
            .collect()
    }
}

/// The same, seen in another order.
fn shuffled(observed: &Observed) -> Observed {
    let mut other = observed.clone();
    other.downstream.reverse();
    other.elsewhere.reverse();
    other.rivals.reverse();
    other
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// R20, R37, V16.
    #[test]
    fn lives_come_to_rest(life in proptest::collection::vec((actions(), 0_usize..4), 1..24)) {
        let mut world = World::new();
        world.settle();
        for (action, crash_after) in life {
            let latest = world.latest().map(|p| p.key.name.clone());
            world.act(&action);
            let proposed = latest.filter(|_| matches!(action, Action::PersonProposesDeletion));
            let before = world.published();
            let mut crashed = world.clone();
            if let Some(observed) = crashed.observe() {
                let plan = decide(&observed);
                let _lost = crashed.apply(&plan, crash_after);
            }
            crashed.settle();
            world.settle();
            prop_assert_eq!(crashed.face(), world.face(), "{:?} then a crash", action);
            prop_assert!(world.open_drafts_of_ours() <= 1, "{:?}: {:#?}", action, world.face());
            let after: BTreeSet<ObjectName> = world.published().into_iter().map(|(n, _)| n).collect();
            world.drafts_are_based_on_what_is_published();
            if let Some(name) = proposed {
                let still = world.first(|r| r.key.name == name).map(|r| r.lifecycle);
                prop_assert_eq!(still, Some(Lifecycle::DeletionProposed), "a person's proposal");
            }
            for (name, lifecycle) in before {
                prop_assert!(
                    after.contains(&name) || lifecycle == Lifecycle::DeletionProposed,
                    "{} is gone after {:?}", name, action
                );
            }
        }
    }
}

/// One life by hand, so that the world itself is known to work.
/// R20, R22-R25, R37, R103.
#[test]
fn a_life_from_clone_to_deletion() {
    let mut world = World::new();
    world.settle();
    let states = |w: &World| -> Vec<String> {
        let mut all: Vec<_> = w
            .revisions
            .iter()
            .map(|r| format!("{} {} {}", r.workspace, r.lifecycle, r.revision))
            .collect();
        all.sort();
        all
    };
    assert_eq!(states(&world), ["packagevariant-1 Draft 0"]);
    for action in [Action::Propose, Action::Approve, Action::NewUpstream] {
        world.act(&action);
        world.settle();
    }
    assert_eq!(
        states(&world),
        ["packagevariant-1 Published 1", "packagevariant-2 Draft 0"]
    );
    world.act(&Action::PersonPublishes);
    world.settle();
    assert_eq!(world.open_drafts_of_ours(), 1);
    world.act(&Action::SetContext(1));
    world.settle();
    for action in [Action::Propose, Action::Approve, Action::SetContext(1)] {
        world.act(&action);
        world.settle();
    }
    assert!(
        states(&world).contains(&"packagevariant-2 Published 3".to_owned()),
        "{:?}",
        states(&world)
    );
    world.act(&Action::DeleteVariant);
    world.settle();
    assert!(world.variant.is_none());
    let place = Downstream {
        repo: repo("deploy"),
        package: place("deploy/shop").package,
    };
    assert!(
        world
            .revisions
            .iter()
            .all(|r| r.package == place.package && r.meta.owners.is_empty())
    );
    assert!(matches!(
        resolve_upstream(
            &world.upstream,
            &crate::wire::upstream("blueprints/nginx"),
            "main"
        ),
        Resolution::Found(_)
    ));
}

/// A proposal of ours that was withdrawn leaves no mark behind: the next one may be a person's.
/// R29.
#[test]
fn a_withdrawn_proposal_is_forgotten() {
    let mut world = World::new();
    world.settle();
    for action in [
        Action::Propose,
        Action::Approve,
        Action::Retarget(true),
        Action::Retarget(false),
    ] {
        world.act(&action);
        world.settle();
    }
    let p = world.latest().expect("a published revision");
    assert!(p.meta.annotations.is_empty(), "{:?}", p.meta.annotations);
    world.act(&Action::PersonProposesDeletion);
    world.settle();
    assert_eq!(
        world.first(|r| r.key == p.key).map(|r| r.lifecycle),
        Some(Lifecycle::DeletionProposed)
    );
}
