//! Worlds in which somebody takes every tag of a package away in git, and puts them back at some later time. What they published
//! still stands on the branch: nothing is made of upstream alone meanwhile, and no edit is lost (I10, V20).

use model::{CommitId, Revision};
use store::{Answer, Expect, RefEdit, RefName, Scope, Submission};

use super::dice::Dice;
use super::fixtures::TARGETS;
use super::reading::Seen;
use super::settled::Checked;
use super::world::World;
use crate::twin::key;

/// Whose tags they are.
const PACKAGE: &str = "shop";

impl World {
    /// Two worlds in sixteen are such ones, apart from those whose walk is pinned.
    pub(super) fn settle_tags(&mut self, seed: u64) {
        let such = self.complete.is_some() && matches!(seed % 16, 2 | 15);
        self.untags = such.then(|| Dice::new(seed ^ 0x07a6_9055));
    }

    /// The tags go, or come back.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub(super) async fn retag(&mut self) -> Checked {
        if !self.untags.as_mut().is_some_and(|dice| dice.one_in(4)) {
            return Ok(());
        }
        match self.untagged.is_empty() {
            true => self.untag().await,
            false => self.tag_again().await,
        }
    }

    async fn untag(&mut self) -> Checked {
        let seen = self.seen(TARGETS[0].1)?;
        if self.is_amid(&seen) {
            return Ok(());
        }
        let of_it = format!("refs/tags/{PACKAGE}/");
        let tags = seen.refs.iter();
        let tags: Vec<_> = tags
            .filter(|(name, _)| name.as_str().starts_with(&of_it))
            .map(|(name, at)| (name.clone(), *at))
            .collect();
        let edits = tags.iter().map(|(name, at)| RefEdit {
            expect: Expect::Is(*at),
            ..edit(name)
        });
        // A number that no look has seen yet is free once its tag is gone: nobody could put it back for sure.
        let recorded = self.records();
        let is_seen = |(name, _): &(RefName, CommitId)| {
            let at = |r: &Revision| r.self_lock.as_ref().map(|lock| lock.git_ref.clone());
            let mut published = recorded.iter().filter(|r| r.lifecycle.is_published());
            published.any(|r| at(r).as_deref() == Some(name.short()))
        };
        if !tags.is_empty() && tags.iter().all(is_seen) && push(&seen, edits.collect()).await {
            let count = tags.len();
            let what = format!("a person takes {count} tags of {PACKAGE} away");
            self.durable.chaos.say(what);
            self.untagged = tags;
        }
        Ok(())
    }

    /// Puts back what was taken away, as it was.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub(super) async fn tag_again(&mut self) -> Checked {
        if self.untagged.is_empty() {
            return Ok(());
        }
        let seen = self.seen(TARGETS[0].1)?;
        let gone = self.untagged.iter();
        let gone = gone.filter(|(name, _)| !seen.refs.contains_key(name));
        let edits: Vec<RefEdit> = gone
            .map(|(name, at)| RefEdit {
                to: Some(*at),
                ..edit(name)
            })
            .collect();
        if edits.is_empty() || push(&seen, edits).await {
            let what = format!("a person puts the tags of {PACKAGE} back");
            self.durable.chaos.say(what);
            self.untagged.clear();
        }
        Ok(())
    }

    /// Whether a deletion is proposed, which this would approve, or something stands beside what is published under its name,
    /// which would be served in its place.
    fn is_amid(&self, seen: &Seen) -> bool {
        let mut all = seen.refs.keys();
        all.any(|name| {
            let short = name.short();
            let deletion = format!("deletionProposed/{PACKAGE}/");
            let open = ["drafts", "proposed"].iter().find_map(|place| {
                let rest = short.strip_prefix(place)?.strip_prefix('/')?;
                rest.strip_prefix(PACKAGE)?.strip_prefix('/')
            });
            let record = open.and_then(|workspace| {
                let name = format!("{}.{PACKAGE}.{workspace}", TARGETS[0].0);
                self.record(&key(super::fixtures::NS, &name))
            });
            short.starts_with(&deletion) || record.is_some_and(|r| r.lifecycle.is_published())
        })
    }
}

fn edit(name: &RefName) -> RefEdit {
    RefEdit {
        name: name.clone(),
        expect: Expect::Absent,
        to: None,
        scope: Scope::Remote,
    }
}

async fn push(seen: &Seen, refs: Vec<RefEdit>) -> bool {
    let submission = Submission {
        refs,
        ..Submission::default()
    };
    let answer = seen.repo.submit(submission).await;
    matches!(answer, Ok(Answer::Published(_)))
}
