//! What an undo gives back, to the byte (F8): every file of the package, its mode, and no other file.

use std::collections::BTreeMap;

use model::{File, FileMode, Files, PackagePath};
use testkit::twin::key;

use crate::rollouts::{
    annotate, image, publish, publish_all, published_everywhere, revision, status,
};
use crate::variants::{DEPLOYMENT, package, quiet};
use crate::world::{NS, World, files_of, push_files};

/// What a Kptfile records of where a package comes from and of its last render, and nobody wrote.
const RECORDED: [&str; 3] = ["upstream:", "upstreamLock:", "status:"];

/// A Kptfile without the sections that record where it comes from.
fn plain(kptfile: &str) -> String {
    let mut kept = String::new();
    let mut is_recorded = false;
    for line in kptfile.lines() {
        if !line.starts_with([' ', '-']) {
            is_recorded = RECORDED.contains(&line);
        }
        if !is_recorded {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// All files of a revision, with their modes.
async fn all(world: &World, name: &str) -> BTreeMap<String, (FileMode, Vec<u8>)> {
    let found = world.engine.resources(&key(NS, name)).await;
    let (_, files) = found.expect("files");
    let one = |(path, file): (&PackagePath, &File)| {
        let bytes = match path.as_str() {
            "Kptfile" => plain(file.as_text().expect("text")).into_bytes(),
            _ => file.bytes().to_vec(),
        };
        (path.to_string(), (file.mode(), bytes))
    };
    files.iter().map(one).collect()
}

async fn kptfile(world: &World, name: &str) -> String {
    world.file(name, "Kptfile").await
}

/// A version of the upstream package with more files than the first.
fn version(tag: &str, more: &[(&str, File)]) -> Files {
    let files = package(&image(tag));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let mut files = files_of(&files);
    let more = more.iter();
    files.extend(more.map(|(p, f)| (PackagePath::parse(p).expect("a path"), f.clone())));
    files
}

fn executable(text: &str) -> File {
    File::New {
        mode: FileMode::Executable,
        bytes: text.as_bytes().into(),
    }
}

async fn release(world: &World, tag: &str, files: &Files) {
    let url = "file:///git/blueprints.git";
    push_files(&world.store, url, "app", files, Some(tag)).await;
    world.rest().await;
}

/// Files that come, go and change, a mode, bytes that are no text, and sections of the Kptfile: the next version has all of
/// it otherwise, and nothing of that is left.
#[tokio::test(start_paused = true)]
async fn an_undo_gives_back_every_file_with_its_mode_and_leaves_no_other() {
    let world = published_everywhere(0).await;
    let odd: &[u8] = &[0, 159, 146, 150, 0, 13, 10];
    let second = version(
        "v2",
        &[
            ("README.md", File::text("The second.\n\n  kept as it is \n")),
            ("run.sh", executable("#!/bin/sh\necho two\n")),
            ("plain.sh", File::text("echo\n")),
            ("logo.bin", File::new(odd)),
            (
                "deep/limits.yaml",
                File::text(
                    "# few\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits}\ndata:\n  cpu: \"2\" # cores\n",
                ),
            ),
        ],
    );
    release(&world, "v2", &second).await;
    publish_all(&world, 2).await;
    let before = all(&world, &revision(0, 2)).await;
    assert_eq!(before.len(), 9, "{:?}", before.keys());
    assert_eq!(before["run.sh"].0, FileMode::Executable);
    let recorded = kptfile(&world, &revision(0, 2)).await;

    let mut third = version(
        "v3",
        &[
            ("run.sh", File::text("#!/bin/sh\necho three\n")),
            ("plain.sh", executable("echo\n")),
            ("logo.bin", File::new(&[1_u8, 0, 1][..])),
            (
                "new.yaml",
                File::text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n"),
            ),
            (
                "deep/limits.yaml",
                File::text(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits}\ndata:\n  cpu: \"4\"\n  memory: 1Gi\n",
                ),
            ),
        ],
    );
    let named = PackagePath::parse("Kptfile").expect("a path");
    let text = third[&named].as_text().expect("text").replace(
        "description: an app # kept",
        "description: another app\n  keywords: [third]",
    );
    third.insert(named, File::text(text));
    release(&world, "v3", &third).await;
    publish(&world, 0, 3).await;
    let after = all(&world, &revision(0, 3)).await;
    for name in [
        "README.md",
        "run.sh",
        "plain.sh",
        "logo.bin",
        "new.yaml",
        "Kptfile",
    ] {
        assert_ne!(
            after.get(name),
            before.get(name),
            "{name} is another one in v3"
        );
    }

    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    let back = revision(0, 4);
    assert_eq!(all(&world, &back).await, before);
    // Also what it records of its upstream: that is the commit that it had.
    assert_eq!(kptfile(&world, &back).await, recorded);
    publish(&world, 0, 4).await;
    assert_eq!(all(&world, &back).await, before, "publishing adds nothing");
    quiet(&world).await;
}

/// What people published of their own before the rollout is part of what was there before.
#[tokio::test(start_paused = true)]
async fn an_undo_gives_back_what_people_had_published_of_their_own() {
    let world = published_everywhere(0).await;
    let draft = revision(0, 1);
    let own = DEPLOYMENT.replace("paused: false", "paused: true # mine");
    let mut files = BTreeMap::from([("notes.txt", "by hand\n")]);
    files.insert("deployment.yaml", &own);
    let text = kptfile(&world, &draft).await;
    files.insert("Kptfile", &text);
    let mut pushed = Vec::new();
    for name in ["endpoint.yaml", "package-context.yaml"] {
        pushed.push((name, world.file(&draft, name).await));
    }
    let kept = pushed.iter().map(|(name, text)| (*name, text.as_str()));
    let files: Vec<(&str, &str)> = files.into_iter().chain(kept).collect();
    world.push("canary", "a", &files, Some("v2")).await;
    world.rest().await;
    let named = "canary.a.v2";
    assert!(
        world.names().contains(&named.to_owned()),
        "{:?}",
        world.names()
    );
    let before = all(&world, named).await;
    assert!(before.contains_key("notes.txt"));
    release(&world, "v2", &version("v2", &[])).await;
    let drafted = world
        .names()
        .into_iter()
        .find(|n| n.starts_with("canary.a.packagevariant-") && *n != draft);
    let drafted = drafted.expect("a draft");
    world.publish(&drafted).await;
    world.rest().await;
    assert_ne!(all(&world, &drafted).await, before);
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    let known = [&draft, &drafted];
    let back = world
        .names()
        .into_iter()
        .find(|n| n.starts_with("canary.a.packagevariant-") && !known.contains(&n));
    assert_eq!(all(&world, &back.expect("a draft")).await, before);
    quiet(&world).await;
}
