//! What holds of a rollout whatever strikes (F7, F8): no target is written ahead of its step, what halts it keeps it halted,
//! and what was taken back is where it was. Asked at each write of a variant, and at rest; never of the engine.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::ports::StoredVariant;
use model::marks::REJECTED_BY;
use model::{
    CommitId, MemberMark, ObjectKey, Revision, RolloutState, Variant, VariantSet, VariantStatus,
};
use plan::set::{RETRY, UNDO};
use plan::variant::words::ROLLOUT;
use store::MemoryStore;
use tokio::time::Instant;

use super::by_hand::FORGED;
use super::fixtures::{Derived, NS, TARGETS};
use super::ledger::Promises;
use super::people;
use super::ports::Ports;
use super::reached::Rolled;
use super::settled::{Checked, broken};
use super::world::World;
use crate::twin::Twin;

/// How old may be what a decision was made on: watches are late, lists are from the past, and a process starts anew.
const STALE: Duration = Duration::from_secs(25);

/// The key of the context by which what is wanted differs.
const REGION: &str = "region";

/// Reasons for which a member does not count.
const ABSENT: [&str; 3] = [
    "RepositoryNotReady",
    "DownstreamDeleted",
    "DownstreamDeletionProposed",
];

/// What a rollout wrote onto a variant, not somebody by hand.
fn mark(variant: &Variant) -> Option<MemberMark> {
    let mark = MemberMark::parse(variant.meta.annotations.get(ROLLOUT)?)?;
    (mark.spec != FORGED).then_some(mark)
}

/// The how manieth rollout of its set one is.
fn number(rollout: &str) -> u64 {
    let number = rollout.split_once('-').and_then(|(n, _)| n.parse().ok());
    number.unwrap_or_default()
}

fn place(variant: &Variant) -> String {
    let at = &variant.spec.downstream;
    format!("{}/{}", at.repo, at.package)
}

fn is_young(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at.elapsed() < STALE)
}

/// Whether a variant says that it is out of reach or gone.
fn is_absent(status: &VariantStatus) -> bool {
    let ready = status.condition("Ready");
    ready.is_some_and(|c| ABSENT.contains(&c.reason.as_str()))
}

/// What a variant has published, the latest first.
fn revisions(twin: &Twin, variant: &Variant) -> Vec<Revision> {
    let at = place(variant);
    let mut all = twin.revisions();
    all.retain(|r| r.lifecycle.is_published() && format!("{}/{}", r.repository, r.package) == at);
    all.sort_by_key(|r| std::cmp::Reverse(r.revision));
    all
}

fn commit_of(revision: &Revision) -> Option<CommitId> {
    revision.upstream_lock.as_ref()?.commit
}

/// The upstream commits that a variant has published, the latest first.
fn published(twin: &Twin, variant: &Variant) -> Vec<CommitId> {
    let all = revisions(twin, variant);
    all.iter().filter_map(commit_of).collect()
}

/// Whether a variant has published this commit of upstream.
fn has_published(twin: &Twin, variant: &Variant, commit: CommitId) -> bool {
    published(twin, variant).contains(&commit)
}

/// Whether a variant has published this commit with a spec of this region. What is published is read from git, whatever is
/// said of it.
fn has_published_in(
    twin: &Twin,
    store: &MemoryStore,
    variant: &Variant,
    (commit, region): (CommitId, Option<&String>),
) -> bool {
    let mut all = revisions(twin, variant);
    all.retain(|r| commit_of(r) == Some(commit));
    let is_there = |wanted: &String| {
        all.iter()
            .any(|r| region_of(store, r).as_ref() == Some(wanted))
    };
    region.map_or(!all.is_empty(), is_there)
}

/// The region of a revision's package.
fn region_of(store: &MemoryStore, revision: &Revision) -> Option<String> {
    let named = |(name, _): &&(&str, &str)| *name == revision.repository.as_str();
    let (_, url) = TARGETS.iter().find(named)?;
    let repo = store.outside(url).ok()?;
    let package = revision.package.as_str();
    let files = people::files(&*repo, revision.commit, package).ok()?;
    Some(Derived::of(&files, package).region)
}

/// Whether a variant is in the region that its set wants: another one is brought there once its step opens again.
fn is_wanted<E>(set: &Result<VariantSet, E>, variant: &Variant) -> bool {
    let wanted = set.as_ref().ok().and_then(|set| {
        let template = set.spec.targets.first()?.template.as_ref()?;
        template.context.as_ref()?.data.get(REGION).cloned()
    });
    wanted == variant.spec.context.data.get(REGION).cloned()
}

/// The variants of the set that are there.
fn members(twin: &Twin) -> Vec<Variant> {
    let set = twin.set(NS, "fan").and_then(|s| s.meta.uid.clone());
    let all = twin.variants().into_iter();
    all.filter(|v| v.meta.deleted.is_none() && set.as_ref().is_some_and(|s| v.meta.is_owned_by(s)))
        .filter_map(|v| v.parsed.ok())
        .map(|v| Variant::clone(&v))
        .collect()
}

/// The first step in which a variant may have been reached, or what is wrong with what a set writes there.
fn step(
    rolled: &mut Rolled,
    variant: &Variant,
    found: &MemberMark,
    stored: Option<&StoredVariant>,
) -> Result<Option<usize>, String> {
    let noted = stored.and_then(|s| mark(s.parsed.as_ref().ok()?));
    // What stood there before is what a step was called then.
    if noted.as_ref() != Some(found) {
        let place = (found.rollout.as_str(), &variant.key, found.step.as_str());
        let placed = rolled.place(place, stored.is_none(), STALE);
        placed.map_err(|known| {
            format!(
                "F7: {} was reached in step {known:?}, and is said to be in '{}'",
                variant.key, found.step
            )
        })?;
    }
    let placed = rolled.placed(&found.rollout, &variant.key);
    Ok(placed.and_then(|at| at.first().copied()))
}

/// A variant as a rollout writes it.
struct Reached<'a> {
    key: &'a ObjectKey,
    mark: &'a MemberMark,
    /// Its step.
    at: usize,
    commit: CommitId,
    /// The region that its spec gives it.
    region: Option<&'a String>,
    /// The variants that were there when the rollout began.
    began: &'a BTreeSet<ObjectKey>,
}

impl Ports {
    /// Notes where a variant is written ahead of its step: one that is made, or that was at this version.
    pub(super) fn rolls(&self, variant: &Variant, version: Option<&str>) {
        if self.ledger.open().rolled.is_none() {
            return;
        }
        let Some(found) = mark(variant).filter(|m| self.is_present(m)) else {
            return;
        };
        let stored = self.twin.variant(NS, variant.key.name.as_str());
        let stands = stored.as_ref().map(|s| s.meta.resource_version.as_str());
        if version.is_some() && version != stands {
            // It is refused: nothing of it is written.
            return;
        }
        let members = members(&self.twin);
        let mut promises = self.ledger.open();
        // Whoever begins a rollout may not have heard of what was wanted just before.
        let old = |v: &&Variant| {
            let since = promises.wanted_since(&place(v));
            since.is_some_and(|since| since.elapsed() > STALE)
        };
        let known: Vec<ObjectKey> = members.iter().filter(old).map(|v| v.key.clone()).collect();
        let Some(rolled) = &mut promises.rolled else {
            return;
        };
        let at = match step(rolled, variant, &found, stored.as_ref()) {
            Ok(Some(at)) => at,
            Ok(None) => return,
            Err(what) => {
                promises.wrong.push(what);
                return;
            }
        };
        // A member that was reached is put back to what it was, also where an earlier step has gained a member since.
        let stood = stored.as_ref().and_then(|s| s.parsed.as_ref().ok());
        let is_back = rolled.wrote(&found.rollout, variant, stood.map(|v| &v.spec));
        let keys = || known.iter().cloned().collect();
        let began = rolled
            .began
            .entry(found.rollout.clone())
            .or_insert_with(keys);
        let began = began.clone();
        let reached = (found.rollout.clone(), variant.key.clone());
        let is_reached = stood.is_some_and(|v| mark(v).is_some_and(|m| m.rollout == found.rollout));
        let last = stored.is_some().then(|| {
            // Whoever writes may not have heard of the last one.
            let last = published(&self.twin, variant).into_iter().take(2);
            last.collect()
        });
        rolled.had(reached, last, !is_reached);
        let asked = self.twin.set(NS, "fan");
        let undone = asked.is_some_and(|s| s.meta.annotations.contains_key(UNDO));
        if undone || is_back || is_young(rolled.undone) {
            return;
        }
        let Some(commit) = variant.spec.upstream.commit else {
            let what = format!("F7: {} is written without a commit", variant.key);
            promises.wrong.push(what);
            return;
        };
        let seen = Reached {
            key: &variant.key,
            mark: &found,
            at,
            commit,
            region: variant.spec.context.data.get(REGION),
            began: &began,
        };
        let ahead = members.iter().find_map(|m| self.ahead(&promises, &seen, m));
        promises.wrong.extend(ahead);
    }

    /// What is wrong where a variant was written and this member is of an earlier step that has not published that: the
    /// commit, and the spec at it, of which the region differs.
    fn ahead(&self, promises: &Promises, seen: &Reached<'_>, member: &Variant) -> Option<String> {
        let rolled = promises.rolled.as_ref();
        let theirs = mark(member).filter(|m| m.rollout == seen.mark.rollout);
        let placed = theirs.and_then(|_| rolled?.placed(&seen.mark.rollout, &member.key));
        let named = placed.and_then(|at| at.last().copied());
        let there = seen.began.contains(&member.key);
        let canary = there && member.spec.downstream.repo.as_str() == "edge";
        let step = named.or_else(|| canary.then_some(0))?;
        let since = promises.wanted_since(&place(member));
        let wanted = since.is_some_and(|since| since.elapsed() > STALE);
        let absent = rolled.and_then(|r| r.absent.get(&member.key)).copied();
        let now = self.twin.variant(NS, member.key.name.as_str());
        let absent = is_young(absent) || now.as_ref().is_some_and(|v| is_absent(&v.status));
        let others = member.key != *seen.key && step < seen.at;
        let what = (seen.commit, seen.region);
        if !others || !wanted || absent || has_published_in(&self.twin, &self.store, member, what) {
            return None;
        }
        let status = self.twin.set(NS, "fan").and_then(|s| s.status.rollout);
        let told = now.map(|v| format!("{:?}", v.status.condition("Ready")));
        Some(format!(
            "F7: {} is written in step {} ({}) while {} of step {step} has not published {} in {:?}: {told:?}, {status:?}",
            seen.key, seen.at, seen.mark.step, member.key, seen.commit, seen.region,
        ))
    }

    /// Notes that the variant of a place goes: never one that is wanted; and one that its target left by a move only once every
    /// target has published what is wanted in its other package.
    pub(super) fn leaves(&self, place: &str) {
        let mut promises = self.ledger.open();
        promises.deletes(place);
        let left = promises
            .rolled
            .as_ref()
            .is_some_and(|r| r.left.contains(place));
        if !left || promises.wanted_since(place).is_some() {
            return;
        }
        let members = members(&self.twin);
        let missing = promises.wanted_for(STALE).find(|at| {
            let found = members.iter().find(|m| self::place(m) == **at);
            found.is_none_or(|member| {
                let absent = promises.rolled.as_ref().map(|r| &r.absent);
                let absent = absent.is_some_and(|a| a.contains_key(&member.key));
                let (twin, store) = (&self.twin, &self.store);
                let region = member.spec.context.data.get(REGION);
                let is_there = |commit| has_published_in(twin, store, member, (commit, region));
                !absent && !member.spec.upstream.commit.is_some_and(is_there)
            })
        });
        let what = missing.map(|at| format!("F7: {place} goes, and {at} has not published"));
        promises.wrong.extend(what);
    }

    /// Whether a mark is of the present rollout, or of one that just begins: where a member stays as it is but for that, the mark
    /// is written before the set's status names the rollout. What a former one left is put back after a change by hand; it was
    /// looked at when it was first written.
    fn is_present(&self, mark: &MemberMark) -> bool {
        let present = self.twin.set(NS, "fan").and_then(|s| s.status.rollout);
        present.is_none_or(|r| r.id == mark.rollout || number(&r.id) < number(&mark.rollout))
    }

    /// Notes when a variant is out of reach or gone.
    pub(super) fn excuses(&self, key: &ObjectKey, status: &VariantStatus) {
        let Some(rolled) = &mut self.ledger.open().rolled else {
            return;
        };
        let before = self.twin.variant(key.namespace.as_str(), key.name.as_str());
        if is_absent(status) || before.is_some_and(|v| is_absent(&v.status)) {
            rolled.absent.insert(key.clone(), Instant::now());
        }
    }
}

impl World {
    /// The variants of the set that are there.
    pub(super) fn members(&self) -> Vec<Variant> {
        members(&self.durable.twin)
    }

    /// What holds of the rollout at rest.
    ///
    /// # Errors
    /// The first thing that does not.
    pub(super) fn rolled(&self) -> Checked {
        let Some(set) = self.durable.twin.set(NS, "fan") else {
            return Ok(());
        };
        let Some(rollout) = &set.status.rollout else {
            return broken("F7: a set at rest knows nothing of its rollout");
        };
        let state = rollout.state;
        let retried = set.meta.annotations.get(RETRY);
        if retried != rollout.retried.as_ref() && state != RolloutState::Undone {
            return broken("F7: a request to try again is not answered");
        }
        let members = members(&self.durable.twin);
        for member in &members {
            let Some(mark) = mark(member).filter(|m| m.rollout == rollout.id) else {
                continue;
            };
            let Some(commit) = member.spec.upstream.commit else {
                return broken(format!("F7: {} follows no commit", member.key));
            };
            if state == RolloutState::Undone {
                if let Some(had) = self.had_published(&mark, member)
                    && !had.contains(&commit)
                {
                    let key = &member.key;
                    return broken(format!(
                        "F8: {key} did not go back to {had:?}, it is at {commit}"
                    ));
                }
                continue;
            }
            if is_wanted(&set.parsed, member)
                && self.wanted().contains(&place(member))
                && self.is_rejected(member)
                && !self.is_counted(member)
                && rollout.upstreams.iter().any(|u| u.commit == commit)
                && rollout.halted.is_none()
            {
                return broken(format!("F7: {} is rejected, and nothing halts", member.key));
            }
        }
        self.counted(&members, rollout)
    }

    /// What a member had published before a rollout reached it; `None` where that is nothing.
    fn had_published(&self, mark: &MemberMark, member: &Variant) -> Option<Vec<CommitId>> {
        let promises = self.durable.ledger.open();
        let before = &promises.rolled.as_ref()?.before;
        let had = before.get(&(mark.rollout.clone(), member.key.clone()))?;
        (!had.is_empty()).then(|| had.clone())
    }

    /// A rollout that is complete has everything published where it is wanted.
    fn counted(&self, members: &[Variant], rollout: &model::RolloutStatus) -> Checked {
        if rollout.state != RolloutState::Complete {
            return Ok(());
        }
        let absent = |member: &Variant| {
            let rolled = &self.durable.ledger.open().rolled;
            rolled
                .as_ref()
                .is_some_and(|r| r.absent.contains_key(&member.key))
        };
        let (twin, store) = (&self.durable.twin, &self.durable.store);
        let missing = members.iter().find(|m| {
            let region = m.spec.context.data.get(REGION);
            let is_there = |commit| has_published_in(twin, store, m, (commit, region));
            let published = m.spec.upstream.commit.is_some_and(is_there);
            !published && !absent(m) && self.wanted().contains(&place(m))
        });
        match missing {
            Some(member) => broken(format!(
                "F7: the rollout is complete, and {} has not published",
                member.key
            )),
            None => Ok(()),
        }
    }

    /// Whether a member says that it has published what is written to it now. Such a one counts, and halts nothing, whatever a
    /// person still has open beside it.
    fn is_counted(&self, member: &Variant) -> bool {
        let stored = self.durable.twin.variant(NS, member.key.name.as_str());
        let says = stored.is_some_and(|v| v.status.published_generation == Some(v.meta.generation));
        let commit = member.spec.upstream.commit;
        says && commit.is_some_and(|c| has_published(&self.durable.twin, member, c))
    }

    /// Whether the open draft of a member was rejected as it is wanted, and nobody proposed it again.
    fn is_rejected(&self, member: &Variant) -> bool {
        let draft = self.open(&place(member));
        draft.is_some_and(|r| {
            let of = r.upstream_lock.as_ref().and_then(|lock| lock.commit);
            r.lifecycle == model::Lifecycle::Draft
                && r.meta.annotations.contains_key(REJECTED_BY)
                && of == member.spec.upstream.commit
        })
    }
}
