//! The files of a package revision as a directory of this machine.

use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use model::PackagePath;

use crate::exit::ExitFailure;

/// Where `pull` notes what was pulled, for `push`.
pub(super) const METADATA: &str = ".KptRevisionMetadata";
/// What the name of a directory that is not whole yet begins with.
const HALF: &str = ".offshoot-pull-";

/// Writes files into a directory that does not exist yet: whole, or not at all. Of a half of them a push would make
/// deletions in the draft, so they are written beside it, and the directory gets its name once all are there.
///
/// # Errors
/// It exists, a name leads outside of it, or it cannot be written.
pub(super) fn write_directory(
    directory: &Path,
    files: &[(String, String)],
) -> Result<(), ExitFailure> {
    let failed =
        |path: &Path, e: &std::io::Error| ExitFailure::of(&format!("write {}", path.display()), e);
    if directory.exists() {
        return Err(ExitFailure::new(format!(
            "output directory {:?} already exists",
            directory.display()
        ))
        .hint("--update brings one that was pulled up to date; else name a directory that does not exist"));
    }
    let parent = directory.parent().filter(|p| !p.as_os_str().is_empty());
    let parent = parent.unwrap_or_else(|| Path::new("."));
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o750);
    builder.create(parent).map_err(|e| failed(parent, &e))?;
    // It takes itself away where anything below fails.
    let half = tempfile::Builder::new().prefix(HALF).tempdir_in(parent);
    let half = half.map_err(|e| failed(directory, &e))?;
    let inner = half.path().join("files");
    builder.create(&inner).map_err(|e| failed(directory, &e))?;
    for (name, text) in files {
        // What a server sends is checked as what a user sends: nothing is written outside.
        let inside =
            PackagePath::parse(name).map_err(|e| ExitFailure::of("write the package", &e))?;
        let shown = directory.join(inside.as_str());
        let path = inner.join(inside.as_str());
        let above = path.parent().unwrap_or(&inner);
        builder.create(above).map_err(|e| failed(&shown, &e))?;
        let file = std::fs::OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path);
        let written = file.and_then(|mut f| std::io::Write::write_all(&mut f, text.as_bytes()));
        written.map_err(|e| failed(&shown, &e))?;
    }
    std::fs::rename(&inner, directory).map_err(|e| failed(directory, &e))
}

/// All files of a directory and below it, in the order of their names, but for what git keeps about it.
///
/// # Errors
/// It cannot be read, or holds a link or what is no text.
pub(super) fn read_directory(directory: &Path) -> Result<Vec<(String, String)>, ExitFailure> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(place) = waiting.pop() {
        let failed = |e: std::io::Error| ExitFailure::of(&format!("read {}", place.display()), &e);
        for entry in std::fs::read_dir(&place).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // A clone's own directory, or the file of a worktree that leads to it: no package has such a name.
            if entry.file_name() == ".git" {
                continue;
            }
            let path = entry.path();
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() {
                files.push(read_file(directory, &path)?);
            } else {
                // A link could lead anywhere, and what is left out would be deleted in the draft.
                return Err(ExitFailure::new(format!("{} is no plain file", path.display()))
                    .hint("packages hold files and directories: replace the link by what it leads to, or remove it"));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn read_file(directory: &Path, path: &Path) -> Result<(String, String), ExitFailure> {
    let bytes = std::fs::read(path)
        .map_err(|e| ExitFailure::of(&format!("read {}", path.display()), &e))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        ExitFailure::new(format!(
            "file {} is not a valid UTF-8 text file",
            path.display()
        ))
        .hint("binary files stay as they are in git; leave them out of the directory")
    })?;
    let name = path.strip_prefix(directory).unwrap_or(path);
    let name = name.to_str().ok_or_else(|| {
        ExitFailure::new(format!("{} is no UTF-8 name", path.display())).hint("rename the file")
    })?;
    Ok((name.to_owned(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    /// What is half there would be taken for the user's deletions by a push.
    #[test]
    fn a_package_that_cannot_be_written_whole_is_not_written_at_all() {
        let root = tempfile::tempdir().unwrap();
        let to = root.path().join("web");
        let files = [pair("a", "1"), pair("b", "1"), pair("b/c", "b is a file")];
        let why = write_directory(&to, &files).unwrap_err();
        assert!(why.to_string().contains("b"), "{why}");
        let left: Vec<_> = std::fs::read_dir(root.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        let outside = [pair("a", "1"), pair("../x", "1")];
        assert!(write_directory(&to, &outside).is_err());
        assert!(!to.exists());
        write_directory(&to, &files[..2]).unwrap();
        assert_eq!(read_directory(&to).unwrap(), files[..2]);
        std::fs::create_dir(to.join(".git")).unwrap();
        std::fs::write(to.join(".git/index"), [0xff]).unwrap();
        assert_eq!(read_directory(&to).unwrap(), files[..2], "git's is git's");
        assert!(write_directory(&to, &files[..2]).is_err(), "it is there");
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
