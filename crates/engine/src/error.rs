//! What the engine could not do, named by the attempt, with one class for every door.

use model::{Class, PackageName, Problem, RepositoryName, join_problems};
use plan::repository::UnreadyReason;
use plan::revision::RejectionReason;

use crate::ports::PortError;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What [`Error::NotFound`] calls the branch of a repository.
pub(crate) const BRANCH: &str = "branch";

/// What could not be done.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is refused as it stands; every reason at once.
    #[error("{}", join_problems(problems))]
    Refused {
        /// What kind of refusal.
        class: Class,
        /// Why, for programs, where they do something about it.
        reason: Option<RejectionReason>,
        /// Why, by field.
        problems: Vec<Problem>,
    },
    /// Something that was named is not there.
    #[error("{what} {name:?} not found")]
    NotFound {
        /// Its kind, as the API names it.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// What was expected to be found has changed.
    #[error("{message}")]
    Conflict {
        /// What changed, and the way out.
        message: String,
    },
    /// What is in the way stays there until somebody moves it: to look again changes nothing.
    #[error("{message}")]
    InTheWay {
        /// What it is, and where.
        message: String,
    },
    /// Another request for the same package came first, and what this one wanted is not possible any more.
    #[error("another request is already in progress on package {package} in repository {repository}: {}", .lost.chain())]
    Raced {
        /// The package.
        package: PackageName,
        /// Its repository.
        repository: RepositoryName,
        /// What was not possible.
        lost: Box<Self>,
    },
    /// The pipeline of the package failed.
    #[error("error rendering package in kpt function pipeline. Package {}. Details: {}", kept(*.pushed), .status.error.as_deref().unwrap_or("unknown"))]
    Render {
        /// What every step reported.
        status: Box<model::RenderStatus>,
        /// Whether what was sent was kept all the same, since the draft asks for it (V2).
        pushed: bool,
    },
    /// A package could not be made.
    #[error("cannot {attempt}: {message}")]
    Contents {
        /// What was attempted.
        attempt: &'static str,
        /// What kind of failure.
        class: Class,
        /// Why.
        message: String,
    },
    /// A draft could not be derived, with the reason of the variant's condition (V6).
    #[error("{message}")]
    Derive {
        /// The reason.
        reason: &'static str,
        /// What kind of failure.
        class: Class,
        /// Why, with all causes.
        message: String,
    },
    /// The git store failed.
    #[error("cannot {attempt}")]
    Store {
        /// What was attempted.
        attempt: &'static str,
        /// Why.
        #[source]
        source: store::Error,
    },
    /// The outside failed.
    #[error(transparent)]
    Port {
        /// Why.
        source: PortError,
    },
    /// The process is on its way out (a simulated crash or a shutdown).
    #[error("the engine has stopped")]
    Stopped,
}

/// What became of a package whose pipeline failed, in Porch's words (A4).
fn kept(pushed: bool) -> &'static str {
    if pushed {
        "pushed to remote despite render failure"
    } else {
        "NOT pushed to remote. Fix locally (until 'kpt fn render' succeeds) and retry"
    }
}

impl Error {
    /// A refusal with one reason.
    pub fn refused(class: Class, field: &str, what: impl Into<String>) -> Self {
        Self::Refused {
            class,
            reason: None,
            problems: vec![Problem::new(field, what)],
        }
    }

    /// A conflict with its way out.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::Conflict {
            message: message.into(),
        }
    }

    /// Whether whoever keeps objects refused one, and would again: it is too large, or somebody's rule forbids it.
    pub(crate) fn is_refusal(&self) -> bool {
        let Self::Port { source } = self else {
            return false;
        };
        matches!(source.class, Class::Denied | Class::Limit | Class::Invalid)
    }

    /// What kind of failure this is.
    pub fn class(&self) -> Class {
        match self {
            Self::Refused { class, .. }
            | Self::Contents { class, .. }
            | Self::Derive { class, .. } => *class,
            Self::NotFound { .. } => Class::NotFound,
            Self::Conflict { .. } | Self::InTheWay { .. } => Class::Conflict,
            Self::Render { .. } => Class::Invalid,
            Self::Raced { lost, .. } => lost.class(),
            Self::Store { source, .. } => source.class(),
            Self::Port { source } => source.class,
            Self::Stopped => Class::Unavailable,
        }
    }

    /// What is wrong with the request, by field.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Refused { problems, .. } => problems,
            Self::Raced { lost, .. } => lost.problems(),
            _ => &[],
        }
    }

    /// Why it was refused, for programs, where they do something about it.
    pub fn rejection(&self) -> Option<RejectionReason> {
        match self {
            Self::Refused { reason, .. } => *reason,
            Self::Raced { lost, .. } => lost.rejection(),
            _ => None,
        }
    }

    /// The reason of a variant's condition, and why (V6).
    pub(crate) fn reason(&self) -> (String, String) {
        match self {
            Self::Derive {
                reason, message, ..
            } => ((*reason).to_owned(), message.clone()),
            Self::Render { status, .. } => ("RenderFailed".to_owned(), status.cause()),
            Self::Store { source, .. } if source.is_away() => {
                ("RepositoryNotReady".to_owned(), self.chain())
            }
            Self::Contents { class, message, .. } if *class == Class::NotFound => {
                ("OldUpstreamNotFound".to_owned(), message.clone())
            }
            Self::Store {
                source: source @ store::Error::InTheWay { .. },
                ..
            } => ("InTheWay".to_owned(), source.to_string()),
            Self::InTheWay { message } => ("InTheWay".to_owned(), message.clone()),
            other => ("Error".to_owned(), other.chain()),
        }
    }

    /// Why a repository cannot be used, of which this was heard.
    pub(crate) fn unready(&self) -> UnreadyReason {
        let Self::Store { source, .. } = self else {
            return UnreadyReason::Error;
        };
        match source {
            store::Error::NoRepository { .. } => UnreadyReason::NoRepository,
            store::Error::Gone { .. } => UnreadyReason::RepositoryGone,
            store::Error::NoBranch { .. } => UnreadyReason::NoBranch,
            store::Error::BranchGone { .. } => UnreadyReason::BranchGone,
            store::Error::Outside { .. } => UnreadyReason::OutsideAllowed,
            store::Error::Unauthenticated { .. } => UnreadyReason::CredentialsRefused,
            store::Error::NoSecret { .. } => UnreadyReason::SecretNotFound,
            _ => UnreadyReason::Error,
        }
    }

    /// Whether looking again changes nothing, although what was found is not what was expected.
    pub(crate) fn stays(&self) -> bool {
        match self {
            Self::InTheWay { .. } => true,
            Self::Raced { lost, .. } => lost.stays(),
            _ => false,
        }
    }

    /// Its class for whoever tries again: a repository that is away comes back, and so do credentials and what somebody put
    /// back or made anew while this was decided; nobody of ours hears of it.
    pub(crate) fn retry_class(&self) -> Class {
        match self {
            Self::Store { source, .. }
                if source.is_away()
                    || source.is_refused()
                    || matches!(
                        source,
                        store::Error::Missing { .. } | store::Error::InTheWay { .. }
                    ) =>
            {
                Class::Unavailable
            }
            Self::InTheWay { .. } => Class::Unavailable,
            // A repository that is made anew has none for a moment.
            Self::NotFound { what, .. } if *what == BRANCH => Class::Unavailable,
            other => other.class(),
        }
    }

    /// The whole chain of causes as one sentence.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut next = std::error::Error::source(self);
        while let Some(source) = next {
            text.push_str(": ");
            text.push_str(&source.to_string());
            next = source.source();
        }
        text
    }
}

/// A failure of a port as an error of ours.
pub(crate) fn port(source: PortError) -> Error {
    Error::Port { source }
}
