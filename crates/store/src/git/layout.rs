//! What a git directory looks like: finding one, refusing formats that we do not read, making one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::RefName;
use crate::error::{Error, Result};
use crate::git::plain;
use crate::remote::{RemoteSpec, UrlKind};

/// One URL for one directory, however the path is written.
pub(crate) fn canonical(url: String, kind: UrlKind) -> (String, UrlKind) {
    let UrlKind::Local(path) = kind else {
        return (url, kind);
    };
    match fs::canonicalize(&path) {
        Ok(real) => (format!("file://{}", real.display()), UrlKind::Local(real)),
        Err(_) => (url, UrlKind::Local(path)),
    }
}

/// The git directory of a local repository, and whether it can be written.
pub(crate) fn find_local(url: &str, path: &Path, spec: &RemoteSpec) -> Result<(PathBuf, bool)> {
    if !path.exists() && spec.create_repository {
        init_bare(path, spec.branch.as_deref().unwrap_or("main"))?;
    }
    let is_git_dir = |dir: &Path| dir.join("HEAD").is_file() && dir.join("objects").is_dir();
    let (dir, writable) = if is_git_dir(path) {
        (path.to_owned(), !has_files_beside(path))
    } else if is_git_dir(&path.join(".git")) {
        (path.join(".git"), false)
    } else {
        return Err(Error::NoRepository {
            url: url.to_owned(),
        });
    };
    check_format(url, &dir)?;
    Ok((dir, writable))
}

/// Whether a git directory is that of a clone with files, by whatever path it is named: what is written to its branch behind the back
/// of whoever works there is taken back by their next commit.
fn has_files_beside(dir: &Path) -> bool {
    dir.file_name().is_some_and(|name| name == ".git")
}

/// In which directories a branch is checked out, beside a repository without files: as git does, nobody moves it there.
pub(crate) fn checked_out(dir: &Path, branch: &RefName) -> Result<Option<String>> {
    let failed = |path: &Path, e| Error::io(format!("read {}", path.display()), e);
    let all = dir.join("worktrees");
    let entries = match fs::read_dir(&all) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(&all, e)),
    };
    for entry in entries {
        let at = entry.map_err(|e| failed(&all, e))?.path();
        let head = read_text(&at.join("HEAD"))?.unwrap_or_default();
        let on = head.trim().strip_prefix("ref:").map(str::trim);
        if on != Some(branch.as_str()) {
            continue;
        }
        let place = read_text(&at.join("gitdir"))?.unwrap_or_default();
        let place = place.trim().trim_end_matches(".git").trim_end_matches('/');
        // One whose files are gone waits to be pruned.
        if Path::new(place).exists() {
            return Ok(Some(place.to_owned()));
        }
    }
    Ok(None)
}

/// Refuses what we would misread: SHA-256 ids and reftables.
pub(crate) fn check_format(url: &str, dir: &Path) -> Result<()> {
    let config = read_text(&dir.join("config"))?
        .unwrap_or_default()
        .to_lowercase();
    let setting = |key: &str| {
        config.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        })
    };
    let refuse = |what: &str| {
        Err(Error::Format {
            url: url.to_owned(),
            what: what.to_owned(),
        })
    };
    match (
        setting("objectformat").as_deref(),
        setting("refstorage").as_deref(),
    ) {
        (Some("sha256"), _) => refuse("SHA-256 object ids"),
        (_, Some("reftable")) => refuse("the reftable format for refs"),
        _ => Ok(()),
    }
}

/// Where the mirror of a remote is.
pub(crate) fn mirror_in(home: &Path) -> PathBuf {
    home.join("mirror.git")
}

/// The mirror of a remote, made where it is missing.
pub(crate) fn mirror(home: &Path) -> Result<PathBuf> {
    let dir = mirror_in(home);
    if !dir.join("HEAD").is_file() {
        init_bare(&dir, "main")?;
    }
    Ok(dir)
}

/// A bare repository without a commit, HEAD last: without it there is none.
pub(crate) fn init_bare(dir: &Path, branch: &str) -> Result<()> {
    let make = || -> io::Result<()> {
        for sub in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            fs::create_dir_all(dir.join(sub))?;
        }
        let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
        fs::write(dir.join("config"), config)?;
        fs::write(dir.join("HEAD"), format!("ref: refs/heads/{branch}\n"))?;
        fs::File::open(dir.join("HEAD"))?.sync_all()?;
        fs::File::open(dir)?.sync_all()
    };
    make().map_err(|e| Error::io(format!("make a repository in {}", dir.display()), e))
}

/// Reads a small file of git's; `None` if it is not there.
fn read_text(path: &Path) -> Result<Option<String>> {
    match plain::read(path, plain::TEXT) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(format!("read {}", path.display()), e)),
    }
}
