//! Worlds in which packages hold what is carried along unread. People put links into drafts and onto the branch, also where upstream has
//! a file later; upstream has a link in every other version where it has a file in the others; and tags lead to trees, which have
//! no revision and yet a number. What a person put stays (I10), and what was published as a file is no link's to take away.

use engine::ports::StoredVariant;
use model::{File, Revision, Status};
use store::RefName;

use super::Violation;
use super::dice::Dice;
use super::fixtures::{Derived, NS, TARGETS, path};
use super::links::{EXTRA, NOTES, notes};
use super::people::{self, Put};
use super::settled::{Checked, broken};
use super::world::World;

/// The packages that people put links into, with their repositories.
const PACKAGES: [(&str, &str); 2] = [("deploy", "shop"), ("edge", "cafe")];

impl World {
    /// Four worlds in 32 are such ones; none whose walk is pinned.
    pub(super) fn settle_links(&mut self, seed: u64) {
        let such = self.complete.is_some() && matches!(seed % 32, 4 | 5 | 17 | 24);
        self.links = such.then(|| Dice::new(seed ^ 0x0011_4455));
    }

    /// A link, or a tag that leads to a tree.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub(super) async fn link(&mut self) -> Checked {
        let Some(dice) = &mut self.links else {
            return Ok(());
        };
        let (now, what) = (dice.one_in(3), dice.roll(5));
        let Some((repo, package)) = dice.pick(&PACKAGES).copied().filter(|_| now) else {
            return Ok(());
        };
        let fresh = self.durable.ledger.open().fresh("link");
        match what {
            0 => self.link_in_draft(repo, package, EXTRA.0).await,
            1 => self.link_in_draft(repo, package, &fresh).await,
            2 => self.link_on_branch(repo, package, EXTRA.0).await,
            3 => self.link_on_branch(repo, package, &fresh).await,
            _ => self.tag_tree(repo, package)?,
        }
        Ok(())
    }

    async fn link_in_draft(&self, repo: &str, package: &str, name: &str) {
        let at = format!("{repo}/{package}");
        let Some(draft) = self.open(&at) else { return };
        let git_ref = draft.self_lock.as_ref().map(|l| l.git_ref.as_str());
        let branch = RefName::branch(git_ref.unwrap_or_default());
        let target = TARGETS.iter().find(|(name, _)| *name == repo);
        if let (Ok(branch), Some((_, url))) = (branch, target) {
            let (store, ledger) = (&self.durable.store, &self.durable.ledger);
            let place = (&branch, draft.commit);
            let taken = people::push_edit(store, ledger, url, place, Put::Link(name)).await;
            let what = format!("a person links {name} in {branch}: {taken}");
            self.durable.chaos.say(what);
        }
    }

    async fn link_on_branch(&self, repo: &str, package: &str, name: &str) {
        let Some((_, url)) = TARGETS.iter().find(|(name, _)| *name == repo) else {
            return;
        };
        let (store, ledger) = (&self.durable.store, &self.durable.ledger);
        let taken = people::push_to_branch(store, ledger, url, package, Put::Link(name)).await;
        let what = format!("a person links {name} of {package} on the branch: {taken:?}");
        self.durable.chaos.say(what);
        if let Some(marker) = taken {
            self.promise_on_branch(marker, repo, package);
        }
    }

    /// The next number of a package is a tag that leads to a tree.
    fn tag_tree(&self, repo: &str, package: &str) -> Checked {
        // Whoever sees no tag takes a number that was used.
        if !self.untagged.is_empty() {
            return Ok(());
        }
        let seen = self.seen_as(repo)?;
        let of_it = format!("refs/tags/{package}/v");
        let broken = seen.repo.broken_refs();
        let numbers = seen.refs.keys().chain(broken.keys());
        let numbers = numbers.filter_map(|n| n.as_str().strip_prefix(&of_it)?.parse::<u64>().ok());
        let next = numbers.max().unwrap_or(0) + 1;
        let head = seen.refs.get(&people::main());
        let head = head.and_then(|head| seen.repo.commit(*head).ok());
        let Ok(name) = RefName::tag(&format!("{package}/v{next}")) else {
            return Ok(());
        };
        let store = &self.durable.store;
        let taken = head.is_some_and(|head| store.tag_tree(&seen.url, &name, head.tree));
        let what = format!("a person tags a tree as v{next} of {package}: {taken}");
        self.durable.chaos.say(what);
        Ok(())
    }

    /// Whether a variant waits for somebody to answer a conflict. What upstream has as a file, a link and a file again meets what was
    /// kept of the first one.
    pub(super) fn waits_for_answers(&self, stored: &StoredVariant) -> bool {
        let ready = stored.status.condition("Ready");
        self.links.is_some() && ready.is_some_and(|c| c.reason == "Conflicted")
    }

    /// Whether the repository was made anew and a tag on a tree has the name of what was published: nobody knows that it is gone, and
    /// the variant says that it cannot be read, until somebody deletes that tag (X9).
    pub(super) fn is_hidden_by_tree(&self, stored: &StoredVariant) -> bool {
        let Ok(variant) = &stored.parsed else {
            return false;
        };
        let place = &variant.spec.downstream;
        let said = stored.status.condition("Stalled");
        let told = said.is_some_and(|c| c.reason == "DownstreamUnreadable");
        let Ok(seen) = self.seen_as(place.repo.as_str()) else {
            return false;
        };
        let unread = seen.repo.broken_refs();
        let is_hidden = |r: &Revision| {
            let lock = r.self_lock.as_ref().filter(|_| r.lifecycle.is_published());
            let tag = lock.and_then(|lock| RefName::tag(&lock.git_ref).ok());
            tag.is_some_and(|tag| unread.contains_key(&tag))
                && seen
                    .repo
                    .has_commit(r.commit)
                    .is_ok_and(|is_there| !is_there)
        };
        told && self
            .in_place(&stored.key.namespace, place)
            .iter()
            .any(is_hidden)
    }

    /// Every tag that leads to no commit is told of.
    ///
    /// # Errors
    /// A status that does not name one.
    pub(super) fn tells_of_trees(&self) -> Checked {
        if self.links.is_none() {
            return Ok(());
        }
        for (repo, _) in TARGETS {
            let stored = self.durable.twin.repository(NS, repo);
            let conditions = stored.map(|s| s.status.conditions).unwrap_or_default();
            let ready = conditions.iter().find(|c| c.kind == "Ready");
            for name in self.seen_as(repo)?.repo.broken_refs().into_keys() {
                if !ready.is_some_and(|c| c.message.contains(name.short())) {
                    return broken(format!(
                        "I8: {name} of {repo} leads to no commit, and it says {ready:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// What upstream has as a file is one in what follows it, or a conflict; where it has a link, the file that was published
    /// before stays.
    ///
    /// # Errors
    /// One that is not.
    pub(super) fn follows_links(&self) -> Checked {
        if self.links.is_none() {
            return Ok(());
        }
        for (repo, package) in PACKAGES {
            let variant = self.durable.twin.variant(NS, package);
            let ready = variant.is_some_and(|v| {
                let ready = v.status.condition("Ready");
                ready.is_some_and(|c| c.status == Status::True) || self.waits_for_answers(&v)
            });
            let at = format!("{repo}/{package}");
            if let (true, Some(now)) = (ready, self.present(&at)) {
                self.follows(&at, &now)?;
            }
        }
        Ok(())
    }

    fn follows(&self, at: &str, now: &Revision) -> Checked {
        let held = self.snapshot(now)?;
        let package = now.package.as_str();
        let version = Derived::of(&held.files, package).version.0;
        let version: u64 = version
            .trim_start_matches('v')
            .parse()
            .map_err(|_| Violation(format!("{at} has no version")))?;
        let told = |name: &str| now.conflicts.iter().any(|c| c.file.as_str() == name);
        let text = held.files.get(&path(NOTES)).and_then(File::as_text);
        let extra = held.files.contains_key(&path(EXTRA.0))
            || held.opaque.iter().any(|o| o.path == EXTRA.0.as_bytes());
        if version >= EXTRA.1 && !extra && !told(EXTRA.0) {
            return broken(format!(
                "convergence: {at} at v{version} has no {}",
                EXTRA.0
            ));
        }
        if told(NOTES) {
            return Ok(());
        }
        if version % 2 == 1 {
            return match text == Some(notes(version).as_str()) {
                true => Ok(()),
                false => broken(format!(
                    "convergence: {at} at v{version} has {NOTES} {text:?}"
                )),
            };
        }
        let published = self.published(at).map(|p| self.snapshot(&p)).transpose()?;
        let was = published.is_some_and(|p| p.files.contains_key(&path(NOTES)));
        match was && text.is_none() {
            true => broken(format!(
                "I10: {at} at v{version} has lost {NOTES}, which was published"
            )),
            false => Ok(()),
        }
    }
}
