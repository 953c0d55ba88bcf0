//! What the board says to a rollout: as `offshoot rollout` does, of what was shown, as far as the user's roles go.

use serde_json::{Value, json};

use super::{Board, changes, taken, viewer};
use crate::edges::{REVISIONS, VARIANTS, until_there};
use crate::plan::{DEPLOYMENT, SETS, typed, upstream};
use crate::process::{Process, wait_for};
use crate::rollout::{fleet, publish, state, until};

/// The page of sets, once it has something.
async fn sets(board: &Board, shows: &str) -> String {
    let page = std::cell::RefCell::new(String::new());
    wait_for(shows, async || {
        *page.borrow_mut() = board.get("sets").2;
        page.borrow().contains(shows)
    })
    .await;
    page.into_inner()
}

/// The attributes of the button of a verb.
fn button<'p>(page: &'p str, verb: &str) -> Option<&'p str> {
    let all = page
        .split("<button")
        .skip(1)
        .map(|b| b.split_once('>').unwrap().0);
    all.into_iter()
        .find(|b| b.contains(&format!("data-steer=\"{verb}\"")))
}

/// What a press of the button sends.
fn request(page: &str, verb: &str) -> Value {
    let button = button(page, verb).expect(verb);
    let (_, rest) = button.split_once("data-seen=\"").unwrap();
    json!({ "verb": verb, "set": "web", "seen": rest.split_once('"').unwrap().0 })
}

/// The words of the command that does the same as a button, without the program.
fn command(page: &str, verb: &str) -> String {
    let button = button(page, verb).expect(verb);
    let (_, rest) = button.split_once("data-command=\"offshoot ").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

fn said(root: &std::path::Path, command: &str) -> (i32, String, String) {
    let words: Vec<&str> = command.split(' ').collect();
    typed(root, "data/kubeconfig", &words)
}

async fn annotations(server: &Process) -> Value {
    let set = server.get(&format!("{SETS}/web")).await;
    set.pointer("/metadata/annotations")
        .cloned()
        .unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_is_steered_as_it_was_shown() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let page = sets(&board, "Rollout: complete").await;
    assert!(
        button(&page, "resume").is_none() && button(&page, "retry").is_none(),
        "{page}"
    );
    let shown = command(&page, "pause");
    assert!(
        shown.starts_with("rollout pause web --if-version "),
        "{shown}"
    );
    let (pause, undo) = (request(&page, "pause"), request(&page, "undo"));

    let mut dry = pause.clone();
    dry["dryRun"] = true.into();
    let told = board.post("rollout", &dry);
    assert!(
        told["summary"].as_str().unwrap().ends_with("(dry run)"),
        "{told}"
    );
    assert_eq!(
        annotations(&server).await.get("offshoot.dev/rollout-pause"),
        None
    );
    let told = board.post("rollout", &pause);
    assert!(
        told["summary"].as_str().unwrap().starts_with("web paused"),
        "{told}"
    );
    assert_eq!(
        annotations(&server).await["offshoot.dev/rollout-pause"],
        "true"
    );

    // It is paused since: what was shown is refused, whatever it is, and so is the command that was shown.
    let refused = said(root, &shown);
    assert!(
        refused.0 != 0 && refused.2.contains("changed since version"),
        "{refused:?}"
    );
    for stale in [&pause, &undo] {
        let told = board.post("rollout", stale);
        assert_eq!(told["changed"], true, "{told}");
    }
    assert_eq!(
        annotations(&server).await.get("offshoot.dev/rollout-undo"),
        None
    );

    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    upstream(root, &next, "hunter1", Some("v2"));
    until(&server, "Paused").await;
    let page = sets(&board, "Rollout: paused").await;
    assert!(button(&page, "pause").is_none(), "{page}");
    // The step of what was not reached is told, too.
    let cells: Value = serde_json::from_str(&board.get("cells").2).unwrap();
    assert_eq!(steps(&cells), ["canary", "rest", "rest"]);
    assert_eq!(cells["steps"], json!({ "web": ["canary", "rest"] }));
    board.post("rollout", &request(&page, "resume"));
    until_there(&server, &format!("{REVISIONS}/canary.web.packagevariant-2")).await;
    publish(&server, root, "canary.web.packagevariant-2").await;
    let page = sets(&board, "Rollout: rest 2/2").await;
    let told = board.post("rollout", &request(&page, "undo"));
    assert!(
        told["summary"].as_str().unwrap().contains("is taken back"),
        "{told}"
    );
    until(&server, "Undone").await;
    let page = sets(&board, "Rollout: undone").await;
    assert!(button(&page, "undo").is_none(), "{page}");
    let resumed = said(root, &command(&page, "resume"));
    assert_eq!(resumed.0, 0, "{resumed:?}");

    let unknown = board.post(
        "rollout",
        &json!({ "verb": "delete", "set": "web", "seen": "" }),
    );
    assert!(
        unknown["error"].as_str().unwrap().contains("undo can"),
        "{unknown}"
    );
    let none = board.post(
        "rollout",
        &json!({ "verb": "pause", "set": "none", "seen": "" }),
    );
    assert!(none["error"].as_str().unwrap().contains("none"), "{none}");
}

/// The step of each cell.
fn steps(cells: &Value) -> Vec<&str> {
    let all = cells["cells"].as_array().unwrap().iter();
    let word = |c: &Value| usize::try_from(c[3][8].as_u64().unwrap()).unwrap();
    all.map(|c| cells["words"][word(c)].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_open_too_early_is_offered_to_nobody() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let next = |image: &str| DEPLOYMENT.replace("web:1.4", image);
    upstream(root, &next("web:1.5"), "hunter1", Some("v2"));
    publish(&server, root, "canary.web.packagevariant-2").await;
    let early = [
        "deploy.web-00.packagevariant-2",
        "deploy.web-01.packagevariant-2",
    ];
    for name in early {
        until_there(&server, &format!("{REVISIONS}/{name}")).await;
    }
    let board = Board::open(&root.join("data/kubeconfig"));
    // Another upstream begins anew: the drafts of the last step are open, and their step is closed.
    upstream(root, &next("web:1.6"), "hunter1", Some("v3"));
    until_there(&server, &format!("{REVISIONS}/canary.web.packagevariant-3")).await;
    let page = std::cell::RefCell::new(String::new());
    wait_for("the closed step", async || {
        *page.borrow_mut() = board.get("").2;
        let page = page.borrow();
        page.contains("Not to be approved now") && page.contains("canary.web.packagevariant-3")
    })
    .await;
    let page = page.into_inner();
    let (offered, rest) = page.split_once("id=\"w-early\"").unwrap();
    assert!(offered.contains("canary.web.packagevariant-3"), "{page}");
    for name in early {
        assert!(!offered.contains(name) && rest.contains(name), "{page}");
    }
    assert!(!rest.contains("data-act"), "{page}");
    let approver = ["rpkg", "propose", early[1]];
    assert_eq!(typed(root, "data/kubeconfig", &approver).0, 0);
    wait_for("the proposal", async || {
        let page = board.get("changes?stage=Proposed").2;
        page.contains("1 open revision in 1 class")
    })
    .await;
    no_button_takes(&board, &early).await;
    // By itself, on its own page, each can be decided, and what speaks against it is said.
    for (name, verb) in early.into_iter().zip(["propose", "approve"]) {
        let page = board.get(&format!("revision?name={name}")).2;
        assert!(page.contains(&format!("data-act=\"{verb}\"")), "{page}");
        assert!(taken(&page).contains(name), "{page}");
        let told = "Not to be approved now: its step 'rest' of the rollout of web is closed";
        assert!(page.contains(told), "{page}");
    }
    let open = board.get("revision?name=canary.web.packagevariant-3").2;
    assert!(!open.contains("Not to be approved now"), "{open}");
}

/// Changes, the page of their class and the grid's cells: these revisions are shown, and are in no button for several.
async fn no_button_takes(board: &Board, early: &[&str]) {
    let page = changes(board).await;
    assert!(
        taken(&page).contains("canary.web.packagevariant-3"),
        "{page}"
    );
    let links = page.split("./changes?class=").skip(1);
    let ids: std::collections::BTreeSet<&str> =
        links.map(|rest| rest.split_once('"').unwrap().0).collect();
    let classes = ids
        .into_iter()
        .map(|id| board.get(&format!("changes?class={id}")).2);
    let theirs = classes.filter(|class| class.contains(&format!("?name={}", early[0])));
    let theirs: Vec<String> = theirs.collect();
    assert_eq!(theirs.len(), 1, "{page}");
    for page in theirs.iter().chain([&page]) {
        assert!(
            page.contains("2 of closed steps or of another version"),
            "{page}"
        );
        for name in early {
            assert!(!taken(page).contains(name), "{page}");
        }
    }
    let cells: Value = serde_json::from_str(&board.get("cells").2).unwrap();
    assert_eq!(cells["early"], json!(early));
    for name in early {
        let all = cells["cells"].as_array().unwrap().iter();
        let at = all.clone().position(|c| c[1] == *name).unwrap();
        assert_eq!(steps(&cells)[at], "rest");
    }
}

/// A proposal of what is taken back stands until somebody rejects it: no button for several approves it, and its own page says
/// what speaks against it (F8).
#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_of_what_is_taken_back_is_offered_to_nobody() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    upstream(root, &next, "hunter1", Some("v2"));
    let name = "canary.web.packagevariant-2";
    until_there(&server, &format!("{REVISIONS}/{name}")).await;
    let proposed = typed(root, "data/kubeconfig", &["rpkg", "propose", name]);
    assert_eq!(proposed.0, 0, "{proposed:?}");
    let board = Board::open(&root.join("data/kubeconfig"));
    wait_for("the proposal", async || {
        taken(&board.get("").2).contains(name)
    })
    .await;
    let undone = typed(root, "data/kubeconfig", &["rollout", "undo", "web"]);
    assert_eq!(undone.0, 0, "{undone:?}");
    until(&server, "Undone").await;
    let page = std::cell::RefCell::new(String::new());
    wait_for("what is not to be approved", async || {
        *page.borrow_mut() = board.get("").2;
        page.borrow().contains("id=\"w-early\"")
    })
    .await;
    let page = page.into_inner();
    let (offered, rest) = page.split_once("id=\"w-early\"").unwrap();
    assert!(
        !taken(offered).contains(name) && rest.contains(name),
        "{page}"
    );
    assert!(!taken(&board.get("changes").2).contains(name));
    let cells: Value = serde_json::from_str(&board.get("cells").2).unwrap();
    assert_eq!(cells["early"], json!([name]));
    let own = board.get(&format!("revision?name={name}")).2;
    let told = "Not to be approved now: it is of another version than is wanted";
    assert!(own.contains(told) && taken(&own).contains(name), "{own}");
}

/// A variant that somebody deletes by hand during an undo proposes the deletion of its package, and is made anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_of_what_a_rollout_still_has_is_in_no_button_for_all() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    upstream(root, &next, "hunter1", Some("v2"));
    publish(&server, root, "canary.web.packagevariant-2").await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let (code, out, err) = typed(root, "data/kubeconfig", &["rollout", "undo", "web"]);
    assert_eq!(code, 0, "{out}{err}");
    until(&server, "Undone").await;
    // One that the set still wants, and one that it does not: its target goes for good.
    let mut smaller = crate::rollout::set();
    smaller["spec"]["targets"][0]["repositories"][1]["packageNames"] = json!(["web-00"]);
    let body = json!({ "spec": { "targets": smaller["spec"]["targets"] } });
    server
        .client
        .patch(&format!("{SETS}/web"), &body)
        .await
        .unwrap();
    let variant = format!("{VARIANTS}/web-deploy-web-00");
    let first = server.get(&variant).await["metadata"]["uid"].clone();
    server.client.delete(&variant).await.unwrap();
    let (live, gone) = (
        "deploy.web-00.packagevariant-1",
        "deploy.web-01.packagevariant-1",
    );
    wait_for("another variant of this name", async || {
        let uid = server.get(&variant).await["metadata"]["uid"].clone();
        uid.is_string() && uid != first
    })
    .await;
    // What a message says of a revision is no offer: only a button takes it.
    let taken = |page: &str, name: &str| {
        let buttons = page.split("<button").skip(1);
        let mut buttons = buttons.filter_map(|b| b.split_once("</button>"));
        buttons.any(|(button, _)| button.contains(name))
    };
    let page = std::cell::RefCell::new(String::new());
    wait_for("both deletions", async || {
        *page.borrow_mut() = board.get("").2;
        let page = page.borrow();
        page.contains("id=\"w-kept\"") && taken(&page, gone)
    })
    .await;
    let page = page.into_inner();
    let (offered, rest) = page.split_once("id=\"w-kept\"").unwrap();
    assert!(!taken(offered, live) && rest.contains(live), "{page}");
    assert!(!rest.contains(gone), "{page}");
    assert!(!rest.contains("data-act"), "{page}");
    // By itself it can be decided.
    let page = board.get(&format!("revision?name={live}")).2;
    assert!(page.contains("data-act=\"del\""), "{page}");
    // The command for all that why gives takes it neither.
    let (_, why, _) = typed(root, "data/kubeconfig", &["why", "pvset/web"]);
    let taken = why.lines().find(|line| line.contains("rpkg del -l"));
    assert!(
        taken.is_none_or(|line| line.contains("in (web-deploy-web-01)")),
        "{why}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_look_steers_nothing() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = fleet(root).await;
    let mine = Board::open(&root.join("data/kubeconfig"));
    let pause = request(&sets(&mine, "Rollout: complete").await, "pause");
    let board = Board::open(&viewer(root, &server).await);
    let page = sets(&board, "Rollout: complete").await;
    for verb in ["pause", "undo"] {
        let button = button(&page, verb).unwrap();
        assert!(
            button.contains("disabled") && !button.contains("data-seen"),
            "{button}"
        );
    }
    let told = board.post("rollout", &pause);
    assert!(
        told["error"].as_str().unwrap().contains("forbidden"),
        "{told}"
    );
    assert_eq!(
        annotations(&server).await.get("offshoot.dev/rollout-pause"),
        None
    );
    assert_eq!(state(&server).await, "Complete");
}
