//! How fast a browser shows ten thousand targets, filters and selects them, and what others do. The limits are those that
//! people notice, and the best of several rounds is held to them: others work on the same machine.

use std::time::Instant;

use futures::StreamExt as _;
use serde_json::{Value, json};

use super::{Browser, address, browser};
use crate::board::Board;
use crate::board::fake::Fake;
use crate::bulk::drafts;
use crate::edges::{REVISIONS, VARIANTS, register, variant};
use crate::process::Process;

const TARGETS: usize = 10_000;

/// How long it takes at most, in milliseconds: until the grid can be used, and until what others did is seen.
const USABLE: f64 = 1_000.0;
/// Until a filter has filtered, or a selection is shown.
const PROMPT: f64 = 100.0;

/// How much longer it may take amid other tests, or on a machine that nobody knows.
const AMID: f64 = 5.0;

/// A variant of the set as it is told, and the revision that it shows.
fn target(n: usize, said: &str) -> (Value, Value) {
    let (name, repository) = (format!("web-{n:05}"), format!("edge-{:02}", n % 50));
    let (revision, tree) = (format!("{repository}.{name}.v1"), format!("{n:040x}"));
    let ready = match said {
        "" => json!({ "type": "Ready", "status": "True", "reason": "NoErrors", "message": "" }),
        _ => {
            json!({ "type": "Ready", "status": "False", "reason": "RenderFailed", "message": said })
        }
    };
    let is_draft = n % 100 == 1;
    let lifecycle = if is_draft { "Draft" } else { "Published" };
    let variant = json!({
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "generation": 1,
            "ownerReferences": [{ "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "name": "web", "uid": "web", "controller": true }],
        },
        "spec": { "downstream": { "repo": repository, "package": name } },
        "status": {
            "observedGeneration": 1, "conditions": [ready],
            "downstreamTargets": [{ "name": revision, "workspaceName": "v1", "lifecycle": lifecycle }],
        },
    });
    let revision = json!({
        "metadata": { "name": revision, "namespace": "default" },
        "spec": { "packageName": name, "repository": repository, "workspaceName": "v1", "revision": usize::from(!is_draft), "lifecycle": lifecycle },
        "status": { "offshoot": { "tree": tree } },
    });
    (variant, revision)
}

/// A server that tells of ten thousand targets in fifty repositories.
async fn fleet() -> Fake {
    let fake = Fake::start("ann", true).await;
    for n in 0..50 {
        let region = ["eu", "us", "ap"][n % 3];
        let labels = json!({ "region": region, "ring": (n % 5).to_string() });
        let name = format!("edge-{n:02}");
        fake.put(
            "repositories",
            &json!({ "metadata": { "name": name, "namespace": "default", "labels": labels } }),
        );
    }
    fake.put(
        "packagevariantsets",
        &json!({
            "metadata": { "name": "web", "namespace": "default", "uid": "web" },
            "spec": { "upstream": { "repo": "blueprints", "package": "web" }, "targets": [] },
        }),
    );
    for n in 0..TARGETS {
        let (variant, revision) = target(
            n,
            if n % 7 == 3 {
                "no function of that name"
            } else {
                ""
            },
        );
        fake.put("packagevariants", &variant);
        fake.put("packagerevisions", &revision);
    }
    fake
}

/// What a browser has painted once the next frame but one begins.
const PAINTED: &str =
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/// What a script takes until its effect is laid out and painted, by the browser's own clock.
fn timed(browser: &mut Browser, script: &str) -> f64 {
    let timed = format!(
        "(async () => {{ const t = performance.now(); {script}; await {PAINTED}; return performance.now() - t; }})()"
    );
    browser.run(&timed).as_f64().unwrap()
}

fn best(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Times of the grid: usable after it was opened, filtered, selected.
fn grid(browser: &mut Browser, url: &str) -> [Vec<f64>; 3] {
    let find = |text: &str| {
        format!(
            "const q = document.querySelector('[name=q]'); q.value = '{text}'; q.dispatchEvent(new Event('input', {{bubbles: true}}))"
        )
    };
    let select = "const g = document.getElementById('grid'); const c = g.querySelectorAll('.cell'); const press = (n, s) => c[n].dispatchEvent(new PointerEvent('pointerdown', {bubbles: true, shiftKey: s})); press(0, false); dispatchEvent(new Event('pointerup')); press(4999, true)";
    let mut times = [vec![], vec![], vec![]];
    for _ in 0..5 {
        browser.go(url);
        browser.until(&format!(
            "document.querySelectorAll('.cell').length === {TARGETS}"
        ));
        // Since the page was asked for, and until it is painted.
        let usable = browser.run(&format!("{PAINTED}.then(() => performance.now())"));
        times[0].push(usable.as_f64().unwrap());
        times[1].push(timed(browser, &find("web-00")));
        assert_eq!(
            browser.run("document.querySelectorAll('.cell').length"),
            1_000
        );
        timed(browser, &find(""));
        times[2].push(timed(browser, select));
        assert_eq!(
            browser.run("document.getElementById('chosen').textContent"),
            "5000"
        );
    }
    times
}

/// Holds the best time to a multiple of a limit, which notices work that grows faster than the cells; `OFFSHOOT_LIMITS=exact`
/// measures on a quiet machine, and holds it to the limit itself.
fn hold(what: &str, times: &[f64], limit: f64) {
    eprintln!("{what}: {times:.0?} ms");
    let exact = std::env::var("OFFSHOOT_LIMITS").is_ok_and(|limits| limits == "exact");
    let limit = if exact { limit } else { AMID * limit };
    assert!(
        best(times) <= limit,
        "{what}: {times:?} ms, {limit} are allowed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_cells_are_usable_at_once_and_follow_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let root = tempfile::tempdir().unwrap();
    let fake = fleet().await;
    let board = Board::start(&fake.kubeconfig(root.path()));
    let browser = &mut browser;
    browser.go(&address(&board));
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    browser.until("document.body?.innerText.includes('Targets 10000')");
    let url = format!("{base}targets");
    let [usable, filtered, selected] = grid(browser, &url);
    browser.picture("ten-thousand");
    let mut seen = [vec![], vec![]];
    for (page, times) in ["targets", ""].into_iter().zip(&mut seen) {
        browser.go(&format!("{base}{page}"));
        for n in 0..5 {
            let said = format!("told-{page}-{n}");
            // Of ten thousand cells the first is that of an update, and the first line of what failed is.
            let shown = match page {
                "" => format!("document.body.innerText.includes({said:?})"),
                _ => format!(
                    "grid.cells.get('web-00000').m === {said:?} && grid.cells.get('web-00000').node.isConnected"
                ),
            };
            let begun = Instant::now();
            fake.put("packagevariants", &target(0, &said).0);
            browser.until(&shown);
            times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        }
    }
    hold("usable", &usable, USABLE);
    hold("10,000 to 1,000 by a filter", &filtered, PROMPT);
    hold("5,000 selected", &selected, PROMPT);
    hold("seen in the grid", &seen[0], USABLE);
    hold("seen among what waits", &seen[1], USABLE);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_is_seen_within_a_second_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let root = tempfile::tempdir().unwrap();
    let server = drafts(root.path(), 4).await;
    let board = Board::start(&root.path().join("data/kubeconfig"));
    browser.go(&address(&board));
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    let path = format!("{REVISIONS}/deploy.web-1.packagevariant-1");
    for (page, shown) in [
        (
            "",
            "[...document.querySelectorAll('#w-proposed + *, #w-proposed')].length > 0",
        ),
        (
            "targets",
            "document.querySelectorAll('.cell.s-proposed').length > 0",
        ),
    ] {
        browser.go(&format!("{base}{page}"));
        let mut times = Vec::new();
        for n in 0..6 {
            let (to, is) = if n % 2 == 0 {
                ("Proposed", true)
            } else {
                ("Draft", false)
            };
            browser.until(&format!("({shown}) === {}", !is));
            let begun = Instant::now();
            let change = json!({ "spec": { "lifecycle": to } });
            server.client.patch(&path, &change).await.unwrap();
            browser.until(&format!("({shown}) === {is}"));
            times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        }
        hold(&format!("seen on /{page}"), &times, USABLE);
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// As [`ten_thousand_cells_are_usable_at_once_and_follow_in_a_browser`], and all of it is real: for numbers of the docs.
/// `cargo test --workspace --test it ten_thousand_variants -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; makes ten thousand variants"]
async fn ten_thousand_variants_are_measured_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "deploy", true).await;
    let server = &server;
    futures::stream::iter(0..TARGETS)
        .map(|n| async move {
            let one = variant(&format!("web-{n:05}"), "web");
            server.create(VARIANTS, &one).await;
        })
        .buffer_unordered(32)
        .collect::<Vec<()>>()
        .await;
    let board = Board::start(&root.path().join("data/kubeconfig"));
    browser.go(&address(&board));
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    browser.until("document.body?.innerText.includes('Targets 10000')");
    let times = grid(&mut browser, &format!("{base}targets"));
    for (what, times) in ["usable", "filtered", "selected"].into_iter().zip(times) {
        eprintln!("{what}: {times:.0?} ms");
    }
}
