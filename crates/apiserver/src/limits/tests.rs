//! Tests of the seats: limits at and beyond, and fairness in simulated time.

use std::collections::BTreeMap;

use super::*;

#[test]
fn seats_are_given_up_to_the_limit_and_back() {
    let mut lines: Lines<u32> = Lines::new(4, 2);
    for _ in 0..3 {
        assert_eq!(lines.come("a", || 0), Admission::Seat);
    }
    // One seat is for others.
    assert_eq!(lines.come("a", || 1), Admission::Line);
    assert_eq!(lines.come("a", || 2), Admission::Line);
    assert_eq!(lines.come("a", || 3), Admission::Full);
    assert_eq!(lines.come("b", || 4), Admission::Seat);
    assert_eq!(lines.come("b", || 5), Admission::Line);
    // Whoever holds fewest is first, then whoever waits longest.
    assert_eq!(lines.leave("a"), Some(("b".to_owned(), 5)));
    assert_eq!(lines.leave("b"), Some(("a".to_owned(), 1)));
    assert_eq!(lines.leave("a"), Some(("a".to_owned(), 2)));
    for user in ["a", "a", "a", "b"] {
        assert_eq!(lines.leave(user), None);
    }
    assert!(lines.users.is_empty() && lines.free == 4, "{lines:?}");
}

/// How long each request of user 0 took, with users who send one request every so many ticks; each works 8 ticks.
fn waits(every: &[u64]) -> Vec<u64> {
    const WORK: u64 = 8;
    let mut lines: Lines<(usize, u64)> = Lines::new(8, 4096);
    let mut working: BTreeMap<u64, Vec<(usize, u64)>> = BTreeMap::new();
    let mut took = Vec::new();
    for now in 0..20_000_u64 {
        for (user, came) in working.remove(&now).unwrap_or_default() {
            if user == 0 {
                took.push(now - came);
            }
            if let Some((_, (next, came))) = lines.leave(&user.to_string()) {
                working.entry(now + WORK).or_default().push((next, came));
            }
        }
        for (user, every) in every.iter().enumerate() {
            // The greedy one sends in bursts, just before the other.
            let due = if user == 0 {
                now % every == 1
            } else {
                now % every == 0
            };
            if due && lines.come(&user.to_string(), || (user, now)) == Admission::Seat {
                working.entry(now + WORK).or_default().push((user, now));
            }
        }
    }
    took.sort_unstable();
    took
}

#[test]
fn one_users_flood_leaves_anothers_latency_within_twice() {
    let p99 = |took: &[u64]| took[took.len() * 99 / 100];
    let alone = p99(&waits(&[20]));
    // Ten times as often, and more than the seats can do at all.
    for flood in [2, 1] {
        let beside = p99(&waits(&[20, flood]));
        assert!(beside <= 2 * alone, "{beside} ticks instead of {alone}");
    }
    // Without the part that is kept for others it would not hold: the flood alone fills its part.
    let crowd = [20, 1, 1, 1, 1];
    let crowded = p99(&waits(&crowd));
    assert!(crowded <= 3 * alone, "{crowded} ticks with four who flood");
}

#[tokio::test]
async fn who_gives_up_waiting_loses_no_seat() {
    let seats = Seats::new(1, 8);
    let first = seats.take("a").await.unwrap();
    let waits = seats.clone();
    let gone = tokio::spawn(async move { waits.take("b").await });
    let waits = seats.clone();
    let stays = tokio::spawn(async move { waits.take("c").await });
    tokio::task::yield_now().await;
    gone.abort();
    assert!(gone.await.is_err());
    drop(first);
    let second = stays.await.unwrap().unwrap();
    drop(second);
    drop(seats.take("d").await.unwrap());
    assert_eq!(lock(&seats.lines).free, 1);
}

#[tokio::test]
async fn a_seat_passes_many_who_gave_up() {
    const MANY: usize = 100_000;
    let seats = Seats::new(1, MANY);
    let first = seats.take("a").await.unwrap();
    for _ in 0..MANY {
        let (ticket, gone) = oneshot::channel();
        drop(gone);
        assert_eq!(lock(&seats.lines).come("a", || ticket), Admission::Line);
    }
    drop(first);
    assert_eq!(lock(&seats.lines).free, 1);
}

#[tokio::test]
async fn beyond_the_line_a_client_is_told_to_come_again() {
    let seats = Seats::new(1, 1);
    let first = seats.take("a").await.unwrap();
    let waits = seats.clone();
    let second = tokio::spawn(async move { waits.take("a").await.map(drop) });
    tokio::task::yield_now().await;
    let third = seats.take("a").await.unwrap_err();
    assert_eq!((third.code, third.reason.word()), (429, "TooManyRequests"));
    drop(first);
    second.await.unwrap().unwrap();
}

#[test]
fn shares_are_counted_for_each_and_for_all() {
    let shares = Shares::new(2, 3);
    let first = shares.take("a").unwrap();
    let _second = shares.take("a").unwrap();
    assert_eq!(shares.take("a").unwrap_err(), 2);
    let _third = shares.take("b").unwrap();
    assert_eq!(shares.take("c").unwrap_err(), 3);
    drop(first);
    let _fourth = shares.take("c").unwrap();
    assert!(lock(&shares.held).keys().eq(["a", "b", "c"]));
}
