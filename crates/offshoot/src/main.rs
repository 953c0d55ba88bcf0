//! The one binary: the embedded server with its controllers, and the command line.
//!
//! Doors only: a command is parsed, handed to the room that knows, and its answer printed. Nothing
//! here decides on the state of a package.

mod cli;
mod client;
mod commands;
mod config;
mod exit;
mod logging;

use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = match cli::matches() {
        Ok(matches) => matches,
        Err(failure) => return failure.report(),
    };
    match commands::run(&matches) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
