//! Which connections there may be: how many in all and of one address, how long without a request, and which one goes
//! when another one comes.
//!
//! A connection is in use while a request of it is answered, while an answer is being taken, and while a watch stands;
//! nothing else counts, no ping and no half a request. One that is in use is never closed for another one. Where
//! there is no room, idle ones go: first those that have not greeted (TLS), then those on which nobody was let in, then the
//! rest; of those the address that has most, and of its the one that has been idle longest.
//!
//! [`Connections`] decides and counts; the sockets are the server's.

mod flight;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::limits::Limits;
use crate::lock::lock;

pub(crate) use flight::{Flight, Lasting, Request};

/// How often at most the log says that connections are closed or refused for lack of room.
const TELL: Duration = Duration::from_secs(10);

/// Why the server ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ended {
    /// TLS was not agreed on in time.
    Handshake,
    /// Nobody was let in in time.
    FirstRequest,
    /// The headers of a request did not come in time.
    Headers,
    /// There was no request for long.
    Idle,
    /// Others needed the room.
    Room,
    /// It came when there was no room, and none to be had.
    Refused,
}

impl Ended {
    pub(crate) const ALL: [Self; 6] = [
        Self::Handshake,
        Self::FirstRequest,
        Self::Headers,
        Self::Idle,
        Self::Room,
        Self::Refused,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::FirstRequest => "first_request",
            Self::Headers => "headers",
            Self::Idle => "idle",
            Self::Room => "room",
            Self::Refused => "refused",
        }
    }
}

/// How far a connection has got; the less far, the sooner it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// TLS is being agreed on.
    Greeting,
    /// Nobody was let in on it.
    Stranger,
    /// Somebody with credentials was.
    Known,
}

/// What goes on at a connection.
#[derive(Debug)]
struct Doing {
    stage: Stage,
    /// Requests without an answer.
    answering: usize,
    /// Answers that are being taken.
    sending: usize,
    /// Watches that stand.
    watching: usize,
    /// When something last happened that counts.
    active: Instant,
    /// When the headers of a request began that is not there yet (HTTP 1).
    head: Option<Instant>,
    /// Whether it was told to go.
    leaving: bool,
    /// Whether it takes no further requests.
    closing: bool,
}

impl Doing {
    /// Whether somebody waits for something that comes by itself.
    fn in_use(&self) -> bool {
        self.answering + self.watching > 0
    }

    /// Why it is over now, or when to ask again.
    fn over(&self, now: Instant, limits: &Limits) -> Result<Ended, Instant> {
        if self.in_use() {
            return Err(now + limits.first.min(limits.idle).max(Duration::from_millis(1)));
        }
        if self.leaving {
            return Ok(Ended::Room);
        }
        let (quiet, why) = match self.stage {
            Stage::Greeting | Stage::Stranger => (limits.first, Ended::FirstRequest),
            Stage::Known => (limits.idle, Ended::Idle),
        };
        let whole = (self.active + quiet, why);
        let head = self
            .head
            .map(|since| (since + limits.headers, Ended::Headers));
        let (at, why) = head.filter(|head| head.0 < whole.0).unwrap_or(whole);
        if at <= now { Ok(why) } else { Err(at) }
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    id: u64,
    address: IpAddr,
    doing: Mutex<Doing>,
    /// Says that something changed from outside.
    told: Notify,
}

impl Link {
    /// Where it comes from, as addresses are counted.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// TLS was agreed on.
    pub(crate) fn greeted(&self) {
        lock(&self.doing).stage = Stage::Stranger;
    }

    /// Bytes came while no request was under way: the headers of the next one begin.
    pub(crate) fn head_begins(&self) {
        let mut doing = lock(&self.doing);
        if !doing.in_use() && doing.sending == 0 && doing.head.is_none() {
            doing.head = Some(Instant::now());
        }
    }

    /// An answer moved on.
    pub(crate) fn moved(&self) {
        lock(&self.doing).active = Instant::now();
    }

    /// No further request is taken.
    pub(crate) fn closes(&self) {
        lock(&self.doing).closing = true;
    }

    /// Why it is over, or when to ask again.
    pub(crate) fn over(&self, limits: &Limits) -> Result<Ended, Instant> {
        lock(&self.doing).over(Instant::now(), limits)
    }

    /// Waits until [`Self::over`] may have changed.
    pub(crate) fn told(&self) -> tokio::sync::futures::Notified<'_> {
        self.told.notified()
    }
}

#[derive(Debug, Default)]
struct State {
    open: BTreeMap<u64, Arc<Link>>,
    /// Of them, those that were told to go.
    leaving: usize,
    /// How many each address has, without those that were told to go.
    addresses: BTreeMap<IpAddr, usize>,
    /// The connections on which requests of a user are under way, with how many.
    users: BTreeMap<String, BTreeMap<u64, usize>>,
    next: u64,
}

/// What was ended, and what of it the log was told.
#[derive(Debug, Default)]
struct Counts {
    ended: BTreeMap<Ended, u64>,
    told: Option<Instant>,
    room: u64,
    refused: u64,
}

#[derive(Debug)]
struct Inner {
    limits: Limits,
    state: Mutex<State>,
    counts: Mutex<Counts>,
    /// One that was told to go has gone.
    left: Notify,
}

/// The connections of a server.
#[derive(Debug, Clone)]
pub(crate) struct Connections(Arc<Inner>);

/// What a new connection gets.
#[derive(Debug)]
pub(crate) enum Entry {
    /// It may stay.
    In(OpenConnection),
    /// As many as may be are about to go: ask again when one has.
    Wait,
    /// All are in use.
    Full,
}

/// A connection that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    pub(crate) link: Arc<Link>,
    of: Connections,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.of.leave(&self.link);
    }
}

/// An address as it is counted: of version 6 the network, of which one customer has as many addresses as they like.
fn place(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => {
            let network = u128::from(six) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        four @ IpAddr::V4(_) => four,
    }
}

impl Connections {
    pub(crate) fn new(limits: Limits) -> Self {
        Self(Arc::new(Inner {
            limits,
            state: Mutex::default(),
            counts: Mutex::default(),
            left: Notify::new(),
        }))
    }

    /// A connection comes.
    pub(crate) fn enter(&self, address: IpAddr) -> Entry {
        let address = place(address);
        let limits = &self.0.limits;
        let mut state = lock(&self.0.state);
        loop {
            let here = state.addresses.get(&address).copied().unwrap_or(0);
            let of_one = here >= limits.address_connections;
            let of_all = state.open.len() - state.leaving >= limits.connections;
            if of_one || of_all {
                // An address that has its share makes room among its own: nobody else gives way to it.
                let told = self.send_away(&mut state, of_one.then_some(address), 1);
                if told == 0 {
                    return Entry::Full;
                }
            // Those that were told to go hold their sockets until they have: with too many of them the system would run out.
            } else if state.open.len() >= limits.connections + limits.spare() {
                return Entry::Wait;
            } else {
                return Entry::In(self.admit(&mut state, address));
            }
        }
    }

    fn admit(&self, state: &mut State, address: IpAddr) -> OpenConnection {
        let id = state.next;
        state.next += 1;
        let link = Arc::new(Link {
            id,
            address,
            doing: Mutex::new(Doing {
                stage: Stage::Greeting,
                answering: 0,
                sending: 0,
                watching: 0,
                active: Instant::now(),
                head: None,
                leaving: false,
                closing: false,
            }),
            told: Notify::new(),
        });
        state.open.insert(id, Arc::clone(&link));
        *state.addresses.entry(address).or_insert(0) += 1;
        OpenConnection {
            link,
            of: self.clone(),
        }
    }

    /// Tells idle connections to go: at least so many, and a few more where looking at all of them is much work. Answers
    /// how many.
    fn send_away(&self, state: &mut State, address: Option<IpAddr>, least: usize) -> usize {
        let mut idle = Vec::new();
        for link in state.open.values() {
            if address.is_some_and(|address| address != link.address) {
                continue;
            }
            let doing = lock(&link.doing);
            if !doing.in_use() && doing.sending == 0 && !doing.leaving {
                let many = state.addresses.get(&link.address).copied().unwrap_or(0);
                idle.push((doing.stage, Reverse(many), doing.active, link.id));
            }
        }
        idle.sort_unstable();
        idle.truncate(least + self.0.limits.connections / 256);
        for (.., id) in &idle {
            let Some(link) = state.open.get(id) else {
                continue;
            };
            lock(&link.doing).leaving = true;
            link.told.notify_one();
            let address = link.address;
            state.leaving += 1;
            less(&mut state.addresses, &address);
        }
        idle.len()
    }

    /// Tells so many idle connections to go, where the system has run out of something.
    pub(crate) fn make_room(&self, least: usize) {
        self.send_away(&mut lock(&self.0.state), None, least);
    }

    /// Waits until one that was told to go has gone, or a moment.
    pub(crate) async fn left(&self) {
        let moment = Duration::from_millis(100);
        // Whether it was the moment makes no difference: the caller looks again.
        drop(tokio::time::timeout(moment, self.0.left.notified()).await);
    }

    fn leave(&self, link: &Link) {
        let mut state = lock(&self.0.state);
        state.open.remove(&link.id);
        if lock(&link.doing).leaving {
            state.leaving = state.leaving.saturating_sub(1);
        } else {
            less(&mut state.addresses, &link.address);
        }
        drop(state);
        self.0.left.notify_one();
    }

    /// A request came before it had gone: it stays.
    fn stay(&self, link: &Link) {
        let mut state = lock(&self.0.state);
        let mut doing = lock(&link.doing);
        if std::mem::replace(&mut doing.leaving, false) {
            state.leaving = state.leaving.saturating_sub(1);
            *state.addresses.entry(link.address).or_insert(0) += 1;
        }
    }

    /// Counts an end, and tells the log of those for lack of room.
    pub(crate) fn ended(&self, why: Ended) {
        let mut counts = lock(&self.0.counts);
        *counts.ended.entry(why).or_insert(0) += 1;
        match why {
            Ended::Room => counts.room += 1,
            Ended::Refused => counts.refused += 1,
            _ => return,
        }
        let now = Instant::now();
        if counts.told.is_some_and(|at| now.duration_since(at) < TELL) {
            return;
        }
        counts.told = Some(now);
        let (closed, refused) = (counts.room, counts.refused);
        (counts.room, counts.refused) = (0, 0);
        drop(counts);
        tracing::warn!(
            closed,
            refused,
            limit = self.0.limits.connections,
            of_an_address = self.0.limits.address_connections,
            "too many connections: idle ones are closed for new ones, and new ones refused where all are in use"
        );
    }

    /// How many are in use and idle, and how many the server ended, by reason.
    pub(crate) fn numbers(&self) -> ConnectionNumbers {
        let state = lock(&self.0.state);
        let used = |link: &&Arc<Link>| {
            let doing = lock(&link.doing);
            doing.in_use() || doing.sending > 0
        };
        let in_use = state.open.values().filter(used).count();
        let idle = state.open.len() - in_use;
        drop(state);
        let counts = lock(&self.0.counts);
        let ended =
            Ended::ALL.map(|why| (why.word(), counts.ended.get(&why).copied().unwrap_or(0)));
        ConnectionNumbers {
            in_use,
            idle,
            ended: ended.to_vec(),
        }
    }
}

/// Connections in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionNumbers {
    /// Those with a request or a watch.
    pub in_use: usize,
    /// Those without.
    pub idle: usize,
    /// Those that the server ended, by reason.
    pub ended: Vec<(&'static str, u64)>,
}

/// One less of a key; none is no entry.
fn less<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
