use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const BOUNDS: Bounds = Bounds {
    keep: Duration::from_secs(10),
    patience: Duration::from_secs(5),
    kept: 3,
    asking: 2,
};

/// Asks a cluster that takes a second and answers with how often it was asked.
async fn ask(answers: &Answers<usize>, asked: &Arc<AtomicUsize>, what: &str) -> usize {
    let asked = Arc::clone(asked);
    let slow = || async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(asked.fetch_add(1, Ordering::SeqCst) + 1)
    };
    answers.get(Question::new([what]), slow).await.unwrap()
}

#[test]
fn parts_of_a_question_do_not_run_into_each_other() {
    assert_ne!(Question::new(["ab", "c"]), Question::new(["a", "bc"]));
    assert_ne!(Question::new(["ab"]), Question::new(["ab", ""]));
}

#[tokio::test(start_paused = true)]
async fn an_answer_holds_from_the_moment_at_which_it_was_asked_for() {
    let (answers, asked) = (Answers::new(BOUNDS), Arc::default());
    assert_eq!(ask(&answers, &asked, "a").await, 1);
    tokio::time::sleep(Duration::from_millis(8900)).await;
    assert_eq!(ask(&answers, &asked, "a").await, 1);
    // Ten seconds after the question, nine after the answer.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(ask(&answers, &asked, "a").await, 2);
}

#[tokio::test(start_paused = true)]
async fn many_that_wait_for_the_same_ask_once_even_if_the_first_goes_away() {
    let (answers, asked) = (Answers::new(BOUNDS), Arc::default());
    let first = ask(&answers, &asked, "a");
    let gone = tokio::time::timeout(Duration::from_millis(500), first).await;
    assert!(gone.is_err());
    let all = (0..50).map(|_| ask(&answers, &asked, "a"));
    assert_eq!(futures::future::join_all(all).await, [1; 50]);
}

#[tokio::test(start_paused = true)]
async fn no_more_is_kept_than_allowed_and_the_oldest_goes_first() {
    let (answers, asked) = (Answers::new(BOUNDS), Arc::default());
    for name in ["a", "b", "c", "d"] {
        ask(&answers, &asked, name).await;
    }
    assert_eq!(lock(&answers.held).kept.len(), 3);
    assert_eq!(lock(&answers.held).order.len(), 3);
    assert_eq!(ask(&answers, &asked, "b").await, 2);
    assert_eq!(ask(&answers, &asked, "a").await, 5);
}

#[tokio::test(start_paused = true)]
async fn what_failed_or_took_too_long_is_asked_again() {
    let answers = Answers::<usize>::new(BOUNDS);
    let question = Question::new(["a"]);
    let failed = answers.get(question, || async { Err("down".to_owned()) });
    assert_eq!(failed.await, Err("down".to_owned()));
    let hangs = answers.get(question, std::future::pending);
    assert_eq!(hangs.await, Err("no answer within 5 s".to_owned()));
    assert_eq!(answers.get(question, || async { Ok(7) }).await, Ok(7));
    assert!(lock(&answers.held).pending.is_empty());
}

#[tokio::test(start_paused = true)]
async fn only_so_many_questions_are_under_way_and_who_gets_no_turn_is_told() {
    let answers = Answers::<usize>::new(BOUNDS);
    let hang = |what: &'static str| answers.get(Question::new([what]), std::future::pending);
    let begun = Instant::now();
    let (one, two, third) = tokio::join!(hang("a"), hang("b"), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ask = || async move { Ok(begun.elapsed().as_secs() as usize) };
        answers.get(Question::new(["c"]), ask).await
    });
    assert!(one.is_err() && two.is_err());
    assert_eq!(third, Ok(5), "its turn came when the others gave up");
    let (_, _, late) = tokio::join!(hang("d"), hang("e"), hang("f"));
    assert!(late.is_err());
}
