//! Members of a rollout of which something goes away: a variant that is made anew during an undo, and a tag that somebody
//! deletes (F7, F8).

use model::{CommitId, RolloutState};

use testkit::twin::key;

use crate::rollouts::{annotate, image, publish, published_everywhere, reached, revision, status};
use crate::rollouts_by_hand::variant;
use crate::variants::{push, quiet};
use crate::world::{NS, World};

/// Somebody moves, deletes or makes a tag by git; where it was.
async fn tag(world: &World, repository: &str, tag: &str, to: Option<CommitId>) -> Option<CommitId> {
    let outside = world.outside(repository);
    let name = store::RefName::tag(tag).expect("a ref");
    let was = outside.refs().expect("refs").get(&name).copied();
    let edit = store::RefEdit {
        name,
        expect: store::Expect::Any,
        to,
        scope: store::Scope::Remote,
    };
    let asked = store::Submission {
        refs: vec![edit],
        ..store::Submission::default()
    };
    let answer = outside.submit(asked).await.expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
    world.engine.look_at_everything();
    world.rest().await;
    was
}

/// Whoever deletes the variant of a member that is taken back: the one that is made anew goes back as well.
#[tokio::test(start_paused = true)]
async fn a_member_that_is_made_anew_during_an_undo_goes_back() {
    let world = published_everywhere(0).await;
    let before = variant(&world, "fan-canary-a").spec;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    world.twin.delete_variant(NS, "fan-canary-a");
    world.rest().await;
    assert_eq!(variant(&world, "fan-canary-a").spec, before);
    annotate(&world, plan::variant::words::TAKE_BACK, Some("true"));
    world.rest().await;
    let text = world.file(&revision(0, 3), "deployment.yaml").await;
    assert!(text.contains("app:v1"), "{text}");
    publish(&world, 0, 3).await;
    assert!(
        status(&world).message.contains("2 of 2 members"),
        "{:?}",
        status(&world)
    );
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_step_says_of_whom_a_tag_was_deleted() {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    assert_eq!(reached(&world, 2), [0, 1]);
    let was = tag(&world, "canary", "a/v2", None).await;
    let told = status(&world);
    assert_eq!(told.state, RolloutState::Progressing);
    let wanted = "step 'canary' waits for 1 member whose published revision is gone, since its tag was deleted in git";
    let said = &told.message;
    assert!(
        said.starts_with(wanted) && said.ends_with(": fan-canary-a"),
        "{said}"
    );
    let why = world
        .engine
        .why_set(&key(NS, "fan"))
        .await
        .expect("a set")
        .expect("a report");
    assert!(why.contains(wanted), "{why}");
    quiet(&world).await;
    tag(&world, "canary", "a/v2", was).await;
    let told = status(&world);
    assert_eq!(
        (told.step.as_deref(), told.message.as_str()),
        (Some("early"), "")
    );
    quiet(&world).await;
}
