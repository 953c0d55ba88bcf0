//! Whole histories of a package: clones, edits by people, upgrades, two upgrades of one open draft, changes of the spec and of
//! what is injected.
//!
//! The oracle: for every edit a person ever made, the tip holds it, or a later person's edit replaced it, or a record
//! names path, base, local and upstream. Without the records it must fail.

mod world;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CommitId, Conflict, ConflictId, ConflictPolicy, ConflictState, ConflictValue, Decision, Files,
    Function, GitLock, GitUpstream, Injection, InjectionOutcome, ObjectName, PackageName,
    PackagePath, Pairs, Pipeline, Recipe, Strategy as MergeStrategy,
};
use package::conflicts::{acknowledge, resolved_by_edit, value_at};
use package::derive::{Base, Derivation, DeriveInput, Derived, MachineFiles, OpenDraft};
use package::kptfile::Kptfile;
use package::merge::Occupied;
use package::place::conflict_id;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use world::{Place, Upstream, found, stream};
use yaml::{Edit, Value};

use crate::vectors;

/// What happens.
#[derive(Debug, Clone)]
enum Act {
    /// Upstream's authors change something and publish a revision.
    Author(Place, Option<u8>),
    /// A person edits the open draft.
    Edit(Place, Option<u8>),
    /// The variant's pipeline changes.
    Spec(u8),
    /// An injected object changes.
    Inject(u8),
    /// The variant's policy for conflicts changes.
    Policy(ConflictPolicy),
    /// The variant looks again: a first draft, an upgrade, or another look at the open draft.
    Look,
    /// A person accepts what is open.
    Acknowledge,
    /// The draft is published.
    Publish,
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        Just(Place::Replicas),
        Just(Place::Image),
        Just(Place::Pull),
        (0..4_u8).prop_map(Place::Data),
        Just(Place::Team),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let value = || prop::option::weighted(0.8, 0..4_u8);
    prop_oneof![
        3 => (place(), value()).prop_map(|(place, value)| Act::Author(place, value)),
        4 => (place(), value()).prop_map(|(place, value)| Act::Edit(place, value)),
        1 => (0..3_u8).prop_map(Act::Spec),
        1 => (0..3_u8).prop_map(Act::Inject),
        1 => policy().prop_map(Act::Policy),
        4 => Just(Act::Look),
        1 => Just(Act::Acknowledge),
        2 => Just(Act::Publish),
    ]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(), 6..24)
}

fn policy() -> impl Strategy<Value = ConflictPolicy> {
    prop::sample::select(vec![
        ConflictPolicy::Block,
        ConflictPolicy::Upstream,
        ConflictPolicy::Local,
    ])
}

/// A draft in which people work.
struct Draft {
    v: Files,
    m: Files,
    tip: Files,
    conflicts: Vec<Conflict>,
}

/// What a person last said about a place: a value, or that nothing shall stand there.
type Ledger = BTreeMap<Place, Option<Value>>;

struct History {
    policy: ConflictPolicy,
    upstream: Upstream,
    version: u8,
    namespace: u8,
    region: u8,
    published: Option<(Files, Files)>,
    draft: Option<Draft>,
    ledger: Ledger,
    /// What people had said when the last revision was published.
    settled: Ledger,
    /// Every record that was ever shown.
    records: Vec<Conflict>,
    /// Whether records are kept at all: off, the oracle must notice.
    recording: bool,
    /// How often a draft that was open was looked at again with something new.
    twice: usize,
}

impl History {
    fn new(policy: ConflictPolicy, recording: bool) -> Self {
        Self {
            policy,
            upstream: Upstream::new(),
            version: 1,
            namespace: 0,
            region: 0,
            published: None,
            draft: None,
            ledger: Ledger::new(),
            settled: Ledger::new(),
            records: Vec::new(),
            recording,
            twice: 0,
        }
    }

    fn recipe(&self) -> Recipe {
        let set_namespace = Function {
            image: Some("set-namespace:v0.4".to_owned()),
            name: "ns".to_owned(),
            config_map: vec![("namespace".to_owned(), format!("n{}", self.namespace))],
            ..Function::default()
        };
        let content = serde_json::json!({ "region": format!("r{}", self.region) }).to_string();
        let content = InjectionOutcome::Content(content.as_str().into());
        Recipe {
            package: PackageName::parse("shop").unwrap(),
            variant: ObjectName::parse("shop-app").unwrap(),
            deployment: true,
            context: Pairs::new(),
            remove_keys: BTreeSet::new(),
            create_context: false,
            pipeline: Pipeline {
                mutators: vec![set_namespace],
                validators: Vec::new(),
            },
            injections: vec![Injection {
                group: None,
                version: None,
                kind: None,
                name: "eu".to_owned(),
                found: BTreeMap::from([("/v1/ConfigMap".to_owned(), content)]),
            }],
            kept: Vec::new(),
            strategy: MergeStrategy::ResourceMerge,
            conflict_policy: self.policy,
            push_on_render_failure: false,
        }
    }

    fn derive(&self) -> Result<Derived, String> {
        let git_ref = format!("app/v{}", self.version);
        let (repo, directory) = (
            "https://git.example.test/b.git".to_owned(),
            "app".to_owned(),
        );
        let known = |files: &Files| MachineFiles::Known {
            files: files.clone(),
            gates: gates(files),
        };
        let input = DeriveInput {
            package_bytes: None,
            upstream_occupied: Occupied::default(),
            marked: None,
            upstream: self.upstream.files(),
            git_upstream: GitUpstream {
                repo: repo.clone(),
                directory: directory.clone(),
                git_ref: git_ref.clone(),
            },
            lock: GitLock {
                repo,
                directory,
                git_ref,
                commit: CommitId::from_bytes(&[self.version; 20]),
            },
            recipe: self.recipe(),
            base: self.published.as_ref().map(|(published, v)| Base {
                occupied: Occupied::default(),
                published: published.clone(),
                machine: known(v),
            }),
            draft: self.draft.as_ref().map(|draft| OpenDraft {
                occupied: Occupied::default(),
                machine: known(&draft.m),
                tip: draft.tip.clone(),
                conflicts: draft.conflicts.clone(),
                acknowledged: Vec::new(),
            }),
        };
        vectors::drive(Derivation::new(input)).map_err(|error| error.message())
    }

    fn look(&mut self) -> Result<(), String> {
        if let Some(draft) = &mut self.draft {
            resolved_by_edit(&mut draft.conflicts, &draft.m, &draft.tip);
        }
        let derived = self.derive()?;
        if !derived.render.succeeded() {
            return Err(format!("the render failed: {:?}", derived.render.error));
        }
        for conflict in &derived.conflicts {
            let id = conflict_id(conflict.place(), &conflict.local, &conflict.upstream);
            if id != conflict.id {
                return Err(format!(
                    "the id of {conflict:?} is not that of its place and values"
                ));
            }
        }
        self.nothing_vanished(&derived)?;
        if self.draft.is_none() && self.published.is_some() && derived.m_equals_p {
            return Ok(());
        }
        self.twice += usize::from(
            self.draft
                .as_ref()
                .is_some_and(|draft| draft.m != derived.m),
        );
        if self.recording {
            self.records.extend(derived.conflicts.iter().cloned());
        }
        // Where the machine has come to say the same of its own, both agree: nothing is anybody's alone.
        let alone =
            |place: &Place, wanted: &mut Option<Value>| found(&derived.v, *place) != *wanted;
        self.ledger.retain(alone);
        self.settled.retain(alone);
        let Derived {
            v,
            m,
            tip,
            conflicts,
            ..
        } = derived;
        self.draft = Some(Draft {
            v,
            m,
            tip,
            conflicts,
        });
        Ok(())
    }

    /// V18: what nobody answered is there still, unless both sides agree or upstream is back at the base.
    fn nothing_vanished(&self, derived: &Derived) -> Result<(), String> {
        let old = self.draft.iter().flat_map(|draft| &draft.conflicts);
        for before in old.filter(|c| c.state == ConflictState::Open) {
            let (tip, machine) = (value_at(&derived.tip, before), value_at(&derived.m, before));
            let here = |c: &&Conflict| c.place() == before.place();
            let now = derived.conflicts.iter().find(here);
            let over = tip == machine || machine == before.base;
            let blocks = self.policy != ConflictPolicy::Block || now.is_some_and(Conflict::blocks);
            if !over && (now.is_none() || !blocks) {
                return Err(format!(
                    "nobody answered {before:?}, and now there is {now:?}"
                ));
            }
        }
        Ok(())
    }

    fn author(&mut self, place: Place, value: Option<u8>) {
        match (place, value) {
            (Place::Replicas, Some(value)) => self.upstream.replicas = value,
            (Place::Image, Some(value)) => self.upstream.image = value,
            (Place::Pull, value) => self.upstream.pull = value,
            (Place::Data(key), Some(value)) => drop(self.upstream.data.insert(key, value)),
            (Place::Data(key), None) => drop(self.upstream.data.remove(&key)),
            // A workload has replicas and an image.
            (Place::Replicas | Place::Image, None) => {}
            // What the function writes is not theirs.
            (Place::Team, _) => {}
        }
        self.version = self.version.saturating_add(1);
    }

    fn edit(&mut self, place: Place, value: Option<u8>) {
        let Some(draft) = &mut self.draft else { return };
        if value.is_none() && matches!(place, Place::Replicas | Place::Image) {
            return;
        }
        let wanted = value.map(|value| place.value(value));
        if found(&draft.tip, place) == wanted {
            return;
        }
        let file = PackagePath::parse(place.file()).unwrap();
        let edit = match &wanted {
            Some(value) => Edit::set(place.path(), value.clone()),
            None => Edit::remove(place.path()),
        };
        let stream = stream(&draft.tip, place).apply(0, &[edit]).unwrap();
        let new = draft.tip[&file].with_bytes(stream.text().as_bytes().to_vec());
        draft.tip.insert(file, new);
        // Whoever puts back what the machine made has no edit in this draft any more.
        let withdrawn = found(&draft.m, place) == wanted;
        let said = match self.settled.get(&place) {
            Some(before) if withdrawn => Some(before.clone()),
            None if withdrawn => None,
            _ => Some(wanted),
        };
        match said {
            Some(said) => drop(self.ledger.insert(place, said)),
            None => drop(self.ledger.remove(&place)),
        }
    }

    fn publish(&mut self) {
        self.acknowledge();
        if let Some(draft) = self.draft.take() {
            self.published = Some((draft.tip, draft.v));
            self.settled.clone_from(&self.ledger);
        }
    }

    fn acknowledge(&mut self) {
        if let Some(draft) = &mut self.draft {
            let open = draft
                .conflicts
                .iter()
                .filter(|c| c.state == ConflictState::Open);
            let ids: Vec<ConflictId> = open.map(|c| c.id.clone()).collect();
            assert!(acknowledge(&mut draft.conflicts, &ids).is_empty());
        }
    }

    fn step(&mut self, act: &Act) -> Result<(), String> {
        match act {
            Act::Author(place, value) => self.author(*place, *value),
            Act::Edit(place, value) => self.edit(*place, *value),
            Act::Spec(namespace) => self.namespace = *namespace,
            Act::Inject(region) => self.region = *region,
            Act::Policy(policy) => self.policy = *policy,
            Act::Look => self.look()?,
            Act::Acknowledge => self.acknowledge(),
            Act::Publish => self.publish(),
        }
        let published = self.published.as_ref().map(|(files, _)| files);
        let Some(tip) = self.draft.as_ref().map(|draft| &draft.tip).or(published) else {
            return Ok(());
        };
        for (place, wanted) in &self.ledger {
            let now = found(tip, *place);
            if now != *wanted
                && !self
                    .records
                    .iter()
                    .any(|record| names(record, *place, wanted.as_ref()))
            {
                return Err(format!(
                    "{place:?}: a person wanted {wanted:?}, the tip holds {now:?}, and no record says so"
                ));
            }
        }
        Ok(())
    }
}

fn gates(files: &Files) -> Vec<String> {
    let kptfile = Kptfile::of_files(files).unwrap();
    kptfile
        .fields()
        .info
        .readiness_gates
        .iter()
        .map(|gate| gate.condition_type.clone())
        .collect()
}

/// Whether a record names the place, what the person wanted there, and both other sides, and says that upstream won.
fn names(record: &Conflict, place: Place, wanted: Option<&Value>) -> bool {
    let json = |value: Option<&Value>| match value.and_then(Value::to_json) {
        Some(value) => ConflictValue::Json(value.to_string()),
        None => ConflictValue::Absent,
    };
    record.file.as_str() == place.file()
        && record.path == place.name()
        && record.decision == Decision::Upstream
        && record.local == json(wanted)
        && record.upstream != record.local
        && record.base != record.local
}

/// Plays a history; answers with how often an open draft was upgraded.
fn play(policy: ConflictPolicy, acts: &[Act], recording: bool) -> Result<usize, String> {
    let mut history = History::new(policy, recording);
    history.step(&Act::Look)?;
    for (at, act) in acts.iter().enumerate() {
        history
            .step(act)
            .map_err(|why| format!("act {at}, {act:?}: {why}"))?;
    }
    Ok(history.twice)
}

proptest! {
    #![proptest_config(Config { cases: 24, ..Config::default() })]

    #[test]
    fn every_edit_of_a_person_is_held_replaced_or_recorded(policy in policy(), acts in acts()) {
        let played = play(policy, &acts, true);
        prop_assert!(played.is_ok(), "{:?}: {}", policy, played.unwrap_err());
    }
}

#[test]
fn the_oracle_notices_when_nothing_is_recorded() {
    let mut runner = TestRunner::deterministic();
    let result = runner.run(&acts(), |acts| {
        match play(ConflictPolicy::Upstream, &acts, false) {
            Ok(_) => Ok(()),
            Err(why) => Err(TestCaseError::fail(why)),
        }
    });
    assert!(matches!(result, Err(TestError::Fail(..))), "{result:?}");
}

#[test]
fn histories_upgrade_open_drafts_more_than_once() {
    let acts = [
        Act::Edit(Place::Replicas, Some(3)),
        Act::Author(Place::Replicas, Some(2)),
        Act::Look,
        Act::Edit(Place::Data(1), None),
        Act::Author(Place::Data(1), Some(3)),
        Act::Inject(2),
        Act::Look,
        Act::Publish,
        Act::Spec(1),
        Act::Author(Place::Image, Some(3)),
        Act::Look,
        Act::Edit(Place::Image, Some(2)),
        Act::Author(Place::Image, Some(0)),
        Act::Look,
    ];
    for policy in [
        ConflictPolicy::Block,
        ConflictPolicy::Upstream,
        ConflictPolicy::Local,
    ] {
        assert_eq!(play(policy, &acts, true), Ok(3), "{policy:?}");
    }
    let unrecorded = play(ConflictPolicy::Upstream, &acts, false);
    assert!(unrecorded.is_err(), "{unrecorded:?}");
}
