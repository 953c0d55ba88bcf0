//! Conflicts on the board: decided in all drafts that were shown, each of which is answered, and foretold in one of them.

use serde_json::{Value, json};

use super::{Board, results, viewer};
use crate::bulk::admin;
use crate::edges::RESOURCES;
use crate::process::{Process, bare, git, wait_for};
use crate::resolve::{draft, level, upgraded};

/// The page of conflicts once it shows something, and the key of its only one.
async fn conflicts(board: &Board, shows: &str) -> String {
    let page = std::cell::RefCell::new(String::new());
    wait_for(shows, async || {
        *page.borrow_mut() = board.get("conflicts").2;
        page.borrow().contains(shows)
    })
    .await;
    page.into_inner()
}

/// An attribute of the element that an attribute marks.
fn attribute(page: &str, marked: &str, name: &str) -> Option<String> {
    let elements = page
        .split('<')
        .map(|e| e.split_once('>').map_or(e, |(head, _)| head));
    let head = elements.into_iter().find(|head| head.contains(marked))?;
    let (_, rest) = head.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0.replace("&quot;", "\""))
}

/// What the button of a side sends.
fn taking(page: &str, side: &str) -> Value {
    let marked = format!("data-take=\"{side}\"");
    let of = |name: &str| attribute(page, &marked, name).unwrap();
    let entries: Value = serde_json::from_str(&of("data-entries")).unwrap();
    json!({ "verb": of("data-act"), "key": of("data-key"), "take": side, "entries": entries })
}

async fn levels(server: &Process) -> Vec<String> {
    let mut levels = Vec::new();
    for number in 0..3 {
        levels.push(level(server, &draft(number)).await);
    }
    levels
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_is_taken_in_all_drafts_that_were_shown_by_who_may() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = upgraded(root).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let page = conflicts(&board, "1 decision is open").await;
    let request = taking(&page, "local");
    assert_eq!(request["entries"].as_array().unwrap().len(), 3, "{page}");
    assert_eq!(
        attribute(&page, "data-take=\"local\"", "data-command"),
        Some(format!(
            "offshoot resolve {} --take local",
            request["key"].as_str().unwrap()
        ))
    );
    assert!(
        !page.contains("a value of your own"),
        "the locals differ: {page}"
    );

    let theirs = Board::open(&viewer(root, &server).await);
    let page = conflicts(&theirs, "1 decision is open").await;
    for side in ["local", "upstream", "base"] {
        let marked = format!("data-take=\"{side}\"");
        assert_eq!(attribute(&page, &marked, "data-entries"), None, "{page}");
    }
    assert_eq!(page.matches("data-act=\"resolve\"").count(), 3, "{page}");
    assert_eq!(page.matches(" disabled").count(), 3, "{page}");
    let answer = theirs.act(&request);
    let told = results(&answer);
    assert_eq!(told.len(), 3, "{answer}");
    assert!(
        told.iter().all(|(_, result, _)| *result != "Done"),
        "{answer}"
    );
    assert!(answer.to_string().contains("forbidden"), "{answer}");
    assert_eq!(levels(&server).await, ["warn", "warn", "warn"]);

    let mut dry = request.clone();
    dry["dryRun"] = true.into();
    let answer = board.act(&dry);
    assert_eq!(answer["summary"], "3 resolved (dry run)", "{answer}");
    assert_eq!(answer["becomes"]["name"], draft(0), "{answer}");
    let diff = answer["becomes"]["diff"].as_str().unwrap();
    for line in [
        "--- a/crlf.yaml",
        "-  LOG_LEVEL: warn",
        "+  LOG_LEVEL: debug",
    ] {
        assert!(diff.contains(line), "{line}: {diff}");
    }
    assert!(
        diff.contains("\n@@ ") && diff.contains("\n data:"),
        "{diff}"
    );
    assert_eq!(levels(&server).await, ["warn", "warn", "warn"]);

    let answer = board.act(&request);
    assert_eq!(answer["summary"], "3 resolved", "{answer}");
    assert_eq!(answer["becomes"], Value::Null, "{answer}");
    assert_eq!(levels(&server).await, ["debug", "debug", "trace"]);
    conflicts(&board, "No conflict is open.").await;
    let log = [
        "log",
        "-1",
        "--format=%an%n%b",
        "drafts/web-2/packagevariant-2",
    ];
    let log = git(&bare(root, "deploy"), &log);
    assert!(
        log.starts_with("admin\n") && log.contains("\"take\":\"local\""),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_ones_own_is_written_where_all_hold_the_same() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = upgraded(root).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let page = conflicts(&board, "1 decision is open").await;
    let key = attribute(&page, "data-take=\"local\"", "data-key").unwrap();
    let one = [
        "resolve",
        &key,
        "--take",
        "upstream",
        "--field-selector",
        "spec.packageName=web-2",
    ];
    assert_eq!(admin(root, &one).0, 0);
    let page = conflicts(&board, "a value of your own").await;
    let form = |name: &str| attribute(&page, "form class=\"inline value\"", name).unwrap();
    let entries: Value = serde_json::from_str(&form("data-entries")).unwrap();
    assert_eq!(entries.as_array().unwrap().len(), 2, "{page}");
    assert_eq!(
        form("data-command"),
        format!("offshoot resolve {key} --value VALUE")
    );
    let request = |value: &str| json!({ "verb": "resolve", "key": form("data-key"), "value": value, "entries": entries });
    let mut dry = request("error");
    dry["dryRun"] = true.into();
    let answer = board.act(&dry);
    let diff = answer["becomes"]["diff"].as_str().unwrap();
    assert!(diff.contains("+  LOG_LEVEL: error"), "{diff}");
    let answer = board.act(&request("error"));
    assert_eq!(answer["summary"], "2 resolved", "{answer}");
    assert_eq!(levels(&server).await, ["error", "error", "warn"]);

    // Nothing holds what was shown any more: both are told, and stay.
    let answer = board.act(&request("fatal"));
    let summary = "0 resolved, 2 refused; 2 changed since shown";
    assert_eq!(answer["summary"], summary, "{answer}");
    assert!(
        results(&answer).iter().all(|(.., changed)| *changed),
        "{answer}"
    );
    assert_eq!(levels(&server).await, ["error", "error", "warn"]);
    let both =
        json!({ "verb": "resolve", "key": key, "take": "local", "value": "x", "entries": entries });
    assert!(
        board.act(&both)["error"]
            .as_str()
            .unwrap()
            .contains("either")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_changed_since_it_was_shown_is_told_and_left() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = upgraded(root).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let request = taking(&conflicts(&board, "1 decision is open").await, "local");
    // One is edited, and another one decided otherwise: that one waits for no decision any more.
    let path = format!("{RESOURCES}/{}", draft(1));
    let mut files = server.get(&path).await;
    files["spec"]["resources"]["notes.txt"] = "more\n".into();
    server.client.put(&path, &files).await.unwrap();
    let key = request["key"].as_str().unwrap();
    let one = [
        "resolve",
        key,
        "--take",
        "upstream",
        "--field-selector",
        "spec.packageName=web-2",
    ];
    assert_eq!(admin(root, &one).0, 0);

    let answer = board.act(&request);
    let names = [draft(0), draft(1), draft(2)];
    let wanted = [
        (names[0].as_str(), "Done", false),
        (names[1].as_str(), "Refused", true),
        (names[2].as_str(), "Refused", true),
    ];
    let mut told = results(&answer);
    told.sort_unstable();
    assert_eq!(told, wanted, "{answer}");
    let summary = "1 resolved, 2 refused; 2 changed since shown";
    assert_eq!(answer["summary"], summary, "{answer}");
    assert_eq!(levels(&server).await, ["debug", "warn", "warn"]);

    // Where none is left that could be decided, each is told still.
    let answer = board.act(&request);
    let summary = "0 resolved, 3 refused; 3 changed since shown";
    assert_eq!(answer["summary"], summary, "{answer}");
    assert_eq!(results(&answer).len(), 3, "{answer}");
    assert_eq!(levels(&server).await, ["debug", "warn", "warn"]);
}
