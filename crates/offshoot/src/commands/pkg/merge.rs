//! `pkg merge` and `pkg merge-file`: three-way merges of directories and single files.

use std::path::Path;
use std::process::ExitCode;

use model::{Conflict, File, Files, PackagePath, Strategy};
use package::merge::{MergeError, MergeOptions, merge};

use super::findings;
use crate::cli::local::{Format, MergeArgs, MergeFileArgs};
use crate::commands::{say_plain, write_out};
use crate::exit::Failure;
use crate::folder;

/// Merges packages. Nothing is written unless the merge could be made.
pub(super) fn packages(args: &MergeArgs) -> Result<ExitCode, Failure> {
    let base = folder::read(&args.base)?;
    let local = folder::read(&args.local)?;
    let upstream = folder::read(&args.upstream)?;
    let in_place = same_place(&args.local, &args.out);
    if !in_place && occupied(&args.out) {
        return Err(Failure::new(format!("{} is not empty", args.out.display()))
            .hint("name a new directory, or the local one to merge in place"));
    }
    let options = MergeOptions::upgrade(args.strategy, args.conflicts.model());
    let merged = merge(&base, &local, &upstream, &options).map_err(|error| failed(&error))?;
    let before = if in_place { local } else { Files::new() };
    folder::write(&args.out, &before, &merged.files)?;
    write_out(&match args.format {
        Format::Text => findings::conflicts(&merged.conflicts),
        Format::Json => findings::conflicts_json(&merged.conflicts),
    })?;
    Ok(verdict(&merged.conflicts))
}

/// Merges one file, as git asks a merge driver to.
pub(super) fn file(args: &MergeFileArgs) -> Result<ExitCode, Failure> {
    let name = args.path.as_deref().unwrap_or_default();
    let name = name.rsplit('/').next().filter(|name| !name.is_empty());
    let own = args.local.file_name().and_then(|name| name.to_str());
    let name = name.or(own).unwrap_or("file.yaml");
    let path = PackagePath::parse(name)
        .map_err(|error| Failure::of(&format!("merge a file named {name:?}"), &error))?;
    let side = |place: &Path| {
        let bytes = std::fs::read(place)
            .map_err(|error| Failure::of(&format!("read {}", place.display()), &error))?;
        // git hands over an empty file for a side that had none.
        let none = bytes.is_empty() && place == args.base;
        let file = (!none).then(|| (path.clone(), File::new(bytes)));
        Ok(file.into_iter().collect::<Files>())
    };
    let (base, local, upstream) = (side(&args.base)?, side(&args.local)?, side(&args.upstream)?);
    let options = MergeOptions {
        need_kptfile: false,
        ..MergeOptions::against_base(Strategy::ResourceMerge, args.conflicts.model())
    };
    let merged = merge(&base, &local, &upstream, &options).map_err(|error| failed(&error))?;
    let before = local.get(&path).map(|file| file.bytes().clone());
    let after = merged.files.get(&path).map(|file| file.bytes().clone());
    if before != after {
        let bytes = after.unwrap_or_else(|| Vec::new().into());
        std::fs::write(&args.local, &bytes)
            .map_err(|error| Failure::of(&format!("write {}", args.local.display()), &error))?;
    }
    say_plain(&findings::conflicts(&merged.conflicts));
    Ok(verdict(&merged.conflicts))
}

fn failed(error: &MergeError) -> Failure {
    let failure = Failure::of("merge", error);
    match error {
        MergeError::ReadKptfile { .. } => failure.hint("a package is a directory with a Kptfile"),
        _ => failure,
    }
}

/// An open conflict wants a person.
fn verdict(conflicts: &[Conflict]) -> ExitCode {
    ExitCode::from(u8::from(conflicts.iter().any(Conflict::blocks)))
}

fn same_place(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}

fn occupied(directory: &Path) -> bool {
    match std::fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => directory.exists(),
    }
}
