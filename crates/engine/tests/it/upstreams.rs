//! Sets with several upstream packages: named one by one, by a package revision set, or by labels.

use engine::ports::Gvk;
use model::{
    Door, LabelSelector, Lifecycle, PackageName, Pairs, RepositoryName, Status, Target,
    TargetSelection, Task, Upstream, UpstreamSource, UpstreamVersion,
};
use testkit::twin::key;

use crate::sets::{ready_of, set, variants};
use crate::variants::{DEPLOYMENT, package, quiet, ready};
use crate::world::{NS, World, alice, input};

fn named(package: &str, version: UpstreamVersion) -> UpstreamSource {
    UpstreamSource::Package(Upstream {
        repo: RepositoryName::parse("blueprints").expect("a name"),
        package: PackageName::parse(package).expect("a name"),
        version,
        allow_unpublished: false,
        commit: None,
    })
}

fn labelled(repo: Option<&str>, key: &str, value: &str) -> UpstreamSource {
    UpstreamSource::Labels {
        repo: repo.map(|r| RepositoryName::parse(r).expect("a name")),
        selector: LabelSelector {
            match_labels: Pairs::from_iter([(key.to_owned(), value.to_owned())]),
            requirements: Vec::new(),
        },
    }
}

fn in_deploy() -> Target {
    Target {
        selection: TargetSelection::Repositories(vec![(
            RepositoryName::parse("deploy").expect("a name"),
            Vec::new(),
        )]),
        template: None,
    }
}

fn put(world: &World, upstreams: Vec<UpstreamSource>) {
    let mut fan = set("fan", vec![in_deploy()]);
    fan.spec.upstreams = upstreams;
    fan.spec.deletion_guard.enabled = true;
    world.twin.put_set(fan);
}

async fn push(world: &World, name: &str, tag: &str) {
    let text = DEPLOYMENT.replace(":v1 ", &format!(":{tag} "));
    let files = package(&text);
    // Without a point that has to be fulfilled before it can be published.
    let files = files.iter().filter(|(p, _)| *p != "endpoint.yaml");
    let files: Vec<(&str, &str)> = files.map(|(p, t)| (*p, t.as_str())).collect();
    world.push("blueprints", name, &files, Some(tag)).await;
    world.engine.look_at_everything();
    world.rest().await;
}

/// A person labels a package revision, or takes the label off.
async fn label(world: &World, revision: &str, value: Option<&str>) {
    let mut wish = engine::usecase::input_of(&world.revision(revision));
    match value {
        Some(value) => wish
            .meta
            .labels
            .insert("stack".to_owned(), value.to_owned()),
        None => wish.meta.labels.remove("stack"),
    };
    let key = key(NS, revision);
    let updated = world.engine.update(&alice(), &key, Door::Main, wish).await;
    updated.expect("labelled");
    world.rest().await;
}

fn upstream_of(world: &World, variant: &str) -> (String, UpstreamVersion) {
    let stored = world.twin.variant(NS, variant).expect("the variant");
    let upstream = stored.parsed.expect("a spec").spec.upstream.clone();
    let package = format!("{}/{}", upstream.repo, upstream.package);
    (package, upstream.version)
}

/// R184: each upstream package goes to each target under its own name; one that is not there yet is waited for, and
/// what is taken off the list goes without a confirmation.
#[tokio::test(start_paused = true)]
async fn several_upstream_packages_fan_out_together() {
    let world = ready().await;
    push(&world, "db", "v1").await;
    let app = || named("app", UpstreamVersion::Latest);
    put(
        &world,
        vec![
            app(),
            named("db", UpstreamVersion::Revision(1)),
            named("late", UpstreamVersion::Latest),
        ],
    );
    world.rest().await;
    assert_eq!(variants(&world), ["fan-deploy-app", "fan-deploy-db"]);
    assert_eq!(upstream_of(&world, "fan-deploy-db").0, "blueprints/db");
    let (status, why) = ready_of(&world, "fan", "Ready");
    assert_eq!(status, Status::False);
    assert_eq!(
        why,
        "UpstreamNotFound: could not find upstream package revision 'late' in repo 'blueprints'; it is not registered in this \
         namespace, or has no published revision of that package"
    );
    push(&world, "late", "v1").await;
    assert_eq!(variants(&world).len(), 3);
    assert_eq!(ready_of(&world, "fan", "VariantsReady").0, Status::True);
    assert!(
        world
            .file("deploy.late.packagevariant-1", "deployment.yaml")
            .await
            .contains("app:v1")
    );
    quiet(&world).await;
    put(&world, vec![app()]);
    world.rest().await;
    assert_eq!(variants(&world), ["fan-deploy-app"]);
}

/// R185: a package revision set is waited for, followed when it changes, and what it loses is guarded.
#[tokio::test(start_paused = true)]
async fn a_package_revision_set_is_an_upstream() {
    let world = ready().await;
    push(&world, "db", "v1").await;
    push(&world, "cache", "v1").await;
    let stack = key(NS, "stack");
    // The server serves the kind before there is one.
    world.twin.serve(&Gvk::of(
        "config.porch.kpt.dev/v1alpha1",
        "PackageRevisionSet",
    ));
    let named_set = UpstreamSource::Set(stack.name.clone());
    put(&world, vec![named_set]);
    world.rest().await;
    let (status, why) = ready_of(&world, "fan", "Stalled");
    assert_eq!(status, Status::True);
    assert_eq!(
        why,
        "UpstreamNotFound: could not find PackageRevisionSet 'stack'"
    );
    let all = ["app", "cache", "db"].map(|p| named(p, UpstreamVersion::Latest));
    world.twin.put_revision_set(&stack, all.to_vec());
    world.rest().await;
    assert_eq!(
        variants(&world),
        ["fan-deploy-app", "fan-deploy-cache", "fan-deploy-db"]
    );
    assert_eq!(ready_of(&world, "fan", "Stalled").0, Status::False);
    quiet(&world).await;
    // What the selection names is followed as if the set named it itself.
    push(&world, "db", "v2").await;
    let (status, why) = ready_of(&world, "fan", "VariantsReady");
    assert_eq!(status, Status::True, "{why}");
    assert!(
        world
            .file("deploy.db.packagevariant-1", "deployment.yaml")
            .await
            .contains("app:v2")
    );
    world.twin.put_revision_set(&stack, all[..1].to_vec());
    world.rest().await;
    assert_eq!(variants(&world).len(), 3, "two of three wait for a person");
    assert_eq!(ready_of(&world, "fan", "DeletionGuarded").0, Status::True);
    world.twin.delete_revision_set(&stack);
    world.rest().await;
    assert_eq!(
        variants(&world).len(),
        3,
        "a selection that is gone deletes nothing"
    );
    assert_eq!(ready_of(&world, "fan", "Stalled").0, Status::True);
}

/// Where the records are gone, each comes back with the first look at its repository: what a selection names is not missed
/// before that, as little as what a set names itself.
#[tokio::test(start_paused = true)]
async fn a_selected_upstream_is_not_missed_before_its_repository_was_looked_at() {
    let mut world = ready().await;
    let stack = key(NS, "stack");
    let app = named("app", UpstreamVersion::Latest);
    world.twin.put_revision_set(&stack, vec![app]);
    put(&world, vec![UpstreamSource::Set(stack.name.clone())]);
    world.rest().await;
    assert_eq!(variants(&world), ["fan-deploy-app"]);
    world.restart_without_records().await;
    assert_eq!(variants(&world), ["fan-deploy-app"]);
    assert_eq!(ready_of(&world, "fan", "Stalled").0, Status::False);
    let told: Vec<String> = world
        .twin
        .events()
        .into_iter()
        .filter(|e| e.reason == "UpstreamNotFound")
        .map(|e| e.message)
        .collect();
    assert_eq!(told, Vec::<String>::new());
}

/// R186: of each package, the latest published revision with the labels; relabelled, the set follows. What the set makes
/// itself is never its upstream.
#[tokio::test(start_paused = true)]
async fn upstreams_are_selected_by_labels() {
    let world = ready().await;
    push(&world, "db", "v1").await;
    push(&world, "db", "v2").await;
    put(&world, vec![labelled(Some("blueprints"), "stack", "shop")]);
    world.rest().await;
    let (status, why) = ready_of(&world, "fan", "Stalled");
    assert_eq!(status, Status::True);
    assert_eq!(
        why,
        "UpstreamNotFound: no package revision is selected as upstream"
    );
    label(&world, "blueprints.app.v1", Some("shop")).await;
    label(&world, "blueprints.db.v1", Some("shop")).await;
    assert_eq!(variants(&world), ["fan-deploy-app", "fan-deploy-db"]);
    let first = ("blueprints/db".to_owned(), UpstreamVersion::Revision(1));
    assert_eq!(upstream_of(&world, "fan-deploy-db"), first);
    label(&world, "blueprints.db.v2", Some("shop")).await;
    assert_eq!(
        upstream_of(&world, "fan-deploy-db").1,
        UpstreamVersion::Revision(2)
    );
    quiet(&world).await;
    // Downstream packages with the label are not taken, were they of the selector's repository or not.
    put(&world, vec![labelled(None, "stack", "shop")]);
    world.rest().await;
    world.publish("deploy.db.packagevariant-1").await;
    world.rest().await;
    label(&world, "deploy.db.packagevariant-1", Some("shop")).await;
    assert_eq!(variants(&world), ["fan-deploy-app", "fan-deploy-db"]);
    assert_eq!(upstream_of(&world, "fan-deploy-db").0, "blueprints/db");
    quiet(&world).await;
    // One that is unlabelled leaves; all at once would be too many.
    label(&world, "blueprints.app.v1", None).await;
    world.pass(12).await;
    assert_eq!(variants(&world), ["fan-deploy-db"]);
    label(&world, "blueprints.db.v2", None).await;
    label(&world, "blueprints.db.v1", None).await;
    world.pass(12).await;
    assert_eq!(variants(&world), ["fan-deploy-db"]);
    assert_eq!(ready_of(&world, "fan", "Stalled").0, Status::True);
}

/// R121, R185: only those who follow a package hear of it.
#[tokio::test(start_paused = true)]
async fn a_set_hears_of_what_its_selection_names_alone() {
    let world = ready().await;
    push(&world, "other", "v1").await;
    let stack = key(NS, "stack");
    let app = named("app", UpstreamVersion::Latest);
    world.twin.put_revision_set(&stack, vec![app]);
    put(&world, vec![UpstreamSource::Set(stack.name.clone())]);
    world.rest().await;
    let looks = world.engine.stats().set_reconciles;
    label(&world, "blueprints.other.v1", Some("shop")).await;
    assert_eq!(world.engine.stats().set_reconciles, looks);
    label(&world, "blueprints.app.v1", Some("shop")).await;
    assert!(world.engine.stats().set_reconciles > looks);
}

/// V19: an old upstream is held by drafts and proposals that are made from it, and by locks that no commit of ours stands
/// for; an upgrade needs it no more.
#[tokio::test(start_paused = true)]
async fn an_old_upstream_goes_once_nobody_needs_it() {
    let world = ready().await;
    let mut shop = crate::variants::variant("shop", "shop");
    shop.spec.upstream.version = UpstreamVersion::Latest;
    world.twin.put_variant(shop);
    let task = |task| input("deploy", "hand", "one", task);
    let clone = task(Task::Clone {
        upstream: key(NS, "blueprints.app.v1").name,
    });
    let by = alice();
    let here = key(NS, "any").namespace;
    world
        .engine
        .create(&by, &here, clone)
        .await
        .expect("a clone");
    world.rest().await;
    let edit = |text: &str| text.replace("replicas: 1", "replicas: 5");
    world
        .edit("deploy.shop.packagevariant-1", "deployment.yaml", edit)
        .await;
    world.publish("deploy.shop.packagevariant-1").await;
    crate::variants::push(&world, &DEPLOYMENT.replace("app:v1", "app:v2"), "v2").await;
    world.rest().await;
    world.publish("deploy.shop.packagevariant-2").await;
    // A person's copy has no note of ours, and stems from one that has.
    let copy = input(
        "deploy",
        "shop",
        "copy",
        Task::Edit {
            source: key(NS, "deploy.shop.packagevariant-1").name,
        },
    );
    world.engine.create(&by, &here, copy).await.expect("a copy");
    world.publish("deploy.shop.copy").await;
    world.rest().await;

    let old = key(NS, "blueprints.app.v1");
    let leave = world
        .engine
        .move_to(&by, &old, Door::Main, Lifecycle::DeletionProposed);
    leave.await.expect("proposed");
    let held = async |by_whom: &str| {
        let why = world
            .engine
            .delete(&alice(), &old, &Default::default())
            .await;
        let why = why.expect_err("held").to_string();
        let wanted =
            format!("cannot delete package revision, it is referenced as upstream by: {by_whom}");
        assert_eq!(why, wanted);
    };
    held("deploy.hand.one").await;
    world.publish("deploy.hand.one").await;
    held("deploy.hand.one").await;
    let hand = key(NS, "deploy.hand.one");
    let leave = world
        .engine
        .move_to(&by, &hand, Door::Main, Lifecycle::DeletionProposed);
    leave.await.expect("proposed");
    let gone = world.engine.delete(&by, &hand, &Default::default()).await;
    gone.expect("deleted");
    let gone = world.engine.delete(&by, &old, &Default::default()).await;
    gone.expect("nobody needs it");
    world.rest().await;
    assert!(!world.names().contains(&"blueprints.app.v1".to_owned()));

    crate::variants::push(&world, &DEPLOYMENT.replace("app:v1", "app:v3"), "v3").await;
    world.rest().await;
    let drafts: Vec<String> = world
        .names()
        .into_iter()
        .filter(|n| n.contains("packagevariant-3"))
        .collect();
    assert_eq!(drafts, ["deploy.shop.packagevariant-3"]);
    let text = world.file(&drafts[0], "deployment.yaml").await;
    assert!(
        text.contains("replicas: 5") && text.contains("app:v3"),
        "{text}"
    );
    quiet(&world).await;
}
