//! The board by keys alone, as a keyboard sends them: nothing is clicked, and no script sets the focus.

use super::{Browser, address, browser, proposed};
use crate::bulk::lifecycles;

/// How many times Tab is pressed on the way to something, at most.
const FAR: usize = 60;

/// Tabs to what a query finds, forth or back.
fn tab(browser: &mut Browser, key: &str, query: &str) {
    browser.until(&format!("document.querySelector({query:?}) !== null"));
    let is_there = (0..FAR).any(|_| {
        let is_there = browser.run(&format!("document.activeElement.matches({query:?})")) == true;
        if !is_there {
            browser.key(key);
        }
        is_there
    });
    let page = browser.run("document.body.innerHTML");
    assert!(is_there, "{key} never comes to {query}: {page}");
    let ring = browser.run("getComputedStyle(document.activeElement).outlineStyle");
    assert_ne!(ring, "none", "where the focus is, is not seen: {query}");
}

/// Tabs to what a query finds, and presses Enter.
fn enter(browser: &mut Browser, query: &str) {
    tab(browser, "Tab", query);
    browser.key("Enter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_is_found_read_and_approved_by_keys_alone_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let root = tempfile::tempdir().unwrap();
    let (server, board) = proposed(root.path(), 2).await;
    let browser = &mut browser;
    browser.go(&address(&board));
    browser.until("document.body?.innerText.includes('Changes 2')");
    // The first thing that Tab comes to leads past the navigation.
    browser.key("Tab");
    assert_eq!(browser.run("document.activeElement.className"), "skip");
    enter(browser, "nav a[href='./changes']");
    browser.until(
        "document.body?.dataset.page === 'changes' && document.body.dataset.ready === 'yes'",
    );
    browser.until("!document.body?.innerText.includes('comparing')");
    enter(browser, ".class h2 a");
    browser.until(
        "document.body?.dataset.ready === 'yes' && document.querySelector('.diff') !== null",
    );
    // Where somebody reads on by keys, Tab stops.
    tab(browser, "Tab", "pre.diff");
    tab(browser, "Back", "[data-act=approve]");
    browser.key("Enter");
    browser.until("document.getElementById('dialog').open");
    enter(browser, "#dialog .primary");
    browser
        .until("document.querySelector('#dialog .summary')?.textContent.startsWith('2 approved')");
    assert_eq!(lifecycles(&server).await.get("Published"), Some(&2));
    // The focus is on what closes the dialog, and then back in the page.
    enter(browser, "#dialog button");
    browser.until("!document.getElementById('dialog').open");
    browser
        .until("document.body?.innerText.includes('No open revision is of this class any more')");
    enter(browser, "main a[href='./changes']");
    browser.until("document.body?.innerText.includes('No revision is open.')");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
