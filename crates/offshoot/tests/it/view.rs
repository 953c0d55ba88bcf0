//! What a fleet says of itself (F6): columns, counts, labels, `status`, `why`, `rpkg diff`, `rpkg edit`, events, logs.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::local::{Answer, offshoot};
use crate::process::{Process, bare, git, push, repository, wait_for};

const REPOSITORIES: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
const VARIANTS: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariants";
const SETS: &str = "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets";
const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
const EVENTS: &str = "/api/v1/namespaces/default/events";

/// A fleet of two: `east-1` and `west-1` follow `blueprints/commented`.
struct Fleet {
    root: tempfile::TempDir,
    server: Process,
}

impl Fleet {
    async fn start(flags: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let server = Process::start(root.path(), flags).await;
        let blueprints = repository(root.path(), "blueprints", false);
        server.create(REPOSITORIES, &blueprints).await;
        for (name, region) in [("east-1", "east"), ("west-1", "west")] {
            let mut object = repository(root.path(), name, true);
            object["metadata"]["labels"] = json!({ "tier": "edge", "region": region });
            server.create(REPOSITORIES, &object).await;
        }
        for name in ["blueprints", "east-1", "west-1"] {
            let path = format!("{REPOSITORIES}/{name}");
            wait_for(name, async || ready(&server.get(&path).await)).await;
        }
        push(root.path(), "blueprints", "commented", "v1");
        let fleet = Self { root, server };
        fleet.there("blueprints.commented.v1").await;
        let set = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha2",
            "kind": "PackageVariantSet",
            "metadata": { "name": "web" },
            "spec": {
                "upstream": { "repo": "blueprints", "package": "commented" },
                "targets": [{ "repositorySelector": { "matchLabels": { "tier": "edge" } } }],
            },
        });
        fleet.server.create(SETS, &set).await;
        for name in ["east-1", "west-1"] {
            fleet
                .there(&format!("{name}.commented.packagevariant-1"))
                .await;
        }
        fleet
    }

    async fn there(&self, revision: &str) {
        let path = format!("{REVISIONS}/{revision}");
        wait_for(revision, async || !self.server.get(&path).await.is_null()).await;
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        let kubeconfig = self
            .root
            .path()
            .join("data/kubeconfig")
            .display()
            .to_string();
        let arguments = [arguments, &["--kubeconfig", &kubeconfig]].concat();
        offshoot(self.root.path(), &arguments, "")
    }

    fn done(&self, arguments: &[&str]) -> String {
        let answer = self.run(arguments);
        assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.err);
        answer.out
    }

    /// Runs `rpkg edit` with an editor; whether it went well, and what it says.
    fn edit(&self, editor: &str, arguments: &[&str]) -> (bool, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
            .args(["rpkg", "edit"])
            .args(arguments)
            .arg("--kubeconfig")
            .arg(self.root.path().join("data/kubeconfig"))
            .env("OFFSHOOT_EDITOR", editor)
            .env("TMPDIR", self.root.path())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    fn publish(&self, revision: &str) {
        self.done(&["rpkg", "propose", revision]);
        self.done(&["rpkg", "approve", revision]);
    }

    /// Waits until the words of `status` hold this row.
    async fn row(&self, arguments: &[&str], row: &str) {
        let arguments = [&["status"], arguments].concat();
        wait_for(row, async || {
            let text = self.done(&arguments);
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            text.lines().any(|line| words(line) == row)
        })
        .await;
    }

    /// The reasons and messages of all events.
    async fn events(&self) -> Vec<(String, String)> {
        let events = self.server.get(EVENTS).await;
        let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let items = events["items"].as_array().unwrap();
        items
            .iter()
            .map(|e| (text(e, "reason"), text(e, "message")))
            .collect()
    }

    async fn told(&self, reason: &str, part: &str) {
        wait_for(reason, async || {
            let events = self.events().await;
            events
                .iter()
                .any(|(why, text)| why == reason && text.contains(part))
        })
        .await;
    }

    /// The cells of a variant's row, by column, as `kubectl get` is given them.
    async fn cells(&self, variant: &str) -> serde_json::Map<String, Value> {
        let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let path = format!("{VARIANTS}/{variant}");
        let table = self
            .server
            .client
            .request(http::Method::GET, &path, accept, None);
        let table = table.await.unwrap();
        let names = table["columnDefinitions"].as_array().unwrap().iter();
        let names = names.map(|c| c["name"].as_str().unwrap().to_owned());
        let cells = table["rows"][0]["cells"]
            .as_array()
            .unwrap()
            .iter()
            .cloned();
        names.zip(cells).collect()
    }
}

fn ready(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == "Ready" && c["status"] == "True")
}

const EAST: &str = "east-1.commented.packagevariant";
const WEST: &str = "west-1.commented.packagevariant";

/// A day: two drafts, one edited by hand, both published, an upgrade that conflicts in one place.
#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_says_what_waits_for_whom() {
    let fleet = Fleet::start(&[]).await;
    fleet.row(&[], "web 2 0 2 0 0 0 0").await;
    let labels =
        fleet.server.get(&format!("{REVISIONS}/{EAST}-1")).await["metadata"]["labels"].clone();
    assert_eq!(labels["offshoot.dev/set"], "web", "{labels}");
    assert_eq!(labels["offshoot.dev/variant"], "web-east-1-commented");
    let why = fleet.done(&["why", "pvset/web"]);
    assert!(
        why.contains("- 2 with a draft to propose: web-east-1-commented, web-west-1-commented\n"),
        "{why}"
    );

    let (well, said) = fleet.edit(
        "sed -i s/app:1.0/app:9/",
        &[&format!("{WEST}-1"), "deployment.yaml"],
    );
    assert!(well, "{said}");
    let left = std::fs::read_dir(fleet.root.path()).unwrap();
    let left = left.filter(|e| {
        e.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("offshoot-edit")
    });
    assert_eq!(left.count(), 0);
    for revision in [EAST, WEST] {
        fleet.publish(&format!("{revision}-1"));
    }
    fleet.row(&[], "web 2 2 0 0 0 0 0").await;
    assert_eq!(
        fleet.cells("web-east-1-commented").await["Upstream"],
        "commented/v1"
    );

    push(fleet.root.path(), "blueprints", "commented", "v2");
    fleet.row(&[], "web 2 0 1 0 1 0 0").await;
    fleet.row(&["--by", "region"], "west 1 0 0 0 1 0 0").await;
    let cells = fleet.cells("web-west-1-commented").await;
    assert_eq!(cells["Upstream"], "commented/v1 → v2");
    assert_eq!(
        (&cells["Conflicts"], &cells["Status"]),
        (&json!(1), &json!("conflicts to decide"))
    );
    assert_eq!(cells["Reason"], "Conflicted");
    fleet.told("DraftConflicted", WEST).await;
    let why = fleet.done(&["why", "pvset/web"]);
    assert!(
        why.contains("- 1 with conflicts to decide: web-west-1-commented\n"),
        "{why}"
    );
    let set = fleet.server.get(&format!("{SETS}/web")).await;
    wait_for("the set's counts", async || {
        let status = &fleet.server.get(&format!("{SETS}/web")).await["status"];
        status["conflictedVariants"] == 1 && status["upToDateVariants"] == 0
    })
    .await;
    assert!(set["status"]["offshoot"]["state"].is_string(), "{set}");

    // What the drafts change: the same but for the image, which west keeps from upstream and has a conflict about.
    let drafts = [
        "rpkg",
        "diff",
        "-l",
        "offshoot.dev/set=web",
        "--field-selector",
        "spec.lifecycle=Draft",
    ];
    let diff = fleet.run(&drafts);
    assert_eq!(diff.code, 2, "{}", diff.err);
    let heads: Vec<&str> = diff.out.lines().filter(|l| l.starts_with("==")).collect();
    assert_eq!(heads.len(), 2, "{}", diff.out);
    assert!(
        diff.out.contains("registry.example.com/app:9"),
        "{}",
        diff.out
    );
    assert!(!diff.out.contains("upstreamLock"), "{}", diff.out);
    let same = fleet.run(&[
        "rpkg",
        "diff",
        &format!("{EAST}-1"),
        "--against",
        "published",
    ]);
    assert!(same.out.contains("against nothing"), "{}", same.out);
    let base = fleet.run(&[
        "rpkg",
        "diff",
        &format!("{EAST}-2"),
        "--against",
        "base",
        "-o",
        "json",
    ]);
    let base: Value = serde_json::from_str(&base.out).unwrap();
    assert_eq!(
        base["groups"][0]["revisions"][0]["against"],
        format!("{EAST}-1")
    );
}

/// What others do to git past us is told: a tag that moves or goes, a branch that is changed.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_to_git_is_told() {
    let fleet = Fleet::start(&[]).await;
    fleet.publish(&format!("{EAST}-1"));
    let checkout = fleet.root.path().join("east");
    let from = bare(fleet.root.path(), "east-1").display().to_string();
    git(fleet.root.path(), &["clone", "--quiet", &from, "east"]);
    let file = checkout.join("commented/sa.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace(
            "automountServiceAccountToken: false",
            "automountServiceAccountToken: true",
        ),
    )
    .unwrap();
    git(
        &checkout,
        &["commit", "--quiet", "--all", "--message", "by hand"],
    );
    git(&checkout, &["push", "--quiet"]);
    fleet
        .told("ChangedSincePublished", "changed on the branch")
        .await;
    assert_eq!(fleet.cells("web-east-1-commented").await["Drift"], "branch");
    git(&checkout, &["tag", "--force", "commented/v1"]);
    git(&checkout, &["push", "--quiet", "--force", "--tags"]);
    fleet
        .told(
            "TagMoved",
            "tag commented/v1 of east-1.commented.packagevariant-1",
        )
        .await;
    git(
        &checkout,
        &["push", "--quiet", "origin", ":refs/tags/commented/v1"],
    );
    fleet.told("TagDeleted", "tag commented/v1").await;
    // What we do ourselves is no news.
    assert!(
        !fleet
            .events()
            .await
            .iter()
            .any(|(_, text)| text.contains("tag commented/v1 of west"))
    );
}

/// The log says who did what, as JSON throughout where that was asked for, and nothing while nothing happens.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_tells_who_did_what_and_is_quiet_at_rest() {
    let fleet = Fleet::start(&["--log", "json"]).await;
    fleet.publish(&format!("{EAST}-1"));
    let log = fleet.root.path().join("stderr");
    let read = || std::fs::read_to_string(&log).unwrap();
    wait_for("the publication", async || {
        read().contains("published as v1 by")
    })
    .await;
    fleet.row(&[], "web 2 1 1 0 0 0 0").await;
    let text = read();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(line["level"].is_string(), "{line}");
    }
    for part in [
        "draft east-1.commented.packagevariant-1 is made",
        "proposed for approval by",
        "\"kind\":\"Repository\"",
        "offshoot serves at",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let before = read();
    // Repositories are looked at each second.
    tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
    assert_eq!(read(), before);
}

/// An editor that fails, and a push that is refused, lose nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_cannot_be_pushed_is_kept() {
    let fleet = Fleet::start(&[]).await;
    let draft = format!("{EAST}-1");
    let (well, said) = fleet.edit("true", &[&draft]);
    assert!(well && said.contains("not changed"), "{said}");
    let (well, said) = fleet.edit(
        "sh -c 'echo \"a: [\" > deployment.yaml'",
        &[&draft, "deployment.yaml"],
    );
    assert!(!well && said.contains("is kept in "), "{said}");
    let kept = said
        .split("is kept in ")
        .nth(1)
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(Path::new(kept).join("deployment.yaml")).unwrap(),
        "a: [\n"
    );
    let (well, said) = fleet.edit("sh -c 'echo x >> sa.yaml; exit 3'", &[&draft]);
    assert!(
        !well && said.contains("nothing was pushed") && said.contains("is kept in "),
        "{said}"
    );
    fleet.publish(&draft);
    let (well, said) = fleet.edit("true", &[&draft]);
    assert!(!well && said.contains("offshoot rpkg copy"), "{said}");
    // As porchctl's `edit`, it copies where a workspace is named.
    let out = fleet.done(&["rpkg", "edit", &draft, "--workspace", "mine"]);
    assert_eq!(out, "east-1.commented.mine created\n");
}

/// F6: of a variant that is gone, `why` tells what it left, and who ends what waits.
#[tokio::test(flavor = "multi_thread")]
async fn why_tells_what_a_variant_that_is_gone_left_behind() {
    let fleet = Fleet::start(&[]).await;
    let published = "east-1.commented.packagevariant-1";
    fleet.done(&["rpkg", "propose", published]);
    fleet.done(&["rpkg", "approve", published]);
    fleet
        .server
        .client
        .delete(&format!("{SETS}/web"))
        .await
        .unwrap();
    let variant = format!("{VARIANTS}/web-east-1-commented");
    wait_for("the variant to go", async || {
        fleet.server.get(&variant).await.is_null()
    })
    .await;
    let told = fleet.done(&["why", "pvar/web-east-1-commented"]);
    let wanted = format!("state: gone; what it made is left\n- {published} (DeletionProposed)\n");
    assert!(told.starts_with(&wanted), "{told}");
    assert!(
        told.contains("its deletion was proposed by packagevariant 'default/web-east-1-commented'")
            && told.contains(&format!(
                "hint: offshoot rpkg del {published} carries it out"
            )),
        "{told}"
    );
    let page = fleet.done(&["status"]);
    assert!(
        page.contains("1 package revision that no variant has any more waits to be deleted: offshoot rpkg get "),
        "{page}"
    );
    // The other one had a draft alone, which went with it; and one that never was is not there.
    for name in ["web-west-1-commented", "nobody"] {
        let answer = fleet.run(&["why", &format!("pvar/{name}")]);
        assert!(
            answer.code == 1 && answer.err.contains("not found"),
            "{}",
            answer.err
        );
    }
}
