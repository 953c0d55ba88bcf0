//! Why a derivation failed.

use model::{Class, RenderStatus};

use crate::clone::CloneError;
use crate::kptfile::EditError;
use crate::merge::MergeError;
use crate::mutate::MutateError;

/// Why a derivation failed; nothing was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeriveError {
    /// The upstream package cannot be cloned.
    #[error("cannot clone the upstream package")]
    Clone(#[source] CloneError),
    /// What the variant states cannot be written.
    #[error("cannot apply the variant's changes")]
    Mutate(#[source] MutateError),
    /// The pipeline failed (V2: nothing is half made).
    #[error("rendering failed: {}", .0.cause())]
    Render(Box<RenderStatus>),
    /// Published or drafted content cannot be merged with the new one.
    #[error("cannot merge what was changed in {what}")]
    Merge {
        /// Whose edits: the published revision, or the draft.
        what: &'static str,
        /// Why.
        #[source]
        source: MergeError,
    },
    /// A Kptfile cannot be edited.
    #[error("cannot write the Kptfile")]
    Kptfile(#[source] EditError),
}

impl DeriveError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Clone(error) => error.class(),
            Self::Mutate(error) => error.class(),
            Self::Render(_) => Class::Invalid,
            // What people changed is no race that another look decides.
            Self::Merge { source, .. } => match source.class() {
                Class::Conflict => Class::Invalid,
                class => class,
            },
            Self::Kptfile(error) => error.class(),
        }
    }

    /// The reason of the variant's condition (V6).
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Clone(_) => "CloneFailed",
            Self::Mutate(MutateError::PackageContextMissing) => "PackageContextMissing",
            Self::Mutate(MutateError::InjectionPoints(_)) => "InjectionFailed",
            Self::Mutate(_) => "MutationFailed",
            Self::Render(_) => "RenderFailed",
            Self::Merge { .. } => "MergeFailed",
            Self::Kptfile(_) => "MutationFailed",
        }
    }

    /// The error with its causes in one line.
    pub fn message(&self) -> String {
        use std::error::Error as _;
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(next) = cause {
            text.push_str(&format!(": {next}"));
            cause = next.source();
        }
        text
    }
}
