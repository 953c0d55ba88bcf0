//! A package as a directory of this machine: read as files, written back where it differs.
//!
//! Nothing is followed out of the directory: links are left alone, git's own directories are not looked into. A
//! changed file is replaced in one step, so that a reader never sees half of it.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use model::{File, FileMode, Files, PackagePath};

use crate::exit::ExitFailure;

/// Files larger than this are no configuration.
const LARGEST: u64 = 64 << 20;

/// Reads a directory; what is no plain file is left out.
///
/// # Errors
/// It cannot be read, or holds a name that no package may have.
pub(crate) fn read(directory: &Path) -> Result<Files, ExitFailure> {
    Ok(read_all(directory)?.files)
}

/// What a directory holds.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// Its files.
    pub(crate) files: Files,
    /// What is no plain file and was left out, by its path within: links, pipes, sockets.
    pub(crate) left_out: Vec<String>,
}

/// Reads a directory, and names what was left out.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_all(directory: &Path) -> Result<Folder, ExitFailure> {
    if !directory.is_dir() {
        return Err(ExitFailure::new(format!(
            "{} is no directory",
            directory.display()
        )));
    }
    let mut found = Folder::default();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(place) = waiting.pop() {
        let failed =
            |error: std::io::Error| ExitFailure::of(&format!("read {}", place.display()), &error);
        for entry in std::fs::read_dir(&place).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if entry.file_name() == ".git" {
                continue;
            }
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                let (path, file) = read_file(directory, &entry.path())?;
                found.files.insert(path, file);
            } else {
                let path = entry.path();
                let inside = path.strip_prefix(directory).unwrap_or(&path);
                found.left_out.push(inside.display().to_string());
            }
        }
    }
    found.left_out.sort();
    Ok(found)
}

fn read_file(directory: &Path, path: &Path) -> Result<(PackagePath, File), ExitFailure> {
    let failed =
        |error: std::io::Error| ExitFailure::of(&format!("read {}", path.display()), &error);
    let name = path.strip_prefix(directory).unwrap_or(path);
    let name = name.to_str().ok_or_else(|| {
        ExitFailure::new(format!("{} is no UTF-8 name", path.display())).hint("rename the file")
    })?;
    let inside = PackagePath::parse(name)
        .map_err(|error| ExitFailure::of(&format!("read {}", path.display()), &error))?;
    let about = std::fs::metadata(path).map_err(failed)?;
    if about.len() > LARGEST {
        return Err(ExitFailure::new(format!(
            "{} is larger than {} MiB",
            path.display(),
            LARGEST >> 20
        ))
        .hint("keep it out of the package"));
    }
    let file = File::New {
        mode: if about.permissions().mode() & 0o100 == 0 {
            FileMode::Regular
        } else {
            FileMode::Executable
        },
        bytes: std::fs::read(path).map_err(failed)?.into(),
    };
    Ok((inside, file))
}

/// Makes a directory that held `before` hold `after`; tells the paths that it wrote or removed.
///
/// # Errors
/// A file would lie behind a link, and nothing is written; or one cannot be written, and those before it are.
pub(crate) fn write(
    directory: &Path,
    before: &Files,
    after: &Files,
) -> Result<Vec<PackagePath>, ExitFailure> {
    let mut touched = Vec::new();
    let changed = || {
        after
            .iter()
            .filter(|(path, file)| before.get(*path) != Some(*file))
    };
    for (path, _) in changed() {
        behind_no_link(directory, path)?;
    }
    for (path, file) in changed() {
        write_file(&directory.join(path.as_str()), file)?;
        touched.push(path.clone());
    }
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        let place = directory.join(path.as_str());
        std::fs::remove_file(&place)
            .map_err(|error| ExitFailure::of(&format!("remove {}", place.display()), &error))?;
        remove_empty(directory, place.parent());
        touched.push(path.clone());
    }
    touched.sort();
    Ok(touched)
}

/// Whether a file has its place in the directory itself: a link on the way there would lead out of it.
fn behind_no_link(directory: &Path, path: &PackagePath) -> Result<(), ExitFailure> {
    let mut place = directory.to_path_buf();
    let mut parts: Vec<&str> = path.as_str().split('/').collect();
    // A link in the very place is replaced.
    parts.pop();
    for part in parts {
        place.push(part);
        let about = std::fs::symlink_metadata(&place);
        if about.is_ok_and(|about| about.is_symlink()) {
            let what = format!("write {path}: {} is a link", place.display());
            return Err(ExitFailure::new(what)
                .hint("nothing is written out of a package: remove the link, or have the function write elsewhere"));
        }
    }
    Ok(())
}

/// Directories that a removed file leaves empty go with it.
fn remove_empty(root: &Path, mut place: Option<&Path>) {
    while let Some(directory) = place.filter(|directory| *directory != root) {
        if std::fs::remove_dir(directory).is_err() {
            return;
        }
        place = directory.parent();
    }
}

/// Writes a file in one step.
pub(crate) fn write_file(place: &Path, file: &File) -> Result<(), ExitFailure> {
    let failed =
        |error: std::io::Error| ExitFailure::of(&format!("write {}", place.display()), &error);
    let parent = place
        .parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    std::fs::create_dir_all(&parent).map_err(failed)?;
    let mut draft = tempfile::NamedTempFile::new_in(&parent).map_err(failed)?;
    draft.write_all(file.bytes()).map_err(failed)?;
    // What was there keeps its permissions; what is new is for everybody to read, as git makes it.
    let mode = std::fs::metadata(place).map_or(0o644, |about| about.permissions().mode() & 0o777);
    let mode = match file.mode() {
        FileMode::Executable => mode | 0o111,
        FileMode::Regular => mode & !0o111,
    };
    draft
        .as_file()
        .set_permissions(std::fs::Permissions::from_mode(mode))
        .map_err(failed)?;
    draft.persist(place).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A checkout of somebody's repository may bring links along, and a function in it chooses where its files go.
    #[test]
    fn nothing_is_written_through_a_link() {
        let root = tempfile::tempdir().unwrap();
        let (package, victim) = (root.path().join("package"), root.path().join("victim"));
        std::fs::create_dir_all(package.join("in/side")).unwrap();
        std::fs::create_dir(&victim).unwrap();
        std::fs::write(victim.join("a.yaml"), "precious").unwrap();
        for link in ["link", "in/side/link"] {
            std::os::unix::fs::symlink(&victim, package.join(link)).unwrap();
        }
        let file = |name: &str| (PackagePath::parse(name).unwrap(), File::text("x: 1\n"));
        for name in ["link/a.yaml", "link/new/b.yaml", "in/side/link/a.yaml"] {
            let after = Files::from([file("first.yaml"), file(name)]);
            let refused = write(&package, &Files::new(), &after).unwrap_err();
            assert!(refused.to_string().contains("is a link"), "{refused}");
            assert!(!package.join("first.yaml").exists(), "{name}");
        }
        assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 1);
        let kept = std::fs::read_to_string(victim.join("a.yaml")).unwrap();
        assert_eq!(kept, "precious");
        // A link in the very place is replaced.
        let after = Files::from([file("in/side/link")]);
        write(&package, &Files::new(), &after).unwrap();
        assert!(package.join("in/side/link").is_file());
        assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 1);
    }
}
