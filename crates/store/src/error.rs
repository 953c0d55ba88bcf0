//! What could not be attempted, named by the attempt. Expectations that fail are answers, not errors.

use std::sync::Arc;

use model::Class;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What could not be done. Credentials never stand in any of these.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL is one that we do not open.
    #[error("cannot use {url:?} as a repository: {why}")]
    Url {
        /// The URL, without user information.
        url: String,
        /// What is wrong with it and what would do.
        why: String,
    },
    /// A local repository at a place that may not be opened.
    #[error("repository {url} may not be opened: {why}")]
    Outside {
        /// The URL.
        url: String,
        /// What would do.
        why: String,
    },
    /// A repository in a format that we do not read (SHA-256, at registration).
    #[error("repository {url} uses {what}, which is not supported")]
    Format {
        /// The URL.
        url: String,
        /// What it uses.
        what: String,
    },
    /// There is no repository at the URL.
    #[error("there is no git repository at {url}")]
    NoRepository {
        /// The URL.
        url: String,
    },
    /// There was a repository at the URL, and it is not there now.
    #[error(
        "the git repository at {url} is gone: none is made where one was; put it back, or delete its registration and register it anew"
    )]
    Gone {
        /// The URL.
        url: String,
    },
    /// The branch does not exist and was not to be made.
    #[error("repository {url} has no branch {branch:?}")]
    NoBranch {
        /// The URL.
        url: String,
        /// The branch.
        branch: String,
    },
    /// The branch was there once, and is not made anew: an empty one would stand for everything that was on it.
    #[error(
        "repository {url} has no branch {branch:?}, and none is made where one was: push it (git push {url} COMMIT:refs/heads/{branch}), or register it with another one (repo unreg, repo reg --branch)"
    )]
    BranchGone {
        /// The URL.
        url: String,
        /// The branch.
        branch: String,
    },
    /// What is no directory stands where a package was to be put, and would be lost.
    #[error(
        "{path} in the repository is no directory, and would be lost: move it away, or put the package elsewhere"
    )]
    InTheWay {
        /// The path in the repository.
        path: String,
    },
    /// A repository that can only be read was to be written.
    #[error(
        "repository {url} can only be read: it has a working tree, so it serves as an upstream only"
    )]
    ReadOnly {
        /// The URL.
        url: String,
    },
    /// An object is not in the repository.
    #[error("there is no {kind} {id} in {url}")]
    Missing {
        /// What was looked for.
        kind: &'static str,
        /// Its id.
        id: String,
        /// The repository.
        url: String,
    },
    /// An object that git holds makes no sense.
    #[error("object {id} is damaged: {why}")]
    Damaged {
        /// Its id.
        id: String,
        /// What is wrong.
        why: String,
    },
    /// A ref that leads nowhere.
    #[error("ref {name} cannot be read: {why}; write it anew with `git update-ref`, or delete it")]
    BrokenRef {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The file of packed refs makes no sense.
    #[error(
        "line {line} of packed-refs is no ref: take it out, or restore the file; git cannot read it, either"
    )]
    BrokenRefs {
        /// Which line, from 1.
        line: usize,
    },
    /// Larger than a limit allows.
    #[error("{what} exceeds the limit of {limit}: {found}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit.
        limit: u64,
        /// What was found.
        found: u64,
    },
    /// A commit, submission or id that makes no sense.
    #[error("cannot {attempt}: {why}")]
    Nonsense {
        /// What was attempted.
        attempt: &'static str,
        /// Why it makes no sense.
        why: String,
    },
    /// The operating system refused something.
    #[error("cannot {attempt}")]
    Io {
        /// What was attempted, with its path.
        attempt: String,
        /// Why it failed.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// Another process holds a lock of git's for too long.
    #[error("{path} is held by another process; if none is running, remove it")]
    Locked {
        /// The lock file.
        path: String,
    },
    /// The remote failed or refused.
    #[error("cannot {attempt} {url}: {text}")]
    Remote {
        /// What was attempted.
        attempt: &'static str,
        /// The remote.
        url: String,
        /// Its class: unreachable, denied, missing.
        class: Class,
        /// What was said, credentials removed.
        text: String,
    },
    /// As many fetches are under way as there may be at once.
    #[error(
        "cannot fetch from {url} now: as many fetches are under way as there may be at once, in all or of this namespace; it is tried again"
    )]
    Busy {
        /// The remote.
        url: String,
    },
    /// The remote asks who comes, and took nobody's word for it.
    #[error("cannot {attempt} {url}: it asks for credentials and none were accepted")]
    Unauthenticated {
        /// What was attempted.
        attempt: &'static str,
        /// The remote.
        url: String,
    },
    /// There is no Secret of the name from which the credentials for the remote should come.
    #[error("cannot {attempt} {url}: {text}")]
    NoSecret {
        /// What was attempted.
        attempt: &'static str,
        /// The remote.
        url: String,
        /// Which one.
        text: String,
    },
    /// The journal cannot be read.
    #[error("the intent journal {path} {why}")]
    Journal {
        /// Its path.
        path: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// The writer stopped (a fault point said so, or it broke); open the repository again.
    #[error("the writer of {url} has stopped; open the repository again")]
    Stopped {
        /// The repository.
        url: String,
    },
}

/// What is missing where a remote cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Credentials that it accepts.
    Login,
    /// The Secret that should hold them.
    Secret,
}

impl Error {
    /// An error of the operating system with what was attempted.
    pub(crate) fn io(attempt: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io {
            attempt: attempt.into(),
            source: Arc::new(source),
        }
    }

    /// Whether the repository as a whole is not there or cannot be reached now: that is nothing of what was asked of it, and
    /// worth another try.
    pub fn is_away(&self) -> bool {
        match self {
            Self::NoRepository { .. } | Self::Gone { .. } | Self::Busy { .. } => true,
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            Self::Remote { class, .. } => matches!(class, Class::Unavailable | Class::NotFound),
            _ => false,
        }
    }

    /// Whether credentials were refused, which somebody may renew at the remote's side.
    pub fn is_refused(&self) -> bool {
        match self {
            Self::Remote { class, .. } => *class == Class::Denied,
            Self::Unauthenticated { .. } | Self::NoSecret { .. } => true,
            _ => false,
        }
    }

    /// What kind of failure this is.
    pub fn class(&self) -> Class {
        match self {
            Self::Url { .. }
            | Self::Format { .. }
            | Self::Damaged { .. }
            | Self::BrokenRef { .. }
            | Self::BrokenRefs { .. }
            | Self::InTheWay { .. }
            | Self::Nonsense { .. } => Class::Invalid,
            Self::NoRepository { .. }
            | Self::Gone { .. }
            | Self::NoBranch { .. }
            | Self::BranchGone { .. }
            | Self::Missing { .. } => Class::NotFound,
            Self::ReadOnly { .. }
            | Self::Outside { .. }
            | Self::Unauthenticated { .. }
            | Self::NoSecret { .. } => Class::Denied,
            Self::TooLarge { .. } => Class::Limit,
            Self::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound => Class::NotFound,
                std::io::ErrorKind::PermissionDenied => Class::Denied,
                _ => Class::Unavailable,
            },
            Self::Locked { .. }
            | Self::Journal { .. }
            | Self::Busy { .. }
            | Self::Stopped { .. } => Class::Unavailable,
            Self::Remote { class, .. } => *class,
        }
    }
}
