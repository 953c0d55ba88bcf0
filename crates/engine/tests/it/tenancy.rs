//! One repository in several namespaces, and in several directories of one: who owns, deletes and writes what (V25).

use std::collections::BTreeMap;

use engine::ports::{Change, Expect, RecordWrite, Records as _};
use engine::usecase::{Caller, Preconditions, input_of};
use model::{
    AdoptionPolicy, Class, Condition, Door, Lifecycle, Namespace, ObjectKey, Repository, Revision,
    Status, Task, Variant,
};
use testkit::twin::key;

use crate::variants::{quiet, ready, variant};
use crate::world::{NS, World, alice, input, repository};

/// The namespace that comes second.
const OTHER: &str = "other";
/// The repository of deployments, as the first namespace calls it.
pub(crate) const DEPLOY: &str = "deploy";

/// A registration of `deploy` in a namespace, under a name, made at this second.
pub(crate) fn registration(
    namespace: &str,
    name: &str,
    second: u32,
    deployment: bool,
) -> Repository {
    let mut of = repository(DEPLOY, deployment);
    of.key = key(namespace, name);
    of.name = model::RepositoryName::parse(name).expect("a name");
    of.meta.created = format!("2026-01-01T00:00:{second:02}Z");
    of
}

/// A variant of the second namespace.
fn theirs(name: &str, package: &str) -> Variant {
    let mut of = variant(name, package);
    of.key = key(OTHER, name);
    of.spec.downstream.repo = model::RepositoryName::parse("mine").expect("a name");
    of
}

/// Both namespaces have the blueprints; the first has the older registration of `deploy`, with two variants' drafts,
/// one of them proposed.
async fn first_namespace() -> World {
    let world = ready().await;
    world.twin.put_repository(registration(NS, DEPLOY, 1, true));
    let mut blueprints = repository("blueprints", false);
    blueprints.key = key(OTHER, "blueprints");
    world.twin.put_repository(blueprints);
    world.twin.put_variant(variant("shop", "shop"));
    world.twin.put_variant(variant("cafe", "cafe"));
    world.rest().await;
    let proposed = moves(&world, NS, "deploy.cafe.packagevariant-1", PROPOSE).await;
    proposed.expect("proposed");
    world.rest().await;
    world
}

/// Moves a revision on, as a person.
pub(crate) async fn moves(
    world: &World,
    namespace: &str,
    name: &str,
    (door, to): (Door, Lifecycle),
) -> engine::Result<Revision> {
    let at = key(namespace, name);
    let made = world.engine.move_to(&alice(), &at, door, to).await?;
    Ok(Revision::clone(&made.revision))
}

const PROPOSE: (Door, Lifecycle) = (Door::Main, Lifecycle::Proposed);
pub(crate) const APPROVE: (Door, Lifecycle) = (Door::Approval, Lifecycle::Published);
const REJECT: (Door, Lifecycle) = (Door::Approval, Lifecycle::Draft);

/// What a cluster's garbage collector does: a record of which no owner is in its own namespace is deleted.
async fn collect(world: &World) -> Vec<ObjectKey> {
    let mut asked = Vec::new();
    for record in world.twin.revisions() {
        let namespace = record.key.namespace.as_str();
        let mut variants = world.twin.variants().into_iter();
        let owned = |v: engine::ports::StoredVariant| {
            let uid = v.meta.uid.clone().expect("a uid");
            v.key.namespace.as_str() == namespace && record.meta.is_owned_by(&uid)
        };
        if !record.meta.owners.is_empty() && !variants.any(owned) {
            let by = Caller::user("collector");
            let anything = Preconditions::default();
            drop(world.engine.delete(&by, &record.key, &anything).await);
            asked.push(record.key);
        }
    }
    world.engine.look_at_everything();
    world.rest().await;
    asked
}

/// The records of a namespace.
pub(crate) fn records(world: &World, namespace: &str) -> Vec<Revision> {
    let mut all = world.twin.revisions();
    all.retain(|r| r.key.namespace.as_str() == namespace);
    all
}

/// The owners of each record of a namespace that is no branch's head.
fn owners(world: &World, namespace: &str) -> BTreeMap<String, usize> {
    let all = records(world, namespace).into_iter();
    all.filter(|r| !r.placeholder && r.repository.as_str() != "blueprints")
        .map(|r| (r.key.name.to_string(), r.meta.owners.len()))
        .collect()
}

fn read_only(world: &World, namespace: &str, name: &str) -> Option<Condition> {
    let stored = world.twin.repository(namespace, name).expect("registered");
    let conditions = stored.status.conditions;
    let ready = conditions.iter().find(|c| c.kind == "Ready");
    assert_eq!(
        ready.map(|c| c.status),
        Some(Status::True),
        "{conditions:?}"
    );
    conditions.into_iter().find(|c| c.kind == "ReadOnly")
}

pub(crate) fn condition(
    world: &World,
    namespace: &str,
    variant: &str,
    kind: &str,
) -> (Status, String) {
    let stored = world.twin.variant(namespace, variant).expect("the variant");
    let found = stored.status.condition(kind);
    let found = found.unwrap_or_else(|| panic!("no {kind} in {:?}", stored.status));
    (found.status, format!("{}: {}", found.reason, found.message))
}

fn denied<T: std::fmt::Debug>(answer: engine::Result<T>, what: &str) {
    let error = answer.expect_err(what);
    assert_eq!(error.class(), Class::Denied, "{what}: {error}");
    let text = error.chain();
    assert!(
        text.contains("read-only") && text.contains("offshoot.dev/shared"),
        "{what}: {text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_second_registration_touches_nothing_of_the_first() {
    let world = first_namespace().await;
    let (refs, before) = (world.refs(DEPLOY), records(&world, NS));
    world
        .twin
        .put_repository(registration(OTHER, "mine", 2, true));
    world.rest().await;
    let shown = owners(&world, OTHER);
    let names: Vec<&str> = shown.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["mine.cafe.packagevariant-1", "mine.shop.packagevariant-1"]
    );
    assert!(shown.values().all(|owners| *owners == 0), "{shown:?}");
    assert_eq!(collect(&world).await, []);
    assert_eq!(world.refs(DEPLOY), refs);
    assert_eq!(records(&world, NS), before);
    // It is read-only, says so, and serves as an upstream.
    assert_eq!(read_only(&world, NS, DEPLOY), None);
    let said = read_only(&world, OTHER, "mine").expect("a condition");
    assert!(
        said.message.contains("default/deploy")
            && said.message.contains("offshoot.dev/shared=true"),
        "{said:?}"
    );
    world.publish("deploy.shop.packagevariant-1").await;
    world.rest().await;
    let mut follows = theirs("copy", "copy");
    follows.spec.upstream.repo = model::RepositoryName::parse("mine").expect("a name");
    follows.spec.upstream.package = model::PackageName::parse("shop").expect("a name");
    world.twin.put_variant(follows);
    world.rest().await;
    let stalled = condition(&world, OTHER, "copy", "Stalled");
    assert!(
        stalled.1.starts_with("DownstreamRepositoryNotWritable") && stalled.1.contains("shared"),
        "{stalled:?}"
    );
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_read_only_registration_refuses_every_verb_that_moves_a_ref() {
    let world = first_namespace().await;
    world
        .twin
        .put_repository(registration(OTHER, "mine", 2, true));
    world.rest().await;
    world.publish("deploy.cafe.packagevariant-1").await;
    world.rest().await;
    let (refs, before) = (world.refs(DEPLOY), records(&world, NS));
    let draft = key(OTHER, "mine.shop.packagevariant-1");
    let published = key(OTHER, "mine.cafe.packagevariant-1");
    let engine = &world.engine;
    for dry_run in [true, false] {
        let bob = Caller::user("bob").dry_run(dry_run);
        let anything = Preconditions::default();
        denied(engine.delete(&bob, &draft, &anything).await, "delete");
        denied(
            engine.delete(&bob, &published, &anything).await,
            "delete what is published",
        );
        let propose = engine.move_to(&bob, &draft, Door::Main, Lifecycle::Proposed);
        denied(propose.await, "propose");
        let leave = engine.move_to(&bob, &published, Door::Main, Lifecycle::DeletionProposed);
        denied(leave.await, "propose a deletion");
        let (_, files) = engine.resources(&draft).await.expect("files");
        let texts = files.iter().filter_map(|(p, f)| {
            Some((
                p.clone(),
                f.as_text()?.replace("replicas: 1", "replicas: 2"),
            ))
        });
        denied(
            engine
                .save(
                    &bob,
                    &draft,
                    &anything,
                    texts.collect::<std::collections::BTreeMap<_, _>>(),
                )
                .await,
            "save",
        );
        let namespace = Namespace::parse(OTHER).expect("a namespace");
        let init = Task::Init {
            description: String::new(),
            keywords: Vec::new(),
            site: String::new(),
        };
        let created = engine.create(&bob, &namespace, input("mine", "new", "one", init));
        denied(created.await, "create");
    }
    // An approval is refused for what it is, too.
    let shop = "deploy.shop.packagevariant-1";
    let proposed = moves(&world, NS, shop, PROPOSE).await;
    proposed.expect("proposed");
    world.rest().await;
    let theirs = draft.name.as_str();
    denied(moves(&world, OTHER, theirs, APPROVE).await, "approve");
    denied(moves(&world, OTHER, theirs, REJECT).await, "reject");
    let rejected = moves(&world, NS, shop, REJECT).await;
    rejected.expect("rejected");
    world.rest().await;
    assert_eq!(world.refs(DEPLOY), refs);
    let faces = |all: &[Revision]| -> Vec<_> {
        all.iter()
            .map(|r| (r.key.clone(), r.commit, r.lifecycle, r.meta.owners.clone()))
            .collect()
    };
    assert_eq!(faces(&records(&world, NS)), faces(&before));
    // What stands on the object alone is the namespace's own.
    let record = engine.revision(&draft).await.expect("a record");
    let mut wish = input_of(&record);
    wish.meta.labels.insert("seen".to_owned(), "yes".to_owned());
    let labelled = engine.update(&alice(), &draft, Door::Main, wish).await;
    assert!(
        labelled
            .expect("labelled")
            .revision
            .meta
            .labels
            .contains_key("seen")
    );
}

#[tokio::test(start_paused = true)]
async fn leaving_a_registration_or_its_namespace_touches_nothing_else() {
    let world = first_namespace().await;
    world
        .twin
        .put_repository(registration(OTHER, "mine", 2, true));
    world.rest().await;
    let (refs, before) = (world.refs(DEPLOY), records(&world, NS));
    world.twin.delete_repository(OTHER, "mine");
    world.rest().await;
    assert_eq!(owners(&world, OTHER), BTreeMap::new());
    assert_eq!(
        (world.refs(DEPLOY), records(&world, NS)),
        (refs.clone(), before.clone())
    );
    // Alone, a namespace writes; when it goes, its drafts stay in git.
    world.twin.delete_repository(NS, DEPLOY);
    world.rest().await;
    world
        .twin
        .put_repository(registration(OTHER, "mine", 2, true));
    world.twin.put_variant(theirs("bar", "bar"));
    world.rest().await;
    assert_eq!(read_only(&world, OTHER, "mine"), None);
    assert_eq!(condition(&world, OTHER, "bar", "Ready").0, Status::True);
    let refs = world.refs(DEPLOY);
    assert!(
        refs.contains_key("refs/heads/drafts/bar/packagevariant-1"),
        "{refs:?}"
    );
    world
        .twin
        .leave_namespace(&Namespace::parse(OTHER).expect("a namespace"));
    for record in records(&world, OTHER) {
        let controller = Caller::user("namespace-controller");
        let anything = Preconditions::default();
        let deleted = world
            .engine
            .delete(&controller, &record.key, &anything)
            .await;
        deleted.unwrap_or_else(|e| panic!("{}: {e}", record.key));
    }
    assert_eq!(records(&world, OTHER), []);
    assert_eq!(world.refs(DEPLOY), refs);
}

#[tokio::test(start_paused = true)]
async fn who_writes_moves_on_when_the_writer_goes_or_all_share() {
    let world = first_namespace().await;
    let later = registration(OTHER, "mine", 2, true);
    world.twin.put_repository(later.clone());
    world.twin.put_variant(theirs("bar", "bar"));
    world.rest().await;
    assert!(read_only(&world, OTHER, "mine").is_some());
    assert_eq!(condition(&world, OTHER, "bar", "Ready").0, Status::False);
    let shared = |mut of: Repository| {
        of.meta
            .annotations
            .insert("offshoot.dev/shared".to_owned(), "true".to_owned());
        of
    };
    world.twin.put_repository(shared(later.clone()));
    world.rest().await;
    assert!(
        read_only(&world, OTHER, "mine").is_some(),
        "one alone shares nothing"
    );
    let first = registration(NS, DEPLOY, 1, true);
    world.twin.put_repository(shared(first.clone()));
    world.rest().await;
    assert_eq!(read_only(&world, OTHER, "mine"), None);
    assert_eq!(read_only(&world, NS, DEPLOY), None);
    assert_eq!(condition(&world, OTHER, "bar", "Ready").0, Status::True);
    // What a variant of the other namespace made and still looks after is not taken over, also where both write.
    let mut takes = theirs("shop", "shop");
    takes.spec.adoption = AdoptionPolicy::Existing;
    world.twin.put_variant(takes);
    world.rest().await;
    let draft = world
        .twin
        .revision(OTHER, "mine.shop.packagevariant-1")
        .expect("a record");
    assert_eq!(draft.meta.owners, []);
    let mine = world.revision("deploy.shop.packagevariant-1");
    assert_eq!(mine.commit, draft.commit);
    world.twin.delete_variant(OTHER, "shop");
    world.rest().await;
    assert_eq!(world.revision("deploy.shop.packagevariant-1"), mine);
    // No longer shared: the older one writes; what the younger one's variant leaves behind then stays in git.
    world.twin.put_repository(first);
    world.rest().await;
    assert!(read_only(&world, OTHER, "mine").is_some());
    let refs = world.refs(DEPLOY);
    world.twin.delete_variant(OTHER, "bar");
    world.rest().await;
    assert_eq!(world.twin.variant(OTHER, "bar"), None);
    assert_eq!(world.refs(DEPLOY), refs);
    world.twin.delete_repository(NS, DEPLOY);
    world.rest().await;
    assert_eq!(
        read_only(&world, OTHER, "mine"),
        None,
        "the only one left writes"
    );
}

#[tokio::test(start_paused = true)]
async fn records_that_come_back_have_their_owners_in_their_own_namespace_alone() {
    let mut world = first_namespace().await;
    world
        .twin
        .put_repository(registration(OTHER, "mine", 2, true));
    world.rest().await;
    let (refs, ours, shown) = (
        world.refs(DEPLOY),
        owners(&world, NS),
        owners(&world, OTHER),
    );
    assert!(ours.values().all(|n| *n == 1), "{ours:?}");
    world.rebuild().await;
    assert_eq!((owners(&world, NS), owners(&world, OTHER)), (ours, shown));
    assert_eq!(collect(&world).await, []);
    assert_eq!(world.refs(DEPLOY), refs);
}

/// What a version before this one recorded.
#[tokio::test(start_paused = true)]
async fn an_owner_of_another_namespace_is_taken_off() {
    let mut world = first_namespace().await;
    world
        .twin
        .put_repository(registration(OTHER, "mine", 2, true));
    world.rest().await;
    let refs = world.refs(DEPLOY);
    let mut record = world
        .twin
        .revision(OTHER, "mine.shop.packagevariant-1")
        .expect("a record");
    record.meta.owners = world.revision("deploy.shop.packagevariant-1").meta.owners;
    let version = record.meta.resource_version.clone();
    let write = RecordWrite {
        expect: Expect::Version(version),
        change: Change::Put(Box::new(record)),
    };
    for answer in world.twin.commit(vec![write]).await {
        answer.expect("written");
    }
    world.engine.look_at_everything();
    world.rest().await;
    assert_eq!(world.refs(DEPLOY), refs, "it is nobody's to clean up");
    world.restart().await;
    let record = world
        .twin
        .revision(OTHER, "mine.shop.packagevariant-1")
        .expect("a record");
    assert_eq!(record.meta.owners, []);
    assert_eq!(world.refs(DEPLOY), refs);
}

/// A directory and one in it, registered in one namespace: the same draft has two records and one owner.
#[tokio::test(start_paused = true)]
async fn a_draft_that_is_seen_through_two_registrations_of_a_namespace_is_one() {
    let mut world = ready().await;
    world.twin.put_repository(registration(NS, DEPLOY, 1, true));
    let mut inner = registration(NS, "inner", 2, true);
    inner.git.directory = "apps".to_owned();
    world.twin.put_repository(inner);
    world.twin.put_variant(variant("outer", "apps/one"));
    let mut within = variant("within", "two");
    within.spec.downstream.repo = model::RepositoryName::parse("inner").expect("a name");
    world.twin.put_variant(within);
    world.rest().await;
    let draft = |name: &str| format!("refs/heads/drafts/apps/{name}/packagevariant-1");
    let stands = |world: &World| {
        let refs = world.refs(DEPLOY);
        (
            refs.contains_key(&draft("one")),
            refs.contains_key(&draft("two")),
        )
    };
    assert_eq!(stands(&world), (true, true));
    let expected = BTreeMap::from([
        ("deploy.apps.one.packagevariant-1".to_owned(), 1),
        ("deploy.apps.two.packagevariant-1".to_owned(), 0),
        ("inner.one.packagevariant-1".to_owned(), 0),
        ("inner.two.packagevariant-1".to_owned(), 1),
    ]);
    assert_eq!(owners(&world, NS), expected);
    quiet(&world).await;
    world.rebuild().await;
    assert_eq!(owners(&world, NS), expected);
    assert_eq!(stands(&world), (true, true));
    quiet(&world).await;
}
