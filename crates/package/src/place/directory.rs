//! Directories of a package.

use model::PackagePath;

/// Whether a path lies in a directory.
pub(crate) fn inside(path: &PackagePath, dir: &str) -> bool {
    path.as_str()
        .strip_prefix(dir)
        .is_some_and(|rest| rest.starts_with('/'))
}
