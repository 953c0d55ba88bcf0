//! Tags that were taken away past us: where no tag publishes a package any more, what the branch's history and open drafts
//! tell of the revisions that it had. It is asked only of packages without a published number.

use std::sync::Arc;

use model::{
    CommitId, ObjectName, PackageName, Revision, RevisionNumber, Variant, WorkspaceName,
    compose_name,
};
use plan::variant::{LostTag, base_of};

use crate::discover::{self, Approved};
use crate::git::Layout;
use crate::given_up::GivenUp;
use crate::index::PackageKey;
use crate::repos::OpenRepository;
use crate::{Engine, Result};

/// The tag that published last what the branch holds, if it is gone although nobody approved that, or although a draft of the variant was
/// derived from what it published.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn lost_tag(
    engine: &Engine,
    open: &OpenRepository,
    variant: &Variant,
    revisions: &[Arc<Revision>],
) -> Result<Option<LostTag>> {
    if base_of(revisions).is_some() {
        return Ok(None);
    }
    let head = revisions.iter().find(|r| r.placeholder);
    let based_on = based_on(variant, revisions);
    if head.is_none() && based_on.is_none() {
        return Ok(None);
    }
    let package = &variant.spec.downstream.package;
    // A list that came late may hide the record of a tag that is there; one that leads to no package publishes nothing.
    if discover::is_published(open, package)? {
        return Ok(None);
    }
    // Who takes the directory away, too, wants nothing of it; what an open draft took over of it is the draft's.
    let Some(head) = head else {
        return Ok(based_on.map(|commit| LostTag {
            tag: None,
            commit,
            revision: None,
            deleted: true,
        }));
    };
    let gone = given_up(engine, open, package);
    let dir = open.layout.dir(package);
    match discover::approved_before(open, &dir, head.commit, |n| gone.has(n))? {
        Some(approved) if is_being_recorded(&approved, revisions) => Ok(None),
        Some(approved) => {
            let tag = Layout::tag_of(RevisionNumber(approved.number));
            let tag = open.layout.tag(package, &tag)?;
            Ok(Some(LostTag {
                tag: Some(tag.short().to_owned()),
                commit: approved.commit,
                revision: named(variant, &approved),
                deleted: false,
            }))
        }
        None => {
            let Some(commit) = based_on else {
                return Ok(None);
            };
            let deleted = !gone.is_empty();
            let last = match deleted {
                true => discover::approved_before(open, &dir, head.commit, |_| false)?,
                false => None,
            };
            Ok(Some(LostTag {
                tag: None,
                commit,
                revision: last.and_then(|last| named(variant, &last)),
                deleted,
            }))
        }
    }
}

/// The highest number that was published of what the branch holds, where somebody approved that all of it goes.
///
/// # Errors
/// Git cannot be read.
pub(super) fn deleted_up_to(
    engine: &Engine,
    open: &OpenRepository,
    package: &PackageName,
    revisions: &[Arc<Revision>],
) -> Result<Option<RevisionNumber>> {
    if base_of(revisions).is_some() || !revisions.iter().any(|r| r.placeholder) {
        return Ok(None);
    }
    let Some(noted) = given_up(engine, open, package).highest() else {
        return Ok(None);
    };
    // A list that came late may hide the record of a tag that is there; one that leads to no commit publishes nothing.
    let mut unseen = discover::unseen(open, package, revisions)?.into_iter();
    if unseen.any(|name| name.as_str().starts_with("refs/tags/")) {
        return Ok(None);
    }
    let Some(head) = discover::head_of(open)? else {
        return Ok(None);
    };
    let told = discover::highest_number(open, &open.layout.dir(package), head)?;
    let tagged = discover::highest_tag(open, package)?;
    Ok(Some(noted.max(told).max(tagged)))
}

/// The revision that an approval published.
fn named(variant: &Variant, approved: &Approved) -> Option<ObjectName> {
    let place = &variant.spec.downstream;
    let workspace = WorkspaceName::parse(&approved.workspace).ok()?;
    ObjectName::parse(&compose_name(&place.repo, &place.package, &workspace)).ok()
}

/// Whether what was approved still stands as it was proposed: its tag is to be set.
fn is_being_recorded(approved: &Approved, revisions: &[Arc<Revision>]) -> bool {
    let still = |r: &Arc<Revision>| {
        !r.lifecycle.is_published()
            && r.workspace.as_str() == approved.workspace
            && approved.draft == Some(r.commit)
    };
    revisions.iter().any(still)
}

/// What an open draft of the variant was based on: it was published, whoever did that, and how.
fn based_on(variant: &Variant, revisions: &[Arc<Revision>]) -> Option<CommitId> {
    let uid = variant.meta.uid.as_ref()?;
    let mut open = revisions
        .iter()
        .filter(|r| !r.lifecycle.is_published() && r.meta.is_owned_by(uid));
    open.find_map(|r| r.machine.as_ref()?.base)
}

/// The numbers that somebody approved to delete, through whichever registration of the place.
fn given_up(engine: &Engine, open: &OpenRepository, package: &PackageName) -> GivenUp {
    let here = &open.repository.git;
    engine.world(|w| {
        let mut all = GivenUp::default();
        for stored in w.repositories.at(&here.repo) {
            let Ok(repository) = stored.parsed.as_ref() else {
                continue;
            };
            let git = &repository.git;
            if git.directory != here.directory || git.branch != here.branch {
                continue;
            }
            let key = PackageKey::new(&stored.key.namespace, &repository.name, package);
            let of_it = w.revisions.of_package(&key);
            for branch in of_it.iter().filter(|r| r.placeholder) {
                all.extend(&GivenUp::of(branch));
            }
        }
        all
    })
}
