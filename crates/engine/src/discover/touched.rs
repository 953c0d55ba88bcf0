//! Which packages a look at a repository goes into. Reads refs, records and the branch's tree; never a package.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{CommitId, Lifecycle, PackageName, Revision};

use super::{View, describes, record, same_ref, survey};
use crate::git::RefKind;
use crate::index::PackageKey;
use crate::repos::{OpenRepository, Seen};
use crate::{Engine, Error, Result};

/// The packages that have to be looked into: where a ref is neither what was seen last nor what
/// its record says, where a record has no ref, and where the branch's directory differs. Where the branch was looked
/// into, also what of it is beyond the limits.
pub(super) fn touched(
    engine: &Engine,
    open: &OpenRepository,
    view: &View,
    before: &Seen,
) -> Result<(BTreeSet<PackageName>, Option<Vec<String>>)> {
    let (namespace, repository) = (&open.key().namespace, &open.repository.name);
    let mut touched = BTreeSet::new();
    let package_key = |package: &PackageName| PackageKey::new(namespace, repository, package);
    for (name, (kind, commit)) in &view.kinds {
        let Some(package) = kind.package() else {
            continue;
        };
        if before.refs.get(name) != Some(commit) {
            let known = engine.world(|w| w.revisions.of_package(&package_key(package)));
            if !known.iter().any(|r| describes(r, kind, *commit)) {
                touched.insert(package.clone());
            }
        }
    }
    for name in before.refs.keys().filter(|n| !view.refs.contains_key(*n)) {
        if let Ok(Some(kind)) = open.layout.read(name)
            && let Some(package) = kind.package()
        {
            let known = engine.world(|w| w.revisions.of_package(&package_key(package)));
            if known.iter().any(|r| same_ref(r, &kind)) {
                touched.insert(package.clone());
            }
        }
    }
    let branch = open.layout.branch_ref()?;
    let head = view.refs.get(&branch);
    let mut beyond = None;
    if !before.whole || before.refs.get(&branch) != head {
        let (changed, why) = changed_on_branch(engine, open, head.copied())?;
        touched.extend(changed);
        touched.extend(off_branch(engine, open, before));
        beyond = Some(why);
    }
    let all = engine.world(|w| w.revisions.of_repository(namespace, repository));
    // Also what was made since the last look: it may have been taken away before this one.
    let named = before.whole.then_some(&view.broken);
    let lost = all
        .iter()
        .filter(|r| crate::recover::is_lost(r, &view.refs, named));
    touched.extend(lost.map(|r| r.package.clone()));
    touched.extend(unmarked(open, view, &all));
    if !before.whole {
        // What is told of a package whose Kptfile cannot be read was told by the process before this one.
        let is_told = |r: &Revision| record::why_unreadable(r).is_some();
        let strange = all
            .iter()
            .filter(|r| is_told(r) || engine.world(|w| survey::has_stranger(w, r)));
        touched.extend(strange.map(|r| r.package.clone()));
    }
    Ok((touched, beyond))
}

/// The packages of records whose deletion is proposed, and is not: the mark may have come and gone between two looks, and a look
/// at its package alone saw it.
fn unmarked(open: &OpenRepository, view: &View, all: &[Arc<Revision>]) -> BTreeSet<PackageName> {
    let is_mark = |kind: &RefKind| matches!(kind, RefKind::DeletionProposed(..));
    let kinds = view.kinds.values().map(|(kind, _)| kind);
    let readable = kinds.filter(|kind| is_mark(kind)).cloned();
    let others = view.broken.keys();
    let unreadable = others.filter_map(|name| open.layout.read(name).ok()?);
    let mut marks: BTreeMap<PackageName, Vec<RefKind>> = BTreeMap::new();
    for mark in readable.chain(unreadable.filter(is_mark)) {
        if let Some(package) = mark.package().cloned() {
            marks.entry(package).or_default().push(mark);
        }
    }
    let is_marked = |record: &Revision| {
        let of_it = marks.get(&record.package);
        of_it.is_some_and(|marks| marks.iter().any(|mark| same_ref(record, mark)))
    };
    let proposed = all
        .iter()
        .filter(|record| record.lifecycle == Lifecycle::DeletionProposed);
    let unmarked = proposed.filter(|record| !is_marked(record));
    unmarked.map(|record| record.package.clone()).collect()
}

/// The packages of which it is told that the branch holds no package in their place, and at first those that may be such:
/// what is published of them has no record of the branch beside it.
fn off_branch(engine: &Engine, open: &OpenRepository, before: &Seen) -> BTreeSet<PackageName> {
    let told = before.unserved.iter().filter(|(_, problems)| {
        let mut problems = problems.iter();
        problems.any(|p| p.starts_with(survey::OFF_BRANCH))
    });
    let mut found: BTreeSet<_> = told.map(|(package, _)| package.clone()).collect();
    if !before.whole {
        let (namespace, repository) = (&open.key().namespace, &open.repository.name);
        let all = engine.world(|w| w.revisions.of_repository(namespace, repository));
        let heads = all.iter().filter(|r| r.placeholder);
        let on_branch: BTreeSet<&PackageName> = heads.map(|r| &r.package).collect();
        let published = all.iter().filter(|r| r.revision.is_numbered());
        let without = published.filter(|r| !on_branch.contains(&r.package));
        found.extend(without.map(|r| r.package.clone()));
    }
    found
}

/// Packages whose directory on the branch is not what their placeholder says.
fn changed_on_branch(
    engine: &Engine,
    open: &OpenRepository,
    head: Option<CommitId>,
) -> Result<(BTreeSet<PackageName>, Vec<String>)> {
    let failed = |source| Error::Store {
        attempt: "read the branch",
        source,
    };
    let mut trees = BTreeMap::new();
    let mut beyond = Vec::new();
    if let Some(head) = head {
        let root = open.repo.commit(head).map_err(failed)?.tree;
        let packages = open.repo.packages(root, open.layout.root());
        let packages = packages.map_err(failed)?;
        beyond = packages.beyond;
        // A name that cannot be served is told like any other directory that is left out.
        for (dir, tree) in packages.found {
            match PackageName::parse(dir.as_str()) {
                Ok(package) => drop(trees.insert(package, tree)),
                Err(_) if dir.is_root() => {
                    beyond.push("the Kptfile at the top: packages have directories".to_owned());
                }
                Err(why) => beyond.push(why.to_string()),
            }
        }
    }
    let (namespace, repository) = (&open.key().namespace, &open.repository.name);
    let known: BTreeMap<PackageName, model::TreeId> = engine.world(|w| {
        let all = w.revisions.of_repository(namespace, repository);
        let heads = all.iter().filter(|r| r.placeholder);
        heads.map(|r| (r.package.clone(), r.tree)).collect()
    });
    let names = trees.keys().chain(known.keys());
    let changed = names.filter(|name| trees.get(*name) != known.get(*name));
    Ok((changed.cloned().collect(), beyond))
}
