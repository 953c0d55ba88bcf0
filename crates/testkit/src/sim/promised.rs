//! What was promised stands once everything has come to rest: edits, labels, approvals, revisions that people made.

use model::{Lifecycle, Revision};

use super::Violation;
use super::check::PERSONS;
use super::ledger::{Edit, Label};
use super::reading::{carries, names};
use super::settled::{Checked, broken};
use super::world::World;

impl World {
    /// What was answered stands (I4, I6, I10, I12).
    pub(super) fn promises(&self) -> Checked {
        let promises = self.durable.ledger.open();
        for edit in &promises.edits {
            self.edited(edit)?;
        }
        for key in &promises.made {
            if self.record(key).is_none() {
                return broken(format!("I6: {key} was created, and is not there"));
            }
        }
        for Label { record, uid, label } in &promises.labels {
            let now = self.record(record);
            let same = now.filter(|now| now.meta.uid == *uid);
            if same.is_some_and(|now| !now.meta.labels.contains_key(label)) {
                return broken(format!("I12: {record} has lost its label {label}"));
            }
        }
        for (key, published) in &promises.published {
            let Some(record) = self.record(key) else {
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
        let Some(record) = self.record(revision) else {
            return broken(format!("I10: {revision} is gone, and {marker} with it"));
        };
        if self.waits(&record, marker)? {
            return Ok(());
        }
        if !self.keeps(&record, marker)? {
            let history = self.history(&record, marker)?;
            return broken(format!("I10: {revision} has lost {marker}\n{history}"));
        }
        if !record.lifecycle.is_published() || self.replaced(&record, marker)? {
            return Ok(());
        }
        match self.present(package) {
            Some(now) if !self.keeps(&now, marker)? => broken(format!(
                "I10: {} has lost {marker}, published in {revision}",
                now.key
            )),
            _ => Ok(()),
        }
    }

    /// Whether an edit stands in a revision, or a conflict names it.
    fn keeps(&self, revision: &Revision, marker: &str) -> Result<bool, Violation> {
        let held = self.snapshot(revision)?;
        Ok(carries(&held, marker) || revision.conflicts.iter().any(|c| names(c, marker)))
    }

    /// Whether an edit stands in a ref beside the published revision, and the repository's status tells of it.
    fn waits(&self, published: &Revision, marker: &str) -> Result<bool, Violation> {
        let repo = published.repository.as_str();
        let told = self.left_out(published.key.namespace.as_str(), repo);
        let seen = self.seen_as(repo)?;
        for place in ["drafts", "proposed"] {
            let at = format!("{place}/{}/{}", published.package, published.workspace);
            let tip = seen.branch(&at)?.filter(|_| told.contains(&at));
            if let Some(tip) = tip
                && carries(&seen.snapshot(tip, published.package.as_str())?, marker)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a person published a later revision without an edit: a copy of one that came before it.
    fn replaced(&self, published: &Revision, marker: &str) -> Result<bool, Violation> {
        let later = |r: &&Revision| {
            r.repository == published.repository
                && r.package == published.package
                && r.lifecycle == Lifecycle::Published
                && r.revision > published.revision
                && r.workspace.as_str().starts_with(PERSONS)
        };
        for record in self.records().iter().filter(later) {
            if !self.keeps(record, marker)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The commits of a revision, the newest first, and which of them carry an edit.
    fn history(&self, revision: &Revision, marker: &str) -> Result<String, Violation> {
        let seen = self.seen_as(revision.repository.as_str())?;
        let mut lines = Vec::new();
        let mut next = Some(revision.commit);
        while let Some(id) = next {
            let commit = seen.repo.commit(id);
            let commit = commit.map_err(|e| Violation(format!("I6: {id}: {e}")))?;
            // Before its first commit there is no such package.
            let held = seen.snapshot(id, revision.package.as_str());
            let with = held.is_ok_and(|held| carries(&held, marker));
            let mark = if with { "with" } else { "without" };
            let subject = commit.message.lines().next().unwrap_or_default();
            lines.push(format!("  {id} {mark}: {}: {subject}", commit.author.name));
            // A merge's second parent is the draft that was approved.
            next = commit.parents.last().copied().filter(|_| lines.len() < 20);
        }
        Ok(lines.join("\n"))
    }
}
