//! One decision for equal conflicts (F4), as data.

use std::fmt;

use crate::{Conflict, ConflictValue, PackagePath};

/// A side of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConflictSide {
    /// What people made of it.
    Local,
    /// What upstream made of it.
    Upstream,
    /// What it was before both.
    Base,
}

impl ConflictSide {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Local, Self::Upstream, Self::Base];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Upstream => "upstream",
            Self::Base => "base",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|side| side.as_str() == text)
    }

    /// What this side of a conflict holds.
    pub fn of(self, conflict: &Conflict) -> &ConflictValue {
        match self {
            Self::Local => &conflict.local,
            Self::Upstream => &conflict.upstream,
            Self::Base => &conflict.base,
        }
    }
}

impl fmt::Display for ConflictSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the draft is to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// What one side has.
    Side(ConflictSide),
    /// A value of a person's own, as JSON text; never of a Secret.
    Value(String),
}

/// A decision, and which conflicts it is about: those at this place with these values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The file.
    pub file: PackagePath,
    /// The resource, as in a conflict.
    pub resource: String,
    /// The field's path, as in a conflict.
    pub path: String,
    /// The common ancestor's value.
    pub base: ConflictValue,
    /// Upstream's value.
    pub upstream: ConflictValue,
    /// The local value, where only conflicts with the same one are meant: always so for a value of one's own.
    pub local: Option<ConflictValue>,
    /// What is decided.
    pub choice: Choice,
}

impl Resolution {
    /// A decision about conflicts that are equal to this one.
    pub fn of(conflict: &Conflict, choice: Choice) -> Self {
        let literal = matches!(choice, Choice::Value(_));
        Self {
            file: conflict.file.clone(),
            resource: conflict.resource.clone(),
            path: conflict.path.clone(),
            base: conflict.base.clone(),
            upstream: conflict.upstream.clone(),
            local: literal.then(|| conflict.local.clone()),
            choice,
        }
    }

    /// Whether it is about this conflict.
    pub fn is_about(&self, conflict: &Conflict) -> bool {
        let place = (&self.file, self.resource.as_str(), self.path.as_str());
        conflict.place() == place
            && conflict.base == self.base
            && conflict.upstream == self.upstream
            && self
                .local
                .as_ref()
                .is_none_or(|local| conflict.local == *local)
    }

    /// Whether it is about something at the place of this conflict, be it equal or not.
    pub fn is_beside(&self, conflict: &Conflict) -> bool {
        conflict.place() == (&self.file, self.resource.as_str(), self.path.as_str())
    }
}
