//! Exit codes: 0 done, 1 failed, 2 changes found, 64 usage (surface.md).

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use model::Class;

/// Changes were found (`plan`, `diff`).
#[expect(
    dead_code,
    reason = "the commands that find changes come with the package engine's own"
)]
pub(crate) const CHANGES: u8 = 2;
/// The command line is wrong.
const USAGE: u8 = 64;

/// Why a command failed, as people read it.
#[derive(Debug)]
pub(crate) struct Failure {
    class: Option<Class>,
    message: String,
    hint: Option<String>,
    printed: bool,
}

impl Failure {
    /// A failure with its message.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            class: None,
            message: message.into(),
            hint: None,
            printed: false,
        }
    }

    /// A failure of `attempt`, with the whole chain of causes.
    pub(crate) fn of(attempt: &str, error: &dyn std::error::Error) -> Self {
        let mut message = format!("cannot {attempt}: {error}");
        let mut next = error.source();
        while let Some(source) = next {
            // Writing to a String cannot fail.
            _ = write!(message, ": {source}");
            next = source.source();
        }
        Self::new(message)
    }

    /// A command line that cannot be understood.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            class: Some(Class::Invalid),
            ..Self::new(message)
        }
    }

    /// A failure of which everything was said already.
    pub(crate) fn said() -> Self {
        Self {
            printed: true,
            ..Self::new("")
        }
    }

    /// The same with a way out.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What is wrong, without the way out.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints it and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if !self.printed {
            let mut err = std::io::stderr().lock();
            // Nobody is left to tell if standard error is gone.
            _ = writeln!(err, "error: {}", self.message);
            if let Some(hint) = &self.hint {
                _ = writeln!(err, "hint: {hint}");
            }
        }
        ExitCode::from(if self.class == Some(Class::Invalid) {
            USAGE
        } else {
            1
        })
    }
}
