//! People at work: an author of blueprints, reviewers at the server, and others who know nothing but git.

use std::path::Path;

use serde_json::{Value, json};

use super::Result;
use super::ledger::{Mark, Pushed};
use super::world::{DOWNSTREAMS, Dice, RESOURCES, REVISIONS, SET, World, text};

/// Publishes the next version of the blueprint, and points the set at it.
pub(super) fn author(world: &World, dice: &mut Dice) {
    let number = world.ledger.number();
    if let Err(why) = world.publish_upstream(number) {
        return world.ledger.refused("publish the blueprint", &why);
    }
    let change = json!({ "spec": { "upstream": { "revision": format!("v{number}") } } });
    match world.patch(SET, &change) {
        Ok(_) => world.ledger.note(&format!("the set wants v{number}")),
        Err(why) => world.ledger.refused("move the set", &why),
    }
    dice.pause(2500);
}

/// Takes one package revision and does one thing with it.
pub(super) fn reviewer(world: &World, dice: &mut Dice) {
    dice.pause(120);
    let revisions = match world.get(REVISIONS) {
        Ok(list) => list,
        Err(why) => return world.ledger.refused("list", &why),
    };
    let ours: Vec<&Value> = revisions["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|r| r["spec"]["repository"] != "blueprints")
        .filter(|r| r["spec"]["lifecycle"] != "Published")
        .collect();
    let Some(revision) = dice.pick(&ours) else {
        return;
    };
    let name = revision["metadata"]["name"].as_str().unwrap_or_default();
    let done = match (revision["spec"]["lifecycle"].as_str(), dice.roll(4)) {
        (Some("Draft"), 0 | 1) => save(world, revision, name),
        (Some("Draft"), 2) => answer_conflicts(world, revision, name),
        (Some("Draft"), _) => move_to(world, revision, name, "Proposed"),
        (Some("Proposed"), 0) => move_to(world, revision, name, "Draft"),
        (Some("Proposed"), _) => move_to(world, revision, name, "Published"),
        _ => Ok(()),
    };
    if let Err(why) = done {
        world.ledger.refused(name, &why);
    }
}

/// Adds a file to a draft, and changes a value.
fn save(world: &World, revision: &Value, name: &str) -> Result<()> {
    let path = format!("{RESOURCES}/{name}");
    let mut resources = world.get(&path)?;
    let number = world.ledger.number();
    let file = format!("note-{number}.txt");
    resources["spec"]["resources"][&file] = json!(format!("by a reviewer: {number}\n"));
    if let Some(site) = resources["spec"]["resources"]["site.yaml"].as_str() {
        let changed = site.replace("color: blue", &format!("color: blue-{number}"));
        resources["spec"]["resources"]["site.yaml"] = json!(changed);
    }
    world.put(&path, &resources)?;
    world.ledger.marked(Mark {
        repository: repository(revision),
        revision: name.to_owned(),
        file,
    });
    Ok(())
}

/// Says of each conflict that it was seen.
fn answer_conflicts(world: &World, revision: &Value, name: &str) -> Result<()> {
    let conflicts = revision["status"]["conflicts"].as_array();
    let ids: Vec<&Value> = conflicts.into_iter().flatten().map(|c| &c["id"]).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let change = json!({ "spec": { "resolvedConflicts": ids } });
    world.patch(&format!("{REVISIONS}/{name}"), &change)?;
    world.ledger.note(&format!("{name}: conflicts answered"));
    Ok(())
}

/// Proposes, rejects or approves what was seen.
fn move_to(world: &World, revision: &Value, name: &str, lifecycle: &str) -> Result<()> {
    let mut revision = revision.clone();
    revision["spec"]["lifecycle"] = json!(lifecycle);
    // Lists leave out what each item is.
    revision["apiVersion"] = json!("porch.kpt.dev/v1alpha1");
    revision["kind"] = json!("PackageRevision");
    let path = match revision.pointer("/spec/lifecycle") {
        Some(to) if to == "Proposed" => format!("{REVISIONS}/{name}"),
        _ => format!("{REVISIONS}/{name}/approval"),
    };
    let answer = world.put(&path, &revision)?;
    world.ledger.note(&format!("{name} is {lifecycle}"));
    if lifecycle == "Published" && answer["spec"]["lifecycle"] == "Published" {
        world.ledger.published(name, &repository(&revision));
    }
    Ok(())
}

fn repository(revision: &Value) -> String {
    let name = revision["spec"]["repository"].as_str();
    name.unwrap_or_default().to_owned()
}

/// Somebody with a clone of some kind, who commits to a draft or to the main branch and pushes.
pub(super) fn with_a_clone(world: &World, dice: &mut Dice) {
    dice.pause(300);
    let Some(name) = dice.pick(&DOWNSTREAMS) else {
        return;
    };
    let clone = world.root.join(format!("clone-{}", world.ledger.number()));
    if let Err(why) = commit_and_push(world, dice, name, &clone) {
        world.ledger.refused(&format!("a clone of {name}"), &why);
    }
    drop(std::fs::remove_dir_all(&clone));
}

fn commit_and_push(world: &World, dice: &mut Dice, name: &str, clone: &Path) -> Result<()> {
    let address = world.address(name);
    let mut arguments = vec!["clone", "--quiet", "--no-single-branch"];
    match dice.roll(3) {
        0 => arguments.extend(["--depth", "1"]),
        1 => arguments.push("--filter=blob:none"),
        _ => {}
    }
    arguments.extend([address.as_str(), text(clone)?]);
    world.git(&world.root, &arguments)?;
    let drafts = [
        "for-each-ref",
        "--format=%(refname:lstrip=3)",
        "refs/remotes/origin",
    ];
    let branches = world.git(clone, &drafts)?;
    let branches: Vec<&str> = branches
        .lines()
        .filter(|branch| branch.starts_with("drafts/") || (*branch == "main" && dice.roll(6) == 0))
        .collect();
    let Some(branch) = dice.pick(&branches) else {
        return Ok(());
    };
    world.git(clone, &["checkout", "--quiet", branch])?;
    let number = world.ledger.number();
    let mut parts = branch.split('/').skip(1);
    let (package, workspace) = (parts.next(), parts.next());
    let file = format!("note-{number}.txt");
    let directory = package.map_or_else(|| clone.to_owned(), |package| clone.join(package));
    std::fs::write(directory.join(&file), "by somebody with git\n").map_err(|e| e.to_string())?;
    world.git(clone, &["add", "--all"])?;
    world.git(clone, &["commit", "--quiet", "--message", &file])?;
    let commit = world.git(clone, &["rev-parse", "HEAD"])?.trim().to_owned();
    // Others work at the same time: a push that does not fit is refused by git.
    dice.pause(200);
    world.git(
        clone,
        &[
            "push",
            "--quiet",
            "origin",
            &format!("HEAD:refs/heads/{branch}"),
        ],
    )?;
    let (package, workspace) = (package.unwrap_or_default(), workspace.unwrap_or_default());
    world.ledger.pushed(Pushed {
        repository: name.to_owned(),
        commit,
        reference: (*branch).to_owned(),
    });
    world
        .ledger
        .note(&format!("{package} {workspace} has {file} by git"));
    Ok(())
}
