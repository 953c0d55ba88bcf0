//! Requests that are under way on a connection, and whose.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::{Connections, Doing, Link, Stage, less};
use crate::lock::lock;

impl Connections {
    /// A request begins.
    pub(crate) fn begin(&self, link: &Arc<Link>) -> Flight {
        let mut doing = lock(&link.doing);
        doing.answering += 1;
        doing.head = None;
        doing.active = Instant::now();
        // Counted before it is looked at: whoever tells idle connections to go finds this one in use from here on.
        let stays = doing.leaving && !doing.closing;
        drop(doing);
        if stays {
            self.stay(link);
        }
        Flight(Arc::new(Request {
            link: Arc::clone(link),
            of: self.clone(),
            phase: Mutex::new(Phase::Answering),
            user: Mutex::new(None),
        }))
    }
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Answering,
    Sending,
    Watching,
    Done,
}

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct Request {
    link: Arc<Link>,
    of: Connections,
    phase: Mutex<Phase>,
    user: Mutex<Option<String>>,
}

impl Request {
    /// Somebody was let in.
    ///
    /// # Errors
    /// On how many connections requests of one user may be under way, where this one would be more.
    pub(crate) fn of(&self, user: &str) -> Result<(), usize> {
        let most = self.of.0.limits.user_connections;
        let mut mine = lock(&self.user);
        if mine.is_some() {
            return Ok(());
        }
        let mut state = lock(&self.of.0.state);
        let held = state.users.entry(user.to_owned()).or_default();
        if !held.contains_key(&self.link.id) && held.len() >= most {
            return Err(most);
        }
        *held.entry(self.link.id).or_insert(0) += 1;
        *mine = Some(user.to_owned());
        lock(&self.link.doing).stage = Stage::Known;
        Ok(())
    }

    fn turn(&self, to: Phase) {
        let mut phase = lock(&self.phase);
        let from = std::mem::replace(&mut *phase, to);
        let mut doing = lock(&self.link.doing);
        doing.active = Instant::now();
        if let Some(count) = part(&mut doing, from) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = part(&mut doing, to) {
            *count += 1;
        }
    }

    fn end(&self) {
        self.turn(Phase::Done);
        if let Some(user) = lock(&self.user).take() {
            let mut state = lock(&self.of.0.state);
            if let Some(held) = state.users.get_mut(&user) {
                less(held, &self.link.id);
                if held.is_empty() {
                    state.users.remove(&user);
                }
            }
        }
    }
}

fn part(doing: &mut Doing, phase: Phase) -> Option<&mut usize> {
    match phase {
        Phase::Answering => Some(&mut doing.answering),
        Phase::Sending => Some(&mut doing.sending),
        Phase::Watching => Some(&mut doing.watching),
        Phase::Done => None,
    }
}

/// The request counts until this is dropped: with its answer's last byte.
#[derive(Debug)]
pub(crate) struct Flight(Arc<Request>);

impl Flight {
    /// What the door is told the user of.
    pub(crate) fn request(&self) -> Arc<Request> {
        Arc::clone(&self.0)
    }

    /// The answer begins; that of a watch lasts.
    pub(crate) fn answered(&self, lasting: bool) {
        self.0.turn(if lasting {
            Phase::Watching
        } else {
            Phase::Sending
        });
    }

    /// The answer moved on.
    pub(crate) fn moved(&self) {
        self.0.link.moved();
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Marks answers that last as long as nobody ends them: watches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lasting;
