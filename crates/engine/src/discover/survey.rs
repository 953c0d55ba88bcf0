//! What the records of one package should be, by its refs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use model::marks::LATEST;
use model::{
    CommitId, Lifecycle, Namespace, ObjectKey, OwnerReference, PackageName, Revision,
    RevisionNumber, WorkspaceName,
};

use super::history;
use super::precedence::own_first;
use super::record::{self, Origin};
use super::{View, is_tagged};
use crate::git::RefKind;
use crate::index::{PackageKey, World};
use crate::repos::OpenRepository;
use crate::transaction::Follow;
use crate::{Engine, Error, Result, given_up};

/// What follows for the records of one package.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Records to write and to remove.
    pub(crate) follow: Vec<Follow>,
    /// Commits that a push took out of a draft's history.
    pub(crate) lost: Vec<Lost>,
    /// What cannot be served, and why.
    pub(crate) problems: Vec<String>,
}

/// A commit that is not in its ref's history any more.
#[derive(Debug)]
pub(crate) struct Lost {
    /// The object name of its revision.
    pub(crate) name: String,
    /// The commit.
    pub(crate) commit: CommitId,
    /// Whether the ref itself is gone.
    pub(crate) deleted: bool,
}

/// What is said of an object name that another package has.
const TAKEN: &str = "is taken by package";

/// How such a problem begins.
pub(super) const OFF_BRANCH: &str = "BranchDiverged: ";

/// One record as it is and as it should be.
struct Want {
    known: Option<Arc<Revision>>,
    record: Revision,
}

/// Compares refs and records of a package.
pub(crate) fn survey(
    engine: &Engine,
    open: &OpenRepository,
    key: &PackageKey,
    view: &View,
    known: &[Arc<Revision>],
) -> Result<Survey> {
    let mut survey = Survey::default();
    let mut wants: BTreeMap<ObjectKey, Want> = BTreeMap::new();
    for origin in origins(open, key, view)? {
        let want = want(engine, open, key, &origin, known, &mut survey)?;
        let Some(want) = want else { continue };
        let name = want.record.key.clone();
        let taken = engine.world(|w| {
            let other = w.revisions.get(&name)?;
            (PackageKey::of(&other) != *key).then(|| PackageKey::of(&other))
        });
        if let Some(other) = taken {
            survey.problems.push(format!(
                "{} cannot be served: its object name {} {TAKEN} {}",
                origin.label(),
                name.name,
                other.package
            ));
            continue;
        }
        match wants.entry(name) {
            Entry::Vacant(place) => {
                place.insert(want);
            }
            Entry::Occupied(place) => survey.problems.push(format!(
                "{} cannot be served: another revision has the object name {}",
                origin.label(),
                place.key().name
            )),
        }
    }
    let mut given_up = Vec::new();
    for record in known {
        let unread = crate::recover::ref_of(record).is_some_and(|at| view.broken.contains_key(&at));
        if !wants.contains_key(&record.key) && !unread {
            survey.follow.push(Follow::lost(record));
            survey.lost.extend(taken_away(open, view, record)?);
        }
        // What somebody pushed under its name is served in its place.
        let other = |want: &Want| want.record.revision != record.revision;
        let is_gone = wants.get(&record.key).is_none_or(other) && !unread;
        if is_gone && record.lifecycle == Lifecycle::DeletionProposed && !record.placeholder {
            given_up.push(record.revision);
        }
    }
    // Whoever takes the tag away of what is proposed to go approves that.
    for want in wants.values_mut().filter(|w| w.record.placeholder) {
        given_up::note(&mut want.record, given_up.iter().copied());
    }
    survey.problems.extend(beside_branch(open, key, &wants)?);
    mark_latest(&mut wants);
    name_tasks(&mut wants);
    for want in wants.into_values() {
        if want.known.as_deref() != Some(&want.record) {
            survey.follow.push(Follow::found(want.record, want.known));
        }
    }
    Ok(survey)
}

/// What people committed to an open revision, or published beside the branch, whose ref somebody took away by git, unless the branch
/// has it (V23). What was proposed to go, and goes, somebody wanted gone.
fn taken_away(open: &OpenRepository, view: &View, record: &Revision) -> Result<Option<Lost>> {
    let failed = |source| Error::Store {
        attempt: "look for what people committed to a draft",
        source,
    };
    if record.placeholder || record.lifecycle == Lifecycle::DeletionProposed {
        return Ok(None);
    }
    let at = record.commit;
    let is_there = open.repo.has_commit(at).map_err(failed)?;
    if !is_there || !(record.lifecycle.is_published() || history::by_person(open, record)?) {
        return Ok(None);
    }
    let head = view.refs.get(&open.layout.branch_ref()?);
    let merged = head.map(|head| open.repo.is_ancestor(at, *head));
    let merged = merged.transpose().map_err(failed)?.unwrap_or(false);
    Ok((!merged).then(|| Lost {
        name: record.key.name.to_string(),
        commit: at,
        deleted: true,
    }))
}

/// The packages of which something is not served since another package has its object name.
pub(super) fn crowded_out(
    unserved: &BTreeMap<PackageName, Vec<String>>,
) -> impl Iterator<Item = &PackageName> {
    let crowded = |problems: &[String]| problems.iter().any(|p| p.contains(TAKEN));
    let all = unserved.iter();
    all.filter(move |(_, problems)| crowded(problems))
        .map(|(package, _)| package)
}

/// Where the revisions of a package stand: its tags, then proposals and drafts that are no tag yet,
/// then the branch's directory. A draft whose history is not its proposal's comes behind it: it cannot be served, and is told of.
fn origins(open: &OpenRepository, key: &PackageKey, view: &View) -> Result<Vec<Origin>> {
    let mut origins = Vec::new();
    let mut drafts: BTreeMap<&WorkspaceName, CommitId> = BTreeMap::new();
    let mut proposals: BTreeMap<&WorkspaceName, CommitId> = BTreeMap::new();
    let deletion = |what: &WorkspaceName| {
        let proposed = RefKind::DeletionProposed(key.package.clone(), what.clone());
        view.kinds.values().any(|(kind, _)| *kind == proposed)
    };
    let mut head = None;
    let mut tags = Vec::new();
    for (kind, commit) in view.kinds.values() {
        match kind {
            RefKind::Tag(_, tag) => tags.push((tag.clone(), *commit)),
            RefKind::Draft(_, ws) => drop(drafts.insert(ws, *commit)),
            RefKind::Proposed(_, ws) => drop(proposals.insert(ws, *commit)),
            RefKind::Branch => head = Some(*commit),
            RefKind::DeletionProposed(..) => {}
        }
    }
    own_first(open, &key.package, &mut tags)?;
    let tagged = tags.iter();
    origins.extend(tagged.map(|(tag, commit)| Origin::tag(tag, *commit, deletion(tag))));
    // Porch's pushes are not atomic: where both stand and one leads to the other, the later step counts.
    drafts.retain(|ws, draft| {
        let proposal = proposals.get(ws);
        !proposal.is_some_and(|proposal| are_one_history(open, *draft, *proposal))
    });
    let steps = [(Lifecycle::Proposed, proposals), (Lifecycle::Draft, drafts)];
    for (lifecycle, all) in steps {
        let open_ones = all
            .into_iter()
            .filter(|(ws, at)| !approved(open, view, ws, *at));
        origins.extend(open_ones.map(|(ws, at)| Origin::open(lifecycle, ws, at)));
    }
    let branch = WorkspaceName::parse(open.layout.branch());
    if let (Some(head), Ok(branch)) = (head, branch) {
        origins.extend(branch_origin(open, key, head, &branch, deletion(&branch))?);
    }
    Ok(origins)
}

/// What is told of a published package where the branch holds something in its place that is no package of its own. One whose
/// directory is gone was taken away on purpose.
fn beside_branch(
    open: &OpenRepository,
    key: &PackageKey,
    wants: &BTreeMap<ObjectKey, Want>,
) -> Result<Option<String>> {
    let mut all = wants.values().map(|want| &want.record);
    if all.any(|r| r.placeholder) {
        return Ok(None);
    }
    let records = wants.values().map(|want| &want.record);
    let published = records.filter(|r| r.lifecycle.is_published() && r.revision.is_numbered());
    let Some(latest) = published.max_by_key(|r| r.revision) else {
        return Ok(None);
    };
    let off = super::off_branch(open, &key.package, Some(latest.tree))?;
    let off = off.filter(|off| *off != plan::OffBranch::Gone);
    Ok(off.map(|off| {
        let what = off.what(&key.package, open.layout.branch());
        format!("{OFF_BRANCH}{what}; {}", off.way_out(latest))
    }))
}

/// Whether one of two commits leads to the other. What cannot be read now is taken for it: it is looked at again.
fn are_one_history(open: &OpenRepository, one: CommitId, other: CommitId) -> bool {
    let leads = |from, to| open.repo.is_ancestor(from, to).unwrap_or(true);
    one == other || leads(one, other) || leads(other, one)
}

/// A draft that a tag approved: its ref was left over by a half push.
pub(super) fn approved(
    open: &OpenRepository,
    view: &View,
    workspace: &WorkspaceName,
    commit: CommitId,
) -> bool {
    let tags = view
        .kinds
        .values()
        .filter(|(kind, _)| matches!(kind, RefKind::Tag(..)));
    tags.into_iter().any(|(_, tag)| {
        history::workspace_of(open, *tag).as_deref() == Some(workspace.as_str())
            && open.repo.is_ancestor(commit, *tag).unwrap_or(false)
    })
}

fn branch_origin(
    open: &OpenRepository,
    key: &PackageKey,
    head: CommitId,
    branch: &WorkspaceName,
    deletion: bool,
) -> Result<Option<Origin>> {
    let failed = |source| Error::Store {
        attempt: "read the branch",
        source,
    };
    let dir = open.layout.dir(&key.package);
    let root = open.repo.commit(head).map_err(failed)?.tree;
    let at = store::Dir::from(&key.package);
    let found = open.repo.package(root, open.layout.root(), &at);
    if found.map_err(failed)?.is_none() {
        return Ok(None);
    }
    let commit = open.repo.last_change(head, &dir).map_err(failed)?;
    Ok(commit.map(|commit| Origin::head(branch, commit, deletion)))
}

/// The record that an origin should have; `None` if there is no package in it, which is then a problem of the survey.
fn want(
    engine: &Engine,
    open: &OpenRepository,
    key: &PackageKey,
    origin: &Origin,
    known: &[Arc<Revision>],
    survey: &mut Survey,
) -> Result<Option<Want>> {
    let lifecycle = origin.lifecycle;
    let same = known.iter().find(|r| origin.is(r));
    if let Some(before) = same.filter(|r| r.commit == origin.commit) {
        let mut record = Revision::clone(before);
        if record.lifecycle != lifecycle {
            record.lifecycle = lifecycle;
            record.self_lock = Some(record::self_lock(open, &key.package, origin, record.commit));
        }
        record.deployment = open.repository.deployment;
        // Its package is not read again, and what is wrong with it is as it was.
        let unreadable = record::why_unreadable(before);
        survey
            .problems
            .extend(unreadable.map(|why| format!("{}: {why}", origin.label())));
        engine.world(|w| {
            let namespace = &record.key.namespace;
            record.meta.owners.retain(|o| !is_stranger(w, namespace, o));
        });
        return Ok(Some(Want {
            known: Some(Arc::clone(before)),
            record,
        }));
    }
    let built = record::build(engine, open, key, origin, known)?;
    survey.problems.extend(
        built
            .problems
            .iter()
            .map(|p| format!("{}: {p}", origin.label())),
    );
    let Some(record) = built.record else {
        return Ok(None);
    };
    let before = known.iter().find(|r| r.key == record.key).cloned();
    if let Some(before) = &before
        && !before.placeholder
        && !open
            .repo
            .is_ancestor(before.commit, origin.commit)
            .unwrap_or(false)
    {
        survey.lost.push(Lost {
            name: before.key.name.to_string(),
            commit: before.commit,
            deleted: false,
        });
    }
    Ok(Some(Want {
        known: before,
        record,
    }))
}

/// Whether a variant of another namespace is named as an owner of a record: whoever looks for it in the record's own
/// namespace, as clusters do, takes the record for one without an owner, and deletes it, in git, too (V25).
pub(super) fn has_stranger(world: &World, record: &Revision) -> bool {
    let namespace = &record.key.namespace;
    record
        .meta
        .owners
        .iter()
        .any(|o| is_stranger(world, namespace, o))
}

fn is_stranger(world: &World, namespace: &Namespace, owner: &OwnerReference) -> bool {
    let variant = world.variant_of_uid(&owner.uid);
    variant.is_some_and(|v| v.key.namespace != *namespace)
}

/// The label of the latest published revision stands on it alone.
fn mark_latest(wants: &mut BTreeMap<ObjectKey, Want>) {
    let latest = wants
        .values()
        .map(|w| &w.record)
        .filter(|r| r.lifecycle.is_published() && r.revision.is_numbered() && !r.placeholder)
        .map(|r| r.revision)
        .max();
    for want in wants.values_mut() {
        label_latest(&mut want.record, latest);
    }
}

/// The branch's head says how the revision that was approved to it was made, as Porch shows it. What a person pushed
/// there keeps what was said before.
fn name_tasks(wants: &mut BTreeMap<ObjectKey, Want>) {
    let Some(head) = wants.values().find(|w| w.record.placeholder) else {
        return;
    };
    let tree = head.record.tree;
    let approved = wants
        .values()
        .map(|w| &w.record)
        .filter(|r| r.lifecycle.is_published() && !r.placeholder && r.tree == tree)
        .max_by_key(|r| r.revision);
    let Some(tasks) = approved.map(|r| r.tasks.clone()) else {
        return;
    };
    for want in wants.values_mut().filter(|w| w.record.placeholder) {
        want.record.tasks.clone_from(&tasks);
    }
}

/// Sets or takes the label by the package's highest number.
pub(crate) fn label_latest(record: &mut Revision, latest: Option<RevisionNumber>) {
    let is_latest = record.lifecycle.is_published()
        && !record.placeholder
        && record.revision.is_numbered()
        && Some(record.revision) == latest;
    if is_latest {
        record
            .meta
            .labels
            .insert(LATEST.to_owned(), "true".to_owned());
    } else {
        record.meta.labels.remove(LATEST);
    }
}

impl Origin {
    /// Whether a record is the one of this origin.
    fn is(&self, record: &Revision) -> bool {
        match &self.tag {
            Some(tag) => record.lifecycle.is_published() && is_tagged(record, tag),
            None if self.placeholder => record.placeholder,
            None => {
                !record.placeholder
                    && record.workspace == self.workspace
                    && !record.lifecycle.is_published()
            }
        }
    }
}
