//! Files that only their owner can read, whatever mode their directory has.
//!
//! New files are made exclusively: a link that somebody planted is never followed. What is written as a whole is there
//! complete or not at all: a key that was half written, or that a power cut took back after clients had come to trust
//! it, would shut everybody out.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// What nobody but the owner may do.
const OTHERS: u32 = 0o077;

/// Makes a directory, and those above it, where they are missing; one that is there stays as it is.
///
/// # Errors
/// It cannot be made.
pub fn directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes a file; what was under its name, such as the draft of a process that died, goes.
///
/// # Errors
/// It cannot be made.
pub fn create(path: &Path) -> io::Result<File> {
    let make = || options().write(true).create_new(true).open(path);
    match make() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            make()
        }
        made => made,
    }
}

/// Opens a file to read and write, made where it is missing. One that others may read is closed to them.
///
/// # Errors
/// It cannot be opened, or is a link.
pub fn open(path: &Path) -> io::Result<File> {
    let file = there_or_new(path, options().read(true).write(true))?;
    if file.metadata()?.permissions().mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Opens a file to append to, made where it is missing; the mode of one that is there is its owner's to choose.
///
/// # Errors
/// It cannot be opened, or is a link; those of the system below `/dev` are followed.
pub fn append(path: &Path) -> io::Result<File> {
    if path.starts_with("/dev") {
        return options().append(true).open(path);
    }
    there_or_new(path, options().append(true))
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn there_or_new(path: &Path, options: &OpenOptions) -> io::Result<File> {
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
            let opened = options.clone().custom_flags(flags).open(path);
            opened.map_err(|error| match path.is_symlink() {
                true => io::Error::other("it is a symbolic link: name the file itself"),
                false => error,
            })
        }
        made => made,
    }
}

/// Writes a file durably: its text is on the disk before its name is, and its name before this returns.
///
/// # Errors
/// It cannot be written; what was there is then there still.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().filter(|d| !d.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = directory.join(format!(".{name}.{}", std::process::id()));
    let written = fill(&draft, text).and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        // The first failure is the one to tell of.
        drop(std::fs::remove_file(&draft));
        return written;
    }
    // A directory made just now must be found again, too.
    let above = directory.parent().filter(|d| !d.as_os_str().is_empty());
    [Some(directory), above]
        .into_iter()
        .flatten()
        .try_for_each(|d| File::open(d)?.sync_all())
}

fn fill(path: &Path, text: &str) -> io::Result<()> {
    let mut file = create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
