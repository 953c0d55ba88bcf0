//! `pkg merge-file` as git's merge driver: fields instead of lines, and markers where a person has to decide.

use std::path::Path;
use std::process::Command;

use super::local::{get, offshoot, put};
use super::process::git;

fn text(image: &str, replicas: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  image: {image}\n  replicas: {replicas} # scale\n"
    )
}

/// A repository whose YAML files are merged by the driver.
fn repository(root: &Path, files: &[(&str, &str)]) {
    git(root, &["init", "--quiet"]);
    let driver = format!(
        "{} pkg merge-file --marker-size %L %O %A %B %P",
        env!("CARGO_BIN_EXE_offshoot")
    );
    git(root, &["config", "merge.offshoot.driver", &driver]);
    put(
        root,
        &[(
            ".gitattributes",
            "*.yaml merge=offshoot\nKptfile merge=offshoot\n",
        )],
    );
    put(root, files);
    commit(root, "base");
}

fn commit(root: &Path, message: &str) {
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", message]);
}

/// Makes `theirs` and `main` differ in these ways.
fn branches(root: &Path, theirs: &[(&str, &str)], ours: &[(&str, &str)]) {
    git(root, &["checkout", "--quiet", "-b", "theirs"]);
    put(root, theirs);
    commit(root, "theirs");
    git(root, &["checkout", "--quiet", "main"]);
    put(root, ours);
    commit(root, "ours");
}

/// Merges `theirs`; whether git calls it merged, and which paths it calls unmerged.
fn merge(root: &Path) -> (bool, String) {
    let run = |arguments: &[&str]| {
        Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(arguments)
            .current_dir(root)
            .output()
            .unwrap()
    };
    let done = run(&["merge", "--quiet", "--no-edit", "theirs"]);
    let unmerged = run(&["diff", "--name-only", "--diff-filter=U"]).stdout;
    (
        done.status.success(),
        String::from_utf8(unmerged).unwrap().trim().to_owned(),
    )
}

#[test]
fn neighbouring_fields_merge_where_lines_would_not() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    repository(root, &[("a/web.yaml", &text("a:1", "1"))]);
    // A line-based merge could not take both: the lines are neighbours.
    branches(
        root,
        &[("a/web.yaml", &text("a:2", "1"))],
        &[("a/web.yaml", &text("a:1", "5"))],
    );
    assert_eq!(merge(root), (true, String::new()));
    assert_eq!(get(root, "a/web.yaml"), text("a:2", "5"));
}

#[test]
fn a_conflict_stands_between_markers_and_everything_else_is_merged() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    repository(root, &[("web.yaml", &text("a:1", "1"))]);
    branches(
        root,
        &[("web.yaml", &text("a:3", "9"))],
        &[(
            "web.yaml",
            &text("a:2", "1").replace("name: web", "name: web # ours"),
        )],
    );
    assert_eq!(merge(root), (false, "web.yaml".to_owned()));
    let conflicted = get(root, "web.yaml");
    let image = "<<<<<<< local\n  image: a:2\n=======\n  image: a:3\n>>>>>>> upstream\n";
    let wanted = text("a:1", "9")
        .replace("name: web", "name: web # ours")
        .replace("  image: a:1\n", image);
    assert_eq!(conflicted, wanted);
    // What is half done is no package: nobody renders it by accident.
    put(
        root,
        &[(
            "Kptfile",
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n",
        )],
    );
    let answer = offshoot(root, &["pkg", "render", "."], "");
    assert!(
        answer.code == 1 && answer.err.contains("web.yaml: line "),
        "{}",
        answer.err
    );
}

#[test]
fn what_is_deleted_here_and_changed_there_is_left_to_a_person() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let second =
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: x\n";
    let both = text("a:1", "1") + second;
    put(
        root,
        &[
            ("o", &both),
            ("x", &both.replace("a: x", "a: mine")),
            ("y", &text("a:2", "1")),
        ],
    );
    let run = |more: &[&str]| {
        let arguments = [&["pkg", "merge-file", "o", "x", "y", "web.yaml"], more].concat();
        offshoot(root, &arguments, "")
    };
    let answer = run(&[]);
    assert_eq!(
        (answer.code, answer.out.as_str()),
        (1, ""),
        "{}",
        answer.err
    );
    assert!(
        answer.err.contains("/ConfigMap//settings"),
        "{}",
        answer.err
    );
    let marked = format!(
        "{}<<<<<<< local\n{}=======\n>>>>>>> upstream\n",
        text("a:2", "1"),
        second.replace("a: x", "a: mine")
    );
    assert_eq!(get(root, "x"), marked);
    // Whoever names a winner gets no markers.
    put(root, &[("x", &both.replace("a: x", "a: mine"))]);
    assert_eq!(run(&["--conflicts", "upstream"]).code, 0);
    assert_eq!(get(root, "x"), text("a:2", "1"));
}

#[test]
fn what_cannot_be_paired_or_is_no_text_is_left_to_a_person() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let twice = format!("{}---\n{}", text("a:1", "1"), text("a:1", "1"));
    put(
        root,
        &[
            ("o", &text("a:1", "1")),
            ("x", &twice),
            ("y", &text("a:2", "1")),
        ],
    );
    let answer = offshoot(root, &["pkg", "merge-file", "o", "x", "y", "web.yaml"], "");
    assert_eq!(answer.code, 1);
    assert!(answer.err.contains("web.yaml\n"), "{}", answer.err);
    let marked = get(root, "x");
    assert!(
        marked.contains("<<<<<<< local\n") && marked.contains("image: a:2"),
        "{marked}"
    );

    for (name, bytes) in [
        ("o", &b"\x00\xff1"[..]),
        ("x", b"\x00\xff2"),
        ("y", b"\x00\xff3"),
    ] {
        std::fs::write(root.join(name), bytes).unwrap();
    }
    let answer = offshoot(root, &["pkg", "merge-file", "o", "x", "y", "logo.png"], "");
    assert_eq!(answer.code, 1, "{}", answer.err);
    assert_eq!(std::fs::read(root.join("x")).unwrap(), b"\x00\xff2");
    assert_eq!(
        offshoot(
            root,
            &["pkg", "merge-file", "o", "x", "nowhere", "a.yaml"],
            ""
        )
        .code,
        1
    );
}
