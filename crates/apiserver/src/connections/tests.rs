//! Tests of what is decided, without sockets.

use std::net::Ipv4Addr;

use super::*;

fn of(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

fn limits() -> Limits {
    Limits {
        connections: 8,
        address_connections: 6,
        user_connections: 2,
        headers: Duration::from_secs(10),
        first: Duration::from_secs(30),
        idle: Duration::from_secs(180),
        ..Limits::default()
    }
}

fn enter(connections: &Connections, last: u8) -> OpenConnection {
    match connections.enter(of(last)) {
        Entry::In(open) => open,
        other => panic!("{other:?}"),
    }
}

fn leaving(open: &OpenConnection) -> bool {
    lock(&open.link.doing).leaving
}

/// Makes it as old as that.
fn age(open: &OpenConnection, seconds: u64) {
    lock(&open.link.doing).active -= Duration::from_secs(seconds);
}

fn let_in(open: &OpenConnection, user: &str) -> Flight {
    let flight = open.of.begin(&open.link);
    flight.request().of(user).expect("a place");
    flight
}

fn idle_of(connections: &Connections, last: u8, user: &str) -> OpenConnection {
    let open = enter(connections, last);
    open.link.greeted();
    drop(let_in(&open, user));
    open
}

#[test]
fn one_address_has_its_share_and_loses_its_own_first() {
    let connections = Connections::new(limits());
    let held: Vec<_> = (0..6).map(|_| enter(&connections, 1)).collect();
    age(&held[3], 5);
    let (two, three) = (enter(&connections, 2), enter(&connections, 2));
    assert!(!held.iter().any(leaving), "eight are at the limit");
    let more = enter(&connections, 1);
    assert!(leaving(&held[3]) && held.iter().filter(|open| leaving(open)).count() == 1);
    assert!(!leaving(&two) && !leaving(&three));
    drop(held);
    drop((two, three, more));
    let state = lock(&connections.0.state);
    assert!(state.open.is_empty() && state.addresses.is_empty() && state.leaving == 0);
}

#[test]
fn whoever_has_got_least_far_goes_first_then_whoever_has_most() {
    let connections = Connections::new(limits());
    let known = idle_of(&connections, 1, "ada");
    age(&known, 100);
    let strangers = [enter(&connections, 2), enter(&connections, 2)];
    strangers.iter().for_each(|open| open.link.greeted());
    let alone = enter(&connections, 3);
    alone.link.greeted();
    age(&alone, 50);
    let greeting = enter(&connections, 4);
    let in_use = enter(&connections, 5);
    let flight = let_in(&in_use, "ada");
    age(&in_use, 1_000);
    let sending = enter(&connections, 5);
    let taken = let_in(&sending, "ada");
    taken.answered(false);
    age(&sending, 100);
    let last = idle_of(&connections, 6, "bob");
    let mut newer = Vec::new();
    let mut order = Vec::new();
    for n in 0..7 {
        let Entry::In(open) = connections.enter(of(10 + n)) else {
            break;
        };
        // What came now is in use: it is no candidate.
        open.link.greeted();
        newer.push((connections.begin(&open.link), open));
        let all = [
            &greeting,
            &strangers[0],
            &strangers[1],
            &alone,
            &known,
            &last,
        ];
        for (at, open) in all.iter().enumerate() {
            if leaving(open) && !order.contains(&at) {
                order.push(at);
                connections.leave(&open.link);
            }
        }
    }
    assert_eq!(order, [0, 1, 3, 2, 4, 5], "those in use stay");
    drop((flight, taken));
}

#[test]
fn what_is_in_use_is_never_sent_away_and_a_request_on_the_way_keeps_its_connection() {
    let connections = Connections::new(limits());
    let open: Vec<_> = (0..8).map(|n| enter(&connections, n)).collect();
    let mut flights: Vec<_> = open[1..]
        .iter()
        .map(|o| connections.begin(&o.link))
        .collect();
    flights[0].answered(true);
    let ninth = enter(&connections, 20);
    assert!(leaving(&open[0]));
    // A request comes before it has gone.
    flights.push(connections.begin(&open[0].link));
    assert!(!leaving(&open[0]));
    let tenth = connections.begin(&ninth.link);
    assert!(matches!(connections.enter(of(21)), Entry::Full));
    // One that goes makes room only once the others are no more than may be.
    drop(tenth);
    assert!(matches!(connections.enter(of(21)), Entry::Full));
    assert!(leaving(&ninth));
    drop(ninth);
    assert!(matches!(connections.enter(of(21)), Entry::Full));
    // The watch ends.
    drop(flights.remove(0));
    assert!(matches!(connections.enter(of(21)), Entry::In(_)));
}

#[test]
fn requests_of_a_user_are_under_way_on_so_many_connections() {
    let connections = Connections::new(limits());
    let open: Vec<_> = (0..4).map(|n| enter(&connections, n)).collect();
    let held = [let_in(&open[0], "ada"), let_in(&open[1], "ada")];
    let third = connections.begin(&open[2].link);
    assert_eq!(third.request().of("ada"), Err(2));
    assert_eq!(third.request().of("bob"), Ok(()));
    // On a connection that has one already there may be more.
    let again = let_in(&open[0], "ada");
    let [first, second] = held;
    drop(first);
    assert_eq!(connections.begin(&open[3].link).request().of("ada"), Err(2));
    drop(again);
    drop(let_in(&open[3], "ada"));
    drop((second, third));
    assert!(lock(&connections.0.state).users.is_empty());
}

#[test]
fn each_time_has_its_end() {
    let (limits, connections) = (limits(), Connections::new(limits()));
    let open = idle_of(&connections, 1, "ada");
    let stranger = enter(&connections, 1);
    let now = Instant::now();
    let after = |open: &OpenConnection, seconds| {
        let doing = lock(&open.link.doing);
        doing.over(now + Duration::from_secs(seconds), &limits).ok()
    };
    assert_eq!(
        (after(&open, 179), after(&open, 181)),
        (None, Some(Ended::Idle))
    );
    let first = (after(&stranger, 29), after(&stranger, 31));
    assert_eq!(first, (None, Some(Ended::FirstRequest)));
    open.link.head_begins();
    stranger.link.head_begins();
    assert_eq!(
        (after(&open, 9), after(&open, 11)),
        (None, Some(Ended::Headers))
    );
    assert_eq!(after(&stranger, 11), Some(Ended::Headers));
    let flight = let_in(&open, "ada");
    open.link.head_begins();
    assert_eq!(after(&open, 1_000_000), None, "it is answered");
    flight.answered(true);
    assert_eq!(after(&open, 1_000_000), None, "a watch stands");
    flight.answered(false);
    assert_eq!(
        after(&open, 181),
        Some(Ended::Idle),
        "an answer that nobody takes"
    );
    let anonymous = connections.begin(&stranger.link);
    drop(anonymous);
    assert_eq!(
        after(&stranger, 31),
        Some(Ended::FirstRequest),
        "nobody was let in"
    );
}

#[test]
fn shares_follow_from_the_limit_of_files() {
    let with = |files| {
        let limits = Limits::default().with_files(files);
        (
            limits.connections,
            limits.address_connections,
            limits.user_connections,
            limits.spare(),
        )
    };
    assert_eq!(with(16), (8, 6, 4, 1));
    assert_eq!(with(256), (150, 113, 75, 9));
    assert_eq!(with(1024), (720, 540, 360, 45));
    assert_eq!(with(1 << 20), (10_000, 7_500, 5_000, 64));
    for files in 32..2_000 {
        let limits = Limits::default().with_files(files);
        assert!(
            limits.connections + limits.spare() + files / 4 <= files,
            "{files}"
        );
    }
}

#[test]
fn addresses_of_one_network_are_one() {
    let six = |text: &str| place(text.parse().expect("an address"));
    assert_eq!(six("2001:db8::1"), six("2001:db8::ffff:1"));
    assert_ne!(six("2001:db8::1"), six("2001:db8:0:1::1"));
    assert_eq!(six("::ffff:10.0.0.1"), of(1));
    assert_ne!(of(1), of(2));
}
