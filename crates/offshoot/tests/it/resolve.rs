//! `offshoot resolve` and `rpkg del --package` against the running server: one decision for equal conflicts, and what
//! differs stays; a package that goes for good.

use std::path::Path;

use serde_json::{Value, json};

use crate::bulk::{SETS, admin, drafts, lifecycles, revisions};
use crate::edges::{RESOURCES, REVISIONS, until_there};
use crate::process::{Process, git, push, wait_for};

const ALL: [&str; 2] = ["--field-selector", "spec.repository=deploy"];

/// Puts a level into the settings of a package.
async fn edit(server: &Process, name: &str, level: &str) {
    let path = format!("{RESOURCES}/{name}");
    let mut files = server.get(&path).await;
    let text = files["spec"]["resources"]["crlf.yaml"].as_str().unwrap();
    let edited = text.replace("LOG_LEVEL: info", &format!("LOG_LEVEL: {level}"));
    assert_ne!(edited, text);
    files["spec"]["resources"]["crlf.yaml"] = edited.into();
    server.client.put(&path, &files).await.unwrap();
}

pub(crate) async fn level(server: &Process, name: &str) -> String {
    let files = server.get(&format!("{RESOURCES}/{name}")).await;
    let text = files["spec"]["resources"]["crlf.yaml"].as_str().unwrap();
    let line = text
        .lines()
        .find(|line| line.contains("LOG_LEVEL"))
        .unwrap();
    line.rsplit(' ').next().unwrap().to_owned()
}

pub(crate) fn draft(number: usize) -> String {
    format!("deploy.web-{number}.packagevariant-2")
}

/// Four packages, three of them with a level of their own, upgraded to an upstream that has another one.
pub(crate) async fn upgraded(root: &Path) -> Process {
    let server = drafts(root, 4).await;
    for (number, own) in [(0, "debug"), (1, "debug"), (2, "trace")] {
        edit(
            &server,
            &format!("deploy.web-{number}.packagevariant-1"),
            own,
        )
        .await;
    }
    for verb in ["propose", "approve"] {
        let (code, _, err) = admin(root, &[&["rpkg", verb], &ALL[..]].concat());
        assert_eq!(code, 0, "{err}");
    }
    push(root, "blueprints", "commented", "v2");
    until_there(&server, &format!("{REVISIONS}/blueprints.commented.v2")).await;
    let wanted = json!({ "spec": { "upstream": { "revision": 2 } } });
    let path = format!("{SETS}/web");
    server.client.patch(&path, &wanted).await.unwrap();
    for number in 0..4 {
        until_there(&server, &format!("{REVISIONS}/{}", draft(number))).await;
    }
    server
}

/// F4: one decision for equal conflicts, bound to what was listed; a value only where the local ones are equal; as one
/// draft was decided, so the others; twice is once; each in a commit of the asking user.
#[tokio::test(flavor = "multi_thread")]
async fn equal_conflicts_of_many_drafts_are_decided_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = upgraded(root).await;
    let object = server.get(&format!("{REVISIONS}/{}", draft(0))).await;
    let key = object["status"]["conflicts"][0]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(object["status"]["offshoot"]["openConflicts"], key.as_str());
    let (_, why, _) = admin(root, &["why", &format!("pkgrev/{}", draft(0))]);
    let hint = format!("hint: offshoot resolve {key} --take local|upstream|base\n");
    assert!(why.contains(&hint), "{why}");

    let (code, _, err) = admin(root, &["resolve", &key, "--value", "error"]);
    assert!(
        code == 1 && err.contains("the local values differ (\"debug\", \"trace\")"),
        "{err}"
    );
    let (code, _, err) = admin(root, &["resolve", "k00000000", "--take", "local"]);
    assert!(
        code == 1 && err.contains(&format!("open are {key}")),
        "{err}"
    );

    let one = ["--field-selector", "spec.packageName=web-0"];
    let dry = [
        &["resolve", &key, "--value", "error", "--dry-run"],
        &one[..],
    ]
    .concat();
    let (code, out, err) = admin(root, &dry);
    assert_eq!(
        (code, out),
        (0, format!("{} resolved (dry run)\n", draft(0))),
        "{err}"
    );
    assert_eq!(level(&server, &draft(0)).await, "warn");
    let (code, out, err) = admin(
        root,
        &dry.iter()
            .copied()
            .filter(|w| *w != "--dry-run")
            .collect::<Vec<_>>(),
    );
    assert_eq!(
        (code, out),
        (0, format!("{} resolved\n", draft(0))),
        "{err}"
    );
    assert_eq!(level(&server, &draft(0)).await, "error");

    // A value is for equal local values: web-1 has the same, web-2 differs and is named.
    let model = draft(0);
    let like = [&["resolve", "--like", &model], &ALL[..]].concat();
    let (code, out, err) = admin(root, &like);
    assert_eq!(
        (code, out),
        (0, format!("{} resolved\n", draft(1))),
        "{err}"
    );
    assert!(
        err.contains(&format!("differs, and stays untouched: {}", draft(2))),
        "{err}"
    );
    assert_eq!(level(&server, &draft(1)).await, "error");
    assert_eq!(level(&server, &draft(2)).await, "warn");

    let take = ["resolve", &key, "--take", "local"];
    let (code, out, err) = admin(root, &take);
    assert_eq!(
        (code, out),
        (0, format!("{} resolved\n", draft(2))),
        "{err}"
    );
    assert_eq!(level(&server, &draft(2)).await, "trace");
    let (code, out, err) = admin(root, &take);
    assert!(
        code == 0 && out.is_empty() && err.contains("nothing is to be decided"),
        "{out}{err}"
    );
    let log = [
        "log",
        "-1",
        "--format=%an%n%b",
        "drafts/web-2/packagevariant-2",
    ];
    let log = git(&root.join("deploy.git"), &log);
    assert!(
        log.starts_with("admin\n")
            && log.contains("offshoot-resolution: {")
            && log.contains("\"take\":\"local\""),
        "{log}"
    );
    for verb in ["propose", "approve"] {
        let (code, _, err) = admin(root, &[&["rpkg", verb], &ALL[..]].concat());
        assert_eq!(code, 0, "{err}");
    }
    assert_eq!(
        lifecycles(&server).await,
        [("Published".to_owned(), 8)].into()
    );
    for (number, own) in [(0, "error"), (1, "error"), (2, "trace"), (3, "warn")] {
        assert_eq!(level(&server, &draft(number)).await, own);
    }
}

/// Markers are no part of the draft: a later update takes them, and what became of them, for the user's edit.
#[tokio::test(flavor = "multi_thread")]
async fn markers_of_a_pull_are_kept_by_a_later_update() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let _server = upgraded(root).await;
    let (name, directory) = (draft(0), root.join("pulled"));
    let place = directory.display().to_string();
    let (code, _, err) = admin(root, &["rpkg", "pull", &name, &place, "--markers"]);
    assert_eq!(code, 0, "{err}");
    let marked = |file: &std::path::Path| {
        std::fs::read_to_string(file).is_ok_and(|text| text.contains("<<<<<<<"))
    };
    let files = std::fs::read_dir(&directory).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    let file = files
        .find(|file| marked(file))
        .expect("a file with markers");
    let update = || {
        let before = std::fs::read_to_string(&file).unwrap();
        let (code, out, err) = admin(root, &["rpkg", "pull", &name, &place, "--update"]);
        assert_eq!(code, 0, "{err}");
        assert!(
            format!("{out}{err}").contains("keeps your edit"),
            "{out}{err}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    };
    update();
    let text = std::fs::read_to_string(&file).unwrap();
    let lines = text.lines().filter(|line| {
        !["<<<<<<<", "=======", ">>>>>>>", "|||||||"]
            .iter()
            .any(|mark| line.trim_start().starts_with(mark))
    });
    let decided: Vec<&str> = lines.collect();
    std::fs::write(&file, decided.join("\n") + "\n").unwrap();
    update();
}

/// What is resolved is bound to what was listed, and takes the rights to save and to change.
#[tokio::test(flavor = "multi_thread")]
async fn a_resolution_of_what_changed_since_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let server = upgraded(root.path()).await;
    let object = server.get(&format!("{REVISIONS}/{}", draft(0))).await;
    let conflict = &object["status"]["conflicts"][0];
    let decision = json!({
        "file": conflict["file"], "resource": conflict["resource"], "path": conflict["path"],
        "base": conflict["base"], "upstream": conflict["upstream"], "take": "local",
    });
    let request = |tree: &Value, decisions: Value| {
        json!({
            "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "BulkChange",
            "spec": {
                "changes": [{ "name": draft(0), "verb": "resolve", "tree": tree }],
                "resolutions": decisions,
            },
        })
    };
    let bulk = "/apis/fleet.offshoot.dev/v1alpha1/namespaces/default/bulkchanges";
    let other = Value::from("0123456789abcdef0123456789abcdef01234567");
    let answer = server
        .client
        .post(bulk, &request(&other, json!([decision])))
        .await;
    let told = &answer.unwrap()["status"]["results"][0];
    assert_eq!(told["reason"], "Conflict", "{told}");
    let tree = &object["status"]["offshoot"]["tree"];
    let none = server.client.post(bulk, &request(tree, json!([]))).await;
    let why = none.unwrap_err().to_string();
    assert!(why.contains("spec.resolutions must be given"), "{why}");
    let mut differs = decision.clone();
    differs["base"] = json!({ "value": "\"other\"" });
    let answer = server
        .client
        .post(bulk, &request(tree, json!([differs])))
        .await;
    assert_eq!(answer.unwrap()["status"]["skipped"], 1);
    assert_eq!(level(&server, &draft(0)).await, "warn");
    let answer = server
        .client
        .post(bulk, &request(tree, json!([decision])))
        .await;
    assert_eq!(answer.unwrap()["status"]["done"], 1);
    assert_eq!(level(&server, &draft(0)).await, "debug");
}

/// F4: a kill in the middle leaves each draft decided or as it was, also where the records are thrown away; the same
/// command does the rest.
#[tokio::test(flavor = "multi_thread")]
async fn a_resolution_survives_a_kill_and_a_rebuild() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut server = upgraded(root).await;
    let object = server.get(&format!("{REVISIONS}/{}", draft(0))).await;
    let key = object["status"]["conflicts"][0]["key"].as_str().unwrap();
    let resolve = ["resolve", key, "--take", "local"];
    let bare = root.join("deploy.git");
    let decided = || {
        let names = (0..3).map(|n| format!("drafts/web-{n}/packagevariant-2"));
        let messages = names.map(|name| git(&bare, &["log", "-1", "--format=%b", &name]));
        messages
            .filter(|text| text.contains("offshoot-resolution: "))
            .count()
    };
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| admin(root, &resolve));
        while decided() == 0 && !asked.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        server.kill();
        let (code, ..) = asked.join().unwrap();
        println!("killed at {} of 3, code {code}", decided());
    });
    let before = decided();
    for flags in [&[][..], &["--rebuild"]] {
        let mut server = Process::start(root, flags).await;
        for number in 0..4 {
            until_there(&server, &format!("{REVISIONS}/{}", draft(number))).await;
        }
        let open = async || {
            let list = server.get(REVISIONS).await;
            let items = list["items"].as_array().unwrap().iter();
            let open = items.filter(|r| !r["status"]["offshoot"]["openConflicts"].is_null());
            open.count()
        };
        wait_for("what is decided", async || open().await == 3 - before).await;
        server.kill();
    }
    let server = Process::start(root, &[]).await;
    wait_for("the same command does the rest", async || {
        admin(root, &resolve).0 == 0
    })
    .await;
    assert_eq!(decided(), 3);
    for (number, own) in [(0, "debug"), (1, "debug"), (2, "trace"), (3, "warn")] {
        assert_eq!(level(&server, &draft(number)).await, own);
    }
    let (code, _, err) = admin(root, &[&["rpkg", "propose"], &ALL[..]].concat());
    assert_eq!(code, 0, "{err}");
}

/// A package goes for good: its drafts, its revisions with their tags, and its directory; one that a variant makes does
/// not, and the way out is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_is_removed_for_good() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = drafts(root, 1).await;
    let run = |arguments: &[&str]| admin(root, arguments);
    for (package, workspace) in [("mine", "v1"), ("other", "v1")] {
        let init = [
            "rpkg",
            "init",
            package,
            "--repository=deploy",
            "--workspace",
            workspace,
        ];
        assert_eq!(run(&init).0, 0);
        let name = format!("deploy.{package}.{workspace}");
        assert_eq!(run(&["rpkg", "propose", &name]).0, 0);
        assert_eq!(run(&["rpkg", "approve", &name]).0, 0);
    }
    let (code, _, err) = run(&["rpkg", "copy", "deploy.mine.v1", "--workspace=v2"]);
    assert_eq!(code, 0, "{err}");
    let (code, out, err) = run(&["rpkg", "del", "--package", "web-0"]);
    assert!(
        code == 1
            && out.is_empty()
            && err.contains("would make it again")
            && err.contains("packagevariantset web"),
        "{err}"
    );
    let (code, _, err) = run(&["rpkg", "del", "--package", "mine", "--dry-run"]);
    let wanted = "Removing mine from deploy: 1 draft or proposal, its directory on the branch, 1 published revision with its tag.";
    assert!(code == 0 && err.contains(wanted), "{err}");
    assert!(
        err.contains("what deploy.mine.v2 holds goes for good"),
        "{err}"
    );
    // What a person's draft holds goes on no word but theirs.
    let before = revisions(&server).await;
    let (code, out, err) = run(&["rpkg", "del", "--package", "mine"]);
    assert!(
        code == 64 && out.is_empty() && err.contains("nobody is here") && err.contains("--yes"),
        "{out}{err}"
    );
    assert_eq!(revisions(&server).await, before);
    let (code, out, err) = run(&["rpkg", "del", "--package", "mine", "--yes"]);
    assert!(
        code == 0 && out.ends_with("mine is gone from deploy\n"),
        "{out}{err}"
    );
    let bare = root.join("deploy.git");
    assert_eq!(git(&bare, &["ls-tree", "--name-only", "main", "mine"]), "");
    let refs = git(&bare, &["for-each-ref", "--format=%(refname)"]);
    assert!(
        !refs.contains("mine") && refs.contains("refs/tags/other/v1"),
        "{refs}"
    );
    wait_for("no record of it", async || {
        let list = server.get(REVISIONS).await;
        !list.to_string().contains("deploy.mine.")
    })
    .await;
    let (code, _, err) = run(&["rpkg", "del", "--package", "mine"]);
    assert!(code == 1 && err.contains("no revision of package"), "{err}");
}
