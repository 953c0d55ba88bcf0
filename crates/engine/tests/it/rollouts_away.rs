//! Rollouts while a few members are out of reach (F7): they hold nobody up, nothing of them is lost, and who comes back follows.

use std::collections::BTreeMap;

use model::{
    InjectorTemplate, OpenWhen, PackageName, RepositoryName, Target, TargetSelection, Template,
};

use crate::rollouts::{annotate, image, rollout, status};
use crate::rollouts_by_hand::variant;
use crate::sets::set;
use crate::variants::{condition, push, quiet, ready};
use crate::world::{NS, World, person, repository};

const FAR: &str = "https://git.example/far.git";
/// The member that is out of reach, and its variant.
const LONE: (&str, &str) = ("far.x", "fan-far-x");
/// How many members of the first step lie in a repository that is always there. 95 of a hundred are all of these, and of
/// these with the lone one all, too: so it counts whether that is waited for.
const NEAR: usize = 18;
/// What the last step waits for, and its variant.
const LATE: (&str, &str) = ("deploy.z", "fan-deploy-z");

fn near(at: usize) -> String {
    format!("near.p{at:02}")
}

/// Nineteen members in the first step, of which one lies in a remote repository, and one in the last: 95 of a hundred are
/// enough.
async fn fleet() -> World {
    let world = ready().await;
    world.store.serve(FAR);
    let spec = store::RemoteSpec {
        branch: Some("main".to_owned()),
        create_branch: Some(person()),
        ..store::RemoteSpec::new(FAR)
    };
    let made = store::Store::open(&*world.store, spec).await;
    made.expect("a repository");
    world.git("near").await;
    for (name, url) in [("near", None), ("far", Some(FAR))] {
        let mut registered = repository(name, true);
        if let Some(url) = url {
            url.clone_into(&mut registered.git.repo);
        }
        let ring = ("ring".to_owned(), "0".to_owned());
        registered.meta.labels.extend([ring]);
        world.twin.put_repository(registered);
    }
    world.rest().await;
    let mut places: BTreeMap<String, Vec<PackageName>> = BTreeMap::new();
    let lone = [LONE.0, LATE.0].map(str::to_owned);
    for place in (0..NEAR).map(near).chain(lone) {
        let (repo, package) = place.split_once('.').expect("a place");
        let package = PackageName::parse(package).expect("a name");
        places.entry(repo.to_owned()).or_default().push(package);
    }
    let places = places.into_iter();
    let places = places.map(|(r, p)| (RepositoryName::parse(&r).expect("a name"), p));
    let mut fan = set(
        "fan",
        vec![Target {
            selection: TargetSelection::Repositories(places.collect()),
            template: Some(Template {
                injectors: vec![InjectorTemplate {
                    name_expr: Some("'endpoint-eu'".to_owned()),
                    ..InjectorTemplate::default()
                }],
                ..Template::default()
            }),
        }],
    );
    let mut steps = rollout(0);
    steps.steps.remove(1);
    steps.open = OpenWhen {
        published: 95,
        soak: 0,
    };
    fan.spec.rollout = Some(steps);
    world.twin.put_set(fan);
    world.rest().await;
    world
}

fn draft(place: &str, number: u32) -> String {
    format!("{place}.packagevariant-{number}")
}

fn has(world: &World, place: &str, number: u32) -> bool {
    world.names().contains(&draft(place, number))
}

async fn publish(world: &World, place: &str, number: u32) {
    world.publish(&draft(place, number)).await;
    world.rest().await;
}

/// All but the last of those that are always there.
async fn publish_most(world: &World, number: u32) {
    for at in 0..NEAR - 1 {
        world.publish(&draft(&near(at), number)).await;
    }
    world.rest().await;
}

async fn publish_all(world: &World, number: u32) {
    publish_most(world, number).await;
    publish(world, &near(NEAR - 1), number).await;
    publish(world, LONE.0, number).await;
    publish(world, LATE.0, number).await;
}

/// A remote is asked every minute.
async fn go(world: &World, away: Option<&'static str>) {
    world.deaths.away(away);
    world.pass(62).await;
}

fn reason(world: &World, name: &str) -> String {
    let (_, why) = condition(world, name, "Ready");
    why.split(':').next().unwrap_or_default().to_owned()
}

/// Published, unreachable and members of the first step.
fn first(world: &World) -> (usize, usize, usize) {
    let step = status(world).steps[0].clone();
    (step.published, step.unreachable, step.members)
}

#[tokio::test(start_paused = true)]
async fn a_remote_that_goes_away_amid_a_step_holds_nobody_up_and_comes_back() {
    let mut world = fleet().await;
    assert!(has(&world, LONE.0, 1) && !has(&world, LATE.0, 1));
    publish_most(&world, 1).await;
    go(&world, Some(FAR)).await;
    assert_eq!(reason(&world, LONE.1), "RepositoryNotReady");
    // 95 of a hundred are all that are left.
    assert_eq!(first(&world), (NEAR - 1, 1, NEAR + 1));
    assert!(!has(&world, LATE.0, 1));
    publish(&world, &near(NEAR - 1), 1).await;
    assert_eq!(first(&world), (NEAR, 1, NEAR + 1));
    assert!(has(&world, LATE.0, 1), "five of a hundred hold nobody up");
    world.restart().await;
    assert_eq!(first(&world), (NEAR, 1, NEAR + 1));
    assert!(has(&world, LONE.0, 1), "its draft is remembered");
    go(&world, None).await;
    // One more is waited for now; what was opened stays.
    assert_eq!(first(&world), (NEAR, 0, NEAR + 1));
    publish(&world, LONE.0, 1).await;
    assert_eq!(first(&world), (NEAR + 1, 0, NEAR + 1));
    publish(&world, LATE.0, 1).await;
    assert_eq!(status(&world).state, model::RolloutState::Complete);
    go(&world, None).await;
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_begins_while_a_remote_is_away_reaches_its_members_once_it_is_back() {
    let world = fleet().await;
    publish_all(&world, 1).await;
    assert_eq!(status(&world).state, model::RolloutState::Complete);
    let first_id = status(&world).id;
    go(&world, Some(FAR)).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    assert_ne!(status(&world).id, first_id, "it begins");
    assert!(has(&world, &near(0), 2) && !has(&world, LONE.0, 2));
    assert_eq!(first(&world), (0, 1, NEAR + 1));
    publish_most(&world, 2).await;
    assert!(!has(&world, LATE.0, 2));
    publish(&world, &near(NEAR - 1), 2).await;
    assert!(has(&world, LATE.0, 2));
    // It is wanted already, and drafted once somebody can.
    let commit = |name: &str| variant(&world, name).spec.upstream.commit;
    assert_eq!(commit(LONE.1), commit(LATE.1));
    go(&world, None).await;
    assert!(has(&world, LONE.0, 2), "{:?}", world.names());
    assert_eq!(first(&world), (NEAR, 0, NEAR + 1));
    let text = world.file(&draft(LONE.0, 2), "deployment.yaml").await;
    assert!(text.contains("app:v2"), "{text}");
    go(&world, None).await;
    quiet(&world).await;
}

/// A member that is out of reach goes back with the others, as soon as somebody can reach it.
#[tokio::test(start_paused = true)]
async fn an_undo_reaches_a_member_once_its_remote_is_back() {
    let world = fleet().await;
    publish_all(&world, 1).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, LONE.0, 2).await;
    go(&world, Some(FAR)).await;
    annotate(&world, plan::set::UNDO, Some(&status(&world).id));
    world.rest().await;
    assert!(!has(&world, LONE.0, 3));
    assert!(!has(&world, &near(0), 2), "nobody edited it: it goes");
    go(&world, None).await;
    let text = world.file(&draft(LONE.0, 3), "deployment.yaml").await;
    assert!(text.contains("app:v1"), "{text}");
    publish(&world, LONE.0, 3).await;
    let message = status(&world).message;
    let all = format!("{0} of {0} members", NEAR + 1);
    assert!(message.starts_with(&all), "{message}");
    assert_eq!(
        world
            .twin
            .set(NS, "fan")
            .expect("the set")
            .status
            .rollout
            .map(|r| r.state),
        Some(model::RolloutState::Undone)
    );
    go(&world, None).await;
    quiet(&world).await;
}
