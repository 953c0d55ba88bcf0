//! The memory twin under a seeded storm: submissions, outside pushes, crashes at every point, lost
//! answers, lost journals. What was answered stands; nothing stands in part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use model::CommitId;
use store::{
    Answer, Error, FaultVerdict, Faults, MemoryOptions, MemoryStore, Point, RefEdit, RefName, Refs,
    RemoteSpec, Repo, Store, Submission,
};

use crate::local::{name, one, who};

/// A small generator of its own: the same seed is the same storm, everywhere and forever.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

#[derive(Debug)]
struct Storm(Mutex<Dice>);

impl Faults for Storm {
    fn at(&self, _url: &str, point: Point) -> FaultVerdict {
        let roll = self.0.lock().unwrap().roll(60);
        match (roll, point) {
            (0, _) => FaultVerdict::Die,
            (1..=4, Point::BeforePush | Point::BeforeRemoval | Point::BeforeFetch) => {
                FaultVerdict::Unreachable
            }
            (5..=9, Point::PushTaken) => FaultVerdict::Lose,
            _ => FaultVerdict::Go,
        }
    }
}

fn proposal(dir: &str) -> RefName {
    RefName::branch(&format!("proposed/{dir}/ws")).unwrap()
}

struct Sim {
    store: Arc<MemoryStore>,
    url: &'static str,
    dice: Dice,
    /// What was answered, by package.
    answered: BTreeMap<String, CommitId>,
    /// Packages that were proposed.
    proposed: BTreeSet<String>,
    crashes: usize,
    pending: usize,
    /// Whether journals get lost.
    forgetful: bool,
}

impl Sim {
    async fn open(&mut self) -> Arc<dyn Repo> {
        loop {
            let mut spec = RemoteSpec::new(self.url);
            spec.branch = Some("main".to_owned());
            spec.create_branch = Some(who());
            match self.store.open(spec).await {
                Ok(repo) => return repo,
                Err(_) => self.crash(),
            }
        }
    }

    fn crash(&mut self) {
        self.crashes += 1;
        let dice = &mut self.dice;
        self.store.crash(|_, _| dice.roll(2) == 0);
        if self.forgetful && self.dice.roll(6) == 0 {
            self.store.lose_journals();
        }
    }

    /// Three drafts at once, each with a second ref; what was answered is remembered.
    async fn step(&mut self, repo: &dyn Repo, step: usize) -> Result<(), Error> {
        let mut all = Vec::new();
        for n in 0..3 {
            let dir = format!("s{step}-{n}");
            let (id, mut submission) = one(repo, &dir);
            let also = RefName::branch(&format!("also/{dir}")).unwrap();
            submission.refs.push(RefEdit::create(also, id));
            all.push((dir, id, submission));
        }
        let mut names = Vec::new();
        let mut waiting = Vec::new();
        for (dir, id, submission) in all {
            names.push((dir, id));
            waiting.push(repo.submit(submission));
        }
        let (a, b, c) = {
            let mut waiting = waiting.into_iter();
            let mut next = || waiting.next().unwrap();
            tokio::join!(biased; next(), next(), next())
        };
        let mut stopped = None;
        for ((dir, id), answer) in names.into_iter().zip([a, b, c]) {
            match answer {
                Ok(Answer::Published(published)) => {
                    self.answered.insert(dir, id);
                    let settled = repo.settle(&published.intent.into_iter().collect::<Vec<_>>());
                    stopped = settled.err().or(stopped);
                }
                Ok(Answer::Pending(handle)) => {
                    self.pending += 1;
                    match repo.outcome(handle).await {
                        Ok(Answer::Published(_)) => drop(self.answered.insert(dir, id)),
                        Err(error @ Error::Stopped { .. }) => stopped = Some(error),
                        _ => {}
                    }
                }
                Ok(Answer::Refused(refusal)) => panic!("nobody is in the way: {refusal}"),
                Err(error @ Error::Stopped { .. }) => stopped = Some(error),
                Err(_) => {}
            }
        }
        stopped.map_or(Ok(()), Err)
    }

    /// Proposes a draft that was answered: one ref takes the other's place.
    async fn propose(&mut self, repo: &dyn Repo) -> Result<(), Error> {
        let at = self.dice.roll(self.answered.len().max(1) as u64);
        let at = usize::try_from(at).unwrap();
        let Some((dir, id)) = self.answered.iter().nth(at) else {
            return Ok(());
        };
        let (dir, id) = (dir.clone(), *id);
        let submission = Submission {
            refs: vec![
                RefEdit::create(proposal(&dir), id),
                RefEdit::delete(name(&dir), id),
            ],
            intent: Some(dir.as_bytes().to_vec()),
            ..Submission::default()
        };
        let mut answer = repo.submit(submission).await;
        if let Ok(Answer::Pending(handle)) = answer {
            answer = repo.outcome(handle).await;
        }
        match answer {
            Ok(Answer::Published(published)) => {
                self.proposed.insert(dir);
                repo.settle(&published.intent.into_iter().collect::<Vec<_>>())
            }
            Err(error @ Error::Stopped { .. }) => Err(error),
            // Proposed before, or by whom it could not be asked.
            _ => Ok(()),
        }
    }

    /// Where a package stands, as a draft or proposed.
    fn stands(refs: &Refs, dir: &str) -> Option<CommitId> {
        refs.get(&name(dir))
            .or_else(|| refs.get(&proposal(dir)))
            .copied()
    }

    /// Whole or absent, and everything that was answered, at the truth.
    fn check(&self) {
        let truth = self.store.outside(self.url).unwrap();
        let refs = truth.refs().unwrap();
        for (dir, id) in &self.answered {
            assert_eq!(Self::stands(&refs, dir), Some(*id), "{dir} was answered");
            assert!(truth.has_commit(*id).unwrap(), "{dir} has its commit");
        }
        for dir in &self.proposed {
            assert!(refs.contains_key(&proposal(dir)), "{dir} was proposed");
            assert!(!refs.contains_key(&name(dir)), "{dir} was replaced");
        }
        for (full, id) in refs.iter().filter(|(n, _)| n.as_str().contains("/drafts/")) {
            let dir = full
                .as_str()
                .trim_start_matches("refs/heads/drafts/")
                .trim_end_matches("/ws");
            let also = RefName::branch(&format!("also/{dir}")).unwrap();
            assert_eq!(refs.get(&also), Some(id), "{dir} is whole");
        }
    }
}

async fn storm(url: &'static str, seed: u64, forgetful: bool) -> (usize, usize, usize) {
    let faults = Arc::new(Storm(Mutex::new(Dice(seed | 1))));
    let options = MemoryOptions {
        faults,
        ..MemoryOptions::default()
    };
    let store = Arc::new(MemoryStore::new(options));
    store.serve(url);
    let dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut sim = Sim {
        store,
        url,
        dice,
        answered: BTreeMap::new(),
        proposed: BTreeSet::new(),
        crashes: 0,
        pending: 0,
        forgetful,
    };
    let mut repo = sim.open().await;
    for step in 0..40 {
        let mut done = sim.step(&*repo, step).await;
        if done.is_ok() && sim.dice.roll(2) == 0 {
            done = sim.propose(&*repo).await;
        }
        if done.is_err() {
            sim.crash();
            repo = sim.open().await;
            // Recovery may itself be cut short; a second start ends it.
            if repo.unfinished().is_err() {
                continue;
            }
        }
        if sim.dice.roll(5) == 0 {
            let outside = sim.store.outside(url).unwrap();
            let (_, submission) = one(&*outside, &format!("x{step}"));
            let Submission {
                written, mut refs, ..
            } = submission;
            let also = RefName::branch(&format!("also/x{step}")).unwrap();
            refs.push(RefEdit::create(also, written[0].commit()));
            let theirs = Submission {
                written,
                refs,
                ..Submission::default()
            };
            assert!(matches!(
                outside.submit(theirs).await.unwrap(),
                Answer::Published(_)
            ));
        }
    }
    drop(repo);
    sim.crash();
    drop(sim.open().await);
    if url.starts_with("https") || !forgetful {
        sim.check();
    } else if sim.answered.is_empty() {
        panic!("nothing was ever answered");
    } else {
        sim.check_answered();
    }
    (sim.answered.len(), sim.crashes, sim.pending)
}

impl Sim {
    /// In place, without its journal, a cut transaction may stand in part: refs are repaired from
    /// the journal first, and by looking at them afterwards (X4), which is the engine's part.
    fn check_answered(&self) {
        let refs = self.store.outside(self.url).unwrap().refs().unwrap();
        for (dir, id) in &self.answered {
            assert_eq!(Self::stands(&refs, dir), Some(*id), "{dir} was answered");
        }
    }
}

#[tokio::test]
async fn what_was_answered_survives_in_place() {
    let mut sum = (0, 0);
    for seed in 1..60 {
        let (answered, crashes, _) = storm("file:///sim", seed, seed % 2 == 0).await;
        sum = (sum.0 + answered, sum.1 + crashes);
    }
    assert!(sum.0 > 2_000 && sum.1 > 200, "the storm was real: {sum:?}");
}

#[tokio::test]
async fn what_was_answered_survives_at_a_remote() {
    let mut sum = (0, 0, 0);
    for seed in 1..60 {
        let (answered, crashes, pending) =
            storm("https://git.example/sim", seed, seed % 2 == 0).await;
        sum = (sum.0 + answered, sum.1 + crashes, sum.2 + pending);
    }
    assert!(
        sum.0 > 2_000 && sum.1 > 200 && sum.2 > 20,
        "the storm was real: {sum:?}"
    );
}

#[tokio::test]
async fn the_same_seed_is_the_same_storm() {
    assert_eq!(
        storm("https://git.example/sim", 7, true).await,
        storm("https://git.example/sim", 7, true).await
    );
}
