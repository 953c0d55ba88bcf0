//! What is too large, or cannot be read, and who has the last word.

use std::collections::BTreeMap;

use engine::usecase::Save;
use model::{Class, Door, Lifecycle, PackagePath, Status, Task};
use testkit::twin::key;

use crate::bases::{published, put};
use crate::outside::push_onto;
use crate::variants::{DEPLOYMENT, package, push, quiet, ready, variant};
use crate::world::{NS, World, alice, input, repository};

const LIMIT: usize = 16 << 20;

fn path(text: &str) -> PackagePath {
    PackagePath::parse(text).expect("a path")
}

async fn save(
    world: &World,
    name: &str,
    texts: &[(&str, &str)],
) -> engine::Result<engine::usecase::Made> {
    let texts: BTreeMap<PackagePath, String> = texts
        .iter()
        .map(|(p, t)| (path(p), (*t).to_owned()))
        .collect();
    let any = engine::usecase::Preconditions::default();
    world
        .engine
        .save(&alice(), &key(NS, name), &any, texts)
        .await
}

/// A draft is refused at the limit that it would be read with, and stays as it was.
#[tokio::test(start_paused = true)]
async fn a_file_beyond_the_limit_is_refused_when_it_is_written() {
    let world = ready().await;
    let task = Task::Init {
        description: String::new(),
        keywords: Vec::new(),
        site: String::new(),
    };
    let namespace = model::Namespace::parse(NS).expect("a namespace");
    let made = world
        .engine
        .create(&alice(), &namespace, input("deploy", "mine", "ws", task))
        .await
        .expect("created");
    let name = made.revision.key.name.to_string();
    let before = world.refs("deploy");
    let kptfile = world.file(&name, "Kptfile").await;
    let big = "x".repeat(LIMIT + 1);
    let refused = save(&world, &name, &[("Kptfile", &kptfile), ("big.txt", &big)]).await;
    let error = refused.expect_err("too large");
    assert_eq!(error.class(), Class::Limit);
    let said = error.chain();
    let wanted = "size of the package (its largest file is big.txt with 16777217 bytes) exceeds the limit of 16777216: ";
    assert!(said.contains(wanted), "{said}");
    assert_eq!(world.refs("deploy"), before, "nothing changed");
    let fits = "x".repeat(LIMIT - 4_096);
    save(&world, &name, &[("Kptfile", &kptfile), ("big.txt", &fits)])
        .await
        .expect("just within the limit");
    assert_eq!(world.file(&name, "big.txt").await.len(), LIMIT - 4_096);
}

/// A11: what somebody pushed by git is shown as far as it goes, stays whatever is saved beside it, and goes when a save
/// names it.
#[tokio::test(start_paused = true)]
async fn a_draft_that_somebody_made_too_large_keeps_what_is_not_shown() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let name = "deploy.shop.packagevariant-1";
    let outside = world.outside("deploy");
    let branch = store::RefName::branch("drafts/shop/packagevariant-1").expect("a ref");
    let tip = world.refs("deploy")[branch.as_str()];
    let (_, mut files) = world.engine.resources(&key(NS, name)).await.expect("files");
    let texts: Vec<(String, String)> = files
        .iter()
        .filter_map(|(p, f)| Some((p.to_string(), f.as_text()?.to_owned())))
        .collect();
    files.insert(path("big.txt"), model::File::text("x".repeat(2 * LIMIT)));
    let who = crate::world::person();
    let written = outside
        .write(store::CommitSpec {
            base: Some(tip),
            dir: &store::Dir::parse("shop").expect("a directory"),
            content: store::Content::Files(&files, &[]),
            parents: &[tip],
            author: &who,
            committer: &who,
            message: "by hand\n",
        })
        .expect("a commit");
    let edit = store::RefEdit::update(branch, tip, written.commit());
    let pushed = store::Submission {
        written: vec![written],
        refs: vec![edit],
        ..store::Submission::default()
    };
    let answer = outside.submit(pushed).await.expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
    world.rest().await;
    let shown = world.engine.resources_within(&key(NS, name)).await;
    let shown = shown.expect("what can be shown");
    let (shown, left_out) = (shown.files, shown.left_out);
    assert!(shown.contains_key(&path("deployment.yaml")));
    let why = &left_out[&path("big.txt")];
    assert!(
        why.starts_with("it has 33554432 bytes: the package has "),
        "{why}"
    );
    assert!(
        why.ends_with(", which exceeds the limit of 16777216"),
        "{why}"
    );
    let texts: BTreeMap<PackagePath, String> = texts
        .into_iter()
        .map(|(p, t)| (path(&p), t.replace("replicas: 1", "replicas: 4")))
        .collect();
    let at = key(NS, name);
    let any = engine::usecase::Preconditions::default();
    let alice = alice();
    let save = |save: Save| world.engine.save(&alice, &at, &any, save);
    let made = save(texts.clone().into()).await.expect("saved");
    assert_eq!(made.left_out.get(&path("big.txt")), Some(why));
    let shown = || world.engine.resources_within(&at);
    let now = shown().await.expect("what can be shown");
    let (files, left_out) = (now.files, now.left_out);
    assert_eq!(files.len(), texts.len());
    assert_eq!(
        left_out.keys().next(),
        Some(&path("big.txt")),
        "it is still there"
    );
    assert!(
        files[&path("deployment.yaml")]
            .as_text()
            .expect("a text")
            .contains("replicas: 4")
    );
    // What cannot be: both at once, and something below a file.
    for (sent, remove) in [("big.txt", &["big.txt"][..]), ("big.txt/one", &[])] {
        let mut texts = texts.clone();
        texts.insert(path(sent), "1\n".to_owned());
        let remove = remove.iter().map(|p| path(p)).collect();
        let refused = save(Save { texts, remove }).await.expect_err("a clash");
        assert_eq!(refused.class(), Class::Invalid, "{refused}");
    }
    let remove = [path("big.txt"), path("nothing.txt")].into();
    let made = save(Save { texts, remove }).await.expect("mended");
    let told = ["nothing.txt is to be removed, but is not in the package"];
    assert_eq!(
        (made.left_out.len(), made.warnings),
        (0, told.map(str::to_owned).to_vec())
    );
    let left_out = shown().await.expect("all of it").left_out;
    assert_eq!(left_out.len(), 0);
    world.rest().await;
    quiet(&world).await;
}

/// V6, V16: the variant says so; it works again once the upstream does.
#[tokio::test(start_paused = true)]
async fn a_variant_says_which_upstream_cannot_be_read() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let big = "x".repeat(LIMIT + 1);
    let files = package(DEPLOYMENT);
    let mut files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    files.push(("big.txt", &big));
    world.push("blueprints", "app", &files, Some("v2")).await;
    world.rest().await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = model::UpstreamVersion::Revision(2);
    world.twin.put_variant(wanted);
    world.twin.put_variant({
        let mut other = variant("other", "other");
        other.spec.upstream.version = model::UpstreamVersion::Revision(2);
        other
    });
    world.rest().await;
    for name in ["shop", "other"] {
        let stored = world.twin.variant(NS, name).expect("the variant");
        assert_eq!(stored.status.observed_generation, stored.meta.generation);
        for (kind, status) in [("Ready", Status::False), ("Stalled", Status::True)] {
            let said = stored.status.condition(kind).expect("a condition");
            assert_eq!(
                (said.status, said.reason.as_str()),
                (status, "UpstreamUnreadable")
            );
            for part in [
                "'blueprints.app.v2' in repo 'blueprints'",
                "its largest file is big.txt with 16777217 bytes",
                "16777216",
            ] {
                assert!(said.message.contains(part), "{}", said.message);
            }
        }
    }
    assert_eq!(world.engine.retrying(), Vec::<String>::new());
    quiet(&world).await;
    push(&world, &DEPLOYMENT.replace("v1", "v3"), "v3").await;
    let mut wanted = variant("shop", "shop");
    wanted.spec.upstream.version = model::UpstreamVersion::Revision(3);
    world.twin.put_variant(wanted);
    world.twin.delete_variant(NS, "other");
    world.rest().await;
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    let said = stored.status.condition("Ready").expect("a condition");
    assert_eq!(said.status, Status::True, "{}", said.message);
    assert_eq!(world.twin.variant(NS, "other"), None);
}

/// The same of what somebody pushed onto the published package: whoever reads the condition sees which side to mend.
#[tokio::test(start_paused = true)]
async fn a_variant_says_that_its_own_package_cannot_be_read() {
    let (world, _) = published().await;
    let big = "x".repeat(LIMIT + 1);
    let files = package(DEPLOYMENT);
    let mut files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    files.push(("big.txt", &big));
    push_onto(&world, "deploy", ("main", "main"), "shop", &files).await;
    world.engine.look_at_everything();
    world.rest().await;
    put(&world, 2, "eu");
    world.rest().await;
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    let said = stored.status.condition("Ready").expect("a condition");
    assert_eq!(
        (said.status, said.reason.as_str()),
        (Status::False, "DownstreamUnreadable"),
        "{}",
        said.message
    );
    for part in ["in repo 'deploy'", "its largest file is big.txt"] {
        assert!(said.message.contains(part), "{}", said.message);
    }
    quiet(&world).await;
}

/// V10, R31: the approver's no holds, and the proposal of another is another's.
#[tokio::test(start_paused = true)]
async fn a_rejected_deletion_of_what_was_left_behind_is_not_proposed_again() {
    let world = ready().await;
    world.twin.put_variant(variant("mv", "mva"));
    world.rest().await;
    let name = "deploy.mva.packagevariant-1";
    world.publish(name).await;
    world.twin.put_variant(variant("mv", "mvb"));
    world.rest().await;
    let proposed = world.revision(name);
    assert_eq!(proposed.lifecycle, Lifecycle::DeletionProposed);
    world
        .engine
        .move_to(
            &alice(),
            &key(NS, name),
            Door::Approval,
            Lifecycle::Published,
        )
        .await
        .expect("rejected");
    world.rest().await;
    quiet(&world).await;
    let kept = world.revision(name);
    assert_eq!(kept.lifecycle, Lifecycle::Published);
    assert_eq!(kept.meta.owners, []);
    let by = |r: &model::Revision| {
        let mark = model::marks::PROPOSED_BY;
        r.meta.annotations.get(mark).cloned()
    };
    assert_eq!(by(&proposed).as_deref(), Some("default/mv"));
    assert_eq!(by(&kept), None);
    world.twin.delete_variant(NS, "mv");
    world.rest().await;
    assert_eq!(world.revision(name).lifecycle, Lifecycle::Published);
}

/// V25: of two that were registered in one second, the one that works stays.
#[tokio::test(start_paused = true)]
async fn a_repository_that_works_is_not_pushed_out_by_a_copy() {
    let world = World::new().await;
    world.register("works", false).await;
    world.rest().await;
    let ready = |name: &str| {
        let stored = world.twin.repository(NS, name).expect("the repository");
        let said = stored.status.conditions.first().cloned();
        (
            said.expect("a condition").status,
            stored.meta.created.clone(),
        )
    };
    let mut copy = repository("works", false);
    copy.key = key(NS, "copy");
    copy.name = model::RepositoryName::parse("copy").expect("a name");
    copy.meta.created = ready("works").1;
    world.twin.put_repository(copy);
    world.engine.look_at_everything();
    world.rest().await;
    world.engine.look_at_everything();
    world.rest().await;
    assert_eq!(ready("works").1, ready("copy").1, "of one second");
    assert_eq!(ready("works").0, Status::True);
    assert_eq!(ready("copy").0, Status::False);
}

/// Nobody is told that an upstream is missing while records come back.
#[tokio::test(start_paused = true)]
async fn a_rebuild_alarms_nobody() {
    let mut world = ready().await;
    for n in 0..20 {
        let name = format!("shop-{n}");
        world.twin.put_variant(variant(&name, &name));
    }
    world.rest().await;
    let before = world.twin.events().len();
    world.rebuild().await;
    let worries: Vec<String> = world.twin.events()[before..]
        .iter()
        .filter(|e| e.event_type == engine::ports::EventType::Warning)
        .map(|e| format!("{} {}", e.reason, e.message))
        .collect();
    assert_eq!(worries, Vec::<String>::new());
    for n in 0..20 {
        let draft = world.revision(&format!("deploy.shop-{n}.packagevariant-1"));
        assert_eq!(draft.meta.owners.len(), 1);
    }
}

/// X9: a record that a rule of the cluster refuses is named on its repository; the others are served, and it comes once it
/// may.
#[tokio::test(start_paused = true)]
async fn a_record_that_is_refused_keeps_nobody_from_the_others() {
    let world = ready().await;
    let refused = key(NS, "deploy.shop.packagevariant-1");
    world.twin.refuse_record(&refused, true);
    world.twin.put_variant(variant("shop", "shop"));
    world.twin.put_variant(variant("cafe", "cafe"));
    world.rest().await;
    let names = world.names();
    assert!(
        names.contains(&"deploy.cafe.packagevariant-1".to_owned()),
        "{names:?}"
    );
    assert!(
        !names.contains(&"deploy.shop.packagevariant-1".to_owned()),
        "{names:?}"
    );
    let repository = world.twin.repository(NS, "deploy").expect("a repository");
    let ready = &repository.status.conditions[0];
    assert_eq!(ready.status, Status::True, "{}", ready.message);
    assert!(
        ready.message.contains("left out: package shop") && ready.message.contains("forbids it"),
        "{}",
        ready.message
    );
    world.twin.refuse_record(&refused, false);
    world.engine.look_at_everything();
    world.rest().await;
    assert!(
        world
            .names()
            .contains(&"deploy.shop.packagevariant-1".to_owned())
    );
}

/// What cannot be kept is refused before anything of it goes to git.
#[tokio::test(start_paused = true)]
async fn a_record_that_is_too_large_is_refused_before_git_is_touched() {
    let world = ready().await;
    world
        .twin
        .enlarge_record(&key(NS, "deploy.shop.packagevariant-1"));
    let before = world.refs("deploy");
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    assert_eq!(world.refs("deploy"), before);
    let variant = world.twin.variant(NS, "shop").expect("a variant");
    let said = variant.status.conditions.iter().map(|c| c.message.as_str());
    let said: Vec<&str> = said.collect();
    assert!(
        said.iter().any(|text| text.contains("it is too large")),
        "{said:?}"
    );
}
