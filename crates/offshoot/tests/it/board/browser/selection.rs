//! What is selected in the grid: the commands that do the same, and what no button takes.

use serde_json::json;

use super::{address, browser};
use crate::board::Board;
use crate::board::fake::Fake;

/// A draft and the variant that looks after it; it may have a conflict that nobody decided.
fn draft(fake: &Fake, n: usize, conflict: bool) -> String {
    let variant = format!("web-{n:03}");
    let name = format!("edge.{variant}.v1");
    let count = usize::from(conflict);
    fake.put(
        "packagevariants",
        &json!({
            "metadata": { "name": variant, "namespace": "default", "uid": variant, "generation": 1 },
            "spec": { "downstream": { "repo": "edge", "package": variant } },
            "status": {
                "observedGeneration": 1,
                "conditions": [{ "type": "Ready", "status": "True", "reason": "NoErrors", "message": "" }],
                "downstreamTargets": [{ "name": name, "workspaceName": "v1", "lifecycle": "Draft", "conflicts": count }],
            },
        }),
    );
    let conflicts = match conflict {
        true => {
            json!([{ "id": "c1", "file": "deployment.yaml", "path": "spec.replicas", "state": "open" }])
        }
        false => json!([]),
    };
    fake.put(
        "packagerevisions",
        &json!({
            "metadata": { "name": name, "namespace": "default" },
            "spec": { "packageName": variant, "repository": "edge", "workspaceName": "v1", "lifecycle": "Draft" },
            "status": { "conflicts": conflicts, "offshoot": { "tree": format!("{n:040x}") } },
        }),
    );
    name
}

/// A line of a shell holds only so many names: more of them are several commands, each name in one of them, and those with
/// conflicts that nobody decided are in none.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_selection_is_several_commands_and_conflicts_are_in_none_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let fake = Fake::start("ann", true).await;
    let labels = json!({ "metadata": { "name": "edge", "namespace": "default", "labels": {} } });
    fake.put("repositories", &labels);
    let mut wanted: Vec<String> = (0..401).map(|n| draft(&fake, n, false)).collect();
    let conflicted = draft(&fake, 401, true);
    let root = tempfile::tempdir().unwrap();
    let board = Board::start(&fake.kubeconfig(root.path()));
    let browser = &mut browser;
    browser.go(&address(&board));
    browser.until("document.body?.innerText.includes('Targets 402')");
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    browser.go(&format!("{base}targets"));
    browser.until("document.querySelectorAll('.cell').length === 402");
    // As who works by keys selects all that is shown.
    browser.run("document.getElementById('grid').focus()");
    browser.run("document.getElementById('grid').dispatchEvent(new KeyboardEvent('keydown', {key: 'a', ctrlKey: true, bubbles: true}))");
    let shown = browser.run("document.getElementById('selection-verbs').innerText");
    let shown = shown.as_str().unwrap();
    assert!(shown.contains("Propose 401"), "{shown}");
    let why = "1 with conflicts that nobody decided: decide them before you propose";
    assert!(shown.contains(why), "{shown}");
    browser.look("selection");
    browser.click("#selection-verbs .propose");
    browser.until("document.getElementById('dialog').open");
    let command = browser.run("document.querySelector('#dialog code').textContent");
    let flags = browser.run("document.getElementById('selection-verbs').dataset.flags");
    let words = |line: &'_ str| {
        let line = line.strip_suffix(flags.as_str().unwrap()).unwrap();
        line.split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = command.as_str().unwrap().lines().map(words);
    let lines: Vec<Vec<String>> = lines.collect();
    let counts: Vec<usize> = lines.iter().map(|words| words.len() - 3).collect();
    assert_eq!(counts, [200, 200, 1]);
    let mut named = Vec::new();
    for words in &lines {
        assert_eq!(words[..3], ["offshoot", "rpkg", "propose"]);
        named.extend(words[3..].to_vec());
    }
    named.sort();
    wanted.sort();
    assert_eq!(named, wanted, "each once");
    browser.look("selection-asked");
    browser.key("Escape");
    browser.until("!document.getElementById('dialog').open");
    // By itself it is not offered either, and the page says why.
    browser.go(&format!("{base}revision?name={conflicted}"));
    browser.until("document.querySelector('.title p.soft') !== null");
    let said = browser.run("document.querySelector('.title').innerText");
    let said = said.as_str().unwrap();
    let why = "It has conflicts that nobody decided: decide them before you propose it";
    assert!(said.contains(why) && !said.contains("Propose"), "{said}");
    browser.look("blocked");
    // The files of the revision are not told by this server.
    let complaints = browser.complaints.iter().filter(|c| !c.contains("404"));
    assert_eq!(complaints.collect::<Vec<_>>(), Vec::<&String>::new());
}
