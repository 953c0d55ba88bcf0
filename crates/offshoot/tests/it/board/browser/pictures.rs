//! The pictures of `docs/`, taken anew with `tests/board/run pictures DIR`: 48 repositories in three regions, a set that
//! rolls out in three steps, and an upgrade with six equal conflicts in the second one. Last come three small sets beside it.

use serde_json::{Value, json};

use super::{Browser, address, browser};
use crate::board::Board;
use crate::bulk::admin;
use crate::edges::{RESOURCES, REVISIONS, register, until_there};
use crate::plan::{DEPLOYMENT, SETS, upstream};
use crate::process::{Process, repository, wait_for};

const REPOSITORIES: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
const REGIONS: [&str; 3] = ["eu", "us", "ap"];

fn set() -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "web" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "web" },
            "targets": [{
                "repositorySelector": { "matchLabels": { "tier": "edge" } },
                "template": { "packageContext": { "dataExprs": [
                    { "key": "region", "valueExpr": "repository.labels['region']" },
                ] } },
            }],
            "rollout": {
                "steps": [
                    { "name": "canary", "selector": { "matchLabels": { "ring": "0" } } },
                    { "name": "early", "selector": { "matchLabels": { "ring": "1" } } },
                    { "name": "rest" },
                ],
                "halt": { "conflicts": 3 },
            },
        },
    })
}

/// The names of repositories, of canaries first.
fn sites() -> Vec<String> {
    let site = |n: usize| format!("edge-{}-{:02}", REGIONS[n % 3], n / 3 + 1);
    (0..48).map(site).collect()
}

async fn progress(server: &Process, set: &str) -> String {
    let set = server.get(&format!("{SETS}/{set}")).await;
    let progress = set.pointer("/status/rollout/progress");
    progress
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Publishes the drafts of a package in some sites until the rollout of its set stands so.
async fn until(
    (server, root): (&Process, &std::path::Path),
    (package, sites, draft): (&str, &[String], u8),
    wanted: &str,
) {
    let names = sites
        .iter()
        .map(|s| format!("{s}.{package}.packagevariant-{draft}"));
    let names: Vec<String> = names.collect();
    wait_for(wanted, async || {
        for verb in ["propose", "approve"] {
            let names = names.iter().map(String::as_str);
            let words: Vec<&str> = ["rpkg", verb].into_iter().chain(names).collect();
            admin(root, &words);
        }
        progress(server, package).await.starts_with(wanted)
    })
    .await;
}

/// A fleet that is published at v1, six of it with other replicas, and on its way to v2.
async fn fleet(root: &std::path::Path) -> Process {
    let server = Process::start(root, &[]).await;
    register(&server, root, "blueprints", false).await;
    upstream(root, DEPLOYMENT, "hunter1", Some("v1"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v1")).await;
    for (n, name) in sites().iter().enumerate() {
        let mut one = repository(root, name, true);
        let ring = ["0", "1", "2"][usize::from(n >= 3) + usize::from(n >= 24)];
        one["metadata"]["labels"] =
            json!({ "tier": "edge", "ring": ring, "region": REGIONS[n % 3] });
        server.create(REPOSITORIES, &one).await;
    }
    server.create(SETS, &set()).await;
    let sites = sites();
    let at = (&server, root);
    until(at, ("web", &sites[..3], 1), "early 2/3").await;
    // Six of the second step are edited before they are published.
    let drafts = async || {
        let list = server.get(REVISIONS).await;
        let all = list["items"].as_array().unwrap().iter();
        let drafts = all.filter(|r| r["spec"]["lifecycle"] == "Draft");
        let names = drafts.map(|r| r["metadata"]["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    wait_for("all drafts of the step", async || {
        drafts().await.len() == 21
    })
    .await;
    for name in drafts().await.into_iter().take(6) {
        let path = format!("{RESOURCES}/{name}");
        let mut files = server.get(&path).await;
        let deployment = &mut files["spec"]["resources"]["deployment.yaml"];
        *deployment = deployment
            .as_str()
            .unwrap()
            .replace("replicas: 3", "replicas: 9")
            .into();
        server.client.put(&path, &files).await.unwrap();
    }
    until(at, ("web", &sites[3..24], 1), "rest 3/3").await;
    until(at, ("web", &sites[24..], 1), "complete").await;
    let next = DEPLOYMENT
        .replace("web:1.4", "web:1.5")
        .replace("replicas: 3", "replicas: 5");
    upstream(root, &next, "hunter1", Some("v2"));
    wait_for("v2", async || {
        progress(&server, "web").await.starts_with("canary")
    })
    .await;
    until(at, ("web", &sites[..3], 2), "early 2/3").await;
    wait_for("the halt", async || {
        progress(&server, "web").await.ends_with("halted")
    })
    .await;
    server
}

/// Publishes what is open of a package until its set says so of its rollout, or has so many up to date.
async fn publish(server: &Process, root: &std::path::Path, package: &str, wanted: &str) {
    wait_for(wanted, async || {
        for (verb, stage) in [("propose", "Draft"), ("approve", "Proposed")] {
            let those = format!("spec.packageName={package},spec.lifecycle={stage}");
            admin(root, &["rpkg", verb, "--field-selector", &those]);
        }
        let set = server.get(&format!("{SETS}/{package}")).await;
        let count = set.pointer("/status/upToDateVariants");
        let said = progress(server, package).await;
        said.starts_with(wanted) || count.map(Value::to_string).as_deref() == Some(wanted)
    })
    .await;
}

/// Three rollouts of six targets each beside the halted one: one soaks, one is paused, one is taken back.
async fn rollouts(server: &Process, root: &std::path::Path) {
    let sites = sites();
    for (name, open, reached) in [
        (
            "mail",
            json!({ "soak": "2h" }),
            "first 1/3, 2 of 2, soaking",
        ),
        ("shop", json!({}), "half 2/3"),
        ("wiki", json!({}), "rest 3/3"),
    ] {
        let at = |site: &String| json!({ "name": site, "packageNames": [name] });
        let repositories: Vec<Value> = sites.iter().take(6).map(at).collect();
        let mut made = set();
        let template = made["spec"]["targets"][0]["template"].take();
        made["metadata"]["name"] = name.into();
        made["spec"] = json!({
            "upstream": { "repo": "blueprints", "package": "web", "revision": "v1" },
            "targets": [{ "repositories": repositories, "template": template }],
        });
        server.create(SETS, &made).await;
        publish(server, root, name, "6").await;
        let step = |name: &str, percent: u8| json!({ "name": name, "percent": percent });
        let steps = json!([step("first", 30), step("half", 50), { "name": "rest" }]);
        let next = json!({ "repo": "blueprints", "package": "web", "revision": "v2" });
        let change =
            json!({ "spec": { "upstream": next, "rollout": { "steps": steps, "open": open } } });
        let path = format!("{SETS}/{name}");
        server.client.patch(&path, &change).await.unwrap();
        publish(server, root, name, reached).await;
    }
    for (verb, set, wanted) in [
        ("pause", "shop", "half 2/3, 0 of 1, paused"),
        ("undo", "wiki", "undone"),
    ] {
        let (code, out, err) = admin(root, &["rollout", verb, set]);
        assert_eq!(code, 0, "{out}{err}");
        wait_for(wanted, async || {
            progress(server, set).await.starts_with(wanted)
        })
        .await;
    }
    // Three were reached and had published nothing, one of the others is back.
    let on_the_way = async || {
        let list = server.get(REVISIONS).await;
        let all = list["items"].as_array().unwrap().iter();
        let names = all.map(|r| r["metadata"]["name"].as_str().unwrap().to_owned());
        let back = names.filter(|name| name.ends_with(".wiki.packagevariant-3"));
        back.collect::<Vec<_>>()
    };
    wait_for("three drafts", async || on_the_way().await.len() == 3).await;
    let first = on_the_way().await.remove(0);
    wait_for("the way back", async || {
        for verb in ["propose", "approve"] {
            admin(root, &["rpkg", verb, &first]);
        }
        let set = server.get(&format!("{SETS}/wiki")).await;
        let said = set.pointer("/status/rollout/message").cloned();
        said.is_some_and(|said| said.to_string().starts_with("\"4 of 6"))
    })
    .await;
}

/// Takes a picture of a page once it shows something.
fn picture(browser: &mut Browser, url: &str, shows: &str, name: &str) {
    browser.go(url);
    browser.until(&format!("document.body?.innerText.includes({shows:?}) && !document.body.innerText.includes('comparing')"));
    browser.look(name);
}

/// What is asked before proposals of a class are approved, and what the server says that it would do.
fn asked(browser: &mut Browser, changes: &str) {
    browser.size(1280, 640);
    browser.go(changes);
    browser.until("!document.body.innerText.includes('comparing')");
    browser.click(".class [data-act=approve]");
    browser.click("#dialog button:nth-of-type(2)");
    browser.until("document.querySelector('#dialog .summary') !== null");
    browser.run("document.querySelector('#dialog .primary').focus()");
    browser.look("dialog");
    browser.key("Escape");
    browser.until("!document.getElementById('dialog').open");
    browser.size(1280, 800);
}

/// The same fleet for somebody whose roles let them look alone.
fn viewed(browser: &mut Browser, kubeconfig: &std::path::Path) {
    let board = Board::start(kubeconfig);
    browser.size(1280, 525);
    browser.go(&address(&board));
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    picture(browser, &format!("{base}changes"), "classes", "viewer");
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_taken_where_they_are_wanted() {
    if std::env::var("OFFSHOOT_PICTURES").is_err() {
        eprintln!("skipped: OFFSHOOT_PICTURES names no directory");
        return;
    }
    let Some(mut browser) = browser() else { return };
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    // Some wait for approval, some for a proposal.
    let site = [
        "spec.lifecycle=Draft,spec.repository=edge-eu-08",
        "spec.lifecycle=Draft,spec.repository=edge-us-08",
    ];
    for site in site {
        admin(root, &["rpkg", "propose", "--field-selector", site]);
    }
    let board = Board::start(&root.join("data/kubeconfig"));
    let browser = &mut browser;
    browser.below = "";
    browser.go(&address(&board));
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    let at = |page: &str| format!("{base}{page}");
    picture(browser, &at(""), "Conflicts 6", "waiting");
    picture(browser, &at("sets"), "halted", "sets");
    browser.go(&at("targets?sort=step"));
    browser.until("document.querySelectorAll('.run').length === 3");
    browser.run("document.getElementById('grid').focus()");
    for key in [
        "ArrowRight",
        "ArrowRight",
        "ArrowRight",
        "ArrowRight",
        "ArrowRight",
        " ",
    ] {
        browser.run(&format!("document.getElementById('grid').dispatchEvent(new KeyboardEvent('keydown', {{key: {key:?}, bubbles: true}}))"));
    }
    browser.look("targets");
    picture(browser, &at("changes"), "classes", "changes");
    browser.click(".class h2 a");
    browser.until(
        "document.body?.dataset.ready === 'yes' && document.querySelector('.diff') !== null",
    );
    browser.look("class");
    asked(browser, &at("changes"));
    picture(browser, &at("conflicts"), "replicas", "conflicts");
    let name = browser.run("fetch('./cells').then((r) => r.json()).then((told) => told.cells.find((c) => told.words[c[3][3]] === 'conflicts')[1])");
    let name = name.as_str().unwrap().to_owned();
    let revision = |part: &str| at(&format!("revision?name={name}{part}"));
    // Where its texts begin, so do paths of this run.
    browser.size(1280, 525);
    picture(browser, &revision(""), &name, "revision");
    browser.size(1280, 800);
    picture(browser, &revision("&part=why"), &name, "why");
    browser.size(1280, 525);
    let history = revision("&part=history");
    picture(browser, &history, "Revisions of this package", "history");
    browser.size(1280, 800);
    browser.go(&revision("&part=blame"));
    // Its first file tells of paths of this run, too.
    browser.run("document.querySelector('#main details').open = false");
    browser.look("blame");
    browser.go(&at("plan?set=web&revision=v1"));
    browser.click("#plan button");
    browser.until("document.querySelector('#planned .card') !== null");
    browser.look("plan");
    browser.dark(true);
    picture(browser, &at("sets"), "halted", "dark");
    browser.size(420, 800);
    picture(browser, &at("targets?sort=step"), "48 of 48", "narrow");
    browser.dark(false);
    viewed(browser, &crate::board::viewer(root, &server).await);
    rollouts(&server, root).await;
    browser.go(&base);
    browser.size(1280, 1040);
    picture(browser, &at("sets"), "Rollout: undone", "rollouts");
}
