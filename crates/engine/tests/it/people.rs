//! What people do with package revisions, and what they push.

use model::{Class, Door, Lifecycle, Namespace, ObjectName, RevisionNumber, Task};
use testkit::twin::key;

use crate::outside::push_onto;
use crate::variants::{ready, variant};
use crate::world::{NS, World, alice, input};

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\ninfo:\n  description: an app # kept\n";
const DEPLOYMENT: &str = "# The app itself.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  replicas: 1 # few\n";

fn namespace() -> Namespace {
    Namespace::parse(NS).expect("a namespace")
}

pub(crate) fn init() -> Task {
    Task::Init {
        description: "mine".to_owned(),
        keywords: Vec::new(),
        site: String::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn what_others_pushed_is_found_on_registration_and_later() {
    let world = World::new().await;
    world.git("blueprints").await;
    world
        .push(
            "blueprints",
            "app",
            &[("Kptfile", KPTFILE), ("d.yaml", DEPLOYMENT)],
            Some("v1"),
        )
        .await;
    world
        .push(
            "blueprints",
            "nested/deep/app",
            &[("Kptfile", KPTFILE)],
            None,
        )
        .await;
    world.register("blueprints", false).await;
    world.rest().await;
    assert_eq!(
        world.names(),
        [
            "blueprints.app.main",
            "blueprints.app.v1",
            "blueprints.nested.deep.app.main"
        ]
    );
    let v1 = world.revision("blueprints.app.v1");
    assert_eq!(
        (v1.lifecycle, v1.revision),
        (Lifecycle::Published, RevisionNumber(1))
    );
    assert_eq!(
        v1.meta.labels.get("kpt.dev/latest-revision").unwrap(),
        "true"
    );
    assert_eq!(v1.published_by, "person@example.test");
    let lock = v1.self_lock.expect("a lock");
    assert_eq!(
        (lock.directory.as_str(), lock.git_ref.as_str()),
        ("app", "app/v1")
    );
    let head = world.revision("blueprints.app.main");
    assert!(head.placeholder && head.revision == RevisionNumber::UNNUMBERED);

    let changed = DEPLOYMENT.replace("replicas: 1", "replicas: 2");
    world
        .push(
            "blueprints",
            "app",
            &[("Kptfile", KPTFILE), ("d.yaml", &changed)],
            Some("v2"),
        )
        .await;
    world.rest().await;
    let v2 = world.revision("blueprints.app.v2");
    assert_eq!(
        v2.meta.labels.get("kpt.dev/latest-revision").unwrap(),
        "true"
    );
    let v1 = world.revision("blueprints.app.v1");
    assert!(!v1.meta.labels.contains_key("kpt.dev/latest-revision"));
    assert_ne!(world.revision("blueprints.app.main").tree, head.tree);

    let before = world.twin.writes();
    world.engine.look_at_everything();
    world.rest().await;
    assert_eq!(world.twin.writes(), before, "rest is rest");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_was_used_gets_another_uid_also_after_a_restart() {
    let mut world = World::new().await;
    world.register("deploy", false).await;
    world.rest().await;
    let mut uids = Vec::new();
    for _ in 0..3 {
        let input = input("deploy", "apps/mine", "ws1", init());
        let made = world.engine.create(&alice(), &namespace(), input).await;
        let revision = made.expect("created").revision;
        uids.push(revision.meta.uid.clone().expect("a uid").to_string());
        let any = engine::usecase::Preconditions::default();
        let deleted = world.engine.delete(&alice(), &revision.key, &any).await;
        assert!(deleted.expect("deleted").is_none());
        world.restart().await;
    }
    assert_eq!(uids[0], "first-default-deploy.apps.mine.ws1");
    assert!(
        uids[1..].iter().all(|uid| uid.starts_with("fresh-")),
        "{uids:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_package_walks_from_init_to_published_and_out_again() {
    let world = World::new().await;
    world.register("deploy", false).await;
    world.rest().await;
    let made = world
        .engine
        .create(
            &alice(),
            &namespace(),
            input("deploy", "apps/mine", "ws1", init()),
        )
        .await
        .expect("created");
    assert_eq!(made.revision.key.name.as_str(), "deploy.apps.mine.ws1");
    assert_eq!(made.revision.lifecycle, Lifecycle::Draft);
    assert!(
        world
            .refs("deploy")
            .contains_key("refs/heads/drafts/apps/mine/ws1")
    );

    let again = world
        .engine
        .create(
            &alice(),
            &namespace(),
            input("deploy", "apps/mine", "ws1", init()),
        )
        .await
        .expect_err("a duplicate");
    assert_eq!(again.class(), Class::Conflict);

    let saved = world
        .edit("deploy.apps.mine.ws1", "README.md", |t| {
            format!("{t}\nmore\n")
        })
        .await;
    assert_ne!(saved.commit, made.revision.commit);
    assert!(
        world
            .file("deploy.apps.mine.ws1", "README.md")
            .await
            .ends_with("more\n")
    );

    let name = key(NS, "deploy.apps.mine.ws1");
    let early = world
        .engine
        .move_to(&alice(), &name, Door::Approval, Lifecycle::Published)
        .await
        .expect_err("a draft cannot be approved");
    assert!(
        early
            .to_string()
            .contains("only Proposed packages can be approved"),
        "{early}"
    );

    let published = world.publish("deploy.apps.mine.ws1").await;
    assert_eq!(published.revision, RevisionNumber(1));
    assert_eq!(published.tree, saved.tree, "approved is what was reviewed");
    let refs = world.refs("deploy");
    assert_eq!(
        refs.keys().map(String::as_str).collect::<Vec<_>>(),
        ["refs/heads/main", "refs/tags/apps/mine/v1"]
    );
    let outside = world.outside("deploy");
    let merge = outside
        .commit(refs["refs/tags/apps/mine/v1"])
        .expect("the merge");
    assert_eq!(merge.parents[1], saved.commit);
    assert_eq!(
        merge.message,
        "Approving package revision apps/mine/1\n\nkpt:{\"package\":\"apps/mine\",\"workspaceName\":\"ws1\",\"revision\":\"1\"}\n"
    );
    assert_eq!(
        (merge.committer.name.as_str(), merge.author.name.as_str()),
        ("Package Orchestration Service", "alice")
    );
    world.rest().await;
    let head = world.revision("deploy.apps.mine.main");
    assert_eq!(head.commit, published.commit);

    let engine = &world.engine;
    let denied = engine
        .delete(&alice(), &name, &Default::default())
        .await
        .expect_err("published");
    assert_eq!(denied.class(), Class::Denied);
    let proposed = engine
        .move_to(&alice(), &name, Door::Main, Lifecycle::DeletionProposed)
        .await
        .expect("proposed for deletion");
    assert_eq!(proposed.revision.lifecycle, Lifecycle::DeletionProposed);
    assert!(
        world
            .refs("deploy")
            .contains_key("refs/heads/deletionProposed/apps/mine/v1")
    );
    engine
        .move_to(&alice(), &name, Door::Main, Lifecycle::Published)
        .await
        .expect("withdrawn");
    world.rest().await;
    let told = |reason: &str| {
        let events = world.twin.events().into_iter();
        let mine = events.filter(|e| e.reason == reason && e.about == name);
        mine.map(|e| e.message).collect::<Vec<_>>()
    };
    assert_eq!(told("Published"), ["published as v1 by alice"]);
    let kept = "kept: its proposed deletion was withdrawn by alice";
    assert_eq!(told("DeletionWithdrawn"), [kept]);
    engine
        .move_to(&alice(), &name, Door::Main, Lifecycle::DeletionProposed)
        .await
        .expect("proposed again");
    assert!(
        engine
            .delete(&alice(), &name, &Default::default())
            .await
            .expect("deleted")
            .is_none()
    );
    world.rest().await;
    assert_eq!(world.names(), ["deploy.apps.mine.main"]);
    assert!(!world.refs("deploy").contains_key("refs/tags/apps/mine/v1"));
}

#[tokio::test(start_paused = true)]
async fn a_number_is_never_given_twice() {
    let world = World::new().await;
    world.register("deploy", false).await;
    world.rest().await;
    world
        .engine
        .create(
            &alice(),
            &namespace(),
            input("deploy", "mine", "ws1", init()),
        )
        .await
        .expect("created");
    world.publish("deploy.mine.ws1").await;
    let engine = &world.engine;
    let edit = |from: &str| Task::Edit {
        source: ObjectName::parse(from).expect("a name"),
    };
    engine
        .create(
            &alice(),
            &namespace(),
            input("deploy", "mine", "ws2", edit("deploy.mine.ws1")),
        )
        .await
        .expect("copied");
    world
        .edit("deploy.mine.ws2", "README.md", |t| format!("{t}two\n"))
        .await;
    assert_eq!(
        world.publish("deploy.mine.ws2").await.revision,
        RevisionNumber(2)
    );
    let name = key(NS, "deploy.mine.ws2");
    engine
        .move_to(&alice(), &name, Door::Main, Lifecycle::DeletionProposed)
        .await
        .expect("proposed for deletion");
    engine
        .delete(&alice(), &name, &Default::default())
        .await
        .expect("deleted");
    assert_eq!(
        world
            .revision("deploy.mine.ws1")
            .meta
            .labels
            .get("kpt.dev/latest-revision")
            .unwrap(),
        "true",
        "the one before is the latest again"
    );
    engine
        .create(
            &alice(),
            &namespace(),
            input("deploy", "mine", "ws3", edit("deploy.mine.ws1")),
        )
        .await
        .expect("copied");
    world
        .edit("deploy.mine.ws3", "README.md", |t| format!("{t}three\n"))
        .await;
    assert_eq!(
        world.publish("deploy.mine.ws3").await.revision,
        RevisionNumber(3)
    );
}

/// A4: of two who want the same at once, the other one hears that there was a race, then what became of it.
#[tokio::test(start_paused = true)]
async fn whoever_loses_a_race_is_told_so() {
    let world = World::new().await;
    world.git("deploy").await;
    world.register("deploy", true).await;
    world.rest().await;
    let (namespace, alice) = (namespace(), alice());
    let race = "another request is already in progress on package app in repository deploy: ";
    let create = || {
        let asked = input("deploy", "app", "ws1", init());
        world.engine.create(&alice, &namespace, asked)
    };
    let lost = |why: engine::Error, class: Class, ours: &str| {
        let text = why.to_string();
        assert!(text.starts_with(race) && text.contains(ours), "{text}");
        assert_eq!(why.class(), class);
    };
    let (won, why) = tokio::join!(create(), create());
    won.expect("a draft");
    lost(
        why.expect_err("the second"),
        Class::Conflict,
        "already exists",
    );
    // Later it is no race any more.
    let why = create().await.expect_err("a duplicate").to_string();
    assert!(!why.contains("in progress"), "{why}");
    let at = key(NS, "deploy.app.ws1");
    let propose = || {
        let mut asked = engine::usecase::input_of(&world.revision("deploy.app.ws1"));
        asked.lifecycle = Lifecycle::Proposed;
        world.engine.update(&alice, &at, Door::Main, asked)
    };
    let (won, why) = tokio::join!(propose(), propose());
    won.expect("proposed");
    lost(
        why.expect_err("the second"),
        Class::Conflict,
        "the object has been modified",
    );
    let any = engine::usecase::Preconditions::default();
    let delete = || world.engine.delete(&alice, &at, &any);
    let (won, why) = tokio::join!(delete(), delete());
    won.expect("deleted");
    lost(why.expect_err("the second"), Class::NotFound, "not found");
}

/// A proposal that a person pushed beside a draft is served in its place. Taken back, it is the draft, and what was the draft stays reachable
/// (V23): refused, it would be refused for ever, since nobody's record shows the ref that is in the way.
#[tokio::test(start_paused = true)]
async fn what_stands_where_a_revision_is_moved_to_is_kept() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let name = "deploy.shop.packagevariant-1";
    let at = |place: &str| {
        let refs = world.outside("deploy").refs().expect("refs");
        let name = format!("refs/{place}");
        let mut all = refs.iter();
        all.find(|(r, _)| r.as_str() == name)
            .map(|(_, commit)| *commit)
    };
    let [draft, proposal] =
        ["drafts", "proposed"].map(|place| format!("heads/{place}/shop/packagevariant-1"));
    let made = world.revision(name).commit;
    let files = [("Kptfile", KPTFILE), ("d.yaml", DEPLOYMENT)];
    let branch = "proposed/shop/packagevariant-1";
    push_onto(&world, "deploy", ("main", branch), "shop", &files).await;
    let pushed = at(&proposal);
    world.rest().await;
    let shown = world.revision(name);
    assert_eq!(shown.lifecycle, Lifecycle::Proposed);
    assert_eq!((Some(shown.commit), at(&draft)), (pushed, Some(made)));
    let (by, of) = (alice(), key(NS, name));
    let moved = world.engine.move_to(&by, &of, Door::Main, Lifecycle::Draft);
    let moved = moved.await.expect("it is taken back");
    assert_eq!((at(&draft), at(&proposal)), (pushed, None));
    assert_eq!(Some(moved.revision.commit), pushed);
    let kept = format!("offshoot/recovered/{name}/{made}");
    assert_eq!(at(&kept), Some(made));
    assert!(moved.warnings[0].contains(&kept), "{:?}", moved.warnings);
}

/// What a person upgrades waits at no gate, as in Porch: so the answer names each edit that gave way, and nothing goes unsaid.
#[tokio::test(start_paused = true)]
async fn whoever_upgrades_by_hand_is_told_which_edits_gave_way() {
    let world = World::new().await;
    for repo in ["blueprints", "deploy"] {
        world.git(repo).await;
        world.register(repo, false).await;
    }
    let push = async |replicas: &str, tag| {
        let text = DEPLOYMENT.replace("replicas: 1", replicas);
        let files = [("Kptfile", KPTFILE), ("d.yaml", text.as_str())];
        world.push("blueprints", "app", &files, Some(tag)).await;
        world.rest().await;
    };
    push("replicas: 1", "v1").await;
    push("replicas: 3", "v2").await;
    let named = |name: &str| key(NS, name).name;
    let make = async |workspace: &str, task| {
        let input = input("deploy", "app", workspace, task);
        let made = world.engine.create(&alice(), &namespace(), input).await;
        made.expect("made")
    };
    let upstream = named("blueprints.app.v1");
    make("a", Task::Clone { upstream }).await;
    let mine = |text: &str| text.replace("replicas: 1", "replicas: 7");
    world.edit("deploy.app.a", "d.yaml", mine).await;
    world.publish("deploy.app.a").await;
    let made = make(
        "b",
        Task::Upgrade {
            old_upstream: named("blueprints.app.v1"),
            new_upstream: named("blueprints.app.v2"),
            local: named("deploy.app.a"),
            strategy: model::Strategy::ResourceMerge,
        },
    )
    .await;
    assert_eq!(made.revision.conflicts.len(), 1);
    let told = made.warnings.join("\n");
    for word in ["spec.replicas: local 7, upstream 3", "rpkg edit"] {
        assert!(told.contains(word), "{told}");
    }
}

/// What is told of a package goes with what was wrong, also where that goes by a request and nobody pushes.
#[tokio::test(start_paused = true)]
async fn what_a_request_mends_or_deletes_is_told_no_more() {
    let world = World::new().await;
    world.git("deploy").await;
    world
        .push("deploy", "fine", &[("Kptfile", KPTFILE)], Some("v1"))
        .await;
    for package in ["gone", "mended"] {
        let broken = [("Kptfile", "kind: [Kptfile\n")];
        let branch = format!("drafts/{package}/w");
        push_onto(&world, "deploy", ("main", &branch), package, &broken).await;
    }
    world.register("deploy", false).await;
    world.rest().await;
    let told = || {
        let stored = world.twin.repository(NS, "deploy").expect("registered");
        stored.status.ready().expect("a verdict").message.clone()
    };
    for package in ["gone", "mended"] {
        assert!(
            told().contains(&format!("package {package}:")),
            "{}",
            told()
        );
    }
    let any = engine::usecase::Preconditions::default();
    let gone = key(NS, "deploy.gone.w");
    world
        .engine
        .delete(&alice(), &gone, &any)
        .await
        .expect("deleted");
    world
        .edit("deploy.mended.w", "Kptfile", |_| KPTFILE.to_owned())
        .await;
    world.pass(5).await;
    assert_eq!(told(), "Repository Ready");
}
