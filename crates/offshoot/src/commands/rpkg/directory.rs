//! The files of a package revision as a directory of this machine.

use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use model::PackagePath;

use crate::exit::Failure;

/// Where `pull` notes what was pulled, for `push`.
pub(super) const METADATA: &str = ".KptRevisionMetadata";

/// Writes files into a directory that does not exist yet.
///
/// # Errors
/// It exists, a name leads outside of it, or it cannot be written.
pub(super) fn write_directory(directory: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    let failed =
        |path: &Path, e: &std::io::Error| Failure::of(&format!("write {}", path.display()), e);
    if directory.exists() {
        return Err(Failure::new(format!(
            "output directory {:?} already exists",
            directory.display()
        ))
        .hint("name a directory that does not exist"));
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o750);
    for (name, text) in files {
        // What a server sends is checked as what a user sends: nothing is written outside.
        let inside = PackagePath::parse(name).map_err(|e| Failure::of("write the package", &e))?;
        let path = directory.join(inside.as_str());
        let parent = path.parent().unwrap_or(directory);
        builder.create(parent).map_err(|e| failed(parent, &e))?;
        let file = std::fs::OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path);
        let written = file.and_then(|mut f| std::io::Write::write_all(&mut f, text.as_bytes()));
        written.map_err(|e| failed(&path, &e))?;
    }
    Ok(())
}

/// All files of a directory and below it, in the order of their names.
///
/// # Errors
/// It cannot be read, or holds a link or what is no text.
pub(super) fn read_directory(directory: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(place) = waiting.pop() {
        let failed = |e: std::io::Error| Failure::of(&format!("read {}", place.display()), &e);
        for entry in std::fs::read_dir(&place).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() {
                files.push(read_file(directory, &path)?);
            } else {
                // A link could lead anywhere, and what is left out would be deleted in the draft.
                return Err(Failure::new(format!("{} is no plain file", path.display()))
                    .hint("packages hold files and directories: replace the link by what it leads to, or remove it"));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn read_file(directory: &Path, path: &Path) -> Result<(String, String), Failure> {
    let bytes =
        std::fs::read(path).map_err(|e| Failure::of(&format!("read {}", path.display()), &e))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::new(format!(
            "file {} is not a valid UTF-8 text file",
            path.display()
        ))
        .hint("binary files stay as they are in git; leave them out of the directory")
    })?;
    let name = path.strip_prefix(directory).unwrap_or(path);
    Ok((name.to_string_lossy().into_owned(), text))
}
