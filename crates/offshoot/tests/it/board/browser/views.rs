//! Every view: what others wrote is text, it can be read by whoever reads otherwise, and it fits a narrow window.

use serde_json::json;

use super::crowd::{DRAFT, MARK, RUNS, VIEWS, crowd, revision};
use super::{Browser, address, browser};
use crate::board::Board;
use crate::board::fake::Fake;

/// Opens a board; the address of its pages.
fn open(browser: &mut Browser, fake: &Fake) -> (Board, String) {
    let root = tempfile::tempdir().unwrap();
    let board = Board::start(&fake.kubeconfig(root.path()));
    browser.go(&address(&board));
    browser.until("document.body?.innerText.includes('Targets 3')");
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    (board, base)
}

/// A view, once it shows what it is to show.
fn view(browser: &mut Browser, base: &str, (page, shows): (&str, &str)) {
    browser.go(&format!("{base}{page}"));
    browser.until(&format!(
        "document.body?.innerText.includes({shows:?}) && !document.body?.innerText.includes('comparing')"
    ));
}

/// The plan of a set, once it is shown: its address restores it.
fn planned(browser: &mut Browser, base: &str) {
    view(
        browser,
        base,
        ("plan?set=web&revision=v2", "wants revision"),
    );
    browser.until("document.querySelector('#planned .card') !== null");
    let steps = browser.run("document.getElementById('planned').innerText");
    let steps = steps.as_str().unwrap();
    assert!(steps.contains("in steps: canary 0 · "), "{steps}");
}

/// The class of the proposal.
fn class(browser: &mut Browser, base: &str) {
    view(browser, base, ("changes", "in 3 classes"));
    browser.run("document.querySelectorAll('.class').forEach((c) => { if (c.querySelector('[data-act=approve]')) c.querySelector('h2 a').click(); })");
    browser.until(
        "document.body?.dataset.ready === 'yes' && document.querySelector('.diff') !== null",
    );
}

/// Approves what the page shows, and shows what came of it.
fn refused(browser: &mut Browser) {
    browser.click("[data-act=approve]");
    browser.click("#dialog .primary");
    browser.until("document.querySelector('#dialog li') !== null");
}

/// What pages complained of, but that a revision that is asked for is not there.
fn complaints(browser: &Browser) -> Vec<String> {
    let all = browser.complaints.iter();
    all.filter(|c| !c.contains("name=none") || !c.contains("404"))
        .cloned()
        .collect()
}

fn name(page: &str) -> String {
    page.replace(['?', '=', '&', '.', ':'], "-")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_wrote_is_text_in_every_view_of_a_browser() {
    let Some(mut browser) = browser() else { return };
    let fake = crowd(true).await;
    let browser = &mut browser;
    let (_board, base) = open(browser, &fake);
    let text = |browser: &mut Browser, what: &str| {
        assert_eq!(browser.run(RUNS), false, "{what}");
        // It is there, as it was written: in the text, or in a value of a form.
        let shown = browser.run("document.body?.innerText.includes('<img src=x')");
        assert_eq!(
            shown,
            true,
            "{what}: {}",
            browser.run("document.body.innerText")
        );
    };
    for page in VIEWS {
        view(browser, &base, page);
        text(browser, page.0);
    }
    // A cell that is chosen tells all that is known of it.
    view(browser, &base, ("targets", "3 of 3 targets"));
    browser.run(
        "grid.only([...grid.cells.keys()]); for (const v of grid.cells.keys()) { grid.go(v); }",
    );
    text(browser, "a cell");
    browser.run("document.querySelectorAll('.cell').forEach((c) => c.dispatchEvent(new PointerEvent('pointerover', {bubbles: true})))");
    let address = format!(
        "{base}targets?q={}",
        "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E"
    );
    browser.go(&address);
    assert_eq!(browser.run(RUNS), false, "what is looked for");
    planned(browser, &base);
    text(browser, "a plan");
    class(browser, &base);
    text(browser, "a class");
    refused(browser);
    text(browser, "what came of a change");
    let told = browser.run("document.getElementById('dialog').innerText");
    let told = told.as_str().unwrap();
    assert!(
        told.contains("Changed since it was shown: edge.shop.v2"),
        "{told}"
    );
    assert!(told.contains(MARK), "{told}");
    assert_eq!(complaints(browser), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_can_be_read_otherwise_and_fits_320_pixels_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let fake = crowd(true).await;
    let browser = &mut browser;
    let (_board, base) = open(browser, &fake);
    let check = |browser: &mut Browser, name: &str| {
        browser.look(name);
        browser.size(320, 640);
        browser.until("innerWidth === 320");
        fits(browser, name);
        browser.picture(&format!("{name}-narrow"));
        browser.size(1280, 800);
    };
    for page in VIEWS {
        view(browser, &base, page);
        check(browser, &format!("crowd-{}", name(page.0)));
    }
    planned(browser, &base);
    check(browser, "crowd-planned");
    class(browser, &base);
    check(browser, "crowd-class");
    browser.click("[data-act=approve]");
    browser.until("document.getElementById('dialog').open");
    check(browser, "crowd-asked");
    browser.key("Escape");
    browser.until("!document.getElementById('dialog').open");
    refused(browser);
    check(browser, "crowd-refused");
    browser.key("Escape");
    // Somebody writes to a revision that is looked at.
    view(browser, &base, ("revision?name=edge.web.v2", "Fields"));
    fake.put("packagerevisions", &revision(DRAFT, "web", "Draft", 9));
    browser.until("document.getElementById('changed') !== null");
    check(browser, "crowd-changed");
    // A cell that is chosen, and buttons for it.
    view(browser, &base, ("targets", "3 of 3 targets"));
    browser.run("grid.only([...grid.cells.keys()]); grid.go('web-shop'); grid.told()");
    browser.until("document.querySelector('#selection-verbs .approve') !== null");
    check(browser, "crowd-chosen");
    assert_eq!(complaints(browser), Vec::<String>::new());
}

/// Holds a page to the width of its window: nobody scrolls sideways to read a line.
fn fits(browser: &mut Browser, what: &str) {
    let wide = browser.run(
        "(() => { const e = document.scrollingElement; return e.scrollWidth <= e.clientWidth ? [] : [...document.querySelectorAll('body *')].filter((n) => n.getBoundingClientRect().right > innerWidth + 1 && n.getClientRects().length).slice(0, 8).map((n) => `${n.tagName}.${n.className} ${n.getBoundingClientRect().right}: ${n.textContent.slice(0, 60)}`); })()",
    );
    assert_eq!(wide, json!([]), "{what} is wider than its window");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_look_finds_no_button_that_works_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let fake = crowd(false).await;
    let browser = &mut browser;
    let (_board, base) = open(browser, &fake);
    // What changes nothing works for everybody.
    let changes = "[...document.querySelectorAll('main button')].filter((b) => !b.dataset.copy)";
    for page in VIEWS {
        view(browser, &base, page);
        let works = browser.run(&format!(
            "{changes}.filter((b) => !b.disabled).map((b) => b.outerHTML)"
        ));
        assert_eq!(works, json!([]), "{}", page.0);
        browser.look(&format!("viewer-{}", name(page.0)));
    }
    view(browser, &base, ("targets", "3 of 3 targets"));
    browser.run("document.getElementById('grid').focus()");
    browser.run("document.getElementById('grid').dispatchEvent(new KeyboardEvent('keydown', {key: 'a', ctrlKey: true, bubbles: true}))");
    assert_eq!(
        browser.run("document.getElementById('chosen').textContent"),
        "3"
    );
    let shown = browser.run("[...document.querySelectorAll('#selection-verbs button')].map((b) => `${b.textContent} ${b.disabled}`)");
    assert_eq!(
        shown,
        json!(["Approve 1 true", "Reject 1 true"]),
        "the draft has a conflict that nobody decided"
    );
    browser.run("document.querySelectorAll('main button').forEach((b) => { if (!b.dataset.copy) b.click(); })");
    assert_eq!(browser.run("document.getElementById('dialog').open"), false);
    browser.look("viewer-chosen");
    assert_eq!(complaints(browser), Vec::<String>::new());
}
