//! The grid without a browser: cells carry what it filters and sorts by, an address restores a view, and what a selection sends
//! is done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::{Board, results};
use crate::bulk::{SETS, drafts, lifecycles};
use crate::edges::{REVISIONS, register, until_there};
use crate::process::{Process, repository, wait_for};

const REPOSITORIES: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";

/// A cell as the page reads it, by the names of its parts.
type Cell = BTreeMap<&'static str, String>;

/// The parts of a cell that stand as places of words, in their order (board.js has the same list).
const FIELDS: [&str; 9] = [
    "set",
    "repository",
    "package",
    "state",
    "lifecycle",
    "class",
    "versions",
    "message",
    "step",
];

fn told(board: &Board, query: &str) -> Value {
    serde_json::from_str(&board.get(&format!("cells{query}")).2).unwrap()
}

fn read(told: &Value) -> Vec<Cell> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let one = |cell: &Value| {
        let named = ["variant", "revision", "tree"].into_iter().enumerate();
        let named = named.map(|(at, name)| (name, text(&cell[at])));
        let words = cell[3].as_array().unwrap().iter();
        let words =
            words.map(|at| text(&told["words"][usize::try_from(at.as_u64().unwrap()).unwrap()]));
        named.chain(FIELDS.into_iter().zip(words)).collect()
    };
    told["cells"].as_array().unwrap().iter().map(one).collect()
}

/// The variants of the cells that fit, in the order of the answer.
fn fitting(cells: &[Cell], fits: impl Fn(&Cell) -> bool) -> Vec<&str> {
    let fitting = cells.iter().filter(|cell| fits(cell));
    fitting.map(|cell| cell["variant"].as_str()).collect()
}

/// Three drafts of a set in a repository, and two of another set, which says more in its packages, in a labelled one.
async fn fleet(root: &Path) -> Process {
    let server = drafts(root, 3).await;
    register(&server, root, "edge", true).await;
    let mut labelled = repository(root, "edge", true);
    labelled["metadata"]["labels"] = json!({ "tier": "edge", "region": "eu" });
    let path = format!("{REPOSITORIES}/edge");
    server.client.patch(&path, &labelled).await.unwrap();
    let set = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "api" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "commented", "revision": 1 },
            "targets": [{
                "repositories": [{ "name": "edge", "packageNames": ["api-0", "api-1"] }],
                "template": { "packageContext": { "data": { "size": "small" } } },
            }],
        },
    });
    server.create(SETS, &set).await;
    for number in 0..2 {
        until_there(
            &server,
            &format!("{REVISIONS}/edge.api-{number}.packagevariant-1"),
        )
        .await;
    }
    server
}

/// All cells, once each of them has a draft and its class.
async fn compared(board: &Board) -> Value {
    let all = std::cell::RefCell::new(Value::Null);
    wait_for("all classes", async || {
        let now = told(board, "");
        let cells = read(&now);
        let done = cells.len() == 5
            && cells
                .iter()
                .all(|c| !c["class"].is_empty() && c["state"] == "draft");
        *all.borrow_mut() = now;
        done
    })
    .await;
    all.into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_carry_what_the_grid_filters_and_sorts_by() {
    let root = tempfile::tempdir().unwrap();
    let server = fleet(root.path()).await;
    let board = Board::open(&root.path().join("data/kubeconfig"));
    let all = compared(&board).await;
    let cells = read(&all);
    let api = ["api-edge-api-0", "api-edge-api-1"];
    let web = ["web-deploy-web-0", "web-deploy-web-1", "web-deploy-web-2"];

    assert_eq!(
        fitting(&cells, |_| true),
        [&api[..], &web].concat(),
        "sorted by name"
    );
    assert_eq!(fitting(&cells, |c| c["set"] == "web"), web);
    assert_eq!(fitting(&cells, |c| c["set"] == "api"), api);
    let label = |cell: &Cell, key: &str| all["repositories"][&cell["repository"]][key].clone();
    assert_eq!(fitting(&cells, |c| label(c, "region") == "eu"), api);
    assert_eq!(fitting(&cells, |c| label(c, "tier") == "core"), [""; 0]);
    assert_eq!(fitting(&cells, |c| label(c, "tier").is_null()), web);

    // A cell's class is the one that Changes shows, and its page has the same revisions.
    let classes: BTreeSet<&str> = cells.iter().map(|c| c["class"].as_str()).collect();
    assert_eq!(classes.len(), 2, "{cells:?}");
    for (set, variants) in [("web", &web[..]), ("api", &api)] {
        let class = &cells.iter().find(|c| c["set"] == set).unwrap()["class"];
        assert_eq!(fitting(&cells, |c| c["class"] == *class), variants);
        assert_eq!(
            fitting(&cells, |c| c["class"].starts_with(&class[..8])),
            variants
        );
        let page = board.get(&format!("changes?class={class}")).2;
        for cell in &cells {
            let link = format!("./revision?name={}\"", cell["revision"]);
            assert_eq!(page.contains(&link), cell["set"] == set, "{link}: {page}");
        }
    }
    assert_eq!(all["steps"], json!({}));
    assert_eq!(all["full"], true);

    // What changed since is told alone, and labels where one of them changed.
    let since = |told: &Value| format!("?since={}", told["version"]);
    let quiet = told(&board, &since(&all));
    assert_eq!(quiet["full"], false);
    assert!(quiet["repositories"].is_null(), "{quiet}");
    let path = format!("{REPOSITORIES}/deploy");
    let labels = json!({ "metadata": { "labels": { "tier": "core" } } });
    server.client.patch(&path, &labels).await.unwrap();
    wait_for("the label", async || {
        told(&board, &since(&all))["repositories"]["deploy"]["tier"] == "core"
    })
    .await;
}

/// An address is a view: all that can be chosen is offered, and what it names is chosen.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_restores_filter_and_order() {
    let root = tempfile::tempdir().unwrap();
    let _server = fleet(root.path()).await;
    let board = Board::open(&root.path().join("data/kubeconfig"));
    compared(&board).await;
    let page = board
        .get("targets?q=x%22y&state=draft&set=api&label=region%3Deu&class=ab12&sort=label%3Atier")
        .2;
    for shown in [
        "name=\"q\" placeholder=\"name, repository, message\" value=\"x&quot;y\"",
        "<option value=\"draft\" selected>",
        "<option>web</option>",
        "<option selected>api</option>",
        "list=\"labels\" value=\"region=eu\"",
        "<option value=\"region=\"></option><option value=\"tier=\"></option>",
        "size=\"9\" value=\"ab12\"",
        "<option value=\"label:region\">label region</option>",
        "<option value=\"label:tier\" selected>label tier</option>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert_eq!(page.matches(" selected>").count(), 3, "{page}");
    for sort in ["state", "repository", "set", "class", "step"] {
        let page = board.get(&format!("targets?sort={sort}")).2;
        let chosen = format!("<option value=\"{sort}\" selected>{sort}</option>");
        assert!(page.contains(&chosen), "{chosen}: {page}");
    }
    let plain = board.get("targets").2;
    assert_eq!(
        plain.matches(" selected>").count(),
        1,
        "sorted by name: {plain}"
    );
}

/// What the page sends of selected cells, as far as the verb is for them.
fn selected(cells: &[Cell], stages: &[&str], fits: impl Fn(&Cell) -> bool) -> Value {
    let of = cells
        .iter()
        .filter(|c| stages.contains(&c["lifecycle"].as_str()) && fits(c));
    let of = of.map(|c| json!({ "name": c["revision"], "tree": c["tree"] }));
    of.collect::<Vec<_>>().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selection_of_cells_is_proposed_rejected_and_approved() {
    let root = tempfile::tempdir().unwrap();
    let server = fleet(root.path()).await;
    let board = Board::open(&root.path().join("data/kubeconfig"));
    let page = board.get("targets").2;
    assert!(
        page.contains("data-propose=\"yes\" data-approve=\"yes\""),
        "{page}"
    );
    let cells = read(&compared(&board).await);
    let stands = async |wanted: &[(&str, usize)]| {
        wait_for("the cells", async || {
            let cells = read(&told(&board, ""));
            wanted.iter().all(|(stage, count)| {
                cells.iter().filter(|c| c["lifecycle"] == *stage).count() == *count
            })
        })
        .await;
        read(&told(&board, ""))
    };
    let send =
        |verb: &str, entries: &Value| board.act(&json!({ "verb": verb, "entries": entries }));

    let drafts = selected(&cells, &["Draft"], |_| true);
    assert_eq!(send("propose", &drafts)["summary"], "5 proposed");
    let cells = stands(&[("Proposed", 5)]).await;
    let web = selected(&cells, &["Proposed"], |c| c["set"] == "web");
    assert_eq!(send("reject", &web)["summary"], "3 rejected");
    let cells = stands(&[("Proposed", 2), ("Draft", 3)]).await;
    let all = selected(&cells, &["Proposed", "DeletionProposed"], |_| true);
    let answer = send("approve", &all);
    assert_eq!(answer["summary"], "2 approved", "{answer}");
    let names: BTreeSet<&str> = results(&answer)
        .into_iter()
        .map(|(name, ..)| name)
        .collect();
    let wanted = ["edge.api-0.packagevariant-1", "edge.api-1.packagevariant-1"];
    assert_eq!(names, wanted.into());
    assert_eq!(lifecycles(&server).await, [("Draft".to_owned(), 3)].into());
    wait_for("the variants to say so", async || {
        let cells = read(&told(&board, ""));
        fitting(&cells, |c| c["state"] == "uptodate") == ["api-edge-api-0", "api-edge-api-1"]
    })
    .await;
}
