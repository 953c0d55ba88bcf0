//! What stands where a private file was written.

use super::*;

#[test]
fn a_file_is_replaced_whole_and_is_its_owners() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.key");
    write(&path, "first, and rather long").unwrap();
    write(&path, "second").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no draft stays: {left:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn what_cannot_be_written_leaves_what_was_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("taken");
    std::fs::create_dir(&path).unwrap();
    assert!(write(&path, "text").is_err(), "a directory has the name");
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no draft stays: {left:?}");
    assert!(path.is_dir());
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn nobody_else_reads_what_is_made_or_opened() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    std::fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
    directory(&at("made/below")).unwrap();
    directory(root.path()).unwrap();
    assert_eq!(mode(&at("made/below")), 0o700);
    assert_eq!(mode(root.path()), 0o755, "what was there is not ours");
    for name in ["old", "log"] {
        std::fs::write(at(name), "kept\n").unwrap();
        std::fs::set_permissions(at(name), Permissions::from_mode(0o644)).unwrap();
    }
    drop(open(&at("old")).unwrap());
    drop(open(&at("new")).unwrap());
    drop(create(&at("old.draft")).unwrap());
    append(&at("log")).unwrap().write_all(b"more\n").unwrap();
    append(&at("new.log"))
        .unwrap()
        .write_all(b"first\n")
        .unwrap();
    for name in ["old", "new", "old.draft", "new.log"] {
        assert_eq!(mode(&at(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&at("log")), 0o644, "somebody lets others read it");
    assert_eq!(std::fs::read_to_string(at("log")).unwrap(), "kept\nmore\n");
    assert_eq!(std::fs::read_to_string(at("old")).unwrap(), "kept\n");
}

#[test]
fn no_link_that_somebody_planted_is_followed() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    std::fs::write(at("victim"), "whole").unwrap();
    std::fs::set_permissions(at("victim"), Permissions::from_mode(0o644)).unwrap();
    for to in ["victim", "nowhere"] {
        std::os::unix::fs::symlink(at(to), at("link")).unwrap();
        for opened in [open(&at("link")), append(&at("link"))] {
            let why = opened.unwrap_err().to_string();
            assert!(why.contains("symbolic link"), "{why}");
        }
        let draft = at(&format!(".key.{}", std::process::id()));
        std::os::unix::fs::symlink(at(to), &draft).unwrap();
        write(&at("key"), "secret").unwrap();
        assert!(at("key").symlink_metadata().unwrap().is_file());
        drop(create(&at("link")).unwrap());
        assert!(at("link").symlink_metadata().unwrap().is_file());
        std::fs::remove_file(at("link")).unwrap();
    }
    assert_eq!(std::fs::read_to_string(at("victim")).unwrap(), "whole");
    assert_eq!(mode(&at("victim")), 0o644);
    assert!(!at("nowhere").exists());
}
