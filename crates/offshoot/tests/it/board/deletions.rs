//! Deletions that were proposed: classes and buttons of their own, what goes, and that it goes.

use serde_json::{Value, json};

use super::fake::Fake;
use super::{Board, changes, results};
use crate::bulk::{admin, drafts, lifecycles, revisions};
use crate::process::wait_for;

fn name(number: usize) -> String {
    format!("deploy.web-{number}.packagevariant-1")
}

/// What the button with these words sends; nothing where there is none.
fn sent(page: &str, words: &str) -> Option<Value> {
    let marked = format!("data-words=\"{words}\"");
    let buttons = page.split("<button").skip(1);
    let mut heads = buttons.filter_map(|b| Some(b.split_once('>')?.0));
    let head = heads.find(|head| head.contains(&marked))?;
    let (_, rest) = head.split_once("data-entries=\"")?;
    let (text, _) = rest.split_once('"')?;
    serde_json::from_str(&text.replace("&quot;", "\"")).ok()
}

fn names(entries: &Value) -> Vec<String> {
    let all = entries.as_array().unwrap().iter();
    let mut names: Vec<String> = all
        .map(|e| e["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposed_deletion_is_shown_as_what_goes_and_carried_out() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = drafts(root, 5).await;
    let all: Vec<String> = (0..5).map(name).collect();
    let say = |verb: &str, names: &[String]| {
        let names = names.iter().map(String::as_str);
        let words: Vec<&str> = ["rpkg", verb].into_iter().chain(names).collect();
        let done = admin(root, &words);
        assert_eq!(done.0, 0, "{done:?}");
    };
    say("propose", &all);
    say("approve", &all[..3]);
    say("propose-delete", &all[..3]);
    let board = Board::open(&root.join("data/kubeconfig"));
    let page = std::cell::RefCell::new(String::new());
    wait_for("the deletions", async || {
        *page.borrow_mut() = changes(&board).await;
        let page = page.borrow();
        let count = |words| sent(&page, words).map(|e| e.as_array().map(Vec::len));
        count("Delete") == Some(Some(3)) && count("Approve") == Some(Some(2))
    })
    .await;
    let page = page.into_inner();
    assert!(page.contains("5 open revisions in 2 classes"), "{page}");
    let shown = sent(&page, "Delete").unwrap();
    assert_eq!(names(&shown), all[..3]);
    assert_eq!(names(&sent(&page, "Approve").unwrap()), all[3..]);
    assert_eq!(names(&sent(&page, "Reject").unwrap()), all[3..]);
    assert_eq!(names(&sent(&page, "Reject deletion of").unwrap()), all[..3]);

    // The class, the revision's own page and Waiting: files go, and nothing comes.
    let deletions = board.get("changes?stage=DeletionProposed").2;
    let (_, rest) = deletions.split_once("./changes?class=").unwrap();
    let (id, _) = rest.split_once('"').unwrap();
    let own = format!("revision?name={}", all[0]);
    for page in [format!("changes?class={id}"), own.clone()] {
        let page = board.get(&page).2;
        assert!(page.contains("--- a/deployment.yaml"), "{page}");
        assert!(page.contains("+++ /dev/null"), "{page}");
        assert!(!page.contains("+++ b/"), "{page}");
        assert!(!page.contains("data-act=\"approve\""), "{page}");
    }
    let waiting = board.get("").2;
    assert_eq!(names(&sent(&waiting, "Delete").unwrap()), all[..3]);

    // By itself, by the command that is shown.
    let page = board.get(&own).2;
    let (_, rest) = page
        .split_once("data-command=\"offshoot rpkg del ")
        .expect(&page);
    let words: Vec<&str> = rest.split_once('"').unwrap().0.split(' ').collect();
    let done = admin(root, &[&["rpkg", "del"], &words[..]].concat());
    assert_eq!(done.0, 0, "{done:?}");
    // One stays.
    let keep = json!({ "verb": "reject", "entries": [shown[1]] });
    assert_eq!(board.act(&keep)["summary"], "1 rejected");
    let kept = shown[1]["name"].as_str().unwrap();
    wait_for("the board hears of both", async || {
        let page = board.get("changes?stage=DeletionProposed").2;
        page.contains("1 open revision in 1 class")
    })
    .await;

    let mut request = json!({ "verb": "del", "entries": shown, "dryRun": true });
    let dry = board.act(&request);
    assert_eq!(
        dry["summary"], "1 deleted, 1 already so, 1 skipped (dry run)",
        "{dry}"
    );
    request["dryRun"] = false.into();
    let answer = board.act(&request);
    assert!(
        results(&answer).contains(&(kept, "Skipped", false)),
        "{answer}"
    );
    // What nobody proposed to delete does not go, whatever a page names.
    let now = revisions(&server).await;
    let drafts = all[3..]
        .iter()
        .map(|n| json!({ "name": n, "tree": now[n].1 }));
    let drafts: Vec<Value> = drafts.collect();
    let answer = board.act(&json!({ "verb": "del", "entries": drafts }));
    assert_eq!(answer["summary"], "0 deleted, 2 skipped", "{answer}");
    let stages = [("Proposed".to_owned(), 2), ("Published".to_owned(), 1)];
    wait_for("what is left", async || {
        lifecycles(&server).await == stages.clone().into()
    })
    .await;
}

/// Columns in which no line has anything are no columns.
#[tokio::test(flavor = "multi_thread")]
async fn deletions_of_what_no_variant_looks_after_have_one_column() {
    let fake = Fake::start("ann", true).await;
    fake.put(
        "packagerevisions",
        &json!({
            "metadata": { "name": "edge.web.v1", "namespace": "default" },
            "spec": {
                "packageName": "web", "repository": "edge", "workspaceName": "v1", "revision": 1,
                "lifecycle": "DeletionProposed",
            },
            "status": { "offshoot": { "tree": "0".repeat(40) } },
        }),
    );
    let root = tempfile::tempdir().unwrap();
    let board = Board::open(&fake.kubeconfig(root.path()));
    let page = std::cell::RefCell::new(String::new());
    wait_for("the deletion", async || {
        *page.borrow_mut() = board.get("").2;
        page.borrow().contains("edge.web.v1")
    })
    .await;
    let page = page.into_inner();
    assert_eq!(page.matches("<th scope=\"col\">").count(), 1, "{page}");
    assert_eq!(names(&sent(&page, "Delete").unwrap()), ["edge.web.v1"]);
}
