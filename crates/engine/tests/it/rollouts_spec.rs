//! Another spec at the same upstream commit goes through the steps, too (F7).

use model::{PackageContextTemplate, Pairs, RolloutState};

use crate::rollouts::{image, publish, published_everywhere, reached, revision, status};
use crate::rollouts_by_hand::variant;
use crate::variants::{push, quiet};
use crate::world::{NS, World};

const MEMBERS: [&str; 4] = [
    "fan-canary-a",
    "fan-early-b",
    "fan-deploy-c",
    "fan-deploy-d",
];

/// The template of the set gives a region; its upstream stays.
fn want_region(world: &World, region: &str) {
    let stored = world.twin.set(NS, "fan").expect("the set");
    let mut fan = stored.parsed.expect("a set");
    let template = fan.spec.targets[0].template.as_mut().expect("a template");
    template.context = Some(PackageContextTemplate {
        data: Pairs::from_iter([("region".to_owned(), region.to_owned())]),
        ..PackageContextTemplate::default()
    });
    world.twin.put_set(fan);
}

/// Which variants are to be in a region, whatever they have published.
fn wanted_in(world: &World, region: &str) -> Vec<usize> {
    let is_there = |at: &usize| {
        let data = variant(world, MEMBERS[*at]).spec.context.data;
        data.get("region").is_some_and(|r| r == region)
    };
    (0..MEMBERS.len()).filter(is_there).collect()
}

async fn is_in(world: &World, name: &str, region: &str) -> bool {
    let text = world.file(name, "package-context.yaml").await;
    text.contains(&format!("region: {region}\n"))
}

/// The upstream commit is the same all the time, and published everywhere: nothing of that opens a step.
#[tokio::test(start_paused = true)]
async fn a_template_that_changes_at_the_same_commit_goes_through_the_steps() {
    let mut world = published_everywhere(0).await;
    let (commit, first) = (
        variant(&world, MEMBERS[0]).spec.upstream.commit,
        status(&world).id,
    );
    want_region(&world, "eu");
    world.rest().await;
    assert_ne!(status(&world).id, first, "it is a rollout of its own");
    assert_eq!(status(&world).progress(), "canary 1/3, 0 of 1");
    assert_eq!(wanted_in(&world, "eu"), [0]);
    assert_eq!(reached(&world, 2), [0]);
    assert!(is_in(&world, &revision(0, 2), "eu").await);
    world.restart().await;
    assert_eq!(wanted_in(&world, "eu"), [0]);
    publish(&world, 0, 2).await;
    assert_eq!(wanted_in(&world, "eu"), [0, 1]);
    assert_eq!(reached(&world, 2), [0, 1]);
    publish(&world, 1, 2).await;
    assert_eq!(wanted_in(&world, "eu"), [0, 1, 2, 3]);
    publish(&world, 2, 2).await;
    publish(&world, 3, 2).await;
    assert_eq!(status(&world).state, RolloutState::Complete);
    for (at, name) in MEMBERS.iter().enumerate() {
        assert_eq!(variant(&world, name).spec.upstream.commit, commit, "{name}");
        assert!(is_in(&world, &revision(at, 2), "eu").await, "{name}");
    }
    quiet(&world).await;
}

/// The template changes amid a rollout: it begins at the first step again, and what was reached behind that keeps its
/// draft as it is until its turn comes.
#[tokio::test(start_paused = true)]
async fn a_template_that_changes_amid_a_rollout_begins_at_the_first_step() {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    let id = status(&world).id;
    assert_eq!(reached(&world, 2), [0, 1]);
    want_region(&world, "us");
    world.rest().await;
    assert_eq!(status(&world).id, id, "the upstream is the same");
    assert_eq!(wanted_in(&world, "us"), [0]);
    assert_eq!(
        (reached(&world, 2), reached(&world, 3)),
        (vec![0, 1], vec![0])
    );
    assert!(!is_in(&world, &revision(1, 2), "us").await);
    quiet(&world).await;
    publish(&world, 0, 3).await;
    assert_eq!(wanted_in(&world, "us"), [0, 1]);
    assert_eq!(reached(&world, 2), [0, 1], "the last step is closed");
    assert!(is_in(&world, &revision(1, 2), "us").await);
    // What was published without it opens nothing.
    publish(&world, 1, 2).await;
    assert_eq!(wanted_in(&world, "us"), [0, 1, 2, 3]);
    quiet(&world).await;
}

/// The draft of what was wanted before is published while its step is closed: that is not what is wanted.
#[tokio::test(start_paused = true)]
async fn what_is_published_of_the_former_template_does_not_fill_a_step() {
    let world = published_everywhere(0).await;
    want_region(&world, "eu");
    world.rest().await;
    publish(&world, 0, 2).await;
    assert_eq!(reached(&world, 2), [0, 1]);
    want_region(&world, "us");
    world.rest().await;
    publish(&world, 1, 2).await;
    assert!(is_in(&world, &revision(1, 2), "eu").await);
    assert_eq!(wanted_in(&world, "us"), [0]);
    publish(&world, 0, 3).await;
    assert_eq!(wanted_in(&world, "us"), [0, 1]);
    assert_eq!(status(&world).steps[1].published, 0);
    assert_eq!(reached(&world, 2), [0, 1], "the last step is closed");
    publish(&world, 1, 3).await;
    assert_eq!(wanted_in(&world, "us"), [0, 1, 2, 3]);
    quiet(&world).await;
}

/// Each member says in its own status which rollout reached it, in which step, and what it had published before; what
/// nothing reached says what the last one left.
#[tokio::test(start_paused = true)]
async fn a_variant_says_which_rollout_reached_it_and_what_it_had_published_before() {
    let world = published_everywhere(0).await;
    let note = |at: usize| {
        let stored = world.twin.variant(NS, MEMBERS[at]).expect("the variant");
        stored.status.rollout.expect("a note")
    };
    let (first, was) = (status(&world).id, variant(&world, MEMBERS[0]).spec.upstream);
    assert_eq!(
        (note(0).rollout, note(0).step),
        (first.clone(), "canary".to_owned())
    );
    assert_eq!(note(0).before, None, "it was made by the first rollout");
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    let second = status(&world).id;
    assert_ne!(first, second);
    for (at, step) in ["canary", "early"].into_iter().enumerate() {
        assert_eq!(
            (note(at).rollout, note(at).step.as_str()),
            (second.clone(), step)
        );
        let before = note(at).before.expect("what was published before");
        assert_eq!((&before.repo, &before.package), (&was.repo, &was.package));
        assert_eq!(Some(before.commit), was.commit);
    }
    for at in [2, 3] {
        assert_eq!(
            (note(at).rollout, note(at).step),
            (first.clone(), "rest".to_owned())
        );
    }
    assert_ne!(note(0).spec, note(2).spec, "they are of different specs");
    // It is the same note that the set wrote onto the variant.
    let annotations = &variant(&world, MEMBERS[0]).meta.annotations;
    let text = annotations.get(plan::variant::words::ROLLOUT);
    assert_eq!(text, Some(&note(0).to_string()));
}
