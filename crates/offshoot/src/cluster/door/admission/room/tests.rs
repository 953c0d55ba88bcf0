use std::net::Ipv4Addr;
use std::time::Duration;

use axum::body::Bytes;

use super::*;

const LIMIT: usize = 8 << 20;

fn address(last: u8) -> Option<IpAddr> {
    Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)))
}

/// A question of so many bytes that never ends.
fn unfinished(bytes: usize) -> Body {
    let first = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![b'a'; bytes]))]);
    Body::from_stream(first.chain(futures::stream::pending()))
}

async fn moment<T>(what: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(100), what)
        .await
        .ok()
}

#[tokio::test(start_paused = true)]
async fn one_address_does_not_fill_the_room_of_others() {
    let room = Arc::new(Room::default());
    let mut greedy = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let room = Arc::clone(&room);
        greedy.spawn(async move {
            room.take(address(1), unfinished(LIMIT), LIMIT)
                .await
                .map(drop)
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        room.all.available_permits(),
        ALL - SHARE,
        "it has its share, and no more"
    );
    let more = room.take(address(1), Body::from("{}"), LIMIT);
    assert!(moment(more).await.is_none(), "the same address waits");
    let other = room.take(address(2), Body::from("{}"), LIMIT);
    assert_eq!(moment(other).await.unwrap().unwrap().text(), b"{}");
    greedy.shutdown().await;
    assert_eq!(room.all.available_permits(), ALL, "all of it comes back");
    let again = room.take(address(1), Body::from("{}"), LIMIT);
    assert!(moment(again).await.is_some());
    assert!(
        room.addresses.lock().unwrap().len() <= 2,
        "addresses are forgotten"
    );
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_takes_nothing_even_from_its_own_address() {
    let room = Arc::new(Room::default());
    let mut silent = tokio::task::JoinSet::new();
    for n in 0..500 {
        let room = Arc::clone(&room);
        silent.spawn(async move {
            room.take(address(1), unfinished(n % 20), LIMIT)
                .await
                .map(drop)
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = room.take(address(1), Body::from(vec![b'a'; LIMIT]), LIMIT);
    assert_eq!(moment(asked).await.unwrap().unwrap().text().len(), LIMIT);
}

#[tokio::test]
async fn what_is_longer_is_not_kept() {
    let room = Room::default();
    let long = room.take(None, Body::from("four"), 3).await;
    assert!(matches!(long, Err(Unread::TooLong)));
    assert_eq!(room.all.available_permits(), ALL);
}
