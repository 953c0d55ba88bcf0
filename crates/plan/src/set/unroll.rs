//! Targets unrolled: one entry for each repository or object and package (R132–R136, §2.3).

use model::{ObjectSelector, PackageName, TargetSelection, VariantSet};

use super::observed::{Object, Observed, SelectionFailure};

/// What an entry stems from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// An entry of an explicit list.
    Listed,
    /// A selected object.
    Selected(Object),
}

/// One variant that shall be, before its template is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The target's index.
    pub(super) target: usize,
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
    /// Selections that are unknown, by target, with the reason (S2).
    pub(super) failed: Vec<(usize, &'static str, String)>,
    /// Targets whose selector selects nothing (S3).
    pub(super) empty: Vec<usize>,
}

pub(super) fn unroll(o: &Observed, set: &VariantSet) -> Unrolled {
    let mut unrolled = Unrolled::default();
    let default = [set.spec.upstream.package.clone()];
    for (i, target) in set.spec.targets.iter().enumerate() {
        let before = unrolled.entries.len();
        match &target.selection {
            TargetSelection::Repositories(list) => {
                for (repo, packages) in list {
                    for package in or_default(packages, &default) {
                        unrolled.entries.push(Entry {
                            target: i,
                            repo: repo.to_string(),
                            package: package.clone(),
                            origin: Origin::Listed,
                        });
                    }
                }
                continue;
            }
            TargetSelection::RepositorySelector { selector, packages } => {
                let matching = o
                    .repositories
                    .iter()
                    .filter(|(_, r)| selector.matches(&r.labels))
                    .map(|(name, r)| Object {
                        name: name.to_string(),
                        namespace: set.key.namespace.to_string(),
                        labels: r.labels.clone(),
                        annotations: r.annotations.clone(),
                    });
                unrolled.select(i, matching, or_default(packages, &default));
            }
            TargetSelection::ObjectSelector { selector, packages } => {
                match objects(o, i, selector) {
                    Ok(objects) => {
                        unrolled.select(i, objects.into_iter(), or_default(packages, &default));
                    }
                    Err((reason, message)) => {
                        unrolled.failed.push((i, reason, message));
                        continue;
                    }
                }
            }
        }
        if unrolled.entries.len() == before {
            unrolled.empty.push(i);
        }
    }
    unrolled
}

impl Unrolled {
    fn select(
        &mut self,
        target: usize,
        objects: impl Iterator<Item = Object>,
        packages: &[PackageName],
    ) {
        for object in objects {
            for package in packages {
                self.entries.push(Entry {
                    target,
                    repo: object.name.clone(),
                    package: package.clone(),
                    origin: Origin::Selected(object.clone()),
                });
            }
        }
    }
}

fn or_default<'a>(packages: &'a [PackageName], default: &'a [PackageName]) -> &'a [PackageName] {
    if packages.is_empty() {
        default
    } else {
        packages
    }
}

/// The objects of a selector, by namespace and name.
fn objects(
    o: &Observed,
    target: usize,
    selector: &ObjectSelector,
) -> Result<Vec<Object>, (&'static str, String)> {
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
        Some(Err(SelectionFailure::Unavailable(why))) => Err((
            "SelectionUnknown",
            format!("spec.targets[{target}]: {kind} cannot be listed now: {why}"),
        )),
        Some(Ok(objects)) => {
            let mut matching: Vec<Object> = objects
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
