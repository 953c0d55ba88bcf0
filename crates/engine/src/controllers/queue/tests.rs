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
    let queue = Queue::default();
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
    let queue = Queue::default();
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
async fn failures_back_off_alone_and_a_wake_comes_through_at_once() {
    let queue = Queue::default();
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
async fn closing_ends_every_wait() {
    let queue = std::sync::Arc::new(Queue::default());
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
