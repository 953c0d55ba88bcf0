//! Conflicts that wait for a person: through news, restarts and lost records, and what people say about them.

use std::collections::BTreeMap;

use engine::Result;
use engine::usecase::{Input, Made, input_of};
use model::{ConflictId, ConflictState, Door, Lifecycle, Revision, Status, Task, UpstreamVersion};
use testkit::twin::key;

use crate::outside::push_onto;
use crate::variants::{DEPLOYMENT, KPTFILE, endpoint, push, quiet, ready, variant};
use crate::world::{NS, World, alice, input};

const DRAFT: &str = "deploy.shop.packagevariant-1";

fn replicas(count: u8) -> String {
    DEPLOYMENT.replace("replicas: 1", &format!("replicas: {count}"))
}

/// A draft that was never published, with 5 replicas of a person's against upstream's 3.
async fn disagreed() -> World {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let five = |text: &str| text.replace("replicas: 1", "replicas: 5");
    world.edit(DRAFT, "deployment.yaml", five).await;
    upgrade(&world, &replicas(3), 2).await;
    assert_eq!(told(&world), ["1 5 3 Open"]);
    world
}

async fn upgrade(world: &World, deployment: &str, number: i64) {
    push(world, deployment, &format!("v{number}")).await;
    world.rest().await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = UpstreamVersion::Revision(number);
    world.twin.put_variant(wanted);
    world.rest().await;
}

/// The draft's conflicts: base, local, upstream and state.
fn told(world: &World) -> Vec<String> {
    let draft = world.revision(DRAFT);
    let side = |value: &model::ConflictValue| match value {
        model::ConflictValue::Json(text) => text.clone(),
        other => format!("{other:?}"),
    };
    let line = |c: &model::Conflict| {
        let sides = [&c.base, &c.local, &c.upstream].map(side);
        format!("{} {:?}", sides.join(" "), c.state)
    };
    draft.conflicts.iter().map(line).collect()
}

fn gate(draft: &Revision) -> Option<Status> {
    draft.condition("offshoot.dev/Conflicts").map(|c| c.status)
}

async fn say(world: &World, ids: Option<Vec<ConflictId>>) -> Result<Made> {
    let wish = Input {
        resolved_conflicts: ids,
        ..input_of(&world.revision(DRAFT))
    };
    let (engine, at) = (&world.engine, key(NS, DRAFT));
    engine.update(&alice(), &at, Door::Main, wish).await
}

fn id(world: &World) -> ConflictId {
    world.revision(DRAFT).conflicts[0].id.clone()
}

/// V18: it is carried on until somebody answers.
#[tokio::test(start_paused = true)]
async fn a_conflict_that_nobody_answered_outlives_news_restarts_and_lost_records() {
    let mut world = disagreed().await;
    let first = id(&world);
    upgrade(&world, &replicas(3).replace("app:v1", "app:v2"), 3).await;
    assert_eq!(told(&world), ["1 5 3 Open"]);
    endpoint(&world, "us.example.test");
    world.rest().await;
    assert!(
        world
            .file(DRAFT, "endpoint.yaml")
            .await
            .contains("us.example.test")
    );
    assert_eq!(told(&world), ["1 5 3 Open"]);
    world.restart().await;
    world.rebuild().await;
    endpoint(&world, "eu.example.test");
    world.rest().await;
    assert_eq!(told(&world), ["1 5 3 Open"]);
    assert_eq!(id(&world), first);
    quiet(&world).await;
    let draft = world.revision(DRAFT);
    assert_eq!(gate(&draft), Some(Status::False));
    let refused = world
        .engine
        .move_to(&alice(), &draft.key, Door::Main, Lifecycle::Proposed)
        .await;
    assert!(refused.is_err(), "published without an answer");
    say(&world, Some(vec![first])).await.expect("acknowledged");
    assert_eq!(gate(&world.revision(DRAFT)), Some(Status::True));
    assert!(
        world
            .file(DRAFT, "deployment.yaml")
            .await
            .contains("replicas: 5")
    );
    world.publish(DRAFT).await;
}

/// V4a: an id stands for the values.
#[tokio::test(start_paused = true)]
async fn what_is_acknowledged_can_be_taken_back_and_holds_for_these_values_only() {
    let mut world = disagreed().await;
    let first = id(&world);
    let made = say(&world, Some(vec![first.clone()])).await.expect("said");
    assert_eq!(made.warnings, Vec::<String>::new());
    assert_eq!(told(&world), ["1 5 3 Acknowledged"]);
    // A client that does not know the field says nothing by leaving it out.
    say(&world, None).await.expect("said");
    assert_eq!(told(&world), ["1 5 3 Acknowledged"]);
    // One that sends the list without the id takes it back.
    say(&world, Some(Vec::new())).await.expect("said");
    assert_eq!(told(&world), ["1 5 3 Open"]);
    assert_eq!(gate(&world.revision(DRAFT)), Some(Status::False));
    world.rebuild().await;
    assert_eq!(told(&world), ["1 5 3 Open"]);
    assert_eq!(world.revision(DRAFT).resolved_conflicts, []);
    say(&world, Some(vec![first.clone()])).await.expect("said");
    // Other values ask anew, under another id, which can be acknowledged beside the old one.
    upgrade(&world, &replicas(4), 3).await;
    assert_eq!(told(&world), ["3 5 4 Open"]);
    let second = id(&world);
    assert_ne!(first, second);
    let made = say(&world, Some(vec![first.clone(), second]))
        .await
        .expect("said");
    assert_eq!(told(&world), ["3 5 4 Acknowledged"]);
    assert!(made.warnings[0].contains(&first.0), "{:?}", made.warnings);
    // Upstream is back at what it was when that was answered: nothing is left to decide, and the answer stands.
    upgrade(&world, &replicas(3), 4).await;
    assert_eq!(told(&world), Vec::<String>::new());
    let held = world.file(DRAFT, "deployment.yaml").await;
    assert!(held.contains("replicas: 5"), "{held}");
}

/// V4a: an edit of the field is an answer.
#[tokio::test(start_paused = true)]
async fn an_edit_that_was_pushed_answers_too() {
    let world = disagreed().await;
    let edited = replicas(7).replace("app:v1", "app:v2");
    let (_, files) = world
        .engine
        .resources(&key(NS, DRAFT))
        .await
        .expect("files");
    let files: Vec<(&str, String)> = files
        .iter()
        .filter_map(|(path, file)| Some((path.as_str(), file.as_text()?.to_owned())))
        .map(|(path, text)| {
            (
                path,
                if path == "deployment.yaml" {
                    edited.clone()
                } else {
                    text
                },
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let branch = "drafts/shop/packagevariant-1";
    push_onto(&world, "deploy", (branch, branch), "shop", &files).await;
    world.rest().await;
    let draft = world.revision(DRAFT);
    assert_eq!(draft.conflicts[0].state, ConflictState::Resolved);
    assert_eq!(gate(&draft), Some(Status::True));
    assert!(
        world
            .file(DRAFT, "deployment.yaml")
            .await
            .contains("replicas: 7")
    );
    quiet(&world).await;
}

/// V4a: a Kptfile from git without the gate, or with one that is true, decides nothing.
#[tokio::test(start_paused = true)]
async fn a_gate_that_somebody_edits_in_git_answers_no_conflict() {
    let world = disagreed().await;
    let closed = world.file(DRAFT, "Kptfile").await;
    let forged = closed.replace("status: \"False\"", "status: \"True\"");
    assert_ne!(forged, closed);
    let branch = "drafts/shop/packagevariant-1";
    let read = package::kptfile::Kptfile::parse(&closed).expect("a Kptfile");
    let bare = package::conflicts::put_gate(&read, &[]).expect("without the gate");
    assert!(!bare.text().contains("offshoot.dev/Conflicts"));
    let held = world.engine.resources(&key(NS, DRAFT)).await;
    let (_, held) = held.expect("files");
    let text = |path: &model::PackagePath, file: &model::File| {
        Some((path.to_string(), file.as_text()?.to_owned()))
    };
    let mut held: BTreeMap<String, String> = held.iter().filter_map(|(p, f)| text(p, f)).collect();
    for kptfile in [bare.text(), &*forged] {
        held.insert("Kptfile".to_owned(), kptfile.to_owned());
        let files: Vec<(&str, &str)> = held.iter().map(|(p, t)| (&**p, &**t)).collect();
        push_onto(&world, "deploy", (branch, branch), "shop", &files).await;
        world.rest().await;
        assert_eq!(told(&world), ["1 5 3 Open"]);
        let draft = world.revision(DRAFT);
        let refused = world
            .engine
            .move_to(&alice(), &draft.key, Door::Main, Lifecycle::Proposed)
            .await
            .expect_err("nobody answered");
        assert!(refused.to_string().contains("open conflicts"), "{refused}");
    }
}

/// V20: a person's draft is based anew on request.
#[tokio::test(start_paused = true)]
async fn basing_a_persons_draft_anew_invents_no_conflict_and_forgets_none() {
    let mut world = World::new().await;
    world.git("deploy").await;
    let pipeline = "pipeline:\n  mutators:\n  - image: gcr.io/kpt-fn/set-labels:v0.1\n    configMap:\n      tier: web\n";
    let kptfile = format!("{KPTFILE}{pipeline}");
    let deployment = replicas(1);
    let files = [
        ("Kptfile", kptfile.as_str()),
        ("deployment.yaml", &deployment),
    ];
    world.push("deploy", "app", &files, Some("v1")).await;
    world.register("deploy", false).await;
    world.rest().await;
    let namespace = key(NS, "x").namespace;
    let copy = async |world: &World, of: &str, workspace: &str| {
        let source = key(NS, of).name;
        let wish = input("deploy", "app", workspace, Task::Edit { source });
        world
            .engine
            .create(&alice(), &namespace, wish)
            .await
            .expect("copied");
        format!("deploy.app.{workspace}")
    };
    let edit = async |world: &World, name: &str, from: u8, to: u8| {
        let (from, to) = (format!("replicas: {from}"), format!("replicas: {to}"));
        world
            .edit(name, "deployment.yaml", |text| text.replace(&from, &to))
            .await;
    };
    let first = copy(&world, "deploy.app.v1", "first").await;
    world.publish(&first).await;
    // One more function each: the render reports differ in all three.
    let more = |image: &str, config: &str| {
        let function =
            format!("  - image: gcr.io/kpt-fn/{image}\n    configMap:\n      {config}\n");
        move |text: &str| text.replace("      tier: web\n", &format!("      tier: web\n{function}"))
    };
    let mine = copy(&world, &first, "mine").await;
    world
        .edit(&mine, "Kptfile", more("set-annotations:v0.1", "a: b"))
        .await;
    edit(&world, &mine, 1, 5).await;
    let rebased = async |world: &World| {
        let mut wish = input_of(&world.revision("deploy.app.mine"));
        let asked = ("offshoot.dev/rebase".to_owned(), "true".to_owned());
        wish.meta.annotations.extend([asked]);
        let at = key(NS, "deploy.app.mine");
        let made = world.engine.update(&alice(), &at, Door::Main, wish).await;
        made.expect("based anew").revision.conflicts.clone()
    };
    let other = copy(&world, &first, "other").await;
    world
        .edit(&other, "Kptfile", more("set-labels:v0.1", "team: blue"))
        .await;
    world.publish(&other).await;
    assert_eq!(rebased(&world).await, []);
    let kptfile = world.file(&mine, "Kptfile").await;
    assert!(
        kptfile.contains("team: blue") && kptfile.contains("a: b"),
        "{kptfile}"
    );
    // Then both change one field, and after that something else.
    let third = copy(&world, &other, "third").await;
    edit(&world, &third, 1, 3).await;
    world.publish(&third).await;
    let conflicts = rebased(&world).await;
    assert_eq!(conflicts.len(), 1);
    assert!(conflicts[0].blocks());
    let fourth = copy(&world, &third, "fourth").await;
    let paused = |text: &str| text.replace("paused: false", "paused: true");
    world.edit(&fourth, "deployment.yaml", paused).await;
    world.publish(&fourth).await;
    assert_eq!(rebased(&world).await, conflicts);
    world.rebuild().await;
    assert_eq!(world.revision(&mine).conflicts, conflicts);
    assert_eq!(gate(&world.revision(&mine)), Some(Status::False));
    // Both sides agree: it is over, also where only git tells of it.
    let fifth = copy(&world, &fourth, "fifth").await;
    edit(&world, &fifth, 3, 5).await;
    world.publish(&fifth).await;
    assert_eq!(rebased(&world).await, []);
    world.rebuild().await;
    assert_eq!(world.revision(&mine).conflicts, []);
    assert_eq!(gate(&world.revision(&mine)), None);
}
