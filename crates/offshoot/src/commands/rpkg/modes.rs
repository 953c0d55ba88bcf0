//! Modes of the files of a pulled directory: the server tells which may be executed, and a push sends texts alone.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::directory::read_directory;
use crate::exit::ExitFailure;

/// Whoever may read a file, its owner, may execute it.
const OWNERS: u32 = 0o100;

/// Makes files executable, as far as they are there.
///
/// # Errors
/// The directory cannot be read or written.
pub(super) fn take(directory: &Path, executable: &BTreeSet<String>) -> Result<(), ExitFailure> {
    if executable.is_empty() {
        return Ok(());
    }
    for (name, mode) in modes(directory)? {
        if executable.contains(&name) && mode & OWNERS == 0 {
            let path = directory.join(&name);
            let set = std::fs::set_permissions(&path, Permissions::from_mode(mode | OWNERS));
            set.map_err(|e| ExitFailure::of(&format!("set the mode of {}", path.display()), &e))?;
        }
    }
    Ok(())
}

/// The files that may be executed here alone.
///
/// # Errors
/// The directory cannot be read.
pub(super) fn only_here(
    directory: &Path,
    executable: &BTreeSet<String>,
) -> Result<Vec<String>, ExitFailure> {
    let mut names = modes(directory)?;
    names.retain(|(name, mode)| mode & OWNERS != 0 && !executable.contains(name));
    Ok(names.into_iter().map(|(name, _)| name).collect())
}

/// The mode of each file.
fn modes(directory: &Path) -> Result<Vec<(String, u32)>, ExitFailure> {
    let mut modes = Vec::new();
    for (name, _) in read_directory(directory)? {
        let path = directory.join(&name);
        let read = std::fs::metadata(&path);
        let read = read.map_err(|e| ExitFailure::of(&format!("read {}", path.display()), &e))?;
        modes.push((name, read.permissions().mode() & 0o777));
    }
    Ok(modes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_executed_is_so_here_and_what_is_only_here_is_told() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for name in ["run.sh", "own.sh", "text"] {
            std::fs::write(root.join(name), name).unwrap();
            std::fs::set_permissions(root.join(name), Permissions::from_mode(0o600)).unwrap();
        }
        let server = BTreeSet::from(["run.sh".to_owned(), "gone.sh".to_owned()]);
        take(root, &server).unwrap();
        assert_eq!(only_here(root, &server).unwrap(), Vec::<String>::new());
        assert_eq!(only_here(root, &BTreeSet::new()).unwrap(), ["run.sh"]);
        take(root, &BTreeSet::from(["own.sh".to_owned()])).unwrap();
        assert_eq!(only_here(root, &server).unwrap(), ["own.sh"]);
    }
}
