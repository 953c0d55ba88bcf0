//! Who wrote a field (F5): every layer right, or said to be unknown.
//!
//! A fixture is a package, what happens to it, and who is to be named. Unknown is never wrong; a fixture says where it is
//! what can be said.

mod machine;
mod merges;
mod people;

use std::sync::Arc;

use engine::usecase::{Act, Acted, Caller, Wish};
use model::{Choice, ConflictSide, File, Files, PackagePath, Resolution, Task, UpstreamVersion};
use testkit::twin::key;

use crate::variants::{endpoint, variant};
use crate::world::{NS, World, input, push_files};

pub(crate) const FIRST: &str = "deploy.shop.packagevariant-1";
pub(crate) const SECOND: &str = "deploy.shop.packagevariant-2";
pub(crate) const THIRD: &str = "deploy.shop.packagevariant-3";

pub(crate) const KPTFILE: &str =
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\ninfo:\n  description: an app\n";
pub(crate) const CONTEXT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: example\n";
pub(crate) const APP: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  replicas: 1 # few\n  paused: false\n  template:\n    spec:\n      containers:\n      - name: app\n        image: app:v1\n        args: [--a, --b]\n      - name: side\n        image: side:v1\n";
pub(crate) const IMAGE: &str = "spec.template.spec.containers[name=app].image";

/// What happens.
pub(crate) enum Do {
    /// Somebody puts a text in the place of another in a file of a revision.
    Edit(
        &'static str,
        &'static str,
        &'static str,
        &'static str,
        &'static str,
    ),
    /// Somebody writes a file of a revision.
    Write(&'static str, &'static str, &'static str, &'static str),
    /// Alice takes a file away.
    Remove(&'static str, &'static str),
    /// Alice moves a file.
    Move(&'static str, &'static str, &'static str),
    /// The next upstream has a text in the place of another in a file; an empty one takes the file away.
    Upstream(&'static str, &'static str, &'static str),
    /// The next upstream has a file besides, or as this.
    UpstreamFile(&'static str, &'static str),
    /// The next upstream is published as this revision, and wanted.
    Upgrade(i64),
    /// A revision is proposed and approved.
    Publish(&'static str),
    /// The object that is injected says this.
    Inject(&'static str),
    /// The variant's context has this key with this value.
    Context(&'static str, &'static str),
    /// Alice takes a side of every open conflict of a revision.
    Take(&'static str, ConflictSide),
    /// Alice makes a package by herself: a workspace of a package, by a task.
    Make(&'static str, &'static str, fn() -> Task),
    /// Somebody pushes a file straight to the branch of the deployment repository.
    PushedPast(&'static str, &'static str, &'static str),
    /// The process dies and another starts.
    Restart,
    /// The objects are lost and found again in git.
    Rebuild,
}

/// A file, a field, the layer, and a part of what is said of it.
pub(crate) type Who = (&'static str, &'static str, &'static str, &'static str);

/// One fixture.
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    /// Files of the upstream package besides the usual ones, or in their place.
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) story: &'static [Do],
    pub(crate) revision: &'static str,
    pub(crate) wrote: &'static [Who],
}

fn path(text: &str) -> PackagePath {
    PackagePath::parse(text).expect("a path")
}

async fn publish(world: &World, files: &Files, number: i64) {
    let tag = format!("v{number}");
    push_files(
        &world.store,
        "file:///git/blueprints.git",
        "app",
        files,
        Some(&tag),
    )
    .await;
    world.rest().await;
}

/// Changes the files of a draft as somebody.
async fn save(
    world: &World,
    who: &str,
    revision: &str,
    change: impl FnOnce(&mut Vec<(PackagePath, String)>),
) {
    let (_, files) = world
        .engine
        .resources(&key(NS, revision))
        .await
        .expect("files");
    let texts = files
        .iter()
        .filter_map(|(p, f)| Some((p.clone(), f.as_text()?.to_owned())));
    let mut texts: Vec<(PackagePath, String)> = texts.collect();
    change(&mut texts);
    let texts: std::collections::BTreeMap<_, _> = texts.into_iter().collect();
    let by = Caller::user(who);
    let saved = world
        .engine
        .save(&by, &key(NS, revision), &Default::default(), texts)
        .await;
    saved.unwrap_or_else(|e| panic!("{revision}: {e}"));
    world.rest().await;
}

fn text<'t>(texts: &'t mut [(PackagePath, String)], file: &str) -> &'t mut String {
    let wanted = path(file);
    let names: Vec<String> = texts.iter().map(|(p, _)| p.to_string()).collect();
    let found = texts.iter_mut().find(|(p, _)| *p == wanted);
    &mut found
        .unwrap_or_else(|| panic!("no {file} among {names:?}"))
        .1
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from:?} is not in {text}");
    text.replace(from, to)
}

async fn take(world: &World, revision: &str, side: ConflictSide) {
    let known = world.revision(revision);
    let open = known.conflicts.iter().filter(|c| c.blocks());
    let decisions: Vec<Resolution> = open
        .map(|c| Resolution::of(c, Choice::Side(side)))
        .collect();
    assert!(!decisions.is_empty(), "{revision} has no open conflict");
    let wish = Wish {
        class: None,
        key: key(NS, revision),
        act: Act::Resolve(Arc::new(decisions)),
        seen: None,
        approver: false,
    };
    let mut many = world.engine.many(&Caller::user("alice"), vec![wish]);
    let (_, acted) = many.next().await.expect("an answer");
    assert!(matches!(acted, Ok(Acted::Done(_))), "{acted:?}");
    world.rest().await;
}

async fn happens(world: &mut World, upstream: &mut Files, one: &Do) {
    match one {
        Do::Edit(who, revision, file, from, to) => {
            save(world, who, revision, |texts| {
                let text = text(texts, file);
                *text = replaced(text, from, to);
            })
            .await;
        }
        Do::Write(who, revision, file, new) => {
            save(world, who, revision, |texts| {
                texts.retain(|(p, _)| *p != path(file));
                texts.push((path(file), (*new).to_owned()));
            })
            .await;
        }
        Do::Remove(revision, file) => {
            save(world, "alice", revision, |texts| {
                texts.retain(|(p, _)| *p != path(file))
            })
            .await;
        }
        Do::Move(revision, from, to) => {
            save(world, "alice", revision, |texts| {
                let found = texts.iter_mut().find(|(p, _)| *p == path(from));
                found.expect("the file").0 = path(to);
            })
            .await;
        }
        Do::Upstream(file, _, "") => drop(upstream.remove(&path(file))),
        Do::Upstream(file, from, to) => {
            let old = upstream[&path(file)].as_text().expect("text").to_owned();
            upstream.insert(path(file), File::text(replaced(&old, from, to)));
        }
        Do::UpstreamFile(file, text) => drop(upstream.insert(path(file), File::text(text))),
        Do::Upgrade(number) => {
            publish(world, upstream, *number).await;
            let mut wanted = spec(world);
            wanted.spec.upstream.version = UpstreamVersion::Revision(*number);
            world.twin.put_variant(wanted);
        }
        Do::Publish(revision) => drop(world.publish(revision).await),
        Do::Inject(host) => endpoint(world, host),
        Do::Context(name, value) => {
            let mut wanted = spec(world);
            wanted
                .spec
                .context
                .data
                .insert((*name).to_owned(), (*value).to_owned());
            world.twin.put_variant(wanted);
        }
        Do::Take(revision, side) => take(world, revision, *side).await,
        Do::Make(package, workspace, task) => {
            let wanted = input("deploy", package, workspace, task());
            let namespace = key(NS, "any").namespace;
            let made = world
                .engine
                .create(&Caller::user("alice"), &namespace, wanted)
                .await;
            made.expect("made");
        }
        Do::PushedPast(file, from, to) => {
            let (_, files) = world
                .engine
                .resources(&key(NS, FIRST))
                .await
                .expect("files");
            let mut files = files;
            let old = files[&path(file)].as_text().expect("text").to_owned();
            files.insert(path(file), File::text(replaced(&old, from, to)));
            push_files(&world.store, "file:///git/deploy.git", "shop", &files, None).await;
        }
        Do::Restart => world.restart().await,
        Do::Rebuild => world.rebuild().await,
    }
    world.rest().await;
}

fn spec(world: &World) -> model::Variant {
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    (*stored.parsed.expect("a variant")).clone()
}

/// What is wrong about a fixture.
async fn wrong(fixture: &Fixture) -> Vec<String> {
    let mut upstream: Files = [
        ("Kptfile", KPTFILE),
        ("package-context.yaml", CONTEXT),
        ("app.yaml", APP),
    ]
    .iter()
    .chain(fixture.files)
    .map(|(name, text)| (path(name), content(text)))
    .collect();
    let mut world = World::new().await;
    world.git("blueprints").await;
    publish(&world, &upstream, 1).await;
    world.register("blueprints", false).await;
    world.register("deploy", true).await;
    endpoint(&world, "eu.example.test");
    world.rest().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    for one in fixture.story {
        happens(&mut world, &mut upstream, one).await;
    }
    let blamed = world.engine.blame(&key(NS, fixture.revision)).await;
    let blamed = blamed.unwrap_or_else(|e| panic!("{}: {e}", fixture.name));
    let mut wrong = Vec::new();
    for (file, field, layer, what) in fixture.wrote {
        let found = blamed
            .iter()
            .find(|b| b.file.as_str() == *file && b.path == *field);
        let said = match (found, *layer) {
            (None, "") => continue,
            (None, _) => "nothing".to_owned(),
            (Some(b), _) if b.wrote.layer() == *layer && b.wrote.to_string().contains(what) => {
                continue;
            }
            (Some(b), _) => format!("{}: {}", b.wrote.layer(), b.wrote),
        };
        wrong.push(format!(
            "{}: {file} {field}: {said}; not {layer}: {what}",
            fixture.name
        ));
    }
    wrong
}

/// A text, or the bytes of what is no text.
fn content(text: &str) -> File {
    match text.strip_prefix("binary:") {
        Some(rest) => File::new([&[0xff, 0xfe, 0x00], rest.as_bytes()].concat()),
        None => File::text(text),
    }
}

async fn all(fixtures: &[Fixture]) -> usize {
    let mut all = Vec::new();
    for fixture in fixtures {
        all.extend(Box::pin(wrong(fixture)).await);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    fixtures.len()
}

/// There are many, of different names.
#[test]
fn there_are_fixtures_for_all_layers() {
    let all = [machine::FIXTURES, people::FIXTURES, merges::FIXTURES].concat_names();
    let names: std::collections::BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(names.len(), all.len(), "two fixtures have one name");
    assert!(names.len() >= 40, "{}", names.len());
}

trait Names {
    fn concat_names(&self) -> Vec<&'static str>;
}

impl<const N: usize> Names for [&[Fixture]; N] {
    fn concat_names(&self) -> Vec<&'static str> {
        self.iter()
            .flat_map(|all| all.iter().map(|f| f.name))
            .collect()
    }
}

/// A package of many files of a kind that a definition in the package describes: each file is compared once, and what
/// is known of kinds is read once. `OFFSHOOT_BLAME_FILES` says how many; how long it took is printed.
#[tokio::test(start_paused = true)]
async fn a_package_of_many_files_is_told_of() {
    let count = std::env::var("OFFSHOOT_BLAME_FILES").ok();
    let count: usize = count.map_or(60, |text| text.parse().expect("a number"));
    let mut files: Files = [
        ("Kptfile", KPTFILE),
        ("package-context.yaml", CONTEXT),
        ("crd.yaml", machine::CRD),
    ]
    .map(|(name, text)| (path(name), File::text(text)))
    .into();
    let rack = |n: usize| machine::RACK.replace("name: rack", &format!("name: rack-{n}"));
    files.extend((0..count).map(|n| (path(&format!("rack-{n}.yaml")), File::text(rack(n)))));
    let world = World::new().await;
    world.git("blueprints").await;
    publish(&world, &files, 1).await;
    world.register("blueprints", false).await;
    world.register("deploy", true).await;
    world.rest().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    save(&world, "alice", FIRST, |texts| {
        let text = text(texts, "rack-7.yaml");
        *text = replaced(text, "size: 2", "size: 3");
    })
    .await;
    let begun = std::time::Instant::now();
    let blamed = world.engine.blame(&key(NS, FIRST)).await.expect("told");
    println!(
        "{count} files, {} fields: {:?}",
        blamed.len(),
        begun.elapsed()
    );
    let layer = |file: &str, field: &str| {
        let mut found = blamed
            .iter()
            .filter(|b| b.file.as_str() == file && b.path == field);
        found.next().map(|b| b.wrote.layer())
    };
    assert_eq!(
        layer("rack-7.yaml", "spec.slots[id=b].size"),
        Some("person")
    );
    assert_eq!(
        layer("rack-8.yaml", "spec.slots[id=b].size"),
        Some("upstream")
    );
    assert_eq!(
        layer("rack-8.yaml", "metadata.labels.tier"),
        Some("function")
    );
}
