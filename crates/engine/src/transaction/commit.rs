//! The one place where commits of drafts are built.
//!
//! A list of conflicts that is too long for a trailer stands in a commit of its own below
//! `refs/offshoot/conflicts/`, which the trailer names (V4a).

use model::{CommitId, Files, Machine, PackageName, PackagePath, TreeId, WorkspaceName};
use package::conflicts;
use store::{CommitSpec, Content, Dir, Expect, RefEdit, RefName, Scope};

use super::{Begun, Transaction};
use crate::caller::Caller;
use crate::git::{Message, Subject, author_of, committer, encode_kept};
use crate::repos::OpenRepository;
use crate::{Error, Result};

/// A commit of a draft.
#[derive(Debug, Clone)]
pub(crate) struct DraftCommit<'a> {
    /// The package.
    pub(crate) package: &'a PackageName,
    /// Its workspace.
    pub(crate) workspace: &'a WorkspaceName,
    /// What the package's directory becomes.
    pub(crate) content: Content<'a>,
    /// The parents; the first one's root directory is taken along.
    pub(crate) parents: &'a [CommitId],
    /// What is done.
    pub(crate) subject: Subject<'a>,
    /// More about it.
    pub(crate) body: String,
    /// What the machine notes.
    pub(crate) machine: Option<&'a Machine>,
    /// What the machine says about its result, beside what the Kptfile says.
    pub(crate) conditions: &'a [model::Condition],
    /// What could not be decided alone; `None` says nothing about it, which leaves what an earlier commit said.
    pub(crate) conflicts: Option<&'a [model::Conflict]>,
}

/// A draft's commit that was built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tip {
    /// Its id.
    pub(crate) commit: CommitId,
    /// The package's tree in it; where the package has no file, which no record is made of, that of the whole commit.
    pub(crate) tree: TreeId,
}

/// The longest file of a kept list, in bytes: well below the limit of a file that is read.
const PIECE: usize = 1 << 20;

impl Transaction<'_, Begun> {
    /// Builds a commit of a draft: nothing is visible.
    ///
    /// # Errors
    /// Git cannot hold it, or its base is not there.
    pub(crate) fn commit(&mut self, by: &Caller, commit: &DraftCommit<'_>) -> Result<Tip> {
        let (engine, open) = (self.engine, self.open);
        if let Content::Files(files, opaque) = commit.content {
            fits(open, files, opaque)?;
        }
        let dir = open.layout.dir(commit.package);
        let mut text = commit.conflicts.map(conflicts::encode);
        if let Some(long) = text.as_ref().filter(|t| t.len() > conflicts::TRAILER_LIMIT) {
            let kept = self.keep_conflicts(long)?;
            text = Some(encode_kept(kept));
        }
        let message = Message {
            subject: commit.subject,
            body: commit.body.clone(),
            path: dir.as_str(),
            workspace: commit.workspace.as_str(),
            machine: commit.machine,
            conditions: commit.conditions,
            conflicts: text.as_deref(),
            class: None,
            acting_for: &by.acting_for,
        };
        let now = engine.now();
        let written = open.repo.write(CommitSpec {
            base: commit.parents.first().copied(),
            dir: &dir,
            content: commit.content,
            parents: commit.parents,
            author: &author_of(&by.user, Some(&open.repository), now),
            committer: &committer(now),
            message: &message.text(),
        });
        let written = written.map_err(|source| Error::Store {
            attempt: "write the package",
            source,
        })?;
        let tip = Tip {
            commit: written.commit(),
            tree: written.tree().unwrap_or_else(|| written.root()),
        };
        self.written.push(written);
        Ok(tip)
    }

    /// Builds a commit that holds a list of conflicts, beside the ref that keeps it.
    fn keep_conflicts(&mut self, text: &str) -> Result<CommitId> {
        let committer = committer(self.engine.now());
        let written = self.open.repo.write(CommitSpec {
            base: None,
            dir: &Dir::root(),
            content: Content::Files(&pieces(text), &[]),
            parents: &[],
            author: &committer,
            committer: &committer,
            message: "conflicts of a draft\n",
        });
        let written = written.map_err(|source| Error::Store {
            attempt: "write the conflicts",
            source,
        })?;
        let kept = written.commit();
        let name = format!("refs/offshoot/conflicts/{kept}");
        let name = RefName::parse(&name)
            .map_err(|e| Error::refused(model::Class::Bug, "", e.to_string()))?;
        self.written.push(written);
        self.refs.push(RefEdit {
            name,
            // The same list may be kept already: its commit is the same one.
            expect: Expect::Any,
            to: Some(kept),
            scope: Scope::Remote,
        });
        Ok(kept)
    }
}

/// Whether files could be read again once they are written.
///
/// # Errors
/// The limit that they are beyond.
pub(crate) fn fits(open: &OpenRepository, files: &Files, opaque: &[store::Opaque]) -> Result<()> {
    // What was beyond the limits before is no reason to refuse what is not.
    let carried = opaque.iter().filter(|o| !o.is_hidden()).count();
    let checked = open.repo.limits().check(files, carried);
    checked.map_err(|source| Error::Store {
        attempt: "write the package",
        source,
    })
}

/// What a commit says about conflicts: nothing where there are none.
pub(crate) fn told(conflicts: &[model::Conflict]) -> Option<&[model::Conflict]> {
    (!conflicts.is_empty()).then_some(conflicts)
}

/// A text in files that sort in its order.
fn pieces(text: &str) -> Files {
    let mut files = Files::new();
    let mut rest = text;
    while !rest.is_empty() {
        let cut = rest.floor_char_boundary(PIECE);
        let (piece, tail) = rest.split_at(cut);
        if let Ok(path) = PackagePath::parse(&format!("{:04}.json", files.len())) {
            files.insert(path, model::File::text(piece));
        }
        rest = tail;
    }
    files
}

/// The list of conflicts that a trailer only names.
///
/// # Errors
/// Git cannot be read, or what is kept is no list of conflicts.
pub(crate) fn kept_conflicts(
    open: &OpenRepository,
    kept: CommitId,
) -> std::result::Result<Vec<model::Conflict>, String> {
    let read = || -> store::Result<String> {
        let root = open.repo.commit(kept)?.tree;
        let snapshot = open.repo.snapshot(root)?;
        let texts = snapshot.files.values().filter_map(model::File::as_text);
        Ok(texts.collect())
    };
    let text = read().map_err(|e| e.to_string())?;
    conflicts::decode(&text).map_err(|e| e.to_string())
}
