//! The page of a plan, made by the server of what is really there: one class of many, classes that are told by it, a lone
//! outlier, conflicts, what leaves and what waits.

use std::path::Path;

use serde_json::json;

use crate::bulk::admin;
use crate::edges::RESOURCES;
use crate::plan::{DEPLOYMENT, SETS, plan, set, started, upstream};
use crate::process::{Process, wait_for};

const COUNT: usize = 60;
const LIMITS: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: limits\ndata:\n  region: europe\n";

const MADE: &str = "  name: limits\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|limits'\n  labels:\n    tier: web\n";

fn draft(number: usize) -> String {
    format!("deploy.web-{number:02}.packagevariant-1")
}

/// So many targets of a set, whose variants have functions of their own, with their drafts.
pub(crate) async fn drafted(root: &Path, count: usize) -> Process {
    let server = started(root).await;
    let mut web = set(count);
    web["spec"]["targets"][0]["template"]["pipeline"] = json!({
        "mutators": [{ "name": "tier", "image": "set-labels", "configMap": { "tier": "web" } }],
    });
    server.create(SETS, &web).await;
    let path = format!("{SETS}/web");
    wait_for("all drafts", async || {
        server.get(&path).await.pointer("/status/readyVariants") == Some(&json!(count))
    })
    .await;
    server
}

async fn edit(server: &Process, number: usize, file: &str, from: &str, to: &str) {
    edit_in(server, &draft(number), (file, from, to)).await;
}

/// Edits a file of a draft; an empty text makes it.
pub(crate) async fn edit_in(server: &Process, draft: &str, (file, from, to): (&str, &str, &str)) {
    let path = format!("{RESOURCES}/{draft}");
    let mut files = server.get(&path).await;
    let text = files["spec"]["resources"][file]
        .as_str()
        .unwrap_or_default();
    let edited = match from {
        "" => to.to_owned(),
        from => text.replace(from, to),
    };
    assert_ne!(edited, text);
    files["spec"]["resources"][file] = edited.into();
    server.client.put(&path, &files).await.unwrap();
}

/// Sixty targets, published; what is special about a few of them was edited by people.
async fn published(root: &Path) -> Process {
    let server = drafted(root, COUNT).await;
    let replicas = |to: u8| format!("replicas: {to} #");
    for number in 0..6 {
        edit(
            &server,
            number,
            "deployment.yaml",
            "replicas: 3 #",
            &replicas(5),
        )
        .await;
    }
    // As the machine will make it.
    let limits = LIMITS.replace("  name: limits\n", MADE);
    edit(&server, 6, "limits.yaml", "", &limits).await;
    for (number, to) in [(7, 9), (8, 12)] {
        edit(
            &server,
            number,
            "deployment.yaml",
            "replicas: 3 #",
            &replicas(to),
        )
        .await;
    }
    for verb in ["propose", "approve"] {
        let (code, _, err) = admin(
            root,
            &["rpkg", verb, "--field-selector", "spec.repository=deploy"],
        );
        assert_eq!(code, 0, "{err}");
    }
    server
}

/// The page without what is otherwise each time: the ids of the plan, which has commits in it, and of classes in which a
/// Secret changes.
fn lasting(page: &str) -> String {
    let line = |line: &str| {
        let mut words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
        let id = |word: &str| word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
        for word in &mut words {
            if id(word.trim_end_matches(':')) {
                *word = word.replace(|c: char| c.is_ascii_hexdigit(), "x");
            }
        }
        words.join(" ")
    };
    page.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_sixty_targets() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = published(root).await;
    let next = DEPLOYMENT
        .replace("web:1.4", "web:1.5")
        .replace("replicas: 3", "replicas: 5")
        .replace("  paused: false\n", "");
    upstream(root, &next, "hunter1", None);
    std::fs::write(root.join("checkout-blueprints/web/limits.yaml"), LIMITS).unwrap();
    let mut manifest = set(COUNT - 5);
    manifest["spec"]["targets"][0]["template"]["pipeline"] = json!({
        "mutators": [{ "name": "tier", "image": "set-labels", "configMap": { "tier": "web" } }],
    });
    std::fs::write(root.join("web.json"), manifest.to_string()).unwrap();
    let arguments = [
        "-f",
        "web.json",
        "--upstream",
        "blueprints/web@v2=./checkout-blueprints/web",
    ];
    let (code, page, err) = plan(root, &arguments);
    assert_eq!(code, 2, "{page}{err}");
    let wanted = include_str!("plan_page.txt");
    assert_eq!(lasting(&page), wanted.trim_end(), "{page}");
    // The same again, by whatever was derived first.
    let (_, again, _) = plan(root, &arguments);
    assert_eq!(again, page);
}
