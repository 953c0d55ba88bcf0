//! What another server of this API made, and kept beside git: it stays as it is, and goes on from there (A5).

use model::{Lifecycle, ObjectMeta, Revision, Status, UpstreamVersion};
use testkit::twin::key;

use crate::outside::push_onto;
use crate::variants::{DEPLOYMENT, condition, push, quiet, ready, variant};
use crate::world::{NS, World};

const DRAFT: &str = "deploy.shop.packagevariant-1";
const BRANCH: &str = "drafts/shop/packagevariant-1";

/// A draft as another server would have left it, with the owner that it kept and a uid of its own.
async fn left(world: &World, change: impl Fn(&str, &str) -> String) -> ObjectMeta {
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let made: Revision = world.revision(DRAFT);
    let (_, files) = world
        .engine
        .resources(&key(NS, DRAFT))
        .await
        .expect("files");
    let texts: Vec<(String, String)> = files
        .iter()
        .map(|(path, file)| {
            let path = path.to_string();
            let text = change(&path, file.as_text().expect("text"));
            (path, text)
        })
        .collect();
    let texts: Vec<(&str, &str)> = texts
        .iter()
        .map(|(p, t)| (p.as_str(), t.as_str()))
        .collect();
    push_onto(world, "deploy", ("main", BRANCH), "shop", &texts).await;
    let mut meta = ObjectMeta {
        uid: model::Uid::parse("17ee8245-e54b-5e3c-b74a-56fd66857d45").ok(),
        owners: made.meta.owners,
        finalizers: vec!["example.com/hold".to_owned()],
        ..ObjectMeta::default()
    };
    meta.labels.insert("team".to_owned(), "one".to_owned());
    world.twin.inherit(key(NS, DRAFT), meta.clone());
    meta
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_another_server_made_keeps_its_commit_its_owner_and_its_labels() {
    let mut world = ready().await;
    // That server lays its notes out otherwise than we do.
    let indented = |_: &str, text: &str| {
        let Some((own, notes)) = text.split_once("status:\n  conditions:\n") else {
            return text.to_owned();
        };
        let deeper = |line: &str| match line.starts_with("  - ") || line.starts_with("    ") {
            true => format!("  {line}\n"),
            false => format!("{line}\n"),
        };
        let notes: String = notes.lines().map(deeper).collect();
        format!("{own}status:\n  conditions:\n{notes}")
    };
    let meta = left(&world, indented).await;
    let before = world.refs("deploy");
    world.rebuild().await;
    assert_eq!(world.refs("deploy"), before, "git is as it was");
    let found = world.revision(DRAFT);
    assert_eq!(found.machine, None, "no commit of ours");
    assert_eq!(found.meta.uid, meta.uid);
    assert_eq!(found.meta.owners, meta.owners);
    assert_eq!(found.meta.finalizers, meta.finalizers);
    assert_eq!(
        found.meta.labels.get("team").map(String::as_str),
        Some("one")
    );
    assert_eq!(
        world
            .names()
            .iter()
            .filter(|n| n.starts_with("deploy.shop."))
            .count(),
        1
    );
    let (status, message) = condition(&world, "shop", "Ready");
    assert_eq!(status, Status::True, "{message}");
    quiet(&world).await;

    // A restart knows it again; approved, it is what the variant stands on.
    world.restart().await;
    assert_eq!(world.refs("deploy"), before);
    world.publish(DRAFT).await;
    world.rest().await;
    let names = world.names();
    assert!(
        !names.contains(&"deploy.shop.packagevariant-2".to_owned()),
        "{names:?}"
    );
    quiet(&world).await;

    // The next version of the upstream goes the ordinary way.
    push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = UpstreamVersion::Revision(2);
    world.twin.put_variant(wanted);
    world.rest().await;
    assert_eq!(
        world.revision("deploy.shop.packagevariant-2").lifecycle,
        Lifecycle::Draft
    );
}

#[tokio::test(start_paused = true)]
async fn an_edit_in_a_draft_that_another_server_made_stays() {
    let mut world = ready().await;
    left(&world, |path, text| match path.ends_with(".yaml") {
        true => format!("# by a person\n{text}"),
        false => text.to_owned(),
    })
    .await;
    let before = world.refs("deploy");
    world.rebuild().await;
    assert_eq!(world.refs("deploy"), before, "git is as it was");
    quiet(&world).await;
}
