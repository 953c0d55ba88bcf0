use std::time::Duration;

use model::{Namespace, ObjectKey, ObjectName};

use super::{Done, Key, Queue};

fn key(namespace: &str, name: &str) -> Key {
    Key::Variant(ObjectKey::new(
        Namespace::parse(namespace).expect("a namespace"),
        ObjectName::parse(name).expect("a name"),
    ))
}

#[tokio::test(start_paused = true)]
async fn a_key_is_in_line_once_and_comes_again_if_it_was_woken_meanwhile() {
    let queue = Queue::of(8);
    queue.add(key("a", "x"));
    queue.add(key("a", "x"));
    assert_eq!(queue.next().await, Some(key("a", "x")));
    assert_eq!(queue.busy(), 1);
    queue.add(key("a", "x"));
    queue.add(key("a", "y"));
    assert_eq!(queue.next().await, Some(key("a", "y")), "x is worked on");
    queue.done(&key("a", "y"), Done::Rest);
    queue.done(&key("a", "x"), Done::Rest);
    assert_eq!(queue.next().await, Some(key("a", "x")));
    queue.done(&key("a", "x"), Done::Rest);
    assert_eq!(queue.busy(), 0);
}

#[tokio::test(start_paused = true)]
async fn namespaces_take_turns() {
    let queue = Queue::of(8);
    for name in ["1", "2", "3"] {
        queue.add(key("big", name));
    }
    queue.add(key("small", "1"));
    let mut order = Vec::new();
    for _ in 0..4 {
        order.extend(queue.next().await);
    }
    assert_eq!(
        order,
        [
            key("big", "1"),
            key("small", "1"),
            key("big", "2"),
            key("big", "3")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn i11_namespaces_that_hang_leave_slots_to_the_others() {
    let queue = Queue::of(16);
    for tenant in ["one", "two", "three"] {
        for name in 0..100 {
            queue.add(key(tenant, &name.to_string()));
        }
    }
    let soon = || tokio::time::timeout(Duration::from_secs(1), queue.next());
    let mut hanging = Vec::new();
    while let Ok(Some(key)) = soon().await {
        hanging.push(key);
    }
    assert!(hanging.len() < 16, "{}", hanging.len());
    // Whoever comes now is served at once, as often as they come.
    for name in ["x", "y", "z"] {
        queue.add(key("late", name));
        assert_eq!(soon().await, Ok(Some(key("late", name))));
        queue.done(&key("late", name), Done::Rest);
    }
    // What comes to its end makes room for the next in line.
    let ended = hanging.pop().expect("some hang");
    queue.done(&ended, Done::Rest);
    assert!(matches!(soon().await, Ok(Some(_))));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_alone_gets_three_of_four_slots() {
    let queue = Queue::of(256);
    for name in 0..300 {
        queue.add(key("alone", &name.to_string()));
    }
    let soon = || tokio::time::timeout(Duration::from_secs(1), queue.next());
    let mut held = 0;
    while let Ok(Some(_)) = soon().await {
        held += 1;
    }
    assert_eq!(held, 192);
    let queue = Queue::of(1);
    queue.add(key("alone", "x"));
    assert!(queue.next().await.is_some(), "the only slot is anybody's");
}

#[tokio::test(start_paused = true)]
async fn failures_back_off_alone_and_a_wake_comes_through_at_once() {
    let queue = Queue::of(8);
    queue.add(key("a", "x"));
    let mut waits = Vec::new();
    for _ in 0..4 {
        let before = tokio::time::Instant::now();
        let taken = queue.next().await.expect("open");
        waits.push(before.elapsed().as_millis());
        queue.done(&taken, Done::Failed);
    }
    assert!(waits.is_sorted() && waits[3] >= 800, "{waits:?}");
    queue.add(key("a", "x"));
    let before = tokio::time::Instant::now();
    assert_eq!(queue.next().await, Some(key("a", "x")));
    assert_eq!(before.elapsed(), Duration::ZERO);
    queue.done(&key("a", "x"), Done::After(Duration::from_secs(5)));
    let before = tokio::time::Instant::now();
    assert_eq!(queue.next().await, Some(key("a", "x")));
    assert_eq!(before.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_conflicts_is_the_first_one() {
    let queue = Queue::of(8);
    queue.add(key("a", "x"));
    for _ in 0..8 {
        let taken = queue.next().await.expect("open");
        queue.done(&taken, Done::Again);
    }
    let taken = queue.next().await.expect("open");
    queue.done(&taken, Done::Failed);
    assert_eq!(queue.retries().len(), 1);
    let before = tokio::time::Instant::now();
    let taken = queue.next().await.expect("open");
    assert_eq!(before.elapsed(), Duration::from_millis(200));
    queue.done(&taken, Done::Rest);
    assert_eq!(queue.retries().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_plan_wants_to_try_again_counts_until_its_turn_comes() {
    let queue = Queue::of(8);
    queue.add(key("a", "x"));
    let taken = queue.next().await.expect("open");
    queue.done(&taken, Done::Retry(Duration::from_secs(5)));
    assert_eq!(queue.retries().len(), 1);
    let before = tokio::time::Instant::now();
    let taken = queue.next().await.expect("open");
    assert_eq!((before.elapsed().as_secs(), queue.retries().len()), (5, 0));
    queue.done(&taken, Done::After(Duration::from_secs(5)));
    assert_eq!(queue.retries().len(), 0, "a look at its time is no retry");
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_wait() {
    let queue = std::sync::Arc::new(Queue::of(8));
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let queue = std::sync::Arc::clone(&queue);
            tokio::spawn(async move { queue.next().await })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.close();
    for waiter in waiters {
        assert_eq!(waiter.await.expect("no panic"), None);
    }
}

/// Keys that wait for a remote hold up nobody, and are handed out to no second turn.
#[tokio::test(start_paused = true)]
async fn i11_a_slot_that_was_lent_is_another_keys() {
    let queue = Queue::of(4);
    for name in ["1", "2", "3", "4", "5"] {
        queue.add(key("a", name));
    }
    let mut taken = Vec::new();
    while let Ok(next) = tokio::time::timeout(Duration::from_secs(1), queue.next()).await {
        taken.extend(next);
    }
    assert_eq!(taken.len(), 3, "one slot is left to others: {taken:?}");
    for key in &taken {
        queue.lend(key);
        queue.lend(key);
    }
    for name in ["4", "5"] {
        let next = tokio::time::timeout(Duration::from_secs(1), queue.next()).await;
        assert_eq!(next, Ok(Some(key("a", name))), "the slots are free");
    }
    queue.add(key("a", "1"));
    let again = tokio::time::timeout(Duration::from_secs(1), queue.next()).await;
    assert!(again.is_err(), "it is worked on: {again:?}");
    queue.lend(&key("b", "none"));
    for key in taken.into_iter().chain([key("a", "4"), key("a", "5")]) {
        queue.done(&key, Done::Rest);
    }
    assert_eq!(queue.next().await, Some(key("a", "1")));
    queue.done(&key("a", "1"), Done::Rest);
    assert_eq!(queue.busy(), 0);
    // Nothing was given back twice: the shares are as before.
    for name in ["1", "2", "3", "4"] {
        queue.add(key("a", name));
    }
    let mut held = 0;
    while let Ok(Some(_)) = tokio::time::timeout(Duration::from_secs(1), queue.next()).await {
        held += 1;
    }
    assert_eq!(held, 3);
}
