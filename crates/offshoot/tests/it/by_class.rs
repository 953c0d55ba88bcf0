//! Revisions of a class, without a plan and with one: found as they are, told, asked for, and kept in git with the approval.

use std::path::Path;

use serde_json::{Value, json};

use crate::bulk::{admin, lifecycles};
use crate::edges::{REVISIONS, checkout, until_there};
use crate::plan::{DEPLOYMENT, SETS, document, set, started, upstream};
use crate::plan_page::{drafted, edit_in};
use crate::process::{Process, git};
use crate::resolve::upgraded;
use crate::sealed::sealed;

const COUNT: usize = 6;

/// A set whose variants have functions of their own, published, and the id of the one class of what comes next.
async fn with_functions(root: &Path) -> (Process, String) {
    let server = drafted(root, COUNT).await;
    for verb in ["propose", "approve"] {
        let (code, _, err) = admin(
            root,
            &["rpkg", verb, "--field-selector", "spec.repository=deploy"],
        );
        assert_eq!(code, 0, "{err}");
    }
    let next = DEPLOYMENT.replace("web:1.4", "web:1.5");
    upstream(root, &next, "hunter2", None);
    let class = released(root, "v2", COUNT);
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v2")).await;
    for number in 0..COUNT {
        until_there(&server, &format!("{REVISIONS}/{}", draft(number))).await;
    }
    (server, class)
}

/// Plans what stands in the checkout of the blueprints, and tags it; the id of the one class of what it changes.
fn released(root: &Path, tag: &str, count: usize) -> String {
    let work = checkout(root, "blueprints");
    let commit = |args: &[&str]| drop(git(&work, args));
    commit(&["add", "--all"]);
    let who = ["-c", "user.name=x", "-c", "user.email=x@y.z"];
    commit(&[&who[..], &["commit", "--quiet", "-m", "next"]].concat());
    commit(&["push", "--quiet", "origin", "HEAD:refs/heads/next"]);
    let supposed = format!("blueprints/web@{tag}=next");
    let foretold = document(root, &["--upstream", &supposed]);
    assert_eq!(
        foretold["classes"].as_array().unwrap().len(),
        1,
        "{foretold:#}"
    );
    assert_eq!(foretold["classes"][0]["count"], count);
    commit(&["tag", &format!("web/{tag}")]);
    commit(&["push", "--quiet", "origin", &format!("web/{tag}")]);
    foretold["classes"][0]["id"].as_str().unwrap().to_owned()
}

fn draft(number: usize) -> String {
    format!("deploy.web-{number:02}.packagevariant-2")
}

/// F1: functions of a set's template make no class for each target. F3: `--class` without a plan finds what is so now.
#[tokio::test(flavor = "multi_thread")]
async fn a_class_without_a_plan_is_found_told_asked_for_and_kept() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let (server, class) = with_functions(root).await;
    // Somebody edits one: it is of a class of its own then.
    let nine = ("deployment.yaml", "replicas: 3", "replicas: 9");
    edit_in(&server, &draft(0), nine).await;

    let drafts = lifecycles(&server).await["Draft"];
    assert_eq!(drafts, COUNT);
    let of = |verb: &str, more: &[&str]| {
        admin(root, &[&["rpkg", verb, "--class", &class], more].concat())
    };
    // Nobody is there to ask.
    let (code, out, err) = of("propose", &[]);
    assert_eq!((code, out.as_str()), (64, ""), "{err}");
    assert!(
        err.contains(&format!("class {}  5 package revisions", &class[..8]))
            && err.contains("web:1.4 → example.test/web:1.5")
            && err.contains("--yes"),
        "{err}"
    );
    let (code, out, err) = of("propose", &["--dry-run"]);
    assert_eq!((code, out.lines().count()), (0, COUNT - 1), "{err}");
    assert_eq!(lifecycles(&server).await["Draft"], COUNT);
    for verb in ["propose", "approve"] {
        let (code, out, err) = of(verb, &["--yes"]);
        assert_eq!((code, out.lines().count()), (0, COUNT - 1), "{err}");
        assert!(!out.contains(&draft(0)), "{out}");
    }
    // Twice is once: nothing is open any more.
    let (code, out, err) = of("approve", &["--yes"]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert!(err.contains("No open package revision"), "{err}");
    for (arguments, why) in [
        (
            &["rpkg", "approve", "--class", &class[..8], "--yes"][..],
            "64 digits",
        ),
        (
            &["rpkg", "propose-delete", "--class", &class],
            "has no class",
        ),
        (
            &["rpkg", "approve", "x", "--class", &class],
            "cannot be used with",
        ),
    ] {
        let (code, _, err) = admin(root, arguments);
        assert!(code != 0 && err.contains(why), "{arguments:?}: {err}");
    }
    // What was seen stands in each approval's commit.
    let kept = kept(root, COUNT - 1);
    for one in kept {
        assert_eq!(
            (&one["id"], &one["format"]),
            (&json!(class), &json!(1)),
            "{one}"
        );
    }
}

/// F3: a link and a file that is no text keep no package out of a class while they stay as they are; where they change, a plan
/// alone compares them.
#[tokio::test(flavor = "multi_thread")]
async fn links_and_binaries_that_stay_are_compared_without_a_plan() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    let web = checkout(root, "blueprints").join("web");
    let logo = |byte: u8| std::fs::write(web.join("logo.png"), [0x89, b'P', 0, byte]).unwrap();
    logo(1);
    std::os::unix::fs::symlink("deployment.yaml", web.join("link")).unwrap();
    upstream(root, DEPLOYMENT, "hunter1", Some("v2"));
    until_there(&server, &format!("{REVISIONS}/blueprints.web.v2")).await;
    server.create(SETS, &set(2)).await;
    let drafts = async |number: usize| {
        for package in ["web-00", "web-01"] {
            let draft = format!("deploy.{package}.packagevariant-{number}");
            until_there(&server, &format!("{REVISIONS}/{draft}")).await;
        }
    };
    let publish = |selection: &[&str], said: &str| {
        for verb in ["propose", "approve"] {
            let (code, out, err) = admin(root, &[&["rpkg", verb], selection].concat());
            assert_eq!((code, out.lines().count()), (0, 2), "{out}{err}");
            assert!(err.contains(said), "{err}");
        }
    };
    let all = ["--field-selector", "spec.repository=deploy"];
    drafts(1).await;
    publish(&all, "");

    let next = |version: &str| DEPLOYMENT.replace("web:1.4", version);
    upstream(root, &next("web:1.5"), "hunter1", None);
    let class = released(root, "v3", 2);
    drafts(2).await;
    // Of what stands beside nothing everything is new: the drafts alone are asked for.
    let open = "spec.repository=deploy,spec.lifecycle=Draft";
    let (code, out, err) = admin(root, &["rpkg", "diff", "--field-selector", open]);
    assert_eq!(code, 2, "{out}{err}");
    assert!(
        !format!("{out}{err}").contains("not compared"),
        "{out}{err}"
    );
    publish(&["--class", &class, "--yes"], "2 package revisions");

    logo(2);
    upstream(root, &next("web:1.6"), "hunter1", None);
    let class = released(root, "v4", 2);
    drafts(3).await;
    let (code, out, err) = admin(root, &["rpkg", "propose", "--class", &class, "--yes"]);
    assert!(code == 0 && out.is_empty(), "{out}{err}");
    assert!(
        err.contains("2 without a class here (links, or files that"),
        "{err}"
    );
    let (_, out, err) = admin(root, &[&["rpkg", "diff"], &all[..]].concat());
    assert!(
        out.contains("is not compared") && err.is_empty(),
        "{out}{err}"
    );
}

/// What the last approvals say of classes.
fn kept(root: &Path, count: usize) -> Vec<Value> {
    let log = git(
        &root.join("deploy.git"),
        &["log", "--first-parent", "--format=%B", "main"],
    );
    let lines = log
        .lines()
        .filter_map(|line| line.strip_prefix("offshoot-class: "));
    let kept: Vec<Value> = lines
        .map(|json| serde_json::from_str(json).unwrap())
        .collect();
    assert_eq!(kept.len(), count, "{log}");
    kept
}

/// F1: approving by a plan shows the values in which a class's targets differ, and keeps them.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_by_a_plan_shows_and_keeps_the_inputs() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = started(root).await;
    server.create(SETS, &set(2)).await;
    until_there(
        &server,
        &format!("{REVISIONS}/deploy.web-00.packagevariant-1"),
    )
    .await;
    until_there(
        &server,
        &format!("{REVISIONS}/deploy.web-01.packagevariant-1"),
    )
    .await;
    let mut seen: Vec<Value> = Vec::new();
    for number in 0..2 {
        let name = format!("deploy.web-{number:02}.packagevariant-1");
        let object = server.get(&format!("{REVISIONS}/{name}")).await;
        seen.push(json!({
            "variant": format!("default/{name}"), "draft": name, "class": "5f02c1d9".repeat(8),
            "tree": object["status"]["offshoot"]["tree"],
            "inputs": { "package": format!("web-{number:02}"), "context.region": "europe" },
        }));
    }
    let values = json!([{ "value": "web-00", "count": 1 }, { "value": "web-01", "count": 1 }]);
    let plan = json!({
        "format": 1, "plan": "0".repeat(64), "sets": [], "targets": seen, "leaving": [],
        "classes": [{ "id": "5f02c1d9".repeat(8), "count": 2, "inputs": [{ "input": "package", "values": values }] }],
    });
    let keep = |plan: &Value| std::fs::write(root.join("plan.json"), plan.to_string()).unwrap();
    let run = |verb: &str| admin(root, &["rpkg", verb, "--plan", "plan.json"]);
    // What was changed by hand is no plan, and a namespace beside it must be its own.
    keep(&plan);
    let (code, _, err) = run("propose");
    assert!(
        code == 1 && err.contains("is not what offshoot plan wrote"),
        "{code} {err}"
    );
    keep(&sealed(plan));
    let (code, _, err) = admin(
        root,
        &["rpkg", "propose", "--plan", "plan.json", "-n", "other"],
    );
    assert!(
        code == 64 && err.contains("the plan is of namespace default"),
        "{code} {err}"
    );
    let (code, _, err) = run("propose");
    assert_eq!(code, 0, "{err}");
    let (code, out, err) = run("approve");
    assert_eq!((code, out.lines().count()), (0, 2), "{err}");
    assert!(
        err.contains("class 5f02c1d9: 2 package revisions\n  {package}: web-00 1, web-01 1\n"),
        "{err}"
    );
    let mut inputs: Vec<String> = kept(root, 2)
        .iter()
        .map(|k| k["inputs"].to_string())
        .collect();
    inputs.sort();
    assert_eq!(
        inputs,
        ["{\"package\":\"web-00\"}", "{\"package\":\"web-01\"}"]
    );
    // What is no such text is refused.
    let published = server
        .get(&format!("{REVISIONS}/deploy.web-00.packagevariant-1"))
        .await;
    assert_eq!(
        published["metadata"]["annotations"]["offshoot.dev/approved-class"],
        Value::Null
    );
}

/// F3: drafts in conflict are skipped with the reason, and the others go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_selection_goes_on_without_what_has_conflicts() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = upgraded(root).await;
    let all = [
        "--field-selector",
        "spec.repository=deploy,spec.lifecycle=Draft",
    ];
    let waits = "3 of 4 package revisions wait until somebody decides their conflicts";
    for (verb, done, reason, last) in [
        (
            "approve",
            0,
            "skipped: 3 (it is a draft with conflicts to decide): ",
            "",
        ),
        (
            "propose",
            1,
            "skipped: 3 (it has conflicts to decide): ",
            waits,
        ),
    ] {
        let (code, out, err) = admin(root, &[&["rpkg", verb], &all[..]].concat());
        let wrong = i32::from(!last.is_empty());
        assert_eq!((code, out.lines().count()), (wrong, done), "{err}");
        assert!(err.contains(reason) && err.contains(last), "{err}");
        let hint = "hint: `offshoot why pkgrev/deploy.web-0.packagevariant-2`";
        assert_eq!(err.contains(hint), !last.is_empty(), "{err}");
    }
    assert_eq!(lifecycles(&server).await["Proposed"], 1);
    // Alone, it is a failure with its way out.
    let (code, _, err) = admin(root, &["rpkg", "propose", "deploy.web-0.packagevariant-2"]);
    assert!(code == 1 && err.contains("offshoot why pkgrev/"), "{err}");
}
