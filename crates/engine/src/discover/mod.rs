//! Refs that others moved become records: on registration, when somebody pushes, after a crash.
//!
//! Refs and trees are the truth about contents and lifecycle, records about everything else
//! (owners, labels, notes). Only what differs from what was seen last is looked into; a record that
//! describes its ref's commit is not read again. Nothing is changed in git here, except that what was
//! cut short is completed, and that commits which a push took out of a draft's history are kept under
//! a recovery ref (V23).

mod history;
mod lineage;
mod mend;
mod moved;
mod off_branch;
mod owner;
mod precedence;
mod record;
mod survey;
mod tags;
mod taken_in;
mod touched;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use model::{Class, CommitId, Lifecycle, PackageName, Revision};
use store::{RefName, Refs};

use crate::codec::Record;
use crate::git::RefKind;
use crate::index::PackageKey;
use crate::ports::{EventType, OurKind};
use crate::repos::{OpenRepository, Seen};
use crate::stats::count;
use crate::transaction::Follow;
use crate::{Engine, Error, Result, kept, recover, registrations, transaction, waiting};

pub(crate) use history::{
    Approved, approval, approved_before, approved_last, by_person, highest_number,
};
pub(crate) use lineage::{lineage, lock_of};
pub(crate) use off_branch::{head_of, off_branch};
pub(crate) use record::{Origin, apply_kptfile, build, chain, is_unrendered, self_lock, tag_of};
pub(crate) use survey::label_latest;
pub(crate) use tags::{highest_tag, is_approved_already, is_published, tag_at};
pub(crate) use taken_in::{TakenIn, taken_in};
pub(crate) use whole::{OBJECTS, is_broken};

/// What a look at a repository found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Discovered {
    /// The branch's head.
    pub(crate) head: Option<CommitId>,
    /// What cannot be served, and why.
    pub(crate) problems: Vec<String>,
}

/// How many packages are looked into at once: their records go to the store in batches.
const AT_ONCE: usize = 64;

/// Brings the records of a repository in line with its refs.
///
/// # Errors
/// The repository cannot be read, or records cannot be written.
pub(crate) async fn repository(
    engine: &Engine,
    open: &Arc<OpenRepository>,
    fetch: bool,
) -> Result<Discovered> {
    count(&engine.counters().discoveries);
    let failed = |attempt| move |source| Error::Store { attempt, source };
    open.begins_to_look();
    let refs = if fetch {
        let fetched = waiting::remote(engine, open.repo.url(), open.repo.fetch()).await;
        fetched.map_err(failed("fetch"))?
    } else {
        open.repo.refs().map_err(failed("read the refs"))?
    };
    // Where the remote could not be asked when the repository was opened.
    recover::complete(engine, open).await?;
    let before = open.last_seen();
    let mut view = view(open, &refs)?;
    keep_branch(engine, open, &view, &before).await?;
    let (mut touched, beyond) = touched::touched(engine, open, &view, &before)?;
    let beyond = beyond.unwrap_or_else(|| before.beyond.clone());
    touched.extend(before.again.iter().cloned());
    let mut problems: BTreeSet<String> = std::mem::take(&mut view.problems).into_iter().collect();
    // Names that others had may be free once those have changed, so these come behind them.
    let mut crowded: BTreeSet<PackageName> = BTreeSet::new();
    if !touched.is_empty() {
        crowded.extend(survey::crowded_out(&before.unserved).cloned());
        crowded.retain(|package| !touched.contains(package));
    }
    // A problem of a package that is not looked into again is still there.
    let mut unserved = before.unserved.clone();
    unserved.retain(|package, _| !touched.contains(package) && !crowded.contains(package));
    let branch = open.layout.branch();
    problems.extend(beyond.iter().map(|why| format!("branch {branch}: {why}")));
    let mut results = look_into(engine, open, touched).await;
    results.extend(look_into(engine, open, crowded).await);
    let mut again = BTreeSet::new();
    for (package, result) in results {
        match result {
            Ok(found) if found.is_empty() => {}
            Ok(found) => drop(unserved.insert(package, found)),
            // One package that cannot be read, or recorded, keeps nobody from the others (X9).
            Err(error) if is_unreadable(&error) || error.is_refusal() => {
                unserved.insert(package.clone(), vec![error.chain()]);
                again.insert(package);
            }
            Err(error) => return Err(error),
        }
    }
    let of_packages = unserved
        .iter()
        .flat_map(|(package, all)| all.iter().map(move |p| format!("package {package}: {p}")));
    problems.extend(of_packages);
    problems.extend(whole::check_objects(engine, open).await?);
    let problems: Vec<String> = problems.into_iter().collect();
    let head = view.refs.get(&open.layout.branch_ref()?).copied();
    open.has_looked(Seen {
        refs: view.refs,
        whole: true,
        unserved,
        again,
        beyond,
        ..Seen::default()
    });
    Ok(Discovered { head, problems })
}

/// Brings the records of packages in line; what of each cannot be served.
async fn look_into(
    engine: &Engine,
    open: &Arc<OpenRepository>,
    packages: BTreeSet<PackageName>,
) -> Vec<(PackageName, Result<Vec<String>>)> {
    let all = futures::stream::iter(packages).map(|package| async move {
        let found = match self::package(engine, open, &package).await {
            // Another package was recorded meanwhile under a name of this one: that is known now.
            Err(error) if error.class() == Class::Conflict => {
                self::package(engine, open, &package).await
            }
            found => found,
        };
        (package, found)
    });
    all.buffered(AT_ONCE).collect().await
}

/// Brings the records of one package in line; returns what cannot be served.
pub(crate) async fn package(
    engine: &Engine,
    open: &Arc<OpenRepository>,
    package: &PackageName,
) -> Result<Vec<String>> {
    count(&engine.counters().discovered);
    let key = PackageKey::new(&open.key().namespace, &open.repository.name, package);
    let guard = waiting::earlier(engine, engine.inner.locks.package(&key)).await;
    engine.alive()?;
    // Under the lock both are read anew: a change of ours may just have been recorded.
    let mut view = package_view(open, package)?;
    if mend::mend(engine, open, package, &view).await? {
        view = package_view(open, package)?;
    }
    let known = engine.world(|w| w.revisions.of_package(&key));
    let moved = moved::moved(&view, &known);
    let mut survey = survey::survey(engine, open, &key, &view, &known)?;
    for follow in &mut survey.follow {
        owner::inherit(engine, follow);
        owner::find_owner(engine, &key, follow).await?;
        owner::label_anew(engine, follow);
    }
    for lost in &survey.lost {
        keep_lost(engine, open, lost).await?;
    }
    // Whoever sees the branch's head must have seen what was published of it: else it looks like nobody's package. What went is
    // noted on the head before its own record goes, or becomes another revision's.
    let is_last = |f: &Follow| f.is_removal() || replaces_what_goes(f);
    let (gone, rest): (Vec<_>, Vec<_>) = survey.follow.into_iter().partition(is_last);
    let (heads, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_new_head);
    for part in [rest, heads, gone] {
        transaction::record(engine, part).await?;
    }
    drop(guard);
    for news in moved {
        let (kind, warning) = (OurKind::Repository, EventType::Warning);
        engine
            .tell(kind, open.key(), warning, news.reason, news.message)
            .await;
    }
    Ok(survey.problems)
}

/// Keeps the branch's old head reachable where somebody pushed over it, or deleted it.
async fn keep_branch(
    engine: &Engine,
    open: &OpenRepository,
    view: &View,
    before: &Seen,
) -> Result<()> {
    let branch = open.layout.branch_ref()?;
    let old = before.made.as_ref().or_else(|| before.refs.get(&branch));
    let Some(old) = old else {
        return Ok(());
    };
    let new = view.refs.get(&branch);
    // Where history cannot be followed nobody knows whether it was lost: one recovery ref too many is no harm.
    let stands = |new: &CommitId| old == new || open.repo.is_ancestor(*old, *new).unwrap_or(false);
    if new.is_some_and(stands) {
        return Ok(());
    }
    let lost = survey::Lost {
        name: open.layout.branch().to_owned(),
        commit: *old,
        deleted: new.is_none(),
    };
    keep_lost(engine, open, &lost).await
}

/// Keeps commits reachable that a push took out of a draft's history (V23), and tells of them. Where nothing of ours may be
/// written, that is all there is to do: the look goes on, with what is there now.
async fn keep_lost(engine: &Engine, open: &OpenRepository, lost: &survey::Lost) -> Result<()> {
    let failed = |source| Error::Store {
        attempt: "keep lost commits",
        source,
    };
    if !open.repo.has_commit(lost.commit).map_err(failed)? {
        return Ok(());
    }
    let Some(edit) = kept::edit(engine, &lost.name, lost.commit) else {
        return Ok(());
    };
    let kept = match registrations::writable(engine, open) {
        Err(why) => format!("it is not kept, since nothing is written there: {why}"),
        Ok(()) => {
            let name = edit.name.clone();
            if !transaction::keep(engine, open, "keep lost commits", edit).await? {
                return Ok(());
            }
            format!("it is kept as {}", name.as_str())
        }
    };
    let message = match lost.deleted {
        true => format!(
            "a push deleted {}, to which somebody had committed {}; {kept}",
            lost.name, lost.commit
        ),
        false => format!(
            "a push took commit {} out of the history of {}; {kept}",
            lost.commit, lost.name
        ),
    };
    let (kind, warning) = (OurKind::Repository, EventType::Warning);
    engine
        .tell(kind, open.key(), warning, "HistoryReplaced", message)
        .await;
    Ok(())
}

/// Whether this is the first record of what stands on the branch.
fn is_new_head(follow: &Follow) -> bool {
    let is_head = matches!(&follow.record, Record::Put { record, .. } if record.placeholder);
    is_head && follow.from.is_none()
}

/// Whether the record of a revision that was proposed to go becomes that of an open one of its name.
fn replaces_what_goes(follow: &Follow) -> bool {
    let is_open =
        matches!(&follow.record, Record::Put { record, .. } if !record.lifecycle.is_published());
    let from = follow.from.as_ref();
    is_open && from.is_some_and(|r| r.lifecycle == Lifecycle::DeletionProposed)
}

/// Whether git holds something that cannot be read, whoever asks.
fn is_unreadable(error: &Error) -> bool {
    let Error::Store { source, .. } = error else {
        return false;
    };
    matches!(
        source,
        store::Error::Missing { .. }
            | store::Error::Damaged { .. }
            | store::Error::TooLarge { .. }
            | store::Error::BrokenRef { .. }
    )
}

/// The refs of a repository that mean something to a registration.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// With what they are.
    pub(crate) kinds: BTreeMap<RefName, (RefKind, CommitId)>,
    /// By name alone.
    pub(crate) refs: BTreeMap<RefName, CommitId>,
    /// Refs that lead nowhere: what they held is not known to be gone.
    pub(crate) broken: BTreeMap<RefName, String>,
    problems: Vec<String>,
}

fn view(open: &OpenRepository, refs: &Refs) -> Result<View> {
    let mut view = View::default();
    for (name, commit) in refs {
        match open.layout.read(name) {
            Ok(Some(kind)) => {
                view.refs.insert(name.clone(), *commit);
                view.kinds.insert(name.clone(), (kind, *commit));
            }
            Ok(None) => {}
            Err(why) => view.problems.push(format!("ref {}: {why}", name.as_str())),
        }
    }
    view.broken = open.repo.broken_refs();
    let branch = open.layout.branch_ref()?;
    let ours =
        |name: &RefName| *name == branch || matches!(open.layout.read(name), Ok(Some(_)) | Err(_));
    for (name, why) in view.broken.iter().filter(|(name, _)| ours(name)) {
        let (name, why) = (name.to_string(), why.clone());
        let is_branch = name == branch.as_str();
        let error = store::Error::BrokenRef { name, why };
        if is_branch {
            // Without its branch nothing of the repository can be served or written.
            return Err(Error::Store {
                attempt: "read the branch",
                source: error,
            });
        }
        view.problems.push(error.to_string());
    }
    Ok(view)
}

/// The refs of a package that none of these records describes: what a list that came late hides, or
/// what was not looked into yet. What git says is the truth.
pub(crate) fn unseen(
    open: &OpenRepository,
    package: &PackageName,
    seen: &[Arc<Revision>],
) -> Result<BTreeSet<RefName>> {
    let view = package_view(open, package)?;
    let known = |kind: &RefKind, commit| {
        *kind == RefKind::Branch || seen.iter().any(|r| describes(r, kind, commit))
    };
    let refs = view.kinds.into_iter();
    let unseen = refs.filter(|(_, (kind, commit))| !known(kind, *commit));
    Ok(unseen.map(|(name, _)| name).collect())
}

/// The refs of one package, and the branch.
fn package_view(open: &OpenRepository, package: &PackageName) -> Result<View> {
    let failed = |source| Error::Store {
        attempt: "read the refs",
        source,
    };
    let dir = open.layout.dir(package);
    let mut view = View {
        broken: open.repo.broken_refs(),
        ..View::default()
    };
    let mut take = |name: &RefName, commit: CommitId| match open.layout.read(name) {
        Ok(Some(kind)) if kind.package().is_none_or(|p| p == package) => {
            view.refs.insert(name.clone(), commit);
            view.kinds.insert(name.clone(), (kind, commit));
        }
        _ => {}
    };
    let places = [
        "heads/drafts",
        "heads/proposed",
        "heads/deletionProposed",
        "tags",
    ];
    let below = |place| RefName::parse(&format!("refs/{place}/{dir}")).ok();
    let dirs: Vec<RefName> = places.into_iter().filter_map(below).collect();
    let branch = open.layout.branch_ref()?;
    for (name, commit) in open.repo.refs_of(&dirs, &[branch]).map_err(failed)? {
        take(&name, commit);
    }
    Ok(view)
}

/// Whether a record is the one of a ref.
fn same_ref(record: &Revision, kind: &RefKind) -> bool {
    let open = |lifecycle, workspace: &model::WorkspaceName| {
        record.lifecycle == lifecycle && record.workspace == *workspace
    };
    match kind {
        RefKind::Branch => false,
        RefKind::Draft(_, workspace) => open(Lifecycle::Draft, workspace),
        RefKind::Proposed(_, workspace) => open(Lifecycle::Proposed, workspace),
        RefKind::Tag(_, tag) => record.lifecycle.is_published() && is_tagged(record, tag),
        RefKind::DeletionProposed(_, what) => {
            record.lifecycle == Lifecycle::DeletionProposed
                && (is_tagged(record, what) || (record.placeholder && record.workspace == *what))
        }
    }
}

/// Whether a record already says what a ref says.
fn describes(record: &Revision, kind: &RefKind, commit: CommitId) -> bool {
    // A deletion proposal is marked by a ref's being there, wherever it points.
    let marks = matches!(kind, RefKind::DeletionProposed(..));
    same_ref(record, kind) && (marks || record.commit == commit)
}

/// Whether a published record has this tag.
pub(crate) fn is_tagged(record: &Revision, tag: &model::WorkspaceName) -> bool {
    if record.placeholder {
        return false;
    }
    let number = model::RevisionNumber::of_tag(tag.as_str());
    if number.is_numbered() {
        record.revision == number
    } else {
        !record.revision.is_numbered() && record.workspace == *tag
    }
}
