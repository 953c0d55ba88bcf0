//! What a caller hands to the writer, and what it answers.

use std::collections::BTreeMap;
use std::fmt;

use model::{Class, CommitId, TreeId};

use crate::{Dir, RefName, Signature, Written};

/// What is expected to stand somewhere when a change is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expect<T> {
    /// Nothing.
    Absent,
    /// This.
    Is(T),
    /// Whatever is there. For what only we write; never for what people push to.
    Any,
}

/// Whether a ref is the repository's or only our mirror's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    /// It is pushed, where there is a remote.
    #[default]
    Remote,
    /// It stays in our mirror, such as a pin (V1).
    Local,
}

/// One ref to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefEdit {
    /// Which.
    pub name: RefName,
    /// What must stand there; an annotated tag counts as its commit.
    pub expect: Expect<CommitId>,
    /// The new value, or that it goes.
    pub to: Option<CommitId>,
    /// Whether it is pushed.
    pub scope: Scope,
}

impl RefEdit {
    /// A ref that must not exist yet.
    pub fn create(name: RefName, to: CommitId) -> Self {
        Self {
            name,
            expect: Expect::Absent,
            to: Some(to),
            scope: Scope::Remote,
        }
    }

    /// A ref that moves from one commit to another.
    pub fn update(name: RefName, from: CommitId, to: CommitId) -> Self {
        Self {
            name,
            expect: Expect::Is(from),
            to: Some(to),
            scope: Scope::Remote,
        }
    }

    /// A ref that goes.
    pub fn delete(name: RefName, from: CommitId) -> Self {
        Self {
            name,
            expect: Expect::Is(from),
            to: None,
            scope: Scope::Remote,
        }
    }

    /// The same edit, in our mirror only.
    #[must_use]
    pub fn local(mut self) -> Self {
        self.scope = Scope::Local;
        self
    }
}

/// A commit on a branch that others write too: the writer makes it on whatever the branch is by then.
///
/// Used to publish (the package's directory becomes `content`, the draft is the second parent) and
/// to delete a package (`content` is `None`). Nothing of it depends on the branch's head, so that
/// a moved branch costs no work of the caller's.
#[derive(Debug, Clone)]
pub struct BranchEdit {
    /// The branch; it must exist.
    pub branch: RefName,
    /// The directory.
    pub dir: Dir,
    /// What the directory must be on the branch by then (V20).
    pub expect: Expect<TreeId>,
    /// What the directory becomes; `None` removes it.
    pub content: Option<TreeId>,
    /// The draft that is approved.
    pub second_parent: Option<CommitId>,
    /// Who wrote it.
    pub author: Signature,
    /// Who commits it.
    pub committer: Signature,
    /// The whole message, trailers included.
    pub message: String,
    /// Tags to make at the new commit; they must not exist.
    pub tags: Vec<RefName>,
}

/// Everything that becomes visible together, or not at all.
#[derive(Debug, Default)]
pub struct Submission {
    /// Commits that are not in the repository yet.
    pub written: Vec<Written>,
    /// Refs to move.
    pub refs: Vec<RefEdit>,
    /// A commit to make on a shared branch.
    pub branch: Option<BranchEdit>,
    /// What to remember until [`crate::Repo::settle`]; opaque. `None`: nothing is journalled.
    pub intent: Option<Vec<u8>>,
    /// What [`crate::Repo::announce`] gave, if this was announced.
    pub announced: Option<Announced>,
}

/// The promise that a submission is on its way; dropping it takes the promise back.
#[derive(Default)]
pub struct Announced(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Announced {
    /// One that is over when this is called, once.
    pub(crate) fn until(over: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(over)))
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if let Some(over) = self.0.take() {
            over();
        }
    }
}

impl fmt::Debug for Announced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Announced").field(&self.0.is_some()).finish()
    }
}

/// Names an intent in the journal of its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntentId(pub u64);

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "intent-{}", self.0)
    }
}

/// What came of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a refusal is data, not an error: look again and decide anew"]
pub enum Answer {
    /// It is durable and visible, at the remote if there is one.
    Published(Published),
    /// It was sent and no answer was heard; ask [`crate::Repo::outcome`].
    Pending(Handle),
    /// Nothing of it happened.
    Refused(SubmissionRefusal),
}

/// Names a submission whose fate is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub(crate) u64);

/// What is visible now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// To be settled once the record is durable; `None` where nothing was journalled.
    pub intent: Option<IntentId>,
    /// The commit made on the branch.
    pub commit: Option<CommitId>,
    /// All refs that the submission moved; `None` is gone.
    pub refs: BTreeMap<RefName, Option<CommitId>>,
}

/// Why nothing happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmissionRefusal {
    /// A ref is not what was expected.
    #[error("{name} is {}, not {expected}", found.map_or("absent".to_owned(), |c| c.to_string()))]
    Ref {
        /// The ref.
        name: RefName,
        /// What was expected, as text.
        expected: String,
        /// What is there.
        found: Option<CommitId>,
    },
    /// The directory on the branch is not what was expected (V20).
    #[error("{dir} on {branch} is {}, not {expected}", found.map_or("absent".to_owned(), |t| t.to_string()))]
    Directory {
        /// The branch.
        branch: RefName,
        /// The directory.
        dir: Dir,
        /// What was expected, as text.
        expected: String,
        /// What is there.
        found: Option<TreeId>,
    },
    /// The branch does not exist.
    #[error("{branch} does not exist")]
    NoBranch {
        /// The branch.
        branch: RefName,
    },
    /// What is no directory stands where the directory was to be put, and would be lost.
    #[error("{path} on {branch} is no directory, and would be lost: move it away first")]
    InTheWay {
        /// The branch.
        branch: RefName,
        /// The path in the repository.
        path: String,
    },
    /// Somebody works on the branch, in a directory of the repository: their next commit would take back what is written here.
    #[error(
        "{branch} is checked out in {at}: `git worktree remove` that, or let it leave the branch (`git switch --detach`)"
    )]
    CheckedOut {
        /// The branch.
        branch: RefName,
        /// The directory.
        at: String,
    },
    /// Git cannot hold both names, as one would have to be a directory for the other.
    #[error("{name} cannot be made while {other} exists")]
    Shadowed {
        /// The ref that was to be made.
        name: RefName,
        /// The one that is in its way.
        other: String,
    },
    /// Something that it stands on is not in the repository.
    #[error("object {id}, which this stands on, is not in the repository any more")]
    Gone {
        /// The id of the object.
        id: String,
    },
    /// A push that was not answered did not arrive, as a later look shows.
    #[error("the remote did not take the push whose answer was lost")]
    NotTaken,
    /// The remote declined it: a hook, a protected branch, missing rights.
    #[error("the remote declined {name}: {text}")]
    Declined {
        /// The ref.
        name: RefName,
        /// What the remote said.
        text: String,
    },
}

impl SubmissionRefusal {
    /// Whether what is in the way stays there until somebody moves it: to look again changes nothing.
    pub fn stays(&self) -> bool {
        matches!(
            self,
            Self::Shadowed { .. } | Self::InTheWay { .. } | Self::CheckedOut { .. }
        )
    }

    /// What kind of failure a refusal is: conflicts, except where somebody said no.
    pub fn class(&self) -> Class {
        match self {
            Self::Ref { .. }
            | Self::Directory { .. }
            | Self::InTheWay { .. }
            | Self::CheckedOut { .. }
            | Self::Shadowed { .. }
            | Self::Gone { .. }
            | Self::NotTaken => Class::Conflict,
            Self::NoBranch { .. } => Class::NotFound,
            Self::Declined { .. } => Class::Denied,
        }
    }
}

/// An intent that nobody settled yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its id.
    pub id: IntentId,
    /// What the submission gave; opaque.
    pub payload: Vec<u8>,
    /// The commit made on the branch.
    pub commit: Option<CommitId>,
    /// The refs that it was to move, the branch and tags included.
    pub refs: Vec<IntentRef>,
    /// Whether any ref stands: then it is to be rolled forward, otherwise dropped.
    pub stands: bool,
    /// Whether that is known: until the remote was asked after a start, the intent stays as it is.
    pub known: bool,
}

/// A ref of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentRef {
    /// Its name.
    pub name: RefName,
    /// What stood there.
    pub from: Option<CommitId>,
    /// What was to stand there.
    pub to: Option<CommitId>,
    /// Whether it is pushed.
    pub scope: Scope,
    /// Whether it stands: it is there, or what is there has it in its history.
    pub stands: bool,
}
