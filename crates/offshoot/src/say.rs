//! What people are told on standard error.

use std::io::Write as _;

use crate::visible::visible;

/// A line for people, on standard error.
pub(crate) fn say(line: &str) {
    say_plain(&format!("{line}\n"));
}

/// A text for people, on standard error, with nothing in it that a terminal obeys: it may name what packages hold. Nobody is
/// left to tell if that is gone.
pub(crate) fn say_plain(text: &str) {
    drop(std::io::stderr().lock().write_all(visible(text).as_bytes()));
}
