//! One file a command.

mod crds;

use std::io::Write as _;
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::cli::{Cli, Command};
use crate::exit::Failure;
use crate::logging;

/// Runs what was asked for.
///
/// # Errors
/// It failed, and why.
pub(crate) fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    logging::start(cli.log, "warn");
    match &cli.command {
        Command::Crds => print(&crds::text()),
        Command::Completion { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "offshoot", &mut out);
            print(&String::from_utf8_lossy(&out))
        }
        Command::Version => print(&format!("offshoot {}\n", env!("CARGO_PKG_VERSION"))),
        Command::Demo(_) | Command::Up(_) => Err(Failure::said()),
    }
}

/// Data goes to standard output; a reader that went away is no failure.
fn print(text: &str) -> Result<ExitCode, Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::of("write to standard output", &error))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
