//! What others do to a repository beside us, and what cannot be understood: nothing is lost, and it is said.

use model::{Class, Door, Lifecycle, Status, Task};
use store::{CommitSpec, Content, Dir, Expect, RefEdit, RefName, Scope, Submission};
use testkit::twin::key;

use crate::variants::{DEPLOYMENT, KPTFILE, quiet, ready, variant};
use crate::world::{NS, World, alice, files_of, input, person};

fn message(world: &World, repository: &str) -> (Status, String) {
    let stored = world.twin.repository(NS, repository).expect("registered");
    let ready = stored.status.ready().expect("a verdict");
    (ready.status, ready.message.clone())
}

fn reason(world: &World, repository: &str) -> String {
    let stored = world.twin.repository(NS, repository).expect("registered");
    let ready = stored.status.ready().expect("a verdict");
    ready.reason.clone()
}

/// Somebody pushes a package to a branch of any name, over whatever is there.
async fn push_to(world: &World, repo: &str, branch: &str, dir: &str, files: &[(&str, &str)]) {
    push_onto(world, repo, ("main", branch), dir, files).await;
}

/// The same, on top of what another branch holds.
pub(crate) async fn push_onto(
    world: &World,
    repo: &str,
    (from, branch): (&str, &str),
    dir: &str,
    files: &[(&str, &str)],
) {
    let outside = world.outside(repo);
    let refs = outside.refs().expect("refs");
    let main = refs[&RefName::branch(from).expect("a ref")];
    let files = files_of(files);
    let written = outside
        .write(CommitSpec {
            base: Some(main),
            dir: &Dir::parse(dir).expect("a directory"),
            content: Content::Files(&files, &[]),
            parents: &[main],
            author: &person(),
            committer: &person(),
            message: "by hand\n",
        })
        .expect("a commit");
    let edit = RefEdit {
        name: RefName::branch(branch).expect("a ref"),
        expect: Expect::Any,
        to: Some(written.commit()),
        scope: Scope::Remote,
    };
    let answer = outside
        .submit(Submission {
            written: vec![written],
            refs: vec![edit],
            ..Submission::default()
        })
        .await
        .expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_understood_is_served_as_far_as_it_goes_and_said() {
    let mut world = World::new().await;
    world.git("blueprints").await;
    world
        .push("blueprints", "good", &[("Kptfile", KPTFILE)], Some("v1"))
        .await;
    world
        .push(
            "blueprints",
            "bad",
            &[("Kptfile", "kind: [Kptfile\n"), ("a.yaml", "a: 1\n")],
            Some("v1"),
        )
        .await;
    world
        .push(
            "blueprints",
            "plain",
            &[("README.md", "no package\n")],
            Some("v1"),
        )
        .await;
    world.register("blueprints", false).await;
    world.rest().await;
    assert_eq!(
        world.names(),
        [
            "blueprints.bad.main",
            "blueprints.bad.v1",
            "blueprints.good.main",
            "blueprints.good.v1"
        ]
    );
    let (status, text) = message(&world, "blueprints");
    assert_eq!(status, Status::True, "the rest is served");
    assert!(
        text.contains("package bad: tag v1: the Kptfile cannot be parsed"),
        "{text}"
    );
    assert_eq!(world.file("blueprints.bad.v1", "a.yaml").await, "a: 1\n");
    // The next process says it, too.
    world.restart().await;
    world.rest().await;
    assert_eq!(message(&world, "blueprints").1, text);
    world
        .push("blueprints", "bad", &[("Kptfile", KPTFILE)], Some("v1"))
        .await;
    world.rest().await;
    // A5: what is no package is said, too.
    let plain = "Repository Ready; left out: package plain: tag v1: directory plain has no Kptfile";
    assert_eq!(message(&world, "blueprints").1, plain);
    for odd in ["apps/UPPER", "with space"] {
        push_to(&world, "blueprints", "main", odd, &[("Kptfile", KPTFILE)]).await;
    }
    world.rest().await;
    let text = message(&world, "blueprints").1;
    let both = [
        "branch main: package \"apps/UPPER\"",
        "package \"with space\"",
    ];
    assert!(both.iter().all(|odd| text.contains(odd)), "{text}");
}

/// No look saw the ref: neither the one before nor the one after.
#[tokio::test(start_paused = true)]
async fn a_draft_that_somebody_takes_away_before_the_next_look_is_gone() {
    let world = ready().await;
    let made = world
        .engine
        .create(
            &alice(),
            &key(NS, "any").namespace,
            input("deploy", "shop", "mine", crate::people::init()),
        )
        .await
        .expect("a draft");
    let name = RefName::branch("drafts/shop/mine").expect("a ref");
    let edit = RefEdit {
        name: name.clone(),
        expect: Expect::Is(made.revision.commit),
        to: None,
        scope: Scope::Remote,
    };
    let outside = world.outside("deploy");
    let submission = Submission {
        refs: vec![edit],
        ..Submission::default()
    };
    let answer = outside.submit(submission).await.expect("a push");
    assert!(matches!(answer, store::Answer::Published(_)), "{answer:?}");
    world.rest().await;
    assert!(
        !world.names().contains(&made.revision.key.name.to_string()),
        "{:?}",
        world.names()
    );
    quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_repository_is_said_and_found_later() {
    let world = World::new().await;
    world
        .twin
        .put_repository(crate::world::repository("later", false));
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let (status, text) = message(&world, "later");
    assert_eq!(status, Status::False);
    assert_eq!(reason(&world, "later"), "NoRepository");
    assert!(
        text.contains("there is no git repository at file:///git/later.git"),
        "{text}"
    );
    world.git("later").await;
    world
        .push("later", "app", &[("Kptfile", KPTFILE)], Some("v1"))
        .await;
    world.rest().await;
    assert_eq!(message(&world, "later").0, Status::True);
    assert_eq!(world.names(), ["later.app.main", "later.app.v1"]);
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_somebody_pushed_over_is_read_anew_and_its_old_head_is_kept() {
    let world = World::new().await;
    world.git("blueprints").await;
    world
        .push("blueprints", "app", &[("Kptfile", KPTFILE)], Some("v1"))
        .await;
    world.register("blueprints", false).await;
    world.rest().await;
    let before = world.revision("blueprints.app.main").commit;
    // Another history altogether: its root lacks the package.
    let outside = world.outside("blueprints");
    let files = files_of(&[("Kptfile", KPTFILE)]);
    let other = outside
        .write(CommitSpec {
            base: None,
            dir: &Dir::parse("other").expect("a directory"),
            content: Content::Files(&files, &[]),
            parents: &[],
            author: &person(),
            committer: &person(),
            message: "another history\n",
        })
        .expect("a commit");
    let main = RefName::branch("main").expect("a ref");
    let edit = RefEdit {
        name: main,
        expect: Expect::Any,
        to: Some(other.commit()),
        scope: Scope::Remote,
    };
    let pushed = outside
        .submit(Submission {
            written: vec![other],
            refs: vec![edit],
            ..Submission::default()
        })
        .await
        .expect("a push");
    assert!(matches!(pushed, store::Answer::Published(_)));
    world.rest().await;
    assert_eq!(
        world.names(),
        ["blueprints.app.v1", "blueprints.other.main"]
    );
    let kept = format!("refs/offshoot/recovered/main/{before}");
    assert_eq!(world.refs("blueprints").get(&kept), Some(&before));
    assert!(
        world
            .twin
            .events()
            .iter()
            .any(|e| e.reason == "HistoryReplaced")
    );
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_arrived_by_git_is_gated_until_somebody_renders_it() {
    let world = World::new().await;
    world.register("deploy", false).await;
    world.rest().await;
    let kptfile = format!(
        "{KPTFILE}pipeline:\n  mutators:\n    - image: set-labels:v0.1\n      configMap:\n        tier: web\n"
    );
    let files = [("Kptfile", kptfile.as_str()), ("d.yaml", DEPLOYMENT)];
    push_to(
        &world,
        "deploy",
        "drafts/team/app/by-hand",
        "team/app",
        &files,
    )
    .await;
    world.rest().await;
    let name = "deploy.team.app.by-hand";
    let draft = world.revision(name);
    assert_eq!(draft.lifecycle, Lifecycle::Draft);
    assert_eq!(
        draft.condition("Rendered").map(|c| c.status),
        Some(Status::Unknown)
    );
    let refused = world
        .engine
        .move_to(&alice(), &key(NS, name), Door::Main, Lifecycle::Proposed)
        .await
        .expect_err("nobody rendered it");
    assert!(
        refused.to_string().contains("offshoot.dev/Rendered"),
        "{refused}"
    );
    world.edit(name, "d.yaml", str::to_owned).await;
    assert!(world.file(name, "d.yaml").await.contains("tier: web"));
    assert_eq!(world.publish(name).await.revision.0, 1);
}

/// V14: what a person pushes into a variant's draft without rendering it is rendered in a commit of
/// its own, and what cannot be rendered waits for the next push.
#[tokio::test(start_paused = true)]
async fn a_push_into_a_variants_draft_is_rendered_at_once() {
    let world = ready().await;
    world.twin.put_variant(variant("shop", "shop"));
    world.rest().await;
    let name = "deploy.shop.packagevariant-1";
    let made = world.revision(name);
    let (_, files) = world.engine.resources(&key(NS, name)).await.expect("files");
    let texts: Vec<(String, String)> = files
        .iter()
        .map(|(path, file)| (path.to_string(), file.as_text().expect("text").to_owned()))
        .collect();
    let (kptfile, status) = {
        let text = &texts.iter().find(|(p, _)| p == "Kptfile").expect("one").1;
        text.split_once("status:").expect("a status")
    };
    assert!(status.contains("Rendered"), "{status}");
    let push = async |kptfile: &str| {
        let more = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n";
        let mut files: Vec<(&str, &str)> = texts
            .iter()
            .filter(|(p, _)| p != "Kptfile")
            .map(|(p, t)| (p.as_str(), t.as_str()))
            .collect();
        files.extend([("Kptfile", kptfile), ("more.yaml", more)]);
        let branch = "drafts/shop/packagevariant-1";
        push_onto(&world, "deploy", (branch, branch), "shop", &files).await;
        world.rest().await;
    };
    push(kptfile).await;
    let rendered = world.revision(name);
    assert!(rendered.condition("offshoot.dev/Rendered").is_none());
    assert_eq!(rendered.machine, made.machine, "the machine's own output");
    assert!(world.file(name, "more.yaml").await.contains("tier: web"));
    let outside = world.outside("deploy");
    let commit = outside.commit(rendered.commit).expect("ours");
    assert_eq!(commit.author.name, "porch-controllers");
    let pushed = outside.commit(commit.parents[0]).expect("the person's");
    assert_eq!(pushed.author.name, person().name);
    quiet(&world).await;

    let broken = kptfile.replace("set-labels:v0.1", "no-such-function:v0.1");
    assert_ne!(broken, kptfile);
    push(&broken).await;
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    let ready = stored.status.condition("Ready").expect("a verdict").clone();
    assert_eq!(ready.reason, "RenderFailed", "{}", ready.message);
    quiet(&world).await;
    push(kptfile).await;
    assert!(
        world
            .revision(name)
            .condition("offshoot.dev/Rendered")
            .is_none()
    );
    let stored = world.twin.variant(NS, "shop").expect("the variant");
    let ready = stored.status.condition("Ready").expect("a verdict").clone();
    assert_eq!(ready.status, Status::True, "{}", ready.message);
}

#[tokio::test(start_paused = true)]
async fn an_outdated_draft_is_refused_and_can_be_based_anew() {
    let world = World::new().await;
    world.git("deploy").await;
    let files = |replicas: &str, paused: &str| {
        let text = DEPLOYMENT
            .replace("replicas: 1", replicas)
            .replace("paused: false", paused);
        vec![
            ("Kptfile".to_owned(), KPTFILE.to_owned()),
            ("d.yaml".to_owned(), text),
        ]
    };
    let push = async |replicas: &str, paused: &str, tag: Option<&str>| {
        let files = files(replicas, paused);
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(p, t)| (p.as_str(), t.as_str()))
            .collect();
        world.push("deploy", "app", &files, tag).await;
    };
    push("replicas: 1", "paused: false", Some("v1")).await;
    world.register("deploy", false).await;
    world.rest().await;
    let task = Task::Edit {
        source: key(NS, "deploy.app.v1").name,
    };
    let namespace = key(NS, "x").namespace;
    let engine = &world.engine;
    engine
        .create(&alice(), &namespace, input("deploy", "app", "mine", task))
        .await
        .expect("copied");
    let name = "deploy.app.mine";
    world
        .edit(name, "d.yaml", |t| t.replace("replicas: 1", "replicas: 9"))
        .await;
    push("replicas: 1", "paused: true", None).await;
    world.rest().await;
    let at = key(NS, name);
    engine
        .move_to(&alice(), &at, Door::Main, Lifecycle::Proposed)
        .await
        .expect("proposed");
    let refused = engine
        .move_to(&alice(), &at, Door::Approval, Lifecycle::Published)
        .await
        .expect_err("the branch moved on");
    assert_eq!(refused.class(), Class::Conflict);
    assert!(refused.to_string().contains("BranchDiverged"), "{refused}");
    // Asked for while it is proposed, it waits, says so, and is done when the proposal is rejected.
    let mut wish = engine::usecase::input_of(&world.revision(name));
    wish.meta
        .annotations
        .insert("offshoot.dev/rebase".to_owned(), "true".to_owned());
    let noted = engine.update(&alice(), &at, Door::Main, wish).await;
    let warned = noted.expect("noted").warnings;
    assert!(
        warned.iter().any(|w| w.contains("once it is rejected")),
        "{warned:?}"
    );
    engine
        .move_to(&alice(), &at, Door::Approval, Lifecycle::Draft)
        .await
        .expect("rejected");
    assert_eq!(world.revision(name).lifecycle, Lifecycle::Draft);
    let text = world.file(name, "d.yaml").await;
    assert!(
        text.contains("replicas: 9") && text.contains("paused: true"),
        "{text}"
    );
    assert!(world.revision(name).meta.annotations.is_empty());
    assert_eq!(world.publish(name).await.revision.0, 2);
}

/// V20: a copy of what was published knows nothing of what somebody committed to the branch since: approved, it would take
/// that back without a word. It is refused, and based anew on request; a copy of an older revision is free where the branch
/// holds what was published.
#[tokio::test(start_paused = true)]
async fn a_copy_beside_unpublished_work_on_the_branch_is_not_approved_over_it() {
    let world = ready().await;
    let files = |text: &'static str| [("Kptfile", KPTFILE), ("c.txt", text)];
    world
        .push("deploy", "app", &files("one\ntwo\nthree\n"), Some("v1"))
        .await;
    world.register("deploy", false).await;
    world.rest().await;
    let engine = &world.engine;
    let namespace = key(NS, "x").namespace;
    let copy = async |of: &str, workspace: &str| {
        let source = key(NS, of).name;
        let wish = input("deploy", "app", workspace, Task::Edit { source });
        engine
            .create(&alice(), &namespace, wish)
            .await
            .expect("copied");
        let at = key(NS, &format!("deploy.app.{workspace}"));
        let proposed = engine
            .move_to(&alice(), &at, Door::Main, Lifecycle::Proposed)
            .await;
        proposed.expect("proposed");
        engine
            .move_to(&alice(), &at, Door::Approval, Lifecycle::Published)
            .await
    };
    world
        .push("deploy", "app", &files("one\ntwo\nby hand\n"), None)
        .await;
    world.rest().await;
    let refused = copy("deploy.app.v1", "mine")
        .await
        .expect_err("it lacks what is on the branch");
    assert!(refused.to_string().contains("BranchDiverged"), "{refused}");
    world
        .push("deploy", "app", &files("one\ntwo\nby hand\n"), Some("v2"))
        .await;
    world.rest().await;
    copy("deploy.app.v1", "back")
        .await
        .expect("the way back to an older revision");
}

/// A5, A7: what is no package is left out, and the Repository says so; once it is one, or gone, it says no more.
#[tokio::test(start_paused = true)]
async fn a_tag_or_draft_without_a_kptfile_is_said_on_its_repository() {
    let world = ready().await;
    let files = [("readme.md", "nothing else\n")];
    world.push("blueprints", "bare", &files, Some("v1")).await;
    push_to(&world, "blueprints", "drafts/half/ws", "half", &files).await;
    world.rest().await;
    let (status, text) = message(&world, "blueprints");
    assert_eq!(status, Status::True, "{text}");
    for wanted in [
        "package bare: tag v1: directory bare has no Kptfile",
        "package half: Draft ws: directory half has no Kptfile",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
    assert!(
        !world
            .names()
            .iter()
            .any(|n| n.contains("bare") || n.contains("half"))
    );
    let half = ("drafts/half/ws", "drafts/half/ws");
    push_onto(&world, "blueprints", half, "half", &[("Kptfile", KPTFILE)]).await;
    world.rest().await;
    let (_, text) = message(&world, "blueprints");
    assert!(
        text.contains("package bare") && !text.contains("package half"),
        "{text}"
    );
    assert!(world.names().contains(&"blueprints.half.ws".to_owned()));
}
