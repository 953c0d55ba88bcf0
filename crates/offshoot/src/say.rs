//! What people are told on standard error.

use std::io::Write as _;

/// A line for people, on standard error.
pub(crate) fn say(line: &str) {
    say_plain(&format!("{line}\n"));
}

/// A text for people, on standard error; nobody is left to tell if that is gone.
pub(crate) fn say_plain(text: &str) {
    drop(std::io::stderr().lock().write_all(text.as_bytes()));
}
