//! What the board writes: in the user's name, of what was shown, as far as their roles go; and how it shows what others wrote.

use serde_json::{Value, json};

use super::{Board, changes, entries, results};
use crate::bulk::{admin, drafts, revisions};
use crate::edges::RESOURCES;
use crate::process::{bare, git};

#[tokio::test(flavor = "multi_thread")]
async fn a_class_is_approved_as_it_was_shown_and_git_names_the_user() {
    let root = tempfile::tempdir().unwrap();
    let server = drafts(root.path(), 3).await;
    let (code, _, told) = admin(
        root.path(),
        &[
            "rpkg",
            "propose",
            "--field-selector",
            "spec.lifecycle=Draft",
        ],
    );
    assert_eq!(code, 0, "{told}");
    let board = Board::open(&root.path().join("data/kubeconfig"));
    let page = changes(&board).await;
    assert!(page.contains("3 open revisions in 1 classes"), "{page}");
    let (_, rest) = page.split_once("./changes?class=").unwrap();
    let (id, _) = rest.split_once('"').unwrap();
    assert_eq!(id.len(), 64, "{id}");
    let class = board.get(&format!("changes?class={id}")).2;
    // Fields, text, and what each target states for an input.
    assert!(
        class.contains("deployment.yaml") && class.contains("+++ b/deployment.yaml"),
        "{class}"
    );
    assert!(
        class.contains("{package}") && class.contains("web-1"),
        "{class}"
    );
    let shown = entries(&class, "approve");
    assert_eq!(shown.as_array().unwrap().len(), 3);

    // Somebody rejects one and edits it in between: it holds something else than was shown.
    let name = shown[0]["name"].as_str().unwrap().to_owned();
    assert_eq!(admin(root.path(), &["rpkg", "reject", &name]).0, 0);
    let path = format!("{RESOURCES}/{name}");
    let mut files = server.get(&path).await;
    files["spec"]["resources"]["notes.txt"] = "<script>alert('board')</script> & \"more\"\n".into();
    server.client.put(&path, &files).await.unwrap();
    assert_eq!(admin(root.path(), &["rpkg", "propose", &name]).0, 0);

    let dry = board.act(&json!({ "verb": "approve", "entries": shown, "dryRun": true }));
    assert!(
        dry["summary"].as_str().unwrap().contains("dry run"),
        "{dry}"
    );
    let answer = board.act(&json!({ "verb": "approve", "entries": shown }));
    let told = results(&answer);
    assert!(told.contains(&(name.as_str(), "Refused", true)), "{answer}");
    assert_eq!(
        told.iter()
            .filter(|(_, result, _)| *result == "Done")
            .count(),
        2,
        "{answer}"
    );
    let now = revisions(&server).await;
    assert_eq!(now[&name].0, "Proposed");
    let log = git(
        &bare(root.path(), "deploy"),
        &["log", "--format=%an %cn %B", "main"],
    );
    assert!(log.contains("admin"), "{log}");

    // What others wrote is text, wherever it is shown.
    for part in [
        "",
        "&part=files",
        "&part=why",
        "&part=blame",
        "&part=history",
    ] {
        let page = board.get(&format!("revision?name={name}{part}")).2;
        assert!(!page.contains("<script>alert"), "{part}: {page}");
    }
    let page = board.get(&format!("revision?name={name}&part=files")).2;
    assert!(page.contains("&lt;script&gt;alert"), "{page}");
    let page = board
        .get("targets?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
        .2;
    assert!(!page.contains("<script>alert"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_look_gets_no_button_that_works_and_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let server = drafts(root.path(), 2).await;
    let file = super::viewer(root.path(), &server).await;
    let board = Board::open(&file);
    let page = changes(&board).await;
    assert!(page.contains("<button") && page.contains("ann"), "{page}");
    let buttons = page
        .split("<button")
        .skip(1)
        .map(|b| b.split_once('>').unwrap().0);
    for button in buttons.filter(|b| b.contains("data-act")) {
        assert!(
            button.contains("disabled") && !button.contains("data-entries"),
            "{button}"
        );
    }
    let all = revisions(&server).await;
    let entries: Vec<Value> = all
        .iter()
        .map(|(name, (_, tree))| json!({ "name": name, "tree": tree }))
        .collect();
    let answer = board.act(&json!({ "verb": "propose", "entries": entries }));
    assert!(
        results(&answer)
            .iter()
            .all(|(_, result, _)| *result == "Refused"),
        "{answer}"
    );
    assert!(answer.to_string().contains("forbidden"), "{answer}");
    assert!(
        revisions(&server)
            .await
            .values()
            .all(|(stage, _)| stage == "Draft")
    );
    let unseen = board.act(&json!({ "verb": "propose", "entries": [{ "name": "x", "tree": "" }] }));
    assert!(
        unseen["error"].as_str().unwrap().contains("tree"),
        "{unseen}"
    );
}
