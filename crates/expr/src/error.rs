//! What is wrong with an expression, where, and at which stage.

use std::fmt;

/// Where an error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Before it can run: syntax, names, types, limits.
    Compile,
    /// In a part that is the same for all inputs, such as a regular expression.
    Program,
    /// With these inputs.
    Eval,
    /// The result is no string.
    Result,
}

/// A place in the expression, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// An expression that cannot be compiled or evaluated, in cel-go's words where they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprError {
    /// At which stage.
    pub stage: Stage,
    /// Where, if it is known.
    pub position: Option<Position>,
    /// What is wrong, in one line.
    pub message: String,
    /// The line of the expression that the position points into.
    pub line: String,
}

impl ExprError {
    pub(crate) fn new(stage: Stage, message: impl Into<String>) -> Self {
        Self {
            stage,
            position: None,
            message: message.into(),
            line: String::new(),
        }
    }

    pub(crate) fn at(text: &str, position: Position, message: impl Into<String>) -> Self {
        let line = text.lines().nth(position.line.saturating_sub(1));
        Self {
            position: Some(position),
            line: line.unwrap_or_default().to_owned(),
            ..Self::new(Stage::Compile, message)
        }
    }
}

/// As cel-go prints it: with the line and a caret where the position is known.
impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Position { line, column }) = self.position else {
            return f.write_str(&self.message);
        };
        writeln!(f, "ERROR: <input>:{line}:{column}: {}", self.message)?;
        writeln!(f, " | {}", self.line)?;
        write!(f, " | {}^", ".".repeat(column.saturating_sub(1)))
    }
}

impl std::error::Error for ExprError {}
