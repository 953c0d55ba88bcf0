//! Records against refs: what a record says must be in git, and a ref must lead to it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::Revision;
use serde_json::Value;
use store::GitStore;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// How many repositories could be looked into.
    pub(super) repositories: usize,
    /// How many records.
    pub(super) compared: usize,
    /// What is broken.
    pub(super) problems: Vec<String>,
    /// What else is to be known.
    pub(super) notes: Vec<String>,
    /// Repositories whose records could not be compared, and why.
    pub(super) uncompared: Vec<String>,
}

/// Namespace and name of a repository.
type At = (String, String);

/// Copies of repositories that are elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mirrors<'a> {
    /// Where they are.
    pub(super) path: &'a Path,
    /// Whether they were made for this comparison; else they are what a server knew of them last.
    pub(super) fresh: bool,
}

/// Compares the records of package revisions with the repositories on this machine, and with the mirrors of others.
pub(super) fn compare(objects: &[(&str, Value)], mirrors: Mirrors<'_>) -> Compared {
    let mut out = Compared::default();
    let mut repositories: BTreeMap<At, Result<String, String>> = BTreeMap::new();
    let mut records: BTreeMap<At, Vec<Revision>> = BTreeMap::new();
    for (resource, object) in objects {
        if resource.starts_with("repositories.") {
            if let Some(key) = api::read_key(object) {
                let at = (key.namespace.to_string(), key.name.to_string());
                let read = api::read_repository(object).map(|repository| repository.git.repo);
                let read = read.map_err(|problems| model::join_problems(&problems));
                repositories.insert(at, read);
            }
            continue;
        }
        match api::read_revision(object) {
            Ok(record) => {
                let namespace = record.namespace().as_str().to_owned();
                let at = (namespace, record.repository.as_str().to_owned());
                records.entry(at).or_default().push(record);
            }
            Err(why) => out.problems.push(format!("a record cannot be read: {why}")),
        }
    }
    for (at, records) in records {
        let name = format!("{}/{}", at.0, at.1);
        let count = records.len();
        match repositories.get(&at) {
            None => out.uncompared.push(format!(
                "{name}: not compared: {count} records of a repository that is not registered"
            )),
            Some(Err(why)) => out.uncompared.push(format!(
                "{name}: not compared: {count} records of a repository that cannot be read: {why}"
            )),
            Some(Ok(url)) => one(&name, url, mirrors, &records, &mut out),
        }
    }
    out
}

/// Where the git directory of a repository is, or why it cannot be looked into.
fn place(name: &str, url: &str, mirrors: Mirrors<'_>, out: &mut Compared) -> Option<PathBuf> {
    if let Some(path) = url.strip_prefix("file://") {
        return Some(PathBuf::from(path));
    }
    let mirror = GitStore::mirror_of(mirrors.path, url);
    if mirrors.fresh {
        return match copy(url, &mirror) {
            Ok(()) => Some(mirror),
            Err(why) => {
                out.uncompared
                    .push(format!("{name}: not compared: {url} cannot be read: {why}"));
                None
            }
        };
    }
    if !mirror.join("HEAD").is_file() {
        out.uncompared.push(format!(
            "{name}: not compared: {url} is elsewhere, and this data directory holds no mirror of it; a start makes one"
        ));
        return None;
    }
    out.notes.push(format!(
        "{name}: compared with the mirror of {url}; what changed there since is read at the next start"
    ));
    Some(mirror)
}

/// Compares the records of one repository.
fn one(name: &str, url: &str, mirrors: Mirrors<'_>, records: &[Revision], out: &mut Compared) {
    let Some(path) = place(name, url, mirrors, out) else {
        return;
    };
    let found = tips(&path).and_then(|tips| {
        let wanted = records.iter().map(|r| r.commit.to_string()).collect();
        missing(&path, &wanted).map(|missing| (tips, missing))
    });
    let (tips, missing) = match found {
        Ok(found) => found,
        Err(why) => {
            out.problems.push(format!("{name}: {why}"));
            return;
        }
    };
    out.repositories += 1;
    for record in records {
        out.compared += 1;
        let (key, commit) = (&record.key, record.commit.to_string());
        if missing.contains(&commit) {
            out.problems
                .push(format!("{key}: commit {commit} is not in {url}"));
        } else if !record.placeholder && !tips.contains(&commit) {
            out.problems.push(format!(
                "{key}: no ref of {url} leads to commit {commit}; a start reads what git holds"
            ));
        }
    }
}

/// Copies a repository with the git, and the credentials, of whoever asks.
fn copy(url: &str, to: &Path) -> Result<(), String> {
    if to.join("HEAD").is_file() {
        // Another registration of the same repository.
        return Ok(());
    }
    let done = Command::new("git")
        .args(["clone", "--quiet", "--mirror", "--", url])
        .arg(to)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("run git: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(said.lines().last().unwrap_or_default().trim().to_owned())
}

/// The commits that refs lead to, annotated tags followed; what is on its way to a remote does not count.
fn tips(path: &Path) -> Result<BTreeSet<String>, String> {
    let format = "--format=%(refname) %(objectname) %(*objectname)";
    let text = git(path, &["for-each-ref", format], "")?;
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let there = lines.filter(|(name, _)| !name.starts_with("refs/offshoot/pending/"));
    Ok(there
        .flat_map(|(_, ids)| ids.split_whitespace().map(str::to_owned))
        .collect())
}

/// Those of `wanted` that the repository does not have.
fn missing(path: &Path, wanted: &BTreeSet<String>) -> Result<BTreeSet<String>, String> {
    let mut list = String::new();
    for commit in wanted {
        list.push_str(commit);
        list.push('\n');
    }
    let text = git(path, &["cat-file", "--batch-check"], &list)?;
    let gone = text.lines().filter_map(|l| l.strip_suffix(" missing"));
    Ok(gone.map(str::to_owned).collect())
}

fn git(path: &Path, arguments: &[&str], input: &str) -> Result<String, String> {
    let fail = |e: std::io::Error| format!("run git: {e}");
    let mut child = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fail)?;
    let pipe = child.stdin.take();
    let text = input.to_owned();
    // From a thread of its own: git answers while it still reads.
    let writer = std::thread::spawn(move || pipe.map(|mut p| p.write_all(text.as_bytes())));
    let output = child.wait_with_output().map_err(fail)?;
    // A git that went away early says why itself.
    drop(writer.join());
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
