//! What pages say: while the fleet is being read, of what stands still, of what is not there, and of one as of many.

use serde_json::json;

use super::Board;
use super::browser::crowd::crowd;
use super::fake::Fake;
use crate::process::wait_for;

/// A page, once it shows something.
async fn page(board: &Board, page: &str, shows: &str) -> String {
    let found = std::cell::RefCell::new(String::new());
    wait_for(shows, async || {
        *found.borrow_mut() = board.get(page).2;
        found.borrow().contains(shows)
    })
    .await;
    found.into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_fleet_is_read_nobody_is_told_that_nothing_waits() {
    let fake = Fake::start("ann", true).await;
    fake.hold("packagerevisions", true);
    let root = tempfile::tempdir().unwrap();
    let board = Board::open(&fake.kubeconfig(root.path()));
    for view in ["", "sets", "changes", "conflicts"] {
        let page = board.get(view).2;
        assert!(page.contains("The fleet is still being read."), "{page}");
        for early in [
            "Nothing waits",
            "There is no set",
            "No revision",
            "No conflict",
        ] {
            assert!(!page.contains(early), "{page}");
        }
    }
    assert!(board.get("changes?class=ab").2.contains("Comparing"));
    fake.hold("packagerevisions", false);
    page(&board, "", "Nothing waits for you.").await;
    assert!(board.get("sets").2.contains("There is no set"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_without_a_revision_is_told_whole_and_with_the_way_out() {
    let fake = Fake::start("ann", true).await;
    let message = format!("{} the way out", "the repository is not there; ".repeat(20));
    fake.put(
        "packagevariants",
        &json!({
            "metadata": { "name": "web-edge", "namespace": "default", "uid": "web", "generation": 1 },
            "spec": { "downstream": { "repo": "edge", "package": "web" } },
            "status": {
                "observedGeneration": 1,
                "conditions": [{ "type": "Ready", "status": "False", "reason": "RenderFailed", "message": message }],
            },
        }),
    );
    let root = tempfile::tempdir().unwrap();
    let board = Board::open(&fake.kubeconfig(root.path()));
    let page = page(&board, "", "web-edge").await;
    assert!(
        page.contains(&format!("<p class=\"whole\">{message}</p>")),
        "{page}"
    );
    assert!(
        page.contains("tabindex=\"0\">offshoot why pvar/web-edge"),
        "{page}"
    );
    assert!(!page.contains("<th scope=\"col\">Revision</th>"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_is_not_there_is_not_found_and_no_path_of_the_servers() {
    let fake = Fake::start("ann", true).await;
    fake.also(
        "edge.web.v1/approval",
        json!({ "spec": { "secret": "of another path" } }),
    );
    fake.also(
        "approval",
        json!({ "spec": { "secret": "of another path" } }),
    );
    let root = tempfile::tempdir().unwrap();
    let board = Board::open(&fake.kubeconfig(root.path()));
    for name in [
        "edge.web.v1",
        "edge.web.v1/approval",
        "edge.web.v1%2Fapproval",
        "..%2F..",
        "",
    ] {
        let (code, _, page) = board.get(&format!("revision?name={name}"));
        assert_eq!(code, 404, "{name}: {page}");
        assert!(page.contains("There is no package revision"), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_page_tells_what_is_still_being_compared() {
    let fake = crowd(true).await;
    fake.hold("edge.shop.v2", true);
    let root = tempfile::tempdir().unwrap();
    let board = Board::open(&fake.kubeconfig(root.path()));
    let all = page(&board, "changes", "./changes?class=").await;
    let (_, rest) = all.split_once("./changes?class=").unwrap();
    let (id, _) = rest.split_once('"').unwrap();
    let class = format!("changes?class={id}");
    let told = "1 open revision is still being compared";
    page(&board, &class, told).await;
    fake.hold("edge.shop.v2", false);
    wait_for("all classes", async || !board.get(&class).2.contains(told)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_decide_is_told_why_no_value_can_be_written() {
    let fake = crowd(false).await;
    let root = tempfile::tempdir().unwrap();
    let board = Board::open(&fake.kubeconfig(root.path()));
    let page = page(&board, "conflicts", "Write it").await;
    assert!(
        page.contains("disabled title=\"Your roles do not allow this\">Write it"),
        "{page}"
    );
    assert!(page.contains("1 holds <code>"), "{page}");
}
