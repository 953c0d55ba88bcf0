//! Working trees of a repository on this disk: which branches people have checked out. As git does, nobody moves such a branch, or
//! takes it away: the next commit there would take back what was written.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::RefName;
use crate::error::{Error, Result};
use crate::git::plain;

/// Whether a git directory is that of a clone with files, by whatever path it is named, and wherever the files lie: one that is made with
/// `--separate-git-dir`, or that of a submodule, has another name than `.git`.
pub(crate) fn has_files(dir: &Path) -> Result<bool> {
    let named = dir.file_name().is_some_and(|name| name == ".git");
    Ok(named || dir.join("index").is_file() || tree(dir)?.is_some())
}

/// The working tree that the configuration of a git directory tells of; empty if it does not say where.
fn tree(dir: &Path) -> Result<Option<PathBuf>> {
    let (mut bare, mut at) = (None, None);
    // Where each working tree has its own, the second file counts.
    for name in ["config", "config.worktree"] {
        let text = plain::text(&dir.join(name))?.unwrap_or_default();
        // Git reads nothing of one that makes no sense, either.
        let Ok(config) = text.parse::<gix::config::File>() else {
            continue;
        };
        bare = config.boolean("core.bare").ok().flatten().or(bare);
        at = config.string("core.worktree").or(at);
    }
    let at = at.map(|path| dir.join(path.to_string()));
    Ok(at.or_else(|| (bare == Some(false)).then(PathBuf::new)))
}

/// The branches that are checked out, with where: in directories beside a repository, or in its own working tree, if somebody gave it one.
pub(crate) fn checked_out(dir: &Path) -> Result<BTreeMap<RefName, String>> {
    let mut found = BTreeMap::new();
    if has_files(dir)? {
        let at = tree(dir)?.filter(|at| at.is_absolute());
        let at = at.unwrap_or_else(|| dir.to_owned()).display().to_string();
        found.extend(
            branches(dir)?
                .into_iter()
                .map(|branch| (branch, at.clone())),
        );
    }
    let all = dir.join("worktrees");
    let failed = |e| Error::io(format!("read {}", all.display()), e);
    let entries = match fs::read_dir(&all) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(e) => return Err(failed(e)),
    };
    for entry in entries {
        let own = entry.map_err(failed)?.path();
        let Some(place) = own.is_dir().then(|| plain::text(&own.join("gitdir"))) else {
            continue;
        };
        let Some(place) = place? else { continue };
        // Since git 2.48 it may be told from there.
        let place = own.join(place.trim());
        let place = match place.file_name() {
            Some(name) if name == ".git" => place.parent().unwrap_or(&place),
            _ => &place,
        };
        // One whose files are gone waits to be pruned, unless somebody said that they come back.
        if place.exists() || own.join("locked").exists() {
            let at = place.display().to_string();
            found.extend(
                branches(&own)?
                    .into_iter()
                    .map(|branch| (branch, at.clone())),
            );
        }
    }
    Ok(found)
}

/// The branch that a working tree is on, and the one that it will be on again when a rebase is over.
fn branches(own: &Path) -> Result<Vec<RefName>> {
    let mut found = Vec::new();
    for name in ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"] {
        let text = plain::text(&own.join(name))?.unwrap_or_default();
        let on = text.trim();
        let on = on.strip_prefix("ref:").map_or(on, str::trim);
        // A commit's id stands there where no branch is checked out.
        found.extend(RefName::parse(on).ok());
    }
    Ok(found)
}
