//! Conflicts of a three-way merge, as data (V4).

use std::fmt;

use crate::PackagePath;

/// What a variant wants done with conflicts (`spec.conflictPolicy`, V4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ConflictPolicy {
    /// Take upstream's value, and gate the draft until each conflict is acknowledged or resolved.
    #[default]
    Block,
    /// Take upstream's value and record it.
    Upstream,
    /// Keep the local value and record it.
    Local,
}

impl ConflictPolicy {
    /// The wire form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Block => "Block",
            Self::Upstream => "Upstream",
            Self::Local => "Local",
        }
    }
}

/// The id of a conflict: the same place with the same local and upstream values has the same id in every draft,
/// and a conflict that opens again with other values has a new one (V4a).
///
/// Sixteen lower-case hex digits, computed by `package`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConflictId(pub String);

impl fmt::Display for ConflictId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One side's value at a conflict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictValue {
    /// The field, resource or file is not there on this side.
    Absent,
    /// Its value as JSON text (a file's text for a file).
    Json(String),
    /// A secret's value, a binary file or what is too long for a record: only a hash is recorded (V4). Of what is too long the text
    /// ends with what it is and how long ([`ConflictValue::abridged`]).
    Hash(String),
}

impl ConflictValue {
    /// What a value is, and how long, of which a record holds only a hash because of its length: `a text of 5000 bytes`.
    pub fn abridged(&self) -> Option<&str> {
        let Self::Hash(text) = self else {
            return None;
        };
        let (_, told) = text.split_once(" (")?;
        told.strip_suffix(')')
    }
}

/// What the merge put into the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// Upstream's value (or its deletion) was taken.
    Upstream,
    /// The local value (or deletion) was kept.
    Local,
}

/// Whether a conflict still wants a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConflictState {
    /// Nobody has looked at it; under `Block` it keeps the gate closed.
    Open,
    /// A person accepted the decision as it stands (`spec.resolvedConflicts`).
    Acknowledged,
    /// A person edited the field in the draft afterwards.
    Resolved,
    /// Recorded only: the policy or its kind gates nothing.
    Recorded,
}

impl ConflictState {
    /// All of them, in order.
    const ALL: [Self; 4] = [
        Self::Open,
        Self::Acknowledged,
        Self::Resolved,
        Self::Recorded,
    ];

    /// Reads the wire form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// The wire form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Acknowledged => "acknowledged",
            Self::Resolved => "resolved",
            Self::Recorded => "recorded",
        }
    }
}

/// One recorded conflict: both sides changed, or one deleted what the other changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Its id.
    pub id: ConflictId,
    /// The file, relative to the package.
    pub file: PackagePath,
    /// `group/Kind/namespace/name`; empty for a file that holds no resource.
    pub resource: String,
    /// The field's path as `spec.containers[name=web].image`; empty for the whole resource or file.
    pub path: String,
    /// The common ancestor's value.
    pub base: ConflictValue,
    /// The local (person's) value.
    pub local: ConflictValue,
    /// Upstream's value.
    pub upstream: ConflictValue,
    /// What the result holds.
    pub decision: Decision,
    /// Whether somebody still has to look at it.
    pub state: ConflictState,
    /// The id of the conflict that caused this one, for a field that the render then wrote
    /// (V4: listed as `derived`, without a gate of its own).
    pub derived_from: Option<ConflictId>,
}

/// The longest value that a sentence shows, in characters.
const SHOWN: usize = 40;

impl fmt::Display for ConflictValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("nothing"),
            Self::Hash(_) => f.write_str(self.abridged().unwrap_or("something that is not shown")),
            Self::Json(text) => match text.char_indices().nth(SHOWN) {
                Some((end, _)) => write!(f, "{}…", text.get(..end).unwrap_or_default()),
                None => f.write_str(text),
            },
        }
    }
}

/// Id, place and both values, as far as they fit a sentence.
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, resource, path) = self.place();
        let words = [file.as_str(), resource, path];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        write!(f, "{} ({}: ", self.id, words.join(" "))?;
        let taken = match self.decision {
            Decision::Upstream => "upstream",
            Decision::Local => "local",
        };
        let (local, upstream) = (&self.local, &self.upstream);
        write!(f, "local {local}, upstream {upstream}, {taken} was taken)")
    }
}

impl Conflict {
    /// Where it stands: file, resource and path. A draft has one conflict at one place (V18).
    pub fn place(&self) -> (&PackagePath, &str, &str) {
        (&self.file, &self.resource, &self.path)
    }

    /// Whether both are about the same local and the same upstream value: what people said about one holds for the
    /// other.
    pub fn same_values(&self, other: &Self) -> bool {
        self.local == other.local && self.upstream == other.upstream
    }

    /// Whether a person has answered it.
    pub fn is_settled(&self) -> bool {
        matches!(
            self.state,
            ConflictState::Acknowledged | ConflictState::Resolved
        )
    }

    /// Whether this conflict keeps the draft's gate closed.
    pub fn blocks(&self) -> bool {
        self.state == ConflictState::Open && self.derived_from.is_none()
    }
}
