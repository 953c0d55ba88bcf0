//! What a remote tells of its refs: read to its end or not at all, and never beyond a limit.

use std::time::{Duration, Instant};

use model::Class;
use store::conformance::World as _;
use store::{Error, GitOptions, Limits, RemoteSpec};
use testkit::git_http::{Asked, Fault};

use crate::http::Remote;
use crate::local::{draft_on, name, one};
use crate::oracle::{available, git};

fn is_too_much(error: &Error) {
    assert_eq!(error.class(), Class::Limit, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("delete refs there that nobody needs"),
        "{text}"
    );
}

async fn refs_beyond_the_limit_are_said_on_their_repository(options: GitOptions) {
    if !available() {
        return;
    }
    let refs = 40;
    let limits = Limits {
        refs,
        ..options.limits
    };
    let world = Remote::new(GitOptions { limits, ..options });
    let repo = world.open().await;
    draft_on(&*repo, "app").await;
    // With HEAD, main and the draft, it is as much as may be.
    let served = world.served();
    let more = |n: usize| format!("refs/heads/more/{n}");
    let make = |n: usize| git(&served, &["update-ref", &more(n), "main"]);
    for n in 0..refs - 3 {
        make(n);
    }
    assert_eq!(repo.fetch().await.unwrap().len(), refs - 1);
    make(refs);
    is_too_much(&repo.fetch().await.err().unwrap());
    // What is mirrored can be read, other repositories go on, and the way out works.
    assert!(repo.refs().unwrap().contains_key(&name("app")));
    git(
        world.served().parent().unwrap(),
        &[
            "clone",
            "-q",
            "--bare",
            "--single-branch",
            "repo.git",
            "other.git",
        ],
    );
    let other = RemoteSpec::new(world.server.url("other.git"));
    world.store().open(other).await.unwrap();
    git(&served, &["update-ref", "-d", &more(refs)]);
    assert_eq!(repo.fetch().await.unwrap().len(), refs - 1);
    draft_on(&*repo, "beyond").await;
}

async fn a_list_without_an_end_is_given_up(options: GitOptions) {
    if !available() {
        return;
    }
    let limits = Limits {
        ref_bytes: 8 << 20,
        // Counting them would end it, too.
        refs: usize::MAX,
        ..options.limits
    };
    let direct = options.direct;
    let world = Remote::new(GitOptions { limits, ..options });
    let repo = world.open().await;
    let started = Instant::now();
    let before = repo.refs().unwrap();
    world
        .server
        .set(|m| m.faults.push((Asked::Refs, Fault::Endless)));
    is_too_much(&repo.fetch().await.err().unwrap());
    if direct {
        world
            .server
            .set(|m| m.faults.push((Asked::RefsToPush, Fault::Endless)));
        let (_, submission) = one(&*repo, "app");
        is_too_much(&repo.submit(submission).await.err().unwrap());
        assert!(repo.unfinished().unwrap().is_empty());
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert_eq!(repo.fetch().await.unwrap(), before);
}

async fn a_list_that_breaks_off_deletes_nothing(options: GitOptions) {
    if !available() {
        return;
    }
    let world = Remote::new(options);
    let repo = world.open().await;
    for dir in ["a", "b", "c"] {
        draft_on(&*repo, dir).await;
    }
    let before = repo.refs().unwrap();
    for hundredths in [30, 50, 70, 85, 95, 99] {
        let fault = (Asked::Refs, Fault::ShortenAnswer(hundredths));
        // It may be asked for once more.
        world.server.set(|m| m.faults = vec![fault, fault]);
        let error = repo.fetch().await.err().unwrap();
        assert_eq!(error.class(), Class::Unavailable, "{hundredths}: {error}");
        assert_eq!(repo.refs().unwrap(), before, "{hundredths}");
    }
    world.server.set(|m| m.faults = Vec::new());
    assert_eq!(repo.fetch().await.unwrap(), before);
}

both![
    refs_beyond_the_limit_are_said_on_their_repository,
    a_list_without_an_end_is_given_up,
    a_list_that_breaks_off_deletes_nothing,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_that_breaks_off_is_made_again() {
    if !available() {
        return;
    }
    let world = Remote::new(GitOptions::default());
    let repo = world.open().await;
    for (name, fault) in [
        ("nothing", Fault::CutAnswer(0)),
        ("a-part", Fault::CutAnswer(50)),
        ("half-a-list", Fault::ShortenAnswer(50)),
        ("no-request", Fault::CutRequest(50)),
    ] {
        world
            .server
            .set(|m| m.faults.push((Asked::RefsToPush, fault)));
        draft_on(&*repo, name).await;
        assert_eq!(world.server.manners().faults, [], "{name}");
    }
    // Once, not for ever.
    let cut = (Asked::RefsToPush, Fault::CutAnswer(50));
    world.server.set(|m| m.faults.extend([cut, cut]));
    let (_, submission) = one(&*repo, "twice");
    let answer = repo.submit(submission).await;
    assert!(answer.is_err_and(|e| e.class() == Class::Unavailable));
}
