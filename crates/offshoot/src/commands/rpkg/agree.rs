//! Whoever sits at the terminal says whether that is what was meant.

use std::io::{BufRead as _, IsTerminal as _};

use crate::commands::say_plain;
use crate::exit::ExitFailure;

/// Asks; comes back once somebody agreed.
///
/// # Errors
/// Nobody agreed, or nobody is there: the ways without a terminal are named.
pub(super) fn agreed(question: &str, without: &str) -> Result<(), ExitFailure> {
    if !std::io::stdin().is_terminal() {
        let why = "nobody is here to say whether that is what was meant";
        return Err(ExitFailure::usage(why).hint(without));
    }
    say_plain(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.map_err(|e| ExitFailure::of("read the answer", &e))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(ExitFailure::new("nothing was done")),
    }
}
