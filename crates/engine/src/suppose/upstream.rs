//! An upstream revision that nobody has published yet: a commit that is in its repository, or files from somewhere else.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    Class, CommitId, Files, Namespace, PackageName, Problem, RepositoryName, Revision,
    WorkspaceName,
};
use store::{CommitSpec, Content, RefName, Written};

use super::Supposed;
use crate::discover::{Origin, build};
use crate::git::committer;
use crate::index::PackageKey;
use crate::repos::OpenRepository;
use crate::{Error, Result, opening};

/// An upstream revision that is supposed to be published.
#[derive(Debug, Clone)]
pub struct SupposedUpstream {
    /// The namespace of its repository.
    pub namespace: Namespace,
    /// Its repository.
    pub repository: RepositoryName,
    /// Its package.
    pub package: PackageName,
    /// Its revision, such as `v2`.
    pub revision: WorkspaceName,
    /// What it holds.
    pub content: SupposedContent,
}

/// What a supposed revision holds.
#[derive(Debug, Clone)]
pub enum SupposedContent {
    /// The package in this commit, tag or branch of its repository: its tag would stand there.
    GitRef(String),
    /// These files: its commit does not exist yet.
    Files(Files),
}

impl Supposed {
    /// Supposes that a revision is published.
    ///
    /// # Errors
    /// Its repository cannot be read, or holds no such commit or package.
    pub(crate) async fn publish(&mut self, upstream: &SupposedUpstream) -> Result<()> {
        let engine = &self.engine;
        let open = opening::here(engine, &upstream.namespace, &upstream.repository).await?;
        // An open repository may be another registration's mirror, which this one's credentials were not good for yet.
        if !opening::is_let_in(engine, &open) {
            let url = open.repository.git.repo.clone();
            return Err(Error::Store {
                attempt: "read the supposed upstream",
                source: store::Error::NoRepository { url },
            });
        }
        let key = PackageKey::new(&upstream.namespace, &upstream.repository, &upstream.package);
        let (commit, written) = match &upstream.content {
            SupposedContent::GitRef(name) => (find(&open, name)?, None),
            SupposedContent::Files(files) => {
                let written = write(open.head()?, engine.now(), &open, &key, files)?;
                (written.commit(), Some(written))
            }
        };
        let origin = Origin::tag(&upstream.revision, commit, false);
        let known = engine.world(|w| w.revisions.of_package(&key));
        let built = build(engine, &open, &key, &origin, &known)?;
        let record = built.record.ok_or_else(|| {
            let why = built.problems.join("; ");
            let what = format!("{}@{}: {why}", upstream.package, upstream.revision);
            Error::refused(Class::Invalid, "upstream", what)
        })?;
        if written.is_some() {
            self.unreal.insert(record.key.clone());
        }
        self.put_revision(labelled(record, &known));
        self.held.extend(written);
        Ok(())
    }
}

/// A record that selections find as they found the one before it: they go by labels.
fn labelled(mut record: Revision, known: &[Arc<Revision>]) -> Revision {
    let before = known.iter().filter(|r| r.lifecycle.is_published());
    if let Some(before) = before.max_by_key(|r| r.revision) {
        let labels: BTreeMap<_, _> = before.meta.labels.clone().into_iter().collect();
        for (label, value) in labels {
            record.meta.labels.entry(label).or_insert(value);
        }
    }
    record
}

/// The commit that a name means in a repository, as it is known here.
fn find(open: &OpenRepository, name: &str) -> Result<CommitId> {
    let failed = |source| Error::Store {
        attempt: "find the supposed upstream",
        source,
    };
    let spellings = [
        format!("refs/tags/{name}"),
        format!("refs/heads/{name}"),
        name.to_owned(),
    ];
    for spelling in spellings {
        let Ok(full) = RefName::parse(&spelling) else {
            continue;
        };
        if let Some(commit) = open.repo.find_ref(&full).map_err(failed)? {
            return Ok(commit);
        }
    }
    let commit = CommitId::parse(name);
    let commit = commit.filter(|c| open.repo.has_commit(*c).unwrap_or(false));
    commit.ok_or_else(|| unknown_ref(name, open.repo.url()))
}

/// A name that means no commit, with what it may have been.
fn unknown_ref(name: &str, url: &str) -> Error {
    let digits = name.len() < 40 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let hint = match digits {
        true => {
            format!("a commit is named by all of its 40 digits: `git rev-parse {name}` tells them")
        }
        false => "a branch, a tag or a commit of that repository is meant".to_owned(),
    };
    let hint = format!(
        "{hint}; what was pushed since is seen after `offshoot repo sync`, offline after `git fetch` in the clone"
    );
    let what = format!("{url} has no branch, tag or commit {name:?}");
    Error::Refused {
        class: Class::NotFound,
        reason: None,
        problems: vec![Problem::new("upstream", what).hint(hint)],
    }
}

/// The files as a commit on the branch's head; it is in memory only.
fn write(
    head: CommitId,
    now: i64,
    open: &OpenRepository,
    key: &PackageKey,
    files: &Files,
) -> Result<Written> {
    let dir = open.layout.dir(&key.package);
    let written = open.repo.write(CommitSpec {
        base: Some(head),
        dir: &dir,
        content: Content::Files(files, &[]),
        parents: &[head],
        author: &committer(now),
        committer: &committer(now),
        message: "a supposed revision\n",
    });
    written.map_err(|source| Error::Store {
        attempt: "write the supposed upstream",
        source,
    })
}
