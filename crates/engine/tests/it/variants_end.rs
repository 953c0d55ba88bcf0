//! Variants that leave, lack something or come back after a restart.

use model::{Lifecycle, Status};
use testkit::twin::key;

use crate::variants::{DEPLOYMENT, condition, push, quiet, ready, variant};
use crate::world::{NS, World, alice, input, person, repository};

/// R10, R103-R106.
#[tokio::test(start_paused = true)]
async fn a_deleted_variant_leaves_as_its_policy_says() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.twin.put_variant(variant("cafe", "cafe"));
    world.rest().await;
    world.publish("deploy.cafe.packagevariant-1").await;
    world.rest().await;
    world.twin.delete_variant(NS, "shop");
    world.twin.delete_variant(NS, "cafe");
    world.rest().await;
    assert!(
        world.twin.variants().is_empty(),
        "{:?}",
        world.twin.variants()
    );
    let cafe = world.revision("deploy.cafe.packagevariant-1");
    assert_eq!(cafe.lifecycle, Lifecycle::DeletionProposed);
    assert!(
        !world
            .names()
            .contains(&"deploy.shop.packagevariant-1".to_owned())
    );
    assert!(
        !world
            .refs("deploy")
            .contains_key("refs/heads/drafts/shop/packagevariant-1")
    );
    quiet(&world).await;
}

/// R8, R113, R120, R121.
#[tokio::test(start_paused = true)]
async fn what_is_missing_is_said_and_found_when_it_appears() {
    let world = World::new().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let (status, message) = condition(&world, "shop", "Stalled");
    assert_eq!(status, Status::True);
    assert!(message.starts_with("UpstreamNotFound"), "{message}");
    world.git("blueprints").await;
    push(&world, DEPLOYMENT, "v1").await;
    world.register("blueprints", false).await;
    world.rest().await;
    let (_, message) = condition(&world, "shop", "Stalled");
    assert!(
        message.starts_with("DownstreamRepositoryNotFound"),
        "{message}"
    );
    world.register("deploy", true).await;
    world.rest().await;
    assert_eq!(condition(&world, "shop", "Ready").0, Status::True);
}

/// R67, R115, V2.
#[tokio::test(start_paused = true)]
async fn a_failed_render_leaves_no_draft_and_says_so() {
    let world = ready().await;
    let mut broken = variant("shop", "shop");
    broken.spec.pipeline.mutators[0].image = Some("example.test/unknown:v1".to_owned());
    world.twin.put_variant(broken);
    world.rest().await;
    let (status, message) = condition(&world, "shop", "Ready");
    assert_eq!(status, Status::False);
    assert!(message.starts_with("RenderFailed"), "{message}");
    assert!(!world.names().iter().any(|n| n.contains("packagevariant-")));
    assert!(!world.refs("deploy").keys().any(|n| n.contains("drafts")));
    quiet(&world).await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    assert_eq!(condition(&world, "shop", "Ready").0, Status::True);
}

#[tokio::test(start_paused = true)]
async fn a_restart_changes_nothing_and_git_alone_brings_everything_back() {
    let mut world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.twin.put_variant(variant("cafe", "cafe"));
    world.rest().await;
    world
        .edit("deploy.cafe.packagevariant-1", "deployment.yaml", |t| {
            t.replace("replicas: 1", "replicas: 5")
        })
        .await;
    world.publish("deploy.cafe.packagevariant-1").await;
    world.rest().await;
    let (writes, refs, before) = (
        world.twin.writes(),
        world.refs("deploy"),
        world.twin.revisions(),
    );
    world.restart().await;
    assert_eq!(
        (world.twin.writes(), world.refs("deploy")),
        (writes, refs.clone()),
        "nothing to do"
    );
    world.rebuild().await;
    assert_eq!(world.refs("deploy"), refs, "git is the truth");
    let after = world.twin.revisions();
    assert_eq!(after.len(), before.len());
    for (b, a) in before.iter().zip(&after) {
        assert_eq!(
            (&b.key, b.commit, b.lifecycle, b.revision),
            (&a.key, a.commit, a.lifecycle, a.revision)
        );
        assert_eq!(
            b.machine.as_ref().map(|m| &m.digest),
            a.machine.as_ref().map(|m| &m.digest),
            "{}",
            b.key
        );
        assert_eq!(
            b.meta.owners.len(),
            a.meta.owners.len(),
            "{}: owners by the trailer",
            b.key
        );
        assert_eq!(b.tasks, a.tasks, "{}", b.key);
        assert_eq!(b.conditions, a.conditions, "{}", b.key);
    }
    quiet(&world).await;
}

/// V10: git knows nothing of the mark that only such a proposal carries.
#[tokio::test(start_paused = true)]
async fn a_deletion_whose_proposal_died_before_its_record_is_still_known_as_ours() {
    let mut world = ready().await;
    world.twin.put_variant(variant("cafe", "cafe"));
    world.rest().await;
    world.publish("deploy.cafe.packagevariant-1").await;
    world.rest().await;
    *world.deaths.named.lock().expect("no panic") = Some("engine Published");
    world.twin.delete_variant(NS, "cafe");
    world.pass(5).await;
    assert_eq!(world.deaths.died().as_deref(), Some("engine Published"));
    world.restart().await;
    let cafe = world.revision("deploy.cafe.packagevariant-1");
    assert_eq!(cafe.lifecycle, Lifecycle::DeletionProposed);
    let mark = cafe.meta.annotations.get(plan::variant::words::PROPOSED_BY);
    assert!(mark.is_some(), "{:?}", cafe.meta);
    // Whoever makes the variant again takes the proposal back.
    let mut again = variant("cafe", "cafe");
    again.spec.adoption = model::AdoptionPolicy::Existing;
    world.twin.put_variant(again);
    world.rest().await;
    let cafe = world.revision("deploy.cafe.packagevariant-1");
    assert_eq!(cafe.lifecycle, Lifecycle::Published);
    quiet(&world).await;
}

/// R32, R105: no other deletion waits for one that a remote declines.
#[tokio::test(start_paused = true)]
async fn a_deletion_that_is_declined_holds_up_no_other() {
    const FAR: &str = "https://git.example/far.git";
    const ONE: &str = "refs/heads/drafts/shop/a-one";
    const TWO: &str = "refs/heads/drafts/shop/b-two";
    let world = ready().await;
    world.store.serve(FAR);
    let spec = store::RemoteSpec {
        branch: Some("main".to_owned()),
        create_branch: Some(person()),
        ..store::RemoteSpec::new(FAR)
    };
    let made = store::Store::open(&*world.store, spec).await;
    made.expect("a repository");
    let mut registered = repository("far", true);
    FAR.clone_into(&mut registered.git.repo);
    world.twin.put_repository(registered);
    world.rest().await;
    let namespace = key(NS, "shop").namespace;
    let wish = input("far", "shop", "a-one", crate::people::init());
    let made = world.engine.create(&alice(), &namespace, wish).await;
    let first = made.expect("a draft").revision.commit;
    // Somebody goes on from there under another name.
    let two = store::RefName::parse(TWO).expect("a name");
    let there = world.store.outside(FAR).expect("a repository");
    let pushed = store::Submission {
        refs: vec![store::RefEdit::create(two, first)],
        ..store::Submission::default()
    };
    let answer = there.submit(pushed).await.expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
    world.engine.look_at_everything();
    world.rest().await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.downstream.repo = model::RepositoryName::parse("far").expect("a name");
    wanted.spec.adoption = model::AdoptionPolicy::Existing;
    world.twin.put_variant(wanted);
    world.rest().await;
    let at = |name: &str| {
        let there = world.store.outside(FAR).expect("a repository");
        let refs = there.refs().expect("refs");
        let found = refs.iter().find(|(n, _)| n.as_str() == name);
        found.map(|(_, commit)| *commit)
    };
    let before = (at(ONE), at(TWO));
    assert!(before.0.is_some() && before.1.is_some(), "{before:?}");
    world.store.decline(FAR, Some(ONE));
    world.twin.delete_variant(NS, "shop");
    world.pass(20).await;
    assert_eq!((at(ONE), at(TWO)), (before.0, None));
    assert_eq!(world.twin.variants().len(), 1);
    world.store.decline(FAR, None);
    world.pass(400).await;
    assert!(world.twin.variants().is_empty());
    assert_eq!(at(ONE), None);
}
