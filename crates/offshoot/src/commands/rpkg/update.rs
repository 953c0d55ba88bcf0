//! A directory that was pulled earlier, brought to what the draft holds now. Edits of the directory stay; what was edited
//! on both sides is named, and then nothing is changed: of what was pulled only hashes are kept, and a merge of two texts without the one that they
//! stem from would take one side's deletion for the other side's addition.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::directory::{METADATA, read_directory};
use super::refresh;
use crate::exit::ExitFailure;

/// Where the notes of a pull tell what each file held.
pub(super) const PULLED: &str = "offshoot.dev/pulled";

/// What each file holds, by a hash, as the notes of a pull have it.
pub(super) fn noted(files: &[(String, String)]) -> String {
    let all = files.iter().filter(|(path, _)| path != METADATA);
    let all: BTreeMap<&str, String> = all
        .map(|(path, text)| (path.as_str(), hash(text)))
        .collect();
    serde_json::to_string(&all).unwrap_or_default()
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(16).map(|b| format!("{b:02x}")).collect()
}

/// Whether a file holds what it held when it was pulled, as far as the notes tell.
pub(super) fn is_as_pulled(was: &BTreeMap<String, String>, path: &str, text: &str) -> bool {
    was.get(path).is_some_and(|then| *then == hash(text))
}

/// Brings a directory to these files, its notes among them; says what it did about each that differed.
///
/// # Errors
/// It was not pulled from this revision by a version that takes notes, both sides changed a file, or one was edited just now.
pub(super) fn update(
    directory: &Path,
    name: &str,
    now: &[(String, String)],
) -> Result<Vec<String>, ExitFailure> {
    let here = read_directory(directory)?;
    let was = notes(&here, directory, name)?;
    let (leftovers, here): (Vec<_>, Vec<_>) =
        here.into_iter().partition(|(path, _)| is_half(path, &was));
    let find = |files: &[(String, String)], path: &str| {
        let found = files.iter().find(|(known, _)| known == path);
        found.map(|(_, text)| text.clone())
    };
    let names = here.iter().chain(now).map(|(path, _)| path.as_str());
    let names: BTreeSet<&str> = names.filter(|path| *path != METADATA).collect();
    let (mut wanted, mut said, mut both) = (Vec::new(), Vec::new(), Vec::new());
    for path in names {
        let (mine, theirs) = (find(&here, path), find(now, path));
        let hashes = [&mine, &theirs].map(|text| text.as_deref().map(hash));
        let [mine_is, theirs_is] = &hashes;
        let before = was.get(path);
        let taken = if mine_is == theirs_is || theirs_is.as_ref() == before {
            if mine_is != theirs_is {
                said.push(format!("{path} keeps your edit"));
            }
            mine
        } else if mine_is.as_ref() == before {
            said.push(format!("{path} is as the draft has it"));
            theirs
        } else {
            both.push(path);
            mine
        };
        wanted.extend(taken.map(|text| (path.to_owned(), text)));
    }
    // A file of one side where the other one has a directory: both cannot stand.
    let places: BTreeSet<&str> = wanted.iter().map(|(path, _)| path.as_str()).collect();
    let above = |path: &str| {
        path.match_indices('/')
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    for (path, _) in &wanted {
        if above(path)
            .into_iter()
            .any(|at| places.contains(&path[..at]))
        {
            both.push(path);
        }
    }
    if !both.is_empty() {
        let what = both.join(", ");
        return Err(ExitFailure::new(format!(
            "{what}: changed here and in {name} since the pull; nothing was changed"
        ))
        .hint(format!(
            "offshoot rpkg pull {name} NEW, and carry your edits over; where you have kept what was pulled (OLD), offshoot pkg merge --base OLD --local {} --upstream NEW --out MERGED merges them field by field",
            directory.display()
        )));
    }
    let done = refresh::refresh(directory, &here, &wanted)?;
    if !done.left.is_empty() {
        // The old notes stay: by them the next update sees what was edited on which side.
        return Err(ExitFailure::new(format!(
            "{}: edited while the directory was brought up to date, and left as it is",
            done.left.join(", ")
        ))
        .hint(format!(
            "run offshoot rpkg pull {name} {} --update again",
            directory.display()
        )));
    }
    refresh::note(directory, now)?;
    said.extend(remove(directory, &leftovers)?);
    Ok(said)
}

/// Takes away what an earlier pull or push left half-written; a line for each.
fn remove(directory: &Path, leftovers: &[(String, String)]) -> Result<Vec<String>, ExitFailure> {
    let mut said = Vec::new();
    for (name, _) in leftovers {
        let path = directory.join(name);
        std::fs::remove_file(&path)
            .map_err(|e| ExitFailure::of(&format!("remove {}", path.display()), &e))?;
        said.push(format!(
            "removed {name}, which an earlier pull or push left half-written"
        ));
    }
    Ok(said)
}

/// What a directory holds, and the names of what an earlier pull or push into it left half-written when it died.
pub(super) fn without_leftovers(
    files: Vec<(String, String)>,
) -> (Vec<(String, String)>, Vec<String>) {
    let pulled = read_notes(&files)
        .and_then(|notes| pulled(&notes))
        .unwrap_or_default();
    let (half, whole): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|(path, _)| is_half(path, &pulled));
    (whole, half.into_iter().map(|(path, _)| path).collect())
}

/// Whether a file is a leftover; one that was pulled is the package's, whatever it is called.
fn is_half(path: &str, pulled: &BTreeMap<String, String>) -> bool {
    refresh::is_leftover(path) && !pulled.contains_key(path)
}

fn read_notes(files: &[(String, String)]) -> Option<Value> {
    let (_, text) = files.iter().find(|(path, _)| path == METADATA)?;
    let limits = yaml::Limits::default();
    yaml::first_document_json(text, yaml::Reader::V3, false, &limits).ok()
}

/// What each file held when it was pulled, by a hash.
pub(super) fn pulled(notes: &Value) -> Option<BTreeMap<String, String>> {
    let noted = notes["metadata"]["annotations"][PULLED].as_str()?;
    serde_json::from_str(noted).ok()
}

/// What the files of a directory held when they were pulled.
fn notes(
    here: &[(String, String)],
    directory: &Path,
    name: &str,
) -> Result<BTreeMap<String, String>, ExitFailure> {
    let shown = directory.display();
    let hint = format!("offshoot rpkg pull {name} with a directory that does not exist makes one");
    let read = read_notes(here);
    let read: Value = read.ok_or_else(|| {
        ExitFailure::new(format!("{shown} was not pulled: it has no {METADATA}")).hint(hint.clone())
    })?;
    let from = read.pointer("/metadata/name").and_then(Value::as_str);
    if from != Some(name) {
        let from = from.unwrap_or("another revision");
        return Err(ExitFailure::new(format!("{shown} was pulled from {from}")).hint(hint));
    }
    pulled(&read).ok_or_else(|| {
        ExitFailure::new(format!(
            "{shown} does not tell what its files held when they were pulled"
        ))
        .hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    /// What a pull that died left half-written is no file of the package; one that was pulled is.
    #[test]
    fn a_leftover_is_passed_over_and_taken_away_by_the_next_pull() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let pulled = [
            pair("a", "1"),
            pair("sub/.offshoot-half-TheirsTheirsThei", "1"),
        ];
        let half = [
            "sub/.offshoot-half-aB3dE9aB3dE9aB3d",
            ".offshoot-half-0000000000000000",
        ];
        std::fs::create_dir(dir.join("sub")).unwrap();
        for (name, text) in pulled.iter().chain([&noted_of(&pulled)]) {
            std::fs::write(dir.join(name), text).unwrap();
        }
        for name in half {
            std::fs::write(dir.join(name), "ha").unwrap();
        }
        std::fs::write(dir.join(".offshoot-half-notes"), "mine").unwrap();
        let (pushed, left) = without_leftovers(read_directory(dir).unwrap());
        assert_eq!(left, [half[1], half[0]]);
        let names: Vec<&str> = pushed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                METADATA,
                ".offshoot-half-notes",
                "a",
                "sub/.offshoot-half-TheirsTheirsThei"
            ]
        );
        let mut now = vec![
            pair("a", "2"),
            pair("sub/.offshoot-half-TheirsTheirsThei", "1"),
        ];
        now.push(noted_of(&now));
        let said = update(dir, "r", &now).unwrap();
        assert_eq!(
            said,
            [
                ".offshoot-half-notes keeps your edit",
                "a is as the draft has it",
                "removed .offshoot-half-0000000000000000, which an earlier pull or push left half-written",
                "removed sub/.offshoot-half-aB3dE9aB3dE9aB3d, which an earlier pull or push left half-written",
            ]
        );
        for name in half {
            assert!(!dir.join(name).exists(), "{name}");
        }
        assert!(dir.join("sub/.offshoot-half-TheirsTheirsThei").exists());
    }

    fn noted_of(files: &[(String, String)]) -> (String, String) {
        let notes = noted(files).replace('\'', "''");
        pair(
            METADATA,
            &format!("metadata:\n  name: r\n  annotations:\n    {PULLED}: '{notes}'\n"),
        )
    }

    #[test]
    fn edits_stay_what_changed_there_comes_and_both_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let pulled = [
            pair("a", "1"),
            pair("b", "1"),
            pair("c", "1"),
            pair("gone", "1"),
            pair("same", "1"),
        ];
        for (name, text) in pulled.iter().chain([&noted_of(&pulled)]) {
            std::fs::write(dir.join(name), text).unwrap();
        }
        std::fs::write(dir.join("a"), "mine").unwrap();
        std::fs::write(dir.join("new"), "mine").unwrap();
        std::fs::remove_file(dir.join("c")).unwrap();
        let mut now = vec![
            pair("a", "1"),
            pair("b", "2"),
            pair("c", "1"),
            pair("same", "1"),
            pair("sub/d", "2"),
        ];
        now.push(noted_of(&now));
        let said = update(dir, "r", &now).unwrap();
        let kept = [
            "a keeps your edit",
            "b is as the draft has it",
            "c keeps your edit",
        ];
        let moved = [
            "gone is as the draft has it",
            "new keeps your edit",
            "sub/d is as the draft has it",
        ];
        assert_eq!(said, [kept, moved].concat());
        let holds = |name: &str| std::fs::read_to_string(dir.join(name)).ok();
        assert_eq!(holds("a").as_deref(), Some("mine"));
        assert_eq!(holds("b").as_deref(), Some("2"));
        assert_eq!((holds("c"), holds("gone")), (None, None));
        assert_eq!(holds("sub/d").as_deref(), Some("2"));

        let mut later = vec![pair("a", "theirs"), pair("b", "3"), pair("same", "1")];
        later.push(noted_of(&later));
        let refused = update(dir, "r", &later).unwrap_err();
        assert!(
            refused.to_string().starts_with("a: changed here and in r"),
            "{refused}"
        );
        assert_eq!(holds("b").as_deref(), Some("2"), "nothing was changed");
        // A file there where a directory is here.
        let mut below = vec![pair("a", "1"), pair("new", "1"), pair("sub", "2")];
        std::fs::write(dir.join("sub/mine"), "mine").unwrap();
        below.push(noted_of(&below));
        std::fs::write(dir.join("new"), "1").unwrap();
        let refused = update(dir, "r", &below).unwrap_err().to_string();
        assert!(refused.starts_with("sub/mine: changed here"), "{refused}");
        assert_eq!(holds("b").as_deref(), Some("2"), "nothing was changed");
        std::fs::remove_file(dir.join("sub/mine")).unwrap();

        assert!(
            update(dir, "other", &now)
                .unwrap_err()
                .to_string()
                .contains("was pulled from r")
        );
        assert!(update(root.path().join("sub").as_path(), "r", &now).is_err());
    }

    /// Nothing that a person may have named is taken for a leftover.
    #[test]
    fn a_file_of_the_user_is_no_leftover_whatever_six_letters_it_has() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let pulled = [pair("a", "1")];
        for (name, text) in pulled.iter().chain([&noted_of(&pulled)]) {
            std::fs::write(dir.join(name), text).unwrap();
        }
        std::fs::write(dir.join(".offshoot-values"), "mine").unwrap();
        let mut now = pulled.to_vec();
        now.push(noted_of(&now));
        update(dir, "r", &now).unwrap();
        let kept = std::fs::read_to_string(dir.join(".offshoot-values")).unwrap();
        assert_eq!(kept, "mine");
    }
}
