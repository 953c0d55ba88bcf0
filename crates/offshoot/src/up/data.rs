//! The data directory: what is in it, who may use it, and which version wrote it.
//!
//! One process at a time: a lock on `lock` keeps others out, and goes with the process whatever
//! ends it. A directory of a newer version is refused untouched (X7).

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use objectstore::files;
use rustix::fs::{FlockOperation, flock};

use crate::exit::ExitFailure;

/// The layout that this version writes.
const FORMAT: u32 = 1;

/// Group and others may write.
const OTHERS_WRITE: u32 = 0o022;

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
    pub(crate) fn open(root: &Path) -> Result<Self, ExitFailure> {
        let attempt = format!("open the data directory {}", root.display());
        let failed = |e: std::io::Error| ExitFailure::of(&attempt, &e);
        files::directory(root).map_err(failed)?;
        let root = root.canonicalize().map_err(failed)?;
        check_owner(&root)?;
        let mut lock = files::open(&root.join("lock")).map_err(failed)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            // Who holds it is a help, not a need.
            drop(lock.read_to_string(&mut holder));
            let text = format!(
                "{} is in use by another offshoot {}",
                root.display(),
                holder.trim()
            );
            return Err(ExitFailure::new(text.trim_end().to_owned())
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

    /// Whether there are mirrors or journals: somebody has worked with the directory.
    pub(crate) fn was_used(&self) -> bool {
        let entries = std::fs::read_dir(self.git());
        entries.is_ok_and(|mut entries| entries.next().is_some())
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
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), ExitFailure> {
    let failed = |e: std::io::Error| ExitFailure::of(&format!("write {}", path.display()), &e);
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        files::directory(directory).map_err(failed)?;
    }
    files::write(path, text).map_err(failed)
}

/// Whoever owns the directory can put other files in the place of ours: it must be this process's user, or root (who
/// owns what is mounted into a container). Where others may write, too, they are warned of.
fn check_owner(root: &Path) -> Result<(), ExitFailure> {
    let failed = |e: std::io::Error| ExitFailure::of(&format!("look at {}", root.display()), &e);
    let meta = std::fs::metadata(root).map_err(failed)?;
    let own = rustix::process::geteuid().as_raw();
    if !may_hold(meta.uid(), own) {
        return Err(ExitFailure::new(format!(
            "the data directory {} belongs to user {}, and this process runs as user {own}",
            root.display(),
            meta.uid()
        ))
        .hint("run it as the user who owns the directory, or give the directory to this one (chown -R)"));
    }
    if meta.mode() & OTHERS_WRITE != 0 {
        tracing::warn!(
            directory = %root.display(),
            mode = format!("{:o}", meta.mode() & 0o7777),
            "others may write to the data directory, and so put other files in the place of its own: chmod 700"
        );
    }
    Ok(())
}

/// Whether a directory of this owner may hold the data of a process of this user.
fn may_hold(owner: u32, own: u32) -> bool {
    owner == own || owner == 0
}

fn check_format(root: &Path) -> Result<(), ExitFailure> {
    let path = root.join("format");
    match std::fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse::<u32>() {
            Ok(found) if found <= FORMAT => Ok(()),
            Ok(found) => Err(ExitFailure::new(format!(
                "{} was written by a newer offshoot (format {found}, this one knows {FORMAT})",
                root.display()
            ))
            .hint("use that version, or another directory")),
            Err(_) => Err(
                ExitFailure::new(format!("{} holds no format version", path.display()))
                    .hint("is this a data directory of offshoot?"),
            ),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            write_private(&path, &format!("{FORMAT}\n"))
        }
        Err(error) => Err(ExitFailure::of(&format!("read {}", path.display()), &error)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_directory_of_somebody_else_is_not_used() {
        for (owner, own, fits) in [(7, 7, true), (0, 7, true), (8, 7, false), (8, 0, false)] {
            assert_eq!(may_hold(owner, own), fits, "{owner} {own}");
        }
    }

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
