//! Files that only their owner can read, complete or not at all: a key that was half written, or that a power cut
//! took back after clients had come to trust it, would shut everybody out.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file durably: its text is on the disk before its name is, and its name before this returns.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
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
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
