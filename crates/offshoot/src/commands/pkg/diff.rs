//! `pkg diff`: what differs between two packages.

use std::process::ExitCode;

use super::findings;
use crate::cli::local::{DiffArgs, Format};
use crate::commands::rpkg::contents::differences;
use crate::commands::write_out;
use crate::exit::ExitFailure;
use crate::folder;

/// Something differs.
const CHANGES: u8 = 2;

/// Prints every difference.
pub(super) fn run(args: &DiffArgs) -> Result<ExitCode, ExitFailure> {
    let before = folder::read(&args.before)?;
    let after = folder::read(&args.after)?;
    let all = differences(&before, &after);
    write_out(&match args.format {
        Format::Text => findings::differences(&all),
        Format::Json => findings::differences_json(&all),
    })?;
    Ok(if all.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(CHANGES)
    })
}
