//! The guide's ways to let a cluster follow a branch, with its own lines and two packages of one blueprint in one repository: kustomize
//! refuses two resources of one name before it leaves out what is not for the cluster.

use std::path::Path;
use std::process::Command;

use crate::process::git;

const GUIDE: &str = include_str!("../../../../docs/guide.md");

/// Two packages as a set makes them of one blueprint: of each, the context and the configuration of a function are called the same.
const PACKAGES: [&str; 2] = ["blog", "shop"];

fn packages(root: &Path) {
    for name in PACKAGES {
        let directory = root.join(name);
        std::fs::create_dir_all(directory.join("sub")).unwrap();
        let local = "  annotations:\n    config.kubernetes.io/local-config: \"true\"\n";
        let files = [
            (
                "Kptfile",
                format!(
                    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n{local}"
                ),
            ),
            (
                "package-context.yaml",
                format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n{local}data:\n  name: {name}\n"
                ),
            ),
            (
                "fn-scale.yaml",
                format!(
                    "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: scale\n{local}"
                ),
            ),
            (
                "sub/web.yml",
                format!(
                    "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: {name}\n"
                ),
            ),
        ];
        for (file, text) in files {
            std::fs::write(directory.join(file), text).unwrap();
        }
    }
    git(root, &["init", "--quiet"]);
    git(root, &["add", "--all"]);
}

fn has_kubectl() -> bool {
    let found = Command::new("kubectl")
        .arg("version")
        .arg("--client")
        .output();
    let found = found.is_ok_and(|out| out.status.success());
    if !found {
        println!("skipped: there is no kubectl");
    }
    found
}

/// Runs a line in a directory; what it printed.
fn shell(root: &Path, line: &str) -> String {
    let out = Command::new("sh")
        .args(["-c", line])
        .current_dir(root)
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{line}\n{err}");
    String::from_utf8(out.stdout).unwrap()
}

fn holds_what_is_for_the_cluster(built: &str) {
    let kinds: Vec<&str> = built.lines().filter(|l| l.starts_with("kind: ")).collect();
    assert_eq!(kinds, ["kind: Service"; 2], "{built}");
    for name in PACKAGES {
        assert!(built.contains(&format!("namespace: {name}\n")), "{built}");
    }
}

/// What stands in the guide between two texts, without its indentation.
fn between(start: &str, end: &str) -> String {
    let (_, rest) = GUIDE.split_once(start).expect(start);
    let (text, _) = rest.split_once(end).expect(end);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_lines_by_hand_build_two_packages() {
    if !has_kubectl() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    packages(root.path());
    let list = between("&& cd edge-eu-001\n$ ", "\n$ kubectl apply -k .");
    // Again after a first time, whose file lies there.
    for _ in 0..2 {
        shell(root.path(), &list);
        holds_what_is_for_the_cluster(&shell(root.path(), "kubectl kustomize ."));
    }
}

#[test]
fn the_plugin_builds_two_packages() {
    if !has_kubectl() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    packages(root.path());
    let script = between("command: [sh, -c]\n    args:\n    - |\n", "---");
    assert!(script.ends_with("kustomize build"), "{script}");
    let script = script.replace("kustomize build", "kubectl kustomize .");
    holds_what_is_for_the_cluster(&shell(root.path(), &script));
}

/// Flux makes its kustomization of every YAML file that it does not ignore.
#[test]
fn what_flux_is_told_to_ignore_lets_two_packages_build() {
    if !has_kubectl() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    packages(root.path());
    let ignored = between("  ignore: |\n", "---");
    std::fs::write(root.path().join("ignored"), ignored).unwrap();
    let list = "(echo resources:; git ls-files '*.yaml' '*.yml' | sed 's/^/- /') > list";
    let drop = "git ls-files -z --cached --ignored --exclude-from=ignored | xargs -0 git rm -q --cached --";
    shell(
        root.path(),
        &format!("{drop} && {list} && mv list kustomization.yaml"),
    );
    holds_what_is_for_the_cluster(&shell(root.path(), "kubectl kustomize ."));
}
