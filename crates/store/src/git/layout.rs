//! What a git directory looks like: finding one, refusing formats that we do not read, making one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::git::{plain, worktrees};
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
        (path.to_owned(), !worktrees::has_files(path)?)
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

/// Refuses what we would misread: SHA-256 ids and reftables.
pub(crate) fn check_format(url: &str, dir: &Path) -> Result<()> {
    let config = plain::text(&dir.join("config"))?
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
