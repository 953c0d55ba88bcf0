//! Plans: what they foretell is what the controllers then write, to the byte, and asking changes nothing (F2).

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::planned::{FleetPlan, Verdict};
use engine::ports::{Cluster, Stored, StoredSet, StoredVariant};
use engine::{SupposedContent, SupposedUpstream, Suppositions};
use model::{
    DeletionGuard, Lifecycle, Namespace, PackageName, RepositoryName, TreeId, UpstreamVersion,
    Variant, VariantSet, VariantStatus, WorkspaceName,
};
use testkit::twin::key;

use crate::planned_true::came_true;
use crate::sets::{by_site, put_site, set};
use crate::variants::{DEPLOYMENT, package, quiet, ready, variant};
use crate::world::{NS, World};

/// Everything that a plan must leave as it is.
fn state(world: &World) -> impl PartialEq + std::fmt::Debug + use<> {
    let stats = world.engine.stats();
    let records: Vec<_> = world
        .twin
        .revisions()
        .iter()
        .map(|r| (r.key.clone(), r.meta.resource_version.clone(), r.commit))
        .collect();
    let refs = (world.refs("deploy"), world.refs("blueprints"));
    // What is read is read.
    let store = world.engine.store_stats().entries().into_iter();
    let store: Vec<_> = store.filter(|(name, _)| *name != "reads").collect();
    (
        world.twin.writes(),
        stats,
        store,
        records,
        refs,
        world.engine.busy(),
    )
}

pub(crate) async fn plan(world: &World, suppositions: Suppositions) -> FleetPlan {
    let before = state(world);
    let cluster = Arc::clone(&world.twin) as Arc<dyn Cluster>;
    let namespace = Namespace::parse(NS).expect("a namespace");
    let plan = world.engine.plan_fleet(&namespace, suppositions, cluster);
    let plan = plan.await.expect("a plan");
    assert_eq!(state(world), before, "a plan changes nothing");
    plan
}

/// A variant as somebody would write it: on top of the one that is there.
pub(crate) fn supposed(world: &World, wanted: &Variant) -> StoredVariant {
    let known = world.twin.variant(NS, wanted.key.name.as_str());
    let meta = known.as_ref().map(|v| Arc::clone(&v.meta));
    let meta = meta.unwrap_or_else(|| Arc::clone(&wanted.meta));
    let status = known.map_or_else(VariantStatus::default, |v| v.status);
    Stored {
        key: wanted.key.clone(),
        parsed: Ok(Arc::new(Variant {
            meta: Arc::clone(&meta),
            ..wanted.clone()
        })),
        meta,
        status,
    }
}

fn supposed_set(world: &World, wanted: &VariantSet) -> StoredSet {
    let known = world.twin.set(NS, wanted.key.name.as_str());
    let meta = known.as_ref().map(|s| (*s.meta).clone());
    let meta = meta.unwrap_or_else(|| wanted.meta.clone());
    Stored {
        key: wanted.key.clone(),
        parsed: Ok(VariantSet {
            meta: meta.clone(),
            ..wanted.clone()
        }),
        meta: Arc::new(meta),
        status: known.map(|s| s.status).unwrap_or_default(),
    }
}

/// The trees of all open drafts, by variant; those of nobody as `orphan NAME`.
pub(crate) fn drafts(world: &World) -> BTreeMap<String, TreeId> {
    let open = |l: Lifecycle| l == Lifecycle::Draft;
    let all = world.twin.revisions();
    let drafts = all.iter().filter(|r| open(r.lifecycle));
    drafts
        .map(|r| {
            let owner = r.meta.owners.first().map(|owner| owner.name.clone());
            let owner = owner.unwrap_or_else(|| format!("orphan {}", r.key.name));
            (owner, r.tree)
        })
        .collect()
}

fn verdicts(plan: &FleetPlan) -> Vec<(&str, &str)> {
    let all = plan.targets.iter();
    all.map(|t| (t.variant.name.as_str(), t.verdict.word()))
        .collect()
}

/// A record that could not be stored is refused at the end of a draft's making: a plan says so as well.
#[tokio::test(start_paused = true)]
async fn a_plan_knows_of_records_that_are_too_large() {
    let world = ready().await;
    let first = key(NS, "deploy.shop.packagevariant-1");
    world.twin.enlarge_record(&first);
    let suppositions = Suppositions {
        variants: vec![supposed(&world, &variant("shop", "shop"))],
        ..Suppositions::default()
    };
    let foretold = plan(&world, suppositions).await;
    assert_eq!(verdicts(&foretold), [("shop", "failed")]);
    let why = &foretold.targets[0].why.1;
    assert!(why.contains("it is too large"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn what_a_plan_foretells_of_one_variant_is_what_is_then_written() {
    let world = ready().await;
    let wanted = variant("shop", "shop");
    let supposing = |world: &World, wanted: &Variant| Suppositions {
        variants: vec![supposed(world, wanted)],
        ..Suppositions::default()
    };
    // A first draft.
    let foretold = plan(&world, supposing(&world, &wanted)).await;
    assert_eq!(verdicts(&foretold), [("shop", "create")]);
    world.twin.put_variant(wanted.clone());
    world.rest().await;
    came_true(&world, &foretold, &BTreeMap::new()).await;
    // The same again is nothing.
    let foretold = plan(&world, supposing(&world, &wanted)).await;
    assert_eq!(verdicts(&foretold), [("shop", "unchanged")]);
    // Another recipe for an open draft in which a person works.
    let first = "deploy.shop.packagevariant-1";
    world
        .edit(first, "deployment.yaml", |t| {
            t.replace("replicas: 1", "replicas: 5")
        })
        .await;
    world.rest().await;
    let mut other = wanted.clone();
    other
        .spec
        .context
        .data
        .insert("region".to_owned(), "us".to_owned());
    let foretold = plan(&world, supposing(&world, &other)).await;
    assert_eq!(verdicts(&foretold), [("shop", "create")]);
    world.twin.put_variant(other.clone());
    world.rest().await;
    came_true(&world, &foretold, &BTreeMap::new()).await;
    world.publish(first).await;
    world.rest().await;
    // Another upstream, published while nobody looks: a conflict.
    let files = package(&DEPLOYMENT.replace("replicas: 1", "replicas: 3"));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let commit = world.push("blueprints", "app", &files, None).await;
    world.rest().await;
    other.spec.upstream.version = UpstreamVersion::Latest;
    let supposition = Suppositions {
        variants: vec![supposed(&world, &other)],
        upstreams: vec![SupposedUpstream {
            namespace: Namespace::parse(NS).expect("a namespace"),
            repository: RepositoryName::parse("blueprints").expect("a name"),
            package: PackageName::parse("app").expect("a name"),
            revision: WorkspaceName::parse("v2").expect("a name"),
            content: SupposedContent::GitRef(commit.to_string()),
        }],
        ..Suppositions::default()
    };
    let foretold = plan(&world, supposition).await;
    assert_eq!(verdicts(&foretold), [("shop", "conflict")]);
    let target = &foretold.targets[0];
    assert_eq!(target.conflicts.len(), 1, "{target:?}");
    let upstream = target.upstream.as_ref().expect("an upstream");
    assert_eq!(
        upstream.from.as_ref().map(|(name, _)| name.as_str()),
        Some("v1")
    );
    assert_eq!(upstream.to, ("v2".to_owned(), Some(commit)));
    tag(&world, "v2", commit).await;
    world.twin.put_variant(other.clone());
    world.rest().await;
    came_true(&world, &foretold, &BTreeMap::new()).await;
    // It goes.
    let foretold = plan(
        &world,
        Suppositions {
            deleted: vec![(engine::ports::OurKind::Variant, other.key.clone())],
            ..Suppositions::default()
        },
    )
    .await;
    assert_eq!(verdicts(&foretold), [("shop", "leave")]);
    let fates: Vec<_> = foretold.leaving[0]
        .revisions
        .iter()
        .map(|r| (r.name.as_str(), r.fate))
        .collect();
    assert_eq!(
        fates,
        [
            (first, "deletion proposed"),
            ("deploy.shop.packagevariant-2", "deleted")
        ]
    );
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_will_be_withdrawn_is_foretold() {
    let world = ready().await;
    let wanted = variant("shop", "shop");
    world.twin.put_variant(wanted.clone());
    world.rest().await;
    world.publish("deploy.shop.packagevariant-1").await;
    let mut other = wanted.clone();
    let data = &mut other.spec.context.data;
    data.insert("region".to_owned(), "us".to_owned());
    world.twin.put_variant(other.clone());
    world.rest().await;
    let before = drafts(&world);
    assert_eq!(before.len(), 1);
    // Back to what is published: nothing changes there, but a draft that waits for people goes.
    let supposition = Suppositions {
        variants: vec![supposed(&world, &wanted)],
        ..Suppositions::default()
    };
    let foretold = plan(&world, supposition).await;
    assert_eq!(verdicts(&foretold), [("shop", "edit")]);
    assert_eq!(foretold.leaving.len(), 1, "{:?}", foretold.leaving);
    let leaving = &foretold.leaving[0];
    assert_eq!(leaving.revisions.len(), 1, "{leaving:?}");
    let fate = &leaving.revisions[0];
    assert_eq!(
        (fate.name.as_str(), fate.fate, fate.tree),
        (
            "deploy.shop.packagevariant-2",
            "deleted",
            before.get("shop").copied()
        )
    );
    let target = &foretold.targets[0];
    assert_eq!(
        target.why.1,
        "draft deploy.shop.packagevariant-2 is deleted: what is wanted equals deploy.shop.packagevariant-1"
    );
    world.twin.put_variant(wanted);
    world.rest().await;
    came_true(&world, &foretold, &before).await;
}

async fn tag(world: &World, name: &str, commit: model::CommitId) {
    let edit = store::RefEdit::create(
        store::RefName::tag(&format!("app/{name}")).expect("a tag"),
        commit,
    );
    let submission = store::Submission {
        refs: vec![edit],
        ..store::Submission::default()
    };
    let answer = world.outside("blueprints").submit(submission).await;
    assert!(
        matches!(answer, Ok(store::Answer::Published(_))),
        "{answer:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_upstream_from_a_directory_has_no_tree_to_be_equal_to() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    world.publish("deploy.shop.packagevariant-1").await;
    world.rest().await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = UpstreamVersion::Latest;
    let files = package(&DEPLOYMENT.replace("app:v1", "app:v2"));
    let files = crate::world::files_of(
        &files
            .iter()
            .map(|(p, t)| (*p, t.as_str()))
            .collect::<Vec<_>>(),
    );
    let foretold = plan(
        &world,
        Suppositions {
            variants: vec![supposed(&world, &wanted)],
            upstreams: vec![SupposedUpstream {
                namespace: Namespace::parse(NS).expect("a namespace"),
                repository: RepositoryName::parse("blueprints").expect("a name"),
                package: PackageName::parse("app").expect("a name"),
                revision: WorkspaceName::parse("v2").expect("a name"),
                content: SupposedContent::Files(files),
            }],
            ..Suppositions::default()
        },
    )
    .await;
    assert_eq!(verdicts(&foretold), [("shop", "upgrade")]);
    let target = &foretold.targets[0];
    assert_eq!(target.tree, None);
    assert!(target.inexact.is_some() && target.class.is_some());
    assert_eq!(
        target.upstream.as_ref().expect("it").to,
        ("v2".to_owned(), None)
    );
}

/// A fan-out over sites is planned whole: creations, then an upgrade in classes, then what leaves and what the guard says.
#[tokio::test(start_paused = true)]
async fn a_set_is_planned_with_all_its_targets() {
    let world = ready().await;
    let cities = ["eu", "us"];
    world.twin.put_object(
        &crate::variants::config_map(),
        &key(NS, "endpoint-us"),
        &[],
        Some("{\"host\":\"us.example.test\"}"),
        None,
    );
    for n in 0..12 {
        put_site(&world, &format!("site-{n:02}"), cities[n % 2], "yes");
    }
    world.rest().await;
    let mut wanted = set("fleet", vec![by_site()]);
    wanted.spec.deletion_guard = DeletionGuard {
        enabled: true,
        percent: 20,
    };
    let supposing = Suppositions {
        sets: vec![supposed_set(&world, &wanted)],
        ..Suppositions::default()
    };
    let foretold = plan(&world, supposing).await;
    assert_eq!(foretold.targets.len(), 12);
    assert!(
        foretold
            .targets
            .iter()
            .all(|t| t.verdict == Verdict::Create)
    );
    // What is shorter than three characters is no input: the two cities stay as they stand.
    assert_eq!(foretold.classes.len(), 2, "{:?}", foretold.classes);
    world.twin.put_set(wanted.clone());
    world.rest().await;
    came_true(&world, &foretold, &BTreeMap::new()).await;
    let names: Vec<String> = world
        .twin
        .variants()
        .iter()
        .map(|v| v.key.name.to_string())
        .collect();
    for name in &names {
        let package = name.trim_start_matches("fleet-deploy-");
        world
            .publish(&format!("deploy.{package}.packagevariant-1"))
            .await;
    }
    world.rest().await;
    // One of them is its own.
    let changed = DEPLOYMENT
        .replace("app:v1", "app:v2")
        .replace("# The app itself.", "# The app.");
    let files = package(&changed);
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let commit = world.push("blueprints", "app", &files, None).await;
    world.rest().await;
    let upstream = SupposedUpstream {
        namespace: Namespace::parse(NS).expect("a namespace"),
        repository: RepositoryName::parse("blueprints").expect("a name"),
        package: PackageName::parse("app").expect("a name"),
        revision: WorkspaceName::parse("v2").expect("a name"),
        content: SupposedContent::GitRef(commit.to_string()),
    };
    let foretold = plan(
        &world,
        Suppositions {
            upstreams: vec![upstream],
            ..Suppositions::default()
        },
    )
    .await;
    assert_eq!(foretold.classes.len(), 1, "{:?}", foretold.classes);
    assert!(
        foretold
            .targets
            .iter()
            .all(|t| t.verdict == Verdict::Upgrade)
    );
    tag(&world, "v2", commit).await;
    world.rest().await;
    came_true(&world, &foretold, &BTreeMap::new()).await;
    // Half of the sites are selected no more.
    wanted.spec.targets.clear();
    let mut narrow = by_site();
    if let model::TargetSelection::ObjectSelector { selector, .. } = &mut narrow.selection {
        selector
            .labels
            .match_labels
            .insert("city".to_owned(), "eu".to_owned());
    }
    wanted.spec.targets.push(narrow);
    let supposing = Suppositions {
        sets: vec![supposed_set(&world, &wanted)],
        ..Suppositions::default()
    };
    let foretold = plan(&world, supposing).await;
    let fuse = &foretold.sets[0];
    assert!(fuse.held && fuse.deleting == 6 && fuse.of == 12, "{fuse:?}");
    assert_eq!(foretold.leaving.len(), 6);
    // What waits for a confirmation is told as it is then.
    for leaving in &foretold.leaving {
        let fates: Vec<&str> = leaving.revisions.iter().map(|r| r.fate).collect();
        assert_eq!(fates, ["deletion proposed", "deleted"], "{leaving:?}");
        assert!(
            leaving.why.contains("the deletion guard holds it"),
            "{leaving:?}"
        );
    }
    let leave = foretold
        .targets
        .iter()
        .filter(|t| t.verdict == Verdict::Leave);
    assert_eq!(leave.count(), 6);
    let before = drafts(&world);
    world.twin.put_set(wanted.clone());
    world.pass(75).await;
    came_true(&world, &foretold, &before).await;
    let confirm = fuse.confirm.clone().expect("what confirms it");
    let annotations = &mut wanted.meta.annotations;
    annotations.insert(plan::set::CONFIRM.to_owned(), confirm);
    world.twin.put_set(wanted);
    world.pass(75).await;
    let mut confirmed = foretold;
    for leaving in &mut confirmed.leaving {
        leaving.why = "confirmed".to_owned();
    }
    came_true(&world, &confirmed, &before).await;
    quiet(&world).await;
}

/// What would fail is named, what is not known is unknown, and the rest is planned.
#[tokio::test(start_paused = true)]
async fn failures_and_functions_of_others_are_named_beside_the_rest() {
    let world = ready().await;
    let mut foreign = variant("foreign", "foreign");
    foreign.spec.pipeline.mutators[0].image = Some("example.test/mine:v1".to_owned());
    let mut wrong = variant("wrong", "wrong");
    wrong.spec.pipeline.mutators[0].image = Some("set-namespace:v0.4".to_owned());
    wrong.spec.pipeline.mutators[0].config_map = vec![("nothing".to_owned(), "x".to_owned())];
    let all = [foreign, wrong, variant("shop", "shop")];
    let supposing = Suppositions {
        variants: all.iter().map(|v| supposed(&world, v)).collect(),
        ..Suppositions::default()
    };
    let foretold = plan(&world, supposing).await;
    assert_eq!(
        verdicts(&foretold),
        [
            ("foreign", "unknown"),
            ("shop", "create"),
            ("wrong", "failed")
        ]
    );
    let why = &foretold.targets[0].why.1;
    assert!(
        why.contains("example.test/mine:v1") && why.contains("--run-functions"),
        "{why}"
    );
    assert_eq!(foretold.unknown.len(), 1);
    assert_eq!(
        foretold.targets[2].why.0, "RenderFailed",
        "{:?}",
        foretold.targets[2]
    );
    for variant in all {
        world.twin.put_variant(variant);
    }
    world.rest().await;
    let known = FleetPlan {
        targets: foretold.targets[1..].to_vec(),
        ..foretold.clone()
    };
    came_true(&world, &known, &BTreeMap::new()).await;
}
