//! A rollout in the browser: paused and taken back by keys alone, and its steps in the grid.

use serde_json::json;

use super::{Browser, address, browser};
use crate::board::Board;
use crate::edges::{REVISIONS, until_there};
use crate::plan::{DEPLOYMENT, upstream};
use crate::rollout::{fleet, publish, until};

/// Presses a button by keys: focus, Enter, and Enter on what the dialog offers first.
fn press(browser: &mut Browser, query: &str) {
    browser.until(&format!("document.querySelector({query:?}) !== null"));
    browser.run(&format!("document.querySelector({query:?}).focus()"));
    browser.key("Enter");
    browser.until("document.getElementById('dialog').open");
    browser.until("document.activeElement.textContent === 'Confirm'");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_is_paused_and_taken_back_by_keys_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let board = Board::start(&root.join("data/kubeconfig"));
    browser.go(&address(&board));
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    browser.go(&format!("{base}sets"));
    browser.until("document.body.innerText.includes('Rollout: complete')");
    press(&mut browser, "[data-steer=pause]");
    let command = browser.run("document.querySelector('#dialog code').textContent");
    let command = command.as_str().unwrap();
    assert!(
        command.starts_with("offshoot rollout pause web --if-version "),
        "{command}"
    );
    browser.look("rollout-asked");
    browser.key("Enter");
    browser
        .until("document.querySelector('#dialog .summary')?.textContent.startsWith('web paused')");
    browser.key("Escape");
    browser.until("!document.getElementById('dialog').open && document.querySelector('[data-steer=resume]') !== null");

    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    upstream(root, &next, "hunter1", Some("v2"));
    until(&server, "Paused").await;
    browser.until("document.body.innerText.includes('Rollout: paused')");
    press(&mut browser, "[data-steer=resume]");
    browser.key("Enter");
    let draft = "canary.web.packagevariant-2";
    until_there(&server, &format!("{REVISIONS}/{draft}")).await;
    publish(&server, root, draft).await;
    browser.key("Escape");
    browser.until("document.body.innerText.includes('Rollout: rest 2/2')");
    browser.look("rollout");

    // A step of the set, and from there its cells.
    browser.click("a[href*='step=rest']");
    browser.until(
        "document.body?.dataset.ready === 'yes' && document.querySelectorAll('.cell').length === 2",
    );
    assert_eq!(
        browser.run("document.querySelector('[name=step]').value"),
        "rest"
    );
    let choose = |step: &str, sort: &str| {
        format!(
            "for (const [name, value] of [['step', {step:?}], ['sort', {sort:?}]]) document.querySelector(`[name=${{name}}]`).value = value; document.querySelector('[name=step]').dispatchEvent(new Event('input', {{bubbles: true}}))"
        )
    };
    browser.run(&choose("", "step"));
    let labels = browser.run("[...document.querySelectorAll('.cell')].map((c) => c.getAttribute('aria-label').split(', step ')[1])");
    assert_eq!(labels, json!(["canary", "rest", "rest"]));
    let address = browser.run("location.href").as_str().unwrap().to_owned();
    assert!(address.ends_with("targets?set=web&sort=step"), "{address}");
    browser.go(&address);
    browser.until("document.querySelectorAll('.cell').length === 3");
    browser.look("steps");

    browser.go(&format!("{base}sets"));
    press(&mut browser, "[data-steer=undo]");
    browser.key("Enter");
    browser
        .until("document.querySelector('#dialog .summary')?.textContent.includes('is taken back')");
    until(&server, "Undone").await;
    browser.key("Escape");
    browser.until("document.body.innerText.includes('Rollout: undone')");
    browser.look("undone");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
