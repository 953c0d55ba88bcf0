//! `pkg merge` and `pkg merge-file`: three-way merges of directories and single files.

use std::path::Path;
use std::process::ExitCode;

use model::{Conflict, ConflictPolicy, File, Files, PackagePath, Strategy};
use package::merge::{MergeError, MergeOptions, Merged, merge};

use super::findings;
use crate::cli::local::{Format, MergeArgs, MergeFileArgs, Policy};
use crate::commands::markers::Markers;
use crate::commands::{say_plain, write_out};
use crate::exit::ExitFailure;
use crate::folder;

/// Merges packages. Nothing is written unless the merge could be made.
pub(super) fn packages(args: &MergeArgs) -> Result<ExitCode, ExitFailure> {
    let base = folder::read(&args.base)?;
    let local = folder::read(&args.local)?;
    let upstream = folder::read(&args.upstream)?;
    let in_place = same_place(&args.local, &args.out);
    if !in_place && occupied(&args.out) {
        return Err(
            ExitFailure::new(format!("{} is not empty", args.out.display()))
                .hint("name a new directory, or the local one to merge in place"),
        );
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

/// Merges one file, as git asks a merge driver to: what is open stands between conflict markers.
pub(super) fn file(args: &MergeFileArgs) -> Result<ExitCode, ExitFailure> {
    let name = args.path.as_deref().unwrap_or_default();
    let name = name.rsplit('/').next().filter(|name| !name.is_empty());
    let own = args.local.file_name().and_then(|name| name.to_str());
    let name = name.or(own).unwrap_or("file.yaml");
    let path = PackagePath::parse(name)
        .map_err(|error| ExitFailure::of(&format!("merge a file named {name:?}"), &error))?;
    let side = |place: &Path| {
        let bytes = std::fs::read(place)
            .map_err(|error| ExitFailure::of(&format!("read {}", place.display()), &error))?;
        // git hands over an empty file for a side that had none.
        let none = bytes.is_empty() && place == args.base;
        let file = (!none).then(|| (path.clone(), File::new(bytes)));
        Ok(file.into_iter().collect::<Files>())
    };
    let sides = [side(&args.base)?, side(&args.local)?, side(&args.upstream)?];
    let merged = match settled(&sides, args.conflicts.model()) {
        Ok(merged) => merged,
        Err(error) if args.conflicts == Policy::Block => {
            // Nobody can say what belongs together: a person decides about every line that differs.
            let why = failed(&error).to_string();
            say_plain(&format!("{why}: every difference is left to you\n"));
            let [_, local, upstream] = &sides;
            put(
                args,
                local.get(&path),
                &marked(args, &path, local, upstream),
            )?;
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(failed(&error)),
    };
    let after = if merged.conflicts.iter().any(Conflict::blocks) {
        let [local, upstream] = [ConflictPolicy::Local, ConflictPolicy::Upstream]
            .map(|policy| settled(&sides, policy).map(|merged| merged.files));
        let [local, upstream] = [local, upstream].map(|side| side.map_err(|error| failed(&error)));
        marked(args, &path, &local?, &upstream?)
    } else {
        let file = merged.files.get(&path);
        file.map_or_else(Vec::new, |file| file.bytes().to_vec())
    };
    let [_, local, _] = &sides;
    put(args, local.get(&path), &after)?;
    say_plain(&findings::conflicts(&merged.conflicts));
    Ok(verdict(&merged.conflicts))
}

/// The three sides of a file merged, with what wins at a conflict.
fn settled(
    [base, local, upstream]: &[Files; 3],
    policy: ConflictPolicy,
) -> Result<Merged, MergeError> {
    let options = MergeOptions {
        need_kptfile: false,
        ..MergeOptions::against_base(Strategy::ResourceMerge, policy)
    };
    merge(base, local, upstream, &options)
}

/// Both ways to settle a file's conflicts in one text; what is no text stays as it is locally, as git has it.
fn marked(args: &MergeFileArgs, path: &PackagePath, local: &Files, upstream: &Files) -> Vec<u8> {
    let markers = Markers {
        size: usize::from(args.marker_size),
        local: &args.label_local,
        upstream: &args.label_upstream,
    };
    let text = |files: &Files| match files.get(path) {
        Some(file) => file.as_text().map(str::to_owned),
        None => Some(String::new()),
    };
    match (text(local), text(upstream)) {
        (Some(local), Some(upstream)) => markers.between(&local, &upstream).into_bytes(),
        _ => local
            .get(path)
            .map_or_else(Vec::new, |file| file.bytes().to_vec()),
    }
}

/// Writes the result where git looks for it, if it is not there already.
fn put(args: &MergeFileArgs, before: Option<&File>, after: &[u8]) -> Result<(), ExitFailure> {
    if before.is_some_and(|before| **before.bytes() == *after) {
        return Ok(());
    }
    std::fs::write(&args.local, after)
        .map_err(|error| ExitFailure::of(&format!("write {}", args.local.display()), &error))
}

fn failed(error: &MergeError) -> ExitFailure {
    let failure = ExitFailure::of("merge", error);
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
