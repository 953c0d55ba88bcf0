//! The data directory: what is in it, who may use it, and which version wrote it.
//!
//! One process at a time: a lock on `lock` keeps others out, and goes with the process whatever
//! ends it. A directory of a newer version is refused untouched (decisions.md X7).

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::exit::Failure;

/// The layout that this version writes.
const FORMAT: u32 = 1;

/// A locked data directory.
#[derive(Debug)]
pub(crate) struct DataDir {
    root: PathBuf,
    /// Held for as long as the directory is used.
    _lock: File,
}

impl DataDir {
    /// Creates the directory if it is missing, and locks it.
    ///
    /// # Errors
    /// It cannot be created, another process uses it, or a newer version wrote it.
    pub(crate) fn open(root: &Path) -> Result<Self, Failure> {
        let attempt = format!("open the data directory {}", root.display());
        let failed = |e: std::io::Error| Failure::of(&attempt, &e);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(root)
            .map_err(failed)?;
        let root = root.canonicalize().map_err(failed)?;
        let mut lock = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(root.join("lock"))
            .map_err(failed)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            // Who holds it is a help, not a need.
            drop(lock.read_to_string(&mut holder));
            let text = format!(
                "{} is in use by another offshoot {}",
                root.display(),
                holder.trim()
            );
            return Err(Failure::new(text.trim_end().to_owned())
                .hint("stop the other one, or give another directory with --data"));
        }
        lock.set_len(0)
            .and_then(|()| write!(lock, "(process {})", std::process::id()))
            .map_err(failed)?;
        check_format(&root)?;
        Ok(Self { root, _lock: lock })
    }

    /// The directory itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Mirrors of remote repositories, and the journals of all.
    pub(crate) fn git(&self) -> PathBuf {
        self.root.join("git")
    }
}

/// Writes a file that only its owner can read, complete or not at all.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::of(&format!("write {}", path.display()), &e);
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(failed)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)
        .map_err(failed)?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(failed)?;
    std::fs::rename(&draft, path).map_err(failed)
}

fn check_format(root: &Path) -> Result<(), Failure> {
    let path = root.join("format");
    match std::fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse::<u32>() {
            Ok(found) if found <= FORMAT => Ok(()),
            Ok(found) => Err(Failure::new(format!(
                "{} was written by a newer offshoot (format {found}, this one knows {FORMAT})",
                root.display()
            ))
            .hint("use that version, or another directory")),
            Err(_) => Err(
                Failure::new(format!("{} holds no format version", path.display()))
                    .hint("is this a data directory of offshoot?"),
            ),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            write_private(&path, &format!("{FORMAT}\n"))
        }
        Err(error) => Err(Failure::of(&format!("read {}", path.display()), &error)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// R182.
    #[test]
    fn a_directory_has_one_user() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("data");
        let first = DataDir::open(&path).unwrap();
        assert!(DataDir::open(&path).is_err());
        drop(first);
        assert!(DataDir::open(&path).is_ok());
    }

    #[test]
    fn a_newer_format_is_refused_untouched() {
        let root = tempfile::tempdir().unwrap();
        drop(DataDir::open(root.path()).unwrap());
        std::fs::write(root.path().join("format"), "2\n").unwrap();
        assert!(DataDir::open(root.path()).is_err());
        assert_eq!(
            std::fs::read_to_string(root.path().join("format")).unwrap(),
            "2\n"
        );
    }

    #[test]
    fn private_files_are_private() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/kubeconfig");
        write_private(&path, "secret").unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
