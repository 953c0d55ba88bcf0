//! How much is done at once, and for whom: seats that users share fairly.
//!
//! A request takes a seat after it was let in and gives it back with its answer; a watch gives it back as soon as
//! it stands. Nobody holds all seats, and a free one goes to whoever holds fewest: a user who sends ten times as
//! much waits for themselves. [`Lines`] decides, without clock or runtime; [`Seats`] lets requests wait.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use objects::Failure;
use tokio::sync::oneshot;

use crate::lock::lock;

/// The limits of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests that only read, at once.
    pub reading: usize,
    /// Requests that write, at once.
    pub writing: usize,
    /// Requests of one user that may wait; further ones are told to come again.
    pub waiting: usize,
    /// Watches of one user that may be open.
    pub watches: usize,
    /// Watches of all users that may be open.
    pub all_watches: usize,
    /// How long a request may take, its body included. Watches, and what the embedding program answers, have
    /// limits of their own.
    pub request: Duration,
    /// How long the headers of a request, and a TLS handshake, may take.
    pub headers: Duration,
    /// How many bytes the headers of a request may have.
    pub header_bytes: usize,
    /// Connections that may be open.
    pub connections: usize,
    /// Connections of one address; the rest is for others.
    pub address_connections: usize,
    /// Connections on which requests of one user may be under way, watches included.
    pub user_connections: usize,
    /// How long a connection on which nobody was let in may go without a request, its handshake included.
    pub first: Duration,
    /// How long any other one may go without a request. Pings are none.
    pub idle: Duration,
}

/// More connections than this are of no use to one server.
const CONNECTIONS: usize = 10_000;

impl Limits {
    /// With as many connections as a process can have that may open so many files: the rest is kept for the
    /// store, for git and for what is started.
    #[must_use]
    pub fn with_files(self, files: usize) -> Self {
        let kept = (files / 4).clamp(96.min(files / 2), 4_096);
        // Some that were told to go stay a moment longer.
        let most = (files - kept) * 15 / 16;
        self.with_connections(most.clamp(8, CONNECTIONS))
    }

    /// With so many connections, of which one address may have three quarters, and one user requests on half.
    #[must_use]
    pub(crate) fn with_connections(self, connections: usize) -> Self {
        Self {
            connections,
            address_connections: (connections - connections / 4).max(1),
            user_connections: (connections / 2).max(1),
            ..self
        }
    }

    /// How many connections that were told to go may still be there beside the others.
    pub(crate) fn spare(&self) -> usize {
        (self.connections / 16).clamp(1, 64)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reading: 64,
            writing: 256,
            waiting: 512,
            watches: 1_000,
            all_watches: 8_000,
            request: Duration::from_secs(60),
            headers: Duration::from_secs(10),
            header_bytes: 64 << 10,
            connections: 0,
            address_connections: 0,
            user_connections: 0,
            first: Duration::from_secs(30),
            idle: Duration::from_secs(180),
        }
        .with_connections(CONNECTIONS)
    }
}

/// One user's part: seats held, and tickets that wait.
#[derive(Debug)]
struct Line<T> {
    held: usize,
    waiting: VecDeque<T>,
    /// When a seat was given last; whoever waits longest goes first among equals.
    turn: u64,
}

/// What a new request gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It may go on.
    Seat,
    /// Its ticket comes back from [`Lines::leave`].
    Line,
    /// Too many of this user wait already.
    Full,
}

/// Who holds seats and who waits: the decision alone.
#[derive(Debug)]
pub(crate) struct Lines<T> {
    free: usize,
    /// What one user may hold: a quarter of the seats is always for others.
    most: usize,
    waiting: usize,
    users: BTreeMap<String, Line<T>>,
    turns: u64,
}

impl<T> Lines<T> {
    pub(crate) fn new(seats: usize, waiting: usize) -> Self {
        Self {
            free: seats,
            most: (seats - seats / 4).max(1),
            waiting,
            users: BTreeMap::new(),
            turns: 0,
        }
    }

    /// A request comes.
    pub(crate) fn come(&mut self, user: &str, ticket: impl FnOnce() -> T) -> Admission {
        let line = self.users.entry(user.to_owned()).or_insert_with(|| Line {
            held: 0,
            waiting: VecDeque::new(),
            turn: 0,
        });
        if self.free > 0 && line.held < self.most {
            self.free -= 1;
            self.turns += 1;
            (line.held, line.turn) = (line.held + 1, self.turns);
            return Admission::Seat;
        }
        if line.waiting.len() >= self.waiting {
            return Admission::Full;
        }
        line.waiting.push_back(ticket());
        Admission::Line
    }

    /// A request goes; answers the ticket that gets its seat, with its user.
    pub(crate) fn leave(&mut self, user: &str) -> Option<(String, T)> {
        if let Some(line) = self.users.get_mut(user) {
            line.held = line.held.saturating_sub(1);
            if line.held == 0 && line.waiting.is_empty() {
                self.users.remove(user);
            }
        }
        self.free += 1;
        let waits = |line: &&mut Line<T>| !line.waiting.is_empty();
        let most = self.most;
        let (name, line) = self
            .users
            .iter_mut()
            .filter(|(_, line)| waits(line) && line.held < most)
            // Who holds least comes first: a user's hundredth request must not outrun another's only one.
            .min_by_key(|(_, line)| (line.held, line.turn))?;
        let ticket = line.waiting.pop_front()?;
        self.free -= 1;
        self.turns += 1;
        (line.held, line.turn) = (line.held + 1, self.turns);
        Some((name.clone(), ticket))
    }
}

/// The seats of one kind of requests.
#[derive(Debug, Clone)]
pub(crate) struct Seats {
    lines: Arc<Mutex<Lines<oneshot::Sender<Seat>>>>,
}

/// The right to be worked on, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    /// `None` where it was given on already.
    of: Option<Seats>,
    user: String,
}

impl Seats {
    pub(crate) fn new(seats: usize, waiting: usize) -> Self {
        Self {
            lines: Arc::new(Mutex::new(Lines::new(seats, waiting))),
        }
    }

    /// Waits for a seat.
    ///
    /// # Errors
    /// 429 where too many of the user's requests wait already.
    pub(crate) async fn take(&self, user: &str) -> Result<Seat, Failure> {
        let (ticket, called) = oneshot::channel();
        let place = lock(&self.lines).come(user, || ticket);
        let busy = || Failure::too_many_requests();
        match place {
            Admission::Seat => Ok(Seat {
                of: Some(self.clone()),
                user: user.to_owned(),
            }),
            // A caller that gives up drops its end: a seat that is on its way goes on to the next.
            Admission::Line => called.await.map_err(|_| busy()),
            Admission::Full => Err(busy()),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(mut seats) = self.of.take() else {
            return;
        };
        let mut leaves = std::mem::take(&mut self.user);
        // One after the other: where each refused seat gave itself on, many who gave up would be as many calls deep.
        loop {
            let next = lock(&seats.lines).leave(&leaves);
            let Some((user, ticket)) = next else { return };
            let of = Some(seats);
            let Err(mut refused) = ticket.send(Self { of, user }) else {
                return;
            };
            let Some(of) = refused.of.take() else { return };
            seats = of;
            leaves = std::mem::take(&mut refused.user);
        }
    }
}

/// How much each user has of something that lasts: watches.
#[derive(Debug, Clone)]
pub(crate) struct Shares {
    each: usize,
    all: usize,
    held: Arc<Mutex<BTreeMap<String, usize>>>,
}

/// A part of [`Shares`], given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    of: Shares,
    user: String,
}

impl Shares {
    pub(crate) fn new(each: usize, all: usize) -> Self {
        Self {
            each,
            all,
            held: Arc::default(),
        }
    }

    /// Takes one for a user.
    ///
    /// # Errors
    /// How many the user, or all together, may have.
    pub(crate) fn take(&self, user: &str) -> Result<Share, usize> {
        let mut held = lock(&self.held);
        if held.get(user).is_some_and(|count| *count >= self.each) {
            return Err(self.each);
        }
        if held.values().sum::<usize>() >= self.all {
            return Err(self.all);
        }
        *held.entry(user.to_owned()).or_insert(0) += 1;
        Ok(Share {
            of: self.clone(),
            user: user.to_owned(),
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = lock(&self.of.held);
        if let Some(count) = held.get_mut(&self.user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                held.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests;
