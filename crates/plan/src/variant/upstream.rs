//! Which revision of the upstream package a variant wants (A2).

use std::sync::Arc;

use model::{CommitId, Lifecycle, Revision, Upstream, UpstreamVersion, WorkspaceName};

/// How many revisions a message names.
const NAMED: usize = 5;

/// What `spec.upstream` comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamResolution {
    /// This revision.
    Found(Arc<Revision>),
    /// There is none (yet).
    NotFound {
        /// What could be followed instead, newest first, as messages name it: a few.
        others: Vec<String>,
    },
    /// There is one, and it is not published (V24).
    NotPublished(Arc<Revision>),
}

/// Finds the upstream revision among all revisions of the upstream package.
///
/// `branch` is the upstream repository's branch: its name as a version means the branch's head
/// (A2). The order of the revisions does not matter. A commit that the upstream states is taken whatever its version
/// names by now (F7).
pub fn resolve_upstream(
    revisions: &[Arc<Revision>],
    upstream: &Upstream,
    branch: &str,
) -> UpstreamResolution {
    let candidates = || {
        revisions
            .iter()
            .filter(|r| r.repository == upstream.repo && r.package == upstream.package)
            .filter(|r| !r.meta.is_deleting())
    };
    let named = named_by(revisions, upstream, branch);
    let found = match upstream.commit {
        Some(commit) => at_commit(candidates(), named, commit),
        None => named,
    };
    match found {
        None => UpstreamResolution::NotFound {
            others: others(candidates(), upstream),
        },
        Some(r) if r.lifecycle.is_published() || upstream.allow_unpublished => {
            UpstreamResolution::Found(Arc::clone(r))
        }
        Some(r) => UpstreamResolution::NotPublished(Arc::clone(r)),
    }
}

/// The revision whose content is at a commit: the one that the version names where it is there, else a published one,
/// the highest first. The branch's head is one only where the version names it: where a tag is meant whose record is not
/// known yet, the commit itself tells its name.
fn at_commit<'a>(
    revisions: impl Iterator<Item = &'a Arc<Revision>>,
    named: Option<&'a Arc<Revision>>,
    commit: CommitId,
) -> Option<&'a Arc<Revision>> {
    let is_there = |r: &&Arc<Revision>| commit_of(r) == commit;
    named.filter(is_there).or_else(|| {
        revisions
            .filter(|r| !r.placeholder && is_there(r))
            .max_by_key(|r| (r.lifecycle.is_published(), r.revision, r.workspace.clone()))
    })
}

/// The commit that locks name for a revision's content (V1).
pub(crate) fn commit_of(revision: &Revision) -> CommitId {
    let lock = revision.self_lock.as_ref();
    lock.and_then(|lock| lock.commit).unwrap_or(revision.commit)
}

/// The revision that the version names now.
fn named_by<'a>(
    revisions: &'a [Arc<Revision>],
    upstream: &Upstream,
    branch: &str,
) -> Option<&'a Arc<Revision>> {
    let candidates = || {
        revisions
            .iter()
            .filter(|r| r.repository == upstream.repo && r.package == upstream.package)
            .filter(|r| !r.meta.is_deleting())
    };
    let head = || candidates().find(|r| r.placeholder);
    let named = |workspace: &WorkspaceName| {
        candidates()
            .filter(|r| !r.placeholder && r.workspace == *workspace)
            .max_by_key(|r| (r.lifecycle.is_published(), r.revision))
    };
    match &upstream.version {
        UpstreamVersion::Latest => latest_published(candidates()).or_else(|| {
            upstream
                .allow_unpublished
                .then(|| newest_draft(candidates()))?
        }),
        UpstreamVersion::Revision(number) => candidates()
            .filter(|r| !r.placeholder && r.lifecycle.is_published())
            .find(|r| r.revision.0 == *number),
        UpstreamVersion::Named(name) if name.as_str() == branch => head(),
        UpstreamVersion::Named(name) => named(name).or_else(|| tagged(candidates(), name)),
        UpstreamVersion::Workspace(name) => named(name),
        UpstreamVersion::Tag(name) => tagged(candidates(), name),
        UpstreamVersion::BranchHead => head(),
    }
}

/// What could be followed instead: as the spec would name it, newest first.
fn others<'a>(
    revisions: impl Iterator<Item = &'a Arc<Revision>>,
    upstream: &Upstream,
) -> Vec<String> {
    let mut others: Vec<&Revision> = revisions
        .filter(|r| !r.placeholder && (r.lifecycle.is_published() || upstream.allow_unpublished))
        .map(AsRef::as_ref)
        .collect();
    others.sort_by(|a, b| (b.revision, &a.workspace).cmp(&(a.revision, &b.workspace)));
    let named = |r: &&Revision| match &upstream.version {
        UpstreamVersion::Workspace(_) => r.workspace.to_string(),
        _ if r.revision.is_numbered() => format!("v{}", r.revision),
        _ => r.workspace.to_string(),
    };
    let mut names: Vec<String> = others.iter().take(NAMED).map(named).collect();
    if let Some(more) = others.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names
}

/// That the wanted upstream is not there, and what is (R113).
pub(crate) fn not_found(upstream: &Upstream, others: &[String]) -> String {
    let mut text = format!(
        "could not find upstream package revision '{}' in repo '{}'",
        display(upstream),
        upstream.repo
    );
    if !others.is_empty() {
        text.push_str("; there are: ");
        text.push_str(&others.join(", "));
        if upstream.version == UpstreamVersion::Latest && upstream.commit.is_none() {
            // Whatever has a number would have been taken.
            text.push_str(
                "; none of them has a number, as what a tag vN publishes has: spec.upstream.revision names one of them",
            );
        }
    }
    text
}

fn latest_published<'a>(
    revisions: impl Iterator<Item = &'a Arc<Revision>>,
) -> Option<&'a Arc<Revision>> {
    revisions
        .filter(|r| r.lifecycle.is_published() && r.revision.is_numbered())
        .max_by_key(|r| r.revision)
}

/// The draft that was made last; any order gives the same.
fn newest_draft<'a>(
    revisions: impl Iterator<Item = &'a Arc<Revision>>,
) -> Option<&'a Arc<Revision>> {
    revisions
        .filter(|r| matches!(r.lifecycle, Lifecycle::Draft | Lifecycle::Proposed))
        .max_by_key(|r| (r.meta.created.clone(), r.workspace.clone()))
}

/// A tag of this name: `v3` is a published number, anything else stands as an unnumbered
/// revision whose workspace is the tag's last segment.
fn tagged<'a>(
    revisions: impl Iterator<Item = &'a Arc<Revision>>,
    name: &WorkspaceName,
) -> Option<&'a Arc<Revision>> {
    let number = model::RevisionNumber::of_tag(name.as_str());
    revisions
        .filter(|r| !r.placeholder && r.lifecycle.is_published())
        .find(|r| {
            if number.is_numbered() {
                r.revision == number
            } else {
                !r.revision.is_numbered() && r.workspace == *name
            }
        })
}

/// How many digits of a commit messages name.
const DIGITS: usize = 7;

/// The first digits of a commit.
pub(crate) fn short(commit: CommitId) -> String {
    commit.to_string().chars().take(DIGITS).collect()
}

/// The wanted upstream as messages name it: `app/v3` (as its tag is called), `app/stable`, or `app` for the latest (R113).
pub(crate) fn display(upstream: &Upstream) -> String {
    let package = &upstream.package;
    if let Some(commit) = upstream.commit {
        return format!("{package}@{}", short(commit));
    }
    match &upstream.version {
        UpstreamVersion::Latest => package.to_string(),
        UpstreamVersion::Revision(number) => format!("{package}/v{number}"),
        UpstreamVersion::Named(name)
        | UpstreamVersion::Workspace(name)
        | UpstreamVersion::Tag(name) => format!("{package}/{name}"),
        UpstreamVersion::BranchHead => format!("{package}/-1"),
    }
}
