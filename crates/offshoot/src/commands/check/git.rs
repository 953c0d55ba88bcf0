//! Records against refs: what a record says must be in git, at the tip of a branch where it can still be edited.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::{Lifecycle, Revision};
use serde_json::Value;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// How many repositories could be looked into.
    pub(super) repositories: usize,
    /// How many records.
    pub(super) compared: usize,
    /// What is broken.
    pub(super) problems: Vec<String>,
    /// What could not be looked into.
    pub(super) notes: Vec<String>,
}

/// Compares the records of package revisions with the repositories on this machine.
pub(super) fn compare(objects: &[(&str, Value)]) -> Compared {
    let mut out = Compared::default();
    let mut repositories: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut records: BTreeMap<(String, String), Vec<Revision>> = BTreeMap::new();
    for (resource, object) in objects {
        if resource.starts_with("repositories.") {
            if let Ok(repository) = api::read_repository(object) {
                let namespace = repository.key.namespace.as_str().to_owned();
                let at = (namespace, repository.name.as_str().to_owned());
                repositories.insert(at, repository.git.repo);
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
        match repositories.get(&at) {
            None => out.notes.push(format!(
                "{}/{}: {} records of a repository that is not registered",
                at.0,
                at.1,
                records.len()
            )),
            Some(url) => one(&format!("{}/{}", at.0, at.1), url, &records, &mut out),
        }
    }
    out
}

/// Compares the records of one repository.
fn one(name: &str, url: &str, records: &[Revision], out: &mut Compared) {
    let Some(path) = url.strip_prefix("file://").map(PathBuf::from) else {
        out.notes.push(format!(
            "{name}: {url} is elsewhere and was not looked into"
        ));
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
        let open = matches!(record.lifecycle, Lifecycle::Draft | Lifecycle::Proposed);
        if missing.contains(&commit) {
            out.problems
                .push(format!("{key}: commit {commit} is not in {url}"));
        } else if open && !tips.contains(&commit) {
            out.problems.push(format!(
                "{key}: no ref of {url} leads to commit {commit}; a start reads what git holds"
            ));
        }
    }
}

/// The commits that refs lead to, annotated tags followed.
fn tips(path: &Path) -> Result<BTreeSet<String>, String> {
    let text = git(
        path,
        &["for-each-ref", "--format=%(objectname) %(*objectname)"],
        "",
    )?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
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
