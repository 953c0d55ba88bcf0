//! Targets unrolled: one entry for each repository or object and package (R132–R136).

use std::sync::Arc;

use model::{ObjectSelector, PackageName, Revision, TargetSelection, Upstream, VariantSet};

use super::observed::{Observed, SelectedObject, SelectionFailure};
use crate::variant::words::{WRITER_UNKNOWN, writer_unknown};

/// An upstream package and its revision to follow.
pub(super) struct Source {
    pub(super) wanted: Upstream,
    pub(super) revision: Arc<Revision>,
    /// Whether the set itself names it.
    pub(super) listed: bool,
}

/// The most targets of one set.
pub const MAX_TARGETS: usize = 50_000;

/// Reason and message.
pub(super) type UnrollFailure = (&'static str, String);

/// What an entry stems from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// An entry of an explicit list.
    Listed,
    /// A selected object.
    Selected(Arc<SelectedObject>),
}

/// One variant that shall be, before its template is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The target's index.
    pub(super) target: usize,
    /// The upstream's index.
    pub(super) upstream: usize,
    /// The repository, unless the template says otherwise. A text: an object's name need not be
    /// a repository's.
    pub(super) repo: String,
    /// The package, unless the template says otherwise.
    pub(super) package: PackageName,
    pub(super) origin: Origin,
}

/// Everything that the targets select.
#[derive(Debug, Default)]
pub(super) struct Unrolled {
    pub(super) entries: Vec<Entry>,
    /// How many entries there are, also beyond what one set may have: those are counted alone.
    pub(super) count: usize,
    /// Upstream packages that are not there: what would follow from them is unknown.
    pub(super) lost: Vec<UnrollFailure>,
    /// Selections that are unknown, with the reason (S2).
    pub(super) failed: Vec<UnrollFailure>,
    /// How many of those are of kinds that are not served: their deletions can be confirmed (S3).
    pub(super) unserved: usize,
    /// Targets whose selector selects nothing (S3).
    pub(super) empty: Vec<usize>,
}

pub(super) fn unroll(o: &Observed, set: &VariantSet, upstreams: &[Source]) -> Unrolled {
    let mut unrolled = Unrolled::default();
    if upstreams.is_empty() {
        return unrolled;
    }
    for (i, target) in set.spec.targets.iter().enumerate() {
        let before = unrolled.count;
        match &target.selection {
            TargetSelection::Repositories(list) => {
                for (repo, packages) in list {
                    let (repo, origin) = (repo.to_string(), Origin::Listed);
                    unrolled.add(i, &repo, &origin, each(upstreams, packages));
                }
                continue;
            }
            TargetSelection::RepositorySelector { selector, packages } => {
                let matching = o
                    .repositories
                    .iter()
                    .filter(|(_, r)| selector.matches(&r.labels))
                    .map(|(name, r)| SelectedObject {
                        name: name.to_string(),
                        namespace: set.key.namespace.to_string(),
                        labels: r.labels.clone(),
                        annotations: r.annotations.clone(),
                    });
                unrolled.select(i, matching.map(Arc::new), upstreams, packages);
            }
            TargetSelection::ObjectSelector { selector, packages } => {
                match objects(o, i, selector) {
                    Ok(objects) => {
                        unrolled.select(i, objects.into_iter(), upstreams, packages);
                    }
                    Err(failure) => {
                        let why = o.selected.get(&i).and_then(|s| s.as_ref().err());
                        let unserved = why == Some(&SelectionFailure::KindMissing);
                        unrolled.unserved += usize::from(unserved);
                        unrolled.failed.push(failure);
                        continue;
                    }
                }
            }
        }
        if unrolled.count == before {
            unrolled.empty.push(i);
        }
    }
    unrolled
}

impl Unrolled {
    fn select(
        &mut self,
        target: usize,
        objects: impl Iterator<Item = Arc<SelectedObject>>,
        upstreams: &[Source],
        packages: &[PackageName],
    ) {
        for object in objects {
            let name = object.name.clone();
            let origin = Origin::Selected(object);
            self.add(target, &name, &origin, each(upstreams, packages));
        }
    }

    fn add<'a>(
        &mut self,
        target: usize,
        repo: &str,
        origin: &Origin,
        packages: impl Iterator<Item = (usize, &'a PackageName)>,
    ) {
        for (upstream, package) in packages {
            self.count += 1;
            if self.count > MAX_TARGETS {
                continue;
            }
            self.entries.push(Entry {
                target,
                upstream,
                repo: repo.to_owned(),
                package: package.clone(),
                origin: origin.clone(),
            });
        }
    }

    /// How many things are not known that targets would follow from.
    pub(super) fn unknown(&self) -> usize {
        self.failed.len() + self.lost.len()
    }

    /// Whether something is not known that may be known again: nothing is deleted, whoever confirms it (S2).
    pub(super) fn is_stuck(&self) -> bool {
        self.unknown() > self.unserved
    }
}

/// Each upstream with the packages that are listed, else with its own name.
fn each<'a>(
    upstreams: &'a [Source],
    packages: &'a [PackageName],
) -> impl Iterator<Item = (usize, &'a PackageName)> {
    upstreams.iter().enumerate().flat_map(move |(i, source)| {
        let own = packages.is_empty().then_some(&source.wanted.package);
        packages.iter().chain(own).map(move |package| (i, package))
    })
}

/// The objects of a selector, by namespace and name.
fn objects(
    o: &Observed,
    target: usize,
    selector: &ObjectSelector,
) -> Result<Vec<Arc<SelectedObject>>, (&'static str, String)> {
    let kind = format!("{} {}", selector.api_version, selector.kind);
    match o.selected.get(&target) {
        None => Err((
            "SelectionUnknown",
            format!("spec.targets[{target}]: objects of {kind} are not known yet"),
        )),
        Some(Err(SelectionFailure::KindMissing)) => Err((
            "NoMatchingTargets",
            format!(
                "spec.targets[{target}]: no matches for kind {:?} in version {:?}",
                selector.kind, selector.api_version
            ),
        )),
        Some(Err(SelectionFailure::Forbidden(why))) => Err((
            "SelectionForbidden",
            format!("spec.targets[{target}]: {kind} cannot be listed: {why}"),
        )),
        Some(Err(SelectionFailure::WriterUnknown)) => Err((
            WRITER_UNKNOWN,
            format!(
                "spec.targets[{target}]: {kind} is listed for nobody: {}",
                writer_unknown("pvset", o.set.key())
            ),
        )),
        Some(Err(SelectionFailure::Unavailable(why))) => Err((
            "SelectionUnknown",
            format!("spec.targets[{target}]: {kind} cannot be listed now: {why}"),
        )),
        Some(Ok(objects)) => {
            let mut matching: Vec<Arc<SelectedObject>> = objects
                .iter()
                .filter(|object| selector.labels.matches(&object.labels))
                .filter(|object| selector.name.as_ref().is_none_or(|n| *n == object.name))
                .cloned()
                .collect();
            matching.sort();
            Ok(matching)
        }
    }
}
