//! What a directory may hold that is planned without a server: it may be a stranger's, out of a pull request.
//!
//! Nothing is opened here. Links, pipes and devices are refused, since what they lead to lies elsewhere or never ends; so is
//! more than a plan could be made of (X9).

use std::path::Path;

use crate::exit::ExitFailure;

/// How deep directories may lie.
const DEPTH: usize = 64;

/// How much there may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    /// Files and directories.
    pub(super) entries: usize,
    /// Bytes of all files.
    pub(super) bytes: u64,
}

/// Manifests: what a large fleet comes to, several times over.
pub(super) const MANIFESTS: Most = Most {
    entries: 100_000,
    bytes: 256 << 20,
};
/// A clone.
pub(super) const CLONE: Most = Most {
    entries: 1_000_000,
    bytes: 8 << 30,
};

/// Looks through a file or directory.
///
/// # Errors
/// It holds what is neither a file nor a directory, or too much; the first such place is named.
pub(super) fn check(path: &Path, most: Most) -> Result<(), ExitFailure> {
    let mut left = most;
    walk(path, 0, &mut left, most)
}

fn walk(path: &Path, depth: usize, left: &mut Most, most: Most) -> Result<(), ExitFailure> {
    let shown = path.display();
    let failed = |e: std::io::Error| ExitFailure::of(&format!("read {shown}"), &e);
    let found = std::fs::symlink_metadata(path).map_err(failed)?;
    let kind = found.file_type();
    if kind.is_symlink() {
        return Err(ExitFailure::new(format!("{shown} is a symbolic link"))
            .hint("what it leads to is not read: put a copy there"));
    }
    let full = || {
        ExitFailure::new(format!(
            "{shown}: there is more than {} files and {} MiB",
            most.entries,
            most.bytes >> 20
        ))
    };
    left.entries = left.entries.checked_sub(1).ok_or_else(full)?;
    if kind.is_file() {
        left.bytes = left.bytes.checked_sub(found.len()).ok_or_else(full)?;
        return Ok(());
    }
    if !kind.is_dir() {
        return Err(ExitFailure::new(format!(
            "{shown} is neither a file nor a directory"
        )));
    }
    if depth == DEPTH {
        return Err(ExitFailure::new(format!(
            "{shown}: directories lie more than {DEPTH} deep"
        )));
    }
    for entry in std::fs::read_dir(path).map_err(failed)? {
        walk(&entry.map_err(failed)?.path(), depth + 1, left, most)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_pipes_and_too_much_are_named() {
        let root = tempfile::tempdir().unwrap();
        let most = Most {
            entries: 4,
            bytes: 10,
        };
        let put = |name: &str, bytes: usize| {
            std::fs::write(root.path().join(name), vec![b'x'; bytes]).unwrap();
        };
        let told = |most| {
            let checked = check(root.path(), most);
            checked
                .err()
                .map_or_else(String::new, |e| e.message().to_owned())
        };
        put("a", 6);
        put("b", 4);
        assert_eq!(told(most), "");
        put("c", 1);
        assert!(told(most).contains("more than 4 files"), "{}", told(most));
        std::fs::remove_file(root.path().join("c")).unwrap();
        put("b", 3);
        put("d", 0);
        assert_eq!(told(most), "");
        put("e", 0);
        assert!(told(most).contains("more than 4 files"), "{}", told(most));
        std::os::unix::fs::symlink("/dev/zero", root.path().join("z")).unwrap();
        assert!(
            told(MANIFESTS).ends_with("z is a symbolic link"),
            "{}",
            told(MANIFESTS)
        );
        std::fs::remove_file(root.path().join("z")).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(root.path().join("p"))
            .status();
        assert!(pipe.unwrap().success());
        assert!(
            told(CLONE).ends_with("p is neither a file nor a directory"),
            "{}",
            told(CLONE)
        );
    }

    #[test]
    fn directories_have_a_depth() {
        let root = tempfile::tempdir().unwrap();
        let deep = |levels: usize| root.path().join(vec!["d"; levels].join("/"));
        std::fs::create_dir_all(deep(DEPTH - 1)).unwrap();
        assert!(check(root.path(), MANIFESTS).is_ok());
        std::fs::create_dir_all(deep(DEPTH)).unwrap();
        assert!(check(root.path(), MANIFESTS).is_err());
    }
}
