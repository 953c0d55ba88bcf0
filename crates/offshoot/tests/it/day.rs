//! The guide's day, with its own commands: 24 variants on 8 clusters, upgraded with conflicts in three of them, seen before,
//! reviewed, decided and approved in eight commands.

use std::path::Path;

use serde_json::{Value, json};

use crate::bulk::admin;
use crate::edges::{REPOSITORIES, REVISIONS, VARIANTS, checkout, commit, register, until_there};
use crate::plan::{DEPLOYMENT, SETS, upstream};
use crate::plan_page::edit_in;
use crate::process::{Process, git, repository, wait_for};

const GUIDE: &str = include_str!("../../../../docs/guide.md");
const CLUSTERS: usize = 8;
/// None is called as something in the blueprint is: that would be another change (F1).
const PACKAGES: [&str; 3] = ["shop", "docs", "blog"];

/// One repository for each cluster, one set, everything published as v1; three clusters changed their shop.
async fn fleet(root: &Path) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    upstream(root, DEPLOYMENT, "hunter1", Some("v1"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v1")).await;
    for cluster in 0..CLUSTERS {
        let mut one = repository(root, &format!("edge-{cluster}"), true);
        one["metadata"]["labels"] = json!({ "tier": "edge" });
        server.create(REPOSITORIES, &one).await;
    }
    let targets: Vec<Value> = (0..CLUSTERS)
        .map(|cluster| json!({ "name": format!("edge-{cluster}"), "packageNames": PACKAGES }))
        .collect();
    let set = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "metadata": { "name": "web" },
        "spec": { "upstream": { "repo": "blueprints", "package": "web" }, "targets": [{ "repositories": targets }] },
    });
    server.create(SETS, &set).await;
    let path = format!("{SETS}/web");
    wait_for("all drafts", async || {
        server.get(&path).await.pointer("/status/readyVariants") == Some(&json!(24))
    })
    .await;
    for cluster in 0..3 {
        let draft = format!("edge-{cluster}.shop.packagevariant-1");
        let nine = ("deployment.yaml", "replicas: 3", "replicas: 9");
        edit_in(&server, &draft, nine).await;
    }
    for verb in ["propose", "approve"] {
        let (code, _, err) = admin(root, &["rpkg", verb, "-l", "offshoot.dev/set=web"]);
        assert_eq!(code, 0, "{err}");
    }
    server
}

/// Runs a command of the guide, as it stands there but for the key of the conflicts and the name of the branch.
fn as_in_the_guide(root: &Path, command: &str, key: &str) -> (i32, String) {
    assert!(GUIDE.contains(command), "the guide does not say: {command}");
    let typed = command.replace("k77d2c1a0", key);
    let arguments: Vec<&str> = typed.split(' ').skip(1).collect();
    let (code, out, err) = admin(root, &arguments);
    println!("$ {typed}\n{out}{err}");
    (code, out + &err)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_with_24_variants_takes_eight_commands() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let next = DEPLOYMENT
        .replace("web:1.4", "web:1.5")
        .replace("replicas: 3", "replicas: 5");
    upstream(root, &next, "hunter1", None);
    let work = checkout(root, "blueprints");
    std::fs::create_dir_all(root.join("checkout")).unwrap();
    std::os::unix::fs::symlink(work.join("web"), root.join("checkout/web")).unwrap();

    let mut commands = 0;
    let mut run = |command: &str, key: &str| {
        commands += 1;
        as_in_the_guide(root, command, key)
    };
    let (code, page) = run("offshoot status", "");
    assert_eq!(code, 0, "{page}");
    let (code, page) = run(
        "offshoot plan --upstream blueprints/web@v2=./checkout/web",
        "",
    );
    assert_eq!(code, 2, "{page}");
    assert!(
        page.contains("24 targets: 21 upgrade · 3 conflict · 0 fail"),
        "{page}"
    );

    // It is tagged: what people do with git is none of the eight.
    commit(&work, "web/v2");
    wait_for(
        "a draft for each cluster, and its variant's word",
        async || drafts(&server).await == 24 && conflicted(&server).await == 3,
    )
    .await;

    let (code, told) = run("offshoot why pvset/web", "");
    assert!(
        code == 0 && told.contains("3 with conflicts to decide"),
        "{told}"
    );
    let key = told
        .split("offshoot resolve ")
        .nth(1)
        .expect("the command that decides");
    let key = key.split(' ').next().unwrap().to_owned();
    let (code, told) = run(
        "offshoot rpkg diff -l offshoot.dev/set=web --field-selector spec.lifecycle=Draft",
        "",
    );
    assert!(code == 2 && told.contains("== 21 of them"), "{told}");
    let (code, told) = run("offshoot resolve k77d2c1a0 --take local", &key);
    assert!(code == 0 && told.contains("3 resolved"), "{told}");
    let (code, told) = run(
        "offshoot rpkg propose -l offshoot.dev/set=web --field-selector spec.lifecycle=Draft",
        "",
    );
    assert!(code == 0 && told.contains("24 proposed"), "{told}");
    let (code, told) = run(
        "offshoot rpkg approve -l offshoot.dev/set=web --field-selector spec.lifecycle=Proposed",
        "",
    );
    assert!(code == 0 && told.contains("24 approved"), "{told}");
    let (code, page) = run("offshoot status", "");
    assert_eq!(code, 0, "{page}");
    assert!(commands <= 8, "{commands}");

    // The decision stands in what is published, and upstream's change, too.
    for (cluster, replicas) in [(0, "replicas: 9"), (2, "replicas: 9"), (3, "replicas: 5")] {
        let bare = root.join(format!("edge-{cluster}.git"));
        let text = git(&bare, &["show", "main:shop/deployment.yaml"]);
        assert!(
            text.contains(replicas) && text.contains("web:1.5"),
            "{text}"
        );
    }
}

/// How many drafts there are.
async fn drafts(server: &Process) -> usize {
    let list = server.get(REVISIONS).await;
    let items = list["items"].as_array().unwrap().iter();
    items.filter(|r| r["spec"]["lifecycle"] == "Draft").count()
}

/// How many variants say that they wait for a conflict to be decided.
async fn conflicted(server: &Process) -> usize {
    let list = server.get(VARIANTS).await;
    let says = |v: &&Value| {
        let all = v["status"]["conditions"].as_array();
        all.is_some_and(|all| all.iter().any(|c| c["reason"] == "Conflicted"))
    };
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(says)
        .count()
}
