//! Exit codes: 0 done, 1 failed, 2 changes found, 64 usage.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use model::Class;
use plan::revision::RejectionReason;

use crate::visible::visible;

/// The command line is wrong.
const USAGE: u8 = 64;

/// Why a command failed, as people read it.
#[derive(Debug)]
pub struct ExitFailure {
    class: Option<Class>,
    reason: Option<RejectionReason>,
    message: String,
    hint: Option<String>,
}

impl std::fmt::Display for ExitFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl ExitFailure {
    /// A failure with its message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            class: None,
            reason: None,
            message: message.into(),
            hint: None,
        }
    }

    /// A failure of `attempt`, with the whole chain of causes.
    pub fn of(attempt: &str, error: &dyn std::error::Error) -> Self {
        let mut message = format!("cannot {attempt}: {error}");
        let mut next = error.source();
        while let Some(source) = next {
            // Writing to a String cannot fail.
            let text = source.to_string();
            // Some libraries repeat the cause in their own text.
            if !message.ends_with(&text) {
                _ = write!(message, ": {text}");
            }
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

    /// The same with a way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether it names a way out.
    pub(crate) fn is_hinted(&self) -> bool {
        self.hint.is_some()
    }

    /// The same of this kind.
    #[must_use]
    pub(crate) fn of_class(mut self, class: Class) -> Self {
        self.class = Some(class);
        self
    }

    /// What kind of failure it is, if that is known.
    pub(crate) fn class(&self) -> Option<Class> {
        self.class
    }

    /// Whether the request met something else than it expected: reading anew and asking again may help.
    pub(crate) fn is_conflict(&self) -> bool {
        self.class == Some(Class::Conflict)
    }

    /// The same with the reason that programs read.
    #[must_use]
    pub(crate) fn because(mut self, reason: impl Into<Option<RejectionReason>>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Why it was refused, for programs; nothing where a server says none that is known here.
    pub(crate) fn reason(&self) -> Option<RejectionReason> {
        self.reason
    }

    /// What is wrong, without the way out.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same, said of a thing: `web failed (message)`.
    #[must_use]
    pub(crate) fn of_thing(mut self, thing: &str) -> Self {
        self.message = format!("{thing} ({})", self.message);
        self
    }

    /// The message and the way out, each in its line.
    pub(crate) fn text(&self) -> String {
        let hint = self.hint.as_ref().map(|hint| format!("hint: {hint}\n"));
        format!("{}\n{}", self.message, hint.unwrap_or_default())
    }

    /// Prints it and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let mut err = std::io::stderr().lock();
        // Nobody is left to tell if standard error is gone.
        drop(write!(err, "error: {}", visible(&self.text())));
        self.code()
    }

    /// Logs it instead, for programs, and gives the exit code.
    pub(crate) fn log(&self) -> ExitCode {
        tracing::error!(hint = self.hint.as_deref(), "{}", self.message);
        self.code()
    }

    fn code(&self) -> ExitCode {
        ExitCode::from(if self.class == Some(Class::Invalid) {
            USAGE
        } else {
            1
        })
    }
}
