//! What stands where a private file was written.

use super::write;

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
