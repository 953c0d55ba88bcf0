//! Files and directories below the data directory that nobody else may read, whatever mode it has itself.
//!
//! New files are made exclusively, so that a link that somebody planted is never followed. What lies in a repository
//! that others use is made as git makes it, not here.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// What nobody but the owner may do.
const OTHERS: u32 = 0o077;

/// A new file; what was under its name, such as the draft of a process that died, goes.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let make = || {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(path)
    };
    match make() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            make()
        }
        made => made,
    }
}

/// A file to read and write, made where it is missing.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
            let file = options.custom_flags(flags).open(path)?;
            let mode = file.metadata()?.permissions().mode();
            if mode & OTHERS != 0 {
                file.set_permissions(Permissions::from_mode(0o600))?;
            }
            Ok(file)
        }
        made => made,
    }
}

/// A directory of ours, made with those above it where they are missing.
pub(crate) fn directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & OTHERS != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn nobody_else_reads_what_is_made_and_no_link_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir(at("git")).unwrap();
        std::fs::set_permissions(at("git"), Permissions::from_mode(0o755)).unwrap();
        directory(&at("git")).unwrap();
        directory(&at("deep/er")).unwrap();
        for name in ["git", "deep", "deep/er"] {
            assert_eq!(mode(&at(name)), 0o700, "{name}");
        }
        std::fs::write(at("journal"), "kept").unwrap();
        std::fs::set_permissions(at("journal"), Permissions::from_mode(0o644)).unwrap();
        drop(open(&at("journal")).unwrap());
        drop(open(&at("fresh")).unwrap());
        drop(create(&at("draft")).unwrap());
        for name in ["journal", "fresh", "draft"] {
            assert_eq!(mode(&at(name)), 0o600, "{name}");
        }
        assert_eq!(std::fs::read_to_string(at("journal")).unwrap(), "kept");
        std::fs::write(at("victim"), "whole").unwrap();
        for name in ["link", "dangling"] {
            let to = if name == "link" { "victim" } else { "nowhere" };
            std::os::unix::fs::symlink(at(to), at(name)).unwrap();
            assert!(open(&at(name)).is_err(), "{name}");
            drop(create(&at(name)).unwrap());
            assert!(at(name).symlink_metadata().unwrap().is_file(), "{name}");
        }
        assert_eq!(std::fs::read_to_string(at("victim")).unwrap(), "whole");
        assert!(!at("nowhere").exists());
    }
}
