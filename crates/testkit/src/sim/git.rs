//! The git twin as an engine under the simulation sees it: somebody else pushes between its look
//! and its write. Mutants that concern git live here, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use model::{CommitId, TreeId};
use store::{
    Answer, Commit, CommitSpec, Dir, Expect, Handle, Intent, IntentId, MemoryStore, RefEdit,
    RefName, Refs, RemoteSpec, Repo, Result, Snapshot, Stats, Store, Submission, Written,
};

use super::chaos::Chaos;
use super::faults::Fault;
use super::gate::{Flight, Gate};
use super::ledger::Ledger;
use super::mutant::{Mutant, Unsafe, believed, lose_what_goes};
use super::people;

/// The store of one process.
#[derive(Clone)]
pub(super) struct FaultyStore {
    pub(super) store: Arc<MemoryStore>,
    pub(super) chaos: Arc<Chaos>,
    pub(super) ledger: Ledger,
    pub(super) mutant: Option<Mutant>,
    pub(super) loose: Unsafe,
    /// Where several processes live at once.
    pub(super) gate: Option<Arc<Gate>>,
}

#[async_trait]
impl Store for FaultyStore {
    async fn open(&self, spec: RemoteSpec) -> Result<Arc<dyn Repo>> {
        self.alive("git: open")?;
        let repo = self.store.open(spec).await?;
        Ok(Arc::new(FaultyRepo {
            repo,
            faulty: self.clone(),
        }))
    }

    async fn here(&self, url: &str) -> Result<Option<Arc<dyn Repo>>> {
        let faulty = |repo| {
            Arc::new(FaultyRepo {
                repo,
                faulty: self.clone(),
            }) as Arc<dyn Repo>
        };
        Ok(self.store.here(url).await?.map(faulty))
    }
}

impl FaultyStore {
    /// Dies here if a script says so: the store's own process is the same one.
    fn alive(&self, effect: &str) -> Result<()> {
        match self.chaos.dies(effect) {
            true => Err(stopped(effect)),
            false => Ok(()),
        }
    }

    /// A push starts, and takes its time where there are others beside this process.
    async fn start(&self) -> Result<Option<Flight>> {
        let Some(gate) = &self.gate else {
            return Ok(None);
        };
        let flight = gate.start("push").await;
        flight.map(Some).ok_or_else(|| stopped("push"))
    }

    /// Whether there is still somebody to hear an answer.
    async fn hears(&self) -> Result<()> {
        match &self.gate {
            Some(gate) if !gate.hears().await => Err(stopped("push")),
            _ => Ok(()),
        }
    }
}

fn stopped(effect: &str) -> store::Error {
    store::Error::Stopped {
        url: effect.to_owned(),
    }
}

struct FaultyRepo {
    repo: Arc<dyn Repo>,
    faulty: FaultyStore,
}

impl FaultyRepo {
    /// Somebody pushes just now: to the branch, or to the very draft that is to be written.
    async fn beside(&self, submission: &Submission) {
        let faulty = &self.faulty;
        let url = self.repo.url();
        let branch = faulty
            .chaos
            .strike("git: submit, branch moves", &[Fault::Conflict]);
        if branch.is_some() {
            people::push_noise(&faulty.store, &faulty.ledger, url).await;
        }
        let Some((name, at)) = submission.refs.iter().find_map(drafted) else {
            return;
        };
        let draft = faulty
            .chaos
            .strike("git: submit, draft moves", &[Fault::Conflict]);
        if draft.is_some() {
            let pushed = people::push_edit(
                &faulty.store,
                &faulty.ledger,
                url,
                (&name, at),
                people::Put::Annotation,
            )
            .await;
            let what = if pushed {
                "a person pushed to"
            } else {
                "nobody pushed to"
            };
            faulty.chaos.say(format!("{what} {name}"));
        }
    }

    /// What stands at the truth now where the submission is to write.
    fn before(&self, submission: &Submission) -> BTreeMap<RefName, Option<CommitId>> {
        let outside = self.faulty.store.outside(self.repo.url());
        let refs = outside.and_then(|o| o.refs()).unwrap_or_default();
        let mut names: Vec<RefName> = submission.refs.iter().map(|r| r.name.clone()).collect();
        if let Some(branch) = &submission.branch {
            names.push(branch.branch.clone());
            names.extend(branch.tags.iter().cloned());
        }
        let at = |name: RefName| (name.clone(), refs.get(&name).copied());
        names.into_iter().map(at).collect()
    }
}

impl FaultyRepo {
    /// Submits, in one of the wrong ways if this is a mutant of them.
    async fn send(&self, submission: Submission, what: &str) -> Result<Answer> {
        let FaultyStore {
            store,
            chaos,
            mutant,
            ..
        } = &self.faulty;
        let url = self.repo.url();
        let again = url.starts_with("https:") && chaos.take_lost();
        if again
            && *mutant == Some(Mutant::TakenForSent)
            && lose_what_goes(store, url, &submission).await
        {
            chaos.say(format!("git took of {what} what goes"));
        }
        let believed = believed(&submission);
        let plain = submission.branch.is_none();
        let answer = self.repo.submit(submission).await?;
        let unheard = matches!(answer, Answer::Refused(_) | Answer::Pending(_));
        if *mutant == Some(Mutant::Believes) && plain && unheard && chaos.is_lost() {
            return Ok(believed);
        }
        Ok(answer)
    }
}

/// A draft's ref that is to be moved or removed, with where it is expected.
fn drafted(edit: &RefEdit) -> Option<(RefName, CommitId)> {
    let ours = ["refs/heads/drafts/", "refs/heads/proposed/"];
    let Expect::Is(at) = edit.expect else {
        return None;
    };
    let is = ours.iter().any(|p| edit.name.as_str().starts_with(p));
    is.then(|| (edit.name.clone(), at))
}

/// A submission in a few words.
fn words(submission: &Submission) -> String {
    let edit = |edit: &RefEdit| match edit.to {
        Some(to) => format!("{} at {:.7}", edit.name.short(), to.to_string()),
        None => format!("no {}", edit.name.short()),
    };
    let mut words: Vec<String> = submission.refs.iter().map(edit).collect();
    if let Some(branch) = &submission.branch {
        let tags: Vec<&str> = branch.tags.iter().map(RefName::short).collect();
        words.push(format!("{} with {}", branch.branch.short(), tags.join(" ")));
    }
    words.join(", ")
}

fn without_lease(submission: &mut Submission) {
    for edit in &mut submission.refs {
        edit.expect = Expect::Any;
    }
    if let Some(branch) = &mut submission.branch {
        branch.expect = Expect::Any;
    }
}

#[async_trait]
impl Repo for FaultyRepo {
    fn url(&self) -> &str {
        self.repo.url()
    }

    fn writable(&self) -> bool {
        self.repo.writable()
    }

    fn refs(&self) -> Result<Arc<Refs>> {
        self.repo.refs()
    }

    fn find_ref(&self, name: &RefName) -> Result<Option<CommitId>> {
        self.repo.find_ref(name)
    }

    fn refs_of(&self, dirs: &[RefName], names: &[RefName]) -> Result<Refs> {
        self.repo.refs_of(dirs, names)
    }

    async fn fetch(&self) -> Result<Arc<Refs>> {
        self.faulty.alive("git: fetch")?;
        self.repo.fetch().await
    }

    fn commit(&self, id: CommitId) -> Result<Arc<Commit>> {
        self.repo.commit(id)
    }

    fn subtree(&self, root: TreeId, dir: &Dir) -> Result<Option<TreeId>> {
        self.repo.subtree(root, dir)
    }

    fn snapshot(&self, tree: TreeId) -> Result<Arc<Snapshot>> {
        self.repo.snapshot(tree)
    }

    fn snapshot_within(&self, tree: TreeId) -> Result<(Arc<Snapshot>, Vec<store::Beyond>)> {
        self.repo.snapshot_within(tree)
    }

    fn limits(&self) -> store::Limits {
        self.repo.limits()
    }

    fn broken_refs(&self) -> BTreeMap<RefName, String> {
        self.repo.broken_refs()
    }

    fn packages(&self, root: TreeId, under: &Dir) -> Result<store::Packages> {
        self.repo.packages(root, under)
    }

    fn package(&self, root: TreeId, under: &Dir, at: &Dir) -> Result<Option<TreeId>> {
        self.repo.package(root, under, at)
    }

    fn first_parents(&self, from: CommitId, limit: usize) -> Result<Vec<CommitId>> {
        self.repo.first_parents(from, limit)
    }

    fn last_change(&self, head: CommitId, dir: &Dir) -> Result<Option<CommitId>> {
        self.repo.last_change(head, dir)
    }

    fn is_ancestor(&self, ancestor: CommitId, of: CommitId) -> Result<bool> {
        self.repo.is_ancestor(ancestor, of)
    }

    fn has_commit(&self, id: CommitId) -> Result<bool> {
        self.repo.has_commit(id)
    }

    fn tidied(&self) -> Result<u64> {
        self.repo.tidied()
    }

    fn broken(
        &self,
        of: &BTreeSet<(CommitId, TreeId)>,
    ) -> Result<BTreeMap<(CommitId, TreeId), String>> {
        self.repo.broken(of)
    }

    fn announce(&self) -> store::Announced {
        self.repo.announce()
    }

    fn write(&self, spec: CommitSpec<'_>) -> Result<Written> {
        self.repo.write(spec)
    }

    async fn submit(&self, mut submission: Submission) -> Result<Answer> {
        self.faulty.chaos.writes();
        self.faulty.alive("git: submit")?;
        let _flight = self.faulty.start().await?;
        self.beside(&submission).await;
        if self.faulty.mutant == Some(Mutant::NoLease) {
            without_lease(&mut submission);
        }
        let before = self.before(&submission);
        let what = words(&submission);
        let answer = self.send(submission, &what).await;
        self.faulty.chaos.say(match &answer {
            Ok(Answer::Published(_)) => format!("git took {what}"),
            Ok(Answer::Pending(_)) => format!("git has not answered {what}"),
            Ok(Answer::Refused(why)) => format!("git refused {what}: {why}"),
            Err(error) => format!("git failed at {what}: {error}"),
        });
        let answer = answer?;
        self.faulty.hears().await?;
        self.faulty.alive("git: submit, done")?;
        if self.faulty.mutant == Some(Mutant::NoDurability)
            && matches!(answer, Answer::Published(_))
        {
            let flush = self.faulty.chaos.roll(4) == 0;
            self.faulty.loose.refs(self.repo.url(), before, flush);
        }
        Ok(answer)
    }

    async fn outcome(&self, handle: Handle) -> Result<Answer> {
        self.faulty.alive("git: ask for an outcome")?;
        self.repo.outcome(handle).await
    }

    fn unfinished(&self) -> Result<Vec<Intent>> {
        self.faulty.alive("git: read the journal")?;
        self.repo.unfinished()
    }

    fn settle(&self, ids: &[IntentId]) -> Result<()> {
        self.faulty.alive("git: settle")?;
        self.repo.settle(ids)?;
        self.faulty.alive("git: settle, done")
    }

    fn stats(&self) -> Stats {
        self.repo.stats()
    }

    fn held(&self) -> Result<Vec<(&'static str, usize)>> {
        self.repo.held()
    }
}
