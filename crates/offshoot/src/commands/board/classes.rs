//! What open revisions change, in classes of equal changes: those of `offshoot plan`, for drafts that are there already.
//!
//! Contents are fetched once for each tree, and only once somebody looks at changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use model::{Files, Namespace, PackageName, RepositoryName, TreeId};
use package::changes::{self, Inputs, WantedUpstream};
use serde_json::Value;

use super::Board;
use super::fleet::{Revision, is_deletion, name, tree};
use crate::client::Client;
use crate::commands::rpkg::contents::{Contents, contents, may_hide};
use crate::commands::rpkg::diff;
use crate::exit::Failure;
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

/// A class, as its first member showed it.
#[derive(Debug, Clone)]
pub(super) struct Class {
    first: String,
    changes: changes::Changes,
    before: Files,
    after: Files,
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
    classes: BTreeMap<String, Arc<Class>>,
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
        let files = (&class.before, &class.after);
        Some(planning::of_changes(
            id,
            &class.first,
            &class.changes,
            files,
            &inputs,
        ))
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

/// A revision that is to be compared, and with what.
struct Job {
    name: String,
    tree: String,
    package: String,
    repository: String,
    /// Whether it is to be deleted: what that changes is that all of it goes.
    deletion: bool,
    /// What is published, and its tree.
    base: Option<(String, String)>,
    upstream: Option<(String, String, String)>,
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
            let class = compare(board, &job).await;
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

fn note(held: &mut Held, job: Job, class: Result<(String, Inputs, Class), Failure>) {
    let (class, inputs) = match class {
        Ok((id, inputs, class)) => {
            held.classes
                .entry(id.clone())
                .or_insert_with(|| Arc::new(class));
            (Ok(id), inputs)
        }
        Err(why) => (Err(why.message().to_owned()), Inputs::default()),
    };
    let Job {
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
fn jobs(board: &Board) -> Vec<Job> {
    board.fleet(|fleet| {
        board.classes.held(|held| {
            held.members.retain(|name, _| {
                fleet
                    .revision(name)
                    .is_some_and(|r| super::fleet::lifecycle(r) != "Published")
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

fn job(fleet: &super::fleet::Fleet, revision: &Revision) -> Job {
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
    Job {
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
        package: part(revision, "packageName"),
        repository: part(revision, "repository"),
        upstream,
        name: own,
    }
}

/// What a revision is compared with, and what it holds: of one that is to be deleted, what goes, and nothing.
async fn sides(client: &Client, job: &Job) -> Result<(Option<Files>, Files), Failure> {
    let own = contents(client, &job.name).await?;
    let (before, after) = match (&job.base, job.deletion) {
        (_, true) => (Some(own), Contents::none()),
        (Some((base, _)), false) => (Some(contents(client, base).await?), own),
        (None, false) => (None, own),
    };
    let none = Contents::none();
    let both = [before.as_ref().unwrap_or(&none), &after];
    if both.iter().any(|side| !side.complete) {
        return Err(Failure::new(
            "it has links, or files that are binary or too large to be shown",
        ));
    }
    let tree = Some(job.tree.as_str());
    let trees = match (&job.base, job.deletion) {
        (_, true) => [tree, None],
        (base, false) => [base.as_ref().map(|(_, tree)| tree.as_str()), tree],
    };
    if may_hide(both, trees) {
        return Err(Failure::new("what it changes is not shown"));
    }
    Ok((before.map(|before| before.files), after.files))
}

async fn compare(board: &Board, job: &Job) -> Result<(String, Inputs, Class), Failure> {
    let client = &board.client;
    let (before, after) = sides(client, job).await?;
    let named = |e: model::NameError| Failure::of("read the package's place", &e);
    let place = (
        PackageName::parse(&job.package).map_err(named)?,
        RepositoryName::parse(&job.repository).map_err(named)?,
        Namespace::parse(&client.namespace).map_err(named)?,
    );
    let from = match &job.upstream {
        Some((repository, package, tree)) => WantedUpstream {
            repository: RepositoryName::parse(repository).map_err(named)?,
            package: PackageName::parse(package).map_err(named)?,
            tree: TreeId::parse(tree).ok_or_else(|| Failure::new("its upstream names no tree"))?,
        },
        // What no upstream is known of changes by itself.
        None => WantedUpstream {
            repository: place.1.clone(),
            package: place.0.clone(),
            tree: TreeId::parse(&job.tree).ok_or_else(|| Failure::new("it names no tree"))?,
        },
    };
    let place = (&place.0, &place.1, &place.2);
    let inputs = match (&before, job.deletion) {
        (Some(before), true) => changes::inputs_of(place, None, before),
        (before, _) => changes::inputs_of(place, before.as_ref(), &after),
    };
    let before = changes::aside(&before.unwrap_or_default());
    let after = changes::aside(&after);
    // A page of this process: its ids need not outlive it, and tell nothing of what a Secret holds.
    let key = planning::of_this_process().clone();
    let found = changes::changes(&before, &after, &inputs).keyed(key);
    let id = found.id(&from).to_string();
    let class = Class {
        first: job.name.clone(),
        changes: found,
        before: changes::differing(&before, &after),
        after: changes::differing(&after, &before),
    };
    Ok((id, inputs, class))
}
