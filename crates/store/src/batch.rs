//! A batch, from what is expected to what is answered: evaluate, pack, journal, refs, answers.
//!
//! The order of effects is the promise: content is durable before the journal names it, the
//! journal before a ref shows it, refs before anybody is answered. Submissions are judged in the
//! order in which they came, each on top of those before it, so a batch is never different from
//! the same submissions one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use model::{CommitId, TreeId};
use tokio::sync::oneshot;

use crate::disk::{Disk, Moved, RawEdit, View, Who};
use crate::error::{Error, Result};
use crate::fault::Point;
use crate::journal::{Edit, Entry};
use crate::lru::lock;
use crate::object::{CommitText, Oid as _, commit_id, tree_id};
use crate::room::Room;
use crate::staged::{Bundle, Packed};
use crate::stats::add;
use crate::{
    Answer, BranchEdit, Expect, IntentId, Published, RefEdit, RefName, Refusal, Scope, Submission,
};

/// A submission on its way.
pub(crate) struct Waiting {
    pub(crate) submission: Submission,
    answer: oneshot::Sender<Result<Answer>>,
    /// Its number in the journal, once it has one.
    pub(crate) intent: Option<u64>,
    /// What was pushed without an answer: it may stand.
    pub(crate) tried: Option<Accepted>,
}

impl Waiting {
    pub(crate) fn new(submission: Submission, answer: oneshot::Sender<Result<Answer>>) -> Self {
        Self {
            submission,
            answer,
            intent: None,
            tried: None,
        }
    }

    pub(crate) fn answer(self, answer: Result<Answer>) {
        // A caller that went away finds everything in the journal.
        drop(self.answer.send(answer));
    }
}

/// A submission whose expectations hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accepted {
    pub(crate) commit: Option<ObjectId>,
    pub(crate) edits: Vec<Edit>,
}

enum Judged {
    Fine(Accepted),
    No(Refusal),
}

/// One look at a batch: what is to be written and moved.
#[derive(Default)]
pub(crate) struct Round {
    objects: Vec<Arc<Packed>>,
    seen: BTreeSet<ObjectId>,
    /// Where each ref is after the submissions judged so far.
    now: BTreeMap<RefName, Edit>,
    pub(crate) accepted: Vec<Accepted>,
}

impl Round {
    /// The net edits: what goes last goes last.
    pub(crate) fn edits(&self, scope: Option<Scope>) -> Vec<RawEdit> {
        let wanted = self
            .now
            .values()
            .filter(|e| scope.is_none_or(|s| s == e.scope));
        let mut all: Vec<RawEdit> = wanted
            .filter(|e| e.old != e.new)
            .map(|e| RawEdit {
                name: e.name.clone(),
                old: e.old,
                new: e.new,
            })
            .collect();
        all.sort_by_key(|e| e.new.is_none());
        all
    }
}

/// What came of a round.
pub(crate) enum Landed {
    /// All of it stands.
    All,
    /// Nothing stands; what was expected may have changed.
    Again,
    /// Nothing stands; one of them is unwelcome, nobody says which.
    OneByOne,
    /// Nobody knows what stands.
    Unheard,
    /// Nothing stands; all are refused.
    Refused(Refusal),
}

/// How often a batch is judged anew while others keep moving the same refs.
const ROUNDS: usize = 10;

impl<D: Disk> Room<D> {
    pub(crate) fn publish(&self, mut waiting: Vec<Waiting>, who: &Who) {
        for _ in 0..ROUNDS {
            let round = match self.judge(&mut waiting) {
                Ok(round) => round,
                Err(error) => return self.fail(waiting, &error),
            };
            if waiting.is_empty() {
                return;
            }
            match self.land(&mut waiting, &round, who) {
                Ok(Landed::All) => return self.answer_all(waiting, round),
                Ok(Landed::Again) => {}
                Ok(Landed::OneByOne) => {
                    return waiting
                        .into_iter()
                        .for_each(|one| self.publish(vec![one], who));
                }
                Ok(Landed::Unheard) => return self.answer_later(waiting, round),
                Ok(Landed::Refused(refusal)) => return self.refuse(waiting, &refusal),
                Err(error) => return self.fail(waiting, &error),
            }
        }
        let error = Error::Remote {
            attempt: "write to",
            url: self.url.clone(),
            class: model::Class::Unavailable,
            text: "its refs keep moving; nothing was written".to_owned(),
        };
        self.fail(waiting, &error);
    }

    /// Judges all submissions; those that are refused or make no sense are answered and go.
    fn judge(&self, waiting: &mut Vec<Waiting>) -> Result<Round> {
        self.alive()?;
        let view = self.disk.view()?;
        let mut round = Round::default();
        let mut stay = Vec::with_capacity(waiting.len());
        for one in waiting.drain(..) {
            if let Some(answer) = self.landed_before(&*view, &one)? {
                one.answer(Ok(answer));
                continue;
            }
            match self.judge_one(&one.submission, &*view, &mut round) {
                Ok(Judged::Fine(accepted)) => {
                    round.accepted.push(accepted);
                    stay.push(one);
                }
                Ok(Judged::No(refusal)) => self.refuse(vec![one], &refusal),
                Err(error) => self.fail(vec![one], &error),
            }
        }
        *waiting = stay;
        Ok(round)
    }

    /// A push that nobody answered may have landed after all.
    fn landed_before(&self, view: &dyn View, one: &Waiting) -> Result<Option<Answer>> {
        let Some(tried) = &one.tried else {
            return Ok(None);
        };
        if !self.stands(view, &tried.edits)? {
            return Ok(None);
        }
        Ok(Some(Answer::Published(published(tried, one.intent))))
    }

    fn judge_one(
        &self,
        submission: &Submission,
        view: &dyn View,
        round: &mut Round,
    ) -> Result<Judged> {
        let mut trial = Trial {
            view,
            round,
            edits: BTreeMap::new(),
        };
        for edit in &submission.refs {
            self.check_target(edit.to, submission, trial.round)?;
            if let Some(refusal) = self.try_ref(edit, &mut trial)? {
                return Ok(Judged::No(refusal));
            }
        }
        let mut made = Vec::new();
        let mut commit = None;
        if let Some(branch) = &submission.branch {
            self.check_target(branch.second_parent, submission, trial.round)?;
            match self.try_branch(branch, &mut trial, &mut made)? {
                Ok(id) => commit = Some(id),
                Err(refusal) => return Ok(Judged::No(refusal)),
            }
        }
        let edits: Vec<Edit> = trial.edits.into_values().collect();
        for edit in &edits {
            let first = round
                .now
                .get(&edit.name)
                .map_or(edit.old, |before| before.old);
            round.now.insert(
                edit.name.clone(),
                Edit {
                    old: first,
                    ..edit.clone()
                },
            );
        }
        for written in &submission.written {
            self.collect(&written.bundle, round)?;
        }
        for object in made {
            self.collect_one(object, round)?;
        }
        Ok(Judged::Fine(Accepted { commit, edits }))
    }

    /// A ref may only lead to a commit that is here or comes along.
    fn check_target(
        &self,
        to: Option<CommitId>,
        submission: &Submission,
        round: &Round,
    ) -> Result<()> {
        let Some(to) = to.map(|to| to.oid()).transpose()? else {
            return Ok(());
        };
        let comes = |w: &crate::Written| w.bundle.holds(&to);
        if round.seen.contains(&to) || submission.written.iter().any(comes) {
            return Ok(());
        }
        match self.disk.kind(&to)? {
            Some(Kind::Commit) => Ok(()),
            _ => Err(self.missing("commit", &to)),
        }
    }

    fn try_ref(&self, edit: &RefEdit, trial: &mut Trial<'_>) -> Result<Option<Refusal>> {
        if trial.edits.contains_key(&edit.name) {
            let why = format!("{} is moved twice", edit.name);
            return Err(Error::Nonsense {
                attempt: "submit",
                why,
            });
        }
        let old = trial.get(&edit.name)?;
        let found = match old {
            Some(id) => Some(self.peel(id)?.unwrap_or(id)),
            None => None,
        };
        let found = found.as_ref().map(commit_id);
        let raw = old.as_ref().map(commit_id);
        if !fits(&edit.expect, found) && !fits(&edit.expect, raw) {
            let (name, expected) = (edit.name.clone(), words(&edit.expect));
            return Ok(Some(Refusal::Ref {
                name,
                expected,
                found,
            }));
        }
        if old.is_none()
            && edit.to.is_some()
            && let Some(other) = trial.shadow(&edit.name)?
        {
            return Ok(Some(Refusal::Shadowed {
                name: edit.name.clone(),
                other,
            }));
        }
        let new = edit.to.map(|to| to.oid()).transpose()?;
        trial.set(&edit.name, old, new, edit.scope);
        Ok(None)
    }

    /// Makes the commit on the branch as it is by now.
    fn try_branch(
        &self,
        edit: &BranchEdit,
        trial: &mut Trial<'_>,
        made: &mut Vec<Arc<Packed>>,
    ) -> Result<Result<ObjectId, Refusal>> {
        let Some(head) = trial.get(&edit.branch)? else {
            return Ok(Err(Refusal::NoBranch {
                branch: edit.branch.clone(),
            }));
        };
        let root = self.read_commit(&head)?.tree.oid()?;
        let found = self.find_subtree(&root, &edit.dir)?.as_ref().map(tree_id);
        if !fits(&edit.expect, found) {
            return Ok(Err(Refusal::Directory {
                branch: edit.branch.clone(),
                dir: edit.dir.clone(),
                expected: words(&edit.expect),
                found,
            }));
        }
        let content = edit.content.map(|tree: TreeId| tree.oid()).transpose()?;
        if let Some(content) = &content {
            self.gather(content, made)?;
        }
        let root = self.graft(Some(root), &edit.dir, content, made)?;
        let mut parents = vec![head];
        parents.extend(edit.second_parent.map(|p| p.oid()).transpose()?);
        let commit = self.commit_object(CommitText {
            tree: &root,
            parents: &parents,
            author: &edit.author,
            committer: &edit.committer,
            message: &edit.message,
        })?;
        let id = commit.id;
        made.push(commit);
        trial.set(&edit.branch, Some(head), Some(id), Scope::Remote);
        for tag in &edit.tags {
            let create = RefEdit::create(tag.clone(), commit_id(&id));
            if let Some(refusal) = self.try_ref(&create, trial)? {
                return Ok(Err(refusal));
            }
        }
        Ok(Ok(id))
    }

    fn collect(&self, bundle: &Bundle, round: &mut Round) -> Result<()> {
        for object in &bundle.objects {
            self.collect_one(Arc::clone(object), round)?;
        }
        bundle
            .needs
            .iter()
            .try_for_each(|needed| self.collect(needed, round))
    }

    fn collect_one(&self, object: Arc<Packed>, round: &mut Round) -> Result<()> {
        if round.seen.insert(object.id) && !self.has(&object.id)? {
            round.objects.push(object);
        }
        Ok(())
    }

    /// Durable, then visible.
    fn land(&self, waiting: &mut [Waiting], round: &Round, who: &Who) -> Result<Landed> {
        self.fault(Point::BeforePack)?;
        if !round.objects.is_empty() {
            self.disk.put(&round.objects)?;
            self.fault(Point::PackWritten)?;
            self.disk.put_durable()?;
            round
                .objects
                .iter()
                .for_each(|object| self.note_present(&object.id));
        }
        self.fault(Point::PackDurable)?;
        self.note_intents(waiting, round)?;
        match self.disk.upstream() {
            Some(upstream) if round.now.values().any(|e| e.scope == Scope::Remote) => {
                self.land_remote(upstream, waiting, round, who)
            }
            _ => self.land_here(&round.edits(None)),
        }
    }

    fn note_intents(&self, waiting: &mut [Waiting], round: &Round) -> Result<()> {
        let mut journal = lock(&self.journal);
        let mut entries = Vec::new();
        for (one, accepted) in waiting.iter_mut().zip(&round.accepted) {
            let Some(payload) = &one.submission.intent else {
                continue;
            };
            let id = *one.intent.get_or_insert_with(|| journal.next_id());
            let (commit, edits) = (accepted.commit, accepted.edits.clone());
            entries.push((
                id,
                Entry {
                    commit,
                    edits,
                    payload: payload.clone(),
                },
            ));
        }
        if entries.is_empty() {
            return Ok(());
        }
        let bytes = journal.add(&self.disk, entries)?;
        drop(journal);
        add(&self.counters.journal_bytes, bytes);
        self.fault(Point::JournalWritten)?;
        self.disk.journal_durable()?;
        self.fault(Point::JournalDurable)?;
        Ok(())
    }

    fn land_here(&self, edits: &[RawEdit]) -> Result<Landed> {
        match self.move_refs(edits)? {
            Moved::Stale(_) => Ok(Landed::Again),
            Moved::All => {
                self.fault(Point::RefsWritten)?;
                self.disk.refs_durable()?;
                self.fault(Point::BeforeAnswer)?;
                Ok(Landed::All)
            }
        }
    }

    pub(crate) fn move_refs(&self, edits: &[RawEdit]) -> Result<Moved> {
        if edits.is_empty() {
            return Ok(Moved::All);
        }
        add(&self.counters.ref_transactions, 1);
        add(&self.counters.refs, edits.len());
        self.disk
            .move_refs(edits, &mut || self.fault(Point::RefMoved).map(|_| ()))
    }

    fn answer_all(&self, waiting: Vec<Waiting>, round: Round) {
        for (one, accepted) in waiting.into_iter().zip(round.accepted) {
            let published = published(&accepted, one.intent);
            one.answer(Ok(Answer::Published(published)));
        }
    }

    fn refuse(&self, waiting: Vec<Waiting>, refusal: &Refusal) {
        self.forget(&waiting);
        for one in waiting {
            one.answer(Ok(Answer::Refused(refusal.clone())));
        }
    }

    fn fail(&self, waiting: Vec<Waiting>, error: &Error) {
        self.forget(&waiting);
        for one in waiting {
            one.answer(Err(error.clone()));
        }
    }

    /// Nothing of these stands, so their intents go; an intent that stays is looked at in vain.
    fn forget(&self, waiting: &[Waiting]) {
        let ids: Vec<u64> = waiting.iter().filter_map(|one| one.intent).collect();
        if self.alive().is_ok()
            && !ids.is_empty()
            && let Err(error) = lock(&self.journal).settle(&self.disk, &ids)
        {
            tracing::warn!(url = self.url, %error, "refused intents stay in the journal");
        }
    }
}

/// A submission while it is judged, on top of those before it.
struct Trial<'a> {
    view: &'a dyn View,
    round: &'a Round,
    edits: BTreeMap<RefName, Edit>,
}

impl Trial<'_> {
    fn get(&self, name: &RefName) -> Result<Option<ObjectId>> {
        match self.edits.get(name).or_else(|| self.round.now.get(name)) {
            Some(edit) => Ok(edit.new),
            None => self.view.get(name),
        }
    }

    fn set(&mut self, name: &RefName, old: Option<ObjectId>, new: Option<ObjectId>, scope: Scope) {
        self.edits.insert(
            name.clone(),
            Edit {
                name: name.clone(),
                old,
                new,
                scope,
            },
        );
    }

    /// A ref that would have to be a directory for this one, or the other way round.
    fn shadow(&self, name: &RefName) -> Result<Option<String>> {
        let below = format!("{name}/");
        for edits in [&self.edits, &self.round.now] {
            let made = |n: &str| edits.get(n).is_some_and(|e| e.new.is_some());
            if let Some(above) = name.ancestors().find(|above| made(above)) {
                return Ok(Some(above.to_owned()));
            }
            let mut inside =
                edits.range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded));
            let inside = inside.find(|(n, e)| !n.as_str().starts_with(&below) || e.new.is_some());
            if let Some((other, _)) = inside.filter(|(n, _)| n.as_str().starts_with(&below)) {
                return Ok(Some(other.to_string()));
            }
        }
        self.view.shadow(name)
    }
}

fn fits<T: PartialEq>(expect: &Expect<T>, found: Option<T>) -> bool {
    match expect {
        Expect::Absent => found.is_none(),
        Expect::Is(wanted) => found.as_ref() == Some(wanted),
        Expect::Any => true,
    }
}

fn words<T: std::fmt::Display>(expect: &Expect<T>) -> String {
    match expect {
        Expect::Absent => "absent".to_owned(),
        Expect::Is(wanted) => wanted.to_string(),
        Expect::Any => "anything".to_owned(),
    }
}

pub(crate) fn published(accepted: &Accepted, intent: Option<u64>) -> Published {
    let refs = accepted
        .edits
        .iter()
        .map(|e| (e.name.clone(), e.new.as_ref().map(commit_id)));
    Published {
        intent: intent.map(IntentId),
        commit: accepted.commit.as_ref().map(commit_id),
        refs: refs.collect(),
    }
}
