//! What must hold at rest, asked of git and of the server's own answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Result;
use super::world::{DOWNSTREAMS, REPOSITORIES, RESOURCES, REVISIONS, SET, VARIANTS, World};

/// How long the world may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long nothing may change for the world to be at rest: longer than any retry that is due.
const QUIET: Duration = Duration::from_secs(4);

/// How much memory the server may hold, in KiB.
const MEMORY: u64 = 1024 * 1024;

/// Waits until nothing is written any more; how long that took.
pub(super) fn rest(world: &World) -> Result<Duration> {
    let began = Instant::now();
    let mut last = state(world)?;
    let mut since = Instant::now();
    while since.elapsed() < QUIET {
        if began.elapsed() > PATIENCE {
            let now = state(world)?;
            let changed: Vec<_> = now.symmetric_difference(&last).take(6).collect();
            return Err(format!("the world does not come to rest: {changed:?}"));
        }
        std::thread::sleep(Duration::from_millis(500));
        let now = state(world)?;
        if now != last {
            last = now;
            since = Instant::now();
        }
    }
    Ok(began.elapsed().saturating_sub(QUIET))
}

/// Everything that a write would change: refs, and the versions of objects.
fn state(world: &World) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for repository in world.repositories() {
        let refs = world.git(
            &repository,
            &["for-each-ref", "--format=%(objectname) %(refname)"],
        )?;
        all.extend(
            refs.lines()
                .map(|line| format!("{} {line}", repository.display())),
        );
    }
    for path in [REVISIONS, VARIANTS, REPOSITORIES] {
        let list = world.get(path)?;
        for item in list["items"].as_array().into_iter().flatten() {
            let metadata = &item["metadata"];
            all.insert(format!(
                "{path} {} {}",
                metadata["name"], metadata["resourceVersion"]
            ));
        }
    }
    let set = world.get(SET)?;
    all.insert(format!("{SET} {}", set["metadata"]["resourceVersion"]));
    Ok(all)
}

/// Holds everything that was acknowledged against what there is.
///
/// # Errors
///
/// The first promise that is broken.
pub(super) fn everything(world: &World) -> Result<()> {
    sound(world)?;
    quiet_words(world)?;
    let revisions = world.get(REVISIONS)?;
    let revisions: Vec<Value> = revisions["items"].as_array().cloned().unwrap_or_default();
    let files = readable(world, &revisions)?;
    tags_stand(world)?;
    published(world, &revisions)?;
    marks(world, &revisions, &files)?;
    commits_are_reachable(world)?;
    one_draft_each(&revisions)
}

/// Git finds nothing wrong with any repository, nor with any mirror.
fn sound(world: &World) -> Result<()> {
    let mut all = world.repositories();
    all.extend(mirrors(&world.root.join("data")));
    for repository in all {
        world
            .git(
                &repository,
                &[
                    "fsck",
                    "--strict",
                    "--full",
                    "--no-dangling",
                    "--no-progress",
                ],
            )
            .map_err(|why| format!("{}: {why}", repository.display()))?;
    }
    Ok(())
}

/// Git directories below the data directory.
fn mirrors(data: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![data.to_owned()];
    while let Some(directory) = waiting.pop() {
        if directory.join("objects").is_dir() && directory.join("HEAD").is_file() {
            found.push(directory);
            continue;
        }
        let entries = std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten();
        waiting.extend(entries.map(|e| e.path()).filter(|path| path.is_dir()));
    }
    found
}

/// The server neither panicked nor grew without bound.
fn quiet_words(world: &World) -> Result<()> {
    let said = std::fs::read(world.server.said()).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    if let Some(line) = said.lines().find(|line| line.contains("panicked")) {
        return Err(format!("the server panicked: {line}"));
    }
    match world.server.memory() {
        Some(memory) if memory > MEMORY => Err(format!("the server holds {memory} KiB")),
        Some(_) => Ok(()),
        None => Err("the server is gone".to_owned()),
    }
}

/// The names of the files of each revision: every one that is listed can be read.
fn readable(world: &World, revisions: &[Value]) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut all = BTreeMap::new();
    for name in revisions
        .iter()
        .filter_map(|r| r["metadata"]["name"].as_str())
    {
        let resources = world
            .get(&format!("{RESOURCES}/{name}"))
            .map_err(|why| format!("{name} is listed and cannot be read: {why}"))?;
        let files = resources["spec"]["resources"].as_object();
        let files: BTreeSet<_> = files.into_iter().flat_map(|f| f.keys().cloned()).collect();
        if !files.contains("Kptfile") {
            return Err(format!("{name} has no Kptfile: {files:?}"));
        }
        all.insert(name.to_owned(), files);
    }
    Ok(all)
}

/// No tag moved, and none is gone.
fn tags_stand(world: &World) -> Result<()> {
    for name in DOWNSTREAMS {
        let format = "--format=%(refname:lstrip=2) %(objectname)";
        let listed = world.git(&world.bare(name), &["for-each-ref", format, "refs/tags"])?;
        let mut seen = BTreeSet::new();
        for (tag, commit) in listed.lines().filter_map(|line| line.split_once(' ')) {
            let first = world.ledger.tag(name, tag, commit);
            if first != commit {
                return Err(format!(
                    "{name}: the tag {tag} moved from {first} to {commit}"
                ));
            }
            seen.insert(tag.to_owned());
        }
        for tag in world.ledger.tags(name) {
            if !seen.contains(&tag) {
                return Err(format!("{name}: the tag {tag} is gone"));
            }
        }
    }
    Ok(())
}

/// What was acknowledged as published is published.
fn published(world: &World, revisions: &[Value]) -> Result<()> {
    for (name, repository) in world.ledger.all_published() {
        let found = revisions
            .iter()
            .find(|r| r["metadata"]["name"] == name.as_str());
        let lifecycle = found.map(|r| &r["spec"]["lifecycle"]);
        if lifecycle != Some(&Value::from("Published")) {
            return Err(format!(
                "{name} of {repository} was acknowledged as published, and is {lifecycle:?}"
            ));
        }
    }
    Ok(())
}

/// Each file that was acknowledged stands in its revision; where that is gone, in what git can reach.
fn marks(
    world: &World,
    revisions: &[Value],
    files: &BTreeMap<String, BTreeSet<String>>,
) -> Result<()> {
    let mut reachable = BTreeMap::new();
    for name in DOWNSTREAMS {
        let log = [
            "log",
            "--all",
            "--full-history",
            "-m",
            "--name-only",
            "--format=",
        ];
        let log = world.git(&world.bare(name), &log)?;
        let names = log.lines().filter_map(|path| path.rsplit('/').next());
        reachable.insert(name, names.map(str::to_owned).collect::<BTreeSet<_>>());
    }
    let listed = |mark: &str| revisions.iter().any(|r| r["metadata"]["name"] == mark);
    for mark in world.ledger.all_marks() {
        let in_git = reachable.get(mark.repository.as_str());
        if !in_git.is_some_and(|names| names.contains(&mark.file)) {
            let told = format!("{} of {} is in no history", mark.file, mark.revision);
            return Err(format!("{}: {told}", mark.repository));
        }
        let held = files.get(&mark.revision);
        if listed(&mark.revision) && !held.is_some_and(|names| names.contains(&mark.file)) {
            return Err(format!(
                "{} was saved in {} and is not in it",
                mark.file, mark.revision
            ));
        }
    }
    Ok(())
}

/// Every commit that git said was pushed can be reached from a ref.
fn commits_are_reachable(world: &World) -> Result<()> {
    for pushed in world.ledger.all_pushed() {
        let repository = world.bare(&pushed.repository);
        let contains = ["for-each-ref", "--count=1", "--contains", &pushed.commit];
        let here = world.git(&repository, &contains);
        let kept =
            matches!(&here, Ok(refs) if !refs.is_empty()) || in_a_mirror(world, &pushed.commit)?;
        if !kept {
            return Err(format!(
                "{}: {} was pushed to {} and no ref leads to it: {here:?}",
                pushed.repository, pushed.commit, pushed.reference
            ));
        }
    }
    Ok(())
}

/// Whether a mirror keeps a commit: recovery refs of remote repositories may stand there.
fn in_a_mirror(world: &World, commit: &str) -> Result<bool> {
    for mirror in mirrors(&world.root.join("data")) {
        let contains = ["for-each-ref", "--count=1", "--contains", commit];
        let found = world.git(&mirror, &contains);
        if matches!(found, Ok(refs) if !refs.is_empty()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// No variant has two revisions that wait.
fn one_draft_each(revisions: &[Value]) -> Result<()> {
    let mut waiting: BTreeMap<String, &str> = BTreeMap::new();
    for revision in revisions {
        let open = matches!(
            revision["spec"]["lifecycle"].as_str(),
            Some("Draft" | "Proposed")
        );
        let owner = revision.pointer("/metadata/ownerReferences/0/uid");
        let (true, Some(owner)) = (open, owner.and_then(Value::as_str)) else {
            continue;
        };
        let name = revision["metadata"]["name"].as_str().unwrap_or_default();
        if let Some(other) = waiting.insert(owner.to_owned(), name) {
            return Err(format!("one variant waits with {other} and {name}"));
        }
    }
    Ok(())
}
