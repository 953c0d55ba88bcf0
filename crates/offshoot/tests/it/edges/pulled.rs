//! Directories and lists that were pulled: what broke off, what people do in them meanwhile, and what comes back in git.

use std::path::Path;
use std::process::Command;

use super::{REVISIONS, checkout, commit, kptfile, map, register, until_there, write};
use crate::board::Board;
use crate::local::{Answer, get, offshoot};
use crate::process::{Process, bare, git, wait_for};

/// A server with the draft `deploy.web.hand`, made in git.
struct World {
    root: tempfile::TempDir,
    server: Process,
}

impl World {
    async fn start(files: &[(&str, &[u8])]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let server = Process::start(root.path(), &["--allow-exec"]).await;
        register(&server, root.path(), "deploy", true).await;
        let deploy = checkout(root.path(), "deploy");
        git(&deploy, &["checkout", "--quiet", "-b", "drafts/web/hand"]);
        write(
            &deploy.join("web"),
            &[("Kptfile", kptfile("web").as_bytes())],
        );
        write(&deploy.join("web"), files);
        commit(&deploy, "by-hand");
        until_there(&server, &format!("{REVISIONS}/{DRAFT}")).await;
        Self { root, server }
    }

    fn path(&self) -> &Path {
        self.root.path()
    }

    fn config(&self) -> String {
        self.path().join("data/kubeconfig").display().to_string()
    }

    fn run(&self, arguments: &[&str], input: &str) -> Answer {
        let config = self.config();
        offshoot(
            self.path(),
            &[arguments, &["--kubeconfig", &config]].concat(),
            input,
        )
    }

    /// A file of the draft, as git has it.
    fn in_git(&self, file: &str) -> String {
        let place = format!("drafts/web/hand:web/{file}");
        git(&bare(self.path(), "deploy"), &["show", &place])
    }

    fn files_in_git(&self) -> Vec<String> {
        let all = git(
            &bare(self.path(), "deploy"),
            &["ls-tree", "-r", "--name-only", "drafts/web/hand:web"],
        );
        all.lines().map(str::to_owned).collect()
    }
}

const DRAFT: &str = "deploy.web.hand";

/// A pull that broke off looked to the next push as if the user had deleted what was missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_pull_that_breaks_off_leaves_no_directory_to_push_from() {
    let big = map("big", &"x".repeat(100_000));
    let world = World::start(&[
        ("big.yaml", big.as_bytes()),
        ("z.yaml", map("z", "1").as_bytes()),
    ])
    .await;
    let pull = |limit: &str| {
        let command =
            format!("trap '' XFSZ; {limit} exec \"$0\" rpkg pull {DRAFT} web --kubeconfig \"$1\"");
        let mut shell = Command::new("sh");
        let shell = shell.args([
            "-c",
            &command,
            env!("CARGO_BIN_EXE_offshoot"),
            &world.config(),
        ]);
        shell.current_dir(world.path()).output().unwrap()
    };
    let broken = pull("ulimit -f 8;");
    let told = String::from_utf8_lossy(&broken.stderr).into_owned();
    assert!(
        !broken.status.success() && told.contains("big.yaml"),
        "{told}"
    );
    assert!(!world.path().join("web").exists(), "{told}");
    assert_eq!(world.run(&["rpkg", "push", DRAFT, "web"], "").code, 1);
    let again = pull("");
    assert!(again.status.success(), "{again:?}");
    let mut left = std::fs::read_dir(world.path()).unwrap();
    assert!(!left.any(|e| {
        e.unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".offshoot")
    }));
    assert_eq!(world.run(&["rpkg", "push", DRAFT, "web"], "").code, 0);
    assert_eq!(world.files_in_git(), ["Kptfile", "big.yaml", "z.yaml"]);
}

/// Somebody committed a directory that had been pulled, with its notes.
#[tokio::test(flavor = "multi_thread")]
async fn notes_of_a_pull_that_were_committed_hinder_nobody() {
    let world = World::start(&[(".KptRevisionMetadata", b"kind: KptRevisionMetadata\n")]).await;
    let answer = world.run(&["rpkg", "pull", DRAFT, "web"], "");
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(
        answer.err.contains("own .KptRevisionMetadata is left out"),
        "{}",
        answer.err
    );
    assert!(get(&world.path().join("web"), ".KptRevisionMetadata").contains("resourceVersion"));
    let answer = world.run(&["rpkg", "pull", DRAFT], "");
    assert_eq!(
        answer.out.matches("kind: KptRevisionMetadata").count(),
        1,
        "{}",
        answer.out
    );
    let answer = world.run(&["rpkg", "push", DRAFT, "web"], "");
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert_eq!(world.files_in_git(), ["Kptfile"]);
}
/// A push takes as long as its render; what was typed meanwhile was replaced by what the render made. Here it is the
/// function that types.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_while_a_push_is_under_way_stays() {
    let world = World::start(&[("a.yaml", map("a", "1").as_bytes())]).await;
    assert_eq!(world.run(&["rpkg", "pull", DRAFT, "web"], "").code, 0);
    let here = world.path().join("web");
    let (script, place) = (world.path().join("render.sh"), here.join("a.yaml"));
    let typing = format!(
        "echo '# typed' >> {}\nsed -e 's/value. [12]/value: rendered/'\n",
        place.display()
    );
    std::fs::write(&script, typing).unwrap();
    let pipeline = format!(
        "pipeline:\n  mutators:\n  - exec: sh {}\n",
        script.display()
    );
    let piped = kptfile("web") + &pipeline;
    let new = map("b", "2");
    write(
        &here,
        &[("Kptfile", piped.as_bytes()), ("b.yaml", new.as_bytes())],
    );
    let answer = world.run(&["rpkg", "push", DRAFT, "web"], "");
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert_eq!(get(&here, "b.yaml"), map("b", "rendered"), "{}", answer.err);
    assert_eq!(get(&here, "a.yaml"), map("a", "1") + "# typed\n");
    for told in [
        "a.yaml was edited while it was pushed",
        "b.yaml is as the render left it",
    ] {
        assert!(answer.err.contains(told), "{}", answer.err);
    }
    // What was typed is an edit like any other.
    let answer = world.run(&["rpkg", "pull", DRAFT, "web", "--update"], "");
    assert!(
        answer.err.contains("a.yaml keeps your edit"),
        "{}",
        answer.err
    );
    std::fs::write(&script, "cat\n").unwrap();
    assert_eq!(world.run(&["rpkg", "push", DRAFT, "web"], "").code, 0);
    assert_eq!(world.in_git("a.yaml"), map("a", "1") + "# typed\n");
}

/// What a list cannot show stays when one of the resources beside it is changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_pushed_back_keeps_what_it_does_not_show() {
    let all = format!(
        "{}---\n# for the installer\nvalues: {{important: yes}}\n---\n{}# the end\n",
        map("one", "old"),
        map("two", "other").replace('\n', "\r\n")
    );
    let world = World::start(&[("all.yaml", all.as_bytes())]).await;
    let list = world.run(&["rpkg", "pull", DRAFT], "").out;
    assert!(!list.contains("important"), "{list}");
    let answer = world.run(&["rpkg", "push", DRAFT, "-"], &list.replace("old", "new"));
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert_eq!(world.in_git("all.yaml"), all.replace("old", "new"));
}

/// A reviewer who is told "equal" approves: what no text shows is told as such.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_changes_what_is_not_shown_is_not_called_equal() {
    let world = World::start(&[("run.sh", b"echo\n"), ("a.yaml", map("a", "1").as_bytes())]).await;
    for verb in ["propose", "approve"] {
        let answer = world.run(&["rpkg", verb, DRAFT], "");
        assert_eq!(answer.code, 0, "{}", answer.err);
    }
    let deploy = checkout(world.path(), "deploy");
    let draft = |name: &str| {
        git(&deploy, &["fetch", "--quiet", "--tags"]);
        git(
            &deploy,
            &[
                "checkout",
                "--quiet",
                "--force",
                "-B",
                &format!("drafts/web/{name}"),
                "web/v1",
            ],
        );
    };
    draft("linked");
    std::os::unix::fs::symlink("/etc/passwd", deploy.join("web/evil")).unwrap();
    commit(&deploy, "linked");
    draft("mode");
    git(&deploy, &["update-index", "--chmod=+x", "web/run.sh"]);
    git(&deploy, &["commit", "--quiet", "--message", "mode"]);
    git(&deploy, &["push", "--quiet", "origin", "HEAD"]);
    draft("same");
    git(&deploy, &["push", "--quiet", "origin", "HEAD"]);
    for (name, code, told) in [
        ("linked", 2, "may differ from what is published"),
        ("mode", 2, "+ (mode): \"0755\""),
        ("same", 0, "equal to what is published"),
    ] {
        let revision = format!("deploy.web.{name}");
        until_there(&world.server, &format!("{REVISIONS}/{revision}")).await;
        let answer = world.run(&["rpkg", "diff", &revision], "");
        assert!(
            answer.out.contains(told),
            "{name}: {}{}",
            answer.out,
            answer.err
        );
        assert_eq!(answer.code, code, "{name}: {}{}", answer.out, answer.err);
    }
    let board = Board::open(&world.path().join("data/kubeconfig"));
    let page = |name: &str| board.get(&format!("revision?name=deploy.web.{name}")).2;
    wait_for("the link on the board", async || {
        page("linked").contains("There may be more")
    })
    .await;
    assert!(!page("linked").contains("No field differs"));
    assert!(page("mode").contains("(mode)"), "{}", page("mode"));
    assert!(
        page("same").contains("No field differs"),
        "{}",
        page("same")
    );
}

/// Which of two values counts depends on who reads the file: none is pushed.
#[tokio::test(flavor = "multi_thread")]
async fn a_push_takes_no_key_that_stands_twice() {
    let text = map("z", "1");
    let world = World::start(&[("z.yaml", text.as_bytes())]).await;
    let to = world.path().join("web");
    let shown = to.display().to_string();
    let pulled = world.run(&["rpkg", "pull", DRAFT, &shown], "");
    assert_eq!(pulled.code, 0, "{}", pulled.err);
    std::fs::write(to.join("z.yaml"), format!("{text}  value: 2\n")).unwrap();
    let push = world.run(&["rpkg", "push", DRAFT, &shown], "");
    assert_eq!(push.code, 1, "{}", push.out);
    let place = "z.yaml line 7: the key \"value\" stands there already in line 6";
    assert!(push.err.contains(place), "{}", push.err);
    assert_eq!(world.in_git("z.yaml"), text);
}
