//! What packages hold that is no file, and upstream's versions with a link where the others have a file.

use model::{File, Files};
use store::{Opaque, Snapshot};

use super::fixtures::{EDITED, path};

/// Git's mode of a link.
const LINK: u32 = 0o120_000;
/// A file in upstream's odd versions, and a link in the others.
pub(super) const NOTES: &str = "notes.txt";
/// What upstream has from this version on, and people have a link for.
pub(super) const EXTRA: (&str, u64) = ("extra.txt", 3);

/// A link, if the package has a file that it may stand for, and nothing of its name.
pub(super) fn link(name: &str, package: &Snapshot) -> Option<Opaque> {
    let file = package.files.contains_key(&path(name));
    let opaque = package.opaque.iter().any(|o| o.path == name.as_bytes());
    let like = package.files.get(&path(EDITED));
    let link = Opaque::new(name.as_bytes().to_vec(), LINK, like);
    link.filter(|_| !file && !opaque)
}

/// What the file says in a version.
pub(super) fn notes(version: u64) -> String {
    format!("notes of v{version}\n")
}

/// Adds to a version of upstream, after the one before, what is a file or a link there; returns the links.
pub(super) fn release(before: Option<&Snapshot>, version: u64, files: &mut Files) -> Vec<Opaque> {
    if version >= EXTRA.1 {
        files.insert(path(EXTRA.0), File::text("extra\n"));
    }
    if version % 2 == 1 {
        files.insert(path(NOTES), File::text(notes(version)));
        return Vec::new();
    }
    let like = before.and_then(|app| app.files.get(&path(EDITED)));
    Opaque::new(NOTES.into(), LINK, like).into_iter().collect()
}
