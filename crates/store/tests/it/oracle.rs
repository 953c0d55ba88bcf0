//! The real `git`, which says whether what we wrote is what we meant.

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
pub(crate) fn fsck(dir: &Path) {
    let done = output(dir, &["fsck", "--strict", "--full", "--no-dangling"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let fine = done.status.success() && !said.contains("error") && !said.contains("warning");
    assert!(
        fine,
        "git fsck: {said}{}",
        String::from_utf8_lossy(&done.stdout)
    );
}
