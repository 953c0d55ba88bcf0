//! What becomes of files whose render fails (V2, A4).

use std::collections::BTreeMap;

use engine::usecase::Made;
use model::{Class, Namespace, PackagePath, Revision, Task};
use testkit::twin::key;

use crate::world::{NS, World, alice, input};

const DRAFT: &str = "deploy.app.ws1";
const FILE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one # ours\n";
/// The first function works, the second is nowhere.
const PIPELINE: &str = "pipeline:\n  mutators:\n  - image: set-annotations:v0.1.4\n    configMap:\n      render-test: partial\n  - image: example.test/no-such:v1\n";

fn kptfile(annotations: &str, pipeline: &str) -> String {
    format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n{annotations}{pipeline}"
    )
}

/// A draft of an empty package; `keep`: it is to be kept although its render fails.
async fn drafted(keep: bool) -> World {
    let world = World::new().await;
    world.git("deploy").await;
    world.register("deploy", true).await;
    world.rest().await;
    let task = Task::Init {
        description: String::new(),
        keywords: Vec::new(),
        site: String::new(),
    };
    let mut asked = input("deploy", "app", "ws1", task);
    if keep {
        let keep = "porch.kpt.dev/push-on-render-failure".to_owned();
        asked.meta.annotations.insert(keep, "true".to_owned());
    }
    let namespace = Namespace::parse(NS).expect("a namespace");
    let made = world.engine.create(&alice(), &namespace, asked).await;
    made.expect("a draft");
    world
}

async fn save(world: &World, files: &[(&str, &str)]) -> engine::Result<Made> {
    let path = |path: &str| PackagePath::parse(path).expect("a path");
    let texts: BTreeMap<_, _> = files
        .iter()
        .map(|(name, text)| (path(name), (*text).to_owned()))
        .collect();
    let (by, at) = (alice(), key(NS, DRAFT));
    world
        .engine
        .save(&by, &at, &Default::default(), texts)
        .await
}

/// What is stored.
async fn stored(world: &World) -> (Revision, BTreeMap<String, String>) {
    let found = world.engine.resources(&key(NS, DRAFT)).await;
    let (revision, files) = found.expect("files");
    let texts = files
        .iter()
        .map(|(path, file)| (path.to_string(), file.as_text().expect("text").to_owned()));
    (Revision::clone(&revision), texts.collect())
}

#[tokio::test(start_paused = true)]
async fn a_save_that_fails_is_refused_and_stores_nothing() {
    let world = drafted(false).await;
    let before = stored(&world).await;
    let broken = kptfile("", PIPELINE);
    let refused = save(&world, &[("Kptfile", &broken), ("one.yaml", FILE)]).await;
    let refused = refused.expect_err("its render fails");
    assert_eq!(refused.class(), Class::Invalid);
    let text = refused.to_string();
    let wanted = "error rendering package in kpt function pipeline. Package NOT pushed to remote. Fix locally (until 'kpt fn render' succeeds) and retry. Details: ";
    assert!(text.starts_with(wanted), "{text}");
    assert_eq!(stored(&world).await, before);
}

#[tokio::test(start_paused = true)]
async fn v2_what_is_kept_although_it_fails_is_what_was_sent_and_whoever_sent_it_is_told() {
    let world = drafted(true).await;
    let broken = kptfile("", PIPELINE);
    let sent = [("Kptfile", broken.as_str()), ("one.yaml", FILE)];
    let told = save(&world, &sent).await.expect_err("its render fails");
    assert_eq!(told.class(), Class::Invalid);
    let text = told.to_string();
    let wanted = "error rendering package in kpt function pipeline. Package pushed to remote despite render failure. Details: ";
    assert!(text.starts_with(wanted), "{text}");
    let (kept, files) = stored(&world).await;
    assert_eq!(files["one.yaml"], FILE, "nothing half rendered");
    assert!(
        files["Kptfile"].contains("reason: RenderFailed"),
        "{files:?}"
    );
    assert_eq!(kept.open_gates(), [package::render::GATE]);
    // The same again is no other answer, and no other commit.
    let same: Vec<(&str, &str)> = files
        .iter()
        .map(|(p, t)| (p.as_str(), t.as_str()))
        .collect();
    let again = save(&world, &same).await.expect_err("it fails again");
    assert_eq!(again.to_string(), text);
    assert_eq!(stored(&world).await.0, kept);
    // Mended, all is well.
    let mended = kptfile("", "");
    save(&world, &[("Kptfile", &mended), ("one.yaml", FILE)])
        .await
        .expect("saved");
    assert_eq!(stored(&world).await.0.open_gates(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn v2_a_kptfile_may_ask_to_keep_what_was_rendered_before_the_failure() {
    let world = drafted(true).await;
    let save_it = "  annotations:\n    kpt.dev/save-on-render-failure: \"true\"\n";
    let broken = kptfile(save_it, PIPELINE);
    let told = save(&world, &[("Kptfile", &broken), ("one.yaml", FILE)]).await;
    assert!(told.is_err(), "{told:?}");
    let (kept, files) = stored(&world).await;
    assert!(
        files["one.yaml"].contains("render-test: partial"),
        "{files:?}"
    );
    assert_eq!(kept.open_gates(), [package::render::GATE]);
}
