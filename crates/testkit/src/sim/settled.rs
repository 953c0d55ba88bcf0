//! What must hold once faults have stopped and everything has come to rest: what was asked for is
//! there, what was promised is there, refs and records agree, and then nothing is written any more.

use std::collections::{BTreeMap, BTreeSet};

use model::{CommitId, Lifecycle, Revision, Status};
use store::RefName;

use super::Violation;
use super::check::MACHINE;
use super::fixtures::{AGAIN, BLUEPRINTS, COPY, COPY_AT, Derived, NS, TARGETS, TENANT};
use super::people;
use super::world::{Tenants, World};

pub(super) type Checked = Result<(), Violation>;

pub(super) fn broken(what: impl Into<String>) -> Checked {
    Err(Violation(what.into()))
}

/// What was done so far, by the engine and by the store.
pub(super) type Work = BTreeMap<&'static str, u64>;

/// What of the work between two looks is more than it may be, with how much there was and may be.
pub(super) fn beyond<'a>(
    before: &Work,
    after: &Work,
    most: &[(&'a str, u64)],
) -> Option<(&'a str, u64, u64)> {
    let did = |what: &str| {
        // A process that was started anew counts from nothing.
        let (now, then) = (after.get(what)?, before.get(what)?);
        Some(now.saturating_sub(*then))
    };
    let counts = most
        .iter()
        .map(|(what, most)| (*what, did(what).unwrap_or(u64::MAX), *most));
    counts.into_iter().find(|(_, count, most)| count > most)
}

impl World {
    /// Everything that holds at rest.
    ///
    /// # Errors
    /// The first thing that does not.
    pub(super) fn settled(&self) -> Checked {
        self.look()?;
        self.agreement()?;
        self.publishing()?;
        self.knowledge()?;
        self.tenancy()?;
        self.tells_of_nowhere()?;
        self.tells_of_trees()?;
        self.works_once()?;
        self.leaves_the_copy()?;
        self.follows_links()?;
        self.fan()?;
        self.converged()?;
        self.on_branch()?;
        self.promises()
    }

    /// Namespace, name and address of what is registered.
    pub(super) fn registrations(&self) -> Vec<(&'static str, &'static str, &'static str)> {
        let mut all = Vec::new();
        for (repo, url) in TARGETS.into_iter().chain([("blueprints", BLUEPRINTS)]) {
            all.push((NS, repo, url));
            if self.durable.twin.repository(TENANT, repo).is_some() {
                all.push((TENANT, repo, url));
            }
        }
        if self.durable.twin.repository(NS, COPY).is_some() {
            all.push((NS, COPY, COPY_AT));
        }
        all
    }

    /// Every ref has its record, every record its ref, at the same commit (I2).
    fn agreement(&self) -> Checked {
        let mut records = self.durable.twin.revisions();
        records.retain(|r| !r.placeholder);
        for (namespace, repo, url) in self.registrations() {
            let seen = self.seen(url)?;
            // What a tag held that leads to no commit now is not known to be gone; the repository's status tells of the tag.
            let unread = seen.repo.broken_refs();
            let is_unread = |at: &str| RefName::tag(at).is_ok_and(|at| unread.contains_key(&at));
            let mut stand: BTreeMap<(String, bool), CommitId> = BTreeMap::new();
            for (name, commit) in seen.refs.iter() {
                let short = name.short().to_owned();
                let tag = name.as_str().starts_with("refs/tags/");
                if tag || short.starts_with("drafts/") || short.starts_with("proposed/") {
                    stand.insert((short, tag), *commit);
                }
            }
            let of_it = records
                .iter()
                .filter(|r| r.key.namespace.as_str() == namespace && r.repository.as_str() == repo);
            for record in of_it {
                let lock = record.self_lock.as_ref();
                let at = lock.map(|l| l.git_ref.clone()).unwrap_or_default();
                let tag = record.lifecycle.is_published();
                match stand.remove(&(at.clone(), tag)) {
                    Some(commit) if commit == record.commit => {}
                    Some(commit) => {
                        return broken(format!(
                            "I2: {} says {}, {at} is {commit}",
                            record.key, record.commit
                        ));
                    }
                    None if tag && is_unread(&at) => {}
                    None => return broken(format!("I2: {} is at {at}, which is not", record.key)),
                }
            }
            let told = self.left_out(namespace, repo);
            let lost = stand.keys().find(|(name, _)| !told.contains(name));
            if let Some((name, _)) = lost {
                return broken(format!(
                    "I2: {name} of {namespace}/{repo} has no record, and is not among {told:?}"
                ));
            }
        }
        Ok(())
    }

    /// Refs that a repository's status tells of: what a person pushed to the name of a published revision
    /// cannot be served beside it.
    pub(super) fn left_out(&self, namespace: &str, repo: &str) -> BTreeSet<String> {
        let stored = self.durable.twin.repository(namespace, repo);
        let conditions = stored.map(|s| s.status.conditions);
        let ready = conditions.and_then(|all| all.into_iter().find(|c| c.kind == "Ready"));
        let message = ready.map(|c| c.message).unwrap_or_default();
        let problems = message.split("; ").filter_map(|problem| {
            let (_, problem) = problem.split_once("package ")?;
            let (package, problem) = problem.split_once(": ")?;
            let (origin, _) = problem.split_once(" cannot be served: another revision")?;
            let (lifecycle, workspace) = origin.split_once(' ')?;
            let place = match lifecycle {
                "Proposed" => "proposed",
                // Tagged a second time by hand.
                "tag" => return Some(format!("{package}/{workspace}")),
                _ => "drafts",
            };
            Some(format!("{place}/{package}/{workspace}"))
        });
        problems.collect()
    }

    /// A publish is whole: what is tagged is on the branch, and what was proposed for it is gone (I5).
    fn publishing(&self) -> Checked {
        let records = self.records();
        for (repo, _) in TARGETS {
            let seen = self.seen_as(repo)?;
            let head = seen.refs.get(&people::main()).copied();
            for (name, commit) in seen.refs.iter() {
                if !name.as_str().starts_with("refs/tags/") {
                    continue;
                }
                let on_branch = head.map(|head| seen.leads(*commit, head)).transpose()?;
                if on_branch != Some(true) {
                    return broken(format!("I5: {name} of {repo} is not on its branch"));
                }
            }
            let of_repo = records.iter().filter(|r| r.repository.as_str() == repo);
            for record in of_repo.filter(|r| r.lifecycle.is_published()) {
                for place in ["drafts", "proposed"] {
                    let left = format!("{place}/{}/{}", record.package, record.workspace);
                    // What a person pushed there after it was published stays.
                    let left = seen
                        .branch(&left)?
                        .map(|left| seen.leads(left, record.commit));
                    if left.transpose()? == Some(true) {
                        return broken(format!("I5: {} is published and in {place}", record.key));
                    }
                }
            }
        }
        Ok(())
    }

    /// What the engine was told by watches is what there is (I7), and a repository that is said to be
    /// read is read to its end (I8).
    fn knowledge(&self) -> Checked {
        let known = self.engine.known_revisions();
        let there = self.durable.twin.revisions();
        let same = known.len() == there.len() && known.iter().zip(&there).all(|(a, b)| **a == *b);
        if !same {
            let names = |r: &Revision| format!("{} {}", r.key.name, r.meta.resource_version);
            let known: Vec<_> = known.iter().map(|r| names(r)).collect();
            let there: Vec<_> = there.iter().map(names).collect();
            return broken(format!("I7: known are {known:?}, there are {there:?}"));
        }
        for (namespace, repo, _) in self.registrations() {
            let stored = self.durable.twin.repository(namespace, repo);
            let stored = stored.ok_or_else(|| Violation(format!("I7: {repo} is gone")))?;
            let ready = stored
                .status
                .conditions
                .iter()
                .any(|c| c.kind == "Ready" && c.status == Status::True);
            let count = there
                .iter()
                .filter(|r| r.key.namespace.as_str() == namespace && r.repository.as_str() == repo)
                .count();
            let said = stored.status.package_count;
            if ready && usize::try_from(said).ok() != Some(count) {
                return broken(format!(
                    "I8: {repo} is said to hold {said} of {count} revisions"
                ));
            }
        }
        Ok(())
    }

    /// The set has the variants that it should have.
    fn fan(&self) -> Checked {
        let all = self.durable.twin.variants();
        let have: BTreeSet<String> = all
            .iter()
            .filter(|v| !v.meta.owners.is_empty())
            .filter_map(|v| v.parsed.as_ref().ok())
            .map(|v| format!("{}/{}", v.spec.downstream.repo, v.spec.downstream.package))
            .collect();
        let want = self.wanted();
        if have == want {
            return Ok(());
        }
        broken(format!(
            "convergence: the set has {have:?} instead of {want:?}"
        ))
    }

    /// Every variant is ready, with exactly what it asks for.
    fn converged(&self) -> Checked {
        for stored in self.durable.twin.variants() {
            let key = &stored.key;
            let theirs = key.namespace.as_str() == TENANT;
            if stored.meta.deleted.is_some() {
                return broken(format!("convergence: {key} is still on its way out"));
            }
            let twice = key.name.as_str() == AGAIN;
            if twice || (theirs && self.tenants != Tenants::Shared) {
                continue;
            }
            let is = |kind: &str| stored.status.condition(kind).map(|c| c.status);
            if is("Stalled") == Some(Status::True)
                && (self.claimed_elsewhere(key)
                    || self.is_in_the_way(&stored)
                    || self.is_left_on_branch(&stored)
                    || self.is_given_up(&stored)
                    || self.keeps_what_is_gone(&stored)
                    || self.is_hidden_by_tree(&stored))
            {
                continue;
            }
            let ready = is("Ready") == Some(Status::True) || self.waits_for_answers(&stored);
            if !ready || is("Stalled") != Some(Status::False) {
                return broken(format!(
                    "convergence: {key} has {:?}",
                    stored.status.conditions
                ));
            }
            let variant = stored.parsed.as_ref();
            let variant =
                variant.map_err(|why| Violation(format!("convergence: {key}: {why:?}")))?;
            let (repo, package) = (
                &variant.spec.downstream.repo,
                &variant.spec.downstream.package,
            );
            let at = format!("{repo}/{package}");
            let Some(now) = self.present_of(&at, stored.meta.uid.as_ref()) else {
                return broken(format!("convergence: {key} has nothing in {at}"));
            };
            let now = self.held_without_tag(&stored, &at).unwrap_or(now);
            let derived = Derived::of(&self.files(&now)?, package.as_str());
            let region = variant
                .spec
                .context
                .data
                .get("region")
                .cloned()
                .unwrap_or_default();
            let hosts = if theirs { &self.theirs } else { &self.hosts };
            let host = hosts.last().cloned().unwrap_or_default();
            let want = (format!("v{}", self.version), region, host);
            if (
                derived.version.0.clone(),
                derived.region.clone(),
                derived.host.clone(),
            ) != want
            {
                return broken(format!(
                    "convergence: {} holds {:?}, {}, {} instead of {want:?}",
                    now.key, derived.version, derived.region, derived.host
                ));
            }
        }
        Ok(())
    }

    /// Whether a person marked the package for deletion and it went, with its repository: the variant waits to be told (V10).
    fn is_given_up(&self, stored: &engine::ports::StoredVariant) -> bool {
        let Ok(variant) = &stored.parsed else {
            return false;
        };
        let place = &variant.spec.downstream;
        let marked = format!("{}/{}", place.repo, place.package);
        let said = stored.status.condition("Stalled");
        said.is_some_and(|c| c.reason == "DownstreamDeleted")
            && self.durable.ledger.open().marked.contains(&marked)
    }

    /// All revisions of a downstream package.
    pub(super) fn in_place(
        &self,
        namespace: &model::Namespace,
        place: &model::Downstream,
    ) -> Vec<Revision> {
        let mut all = self.durable.twin.revisions();
        all.retain(|r| {
            r.key.namespace == *namespace
                && (&r.repository, &r.package) == (&place.repo, &place.package)
        });
        all
    }

    /// Whether a variant leaves its draft as it is, since what that was derived from is gone altogether: the repository was made anew
    /// just before the draft was pushed to it (V20). What was promised of the revision is another check's.
    fn keeps_what_is_gone(&self, stored: &engine::ports::StoredVariant) -> bool {
        let Ok(variant) = &stored.parsed else {
            return false;
        };
        let place = &variant.spec.downstream;
        let said = stored.status.condition("Stalled");
        let told = said.is_some_and(|c| {
            c.reason == "DownstreamDeleted" && c.message.contains("the draft stays as it is")
        });
        let all = self.in_place(&stored.key.namespace, place);
        let uid = stored.meta.uid.as_ref();
        let based = |r: &Revision| {
            let base = r.machine.as_ref().and_then(|m| m.base);
            !r.lifecycle.is_published()
                && base.is_some()
                && uid.is_some_and(|uid| r.meta.is_owned_by(uid))
        };
        told && all.iter().any(based) && !all.iter().any(|r| r.lifecycle.is_published())
    }

    /// Whether all that was published in a variant's place was proposed to go and went, and what a person put on the branch is in
    /// the way: none of it is the variant's, and the variant says what became of it (V15, V20).
    fn is_left_on_branch(&self, stored: &engine::ports::StoredVariant) -> bool {
        let Ok(variant) = &stored.parsed else {
            return false;
        };
        let place = &variant.spec.downstream;
        let marked = format!("{}/{}", place.repo, place.package);
        let said = stored.status.condition("Stalled");
        let told = said.is_some_and(|c| {
            c.reason == "DownstreamExistsUnowned"
                && c.message.contains("what was published of it was deleted")
        });
        let all = self.in_place(&stored.key.namespace, place);
        let uid = stored.meta.uid.as_ref();
        let own = |r: &Revision| {
            let made = r.machine.as_ref().map(|m| &m.owner.uid);
            uid.is_none_or(|uid| made == Some(uid) || r.meta.is_owned_by(uid))
        };
        let published = |r: &Revision| !r.placeholder && r.lifecycle.is_published();
        told && self.durable.ledger.open().marked.contains(&marked)
            && all.iter().any(|r| r.placeholder)
            && !all.iter().any(|r| published(r) || own(r))
    }

    /// Whether what is published in a variant's place is somebody else's altogether: what a person copied while the
    /// variant's own was gone, or what another variant left and a person kept. None of it may be of this one's making,
    /// or its being stalled is a loss of owners.
    fn is_in_the_way(&self, stored: &engine::ports::StoredVariant) -> bool {
        let Ok(variant) = &stored.parsed else {
            return false;
        };
        let place = &variant.spec.downstream;
        let mut all = self.durable.twin.revisions();
        all.retain(|r| {
            !r.placeholder
                && r.key.namespace == stored.key.namespace
                && r.lifecycle.is_published()
                && (&r.repository, &r.package) == (&place.repo, &place.package)
        });
        let uid = stored.meta.uid.as_ref();
        let own = |r: &Revision| {
            let made = r.machine.as_ref().map(|m| &m.owner.uid);
            uid.is_some_and(|uid| made == Some(uid) || r.meta.is_owned_by(uid))
        };
        !all.is_empty() && !all.iter().any(own)
    }

    /// A package's present: the machine's open draft, else the latest that is published.
    pub(super) fn present(&self, at: &str) -> Option<Revision> {
        self.present_of(at, None)
    }

    /// The same for one of several variants that write there.
    fn present_of(&self, at: &str, of: Option<&model::Uid>) -> Option<Revision> {
        let mut all = self.durable.twin.revisions();
        all.retain(|r| !r.placeholder && format!("{}/{}", r.repository, r.package) == at);
        let open = |r: &&Revision| {
            !r.lifecycle.is_published() && r.workspace.as_str().starts_with(MACHINE)
        };
        let mine = |r: &&Revision| of.is_none_or(|uid| r.meta.is_owned_by(uid));
        let draft = all.iter().find(|r| open(r) && mine(r));
        let published = all.iter().filter(|r| r.lifecycle == Lifecycle::Published);
        draft
            .or_else(|| published.max_by_key(|r| r.revision))
            .cloned()
    }

    /// Nothing is written for three looks at everything (I9).
    ///
    /// # Errors
    /// Something is.
    pub(super) async fn silent(&mut self) -> Checked {
        let before = (self.writes(), self.all_refs()?);
        let mut done = self.work();
        for round in 1..=3 {
            self.durable
                .chaos
                .say(format!("look {round} at everything"));
            self.engine.look_at_everything();
            if !self.rest().await? {
                return broken("I9: no rest");
            }
            let now = (self.writes(), self.all_refs()?);
            let did = self.work();
            let tidied = std::mem::take(&mut self.pruned);
            self.idle(round, tidied, &done, &did)?;
            done = did;
            if now.0 != before.0 {
                let more = now.0 - before.0;
                return broken(format!(
                    "I9: {more} writes in look {round} at a world at rest"
                ));
            }
            if now.1 != before.1 {
                return broken(format!("I9: refs moved in look {round} at a world at rest"));
            }
        }
        Ok(())
    }

    /// A look at a world at rest reads no object, looks into no package and derives nothing; turns and requests are as many as
    /// there are variants and registrations, whatever their history. The first one after a repository was tidied looks up what
    /// records name.
    fn idle(&self, round: u32, tidied: bool, before: &Work, after: &Work) -> Checked {
        let variants = self.durable.twin.variants().len() as u64;
        let registered = (self.registrations().len() + usize::from(self.again.is_some())) as u64;
        let counts = [
            ("reads", if tidied { u64::MAX } else { 0 }),
            ("discovered", 0),
            ("derivations", 0),
            ("variant_reconciles", 4 * variants + 4),
            ("fetches", 3 * registered),
        ];
        match beyond(before, after, &counts) {
            Some((what, count, most)) => broken(format!(
                "I13: {count} {what} in look {round} at a world at rest, at most {most} are needed"
            )),
            None => Ok(()),
        }
    }

    pub(super) fn work(&self) -> Work {
        let store = self.engine.store_stats().entries();
        self.engine
            .stats()
            .entries()
            .into_iter()
            .chain(store)
            .collect()
    }

    fn all_refs(&self) -> Result<Vec<String>, Violation> {
        let mut all = Vec::new();
        for (_, url) in TARGETS {
            let refs = self.seen(url)?.refs;
            let lines = refs.iter();
            all.extend(lines.map(|(name, commit)| format!("{url} {name} {commit}")));
        }
        Ok(all)
    }
}
