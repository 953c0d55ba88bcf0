//! The fleet as the board holds it: once for all pages, fed by watches. Nothing is asked here.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use model::{ConflictState, Lifecycle, Pairs, Rollout, SetStatus, Standing, Status};
use serde_json::{Value, json};

use crate::client::{PACKAGES, ResourcePath, SETS, VARIANTS, lifecycle};
use crate::commands::rollout;
use crate::commands::rpkg::upgrade;

/// How many variants that went are remembered, for pages that ask what changed.
const GONE: usize = 4_096;

/// A target: what a variant says of itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    pub(super) set: String,
    pub(super) repository: String,
    pub(super) package: String,
    pub(super) standing: Standing,
    /// Whether the rollout of its set has not reached it.
    pub(super) waits: bool,
    /// Upstream versions, such as `web/v1 → v2`.
    pub(super) versions: String,
    /// The open draft, else what is published.
    pub(super) revision: String,
    /// What its Ready condition says.
    pub(super) message: String,
    pub(super) uid: String,
    /// Its step of the rollout of its set; empty where there is none, or it is not settled.
    pub(super) step: String,
    /// The upstream commit that a rollout wrote to it; empty where none did.
    pub(super) commit: String,
    /// Whether its variant is being deleted.
    pub(super) leaves: bool,
    /// When it or its revision changed last, in the board's own count.
    pub(super) since: u64,
}

/// A set.
#[derive(Debug, Clone)]
pub(super) struct Set {
    pub(super) status: SetStatus,
    /// The steps that it asks for.
    pub(super) rollout: Option<Rollout>,
    /// Repository, package and revision that it wants.
    pub(super) upstream: (String, String, String),
    /// What can be said to its rollout; nothing where it has none.
    pub(super) verbs: Vec<&'static str>,
    /// How its rollout was seen: sent along with what is said to it.
    pub(super) seen: String,
    /// The same for a command: what `--if-version` takes.
    pub(super) version_seen: String,
}

impl Set {
    /// Whether it puts its targets into the same steps as another state of it.
    fn places_as(&self, other: &Self) -> bool {
        let of = |set: &Self| {
            let status = set.status.rollout.as_ref();
            status.map(|s| {
                let steps = s
                    .steps
                    .iter()
                    .map(|s| (s.name.clone(), s.frozen, s.members));
                let steps: Vec<_> = steps.collect();
                let members = s.members.iter().map(|(mark, m)| (*mark, m.step.clone()));
                let members: Vec<_> = members.collect();
                let at = (s.id.clone(), s.step.clone(), s.state);
                (at, s.total, s.awaited.clone(), steps, members)
            })
        };
        self.rollout == other.rollout && of(self) == of(other)
    }
}

impl Target {
    /// Notes whether the rollout of its set has not reached it.
    pub(super) fn put(&mut self, waits: bool) {
        self.waits = waits;
        if self.standing == Standing::Step {
            self.standing = Standing::UpToDate;
        }
        self.standing = self.standing.under_rollout(waits);
    }

    /// Whether another state of it is in the same step, as far as it alone decides.
    fn stays(&self, other: &Self) -> bool {
        (&self.set, &self.uid, &self.repository) == (&other.set, &other.uid, &other.repository)
    }
}

/// A package revision, with what pages need of it: the parts that [`slim`] keeps.
pub(super) type Revision = Value;

/// All that is known.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    /// Counts changes.
    pub(super) version: u64,
    /// Whether everything was listed at least once.
    pub(super) listed: bool,
    /// What keeps it from being followed; empty if nothing does.
    pub(super) trouble: String,
    pub(super) targets: BTreeMap<String, Target>,
    pub(super) sets: BTreeMap<String, Set>,
    pub(super) repositories: BTreeMap<String, Pairs>,
    /// When the labels of a repository changed last, in the board's own count.
    pub(super) labelled: u64,
    /// Sets whose targets may be in other steps than is known.
    pub(super) unplaced: BTreeSet<String>,
    /// Targets by the revision that they show.
    shown: HashMap<String, String>,
    packages: HashMap<(String, String), Vec<Revision>>,
    places: HashMap<String, (String, String)>,
    locks: HashMap<(String, String, String), String>,
    /// Revisions by what waits at them.
    open: BTreeSet<String>,
    gone: VecDeque<(u64, String)>,
    forgotten: u64,
}

fn text(object: &Value, path: &[&str]) -> String {
    api::str_at(object, path).unwrap_or_default().to_owned()
}

/// The name of an object.
pub(super) fn name(object: &Value) -> &str {
    api::str_at(object, &["metadata", "name"]).unwrap_or_default()
}

/// Whether a revision is published, and its deletion is proposed.
pub(super) fn is_deletion(revision: &Revision) -> bool {
    lifecycle(revision) == Some(Lifecycle::DeletionProposed)
}

/// How many conflicts keep a draft from being proposed, since nobody decided them.
pub(super) fn conflicts(revision: &Revision) -> usize {
    if lifecycle(revision) != Some(Lifecycle::Draft) {
        return 0;
    }
    let listed = revision
        .pointer("/status/conflicts")
        .and_then(Value::as_array);
    // What follows from another conflict is decided with it.
    let waits = |c: &&Value| {
        let state = api::str_at(c, &["state"]).and_then(ConflictState::parse);
        state == Some(ConflictState::Open) && c.get("derivedFrom").is_none()
    };
    listed.map_or(0, |all| all.iter().filter(waits).count())
}

/// The tree that a revision holds.
pub(super) fn tree(revision: &Revision) -> &str {
    api::str_at(revision, &["status", "offshoot", "tree"]).unwrap_or_default()
}

/// What of a revision is kept: ten thousand of them lie in memory.
fn slim(object: &Value) -> Revision {
    let at = |pointer: &str| object.pointer(pointer).cloned().unwrap_or_default();
    json!({
        "metadata": { "name": at("/metadata/name"), "labels": at("/metadata/labels") },
        "spec": {
            "packageName": at("/spec/packageName"),
            "repository": text(object, &["spec", "repository"]),
            "workspaceName": at("/spec/workspaceName"),
            "revision": at("/spec/revision"),
            "lifecycle": at("/spec/lifecycle"),
        },
        "status": {
            "conflicts": at("/status/conflicts"),
            "upstreamLock": at("/status/upstreamLock"),
            "selfLock": at("/status/selfLock"),
            "offshoot": { "tree": at("/status/offshoot/tree") },
        },
    })
}

impl Fleet {
    /// Takes an object as it is now, or notes that it went.
    pub(super) fn take(&mut self, kind: ResourcePath, object: &Value, gone: bool) {
        self.version += 1;
        match (kind, gone) {
            (VARIANTS, false) => self.put_target(object),
            (VARIANTS, true) => self.drop_target(name(object)),
            (SETS, false) => self.put_set(object),
            (SETS, true) => drop(self.sets.remove(name(object))),
            (PACKAGES, false) => self.put_revision(object),
            (PACKAGES, true) => self.drop_revision(name(object)),
            (_, false) => {
                let labels = api::read_meta(object).labels;
                let name = name(object).to_owned();
                if self.repositories.get(&name) != Some(&labels) {
                    self.repositories.insert(name, labels);
                    self.labelled = self.version;
                    self.unplaced.extend(self.sets.keys().cloned());
                }
            }
            (_, true) => drop(self.repositories.remove(name(object))),
        }
    }

    fn put_set(&mut self, object: &Value) {
        let upstream = ["repo", "package", "revision"].map(|key| {
            let value = object.pointer("/spec/upstream").and_then(|u| u.get(key));
            match value {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            }
        });
        let [repo, package, revision] = upstream;
        let spec = api::read_set(object).and_then(|(_, _, spec)| spec.ok());
        let set = Set {
            status: api::read_set_status(object),
            rollout: spec.and_then(|spec| spec.rollout),
            upstream: (repo, package, revision),
            verbs: rollout::offered(object),
            seen: rollout::seen(object),
            version_seen: rollout::version(object),
        };
        let name = name(object).to_owned();
        let old = self.sets.get(&name);
        if old.is_none_or(|old| !old.places_as(&set)) {
            self.unplaced.insert(name.clone());
        }
        self.sets.insert(name, set);
    }

    /// Notes that something of the targets changed that show these revisions.
    pub(super) fn touch<'r>(&mut self, revisions: impl Iterator<Item = &'r str>) {
        for revision in revisions {
            let target = self.shown.get(revision);
            if let Some(target) = target.and_then(|name| self.targets.get_mut(name)) {
                target.since = self.version;
            }
        }
    }

    /// Forgets what a new listing does not name.
    pub(super) fn keep(&mut self, kind: ResourcePath, names: &BTreeSet<String>) {
        self.version += 1;
        let missing = |known: Vec<String>| known.into_iter().filter(|n| !names.contains(n));
        match kind {
            VARIANTS => {
                for name in missing(self.targets.keys().cloned().collect()) {
                    self.drop_target(&name);
                }
            }
            SETS => self.sets.retain(|name, _| names.contains(name)),
            PACKAGES => {
                for name in missing(self.places.keys().cloned().collect()) {
                    self.drop_revision(&name);
                }
            }
            _ => self.repositories.retain(|name, _| names.contains(name)),
        }
    }

    fn put_target(&mut self, object: &Value) {
        let meta = api::read_meta(object);
        let status = api::read_variant_status(object);
        let set = meta.controller().filter(|c| c.kind == "PackageVariantSet");
        // That all is well is said by the state.
        let ready = status.condition("Ready");
        let ready = ready.filter(|c| c.status != Status::True);
        let ready = ready.map(|c| c.message.clone());
        let revision = status.downstream_targets.first();
        let name = name(object).to_owned();
        let old = self.targets.get(&name);
        let waits = old.is_some_and(|old| old.waits);
        let target = Target {
            set: set.map(|set| set.name.clone()).unwrap_or_default(),
            repository: text(object, &["spec", "downstream", "repo"]),
            package: text(object, &["spec", "downstream", "package"]),
            standing: Standing::of(&status, meta.generation).under_rollout(waits),
            waits,
            versions: status.versions.clone(),
            revision: revision.map(|r| r.name.to_string()).unwrap_or_default(),
            message: ready.unwrap_or_default(),
            uid: text(object, &["metadata", "uid"]),
            step: old.map(|old| old.step.clone()).unwrap_or_default(),
            commit: text(object, &["spec", "upstream", "commit"]),
            leaves: meta.is_deleting(),
            since: self.version,
        };
        if let Some(old) = old {
            self.shown.remove(&old.revision);
        }
        if old.is_none_or(|old| !old.stays(&target)) {
            let sets = [old.map(|old| &old.set), Some(&target.set)];
            let sets = sets.into_iter().flatten().filter(|set| !set.is_empty());
            self.unplaced.extend(sets.cloned());
        }
        if !target.revision.is_empty() {
            self.shown.insert(target.revision.clone(), name.clone());
        }
        self.targets.insert(name, target);
    }

    fn drop_target(&mut self, name: &str) {
        if let Some(old) = self.targets.remove(name) {
            self.shown.remove(&old.revision);
            self.unplaced.insert(old.set);
            self.gone.push_back((self.version, name.to_owned()));
            if self.gone.len() > GONE
                && let Some((version, _)) = self.gone.pop_front()
            {
                self.forgotten = version;
            }
        }
    }

    fn put_revision(&mut self, object: &Value) {
        let revision = slim(object);
        let key = name(&revision).to_owned();
        self.touch([key.as_str()].into_iter());
        self.drop_revision(&key);
        let place = (
            text(&revision, &["spec", "repository"]),
            text(&revision, &["spec", "packageName"]),
        );
        if upgrade::number(&revision) > 0 {
            let lock = upgrade::lock(&revision, "selfLock");
            self.locks.insert(lock, key.clone());
        }
        if lifecycle(&revision) != Some(Lifecycle::Published) {
            self.open.insert(key.clone());
        }
        self.places.insert(key, place.clone());
        self.packages.entry(place).or_default().push(revision);
    }

    fn drop_revision(&mut self, key: &str) {
        self.open.remove(key);
        if let Some(place) = self.places.remove(key)
            && let Some(all) = self.packages.get_mut(&place)
        {
            all.retain(|r| name(r) != key);
            if all.is_empty() {
                self.packages.remove(&place);
            }
        }
    }

    /// A revision.
    pub(super) fn revision(&self, key: &str) -> Option<&Revision> {
        self.package_of(key).iter().find(|r| name(r) == key)
    }

    /// All revisions of the package that this one is of.
    pub(super) fn package_of(&self, key: &str) -> &[Revision] {
        let all = self.places.get(key).and_then(|p| self.packages.get(p));
        all.map(Vec::as_slice).unwrap_or_default()
    }

    /// The upstream revision that one was made from, where it is known here.
    pub(super) fn upstream_of(&self, revision: &Revision) -> Option<&Revision> {
        let lock = upgrade::lock(revision, "upstreamLock");
        self.revision(self.locks.get(&lock)?)
    }

    /// Drafts, proposals, and revisions whose deletion is proposed, by name.
    pub(super) fn open(&self) -> impl Iterator<Item = &Revision> {
        self.open.iter().filter_map(|key| self.revision(key))
    }

    /// How many revisions stand so.
    pub(super) fn count(&self, wanted: Lifecycle) -> usize {
        let stands_so = |r: &&Revision| lifecycle(r) == Some(wanted);
        self.open().filter(stands_so).count()
    }

    /// The labels of a repository.
    pub(super) fn labels(&self, repository: &str) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.repositories.get(repository);
        labels
            .into_iter()
            .flat_map(|l| l.iter())
            .map(|(k, v)| (k.as_ref(), v.as_ref()))
    }

    /// The names of variants that went since, or nothing if that is no longer known.
    pub(super) fn gone_since(&self, version: u64) -> Option<Vec<&str>> {
        if version < self.forgotten {
            return None;
        }
        let later = self.gone.iter().filter(|(at, _)| *at > version);
        Some(later.map(|(_, name)| name.as_str()).collect())
    }

    /// Drafts that nobody can propose before their conflicts are decided, by name.
    pub(super) fn all_blocked(&self) -> BTreeSet<&str> {
        let open = self.open().filter(|r| conflicts(r) > 0);
        open.map(name).collect()
    }

    /// The variant that looks after a revision.
    pub(super) fn target_of(&self, revision: &str) -> Option<(&String, &Target)> {
        self.targets.get_key_value(self.shown.get(revision)?)
    }
}
