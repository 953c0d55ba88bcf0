//! The project's toolbox: `cargo xtask COMMAND`.

mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's toolbox.
#[derive(Debug, Parser)]
#[command(name = "xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check what the compiler cannot: arrows between rooms, sizes, module docs, words, links.
    Tidy,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Command::Tidy => tidy::run(&root()),
    }
}

/// The workspace's root: the directory above this crate.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}
