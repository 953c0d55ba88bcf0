//! Conditions as Kubernetes writes them.

use std::fmt;

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody knows.
    Unknown,
}

impl Status {
    /// Reads the wire form; anything else than `True` and `False` is unknown (M18: never a panic).
    pub fn parse(text: &str) -> Self {
        match text {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }

    /// The wire form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One condition of an object or of a package (Kptfile `status.conditions`).
///
/// Transition times and observed generations belong to the wire: the door adds them when a
/// condition's status changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Condition {
    /// Such as `Ready` or `config.injection.ConfigMap.endpoint`.
    pub kind: String,
    /// Whether it holds.
    pub status: Status,
    /// A documented word in `CamelCase`; may be empty in packages.
    pub reason: String,
    /// A sentence for people; stable, without times.
    pub message: String,
}

impl Condition {
    /// A condition of the given status.
    pub fn new(
        kind: impl Into<String>,
        status: Status,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind: kind.into(),
            status,
            reason: reason.into(),
            message: message.into(),
        }
    }
}
