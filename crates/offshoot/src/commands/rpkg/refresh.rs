//! A directory that was pushed, brought to what the server made of it: the next push starts from there.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use model::PackagePath;

use crate::exit::Failure;

/// Writes what differs from what was pushed, and takes away what the render took away.
///
/// # Errors
/// A file cannot be written. What was pushed stands all the same.
pub(super) fn refresh(
    directory: &Path,
    pushed: &[(String, String)],
    now: &[(String, String)],
) -> Result<Vec<String>, Failure> {
    let failed = |path: &Path, e: &std::io::Error| {
        Failure::of(&format!("write {}", path.display()), e)
            .hint("the server has what was pushed: pull into a new directory")
    };
    let mut changed = Vec::new();
    for (name, text) in now {
        if pushed
            .iter()
            .any(|(known, old)| known == name && old == text)
        {
            continue;
        }
        // What a server sends is checked as what a user sends: nothing is written outside.
        let inside = PackagePath::parse(name).map_err(|e| Failure::of("write the package", &e))?;
        let path = directory.join(inside.as_str());
        let parent = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent).map_err(|e| failed(parent, &e))?;
        put(&path, parent, text).map_err(|e| failed(&path, &e))?;
        changed.push(name.clone());
    }
    let kept: BTreeSet<&String> = now.iter().map(|(name, _)| name).collect();
    for (name, _) in pushed.iter().filter(|(name, _)| !kept.contains(name)) {
        let path = directory.join(name);
        std::fs::remove_file(&path).map_err(|e| failed(&path, &e))?;
        changed.push(name.clone());
    }
    Ok(changed)
}

/// What the name of a half-written file begins with.
const PREFIX: &str = ".offshoot-";
/// How many letters and digits follow.
const RANDOM: usize = 6;

/// Whether a file is one that a process which died left half-written.
pub(super) fn is_leftover(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let random = name.strip_prefix(PREFIX).unwrap_or_default();
    random.len() == RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Replaces a file as a whole: on a full disk the old one stays.
fn put(path: &Path, parent: &Path, text: &str) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(PREFIX)
        .rand_bytes(RANDOM)
        .tempfile_in(parent)?;
    file.write_all(text.as_bytes())?;
    if let Ok(old) = std::fs::metadata(path) {
        std::fs::set_permissions(file.path(), old.permissions())?;
    }
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_rendered_is_written_and_what_is_the_same_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let pushed = [pair("a", "1"), pair("b", "1"), pair("gone", "1")];
        for (name, text) in &pushed {
            std::fs::write(root.path().join(name), text).unwrap();
        }
        let before = std::fs::metadata(root.path().join("a")).unwrap();
        let now = [pair("a", "1"), pair("b", "2"), pair("sub/c", "3")];
        let changed = refresh(root.path(), &pushed, &now).unwrap();
        assert_eq!(changed, ["b", "sub/c", "gone"]);
        for (name, text) in &now {
            assert_eq!(
                std::fs::read_to_string(root.path().join(name)).unwrap(),
                *text
            );
        }
        assert!(!root.path().join("gone").exists());
        let after = std::fs::metadata(root.path().join("a")).unwrap();
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
        assert!(refresh(root.path(), &[], &[pair("../x", "1")]).is_err());
    }
}
