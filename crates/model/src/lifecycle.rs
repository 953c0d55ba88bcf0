//! The lifecycle of a package revision: one table.
//!
//! Nobody else compares lifecycles to find out what may follow.

use std::fmt;

/// Where a package revision stands between draft and history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Lifecycle {
    /// May be edited.
    #[default]
    Draft,
    /// Waits for approval; frozen.
    Proposed,
    /// Approved: a tag, a number, and content that never changes.
    Published,
    /// Published, and somebody asked to delete it.
    DeletionProposed,
}

impl Lifecycle {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [
        Self::Draft,
        Self::Proposed,
        Self::Published,
        Self::DeletionProposed,
    ];

    /// Reads the wire form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|l| l.as_str() == text)
    }

    /// The wire form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "Draft",
            Self::Proposed => "Proposed",
            Self::Published => "Published",
            Self::DeletionProposed => "DeletionProposed",
        }
    }

    /// Whether it was approved once: it has a number and a tag.
    pub fn is_published(self) -> bool {
        matches!(self, Self::Published | Self::DeletionProposed)
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Through which door a change of lifecycle is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Door {
    /// `packagerevisions`: authors.
    Main,
    /// `packagerevisions/approval`: approvers.
    Approval,
}

/// Why a change of lifecycle is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionRefusal {
    /// The lifecycle that stands, as Porch shows it in `Invalid value: "Draft"`.
    pub value: Lifecycle,
    /// Porch's message.
    pub message: String,
}

impl fmt::Display for TransitionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Whether `from` may become `to` through this door.
///
/// # Errors
/// Porch's message where it may not.
pub fn transition(from: Lifecycle, to: Lifecycle, door: Door) -> Result<(), TransitionRefusal> {
    use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
    let refuse = |message: &str| {
        Err(TransitionRefusal {
            value: from,
            message: message.to_owned(),
        })
    };
    match (door, from, to) {
        (Door::Main, Draft | Proposed, Draft | Proposed)
        | (_, Published | DeletionProposed, Published | DeletionProposed)
        | (Door::Approval, Proposed, Draft | Published) => Ok(()),
        (Door::Main, Draft | Proposed, _) => refuse("value can be only updated to Draft,Proposed"),
        (_, Published | DeletionProposed, _) => {
            refuse("value can be only updated to Published,DeletionProposed")
        }
        (Door::Approval, Draft, _) => refuse(
            "cannot approve package with Draft lifecycle value; \
             only Proposed packages can be approved",
        ),
        (Door::Approval, Proposed, _) => refuse("value can be only updated to Draft,Published"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, as people read it: rows are what stands, columns what is asked for.
    #[test]
    fn the_table() {
        let table = |door| {
            Lifecycle::ALL
                .map(|from| {
                    Lifecycle::ALL
                        .map(|to| {
                            if transition(from, to, door).is_ok() {
                                '+'
                            } else {
                                '-'
                            }
                        })
                        .iter()
                        .collect::<String>()
                })
                .join(" ")
        };
        assert_eq!(table(Door::Main), "++-- ++-- --++ --++");
        assert_eq!(table(Door::Approval), "---- +-+- --++ --++");
    }

    #[test]
    fn refusals_show_what_stands() {
        let refusal = transition(Lifecycle::Draft, Lifecycle::Published, Door::Main).unwrap_err();
        assert_eq!(refusal.value, Lifecycle::Draft);
        assert_eq!(
            refusal.message,
            "value can be only updated to Draft,Proposed"
        );
    }
}
