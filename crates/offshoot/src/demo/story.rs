//! The narrator: paragraphs, checked claims, and a progress bar on a terminal.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::ExitFailure;

/// Tells the story on standard output; the bar stands on standard error.
pub(super) struct Story {
    bar: ProgressBar,
    chapter: usize,
}

impl Story {
    pub(super) fn new(quiet: bool, chapters: usize) -> Self {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let bar = if quiet || !terminal {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(u64::try_from(chapters).unwrap_or_default())
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Self { bar, chapter: 0 }
    }

    /// Begins a chapter.
    pub(super) fn chapter(&mut self, title: &str) -> Result<(), ExitFailure> {
        self.chapter += 1;
        self.bar.inc(1);
        self.bar.set_message(title.to_owned());
        self.say(&format!("\n{}. {title}\n", self.chapter))
    }

    /// Says something.
    pub(super) fn say(&self, text: &str) -> Result<(), ExitFailure> {
        let written = self
            .bar
            .suspend(|| writeln!(std::io::stdout().lock(), "{text}"));
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(ExitFailure::of("write to standard output", &error))
            }
            _ => Ok(()),
        }
    }

    /// States a fact that was checked.
    ///
    /// # Errors
    /// It is none; `found` says what is.
    pub(super) fn claim(
        &self,
        holds: bool,
        fact: &str,
        found: impl FnOnce() -> String,
    ) -> Result<(), ExitFailure> {
        if holds {
            return self.say(&format!("   * {fact}"));
        }
        Err(ExitFailure::new(format!(
            "the demo expected: {fact}; but found: {}",
            found()
        )))
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
