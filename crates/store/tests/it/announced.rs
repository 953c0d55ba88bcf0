//! A batch waits for what was announced before it opened, and for nothing else.

use store::{Answer, GitOptions, Limits};

use crate::git::Local;
use crate::local::{one, open};

#[tokio::test]
async fn an_announced_submission_joins_the_batch() {
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let before = repo.stats().batches;
    let (first, second) = (repo.announce(), repo.announce());
    let (_, mut early) = one(&*repo, "apps/early");
    let (_, mut late) = one(&*repo, "apps/late");
    early.announced = Some(first);
    let later = async {
        // The first one stands in the queue by now.
        tokio::task::yield_now().await;
        assert_eq!(repo.stats().batches, before, "it waits for the second");
        late.announced = Some(second);
        repo.submit(late).await
    };
    let (early, later) = tokio::join!(biased; repo.submit(early), later);
    assert!(matches!(early, Ok(Answer::Published(_))), "{early:?}");
    assert!(matches!(later, Ok(Answer::Published(_))), "{later:?}");
    assert_eq!(repo.stats().batches, before + 1, "one batch for both");
}

#[tokio::test]
async fn a_promise_that_is_taken_back_holds_nobody_up() {
    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let broken = repo.announce();
    let (_, submission) = one(&*repo, "apps/web");
    let give_up = async {
        tokio::task::yield_now().await;
        drop(broken);
    };
    let (answer, ()) = tokio::join!(biased; repo.submit(submission), give_up);
    assert!(matches!(answer, Ok(Answer::Published(_))), "{answer:?}");
}

#[tokio::test]
async fn neither_later_promises_nor_full_batches_wait() {
    let options = GitOptions {
        limits: Limits {
            batch: 1,
            ..Limits::default()
        },
        ..GitOptions::default()
    };
    let world = Local::new(options);
    let repo = open(&world).await;
    let early = repo.announce();
    let (_, submission) = one(&*repo, "apps/full");
    let full = repo.submit(submission).await;
    assert!(matches!(full, Ok(Answer::Published(_))), "{full:?}");
    drop(early);

    let world = Local::new(GitOptions::default());
    let repo = open(&world).await;
    let (_, submission) = one(&*repo, "apps/first");
    let submitted = repo.submit(submission);
    let (answer, _later) = tokio::join!(biased; submitted, async { repo.announce() });
    assert!(matches!(answer, Ok(Answer::Published(_))), "{answer:?}");
}
