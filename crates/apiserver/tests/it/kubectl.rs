//! Unmodified kubectl, where it is installed; otherwise this says what it skipped.

use std::path::Path;
use std::process::Command;

use crate::world::{TOKEN, listening};

fn kubectl(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new("kubectl")
        .args(arguments)
        .current_dir(directory)
        .env("KUBECONFIG", directory.join("kubeconfig"))
        .env("HOME", directory)
        .env("KUBECACHEDIR", directory.join("cache"))
        .output()
        .expect("run kubectl");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// A status that `kubectl wait` waits for.
const READY: &str = r#"{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;

const SHOE: &str = "apiVersion: test.dev/v1\nkind: Shoe\nmetadata: {name: a}\nspec: {size: 40}\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_does_its_daily_work() {
    if Command::new("kubectl")
        .args(["version", "--client"])
        .output()
        .is_err()
    {
        println!("skipped: kubectl is not installed");
        return;
    }
    let home = tempfile::tempdir().expect("directory");
    let (_server, running) = listening(None).await;
    let directory = home.path().to_owned();
    std::fs::write(directory.join("kubeconfig"), running.kubeconfig("t", TOKEN))
        .expect("kubeconfig");
    std::fs::write(directory.join("a.yaml"), SHOE).expect("file");
    std::fs::write(directory.join("b.yaml"), SHOE.replace("40", "41")).expect("file");
    std::fs::write(
        directory.join("bad.yaml"),
        SHOE.replace("size: 40", "size: 40, heel: 1"),
    )
    .expect("file");
    let steps: Vec<(&[&str], bool, &str)> = vec![
        (&["apply", "-f", "a.yaml"], true, "shoe.test.dev/a created"),
        (
            &["apply", "-f", "a.yaml"],
            true,
            "shoe.test.dev/a unchanged",
        ),
        (
            &["apply", "-f", "b.yaml"],
            true,
            "shoe.test.dev/a configured",
        ),
        (
            &["apply", "-f", "bad.yaml"],
            false,
            "unknown field \"spec.heel\"",
        ),
        (
            &[
                "apply",
                "--server-side",
                "--force-conflicts",
                "-f",
                "a.yaml",
            ],
            true,
            "shoe.test.dev/a serverside-applied",
        ),
        (&["get", "sh"], true, "NAME   SIZE"),
        (&["get", "sh", "-o", "name"], true, "shoe.test.dev/a"),
        (&["get", "sh", "a", "-o", "yaml"], true, "colour: black"),
        (
            &["get", "sh", "--field-selector", "spec.size=40"],
            true,
            "a      40",
        ),
        (
            &["label", "sh", "a", "x=y"],
            true,
            "shoe.test.dev/a labeled",
        ),
        (
            &["annotate", "sh", "a", "x=y"],
            true,
            "shoe.test.dev/a annotated",
        ),
        (
            &[
                "patch",
                "sh",
                "a",
                "--type=merge",
                "-p",
                r#"{"spec":{"size":43}}"#,
            ],
            true,
            "shoe.test.dev/a patched",
        ),
        (
            &[
                "patch",
                "sh",
                "a",
                "--subresource=status",
                "--type=merge",
                "-p",
                READY,
            ],
            true,
            "shoe.test.dev/a patched",
        ),
        (
            &["wait", "sh/a", "--for=condition=Ready", "--timeout=5s"],
            true,
            "condition met",
        ),
        (&["describe", "sh", "a"], true, "Colour:  black"),
        (
            &["explain", "shoe.spec.size"],
            true,
            "FIELD: size <integer>",
        ),
        (
            &["api-resources", "--api-group=test.dev"],
            true,
            "shoes   sh",
        ),
        (
            &["create", "configmap", "c", "--from-literal=k=v"],
            true,
            "configmap/c created",
        ),
        (
            &["create", "namespace", "shop"],
            true,
            "namespace/shop created",
        ),
        (
            &["create", "secret", "generic", "s", "--from-literal=k=v"],
            true,
            "secret/s created",
        ),
        (
            &["create", "serviceaccount", "robot"],
            true,
            "serviceaccount/robot created",
        ),
        (
            &["get", "configmap", "c", "-o", "jsonpath={.data.k}"],
            true,
            "v",
        ),
        (&["delete", "sh", "a"], true, "shoe.test.dev \"a\" deleted"),
        (
            &["delete", "namespace", "shop"],
            true,
            "namespace \"shop\" deleted",
        ),
        (
            &["get", "sh", "a"],
            false,
            "Error from server (NotFound): shoes.test.dev \"a\" not found",
        ),
    ];

    let checked = tokio::task::spawn_blocking(move || {
        for (arguments, succeeds, shows) in steps {
            let (ok, text) = kubectl(&directory, arguments);
            assert!(
                ok == succeeds && text.contains(shows),
                "kubectl {arguments:?}: {text}"
            );
        }
    });
    checked.await.expect("kubectl");
    running.stop().await;
}
