//! The object store of a data directory: opened, made where the directory is new, or begun anew where somebody asks for it.

use std::path::{Path, PathBuf};

use objectstore::{Durability, Options, StorageError, Store};

/// The file of the objects, below the data directory.
const FILE: &str = "objects.redb";

/// How the store of a directory is opened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct How {
    pub(super) durability: Durability,
    /// Whether the embedding program knows that the directory was used before.
    pub(super) used: bool,
    /// Whether a damaged or missing store is replaced by an empty one.
    pub(super) anew: bool,
}

/// Opens the store below a data directory.
///
/// # Errors
/// It is damaged, or missing although the directory has been used: an empty store in its place would say that everything
/// was deleted.
pub(super) fn store(data: &Path, how: How, options: &Options) -> Result<Store, StorageError> {
    let path = data.join(FILE);
    let used = how.used || holds_something(&data.join("pki"));
    let open = |used: bool| Store::in_file(&path, used, how.durability, options.clone());
    match open(used) {
        Err(error) if how.anew && error.is_damage() => {
            let kept = set_aside(&path)?;
            tracing::warn!(%error, kept = %kept.display(), "an empty object store is begun; what was found is kept");
            open(false)
        }
        opened => opened,
    }
}

fn holds_something(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory);
    entries.is_ok_and(|mut entries| entries.next().is_some())
}

/// Moves what was found out of the way, beside where it lies; nothing is ever replaced.
fn set_aside(path: &Path) -> Result<PathBuf, StorageError> {
    let name = |n: u32| match n {
        0 => path.with_extension("redb.damaged"),
        n => path.with_extension(format!("redb.damaged.{n}")),
    };
    let kept = (0..u32::MAX)
        .map(name)
        .find(|p| p.symlink_metadata().is_err());
    let kept = kept.unwrap_or_else(|| name(0));
    match std::fs::rename(path, &kept) {
        Ok(()) => Ok(kept),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(kept),
        Err(error) => Err(StorageError::Open {
            path: path.display().to_string(),
            detail: format!("move it aside: {error}"),
        }),
    }
}

#[cfg(test)]
mod tests;
