//! The real `git`, which says whether what we wrote is what we meant.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Whether there is a `git` to ask; says so if not.
pub(crate) fn available() -> bool {
    let found = Command::new("git").arg("--version").output().is_ok();
    if !found {
        println!("skipped: there is no git program");
    }
    found
}

pub(crate) fn output(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Person");
        command.env(format!("GIT_{who}_EMAIL"), "person@example.com");
    }
    command.output().unwrap()
}

/// Runs git and returns what it printed; fails with what it said.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let done = output(dir, args);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "git {args:?}: {said}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Checks every object and ref; warnings about what is not reachable are none of ours.
///
/// Upkeep may still roll packs up beside us, and takes a pack away that the check has just
/// listed: what is said while packs come and go is no finding, so the check is made again.
pub(crate) fn fsck(dir: &Path) {
    for round in 1.. {
        let before = packs(dir);
        let done = output(dir, &["fsck", "--strict", "--full", "--no-dangling"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() && !said.contains("error") && !said.contains("warning") {
            return;
        }
        let moved = before != packs(dir) || before.iter().any(|name| name.starts_with(".tmp-"));
        let found = String::from_utf8_lossy(&done.stdout);
        assert!(moved && round < 100, "git fsck: {said}{found}");
    }
}

/// The names in the directory of packs, those that are being written among them.
fn packs(dir: &Path) -> BTreeSet<String> {
    let bare = dir.join("objects/pack");
    let place = if bare.exists() {
        bare
    } else {
        dir.join(".git/objects/pack")
    };
    let entries = std::fs::read_dir(place).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect()
}
