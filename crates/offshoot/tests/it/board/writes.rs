//! What the board writes: in the user's name, of what was shown, as far as their roles go; and how it shows what others wrote.

use serde_json::{Value, json};

use super::{Board, changes, entries, results};
use crate::bulk::{SETS, admin, drafts, lifecycles, revisions};
use crate::edges::{RESOURCES, REVISIONS, until_there};
use crate::process::{bare, git, push, wait_for};

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
    assert!(
        page.contains("3 open revisions in 1 class of equal changes"),
        "{page}"
    );
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

/// Waits until the board has seen so many revisions of a lifecycle; the page of their changes.
async fn seen(board: &Board, stage: &str, count: usize) -> String {
    let wanted = format!("{count} open revision");
    wait_for(stage, async || {
        let page = board.get(&format!("changes?stage={stage}")).2;
        page.contains(&wanted) && !page.contains("comparing")
    })
    .await;
    changes(board).await
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_are_proposed_and_proposals_rejected_as_pages_ask() {
    let root = tempfile::tempdir().unwrap();
    let server = drafts(root.path(), 3).await;
    let board = Board::open(&root.path().join("data/kubeconfig"));
    let stages = async || lifecycles(&server).await;
    let page = seen(&board, "Draft", 3).await;
    let shown = entries(&page, "propose");
    assert_eq!(shown.as_array().unwrap().len(), 3, "{page}");
    let proposed = json!({ "verb": "propose", "entries": shown });
    let mut dry = proposed.clone();
    dry["dryRun"] = true.into();
    assert_eq!(board.act(&dry)["summary"], "3 proposed (dry run)");
    assert_eq!(stages().await, [("Draft".to_owned(), 3)].into());
    assert_eq!(board.act(&proposed)["summary"], "3 proposed");
    assert_eq!(stages().await, [("Proposed".to_owned(), 3)].into());
    assert_eq!(board.act(&proposed)["summary"], "0 proposed, 3 already so");

    // One by itself, from its own page, and then the others: what is no proposal any more is named.
    let page = seen(&board, "Proposed", 3).await;
    let shown = entries(&page, "reject");
    let name = shown[1]["name"].as_str().unwrap();
    let own = board.get(&format!("revision?name={name}")).2;
    let one = json!({ "verb": "reject", "entries": entries(&own, "reject") });
    let command = format!("data-command=\"offshoot rpkg reject {name} --expected-tree ");
    assert!(own.contains(&command), "{own}");
    let answer = board.act(&one);
    assert_eq!(results(&answer), [(name, "Done", false)], "{answer}");
    let answer = board.act(&json!({ "verb": "reject", "entries": shown }));
    assert_eq!(answer["summary"], "2 rejected, 1 skipped", "{answer}");
    assert!(
        results(&answer).contains(&(name, "Skipped", false)),
        "{answer}"
    );
    assert_eq!(stages().await, [("Draft".to_owned(), 3)].into());
    let none = board.act(&json!({ "verb": "copy", "entries": shown }));
    assert!(
        none["error"].as_str().unwrap().contains("no verb"),
        "{none}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_plans_tells_what_another_upstream_would_do() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = drafts(root, 2).await;
    let all = ["--field-selector", "spec.repository=deploy"];
    for verb in ["propose", "approve"] {
        let (code, _, err) = admin(root, &[&["rpkg", verb], &all[..]].concat());
        assert_eq!(code, 0, "{err}");
    }
    push(root, "blueprints", "commented", "v2");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v2")).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let form = std::cell::RefCell::new(String::new());
    wait_for("the set", async || {
        *form.borrow_mut() = board.get("plan?set=web&revision=v2").2;
        form.borrow().contains("<option value=\"web\" selected")
    })
    .await;
    assert!(form.borrow().contains("value=\"v2\""), "{}", form.borrow());

    let before = revisions(&server).await;
    let asked = |set: &str, revision: &str| {
        let answer = board.post("plan", &json!({ "set": set, "revision": revision }));
        answer.as_str().unwrap().to_owned()
    };
    let planned = asked("web", "v2");
    for shown in [
        "<span class=\"verdict\">upgrade</span> <span class=\"number\">2</span>",
        "kubectl patch pvset web --type merge -p '{&quot;spec&quot;:{&quot;upstream&quot;:{&quot;revision&quot;:&quot;v2&quot;}}}' --dry-run=client -o yaml | offshoot plan -f -<",
        "crlf.yaml",
        "data.LOG_LEVEL  info → warn",
        "+  LOG_LEVEL: warn",
        "web-deploy-web-0",
        "web-deploy-web-1",
    ] {
        assert!(planned.contains(shown), "{shown}: {planned}");
    }
    // What kubectl prints there is the set as it would be: the command that is shown plans it, too.
    let mut set = server.get(&format!("{SETS}/web")).await;
    set["spec"]["upstream"]["revision"] = "v2".into();
    std::fs::write(root.join("web.yaml"), set.to_string()).unwrap();
    let (code, out, err) = admin(root, &["plan", "-f", "web.yaml"]);
    assert!(code == 2 && out.contains("2 upgrade"), "{code}: {out}{err}");
    let nothing = asked("", "");
    assert!(nothing.contains("No content would change."), "{nothing}");
    assert!(
        nothing.contains("<code tabindex=\"0\">offshoot plan</code>"),
        "{nothing}"
    );
    let none = asked("none", "v2");
    assert!(
        none.contains("class=\"trouble\"") && none.contains("none"),
        "{none}"
    );
    assert_eq!(revisions(&server).await, before, "nothing is written");

    // What is there may be planned by whoever may look; what a set would want, by whoever may write it.
    let theirs = Board::open(&super::viewer(root, &server).await);
    for (set, told) in [("", "No content would change."), ("web", "forbidden")] {
        let answer = theirs.post("plan", &json!({ "set": set, "revision": "v2" }));
        assert!(answer.as_str().unwrap().contains(told), "{answer}");
    }
}
