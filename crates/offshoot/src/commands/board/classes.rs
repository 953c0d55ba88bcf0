//! What open revisions change, in classes of equal changes: those of `offshoot plan`, for drafts that are there already.
//!
//! Contents are fetched once for each tree, and only once somebody looks at changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use model::Lifecycle;
use package::changes::Inputs;
use serde_json::Value;

use super::Board;
use super::fleet::{Revision, is_deletion, name, tree};
use crate::client::lifecycle;
use crate::commands::rpkg::alike::Stated;
use crate::commands::rpkg::classify::{ClassOfOpen, Classified, Unclassified, classify};
use crate::commands::rpkg::diff;
use crate::exit::ExitFailure;
use crate::planning;

/// How many packages are fetched at once.
const AT_ONCE: usize = 8;
/// How many are put into classes before pages hear of it.
const BATCH: usize = 64;

/// A revision in its class.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// What it held when it was compared.
    pub(super) tree: String,
    /// Whether it was to be deleted then.
    pub(super) deletion: bool,
    /// The class, or why there is none.
    pub(super) class: Result<String, String>,
    pub(super) inputs: Inputs,
}

impl Member {
    /// Whether it was compared as it is now.
    fn is_of(&self, revision: &Revision) -> bool {
        self.tree == tree(revision) && self.deletion == is_deletion(revision)
    }
}

/// All classes that are known.
#[derive(Debug, Default)]
pub(super) struct Classes {
    wanted: AtomicBool,
    wake: tokio::sync::Notify,
    held: Mutex<Held>,
}

/// What is known at one time.
#[derive(Debug, Default)]
pub(super) struct Held {
    members: HashMap<String, Member>,
    classes: BTreeMap<String, Arc<ClassOfOpen>>,
}

/// One class of the page: its id, and each revision with its tree.
pub(super) struct Grouped {
    pub(super) id: String,
    /// Whether it is of revisions that are to be deleted: these are in no class with what changes something.
    pub(super) deletion: bool,
    pub(super) members: Vec<(String, String)>,
}

impl Held {
    /// The class of a revision as it is now; empty where there is none.
    pub(super) fn class(&self, revision: &Revision) -> &str {
        let member = self.members.get(name(revision));
        let member = member.filter(|m| m.is_of(revision));
        let class = member.and_then(|m| m.class.as_ref().ok());
        class.map(String::as_str).unwrap_or_default()
    }
}

impl Classes {
    /// Somebody looks: from now on what is open is compared.
    pub(super) fn want(&self) {
        if !self.wanted.swap(true, Ordering::Relaxed) {
            self.wake.notify_one();
        }
    }

    /// Looks at what is known, or notes something.
    pub(super) fn held<T>(&self, look: impl FnOnce(&mut Held) -> T) -> T {
        look(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The class of a revision as it is now.
    pub(super) fn of(&self, revision: &Revision) -> Option<Result<String, String>> {
        self.held(|held| {
            let member = held.members.get(name(revision));
            let member = member.filter(|m| m.is_of(revision));
            member.map(|m| m.class.clone())
        })
    }

    /// The document of a class, as a plan has it, with the inputs of these members.
    pub(super) fn document(&self, id: &str, members: &[(String, String)]) -> Option<Value> {
        let (class, inputs) = self.held(|held| {
            let class = Arc::clone(held.classes.get(id)?);
            let inputs = members
                .iter()
                .filter_map(|(name, _)| held.members.get(name));
            let inputs: Vec<Inputs> = inputs.map(|m| m.inputs.clone()).collect();
            Some((class, inputs))
        })?;
        let inputs: Vec<&Inputs> = inputs.iter().collect();
        Some(class.told(id, &inputs))
    }

    /// What a revision says for an input.
    pub(super) fn input(&self, name: &str, input: &str) -> String {
        self.held(|held| {
            let value = held.members.get(name).and_then(|m| m.inputs.value(input));
            value.unwrap_or_default().to_owned()
        })
    }

    /// Puts revisions into groups, the largest first; besides how many are not compared yet, and what cannot be.
    pub(super) fn grouped<'r>(
        &self,
        revisions: impl Iterator<Item = &'r Revision>,
    ) -> (Vec<Grouped>, usize, Vec<(String, String)>) {
        let mut groups: BTreeMap<(String, bool), Vec<(String, String)>> = BTreeMap::new();
        let (mut pending, mut failed) = (0, Vec::new());
        for revision in revisions {
            let (name, tree) = (name(revision), tree(revision));
            match self.of(revision) {
                Some(Ok(id)) => groups
                    .entry((id, is_deletion(revision)))
                    .or_default()
                    .push((name.to_owned(), tree.to_owned())),
                Some(Err(why)) => failed.push((name.to_owned(), why)),
                None => pending += 1,
            }
        }
        let groups = groups.into_iter().map(|((id, deletion), members)| Grouped {
            id,
            deletion,
            members,
        });
        let mut groups: Vec<Grouped> = groups.collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
        (groups, pending, failed)
    }
}

/// Compares what is open and not compared yet, whenever the fleet changes.
pub(super) async fn run(board: Arc<Board>) {
    let mut changed = board.changed.subscribe();
    loop {
        if board.classes.wanted.load(Ordering::Relaxed) {
            work(&board).await;
        }
        tokio::select! {
            () = board.classes.wake.notified() => {}
            done = changed.changed() => if done.is_err() { return },
        }
    }
}

async fn work(board: &Board) {
    loop {
        let jobs = jobs(board);
        if jobs.is_empty() {
            return;
        }
        let done = futures::stream::iter(jobs).map(|job| async move {
            // A page of this process: its ids need not outlive it, and tell nothing of what a Secret holds.
            let key = planning::of_this_process().clone();
            let class = classify(&board.client, &job, key).await;
            (job, class)
        });
        let mut done = std::pin::pin!(done.buffer_unordered(AT_ONCE));
        let mut names = Vec::new();
        while let Some((job, class)) = done.next().await {
            names.push(job.name.clone());
            board.classes.held(|held| note(held, job, class));
        }
        board.change(|fleet| fleet.touch(names.iter().map(String::as_str)));
    }
}

fn note(held: &mut Held, job: Unclassified, class: Result<Classified, ExitFailure>) {
    let (class, inputs) = match class {
        Ok(Classified { id, inputs, class }) => {
            held.classes
                .entry(id.clone())
                .or_insert_with(|| Arc::new(class));
            (Ok(id), inputs)
        }
        Err(why) => (Err(why.message().to_owned()), Inputs::default()),
    };
    let Unclassified {
        name,
        tree,
        deletion,
        ..
    } = job;
    held.members.insert(
        name,
        Member {
            tree,
            deletion,
            class,
            inputs,
        },
    );
}

/// What is to be compared next; what is no longer open is forgotten.
fn jobs(board: &Board) -> Vec<Unclassified> {
    board.fleet(|fleet| {
        board.classes.held(|held| {
            held.members.retain(|name, _| {
                fleet
                    .revision(name)
                    .is_some_and(|r| lifecycle(r) != Some(Lifecycle::Published))
            });
            let used: std::collections::BTreeSet<&String> = held
                .members
                .values()
                .filter_map(|m| m.class.as_ref().ok())
                .collect();
            held.classes.retain(|id, _| used.contains(id));
            let new = fleet.open().filter(|r| {
                let known = held.members.get(name(r));
                known.is_none_or(|m| !m.is_of(r))
            });
            new.take(BATCH).map(|r| job(fleet, r)).collect()
        })
    })
}

fn job(fleet: &super::fleet::Fleet, revision: &Revision) -> Unclassified {
    let part = |r: &Revision, key: &str| {
        api::str_at(r, &["spec", key])
            .unwrap_or_default()
            .to_owned()
    };
    let own = name(revision).to_owned();
    let upstream = fleet.upstream_of(revision).map(|u| {
        (
            part(u, "repository"),
            part(u, "packageName"),
            tree(u).to_owned(),
        )
    });
    let deletion = is_deletion(revision);
    let base = match deletion {
        true => None,
        false => diff::published(fleet.package_of(&own), revision),
    };
    Unclassified {
        base: base.map(|base| {
            let tree = fleet
                .revision(&base)
                .map(tree)
                .unwrap_or_default()
                .to_owned();
            (base, tree)
        }),
        tree: tree(revision).to_owned(),
        deletion,
        stated: Stated::of(revision),
        upstream,
        name: own,
    }
}
