//! People who push with git, beside us: a release of the upstream, noise on a branch, an edit of a
//! draft. What git took from them is promised.

use std::sync::Arc;

use model::{CommitId, Files, ObjectKey, Uid};
use store::{
    Answer, CommitSpec, Content, Dir, Expect, MemoryStore, Opaque, RefEdit, RefName, Repo, Scope,
    Snapshot, Submission,
};

use super::fixtures::{EDITED, NS, TARGETS, mark, path, person, upstream};
use super::ledger::{Edit, Ledger};
use super::links;
use crate::twin::key;

/// The branch that packages are published on.
pub(super) fn main() -> RefName {
    RefName::branch("main").expect("a ref")
}

/// One commit on top of another.
struct Push<'a> {
    on: Option<CommitId>,
    dir: &'a str,
    files: &'a Files,
    /// What is no file, and stands beside them.
    opaque: &'a [Opaque],
    refs: &'a (dyn Fn(CommitId) -> Vec<RefEdit> + Sync),
}

async fn push(repo: &dyn Repo, push: Push<'_>) -> bool {
    let parents: Vec<CommitId> = push.on.into_iter().collect();
    let written = repo.write(CommitSpec {
        base: push.on,
        dir: &Dir::parse(push.dir).expect("a directory"),
        content: Content::Files(push.files, push.opaque),
        parents: &parents,
        author: &person(),
        committer: &person(),
        message: "by hand\n",
    });
    let Ok(written) = written else { return false };
    let refs = (push.refs)(written.commit());
    let submission = Submission {
        written: vec![written],
        refs,
        ..Submission::default()
    };
    matches!(repo.submit(submission).await, Ok(Answer::Published(_)))
}

/// Makes a branch with something on it.
pub(super) async fn found(store: &MemoryStore, url: &str) {
    store.serve(url);
    let Ok(outside) = store.outside(url) else {
        return;
    };
    let files = Files::from([(path("README.md"), model::File::text("# here\n"))]);
    let what = Push {
        on: None,
        dir: "readme",
        files: &files,
        opaque: &[],
        refs: &|commit| vec![RefEdit::create(main(), commit)],
    };
    push(&*outside, what).await;
}

/// Whether a repository has its branch.
pub(super) fn is_founded(store: &MemoryStore, url: &str) -> bool {
    let refs = store.outside(url).and_then(|outside| outside.refs());
    refs.is_ok_and(|refs| refs.contains_key(&main()))
}

/// Moves the branch of a repository without touching any package.
pub(super) async fn push_noise(store: &MemoryStore, ledger: &Ledger, url: &str) -> bool {
    let Ok(outside) = store.outside(url) else {
        return false;
    };
    let text = ledger.open().fresh("noise");
    let files = Files::from([(path("NOISE.md"), model::File::text(text))]);
    push_to_main(&*outside, "noise", (&files, &[]), None).await
}

/// Releases a version of the upstream package, in some worlds with links.
pub(super) async fn release(store: &MemoryStore, url: &str, version: u64, linked: bool) -> bool {
    let Ok(outside) = store.outside(url) else {
        return false;
    };
    let tag = RefName::tag(&format!("app/v{version}")).expect("a tag");
    let mut files = upstream(version);
    let opaque = match linked {
        true => links::release(head(&*outside, "app").as_deref(), version, &mut files),
        false => Vec::new(),
    };
    push_to_main(&*outside, "app", (&files, &opaque), Some(tag)).await
}

async fn push_to_main(
    repo: &dyn Repo,
    dir: &str,
    (files, opaque): (&Files, &[Opaque]),
    tag: Option<RefName>,
) -> bool {
    let head = repo.refs().ok().and_then(|refs| refs.get(&main()).copied());
    let refs = |commit| {
        let branch = head.map(|head| RefEdit::update(main(), head, commit));
        let tag = tag.clone().map(|name| RefEdit {
            name,
            expect: Expect::Absent,
            to: Some(commit),
            scope: Scope::Remote,
        });
        branch.into_iter().chain(tag).collect()
    };
    let what = Push {
        on: head,
        dir,
        files,
        opaque,
        refs: &refs,
    };
    push(repo, what).await
}

/// What a draft's ref says about whose it is: package, workspace, and its record's key.
pub(super) fn draft_of(url: &str, name: &RefName) -> Option<(String, String, ObjectKey)> {
    let (repo, _) = TARGETS.iter().find(|(_, u)| *u == url)?;
    let short = name.as_str();
    let short = short
        .strip_prefix("refs/heads/drafts/")
        .or_else(|| short.strip_prefix("refs/heads/proposed/"))?;
    let (package, workspace) = short.rsplit_once('/')?;
    let revision = key(NS, &format!("{repo}.{package}.{workspace}"));
    Some((format!("{repo}/{package}"), workspace.to_owned(), revision))
}

/// What the branch holds of a package.
fn head(repo: &dyn Repo, dir: &str) -> Option<Arc<Snapshot>> {
    let head = repo.refs().ok()?.get(&main()).copied()?;
    snapshot(repo, head, dir).ok()
}

/// What a person puts into a package.
#[derive(Debug, Clone, Copy)]
pub(super) enum Put<'a> {
    /// An annotation that nobody else writes.
    Annotation,
    /// A link of this name.
    Link(&'a str),
}

/// A package with that in it, after what names it there; none where it has no place.
fn with(put: Put<'_>, package: &Snapshot, ledger: &Ledger) -> Option<(String, Files, Vec<Opaque>)> {
    let (mut files, mut opaque) = (package.files.clone(), package.opaque.clone());
    let file = files.get(&path(EDITED)).cloned()?;
    let marker = match put {
        Put::Annotation => {
            let marker = ledger.open().fresh("edit");
            let text = mark(file.as_text()?, &marker);
            files.insert(path(EDITED), file.with_bytes(text.into_bytes()));
            marker
        }
        Put::Link(name) => {
            opaque.push(links::link(name, package)?);
            name.to_owned()
        }
    };
    Some((marker, files, opaque))
}

/// Edits a draft where it stands at `at`, and says whether git took it.
pub(super) async fn push_edit(
    store: &MemoryStore,
    ledger: &Ledger,
    url: &str,
    (name, at): (&RefName, CommitId),
    put: Put<'_>,
) -> bool {
    let (Some((package, _, revision)), Ok(outside)) = (draft_of(url, name), store.outside(url))
    else {
        return false;
    };
    let dir = package.split_once('/').map_or("", |(_, p)| p);
    let edited = snapshot(&*outside, at, dir).ok();
    let Some((marker, files, opaque)) = edited.and_then(|now| with(put, &now, ledger)) else {
        return false;
    };
    let what = Push {
        on: Some(at),
        dir,
        files: &files,
        opaque: &opaque,
        refs: &|commit| vec![RefEdit::update(name.clone(), at, commit)],
    };
    let taken = push(&*outside, what).await;
    if taken {
        ledger.open().promise(Edit {
            marker,
            package,
            revision,
        });
    }
    taken
}

/// Edits a package on the branch itself; returns the edit that git took.
pub(super) async fn push_to_branch(
    store: &MemoryStore,
    ledger: &Ledger,
    url: &str,
    package: &str,
    put: Put<'_>,
) -> Option<String> {
    let outside = store.outside(url).ok()?;
    let now = head(&*outside, package)?;
    let (marker, files, opaque) = with(put, &now, ledger)?;
    let taken = push_to_main(&*outside, package, (&files, &opaque), None).await;
    taken.then_some(marker)
}

/// The files of a package at a commit.
///
/// # Errors
/// They cannot be read, or there are none.
pub(super) fn files(repo: &dyn Repo, at: CommitId, dir: &str) -> Result<Files, String> {
    snapshot(repo, at, dir).map(|found| found.files.clone())
}

/// All that a package holds at a commit.
///
/// # Errors
/// As [`files`].
pub(super) fn snapshot(repo: &dyn Repo, at: CommitId, dir: &str) -> Result<Arc<Snapshot>, String> {
    let dir = Dir::parse(dir).map_err(|e| e.to_string())?;
    let read = || -> store::Result<Option<Arc<Snapshot>>> {
        let root = repo.commit(at)?.tree;
        let tree = repo.subtree(root, &dir)?;
        tree.map(|tree| repo.snapshot(tree)).transpose()
    };
    match read() {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(format!("there is no {dir}")),
        Err(error) => Err(error.to_string()),
    }
}

/// The variant that the latest machine commit of a draft was made for.
///
/// # Errors
/// A commit cannot be read.
pub(super) fn maker(repo: &dyn Repo, at: CommitId) -> Result<Option<ObjectKey>, String> {
    Ok(owner(repo, at)?.map(|(owner, _)| owner))
}

/// That variant's uid.
///
/// # Errors
/// As [`maker`].
pub(super) fn machine(repo: &dyn Repo, at: CommitId) -> Result<Option<Uid>, String> {
    Ok(owner(repo, at)?.map(|(_, uid)| uid))
}

fn owner(repo: &dyn Repo, at: CommitId) -> Result<Option<(ObjectKey, Uid)>, String> {
    let mut next = Some(at);
    for _ in 0..100 {
        let Some(id) = next else { break };
        let commit = repo.commit(id).map_err(|e| format!("I6: {id}: {e}"))?;
        let trailer = commit
            .message
            .lines()
            .find_map(|l| l.strip_prefix("offshoot: "));
        if let Some(trailer) = trailer {
            let value: serde_json::Value =
                serde_json::from_str(trailer).map_err(|e| format!("I6: {id}: {e}"))?;
            let of = |name: &str| value["owner"][name].as_str().unwrap_or_default();
            let owner = key(of("namespace"), of("name"));
            return Ok(Uid::parse(of("uid")).ok().map(|uid| (owner, uid)));
        }
        next = commit.parents.first().copied();
    }
    Ok(None)
}
