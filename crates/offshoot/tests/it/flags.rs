//! Flags of `rpkg` and `repo` that kubectl and porchctl have, typed against a running server.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::edges::{REPOSITORIES, register};
use crate::process::{Process, repository, wait_for};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// Exit code, standard output and standard error.
fn typed(root: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(arguments)
        .env("KUBECONFIG", root.join("data/kubeconfig"))
        .current_dir(root)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    )
}

async fn server(root: &Path) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    register(&server, root, "deploy", true).await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_print_objects_and_lists() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = server(root).await;
    for (arguments, expected) in [
        (
            vec!["-o=jsonpath={range .items[*]}{.metadata.name};{end}"],
            "blueprints;deploy;",
        ),
        (
            vec!["-o", "jsonpath", "--template", "{.metadata.name}", "deploy"],
            "deploy",
        ),
        (vec!["-n", "empty"], ""),
    ] {
        let all = [&["repo", "get"], arguments.as_slice()].concat();
        let (code, out, err) = typed(root, &all);
        assert_eq!((code, out.as_str()), (0, expected), "{arguments:?}: {err}");
    }
    let nothing = typed(root, &["repo", "get", "-n", "empty"]).2;
    assert_eq!(nothing, "No resources found in empty namespace.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_that_are_wrong_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = server(root).await;
    for (arguments, code, told) in [
        (
            vec!["-o", "go-template={{.x}} it's", "deploy"],
            64,
            "kubectl get repositories deploy -n default -o 'go-template={{.x}} it'\\''s'",
        ),
        (
            vec!["-A", "--template", "{{len .items}}"],
            64,
            "kubectl get repositories -A --template '{{len .items}}'",
        ),
        (vec!["-o", "jsonpath"], 64, "no template given"),
        (
            vec!["-o", "yaml", "--template", "x"],
            64,
            "no meaning with -o yaml",
        ),
        (vec!["-o", "jsonpath={.x"], 64, "not closed"),
    ] {
        let all = [&["repo", "get"], arguments.as_slice()].concat();
        let (found, _, err) = typed(root, &all);
        assert!(
            found == code && err.contains(told),
            "{arguments:?}: {found} {err}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_logged_and_secrets_are_not() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = server(root).await;
    let (code, _, err) = typed(root, &["repo", "get", "deploy", "-v=6"]);
    assert!(code == 0 && err.contains("GET https://127.0.0.1:"), "{err}");
    assert!(
        err.contains("/repositories/deploy?includeObject=Object 200 OK in "),
        "{err}"
    );
    assert!(!err.contains("Headers"), "{err}");
    let (_, _, err) = typed(root, &["repo", "get", "deploy", "-v", "7"]);
    assert!(err.contains("accept: application/json;as=Table"), "{err}");
    assert!(!err.contains("Body"), "{err}");
    let address = format!("file://{}/more.git", root.display());
    let register = [
        "repo",
        "reg",
        &address,
        "--create",
        "--repo-basic-username=shop",
    ];
    let password = ["--repo-basic-password=not-a-secret", "--v=10"];
    let (code, _, err) = typed(root, &[&register[..], &password].concat());
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("POST https://") && err.contains("Request Body: {"),
        "{err}"
    );
    assert!(err.contains("bytes that may hold secrets"), "{err}");
    assert!(!err.contains("not-a-secret"), "{err}");
    let secret = server.get(&format!("{SECRETS}/more-auth")).await;
    assert_eq!(secret["type"], "kubernetes.io/basic-auth");
    let (_, _, err) = typed(root, &["repo", "get", "-o=yaml", "-v=8"]);
    assert!(err.contains("[truncated "), "{err}");
    let whole = ["repo", "get", "-o=yaml", "-v=8", "--truncate-output=false"];
    assert!(!typed(root, &whole).2.contains("[truncated "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_made_as_somebody_else() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = server(root).await;
    let (code, _, err) = typed(root, &["repo", "get", "--as=ann", "--as-uid=7"]);
    assert!(
        code == 1 && err.contains("User \"ann\" cannot list"),
        "{err}"
    );
    let (code, _, err) = typed(
        root,
        &[
            "repo",
            "get",
            "--as=ann",
            "--as-group=system:masters",
            "--disable-compression",
        ],
    );
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = typed(root, &["repo", "get", "--as-uid=7"]);
    assert!(code == 64 && err.contains("--as"), "{err}");
    let (code, _, err) = typed(root, &["repo", "get", "--tls-server-name=localhost"]);
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = typed(root, &["repo", "get", "--tls-server-name=other.test"]);
    assert!(code == 1 && err.contains("certificate"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_are_registered_as_porchctl_does() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = server(root).await;
    let address = format!("file://{}/new.git", root.display());
    let flags = ["--create", "--v1alpha2", "--repo-workload-identity"];
    let all = [&["repo", "reg", address.as_str()], &flags[..]].concat();
    let (code, _, err) = typed(root, &all);
    assert_eq!(code, 0, "{err}");
    let made = server.get(&format!("{REPOSITORIES}/new")).await;
    let mark = &made["metadata"]["annotations"]["porch.kpt.dev/v1alpha2-migration"];
    assert_eq!(*mark, json!("true"));
    assert_eq!(made["spec"]["git"]["secretRef"]["name"], "new-auth");
    let secret = server.get(&format!("{SECRETS}/new-auth")).await;
    assert_eq!(secret["type"], "kpt.dev/workload-identity-auth");
    let both = [
        &all[..],
        &["--repo-basic-username=a", "--repo-basic-password=b"],
    ]
    .concat();
    assert_eq!(typed(root, &both).0, 64);
    assert_eq!(typed(root, &["repo", "unreg", "new"]).0, 0);
    assert!(server.get(&format!("{SECRETS}/new-auth")).await.is_null());
}

/// Credentials that somebody else made, or that another repository needs, outlive a repository that names them.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_secret_that_was_made_for_a_repository_goes_with_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = server(root).await;
    let there = async |name: &str| !server.get(&format!("{SECRETS}/{name}")).await.is_null();
    let naming = |name: &str, secret: &str| {
        let mut object = repository(root, name, false);
        object["spec"]["git"]["secretRef"] = json!({ "name": secret });
        object
    };
    // Made by hand, and of that name by chance.
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "git-auth" },
        "type": "kubernetes.io/basic-auth", "stringData": { "username": "ada", "password": "p" },
    });
    server.create(SECRETS, &secret).await;
    server
        .create(REPOSITORIES, &naming("git", "git-auth"))
        .await;
    let (code, _, err) = typed(root, &["repo", "unreg", "git"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("git-auth is left"), "{err}");
    assert!(there("git-auth").await);
    // Made for it, and named by another one.
    let address = format!("file://{}/one.git", root.display());
    let flags = [
        "--create",
        "--repo-basic-username=a",
        "--repo-basic-password=b",
    ];
    let register = [&["repo", "reg", address.as_str()], &flags[..]].concat();
    assert_eq!(typed(root, &register).0, 0);
    server
        .create(REPOSITORIES, &naming("two", "one-auth"))
        .await;
    let (code, _, err) = typed(root, &["repo", "unreg", "one"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("two names it, too"), "{err}");
    assert!(there("one-auth").await);
}

/// A kubeconfig of somebody's clusters is nothing to write over.
#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_with_entries_of_others_is_not_replaced() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = server(root).await;
    let file = root.join("config");
    let theirs = "apiVersion: v1\nkind: Config\nclusters:\n- name: production\n  cluster: {server: https://p.test}\ncontexts:\n- name: production\n  context: {cluster: production, user: ada}\nusers:\n- name: ada\n  user: {token: precious}\n";
    let held = || std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, theirs).unwrap();
    let place = file.display().to_string();
    let (code, _, err) = typed(root, &["user", "ann", "--data", "data", "-o", &place]);
    assert!(code == 1 && err.contains("name a file of its own"), "{err}");
    assert_eq!(held(), theirs);
    let other = root.join("other").display().to_string();
    let (code, _, err) = typed(root, &["up", "--data", &other, "--kubeconfig", &place]);
    assert!(code == 1 && err.contains("did not write"), "{err}");
    assert_eq!(held(), theirs);
}

/// What is in a kubeconfig is nowhere else: neither another server nor another user takes its place.
#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_of_another_server_or_user_is_not_replaced() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = server(root).await;
    let place = root.join("ann.kubeconfig").display().to_string();
    let user = |name: &str, to: &str| typed(root, &["user", name, "--data", "data", "-o", to]);
    let held = |path: &str| std::fs::read_to_string(path).unwrap();
    assert_eq!(user("ann", &place).0, 0);
    let anns = held(&place);
    let (code, _, err) = user("bob", &place);
    assert!(
        code == 1 && err.contains("credentials of the user ann") && err.contains("hint: "),
        "{err}"
    );
    let admins = root.join("data/kubeconfig").display().to_string();
    let (before, (code, _, err)) = (held(&admins), user("offshoot", &admins));
    assert!(code == 1 && err.contains("of the administrator"), "{err}");
    let other = root.join("other").display().to_string();
    for place in [&place, &admins] {
        let (code, _, err) = typed(root, &["up", "--data", &other, "--kubeconfig", place]);
        assert!(
            code == 1 && err.contains("another server") && err.contains("hint: "),
            "{err}"
        );
    }
    assert_eq!((held(&place), held(&admins)), (anns.clone(), before));
    // The same user gets another certificate.
    assert_eq!(user("ann", &place).0, 0);
    assert_ne!(held(&place), anns);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_registered_as_what_can_be_opened() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = server(root).await;
    let path = root.join("plain.git").display().to_string();
    let (code, out, err) = typed(root, &["repo", "reg", &path, "--create", "--create-branch"]);
    assert_eq!((code, out.as_str()), (0, "plain registered\n"), "{err}");
    let object = format!("{REPOSITORIES}/plain");
    let made = server.get(&object).await;
    assert_eq!(made["spec"]["git"]["repo"], format!("file://{path}"));
    crate::edges::until(&server, &object, "Ready", |c| c.0 == "True").await;
    for wrong in ["plain.git", "git@git.test:a.git", "ssh://git.test/a.git"] {
        let (code, out, err) = typed(root, &["repo", "reg", wrong, "--name=wrong"]);
        assert!(
            code == 64 && out.is_empty() && err.contains("https://"),
            "{err}"
        );
    }
    assert!(server.get(&format!("{REPOSITORIES}/wrong")).await.is_null());
}

fn init(root: &Path, package: &str) {
    let flags = ["--repository=deploy", "--workspace=one"];
    let (code, _, err) = typed(root, &[&["rpkg", "init", package], &flags[..]].concat());
    assert_eq!(code, 0, "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_way_out() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = server(root).await;
    init(root, "a");
    let (name, told) = ("deploy.a.one", |verb: &str| {
        typed(root, &["rpkg", verb, "deploy.a.one"])
    });
    let (code, _, err) = told("approve");
    assert_eq!(code, 1);
    assert!(
        err.contains("deploy.a.one failed (cannot change approval from Draft to Published)"),
        "{err}"
    );
    assert!(
        err.contains("hint: propose it first: offshoot rpkg propose deploy.a.one"),
        "{err}"
    );
    assert!(
        told("propose-delete")
            .2
            .contains("hint: delete it at once: offshoot rpkg del")
    );
    assert_eq!((told("propose").0, told("approve").0), (0, 0));
    assert!(
        told("del")
            .2
            .contains("hint: offshoot rpkg propose-delete deploy.a.one")
    );
    assert!(
        told("propose")
            .2
            .contains("hint: make a draft of it: offshoot rpkg copy")
    );

    // Of many, each is told, and how many failed.
    let (code, out, err) = typed(root, &["rpkg", "propose-delete", "nothing", name]);
    assert_eq!(
        (code, out.as_str()),
        (1, "deploy.a.one proposed for deletion\n")
    );
    assert!(
        err.contains("nothing failed (") && err.contains("1 of 2 package revisions failed"),
        "{err}"
    );
    assert!(
        told("approve")
            .2
            .contains("hint: keep it with offshoot rpkg reject")
    );
}

/// What was pulled before is not pushed over what came since, nor over another revision.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_push_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = server(root).await;
    init(root, "b");
    let pull = |to: &str| assert_eq!(typed(root, &["rpkg", "pull", "deploy.b.one", to]).0, 0);
    pull("x");
    pull("y");
    std::fs::write(
        root.join("x/new.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: n\n",
    )
    .unwrap();
    let push = |what: &str| typed(root, &["rpkg", "push", what, "x"]);
    assert_eq!(push("deploy.b.one").0, 0);
    // The push itself brought its directory to what the draft holds now.
    let (code, _, err) = push("deploy.b.one");
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = typed(root, &["rpkg", "push", "deploy.b.one", "y"]);
    assert!(
        code == 1 && err.contains("changed since it was pulled"),
        "{err}"
    );
    init(root, "c");
    let (code, _, err) = push("deploy.c.one");
    assert!(
        code == 1 && err.contains("pulled from deploy.b.one"),
        "{err}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn why_tells_what_is_missing() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = server(root).await;
    let (code, _, err) = typed(root, &["why", "pvar/nothing"]);
    assert!(
        code == 1 && err.contains("packagevariants.config.porch.kpt.dev \"nothing\" not found"),
        "{err}"
    );
    let address = format!("file://{}/none.git", root.display());
    assert_eq!(typed(root, &["repo", "reg", &address]).0, 0);
    let path = format!("{REPOSITORIES}/none");
    crate::edges::until(&server, &path, "Ready", |c| c.0 == "False").await;
    let (_, out, _) = typed(root, &["why", "repo/none"]);
    assert!(
        out.contains("spec.git.create: true makes a bare one there"),
        "{out}"
    );
}

/// Who follows the server goes on after a restart, and what people wrote into the file stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_what_its_kubeconfig_says() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut server = Process::start(root, &[]).await;
    let file = root.join("data/kubeconfig");
    let text = std::fs::read_to_string(&file).unwrap();
    let context = "    user: offshoot\n";
    let mine = text.replace(context, &format!("{context}    namespace: shop\n"));
    assert_ne!(mine, text);
    std::fs::write(&file, &mine).unwrap();
    server.kill();
    // As a person starts it: nobody takes the file away.
    let again = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["up", "--data"])
        .arg(root.join("data"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut again = again.unwrap();
    wait_for("the server to answer again", async || {
        typed(root, &["repo", "get"]).0 == 0
    })
    .await;
    again.kill().unwrap();
    again.wait().unwrap();
    let now = std::fs::read_to_string(&file).unwrap();
    // The port is another one.
    let kept = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains("server: "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(kept(&now), kept(&mine));
}
