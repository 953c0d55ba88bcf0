//! Remotes that accept a connection and then say nothing: everything ends by itself, and at once
//! when the process is to end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::Class;
use store::conformance::World as _;
use store::{Answer, GitOptions, Repo};
use testkit::git_http::{Asked, Fault};

use crate::http::Remote;
use crate::local::{draft_on, head, name, one};
use crate::oracle::available;

/// Programs whose command line names the remote.
fn programs(url: &str) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(url) {
            all.push(line);
        }
    }
    all
}

fn is_unavailable(repo: &dyn Repo, error: &store::Error) {
    assert_eq!(error.class(), Class::Unavailable, "{}: {error}", repo.url());
}

async fn silence_is_given_up(options: GitOptions) {
    if !available() {
        return;
    }
    let silence = Duration::from_secs(1);
    let world = Remote::new(GitOptions { silence, ..options });
    let repo = world.open().await;
    let started = Instant::now();
    for asked in [Asked::Refs, Asked::Objects] {
        if asked == Asked::Objects {
            let outside = world.outside().await.unwrap();
            draft_on(&*outside, "outside").await;
        }
        world.server.set(|m| m.faults = vec![(asked, Fault::Hang)]);
        let error = repo.fetch().await.err().unwrap();
        is_unavailable(&*repo, &error);
    }
    assert_eq!(world.server.manners().faults, []);
    // Whoever took a push and never answers is asked what became of it.
    for (dir, fault, tries) in [("a", Fault::CarryOutAndHang, 1), ("b", Fault::Hang, 2)] {
        let before = repo.stats().pushes;
        world.server.set(|m| m.faults = vec![(Asked::Push, fault)]);
        let (id, submission) = one(&*repo, dir);
        let answer = repo.submit(submission).await.unwrap();
        assert!(matches!(answer, Answer::Published(_)), "{dir}: {answer:?}");
        assert_eq!(repo.stats().pushes - before, tries, "{dir}");
        let reference = format!("refs/heads/drafts/{dir}/ws");
        assert_eq!(head(&world.served(), &reference), Some(id));
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(programs(repo.url()), Vec::<String>::new());
}

async fn the_end_of_the_process_waits_for_nobody(options: GitOptions) {
    if !available() {
        return;
    }
    for asked in [Asked::Refs, Asked::Objects, Asked::RefsToPush, Asked::Push] {
        let world = Remote::new(options.clone());
        let (store, repo) = (world.store(), world.open().await);
        if asked == Asked::Objects {
            let outside = world.outside().await.unwrap();
            draft_on(&*outside, "outside").await;
        }
        world.server.set(|m| m.faults = vec![(asked, Fault::Hang)]);
        let pushes = matches!(asked, Asked::RefsToPush | Asked::Push);
        let (_, submission) = one(&*repo, "cut");
        let task = tokio::spawn({
            let repo = Arc::clone(&repo);
            async move {
                if pushes {
                    return repo.submit(submission).await.map(Some);
                }
                repo.fetch().await.map(|_| None)
            }
        });
        while !world.server.manners().faults.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let started = Instant::now();
        store.disconnect();
        let said = task.await.unwrap();
        // What was killed takes a moment to go.
        while !programs(repo.url()).is_empty() && started.elapsed() < Duration::from_secs(2) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(programs(repo.url()), Vec::<String>::new(), "{asked:?}");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(2), "{asked:?}: {took:?}");
        // What was sent may have arrived: its intent stays. What was not sent is an error.
        match said {
            Ok(Some(Answer::Pending(_))) => {
                assert!(pushes, "{asked:?}");
                assert_eq!(repo.unfinished().unwrap().len(), 1);
            }
            Err(error) => {
                assert!(asked != Asked::Push, "{error}");
                is_unavailable(&*repo, &error);
            }
            other => panic!("{asked:?}: {other:?}"),
        }
        let started = Instant::now();
        let error = repo.fetch().await.err().unwrap();
        assert!(error.to_string().contains("is being stopped"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(1));
        // The next process completes or drops it.
        drop(repo);
        world.restart();
        let repo = world.open().await;
        let stands = repo.unfinished().unwrap().iter().any(|i| i.stands);
        assert!(!stands && !repo.refs().unwrap().contains_key(&name("cut")));
        draft_on(&*repo, "afterwards").await;
    }
}

both![silence_is_given_up, the_end_of_the_process_waits_for_nobody];
