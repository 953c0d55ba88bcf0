//! Which local repositories may be opened: whoever may write a `Repository` object names paths of the machine that
//! serves it, and git would follow them anywhere.
//!
//! Links are followed before a path is checked; what does not exist yet is checked by the directory that
//! it would be made in.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A fence around local repositories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Local {
    /// Directories that repositories may lie below; `None` for anywhere.
    pub below: Option<Vec<PathBuf>>,
    /// Directories that no repository may lie below, whatever `below` says: our own.
    pub never: Vec<PathBuf>,
}

impl Local {
    /// Whether a path may be opened, or made.
    pub(super) fn check(&self, url: &str, path: &Path) -> Result<()> {
        if self.below.is_none() && self.never.is_empty() {
            return Ok(());
        }
        let refuse = |why: String| Error::Outside {
            url: url.to_owned(),
            why,
        };
        let real = real(path).ok_or_else(|| refuse("its path leads nowhere".to_owned()))?;
        let inside = |dir: &PathBuf| real_of(dir).is_some_and(|dir| real.starts_with(dir));
        if self.never.iter().any(inside) {
            return Err(refuse(
                "it lies in the data directory of the server".to_owned(),
            ));
        }
        match &self.below {
            Some(below) if !below.iter().any(inside) => {
                let named: Vec<_> = below.iter().map(|d| d.display().to_string()).collect();
                let where_to = match named.is_empty() {
                    true => "no local repository is served here: register an http:// or https:// address".to_owned(),
                    false => format!("local repositories lie below {}", named.join(", ")),
                };
                Err(refuse(where_to))
            }
            _ => Ok(()),
        }
    }
}

/// The fence of one repository: what it borrows objects from is opened as it is, and lies inside, as does whatever a link in it leads to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fence(pub(super) Option<(String, Local)>);

/// What is taken from a directory of objects.
pub(crate) const OBJECTS: &str = "objects";
/// What is taken from a directory of refs.
pub(crate) const REFS: &str = "refs";

/// What git and we open by name in a git directory, whatever else is in it, and what is taken from there.
const OPENED: [(&str, &[&str]); 3] = [
    (
        OBJECTS,
        &[
            "objects",
            "objects/pack",
            "objects/info",
            "objects/info/alternates",
        ],
    ),
    (
        REFS,
        &[
            "HEAD",
            "refs",
            "refs/heads",
            "refs/tags",
            "packed-refs",
            "worktrees",
        ],
    ),
    (
        "settings",
        &["config", "config.worktree", "commondir", "shallow"],
    ),
];

impl Fence {
    /// Whether something may be read from a place that the repository leads to.
    pub(crate) fn check(&self, what: &str, place: &Path) -> Result<()> {
        let Some((url, local)) = &self.0 else {
            return Ok(());
        };
        local.check(url, place).map_err(|error| match error {
            Error::Outside { url, why } => Error::Outside {
                why: format!("it takes {what} from {}: {why}", place.display()),
                url,
            },
            other => other,
        })
    }

    /// The same of what stands under these names in a directory, where it is a link: the rest lies where the directory does.
    pub(crate) fn check_links(
        &self,
        what: &str,
        dir: &Path,
        names: impl IntoIterator<Item = impl AsRef<Path>>,
    ) -> Result<()> {
        if self.0.is_none() {
            return Ok(());
        }
        for name in names {
            let place = dir.join(name);
            if place.is_symlink() {
                self.check(what, &place)?;
            }
        }
        Ok(())
    }

    /// Looks at a git directory before anything is opened in it: whoever owns it may have put links there at any time.
    pub(crate) fn check_git_dir(&self, dir: &Path) -> Result<()> {
        if self.0.is_none() {
            return Ok(());
        }
        // It, or a directory above it, may have become a link since it was opened.
        if dir.canonicalize().ok().as_deref() != Some(dir) {
            self.check(OBJECTS, dir)?;
        }
        let mut all = OPENED.iter();
        all.try_for_each(|(what, names)| self.check_links(what, dir, *names))
    }
}

fn real_of(dir: &Path) -> Option<PathBuf> {
    dir.canonicalize().ok()
}

/// Where a path leads, links followed; of what does not exist, where it would be made.
fn real(path: &Path) -> Option<PathBuf> {
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        if let Ok(mut real) = at.canonicalize() {
            real.extend(missing.iter().rev());
            return Some(real);
        }
        // A dangling link would be followed by whoever makes what is missing.
        if at.symlink_metadata().is_ok() {
            return None;
        }
        // `..` below something that is missing has no name.
        missing.push(at.file_name()?);
        at = at.parent()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_lead_out_of_nothing() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for dir in ["open/in.git", "open/data/git", "other.git"] {
            std::fs::create_dir_all(at(dir)).unwrap();
        }
        std::os::unix::fs::symlink(at("other.git"), at("open/link.git")).unwrap();
        std::os::unix::fs::symlink(at("nowhere"), at("open/dangling.git")).unwrap();
        let local = Local {
            below: Some(vec![at("open")]),
            never: vec![at("open/data")],
        };
        let allowed = |path: &str| local.check("file:///x", &at(path)).is_ok();
        for path in ["open/in.git", "open/new.git", "open/new/deep.git"] {
            assert!(allowed(path), "{path}");
        }
        for path in [
            "other.git",
            "open/link.git",
            "open/dangling.git",
            "open/../other.git",
            "open/new/../../other.git",
            "open/data/git",
            "open/data/new.git",
        ] {
            assert!(!allowed(path), "{path}");
        }
        assert!(
            Local::default()
                .check("file:///x", &at("other.git"))
                .is_ok()
        );
    }
}
