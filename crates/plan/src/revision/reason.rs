//! Why a verb is refused, or is not for a revision, as programs read it.

/// Why a verb is refused, or is not for a revision. Hints and decisions are taken from it alone: messages are for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RejectionReason {
    /// What is to be made is there.
    AlreadyExists,
    /// It holds another tree than the one that was seen (V20, F3).
    ChangedSinceSeen,
    /// It is published, and nobody proposed that it be deleted.
    DeletionNotProposed,
    /// It has no conflict that was decided.
    NoSuchConflict,
    /// Somebody has to decide its conflicts first.
    OpenConflicts,
    /// Its readiness gates are not all met (V3).
    OpenGates,
    /// The branch holds something else than what it is based on (V20).
    OutdatedBase,
    /// The verb is not for its lifecycle.
    UnfitLifecycle,
}

impl RejectionReason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::AlreadyExists,
        Self::ChangedSinceSeen,
        Self::DeletionNotProposed,
        Self::NoSuchConflict,
        Self::OpenConflicts,
        Self::OpenGates,
        Self::OutdatedBase,
        Self::UnfitLifecycle,
    ];

    /// The word of a cause in a `Status`, and of an entry of a `BulkChange`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyExists => "AlreadyExists",
            Self::ChangedSinceSeen => "ChangedSinceSeen",
            Self::DeletionNotProposed => "DeletionNotProposed",
            Self::NoSuchConflict => "NoSuchConflict",
            Self::OpenConflicts => "OpenConflicts",
            Self::OpenGates => "OpenGates",
            Self::OutdatedBase => "OutdatedBase",
            Self::UnfitLifecycle => "UnfitLifecycle",
        }
    }

    /// Reads the word; `None` for one that is not known here, as of another server.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}
