//! `offshoot pkg`: the package engine on plain directories, without a server.

mod diff;
pub(super) mod findings;
mod merge;
mod render;

use std::process::ExitCode;

use crate::cli::local::{Pkg, PkgArgs};
use crate::exit::ExitFailure;

/// Runs one verb.
///
/// # Errors
/// It failed, and why.
pub(super) fn run(args: &PkgArgs) -> Result<ExitCode, ExitFailure> {
    match &args.verb {
        Pkg::Render(args) => render::run(args),
        Pkg::Merge(args) => merge::packages(args),
        Pkg::MergeFile(args) => merge::file(args),
        Pkg::Diff(args) => diff::run(args),
    }
}
