//! The page of a revision: each of its parts shows what its command shows, here of a draft with a conflict and of what was
//! published before it.

use std::path::Path;

use super::Board;
use crate::bulk::admin;
use crate::process::{git, wait_for};
use crate::resolve::{draft, upgraded};

/// A part of the page of a revision, without what all pages have.
fn part(board: &Board, name: &str, part: &str) -> String {
    let page = board.get(&format!("revision?name={name}{part}")).2;
    let (_, main) = page.split_once("<main").expect(&page);
    let (main, _) = main.split_once("</main>").unwrap();
    let text = [
        ("&quot;", "\""),
        ("&gt;", ">"),
        ("&lt;", "<"),
        ("&amp;", "&"),
    ];
    let text = text.into_iter();
    text.fold(main.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn shows(page: &str, all: &[&str]) {
    for one in all {
        assert!(page.contains(one), "{one}: {page}");
    }
}

/// What a shell makes of the command that begins so.
fn typed(root: &Path, page: &str, begins: &str) -> String {
    let (_, rest) = page
        .split_once(&format!("tabindex=\"0\">{begins}"))
        .expect(begins);
    let (command, _) = rest.split_once("</code>").unwrap();
    let line = format!("{begins}{command}");
    let done = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(done.status.success(), "{line}: {done:?}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_part_of_a_revision_shows_what_it_is_for() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = upgraded(root).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let reading = || board.get("").2.contains("Reading the fleet");
    wait_for("the fleet", async || !reading()).await;
    let (draft, published) = (draft(0), "deploy.web-0.packagevariant-1");
    let (_, why, _) = admin(root, &["why", &format!("pkgrev/{draft}")]);

    let changes = part(&board, &draft, "");
    shows(
        &changes,
        &[
            &format!("offshoot rpkg diff {draft} --against published<"),
            &format!("<span class=\"soft\">{published}</span>"),
            "<span class=\"minus\">  - data.LOG_LEVEL: \"debug\"\n",
            "<span class=\"plus\">  + data.LOG_LEVEL: \"warn\"\n",
            "<span class=\"minus\">-  LOG_LEVEL: debug\n",
            "<a href=\"./revision?name=blueprints.commented.v2\">",
            "<dd>web-deploy-web-0</dd>",
        ],
    );
    assert!(!changes.contains("metadata.namespace"), "{changes}");
    let upstream = part(&board, &draft, "&against=upstream");
    shows(
        &upstream,
        &[
            &format!("offshoot rpkg diff {draft} --against upstream<"),
            "<span class=\"soft\">blueprints.commented.v2</span>",
            "  - metadata.namespace: \"shop\"\n",
            "  + metadata.namespace: \"commented\"\n",
            "<span class=\"file\">+++ b/package-context.yaml\n",
        ],
    );
    assert!(
        !upstream.contains("data.LOG_LEVEL: \""),
        "it holds upstream's: {upstream}"
    );

    let files = part(&board, &draft, "&part=files");
    shows(
        &files,
        &[
            &format!("offshoot rpkg pull {draft} {draft}<"),
            "<summary>crlf.yaml</summary>",
            "  LOG_LEVEL: warn",
            "<summary>Kptfile</summary>",
            "set-labels:v0.2.5",
        ],
    );

    let told = part(&board, &draft, "&part=why");
    shows(
        &told,
        &[
            &format!("offshoot why pkgrev/{draft}<"),
            &why,
            "hint: offshoot resolve k",
            "<td>offshoot.dev/Conflicts</td><td>False</td><td>ConflictsOpen</td>",
            "1 of 1 conflicts are open",
            "<code class=\"soft\">ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.5</code></th><td>done</td>",
            "<p>info: set 7 labels in total</p>",
        ],
    );

    let blame = part(&board, &draft, "&part=blame");
    let (_, lines, _) = admin(root, &["blame", &draft, "crlf.yaml"]);
    assert!(lines.contains("merge"), "{lines}");
    shows(
        &blame,
        &[
            &format!("offshoot blame {draft} crlf.yaml<"),
            "<summary>crlf.yaml</summary>",
            &lines,
        ],
    );
}

/// The revisions of the package with who made and published them and when, the commits that fields are of with their subjects,
/// and commands that show the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_history_of_a_revision_names_who_when_and_which_commits() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = upgraded(root).await;
    let board = Board::open(&root.join("data/kubeconfig"));
    let (draft, published) = (draft(0), "deploy.web-0.packagevariant-1");
    let history = part(&board, published, "&part=history");
    let rows: Vec<&str> = history.split("<tr").collect();
    let row = |name: &str| {
        let link = format!("<a href=\"./revision?name={name}\">");
        *rows.iter().find(|row| row.contains(&link)).expect(name)
    };
    let object = server
        .get(&format!("{}/{published}", crate::edges::REVISIONS))
        .await;
    let at = object["status"]["publishTimestamp"].as_str().unwrap();
    let minute = at.get(..16).unwrap().replace('T', " ");
    let commit = object["status"]["offshoot"]["commit"].as_str().unwrap();
    shows(
        row(published),
        &[
            "<td>v1</td>",
            "<td>clone by web-deploy-web-0</td>",
            &format!("<td class=\"soft\">{minute} UTC</td><td>admin</td>"),
            &commit[..10],
        ],
    );
    shows(
        row(&draft),
        &[
            "<td>–</td>",
            ">Draft<",
            "<td>upgrade by web-deploy-web-0</td>",
        ],
    );
    assert!(!history.contains("deploy.web-1"), "{history}");
    shows(
        &history,
        &[
            "kubectl get packagerevisions --field-selector spec.repository=deploy,spec.packageName=web-0 -o yaml",
        ],
    );

    // The edit of a person, by its commit and subject, as git tells it; and what is of upstream.
    let log = typed(root, &history, "git clone ");
    let edit = git(
        &root.join("deploy.git"),
        &[
            "log",
            "-1",
            "--no-merges",
            "--author=admin",
            "--format=%H",
            commit,
            "--",
            "web-0",
        ],
    );
    let edit = edit.trim();
    assert!(log.contains(&format!("commit {edit}")), "{log}");
    shows(
        &history,
        &[
            &format!("title=\"{edit}\""),
            &format!(
                "<td class=\"message\">admin ({}): Rendering package</td>",
                &edit[..7]
            ),
            "<td>upstream</td><td class=\"message\">commented/v1 of blueprints (",
        ],
    );
}
