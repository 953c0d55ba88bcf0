//! Where mirrors of repositories lie while a replica writes: on a disk that may go with the pod.

use std::path::{Path, PathBuf};

use crate::exit::ExitFailure;
use crate::up::DataDir;

/// A directory for one term.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    _held: Held,
}

/// What keeps the directory for this process.
#[derive(Debug)]
enum Held {
    /// Its lock.
    Locked { _directory: DataDir },
    /// Its name, which nobody else has.
    Unique { _directory: tempfile::TempDir },
}

impl Scratch {
    /// An empty directory below the system's directory for temporary files. It has the same name each time, so that a process
    /// that is killed again and again leaves one behind; another one while somebody uses that.
    ///
    /// # Errors
    /// None can be made.
    pub(super) fn new() -> Result<Self, ExitFailure> {
        Self::below(&std::env::temp_dir())
    }

    fn below(root: &Path) -> Result<Self, ExitFailure> {
        let failed = |e: std::io::Error| ExitFailure::of("make a directory for mirrors", &e);
        if let Ok(directory) = DataDir::open(&root.join("offshoot-serve")) {
            let path = directory.git();
            match std::fs::remove_dir_all(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
                _ => {}
            }
            return Ok(Self {
                path,
                _held: Held::Locked {
                    _directory: directory,
                },
            });
        }
        let directory = tempfile::Builder::new()
            .prefix("offshoot-")
            .tempdir_in(root);
        let directory = directory.map_err(failed)?;
        Ok(Self {
            path: directory.path().join("git"),
            _held: Held::Unique {
                _directory: directory,
            },
        })
    }

    /// Where mirrors go.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_taken_over_empty_and_what_is_used_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let first = Scratch::below(root.path()).unwrap();
        let left = first.path().join("mirror");
        std::fs::create_dir_all(&left).unwrap();
        let second = Scratch::below(root.path()).unwrap();
        assert_ne!(first.path(), second.path());
        assert!(left.exists(), "somebody uses it");
        let path = first.path().to_owned();
        drop(first);
        let third = Scratch::below(root.path()).unwrap();
        assert_eq!(third.path(), path);
        assert!(!left.exists(), "nothing of another term is believed");
    }
}
