//! What `offshoot plan` says of a command line that cannot be what was meant, and what it leaves behind: nothing.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::process::git;

const OBJECTS: &str = "apiVersion: config.porch.kpt.dev/v1alpha1
kind: Repository
metadata: {name: blueprints, namespace: default}
spec: {type: git, git: {repo: \"https://git.example.test/blueprints.git\"}}
---
apiVersion: config.porch.kpt.dev/v1alpha1
kind: Repository
metadata: {name: lost, namespace: default}
spec: {type: git, git: {repo: \"https://git.example.test/lost.git\"}}
";

/// A directory with a clone of one of its two repositories.
fn fleet(root: &Path) {
    let bare = root.join("fleet/git/blueprints.git");
    std::fs::create_dir_all(&bare).unwrap();
    git(
        &bare,
        &["init", "--quiet", "--bare", "--initial-branch", "main"],
    );
    let work = root.join("work");
    std::fs::create_dir_all(work.join("web")).unwrap();
    git(&work, &["init", "--quiet", "--initial-branch", "main"]);
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n";
    std::fs::write(work.join("web/Kptfile"), kptfile).unwrap();
    git(&work, &["add", "--all"]);
    git(
        &work,
        &[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@y.z",
            "commit",
            "--quiet",
            "-m",
            "web",
        ],
    );
    git(
        &work,
        &[
            "push",
            "--quiet",
            &bare.display().to_string(),
            "main",
            "main:next",
        ],
    );
    std::fs::write(root.join("fleet/objects.yaml"), OBJECTS).unwrap();
    std::fs::create_dir_all(root.join("tmp")).unwrap();
}

fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_offshoot"));
    command
        .args(["plan", "--offline", "fleet"])
        .args(arguments)
        .env("TMPDIR", root.join("tmp"))
        .current_dir(root)
        .stdin(Stdio::null());
    command
}

fn told(output: &Output) -> (i32, String) {
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), err)
}

fn left(root: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(root.join("tmp")).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_way_out() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    fleet(root);
    std::fs::write(root.join("comment.yaml"), "# nothing yet\n").unwrap();
    std::fs::create_dir_all(root.join("none")).unwrap();
    // It is called as the branch is, and holds no package.
    std::fs::create_dir_all(root.join("next")).unwrap();
    let commit = git(&root.join("work"), &["rev-parse", "HEAD"]);
    let short = format!("blueprints/web@v2={}", &commit[..9]);
    for (arguments, why, way) in [
        (
            ["-f", "/dev/null"],
            "-f /dev/null: there is no object",
            "without -f, offshoot plan says",
        ),
        (
            ["-f", "comment.yaml"],
            "there is no object",
            "apiVersion, kind",
        ),
        (
            ["-f", "none"],
            "no manifest (*.yaml, *.yml, *.json)",
            "apiVersion, kind",
        ),
        (
            ["--upstream", "blueprints/web@v2=./gone"],
            "there is no directory ./gone",
            "is named without ./",
        ),
        (
            ["--upstream", "blueprints/web@v2=next"],
            "the directory next holds no package",
            "write refs/heads/next",
        ),
        (
            ["--upstream", "blueprints/web@v2=./next"],
            "no Kptfile",
            "the package's own directory",
        ),
        (
            ["--upstream", "blueprints/web@v2=nowhere"],
            "has no branch, tag or commit \"nowhere\"",
            "offshoot repo sync",
        ),
        (
            ["--upstream", &short],
            "has no branch, tag or commit",
            "all of its 40 digits",
        ),
        (
            ["--upstream", "lost/web@v2=main"],
            "lost.git",
            "repository lost: fleet/git/lost.git is not there",
        ),
    ] {
        let (code, err) = told(&command(root, &arguments).output().unwrap());
        assert!(
            [1, 64].contains(&code) && err.contains(why) && err.contains(way),
            "{arguments:?}: {code} {err}"
        );
        assert!(!err.contains("WARN"), "{err}");
    }
    for spelling in ["refs/heads/next", "main", commit.trim()] {
        let upstream = format!("blueprints/web@v2={spelling}");
        let (code, err) = told(&command(root, &["--upstream", &upstream]).output().unwrap());
        // One repository is unknown, and nobody follows what is supposed.
        assert!(
            [0, 1].contains(&code) && !err.contains("error"),
            "{spelling}: {code} {err}"
        );
    }
    assert_eq!(left(root), Vec::<std::ffi::OsString>::new());
}

/// Whenever somebody stops it, the copies of the clones go with it.
#[test]
fn a_plan_that_is_interrupted_leaves_no_copies() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    fleet(root);
    for (signal, pause) in [("-INT", 0), ("-TERM", 10), ("-INT", 60), ("-TERM", 200)] {
        let mut child = command(root, &[])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while left(root).is_empty() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::thread::sleep(std::time::Duration::from_millis(pause));
        let id = child.id().to_string();
        drop(Command::new("kill").args([signal, &id]).output().unwrap());
        let code = child.wait().unwrap().code();
        // It may have been done by then.
        assert!(
            [Some(130), Some(0), Some(1)].contains(&code),
            "{signal} {pause}: {code:?}"
        );
        assert_eq!(
            left(root),
            Vec::<std::ffi::OsString>::new(),
            "{signal} {pause}"
        );
    }
}

const POINT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\n  annotations:\n    kpt.dev/config-injection: required\ndata:\n  a: nowhere\n";
const SITE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: here, namespace: default}\ndata: {a: found}\n";
const VARIANT: &str = "apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: web, namespace: default}
spec:
  upstream: {repo: blueprints, package: web, revision: v1}
  downstream: {repo: deploy, package: web}
  injectors: [{name: here}]
";

/// A reviewer would approve what is not what will happen: the cluster may well have what the directory lacks.
#[test]
fn what_is_injected_and_not_in_the_directory_is_unknown() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    fleet(root);
    let work = root.join("work");
    std::fs::write(work.join("web/site.yaml"), POINT).unwrap();
    git(&work, &["add", "--all"]);
    let identity = ["-c", "user.name=x", "-c", "user.email=x@y.z"];
    git(
        &work,
        &[&identity[..], &["commit", "--quiet", "-m", "point"]].concat(),
    );
    let to = |name: &str| root.join(format!("fleet/git/{name}.git"));
    let blueprints = to("blueprints").display().to_string();
    git(
        &work,
        &[
            "push",
            "--quiet",
            &blueprints,
            "main",
            "main:refs/tags/web/v1",
        ],
    );
    let deploy = to("deploy").display().to_string();
    git(root, &["init", "--quiet", "--bare", &deploy]);
    std::fs::remove_dir_all(work.join("web")).unwrap();
    std::fs::write(work.join("README"), "deployed from here\n").unwrap();
    git(&work, &["checkout", "--quiet", "--orphan", "deploy"]);
    git(&work, &["add", "--all"]);
    git(
        &work,
        &[&identity[..], &["commit", "--quiet", "-m", "first"]].concat(),
    );
    git(&work, &["push", "--quiet", &deploy, "deploy:main"]);
    let objects = OBJECTS.replace("lost", "deploy");
    std::fs::write(root.join("fleet/objects.yaml"), objects).unwrap();
    std::fs::write(root.join("web.yaml"), VARIANT).unwrap();
    let plan = |form: &str| {
        let output = command(root, &["-f", "web.yaml", "-o", form])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(told(&output).0, 2, "{text}{}", told(&output).1);
        text
    };
    let target = || {
        let document: serde_json::Value = serde_json::from_str(&plan("json")).unwrap();
        let target = document["targets"][0].clone();
        (target, document["unknown"].to_string())
    };
    let (lacks, unknown) = target();
    assert_eq!(lacks["absent"], serde_json::json!(["ConfigMap here"]));
    assert_eq!(lacks["exact"], false);
    assert!(lacks["tree"].is_null(), "{lacks}");
    assert!(unknown.contains("ConfigMap here"), "{unknown}");
    for form in ["table", "markdown"] {
        let page = plan(form).replace('`', "");
        assert!(
            page.contains("ConfigMap here is not there: 1 target injects nothing of it"),
            "{page}"
        );
    }
    std::fs::write(root.join("fleet/site.yaml"), SITE).unwrap();
    let (has, unknown) = target();
    assert!(has.get("absent").is_none(), "{has}");
    assert_eq!(
        (has["exact"].as_bool(), unknown.as_str()),
        (Some(true), "[]")
    );
}
