//! Approving: what was reviewed becomes a number, a tag and the branch's content, byte for byte
//! (V14).

use std::sync::Arc;

use model::marks::LATEST;
use model::{Class, Lifecycle, ObjectKey, ObjectName, Revision, RevisionNumber, compose_name, utc};
use plan::OffBranch;
use plan::revision::{APPROVED_CLASS, ApproveObserved, Publish, approve as judge};
use serde_json::{Value, json};
use store::{BranchEdit, Expect, RefEdit};

use super::{Caller, Made, rejected};
use crate::discover::{approval, highest_number, highest_tag, off_branch};
use crate::git::{Message, Subject, author_of, committer};
use crate::held::Held;
use crate::index::PackageKey;
use crate::observe::not_merged;
use crate::repos::OpenRepository;
use crate::transaction::{self, Follow, Prepared, Transaction};
use crate::{Engine, Error, Result};

/// What the approver says to have seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The package's tree: another one is refused.
    pub(super) tree: Option<String>,
    /// The class of its change and its inputs, which the commit keeps (F1): the approver's word, as a review is.
    pub(super) class: Option<String>,
}

/// Approves a revision that is held.
pub(super) async fn approve(
    engine: &Engine,
    by: &Caller,
    held: &Held,
    record: Revision,
    seen: Seen,
) -> Result<Made> {
    let open = &held.open;
    let observed = observe(engine, held, seen.tree)?;
    let class = seen.class.as_deref().map(seen_class).transpose()?;
    let publish = judge(&observed).map_err(rejected)?;
    let record = published(engine, open, by, record, &publish);
    if by.dry_run {
        return Ok(Made::of(record));
    }
    let seen = (&observed, class.as_deref());
    let prepared = prepared(engine, by, held, seen, &publish, record)?;
    match prepared.publish().await? {
        Some(record) => Ok(Made::of(record)),
        None => Err(Error::conflict(
            "the package revision was deleted meanwhile",
        )),
    }
}

/// What the decision needs: what stands on the branch, which numbers are taken, what the proposal is based on.
///
/// An approval may have died behind the branch, before its tag: then the branch holds the package and no record has its number.
/// The same commit again is told to wait for the look that sets the tag; a proposal that somebody pushed onto since is
/// based on what the branch holds.
fn observe(engine: &Engine, held: &Held, seen: Option<String>) -> Result<ApproveObserved> {
    let (open, revision) = (&held.open, &held.revision);
    let key = PackageKey::of(revision);
    let head = open.head()?;
    let dir = open.layout.dir(&revision.package);
    let on_branch = open.tree_at(head, &revision.package)?;
    let siblings = engine.world(|w| w.revisions.of_package(&key));
    let highest = highest_number(open, &dir, head)?;
    // A number that no record has: its revision was deleted, or its tag is still to be set.
    let untold = siblings.iter().all(|s| s.revision < highest);
    let mut based_on = based_on(open, revision, head)?;
    if untold || based_on != on_branch {
        match approved_at(open, revision, head, on_branch)? {
            Some(at) if at == revision.commit => {
                // A look at the repository sets the tag: a second number would be a second revision.
                transaction::unfinished(engine, open);
                return Err(Error::conflict(format!(
                    "{} is on the branch already, and its tag is being set: look at it again in a moment",
                    revision.key.name
                )));
            }
            // Before its tag could be set, somebody pushed onto the proposal, which has had all of the branch ever since (V20, V23).
            Some(_) => based_on = on_branch,
            None => {}
        }
    }
    let off_branch = match unmerged(engine, open, (revision, &siblings), (head, on_branch))? {
        None if based_on != on_branch => off_branch(open, &revision.package, based_on)?,
        unmerged => unmerged,
    };
    // A tag for which nothing is served (it leads to no commit, or beside another one to the same) has its name all the same.
    let highest = highest.max(highest_tag(open, &revision.package)?);
    Ok(ApproveObserved {
        revision: Arc::clone(revision),
        siblings,
        highest: highest.0,
        deployment: open.repository.deployment,
        ignore_author_gates: open.repository.ignore_author_gates,
        branch: open.layout.branch().to_owned(),
        on_branch,
        based_on,
        off_branch,
        seen,
    })
}

/// That the branch does not lead to what a tag publishes, and that this revision does not stem from it either: its approval would
/// take that back.
fn unmerged(
    engine: &Engine,
    open: &OpenRepository,
    (revision, siblings): (&Revision, &[Arc<Revision>]),
    (head, on_branch): (model::CommitId, Option<model::TreeId>),
) -> Result<Option<OffBranch>> {
    let published = siblings
        .iter()
        .filter(|s| s.lifecycle.is_published() && s.revision.is_numbered() && !s.placeholder);
    let Some(latest) = published.max_by_key(|s| s.revision) else {
        return Ok(None);
    };
    let failed = |source| Error::Store {
        attempt: "read the history of the draft",
        source,
    };
    let stems = || open.repo.is_ancestor(latest.commit, revision.commit);
    if Some(latest.tree) == on_branch || stems().map_err(failed)? {
        return Ok(None);
    }
    not_merged(engine, open, latest, head)
}

/// The commit at which this very revision was approved before, where the branch still holds what it was then: that approval got as
/// far as the branch.
fn approved_at(
    open: &OpenRepository,
    revision: &Revision,
    head: model::CommitId,
    on_branch: Option<model::TreeId>,
) -> Result<Option<model::CommitId>> {
    let failed = |source| Error::Store {
        attempt: "read what was approved last",
        source,
    };
    let dir = open.layout.dir(&revision.package);
    let Some(last) = open.repo.last_change(head, &dir).map_err(failed)? else {
        return Ok(None);
    };
    let commit = open.repo.commit(last).map_err(failed)?;
    let Some((workspace, _)) = approval(open, &dir, &commit.message) else {
        return Ok(None);
    };
    let Some(draft) = commit.parents.get(1).copied() else {
        return Ok(None);
    };
    let own = workspace == revision.workspace.as_str()
        && (draft == revision.commit
            || open
                .repo
                .is_ancestor(draft, revision.commit)
                .map_err(failed)?)
        && open.tree_at(draft, &revision.package)? == on_branch;
    Ok(own.then_some(draft))
}

/// The package's tree that the draft was based on: what the machine noted, else what the branch
/// held where the draft left it.
pub(super) fn based_on(
    open: &OpenRepository,
    revision: &Revision,
    head: model::CommitId,
) -> Result<Option<model::TreeId>> {
    if let Some(machine) = &revision.machine {
        return Ok(machine.base_tree);
    }
    let failed = |source| Error::Store {
        attempt: "read the history of the draft",
        source,
    };
    for id in open
        .repo
        .first_parents(revision.commit, 2_000)
        .map_err(failed)?
    {
        // Where a draft left the branch, or was based on it anew: the newest such place counts.
        for parent in &open.repo.commit(id).map_err(failed)?.parents {
            if open.repo.is_ancestor(*parent, head).map_err(failed)? {
                return open.tree_at(*parent, &revision.package);
            }
        }
    }
    Ok(None)
}

/// The record once it is published; its commit is the one that the writer makes.
fn published(
    engine: &Engine,
    open: &OpenRepository,
    by: &Caller,
    mut record: Revision,
    publish: &Publish,
) -> Revision {
    record.lifecycle = Lifecycle::Published;
    record.revision = publish.number;
    record.published_by.clone_from(&by.user);
    record.published_at = utc(engine.now());
    record
        .meta
        .labels
        .insert(LATEST.to_owned(), "true".to_owned());
    // Publishing changes no file: `content_version` stays (A6).
    if let Some(lock) = &mut record.self_lock {
        lock.git_ref = format!("{}/{}", open.layout.dir(&record.package), publish.tag);
    }
    record
}

fn prepared<'e>(
    engine: &'e Engine,
    by: &Caller,
    held: &'e Held,
    (observed, class): (&ApproveObserved, Option<&str>),
    publish: &Publish,
    record: Revision,
) -> Result<Transaction<'e, Prepared>> {
    let open = &held.open;
    let old = &held.revision;
    let dir = open.layout.dir(&old.package);
    let now = engine.now();
    let message = Message {
        subject: Subject::Approve(dir.as_str(), publish.number.0),
        body: String::new(),
        path: dir.as_str(),
        workspace: old.workspace.as_str(),
        machine: None,
        conditions: &[],
        conflicts: None,
        class,
        acting_for: &by.acting_for,
    };
    let edit = BranchEdit {
        branch: open.layout.branch_ref()?,
        dir: dir.clone(),
        expect: publish.expect.map_or(Expect::Absent, Expect::Is),
        content: Some(publish.tree),
        second_parent: Some(old.commit),
        author: author_of(&by.user, Some(&open.repository), now),
        committer: committer(now),
        message: message.text(),
        tags: vec![open.layout.tag(&old.package, &publish.tag)?],
    };
    let mut follow = vec![Follow::put_at_branch(record.clone(), Some(Arc::clone(old)))];
    follow.extend(relabel(&observed.siblings, &old.key, publish.number));
    follow.extend(placeholder(engine, open, &observed.siblings, &record));
    let proposal = open.layout.proposed(&old.package, &old.workspace)?;
    let mut transaction = Transaction::begin(engine, open);
    transaction
        .move_refs([RefEdit::delete(proposal, old.commit)])
        .change_branch(edit)
        .as_announced(held.announced());
    transaction.prepare(follow)
}

/// The longest text that is kept of what was seen.
const SEEN_LIMIT: usize = 64 << 10;

/// The class that an approver says to have seen, in one line.
fn seen_class(said: &str) -> Result<String> {
    let read = || {
        let said: Value = serde_json::from_str(said).ok()?;
        let id = said.get("id")?.as_str()?;
        let is_whole = id.len() == 64 && id.bytes().all(|b| b.is_ascii_hexdigit());
        let inputs = said.get("inputs").and_then(Value::as_object)?;
        let texts = inputs.values().all(Value::is_string);
        (is_whole && texts).then(|| json!({ "format": 1, "id": id, "inputs": inputs }).to_string())
    };
    let line = read().filter(|line| line.len() <= SEEN_LIMIT);
    line.ok_or_else(|| {
        let what = format!(
            "{APPROVED_CLASS} must be {{\"id\": …, \"inputs\": {{NAME: TEXT}}}} with all 64 digits of a class, of {SEEN_LIMIT} bytes at most"
        );
        Error::refused(Class::Invalid, "metadata.annotations", what)
    })
}

/// The other revisions, where the label of the latest one has to move.
pub(super) fn relabel(
    siblings: &[Arc<Revision>],
    except: &ObjectKey,
    latest: RevisionNumber,
) -> Vec<Follow> {
    siblings
        .iter()
        .filter(|s| s.key != *except)
        .filter_map(|s| {
            let mut record = Revision::clone(s);
            crate::discover::label_latest(&mut record, Some(latest));
            (record != **s).then(|| Follow::put(record, Some(Arc::clone(s))))
        })
        .collect()
}

/// The record of the branch's head, which has this content now.
fn placeholder(
    engine: &Engine,
    open: &OpenRepository,
    siblings: &[Arc<Revision>],
    record: &Revision,
) -> Option<Follow> {
    let before = siblings.iter().find(|s| s.placeholder).cloned();
    let branch = model::WorkspaceName::parse(open.layout.branch()).ok()?;
    let name = compose_name(&record.repository, &record.package, &branch);
    let key = ObjectKey::new(record.key.namespace.clone(), ObjectName::parse(&name).ok()?);
    let mut head = record.clone();
    head.meta = before.as_ref().map_or_else(
        || model::ObjectMeta {
            uid: Some(engine.ports().ids.revision_uid(&key.namespace, &key.name)),
            ..model::ObjectMeta::default()
        },
        |b| b.meta.clone(),
    );
    head.key = key;
    head.workspace = branch;
    head.revision = RevisionNumber::UNNUMBERED;
    head.placeholder = true;
    head.conflicts = Vec::new();
    head.resolved_conflicts = Vec::new();
    head.noted_digest = None;
    head.content_version = String::new();
    if let Some(lock) = &mut head.self_lock {
        open.layout.branch().clone_into(&mut lock.git_ref);
    }
    Some(Follow::put_at_branch(head, before))
}
