//! What a rollout closes again, after its step had been open: the board offers it to nobody, by the rule that `why` has (F7, F8).

use serde_json::{Value, json};

use super::{Board, taken};
use crate::edges::{REVISIONS, until_there};
use crate::plan::{DEPLOYMENT, SETS, typed, upstream};
use crate::process::{Process, wait_for};
use crate::rollout::{fleet, publish, until};

const DRAFTS: [&str; 2] = [
    "deploy.web-00.packagevariant-2",
    "deploy.web-01.packagevariant-2",
];

/// A fleet on its way to v2: the canary is published, and the drafts of the last step are open.
async fn rolling(root: &std::path::Path) -> Process {
    let server = fleet(root).await;
    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    upstream(root, &next, "hunter1", Some("v2"));
    publish(&server, root, "canary.web.packagevariant-2").await;
    for name in DRAFTS {
        until_there(&server, &format!("{REVISIONS}/{name}")).await;
    }
    server
}

/// What waits, once it shows something.
async fn waiting(board: &Board, shows: &str) -> String {
    let page = std::cell::RefCell::new(String::new());
    wait_for(shows, async || {
        *page.borrow_mut() = board.get("").2;
        page.borrow().contains(shows)
    })
    .await;
    page.into_inner()
}

/// Waits until the drafts are in a button.
async fn offered(board: &Board) {
    wait_for("the drafts are offered", async || {
        let page = board.get("").2;
        DRAFTS.iter().all(|name| taken(&page).contains(name))
    })
    .await;
}

fn early(board: &Board) -> Value {
    let cells: Value = serde_json::from_str(&board.get("cells").2).unwrap();
    cells["early"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_waits_behind_a_new_one_is_closed_again_and_offers_nothing() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = rolling(root).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    offered(&board).await;
    // A step before it that selects nobody: what is behind it waits for somebody to mend that.
    let steps = json!([
        { "name": "canary", "selector": { "matchLabels": { "ring": "0" } } },
        { "name": "tiny", "selector": { "matchLabels": { "nosuch": "x" } } },
        { "name": "rest" },
    ]);
    let body = json!({ "spec": { "rollout": { "steps": steps } } });
    let path = format!("{SETS}/web");
    server.client.patch(&path, &body).await.unwrap();
    until(&server, "Halted").await;
    let set = server.get(&path).await;
    assert_eq!(set["status"]["rollout"]["step"], "tiny", "{set}");
    assert!(
        !set["status"]["rollout"]["steps"][2]["opened"].is_null(),
        "it keeps the stamp: {set}"
    );
    let page = waiting(&board, "id=\"w-early\"").await;
    let (offered, rest) = page.split_once("id=\"w-early\"").unwrap();
    for name in DRAFTS {
        assert!(!taken(offered).contains(name), "{page}");
        assert!(rest.contains(name), "{page}");
        let own = board.get(&format!("revision?name={name}")).2;
        let told = "Not to be approved now: its step 'rest' of the rollout of web is closed";
        assert!(own.contains(told), "{own}");
    }
    assert!(!rest.contains("data-act"), "{page}");
    assert!(!taken(&board.get("changes").2).contains(DRAFTS[0]));
    assert_eq!(early(&board), json!(DRAFTS));
    let (_, why, _) = typed(root, "data/kubeconfig", &["why", "pvset/web"]);
    assert!(why.contains("whose step of the rollout is closed"), "{why}");
    // A selection takes none of them either, and a name does.
    let all = ["rpkg", "propose", "-l", "offshoot.dev/set=web"];
    let (_, out, err) = typed(root, "data/kubeconfig", &all);
    let told = format!("{out}{err}");
    assert!(
        told.contains("2 of closed steps of a rollout left out"),
        "{told}"
    );
    for name in DRAFTS {
        let draft = server.get(&format!("{REVISIONS}/{name}")).await;
        assert_eq!(draft["spec"]["lifecycle"], "Draft", "{told}");
    }
    // Nor does a dialog that was opened before; on its own page it could be decided.
    let draft = server.get(&format!("{REVISIONS}/{}", DRAFTS[0])).await;
    let entry = json!({ "name": DRAFTS[0], "tree": draft["status"]["offshoot"]["tree"] });
    let request = json!({ "verb": "propose", "entries": [entry] });
    let answer = board.act(&request);
    assert_eq!(answer["results"][0]["result"], "Skipped", "{answer}");
    let told = answer["results"][0]["message"].as_str().unwrap();
    assert!(told.contains("step 'rest'"), "{answer}");
    let own = json!({ "verb": "propose", "entries": [entry], "alone": true, "dryRun": true });
    assert_eq!(board.act(&own)["results"][0]["result"], "Done");
    let sets = board.get("sets").2;
    let (_, row) = sets.split_once("step=rest\">rest</a>").expect(&sets);
    let (row, _) = row.split_once("</tr>").unwrap();
    assert!(
        row.contains("closed") && row.contains("was open") && !row.contains("<time"),
        "{row}"
    );
}

/// What a proposal holds is wanted again after the undo has ended: it waits for its step, and then it can be approved.
#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_of_what_is_wanted_again_waits_for_its_step_and_is_not_to_be_rejected() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = rolling(root).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let proposal = DRAFTS[0];
    let done = typed(root, "data/kubeconfig", &["rpkg", "propose", proposal]);
    assert_eq!(done.0, 0, "{done:?}");
    for (verb, state) in [("undo", "Undone"), ("resume", "Progressing")] {
        let done = typed(root, "data/kubeconfig", &["rollout", verb, "web"]);
        assert_eq!(done.0, 0, "{done:?}");
        until(&server, state).await;
    }
    let own = format!("revision?name={proposal}");
    let closed = "Not to be approved now: its step 'rest' of the rollout of web is closed";
    wait_for("the closed step", async || {
        board.get(&own).2.contains(closed)
    })
    .await;
    assert!(!taken(&board.get("").2).contains(proposal));
    // What its variant said in the undo goes once that has heard of its end.
    wait_for("why says the same", async || {
        let (_, why, _) = typed(root, "data/kubeconfig", &["why", "pvset/web"]);
        !why.contains("another version")
    })
    .await;
}
