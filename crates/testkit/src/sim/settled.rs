//! What must hold once faults have stopped and everything has come to rest: what was asked for is
//! there, what was promised is there, refs and records agree, and then nothing is written any more.

use std::collections::{BTreeMap, BTreeSet};

use model::{CommitId, Lifecycle, Revision, Status};
use store::Repo;

use super::Violation;
use super::check::{MACHINE, PERSONS};
use super::fixtures::{BLUEPRINTS, Cooked, EDITED, NS, TARGETS, is_marked, path};
use super::ledger::{Edit, Label};
use super::people;
use super::world::World;

type Checked = Result<(), Violation>;

fn broken(what: impl Into<String>) -> Checked {
    Err(Violation(what.into()))
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
        self.fan()?;
        self.converged()?;
        self.promises()
    }

    fn records(&self) -> Vec<Revision> {
        let mut all = self.durable.twin.revisions();
        all.retain(|r| !r.placeholder);
        all
    }

    /// Every ref has its record, every record its ref, at the same commit (I2).
    fn agreement(&self) -> Checked {
        let records = self.records();
        for (repo, url) in TARGETS.into_iter().chain([("blueprints", BLUEPRINTS)]) {
            let Ok(outside) = self.durable.store.outside(url) else {
                continue;
            };
            let refs = outside.refs().map_err(|e| Violation(e.to_string()))?;
            let mut stand: BTreeMap<(String, bool), CommitId> = BTreeMap::new();
            for (name, commit) in refs.iter() {
                let short = name.short().to_owned();
                let tag = name.as_str().starts_with("refs/tags/");
                if tag || short.starts_with("drafts/") || short.starts_with("proposed/") {
                    stand.insert((short, tag), *commit);
                }
            }
            for record in records.iter().filter(|r| r.repository.as_str() == repo) {
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
                    None => return broken(format!("I2: {} is at {at}, which is not", record.key)),
                }
            }
            let told = self.left_out(repo);
            let lost = stand.keys().find(|(name, _)| !told.contains(name));
            if let Some((name, _)) = lost {
                return broken(format!("I2: {name} of {repo} has no record"));
            }
        }
        Ok(())
    }

    /// Refs that a repository's status tells of: what a person pushed to the name of a published revision
    /// cannot be served beside it.
    fn left_out(&self, repo: &str) -> BTreeSet<String> {
        let stored = self.durable.twin.repository(NS, repo);
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
                _ => "drafts",
            };
            Some(format!("{place}/{package}/{workspace}"))
        });
        problems.collect()
    }

    /// A publish is whole: what is tagged is on the branch, and what was proposed for it is gone (I5).
    fn publishing(&self) -> Checked {
        let records = self.records();
        for (repo, url) in TARGETS {
            let Ok(outside) = self.durable.store.outside(url) else {
                continue;
            };
            let refs = outside.refs().map_err(|e| Violation(e.to_string()))?;
            let head = refs.get(&people::main()).copied();
            for (name, commit) in refs.iter() {
                let tag = name.as_str().starts_with("refs/tags/");
                let on_branch = |head| outside.is_ancestor(*commit, head).unwrap_or(false);
                if tag && !head.is_some_and(on_branch) {
                    return broken(format!("I5: {name} of {repo} is not on its branch"));
                }
            }
            let of_repo = records.iter().filter(|r| r.repository.as_str() == repo);
            for record in of_repo.filter(|r| r.lifecycle.is_published()) {
                for place in ["drafts", "proposed"] {
                    let left = format!("{place}/{}/{}", record.package, record.workspace);
                    let left = store::RefName::branch(&left).ok();
                    let left = left.and_then(|left| refs.get(&left));
                    // What a person pushed there after it was published stays.
                    let was = |left: &&CommitId| {
                        outside.is_ancestor(**left, record.commit).unwrap_or(false)
                    };
                    if left.filter(was).is_some() {
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
        for (repo, _) in TARGETS.into_iter().chain([("blueprints", BLUEPRINTS)]) {
            let Some(stored) = self.durable.twin.repository(NS, repo) else {
                continue;
            };
            let ready = stored
                .status
                .conditions
                .iter()
                .any(|c| c.kind == "Ready" && c.status == Status::True);
            let count = there
                .iter()
                .filter(|r| r.repository.as_str() == repo)
                .count();
            let said = usize::try_from(stored.status.package_count).unwrap_or(0);
            if ready && said != count {
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
            if stored.meta.deleted.is_some() {
                return broken(format!("convergence: {key} is still on its way out"));
            }
            let is = |kind: &str| stored.status.condition(kind).map(|c| c.status);
            if (is("Ready"), is("Stalled")) != (Some(Status::True), Some(Status::False)) {
                return broken(format!(
                    "convergence: {key} has {:?}",
                    stored.status.conditions
                ));
            }
            let Ok(variant) = &stored.parsed else {
                continue;
            };
            let (repo, package) = (
                &variant.spec.downstream.repo,
                &variant.spec.downstream.package,
            );
            let at = format!("{repo}/{package}");
            let Some(now) = self.present(&at) else {
                return broken(format!("convergence: {key} has nothing in {at}"));
            };
            let Some(files) = self.files(&now) else {
                return broken(format!("I6: {} cannot be read", now.key));
            };
            let cooked = Cooked::of(&files, package.as_str());
            let region = variant
                .spec
                .context
                .data
                .get("region")
                .cloned()
                .unwrap_or_default();
            let host = self.hosts.last().cloned().unwrap_or_default();
            let want = (format!("v{}", self.version), region, host);
            if (
                cooked.version.0.clone(),
                cooked.region.clone(),
                cooked.host.clone(),
            ) != want
            {
                return broken(format!(
                    "convergence: {} holds {:?}, {}, {} instead of {want:?}",
                    now.key, cooked.version, cooked.region, cooked.host
                ));
            }
        }
        Ok(())
    }

    /// A package's present: the machine's open draft, else the latest that is published.
    fn present(&self, at: &str) -> Option<Revision> {
        let mut all = self.records();
        all.retain(|r| format!("{}/{}", r.repository, r.package) == at);
        let draft = all
            .iter()
            .find(|r| !r.lifecycle.is_published() && r.workspace.as_str().starts_with(MACHINE));
        let published = all.iter().filter(|r| r.lifecycle == Lifecycle::Published);
        draft
            .or_else(|| published.max_by_key(|r| r.revision))
            .cloned()
    }

    fn files(&self, revision: &Revision) -> Option<model::Files> {
        let (_, url) = TARGETS
            .iter()
            .find(|(r, _)| *r == revision.repository.as_str())?;
        let outside = self.durable.store.outside(url).ok()?;
        people::files(&*outside, revision.commit, revision.package.as_str())
    }

    /// Whether an edit stands in a revision, or a conflict names it.
    fn keeps(&self, revision: &Revision, marker: &str) -> bool {
        let files = self.files(revision).unwrap_or_default();
        let file = files.get(&path(EDITED));
        let text = file.and_then(model::File::as_text).unwrap_or_default();
        is_marked(text, marker)
            || revision
                .conflicts
                .iter()
                .any(|c| c.file == path(EDITED) && (c.path.is_empty() || c.path.contains(marker)))
    }

    /// What was answered stands (I4, I6, I10, I12).
    fn promises(&self) -> Checked {
        let promises = self.durable.ledger.open();
        for edit in &promises.edits {
            self.edited(edit)?;
        }
        for key in &promises.made {
            if self.durable.twin.revision(NS, key.name.as_str()).is_none() {
                return broken(format!("I6: {key} was created, and is not there"));
            }
        }
        for Label { record, uid, label } in &promises.labels {
            let now = self.durable.twin.revision(NS, record.name.as_str());
            let same = now.filter(|now| now.meta.uid == *uid);
            if same.is_some_and(|now| !now.meta.labels.contains_key(label)) {
                return broken(format!("I12: {record} has lost its label {label}"));
            }
        }
        for (key, published) in &promises.published {
            let Some(record) = self.durable.twin.revision(NS, key.name.as_str()) else {
                return broken(format!("I6: {key} was published, and is not there"));
            };
            let stands = record.lifecycle.is_published()
                && record.revision == published.number
                && record.tree == published.tree;
            if !stands {
                return broken(format!(
                    "I4: {key} was published as {published:?}, and is {} {} {}",
                    record.lifecycle, record.revision, record.tree
                ));
            }
        }
        Ok(())
    }

    fn edited(&self, edit: &Edit) -> Checked {
        let Edit {
            marker,
            package,
            revision,
        } = edit;
        let Some(record) = self.durable.twin.revision(NS, revision.name.as_str()) else {
            return broken(format!("I10: {revision} is gone, and {marker} with it"));
        };
        if self.waits(&record, marker) {
            return Ok(());
        }
        if !self.keeps(&record, marker) {
            let history = self.history(&record, marker);
            return broken(format!("I10: {revision} has lost {marker}\n{history}"));
        }
        if !record.lifecycle.is_published() || self.replaced(&record, marker) {
            return Ok(());
        }
        match self.present(package) {
            Some(now) if !self.keeps(&now, marker) => broken(format!(
                "I10: {} has lost {marker}, published in {revision}",
                now.key
            )),
            _ => Ok(()),
        }
    }

    /// Whether an edit stands in a ref beside the published revision, and the repository's status tells of it.
    fn waits(&self, published: &Revision, marker: &str) -> bool {
        let repo = published.repository.as_str();
        let told = self.left_out(repo);
        let places = ["drafts", "proposed"]
            .map(|place| format!("{place}/{}/{}", published.package, published.workspace));
        places.iter().filter(|at| told.contains(*at)).any(|at| {
            let target = TARGETS.iter().find(|(name, _)| *name == repo);
            let outside = target.and_then(|(_, url)| self.durable.store.outside(url).ok());
            let name = store::RefName::branch(at).ok();
            let tip = outside.as_ref().zip(name).and_then(|(outside, name)| {
                let commit = outside.refs().ok()?.get(&name).copied()?;
                people::files(&**outside, commit, published.package.as_str())
            });
            let file = tip.and_then(|files| files.get(&path(EDITED)).cloned());
            file.is_some_and(|file| is_marked(file.as_text().unwrap_or_default(), marker))
        })
    }

    /// Whether a person published a later revision without an edit: a copy of one that came before it.
    fn replaced(&self, published: &Revision, marker: &str) -> bool {
        let later = |r: &&Revision| {
            r.repository == published.repository
                && r.package == published.package
                && r.lifecycle == Lifecycle::Published
                && r.revision > published.revision
                && r.workspace.as_str().starts_with(PERSONS)
        };
        let all = self.records();
        all.iter().filter(later).any(|r| !self.keeps(r, marker))
    }

    /// The commits of a revision, the newest first, and which of them carry an edit.
    fn history(&self, revision: &Revision, marker: &str) -> String {
        let url = TARGETS
            .iter()
            .find(|(r, _)| *r == revision.repository.as_str());
        let outside = url.and_then(|(_, url)| self.durable.store.outside(url).ok());
        let Some(outside) = outside else {
            return String::new();
        };
        let mut lines = Vec::new();
        let mut next = Some(revision.commit);
        while let Some(commit) = next.and_then(|id| outside.commit(id).ok()) {
            let files = people::files(&*outside, commit.id, revision.package.as_str());
            let files = files.unwrap_or_default();
            let text = files.get(&path(EDITED)).and_then(model::File::as_text);
            let mark = if is_marked(text.unwrap_or_default(), marker) {
                "with"
            } else {
                "without"
            };
            let subject = commit.message.lines().next().unwrap_or_default();
            lines.push(format!(
                "  {} {mark}: {}: {subject}",
                commit.id, commit.author.name
            ));
            // A merge's second parent is the draft that was approved.
            next = commit.parents.last().copied().filter(|_| lines.len() < 20);
        }
        lines.join("\n")
    }

    /// Nothing is written for three looks at everything (I9).
    ///
    /// # Errors
    /// Something is.
    pub(super) async fn silent(&mut self) -> Checked {
        let before = (self.writes(), self.all_refs());
        for round in 1..=3 {
            self.engine.look_at_everything();
            if !self.rest().await? {
                return broken("I9: no rest");
            }
            let now = (self.writes(), self.all_refs());
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

    fn all_refs(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (_, url) in TARGETS {
            let refs = self
                .durable
                .store
                .outside(url)
                .and_then(|o: std::sync::Arc<dyn Repo>| o.refs());
            let refs = refs.unwrap_or_default();
            all.extend(
                refs.iter()
                    .map(|(name, commit)| format!("{url} {name} {commit}")),
            );
        }
        all
    }
}
