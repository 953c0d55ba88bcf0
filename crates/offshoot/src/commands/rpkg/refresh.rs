//! A directory that was pushed, brought to what the server made of it: the next push starts from there. What was edited
//! since the directory was read stays, and is named.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use model::PackagePath;

use super::directory::METADATA;
use crate::exit::ExitFailure;

/// What became of a directory, by the names of its files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Refreshed {
    /// They hold now what the server has, or are gone as they are there.
    pub(super) changed: Vec<String>,
    /// They hold something else than was read, and stay as they are.
    pub(super) left: Vec<String>,
}

/// Takes away what is gone, and writes what differs from what was read; the notes are [`note`]'s.
///
/// A request may take as long as a render: each file is looked at again before it is replaced.
///
/// # Errors
/// A file cannot be written. What was pushed stands all the same.
pub(super) fn refresh(
    directory: &Path,
    read: &[(String, String)],
    now: &[(String, String)],
) -> Result<Refreshed, ExitFailure> {
    let files = |all: &[(String, String)]| -> BTreeMap<String, String> {
        let all = all.iter().filter(|(name, _)| name != METADATA);
        all.cloned().collect()
    };
    let (read, now) = (files(read), files(now));
    for name in now.keys() {
        // What a server sends is checked as what a user sends: nothing is written outside.
        PackagePath::parse(name).map_err(|e| ExitFailure::of("write the package", &e))?;
    }
    let mut done = Refreshed::default();
    // First, since a file may stand where a directory has to.
    for (name, old) in read.iter().filter(|(name, _)| !now.contains_key(*name)) {
        let path = directory.join(name);
        match held(&path).map_err(|e| failed(&path, &e))? {
            None => {}
            Some(held) if held == old.as_bytes() => {
                take_away(directory, &path).map_err(|e| failed(&path, &e))?;
                done.changed.push(name.clone());
            }
            Some(_) => done.left.push(name.clone()),
        }
    }
    for (name, text) in &now {
        let known = read.get(name);
        if known == Some(text) {
            continue;
        }
        let path = directory.join(name);
        let held = held(&path).map_err(|e| failed(&path, &e))?;
        if held.as_deref() == Some(text.as_bytes()) {
            continue;
        }
        if held.as_deref() == known.map(String::as_bytes) {
            put(&path, text)?;
            done.changed.push(name.clone());
        } else {
            done.left.push(name.clone());
        }
    }
    Ok(done)
}

/// Writes the notes of a pull: last, since they say that everything else is there.
///
/// # Errors
/// They cannot be written.
pub(super) fn note(directory: &Path, now: &[(String, String)]) -> Result<(), ExitFailure> {
    let notes = now.iter().find(|(name, _)| name == METADATA);
    notes.map_or(Ok(()), |(name, text)| put(&directory.join(name), text))
}

fn failed(path: &Path, error: &std::io::Error) -> ExitFailure {
    ExitFailure::of(&format!("write {}", path.display()), error)
        .hint("the server has what was pushed: pull into a new directory")
}

/// What a file holds, where there is one.
fn held(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Removes a file, and the directories that are empty without it.
fn take_away(directory: &Path, path: &Path) -> std::io::Result<()> {
    std::fs::remove_file(path)?;
    let above = path.ancestors().skip(1);
    for place in above.take_while(|place| *place != directory) {
        // One that holds something else stays, and so does what is above it.
        if std::fs::remove_dir(place).is_err() {
            break;
        }
    }
    Ok(())
}

/// What the name of a half-written file begins with: with what follows, a name that nobody gives a file.
const PREFIX: &str = ".offshoot-half-";
/// How many letters and digits follow.
const RANDOM: usize = 16;

/// Whether a file is one that a process which died left half-written.
pub(super) fn is_leftover(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let random = name.strip_prefix(PREFIX).unwrap_or_default();
    random.len() == RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Replaces a file as a whole: on a full disk the old one stays.
fn put(path: &Path, text: &str) -> Result<(), ExitFailure> {
    let parent = path.parent().unwrap_or(path);
    std::fs::create_dir_all(parent).map_err(|e| failed(parent, &e))?;
    replace(path, parent, text).map_err(|e| failed(path, &e))
}

fn replace(path: &Path, parent: &Path, text: &str) -> std::io::Result<()> {
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
        let done = refresh(root.path(), &pushed, &now).unwrap();
        assert_eq!(done.changed, ["gone", "b", "sub/c"]);
        assert!(done.left.is_empty());
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

    /// A push takes as long as its render: what is typed meanwhile is nowhere else.
    #[test]
    fn what_was_edited_since_it_was_read_stays() {
        let root = tempfile::tempdir().unwrap();
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let pushed = [
            pair("a", "1"),
            pair("b", "1"),
            pair("gone", "1"),
            pair("kept", "1"),
        ];
        for (name, text) in &pushed {
            std::fs::write(root.path().join(name), text).unwrap();
        }
        for name in ["a", "gone", "made"] {
            std::fs::write(root.path().join(name), "typed").unwrap();
        }
        let now = [
            pair("a", "2"),
            pair("b", "2"),
            pair("made", "2"),
            pair("kept", "1"),
        ];
        let done = refresh(root.path(), &pushed, &now).unwrap();
        assert_eq!(done.left, ["gone", "a", "made"]);
        let holds = |name: &str| std::fs::read_to_string(root.path().join(name)).unwrap();
        for name in ["a", "gone", "made"] {
            assert_eq!(holds(name), "typed", "{name}");
        }
        assert_eq!(
            (holds("b"), holds("kept")),
            ("2".to_owned(), "1".to_owned())
        );
    }

    #[test]
    fn a_file_may_take_the_place_of_a_directory_and_the_other_way_round() {
        let root = tempfile::tempdir().unwrap();
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let pushed = [pair("a/b", "1"), pair("c", "1")];
        std::fs::create_dir(root.path().join("a")).unwrap();
        for (name, text) in &pushed {
            std::fs::write(root.path().join(name), text).unwrap();
        }
        let now = [pair("a", "2"), pair("c/d", "2")];
        refresh(root.path(), &pushed, &now).unwrap();
        for (name, text) in &now {
            let holds = std::fs::read_to_string(root.path().join(name)).unwrap();
            assert_eq!(holds, *text);
        }
    }
}
