//! What of a set is not to be approved now, as its rollout has it (F7, F8): a word that sets and variants say alike.

/// Why an open revision is not to be approved now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Early {
    /// Its variant waits for its step.
    Closed,
    /// It is of another upstream commit than the variant is to have.
    Other,
    /// Its target moved to another package, and it goes once that is done.
    Left,
}

impl Early {
    /// In a few words.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Closed => "its step of the rollout is closed",
            Self::Other => "it is of another version than the rollout wants",
            Self::Left => "its target moved to another package",
        }
    }
}
