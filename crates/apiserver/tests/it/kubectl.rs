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

const SHOE: &str = "apiVersion: test.dev/v1\nkind: Shoe\nmetadata: {name: a}\nspec: {size: 40}\n";

/// Whether it succeeds, the arguments, and what the output shows.
const SCRIPT: &str = r#"
ok apply -f a.yaml => shoe.test.dev/a created
ok apply -f a.yaml => shoe.test.dev/a unchanged
ok apply -f b.yaml => shoe.test.dev/a configured
no apply -f bad.yaml => unknown field "spec.heel"
ok apply --server-side --force-conflicts -f a.yaml => shoe.test.dev/a serverside-applied
ok get sh => NAME   SIZE
ok get sh -o name => shoe.test.dev/a
ok get sh a -o yaml => colour: black
ok get sh --field-selector spec.size=40 => a      40
ok label sh a x=y => shoe.test.dev/a labeled
ok annotate sh a x=y => shoe.test.dev/a annotated
ok patch sh a --type=merge -p {"spec":{"size":43}} => shoe.test.dev/a patched
ok patch sh a --subresource=status --type=merge -p {"status":{"conditions":[{"type":"Ready","status":"True"}]}} => shoe.test.dev/a patched
ok wait sh/a --for=condition=Ready --timeout=5s => condition met
ok describe sh a => Colour:  black
ok explain shoe.spec.size => FIELD: size <integer>
ok api-resources --api-group=test.dev => shoes   sh
ok auth can-i create shoes => yes
no auth can-i create shoes --as=bob => no
no get sh --as=bob => User "bob" cannot list resource "shoes"
ok create configmap c --from-literal=k=v => configmap/c created
ok create namespace shop => namespace/shop created
ok create secret generic s --from-literal=k=v => secret/s created
ok create serviceaccount robot => serviceaccount/robot created
ok get configmap c -o jsonpath={.data.k} => v
ok delete sh a => shoe.test.dev "a" deleted
ok delete namespace shop => namespace "shop" deleted
no get sh a => Error from server (NotFound): shoes.test.dev "a" not found
"#;

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
    let checked = tokio::task::spawn_blocking(move || {
        for line in SCRIPT.lines().filter(|l| !l.is_empty()) {
            let (command, shows) = line.split_once(" => ").expect("an arrow");
            let (succeeds, arguments) = command.split_once(' ').expect("a verdict");
            let arguments: Vec<&str> = arguments.split(' ').collect();
            let (ok, text) = kubectl(&directory, &arguments);
            assert!(
                ok == (succeeds == "ok") && text.contains(shows),
                "kubectl {line}: {text}"
            );
        }
    });
    checked.await.expect("kubectl");
    running.stop().await;
}
