//! What a page that follows the fleet leaves as it was: what is open, and where the focus is.

use serde_json::{Value, json};

use super::{Browser, address, browser};
use crate::board::Board;
use crate::board::fake::Fake;

const PROPOSAL: &str = "edge.web.v2";

fn set(fake: &Fake, message: &str) {
    fake.put(
        "packagevariantsets",
        &json!({
            "metadata": { "name": "web", "namespace": "default", "uid": "web" },
            "spec": {
                "upstream": { "repo": "blueprints", "package": "web", "revision": "v1" },
                "targets": [{ "repositories": [{ "name": "edge" }] }],
            },
            "status": { "conditions": [{ "type": "Ready", "status": "True", "reason": "Said", "message": message }] },
        }),
    );
}

fn variant(name: &str, ready: &Value, targets: &Value) -> Value {
    json!({
        "metadata": { "name": name, "namespace": "default", "uid": name, "generation": 1 },
        "spec": { "downstream": { "repo": "edge", "package": "web" } },
        "status": { "observedGeneration": 1, "conditions": [ready], "downstreamTargets": targets },
    })
}

fn condition(status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": "Ready", "status": status, "reason": reason, "message": message })
}

/// A proposal, or what was published of it.
fn revision(fake: &Fake, lifecycle: &str) {
    let published = lifecycle == "Published";
    fake.put(
        "packagerevisions",
        &json!({
            "metadata": { "name": PROPOSAL, "namespace": "default" },
            "spec": {
                "packageName": "web", "repository": "edge", "workspaceName": "v2", "lifecycle": lifecycle,
                "revision": usize::from(published),
            },
            "status": { "offshoot": { "tree": "0".repeat(40) } },
        }),
    );
    let ready = match published {
        true => condition("True", "NoErrors", ""),
        false => condition("False", "WaitingForApproval", "it waits"),
    };
    let targets = json!([{ "name": PROPOSAL, "workspaceName": "v2", "lifecycle": lifecycle }]);
    fake.put("packagevariants", &variant("web-edge", &ready, &targets));
}

/// A set, a proposal, and a variant that failed before it had a revision.
async fn fleet(message: &str) -> Fake {
    let fake = Fake::start("ann", true).await;
    set(&fake, "as it was");
    revision(&fake, "Proposed");
    let failed = condition("False", "RenderFailed", message);
    fake.put(
        "packagevariants",
        &variant("web-failed", &failed, &json!([])),
    );
    let done = json!({ "name": PROPOSAL, "result": "Done", "lifecycle": "Published" });
    fake.also("bulkchanges", json!({ "status": { "results": [done] } }));
    fake
}

fn open(browser: &mut Browser, fake: &Fake) -> (Board, String) {
    let root = tempfile::tempdir().unwrap();
    let board = Board::start(&fake.kubeconfig(root.path()));
    browser.go(&address(&board));
    browser.until("document.body?.innerText.includes('Targets 2')");
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    (board, base)
}

fn has_focus(browser: &mut Browser, query: &str) {
    let is_there = browser.run(&format!("document.activeElement.matches({query:?})"));
    let at = browser.run("document.activeElement.outerHTML.slice(0, 200)");
    assert_eq!(is_there, true, "{query}: the focus is on {at}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_the_fleet_keeps_what_is_open_and_the_focus_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let fake = fleet("it failed").await;
    let browser = &mut browser;
    let (_board, base) = open(browser, &fake);
    browser.go(&format!("{base}sets"));
    let summary = "#conditions-web > summary";
    browser.until(&format!("document.querySelector({summary:?}) !== null"));
    browser.run(&format!("document.querySelector({summary:?}).focus()"));
    browser.key("Enter");
    browser.until("document.getElementById('conditions-web').open");
    set(&fake, "another message");
    browser.until("document.body?.innerText.includes('another message')");
    has_focus(browser, "details[open] > summary");
    // A link that carries no id.
    let link = "a[href='./targets?set=web']";
    browser.run(&format!("document.querySelector({link:?}).focus()"));
    set(&fake, "a third message");
    browser.until("document.body?.innerText.includes('a third message')");
    has_focus(browser, link);

    // What had the focus is there no longer: it goes to what heads the page, and keys go on from there.
    browser.go(&base);
    browser.until("document.querySelector('[data-act=approve]') !== null");
    browser.run("document.querySelector('[data-act=approve]').focus()");
    browser.key("Enter");
    browser.until("document.getElementById('dialog').open");
    browser.key("Enter");
    browser
        .until("document.querySelector('#dialog .summary')?.textContent.startsWith('1 approved')");
    revision(&fake, "Published");
    browser.key("Enter");
    browser.until("document.querySelector('[data-act=approve]') === null");
    has_focus(browser, "main h1");
    browser.look("after");
    // The files of the revision are not told by this server.
    let complaints = browser.complaints.iter().filter(|c| !c.contains("404"));
    assert_eq!(complaints.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_without_a_revision_leads_to_all_that_is_said_of_it_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let message = format!("{}mend this", "the render failed; ".repeat(30));
    let fake = fleet(&message).await;
    let browser = &mut browser;
    let (_board, base) = open(browser, &fake);
    browser.go(&format!("{base}targets?state=failed"));
    browser.until("document.querySelectorAll('.cell').length === 1");
    browser.run("document.getElementById('grid').focus()");
    browser.key("Right");
    browser.key("Enter");
    has_focus(browser, "#about");
    let told = browser.run("document.getElementById('about').innerText");
    let told = told.as_str().unwrap();
    assert!(told.contains(&message), "{told}");
    assert!(told.contains("offshoot why pvar/web-failed"), "{told}");
    // A change of another target leaves the focus in the panel.
    browser.key("Tab");
    has_focus(browser, "#about code");
    browser.run("document.querySelector('[name=state]').value = ''; grid.arrange()");
    revision(&fake, "Published");
    browser.until("document.querySelectorAll('.cell.s-uptodate').length === 1");
    has_focus(browser, "#about code");
    browser.look("failed");
    // Few cells leave no hole between them and what their marks mean.
    let hole = browser.run(
        "document.querySelector('.legend').getBoundingClientRect().top - document.querySelector('.block').getBoundingClientRect().bottom",
    );
    assert!(hole.as_f64().unwrap() < 40.0, "{hole}");
    let complaints = browser.complaints.iter().filter(|c| !c.contains("404"));
    assert_eq!(complaints.collect::<Vec<_>>(), Vec::<&String>::new());
}
