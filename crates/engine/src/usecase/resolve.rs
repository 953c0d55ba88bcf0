//! Deciding open conflicts of a draft as a person says (F4): an edit, its render, and a commit of that person.
//!
//! What is decided is one of the sides, taken from where it stands in git, or a value of the person's own. Only the
//! conflicts that are named are touched; a render that fails, or that writes something else there, leaves the draft as it
//! was.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Choice, Class, Conflict, ConflictState, Files, Resolution, Revision, TreeId};
use package::conflicts;
use package::render::Options;
use plan::revision::{RejectionReason, save as judge};
use serde_json::{Value, json};
use store::Content;
use tokio::sync::Semaphore;

use super::acted::Acted;
use super::{Caller, content, lifecycle};
use crate::git::Subject;
use crate::held::Held;
use crate::index::PackageKey;
use crate::repos::OpenRepository;
use crate::transaction::{Begun, DraftCommit, Follow, Transaction, told};
use crate::{Engine, Error, Result, conversation, registrations};

/// How many commits of a draft are looked through for what a side held.
const HISTORY: usize = 100;

/// Decides the open conflicts of a draft that these decisions are about. The files of few drafts are held at once: what
/// waits for the disk needs them no more.
pub(super) async fn resolve(
    engine: &Engine,
    by: &Caller,
    held: &Held,
    decisions: &[Resolution],
    turn: &Semaphore,
) -> Result<Acted> {
    let (open, old) = (&held.open, &held.revision);
    let mut transaction = Transaction::begin(engine, open);
    let made = {
        let _turn = turn.acquire().await.map_err(|_| Error::Stopped)?;
        Box::pin(make(by, &mut transaction, held, decisions)).await?
    };
    let new = match made {
        Made::Nothing(acted) => return Ok(acted),
        Made::Draft(new) => *new,
    };
    transaction.move_refs(lifecycle::refs(
        engine,
        open,
        old,
        old.lifecycle,
        new.commit,
    )?);
    let prepared = transaction.prepare(vec![Follow::put(new.clone(), Some(Arc::clone(old)))])?;
    if by.dry_run {
        return Ok(Acted::Done(Some(Arc::new(new))));
    }
    let stored = prepared.publish().await?;
    Ok(Acted::Done(Some(stored.unwrap_or_else(|| Arc::new(new)))))
}

/// What comes of the decisions, before it is published.
enum Made {
    /// Nothing is to be written.
    Nothing(Acted),
    /// The draft's record, with its commit in the transaction.
    Draft(Box<Revision>),
}

async fn make(
    by: &Caller,
    transaction: &mut Transaction<'_, Begun>,
    held: &Held,
    decisions: &[Resolution],
) -> Result<Made> {
    let engine = transaction.engine();
    let (open, old) = (&held.open, &held.revision);
    if let Err(rejected) = judge(old) {
        let reason = rejected.reason.unwrap_or(RejectionReason::UnfitLifecycle);
        return Ok(Made::Nothing(Acted::Skipped(reason, rejected.message)));
    }
    let about = |c: &Conflict| decisions.iter().find(|d| d.is_about(c));
    let asked: Vec<(&Conflict, &Choice)> = old
        .conflicts
        .iter()
        .filter(|c| c.derived_from.is_none())
        .filter_map(|c| Some((c, &about(c)?.choice)))
        .collect();
    let waiting: Vec<(&Conflict, &Choice)> =
        asked.iter().copied().filter(|(c, _)| c.blocks()).collect();
    if waiting.is_empty() {
        return Ok(Made::Nothing(match asked.is_empty() {
            true => {
                let why = "it has no such conflict".to_owned();
                Acted::Skipped(RejectionReason::NoSuchConflict, why)
            }
            false => Acted::Already,
        }));
    }
    registrations::may_write(engine, open)?;
    let (snapshot, _) = open.snapshot_within(old.tree)?;
    let files = decided(engine, open, old, &snapshot.files, &waiting)?;
    let options = Options {
        package_bytes: Some(engine.inner.options.package_bytes),
        tell_unread: true,
        ..Options::default()
    };
    let rendered = conversation::render(engine, old.namespace(), files, options).await?;
    content::check(&rendered)?;
    let mut files = rendered.files;
    let mut new = Revision::clone(old);
    for (conflict, choice) in &waiting {
        stands(&files, conflict, choice)?;
        answer(&mut new, conflict, &snapshot.files, &files);
    }
    content::settle_conflicts(&mut files, &mut new)?;
    let said = content::said(old);
    let tip = transaction.commit(
        by,
        &DraftCommit {
            package: &old.package,
            workspace: &old.workspace,
            content: Content::Files(&files, &snapshot.opaque),
            parents: &[old.commit],
            subject: Subject::Resolve(&trailer(&waiting)),
            body: String::new(),
            machine: None,
            conditions: &said,
            conflicts: told(&new.conflicts),
        },
    )?;
    content::take(&mut new, &files, tip)?;
    content::say(&mut new, said);
    Ok(Made::Draft(Box::new(new)))
}

/// The draft's files with every decision carried out.
fn decided(
    engine: &Engine,
    open: &OpenRepository,
    old: &Revision,
    before: &Files,
    waiting: &[(&Conflict, &Choice)],
) -> Result<Files> {
    let mut files = before.clone();
    let mut packages = Packages::new(engine, open, old);
    for (conflict, choice) in waiting {
        let done = match choice {
            Choice::Value(json) => conflicts::put_value(&mut files, conflict, json),
            Choice::Side(side) => {
                conflicts::holds_side(&files, conflict, *side)
                    || packages
                        .any(|from| conflicts::put_side(&mut files, from, conflict, *side))?
                    || conflicts::put_recorded(&mut files, conflict, *side)
            }
        };
        if !done {
            return Err(cannot(conflict, choice));
        }
    }
    Ok(files)
}

fn cannot(conflict: &Conflict, choice: &Choice) -> Error {
    let (file, resource, path) = conflict.place();
    let place = [file.as_str(), resource, path].join(" ");
    let what = match choice {
        Choice::Value(_) if conflicts::takes_values(conflict) => {
            format!(
                "conflict {} ({place}): the value cannot be written there",
                conflict.id
            )
        }
        Choice::Value(_) => format!(
            "conflict {} ({place}): it is about no single field that may be shown, so that a side is to be taken",
            conflict.id
        ),
        Choice::Side(side) => format!(
            "conflict {} ({place}): what {side} held cannot be taken over; edit the draft",
            conflict.id
        ),
    };
    Error::refused(Class::Invalid, "spec.resolutions", what)
}

/// Whether the render left what was decided.
fn stands(files: &Files, conflict: &Conflict, choice: &Choice) -> Result<()> {
    let holds = match choice {
        Choice::Side(side) => conflicts::holds_side(files, conflict, *side),
        Choice::Value(json) => {
            conflicts::as_recorded(json) == Some(conflicts::value_at(files, conflict))
        }
    };
    if holds {
        return Ok(());
    }
    let (file, resource, path) = conflict.place();
    let what = format!(
        "the package's pipeline writes something else at {} {resource} {path} than what was decided",
        file.as_str()
    );
    Err(Error::refused(Class::Invalid, "spec.resolutions", what))
}

/// Notes the answer: a draft that holds it already acknowledges, another one was edited (V4a).
fn answer(new: &mut Revision, conflict: &Conflict, before: &Files, after: &Files) {
    let same = conflicts::value_at(before, conflict) == conflicts::value_at(after, conflict);
    let state = if same {
        ConflictState::Acknowledged
    } else {
        ConflictState::Resolved
    };
    if same && !new.resolved_conflicts.contains(&conflict.id) {
        new.resolved_conflicts.push(conflict.id.clone());
    }
    for known in new.conflicts.iter_mut().filter(|c| c.id == conflict.id) {
        known.state = state;
    }
}

/// What the commit says: which conflicts were decided, and how.
fn trailer(waiting: &[(&Conflict, &Choice)]) -> String {
    let one = |(conflict, choice): &(&Conflict, &Choice)| {
        let id = conflict.id.0.as_str();
        match choice {
            Choice::Side(side) => json!({ "conflict": id, "take": side.as_str() }),
            Choice::Value(text) => {
                let value: Value = serde_json::from_str(text).unwrap_or_default();
                json!({ "conflict": id, "value": value })
            }
        }
    };
    let decisions: Vec<Value> = waiting.iter().map(one).collect();
    json!({ "format": 1, "decisions": decisions }).to_string()
}

/// The packages in which the sides of a draft's conflicts stand: what the machine noted first, then its history.
struct Packages<'a> {
    open: &'a OpenRepository,
    old: &'a Revision,
    trees: Vec<TreeId>,
    whole: bool,
}

impl<'a> Packages<'a> {
    fn new(engine: &Engine, open: &'a OpenRepository, old: &'a Revision) -> Self {
        let mut trees = Vec::new();
        if let Some(machine) = &old.machine {
            trees.extend([machine.v_tree, machine.m_tree]);
            trees.extend(machine.base_tree);
        }
        let siblings = engine.world(|w| w.revisions.of_package(&PackageKey::of(old)));
        let noted = siblings.iter().filter(|s| s.key != old.key);
        for sibling in noted.filter(|s| s.lifecycle.is_published()) {
            trees.push(sibling.tree);
            trees.extend(sibling.machine.as_ref().map(|m| m.v_tree));
        }
        Self {
            open,
            old,
            trees,
            whole: false,
        }
    }

    /// Whether one of them serves.
    fn any(&mut self, mut serves: impl FnMut(&Files) -> bool) -> Result<bool> {
        let mut tried = BTreeSet::new();
        loop {
            for tree in &self.trees {
                if !tried.insert(*tree) {
                    continue;
                }
                // What is not here any more serves nobody.
                if let Ok((snapshot, _)) = self.open.snapshot_within(*tree)
                    && serves(&snapshot.files)
                {
                    return Ok(true);
                }
            }
            if self.whole {
                return Ok(false);
            }
            self.whole = true;
            self.read_history()?;
        }
    }

    /// The draft as it was before, and what was merged into it.
    fn read_history(&mut self) -> Result<()> {
        let failed = |source| Error::Store {
            attempt: "read the history of the draft",
            source,
        };
        let commits = self.open.repo.first_parents(self.old.commit, HISTORY);
        for id in commits.map_err(failed)? {
            let parents = self.open.repo.commit(id).map_err(failed)?.parents.clone();
            for commit in std::iter::once(id).chain(parents) {
                let tree = self.open.tree_at(commit, &self.old.package)?;
                self.trees.extend(tree);
            }
        }
        Ok(())
    }
}
