//! Why a plan is as it is: what is waited for, and why nothing happens.
//!
//! Reports feed `status`, `offshoot plan` and `offshoot why`; they never decide anything.

use std::fmt;
use std::time::Duration;

use model::{Condition, Status};

/// When to look again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing to do until something that is watched changes.
    Rest,
    /// Look again as soon as the steps are done.
    Again,
    /// Look again after this time, if nothing happens before.
    After(Duration),
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rest => f.write_str("rest"),
            Self::Again => f.write_str("look again"),
            Self::After(time) => write!(f, "look again after {} s", time.as_secs()),
        }
    }
}

/// One sentence of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What is so.
    pub what: String,
    /// The way out, where a person has to act.
    pub hint: Option<String>,
}

/// Why a plan is as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The state in one word or two, such as `up to date` (R22).
    pub state: String,
    /// What led there, in the order of thinking.
    pub notes: Vec<Note>,
    /// Whether nothing is done until something that is watched changes.
    pub waits: bool,
}

impl Report {
    /// A report of a state, without notes.
    pub fn of(state: impl Into<String>) -> Self {
        Self {
            state: state.into(),
            ..Self::default()
        }
    }

    /// Adds a sentence.
    pub fn note(&mut self, what: impl Into<String>) {
        self.notes.push(Note {
            what: what.into(),
            hint: None,
        });
    }

    /// Adds a sentence with a way out.
    pub fn hint(&mut self, what: impl Into<String>, hint: impl Into<String>) {
        self.notes.push(Note {
            what: what.into(),
            hint: Some(hint.into()),
        });
    }
}

/// So many of something, in words.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// The last line of an explanation: when something is looked at again, or that somebody has to act first; `stuck` says that
/// for what stands neither in the report nor in a condition.
pub(crate) fn then(next: Next, report: &Report, conditions: &[Condition], stuck: bool) -> String {
    let mut conditions = conditions.iter();
    let stalled = conditions.any(|c| c.kind == "Stalled" && c.status == Status::True);
    let asked = report.notes.iter().any(|n| n.hint.is_some());
    match next {
        Next::Rest if stuck || stalled || asked => "rest, until a person acts".to_owned(),
        other => other.to_string(),
    }
}

/// The last line as people read it: that nothing is to be done, behind the steps if there are any, is no riddle.
pub(crate) fn last(next: &str, steps: usize) -> String {
    match (next, steps) {
        ("rest", 0) => {
            "next: nothing is to be done until something that it follows changes".to_owned()
        }
        ("rest", _) => "next: nothing else until something that it follows changes".to_owned(),
        (other, _) => format!("next: {other}"),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "state: {}", self.state)?;
        for note in &self.notes {
            writeln!(f, "- {}", note.what)?;
            if let Some(hint) = &note.hint {
                writeln!(f, "  hint: {hint}")?;
            }
        }
        Ok(())
    }
}
