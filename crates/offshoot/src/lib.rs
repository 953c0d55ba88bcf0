//! The embedded server with its controllers, and the command line.
//!
//! Doors only: a command is parsed, handed to the crate that knows, and its answer printed. Nothing
//! here decides on the state of a package. It is a library so that benches and tests start the
//! very server that `offshoot up` starts.

mod cli;
pub mod client;
pub mod cluster;
mod commands;
mod config;
mod demo;
mod exit;
mod folder;
mod gateway;
mod logging;
mod planning;
mod ports;
mod runtimes;
mod say;
mod shell;
mod stack;
pub mod up;
mod visible;

use std::process::ExitCode;

pub use exit::ExitFailure;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let matches = match cli::matches() {
        Ok(matches) => matches,
        Err(failure) => return failure.report(),
    };
    match commands::run(&matches) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
