//! Rollouts of a set at work (F7, F8): steps, soak, halts, and the way back, over git and a clock of its own.

use std::collections::BTreeMap;

use model::{
    HaltWhen, InjectorTemplate, LabelSelector, Lifecycle, OpenWhen, PackageName, Pairs,
    RepositoryName, Rollout, RolloutState, RolloutStatus, RolloutStep, Status, StepMembers, Target,
    TargetSelection, Template, UpstreamSource, UpstreamVersion,
};
use testkit::twin::key;

use crate::sets::{ready_of, set};
use crate::variants::{DEPLOYMENT, condition, endpoint, package, push, quiet, ready, variant};
use crate::world::{NS, World, alice, repository};

/// Where the members are: one in the first step, one in the second, two in the last.
pub(crate) const PLACES: [(&str, &str); 4] = [
    ("canary", "a"),
    ("early", "b"),
    ("deploy", "c"),
    ("deploy", "d"),
];

fn step(name: &str, ring: Option<&str>) -> RolloutStep {
    let members = ring.map_or(StepMembers::Rest, |ring| {
        StepMembers::Selector(LabelSelector {
            match_labels: Pairs::from_iter([("ring".to_owned(), ring.to_owned())]),
            requirements: Vec::new(),
        })
    });
    RolloutStep {
        name: name.to_owned(),
        members,
    }
}

pub(crate) fn rollout(soak: i64) -> Rollout {
    Rollout {
        steps: vec![
            step("canary", Some("0")),
            step("early", Some("1")),
            step("rest", None),
        ],
        open: OpenWhen {
            published: 100,
            soak,
        },
        halt: HaltWhen::default(),
    }
}

pub(crate) fn put_fan(world: &World, rollout: Option<Rollout>, version: UpstreamVersion) {
    let mut places: BTreeMap<&str, Vec<PackageName>> = BTreeMap::new();
    for (repo, package) in PLACES {
        let package = PackageName::parse(package).expect("a name");
        places.entry(repo).or_default().push(package);
    }
    let places = places.into_iter();
    let places = places.map(|(r, p)| (RepositoryName::parse(r).expect("a name"), p));
    let target = Target {
        selection: TargetSelection::Repositories(places.collect()),
        template: Some(Template {
            injectors: vec![InjectorTemplate {
                name_expr: Some("'endpoint-eu'".to_owned()),
                ..InjectorTemplate::default()
            }],
            ..Template::default()
        }),
    };
    let mut fan = set("fan", vec![target]);
    fan.spec.rollout = rollout;
    for source in &mut fan.spec.upstreams {
        if let UpstreamSource::Package(upstream) = source {
            upstream.version = version.clone();
        }
    }
    world.twin.put_set(fan);
}

/// Three downstream repositories, the upstream's v1, and a set that rolls out.
pub(crate) async fn fleet(soak: i64) -> World {
    let world = ready().await;
    for (name, ring) in [("canary", "0"), ("early", "1")] {
        world.git(name).await;
        let mut registered = repository(name, true);
        let ring = ("ring".to_owned(), ring.to_owned());
        registered.meta.labels.extend([ring]);
        world.twin.put_repository(registered);
    }
    world.rest().await;
    put_fan(&world, Some(rollout(soak)), UpstreamVersion::Latest);
    world.rest().await;
    world
}

/// The revision of a member in the making or published.
pub(crate) fn revision(at: usize, number: u32) -> String {
    let (repo, package) = PLACES[at];
    format!("{repo}.{package}.packagevariant-{number}")
}

pub(crate) async fn publish(world: &World, at: usize, number: u32) {
    world.publish(&revision(at, number)).await;
    world.rest().await;
}

/// Publishes all members, in their order.
pub(crate) async fn publish_all(world: &World, number: u32) {
    for at in 0..PLACES.len() {
        publish(world, at, number).await;
    }
}

pub(crate) fn status(world: &World) -> RolloutStatus {
    let stored = world.twin.set(NS, "fan").expect("the set");
    stored.status.rollout.expect("a rollout")
}

pub(crate) fn has(world: &World, at: usize, number: u32) -> bool {
    world.names().contains(&revision(at, number))
}

/// Which members have a revision of this number.
pub(crate) fn reached(world: &World, number: u32) -> Vec<usize> {
    let all = 0..PLACES.len();
    all.filter(|at| has(world, *at, number)).collect()
}

pub(crate) fn annotate(world: &World, key: &str, value: Option<&str>) {
    let stored = world.twin.set(NS, "fan").expect("the set");
    let mut fan = stored.parsed.expect("a set");
    let annotations = &mut fan.meta.annotations;
    match value {
        Some(value) => drop(annotations.insert(key.to_owned(), value.to_owned())),
        None => drop(annotations.remove(key)),
    }
    world.twin.put_set(fan);
}

pub(crate) async fn published_everywhere(soak: i64) -> World {
    let world = fleet(soak).await;
    for at in 0..PLACES.len() {
        publish(&world, at, 1).await;
        if soak > 0 {
            world.pass(u32::try_from(soak).expect("a few") + 2).await;
        }
    }
    assert_eq!(status(&world).state, RolloutState::Complete);
    world
}

pub(crate) fn image(tag: &str) -> String {
    DEPLOYMENT.replace("app:v1", &format!("app:{tag}"))
}

#[tokio::test(start_paused = true)]
async fn a_step_opens_once_the_one_before_is_published_and_a_restart_changes_nothing() {
    let mut world = fleet(0).await;
    assert_eq!(reached(&world, 1), [0]);
    assert_eq!(status(&world).progress(), "canary 1/3, 0 of 1");
    assert_eq!(ready_of(&world, "fan", "RolledOut").0, Status::False);
    world.restart().await;
    assert_eq!(reached(&world, 1), [0]);
    publish(&world, 0, 1).await;
    assert_eq!(reached(&world, 1), [0, 1]);
    world.restart().await;
    publish(&world, 1, 1).await;
    assert_eq!(reached(&world, 1), [0, 1, 2, 3]);
    assert_eq!(status(&world).progress(), "rest 3/3, 0 of 2");
    publish(&world, 2, 1).await;
    publish(&world, 3, 1).await;
    assert_eq!(status(&world).state, RolloutState::Complete);
    assert_eq!(ready_of(&world, "fan", "RolledOut").0, Status::True);
    quiet(&world).await;
    // Another upstream goes through the steps again.
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    assert_eq!(reached(&world, 2), [0]);
    world.restart().await;
    publish(&world, 0, 2).await;
    assert_eq!(reached(&world, 2), [0, 1]);
    quiet(&world).await;
}

/// Nobody and nothing happens but time.
#[tokio::test(start_paused = true)]
async fn a_soak_ends_without_another_event() {
    let mut world = fleet(60).await;
    publish(&world, 0, 1).await;
    assert_eq!(status(&world).state, RolloutState::Soaking);
    world.pass(30).await;
    assert_eq!(reached(&world, 1), [0]);
    // It counts from the publication, whoever looked when.
    world.restart().await;
    world.pass(20).await;
    assert_eq!(reached(&world, 1), [0]);
    world.pass(15).await;
    assert_eq!(reached(&world, 1), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_rejection_halts_until_somebody_asks_for_another_try() {
    let world = fleet(0).await;
    let (engine, at) = (&world.engine, key(NS, &revision(0, 1)));
    let door = model::Door::Main;
    let moved = engine
        .move_to(&alice(), &at, door, Lifecycle::Proposed)
        .await;
    moved.expect("proposed");
    world.rest().await;
    assert_eq!(status(&world).state, RolloutState::Progressing);
    let door = model::Door::Approval;
    let moved = engine.move_to(&alice(), &at, door, Lifecycle::Draft).await;
    let rejected = moved.expect("rejected").revision;
    let by = rejected.meta.annotations.get("offshoot.dev/rejected-by");
    assert_eq!(by.map(String::as_str), Some("alice"));
    world.rest().await;
    let (is, why) = ready_of(&world, "fan", "RolledOut");
    assert_eq!(is, Status::False);
    assert!(why.starts_with("Halted: "), "{why}");
    assert!(why.contains("1 member rejected, more than 0"), "{why}");
    quiet(&world).await;
    // People go on by hand, and the halt stays.
    publish(&world, 0, 1).await;
    assert!(world.revision(&revision(0, 1)).meta.annotations.is_empty());
    assert_eq!(reached(&world, 1), [0]);
    assert_eq!(status(&world).state, RolloutState::Halted);
    annotate(&world, plan::set::RETRY, Some("1"));
    world.rest().await;
    assert_eq!(reached(&world, 1), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn without_a_rollout_a_rejection_leaves_no_note() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let at = key(NS, "deploy.shop.packagevariant-1");
    for (door, to) in [
        (model::Door::Main, Lifecycle::Proposed),
        (model::Door::Approval, Lifecycle::Draft),
    ] {
        let moved = world.engine.move_to(&alice(), &at, door, to).await;
        assert!(moved.expect("moved").revision.meta.annotations.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_halts_before_the_next_step_opens() {
    let world = published_everywhere(0).await;
    // Somebody's edit of the canary, on its branch.
    let draft = revision(0, 1);
    let kptfile = world.file(&draft, "Kptfile").await;
    let edited = DEPLOYMENT.replace("replicas: 1", "replicas: 9");
    let files = [("Kptfile", kptfile.as_str()), ("deployment.yaml", &edited)];
    world.push("canary", "a", &files, None).await;
    world.rest().await;
    push(
        &world,
        &image("v2").replace("replicas: 1", "replicas: 3"),
        "v2",
    )
    .await;
    world.rest().await;
    let (_, why) = ready_of(&world, "fan", "RolledOut");
    assert!(why.contains("1 member with conflicts"), "{why}");
    assert_eq!(reached(&world, 2), [0]);
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_the_next_step_and_nothing_else() {
    let world = fleet(0).await;
    annotate(&world, plan::set::PAUSE, Some("true"));
    world.rest().await;
    publish(&world, 0, 1).await;
    assert_eq!(reached(&world, 1), [0]);
    assert_eq!(status(&world).state, RolloutState::Paused);
    quiet(&world).await;
    annotate(&world, plan::set::PAUSE, None);
    world.rest().await;
    assert_eq!(reached(&world, 1), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_new_upstream_in_between_restarts_and_says_so() {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    publish(&world, 0, 2).await;
    let second = status(&world).id;
    assert_eq!(reached(&world, 2), [0, 1]);
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    assert_ne!(status(&world).id, second);
    assert_eq!(reached(&world, 3), [0]);
    // The second step's open draft stays at v2 until its turn comes.
    let text = world.file(&revision(1, 2), "deployment.yaml").await;
    assert!(text.contains("app:v2"), "{text}");
    publish(&world, 0, 3).await;
    let text = world.file(&revision(1, 2), "deployment.yaml").await;
    assert!(text.contains("app:v3"), "{text}");
    quiet(&world).await;
}

/// A branch that goes on bypasses no step: who waits stays with the commit that was rolled out to it.
#[tokio::test(start_paused = true)]
async fn a_floating_upstream_bypasses_no_step() {
    let world = fleet(0).await;
    put_fan(&world, Some(rollout(0)), UpstreamVersion::BranchHead);
    world.rest().await;
    publish_all(&world, 1).await;
    assert_eq!(status(&world).state, RolloutState::Complete);
    push_head(&world, "second").await;
    assert_eq!(reached(&world, 2), [0]);
    publish(&world, 0, 2).await;
    assert_eq!(reached(&world, 2), [0, 1]);
    // Now no record holds the commit that the second step has.
    push_head(&world, "third").await;
    for (repo, package) in PLACES {
        let name = format!("fan-{repo}-{package}");
        let (is, why) = condition(&world, &name, "Ready");
        assert_eq!(is, Status::True, "{name}: {why}");
    }
    // What is injected changes: the waiting draft follows that, at its own commit.
    endpoint(&world, "new.example.test");
    world.rest().await;
    let draft = revision(1, 2);
    let text = world.file(&draft, "endpoint.yaml").await;
    assert!(text.contains("new.example.test"), "{text}");
    let text = world.file(&draft, "deployment.yaml").await;
    assert!(text.contains("app:second"), "{text}");
    quiet(&world).await;
}

/// Another commit of the upstream package on its branch, without a tag.
async fn push_head(world: &World, tag: &str) {
    let files = package(&image(tag));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    world.push("blueprints", "app", &files, None).await;
    world.rest().await;
}

/// Wherever a process dies, the next one opens nothing early, and an undo still knows the way back.
#[tokio::test(start_paused = true)]
async fn a_death_in_any_step_forgets_nothing() {
    for point in ["engine BeforeStatus", "engine BeforeVariant"] {
        let mut world = published_everywhere(0).await;
        *world.deaths.named.lock().expect("no panic") = Some(point);
        push(&world, &image("v2"), "v2").await;
        world.settle().await;
        assert!(world.deaths.died().is_some(), "{point}");
        world.revive(|_| true, false).await;
        world.rest().await;
        assert_eq!(reached(&world, 2), [0], "{point}");
        publish(&world, 0, 2).await;
        annotate(&world, plan::set::UNDO, Some(&status(&world).id));
        world.rest().await;
        let text = world.file(&revision(0, 3), "deployment.yaml").await;
        assert!(text.contains("app:v1"), "{point}: {text}");
    }
}

/// Where the wanted commit is published already, the steps open one after the other, and nobody has to approve anything.
#[tokio::test(start_paused = true)]
async fn a_rollout_that_is_added_to_a_published_set_makes_no_draft() {
    let world = published_everywhere(0).await;
    put_fan(&world, None, UpstreamVersion::Latest);
    world.rest().await;
    put_fan(&world, Some(rollout(0)), UpstreamVersion::Latest);
    world.rest().await;
    assert_eq!(status(&world).state, RolloutState::Complete);
    assert_eq!(reached(&world, 2), [0_usize; 0]);
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_person_who_edits_a_members_draft_amid_a_step_loses_nothing() {
    let world = published_everywhere(0).await;
    push(&world, &image("v2"), "v2").await;
    world.rest().await;
    let draft = revision(0, 2);
    let paused = |text: &str| text.replace("paused: false", "paused: true");
    world.edit(&draft, "deployment.yaml", paused).await;
    world.rest().await;
    push(&world, &image("v3"), "v3").await;
    world.rest().await;
    let text = world.file(&draft, "deployment.yaml").await;
    assert!(text.contains("paused: true"), "{text}");
    assert!(text.contains("app:v3"), "{text}");
    assert_eq!(reached(&world, 2), [0]);
}

/// A target that appears amid a rollout waits for the last step, whatever its labels.
#[tokio::test(start_paused = true)]
async fn a_target_that_appears_later_belongs_to_the_last_step() {
    let world = fleet(0).await;
    let stored = world.twin.set(NS, "fan").expect("the set");
    let mut fan = stored.parsed.expect("a set");
    if let TargetSelection::Repositories(places) = &mut fan.spec.targets[0].selection {
        let late = PackageName::parse("late").expect("a name");
        places[0].1.push(late);
        assert_eq!(places[0].0.as_str(), "canary");
    }
    world.twin.put_set(fan);
    world.rest().await;
    let late = "canary.late.packagevariant-1".to_owned();
    publish(&world, 0, 1).await;
    assert_eq!(reached(&world, 1), [0, 1]);
    assert!(!world.names().contains(&late));
    publish(&world, 1, 1).await;
    assert!(world.names().contains(&late));
    quiet(&world).await;
}

/// What the rollout wrote goes with it, and all members get what is wanted at once.
#[tokio::test(start_paused = true)]
async fn a_set_whose_rollout_is_taken_out_writes_all_at_once() {
    let world = fleet(0).await;
    assert_eq!(reached(&world, 1), [0]);
    put_fan(&world, None, UpstreamVersion::Latest);
    world.rest().await;
    assert_eq!(reached(&world, 1), [0, 1, 2, 3]);
    let all = world.twin.variants();
    assert!(all.iter().all(|v| v.status.rollout.is_none()));
    assert!(all.iter().all(|v| {
        let spec = &v.parsed.as_ref().expect("a variant").spec;
        spec.upstream.commit.is_none()
    }));
    quiet(&world).await;
}

/// A target that another set claims as well follows its owner; the other set's rollout halts and says why.
#[tokio::test(start_paused = true)]
async fn a_target_that_two_sets_claim_follows_its_owner() {
    let world = fleet(0).await;
    let stored = world.twin.set(NS, "fan").expect("the set");
    let mut other = set("other", stored.parsed.expect("a set").spec.targets);
    other.spec.rollout = Some(rollout(0));
    world.twin.put_set(other);
    world.rest().await;
    let (_, why) = ready_of(&world, "other", "RolledOut");
    assert!(why.contains("1 member failed, more than 0"), "{why}");
    assert_eq!(reached(&world, 1), [0]);
    publish(&world, 0, 1).await;
    assert_eq!(reached(&world, 1), [0, 1]);
    assert_eq!(status(&world).state, RolloutState::Progressing);
    quiet(&world).await;
}

/// A tag that is moved after its commit was rolled out to a step takes nothing from it.
#[tokio::test(start_paused = true)]
async fn a_moved_tag_bypasses_no_step() {
    let world = fleet(0).await;
    let stable = model::WorkspaceName::parse("stable").expect("a name");
    push(&world, &image("first"), "stable").await;
    put_fan(&world, Some(rollout(0)), UpstreamVersion::Tag(stable));
    world.rest().await;
    publish(&world, 0, 1).await;
    assert_eq!(reached(&world, 1), [0, 1]);
    push(&world, &image("second"), "stable").await;
    world.rest().await;
    assert_eq!(reached(&world, 2), [0]);
    let name = format!("fan-{}-{}", PLACES[1].0, PLACES[1].1);
    let (is, why) = condition(&world, &name, "Ready");
    assert_eq!(is, Status::True, "{name}: {why}");
    let text = world.file(&revision(1, 1), "deployment.yaml").await;
    assert!(text.contains("app:first"), "{text}");
    quiet(&world).await;
}

/// What is published meanwhile is counted, a step opens once the set goes on, and at rest nothing is written.
#[tokio::test(start_paused = true)]
async fn a_set_that_is_suspended_counts_and_opens_nothing() {
    let world = fleet(0).await;
    crate::rollouts_by_hand::suspend_set(&world, true);
    world.rest().await;
    publish(&world, 0, 1).await;
    let told = status(&world);
    assert_eq!(
        (told.steps[0].published, told.progress().as_str()),
        (1, "canary 1/3, 1 of 1")
    );
    let (is, why) = ready_of(&world, "fan", "RolledOut");
    assert_eq!(is, Status::False);
    assert!(
        why.contains("the set is suspended (spec.suspend): what is open is counted"),
        "{why}"
    );
    assert_eq!(reached(&world, 1), [0]);
    quiet(&world).await;
    crate::rollouts_by_hand::suspend_set(&world, false);
    world.rest().await;
    assert_eq!(reached(&world, 1), [0, 1]);
    assert_eq!(status(&world).message, "");
    quiet(&world).await;
}
