//! Conflicts that a person decides: by a side, by a value, and what stays untouched.

use engine::usecase::{Act, Acted, Wish};
use engine::{Error, Result};
use model::{
    Choice, ConflictSide, ConflictState, ConflictValue, Lifecycle, Resolution, Status,
    UpstreamVersion,
};
use std::sync::Arc;
use testkit::twin::key;

use crate::variants::{DEPLOYMENT, push, ready, variant};
use crate::world::{NS, World, alice};

const DRAFT: &str = "deploy.shop.packagevariant-2";

fn replicas(count: &str) -> String {
    DEPLOYMENT.replace("replicas: 1", &format!("replicas: {count}"))
}

/// A published 5 of a person's against upstream's 3: the draft of the upgrade holds 3, and waits.
async fn disagreed() -> World {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let first = "deploy.shop.packagevariant-1";
    let five = |text: &str| text.replace("replicas: 1", "replicas: 5 # for the sale\n");
    world.edit(first, "deployment.yaml", five).await;
    world.publish(first).await;
    world.rest().await;
    upgrade(&world, &replicas("3"), 2).await;
    assert_eq!(states(&world), [ConflictState::Open]);
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

fn states(world: &World) -> Vec<ConflictState> {
    let draft = world.revision(DRAFT);
    draft.conflicts.iter().map(|c| c.state).collect()
}

fn decision(world: &World, choice: Choice) -> Resolution {
    Resolution::of(&world.revision(DRAFT).conflicts[0], choice)
}

async fn resolve(world: &World, decision: Resolution, seen: Option<String>) -> Result<Acted> {
    let wish = Wish {
        class: None,
        key: key(NS, DRAFT),
        act: Act::Resolve(Arc::new(vec![decision])),
        seen,
        approver: false,
    };
    let mut many = world.engine.many(&alice(), vec![wish]);
    let (_, acted) = many.next().await.expect("an answer");
    assert!(many.next().await.is_none());
    acted
}

async fn text(world: &World) -> String {
    world.file(DRAFT, "deployment.yaml").await
}

/// F4: the local side comes back as it was written, comment included, in a commit of the asking user; twice is once, and
/// it survives a restart and the loss of the records.
#[tokio::test(start_paused = true)]
async fn a_side_is_taken_as_it_was_written_and_twice_equals_once() {
    let mut world = disagreed().await;
    assert!(text(&world).await.contains("replicas: 3"));
    let local = decision(&world, Choice::Side(ConflictSide::Local));
    let acted = resolve(&world, local.clone(), None)
        .await
        .expect("resolved");
    assert!(matches!(acted, Acted::Done(Some(_))), "{acted:?}");
    assert!(
        text(&world).await.contains("replicas: 5"),
        "{}",
        text(&world).await
    );
    assert_eq!(states(&world), [ConflictState::Resolved]);
    let draft = world.revision(DRAFT);
    let gate = draft.condition("offshoot.dev/Conflicts").map(|c| c.status);
    assert_eq!(gate, Some(Status::True));
    let commit = world
        .outside("deploy")
        .commit(draft.commit)
        .expect("a commit");
    assert!(commit.author.name.contains("alice") || commit.author.email.contains("alice"));
    let line = commit
        .message
        .lines()
        .find(|l| l.starts_with("offshoot-resolution: "));
    let id = &draft.conflicts[0].id;
    let wanted = format!(
        "offshoot-resolution: {{\"format\":1,\"decisions\":[{{\"conflict\":\"{id}\",\"take\":\"local\"}}]}}"
    );
    assert_eq!(line.expect("a trailer"), wanted);
    let again = resolve(&world, local, None).await.expect("an answer");
    assert!(matches!(again, Acted::Already), "{again:?}");
    assert_eq!(world.revision(DRAFT).commit, draft.commit);
    world.restart().await;
    world.rebuild().await;
    assert_eq!(states(&world), [ConflictState::Resolved]);
    assert!(text(&world).await.contains("replicas: 5"));
    world.publish(DRAFT).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_draft_holds_already_is_acknowledged_and_base_and_values_are_written() {
    let world = disagreed().await;
    let upstream = decision(&world, Choice::Side(ConflictSide::Upstream));
    resolve(&world, upstream, None).await.expect("resolved");
    assert_eq!(states(&world), [ConflictState::Acknowledged]);
    assert_eq!(
        world.revision(DRAFT).resolved_conflicts,
        [world.revision(DRAFT).conflicts[0].id.clone()]
    );

    let world = disagreed().await;
    let base = decision(&world, Choice::Side(ConflictSide::Base));
    resolve(&world, base, None).await.expect("resolved");
    assert!(
        text(&world).await.contains("replicas: 1"),
        "{}",
        text(&world).await
    );
    assert_eq!(states(&world), [ConflictState::Resolved]);

    let world = disagreed().await;
    let seven = decision(&world, Choice::Value("7".to_owned()));
    resolve(&world, seven, None).await.expect("resolved");
    assert!(
        text(&world).await.contains("replicas: 7"),
        "{}",
        text(&world).await
    );
    assert_eq!(states(&world), [ConflictState::Resolved]);
}

/// F4: another base, another upstream, for a value also another local: nothing is touched.
#[tokio::test(start_paused = true)]
async fn what_is_not_equal_or_not_as_it_was_seen_stays_untouched() {
    let world = disagreed().await;
    let before = world.revision(DRAFT);
    let local = decision(&world, Choice::Side(ConflictSide::Local));
    let other = ConflictValue::Json("9".to_owned());
    for differs in [
        Resolution {
            base: other.clone(),
            ..local.clone()
        },
        Resolution {
            upstream: other.clone(),
            ..local.clone()
        },
        Resolution {
            path: "spec.other".to_owned(),
            ..local.clone()
        },
        Resolution {
            local: Some(other.clone()),
            ..decision(&world, Choice::Value("7".to_owned()))
        },
    ] {
        let acted = resolve(&world, differs, None).await.expect("an answer");
        assert!(matches!(acted, Acted::Skipped(..)), "{acted:?}");
    }
    let unseen = "0123456789abcdef0123456789abcdef01234567".to_owned();
    let refused = resolve(&world, local.clone(), Some(unseen)).await;
    assert_eq!(
        refused.expect_err("not seen").class(),
        model::Class::Conflict
    );
    assert_eq!(world.revision(DRAFT).commit, before.commit);
    // A proposal's conflicts are decided by nobody.
    let upstream = decision(&world, Choice::Side(ConflictSide::Upstream));
    resolve(&world, upstream, None).await.expect("resolved");
    let (at, door) = (key(NS, DRAFT), model::Door::Main);
    let engine = &world.engine;
    let proposed = engine
        .move_to(&alice(), &at, door, Lifecycle::Proposed)
        .await;
    proposed.expect("proposed");
    let acted = resolve(&world, local, None).await.expect("an answer");
    assert!(matches!(acted, Acted::Skipped(..)), "{acted:?}");
}

/// F4: a render that fails leaves the draft as it was.
#[tokio::test(start_paused = true)]
async fn a_failed_render_leaves_the_draft_as_it_was() {
    let world = disagreed().await;
    let before = world.revision(DRAFT);
    // A pipeline that refuses five replicas.
    let script = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: few\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nsource: |\n  for r in ctx.resource_list[\"items\"]:\n    if r.get(\"spec\", {}).get(\"replicas\") == 5:\n      fail(\"too many\")\n";
    let (_, files) = world
        .engine
        .resources(&key(NS, DRAFT))
        .await
        .expect("files");
    let mut texts: std::collections::BTreeMap<_, _> = files
        .iter()
        .filter_map(|(p, f)| Some((p.clone(), f.as_text()?.to_owned())))
        .collect();
    let path = |text: &str| model::PackagePath::parse(text).expect("a path");
    let own = texts[&path("Kptfile")].clone();
    let with = own.replace(
        "pipeline:\n",
        "pipeline:\n  validators:\n  - image: starlark\n    configPath: few.yaml\n",
    );
    assert_ne!(with, own);
    texts.insert(path("Kptfile"), with);
    texts.insert(path("few.yaml"), script.to_owned());
    let saved = world
        .engine
        .save(&alice(), &before.key, &Default::default(), texts)
        .await;
    saved.expect("three replicas pass");
    let before = world.revision(DRAFT);
    let local = decision(&world, Choice::Side(ConflictSide::Local));
    let refused = resolve(&world, local, None).await;
    assert!(matches!(refused, Err(Error::Render { .. })), "{refused:?}");
    assert_eq!(world.revision(DRAFT), before);
    assert_eq!(states(&world), [ConflictState::Open]);
}
