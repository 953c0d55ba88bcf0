//! Many wishes of one caller at once (F3).
//!
//! Each wish is carried out as if it were asked for alone: judged by `plan` while its package is held, on what the
//! revision is by then. What is gained is the store's batch: the packages of one repository that are free are held
//! first and announced together, so that their submissions share a pack, a journal write and a ref transaction.
//! An announced wish waits for nobody, or the store's writer would wait for it in vain: one whose package is busy goes
//! by itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{Class, Lifecycle, Namespace, ObjectKey, RepositoryName, Resolution};
use plan::revision::{APPROVED_CLASS, Fit, RevisionVerb, fit, is_as_seen};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use super::acted::Acted;
use super::{Caller, Input, Preconditions, change, delete, input_of, rejected, resolve};
use crate::held::Held;
use crate::waits::{Asked, Wait};
use crate::{Engine, Error, Result, held};

/// Wishes of one request that are under way at once: far more than CPUs, since most of them wait for the disk.
const UNDER_WAY: usize = 256;
/// Those of one repository that are announced together.
const TOGETHER: usize = 64;

/// Resolutions whose files are held at once: each has its package several times over, read and rendered.
const RENDERED: usize = 8;

/// What is wanted of one revision.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Which.
    pub key: ObjectKey,
    /// What.
    pub act: Act,
    /// The tree that the caller saw; another one is refused.
    pub seen: Option<String>,
    /// The class of changes that was seen, as `offshoot.dev/approved-class` says it: an approval keeps it.
    pub class: Option<String>,
    /// Whether the caller may approve: to delete what was published is to approve its deletion.
    pub approver: bool,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub enum Act {
    /// A verb of the lifecycle.
    Verb(RevisionVerb),
    /// Open conflicts are decided, each by the first decision that is about it.
    Resolve(Arc<Vec<Resolution>>),
}

/// Wishes that are being carried out. They go on when this is dropped, as far as they were begun.
#[derive(Debug)]
pub struct Many {
    heard: mpsc::UnboundedReceiver<(usize, Result<Acted>)>,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    stopped: AtomicBool,
    begun: Mutex<BTreeMap<usize, Asked>>,
    permits: Arc<Semaphore>,
    renders: Semaphore,
}

impl State {
    fn begun(&self) -> MutexGuard<'_, BTreeMap<usize, Asked>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Many {
    /// What came of the next wish, by its position; `None` once there is no other.
    pub async fn next(&mut self) -> Option<(usize, Result<Acted>)> {
        self.heard.recv().await
    }

    /// What the wishes that are under way have waited for longest.
    pub fn waits_for(&self) -> Option<(Wait, Duration)> {
        let begun = self.state.begun();
        let waits = begun.values().filter_map(Asked::waits_for);
        waits.max_by_key(|(_, long)| *long)
    }

    /// Begins no other wish; the positions of those that are under way and will be heard of.
    pub fn stop(&self) -> Vec<usize> {
        self.state.stopped.store(true, Ordering::Release);
        self.state.begun().keys().copied().collect()
    }
}

impl Drop for Many {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::Release);
    }
}

/// Carries out many wishes of one caller, those of different packages at once. Each of them is answered, whatever
/// becomes of the others.
pub(crate) fn begin(engine: &Engine, by: &Caller, wishes: Vec<Wish>) -> Many {
    let (tell, heard) = mpsc::unbounded_channel();
    let state = Arc::new(State {
        stopped: AtomicBool::new(false),
        begun: Mutex::default(),
        permits: Arc::new(Semaphore::new(UNDER_WAY)),
        renders: Semaphore::new(RENDERED),
    });
    let mut queues: BTreeMap<InRepository, VecDeque<(usize, Wish)>> = BTreeMap::new();
    for (at, wish) in wishes.into_iter().enumerate() {
        let known = engine.world(|w| w.revisions.get(&wish.key));
        let place = (
            wish.key.namespace.clone(),
            known.map(|r| r.repository.clone()),
        );
        queues.entry(place).or_default().push_back((at, wish));
    }
    let queues = queues.into_values().map(|waiting| OfRepository {
        engine: engine.clone(),
        by: by.clone(),
        state: Arc::clone(&state),
        tell: tell.clone(),
        waiting,
    });
    let all: Vec<_> = queues.map(OfRepository::run).collect();
    tokio::spawn(futures::future::join_all(all));
    Many { heard, state }
}

/// A repository, as far as a revision is known.
type InRepository = (Namespace, Option<RepositoryName>);

/// The wishes for one repository.
struct OfRepository {
    engine: Engine,
    by: Caller,
    state: Arc<State>,
    tell: mpsc::UnboundedSender<(usize, Result<Acted>)>,
    waiting: VecDeque<(usize, Wish)>,
}

/// A wish whose package is held.
struct Ready {
    at: usize,
    wish: Wish,
    held: Held,
    permit: OwnedSemaphorePermit,
}

impl OfRepository {
    async fn run(mut self) {
        let mut under_way = JoinSet::new();
        while !self.waiting.is_empty() && !self.state.stopped.load(Ordering::Acquire) {
            self.gather(&mut under_way).await;
            // The next ones are gathered while these are written.
            while under_way.len() >= TOGETHER {
                under_way.join_next().await;
            }
        }
        while under_way.join_next().await.is_some() {}
    }

    /// Takes the next wishes whose packages are free, announces them together, and lets them go.
    async fn gather(&mut self, under_way: &mut JoinSet<()>) {
        let mut ready: Vec<Ready> = Vec::new();
        while ready.len() < TOGETHER {
            let permits = Arc::clone(&self.state.permits);
            let permit = match permits.clone().try_acquire_owned() {
                Ok(permit) => permit,
                // What is held already is not to wait.
                Err(_) if !ready.is_empty() => break,
                Err(_) => match permits.acquire_owned().await {
                    Ok(permit) => permit,
                    Err(_) => break,
                },
            };
            let Some((at, wish)) = self.waiting.pop_front() else {
                break;
            };
            let asked = Asked::default();
            self.state.begun().insert(at, asked.clone());
            // Its repository may have to be opened first.
            match asked
                .during(held::hold_if_free(&self.engine, &wish.key))
                .await
            {
                Ok(Some(held)) => ready.push(Ready {
                    at,
                    wish,
                    held,
                    permit,
                }),
                Ok(None) => self.alone(under_way, at, wish, permit),
                Err(error @ Error::Store { .. }) if error.class() == Class::Unavailable => {
                    let why = error.chain();
                    self.hear(at, gone(&wish, error));
                    self.give_up(&why);
                }
                Err(error) => self.hear(at, gone(&wish, error)),
            }
        }
        // A resolution renders before it submits, and functions take their time.
        let at_once = |one: &&mut Ready| matches!(one.wish.act, Act::Verb(_));
        for one in ready.iter_mut().filter(at_once) {
            one.held.announce();
        }
        for one in ready {
            self.act(under_way, one);
        }
    }

    /// The repository cannot be opened: each of the others would wait as long to hear the same.
    fn give_up(&mut self, why: &str) {
        for (at, wish) in std::mem::take(&mut self.waiting) {
            self.state.begun().insert(at, Asked::default());
            let error = Error::refused(Class::Unavailable, "", why.to_owned());
            self.hear(at, gone(&wish, error));
        }
    }

    /// A wish whose package somebody else is changing: it waits for that.
    fn alone(
        &self,
        under_way: &mut JoinSet<()>,
        at: usize,
        wish: Wish,
        permit: OwnedSemaphorePermit,
    ) {
        let this = self.of(at);
        under_way.spawn(async move {
            let _permit = permit;
            let work = async {
                let held = held::hold(&this.engine, &wish.key).await;
                match held {
                    Ok(held) => carry_out(&this, &wish, held).await,
                    Err(error) => gone(&wish, error),
                }
            };
            let acted = Box::pin(this.asked.during(work)).await;
            this.hear(acted);
        });
    }

    fn act(&self, under_way: &mut JoinSet<()>, ready: Ready) {
        let this = self.of(ready.at);
        under_way.spawn(async move {
            let _permit = ready.permit;
            let work = carry_out(&this, &ready.wish, ready.held);
            let acted = Box::pin(this.asked.during(work)).await;
            this.hear(acted);
        });
    }

    fn of(&self, at: usize) -> One {
        let asked = self.state.begun().get(&at).cloned().unwrap_or_default();
        One {
            at,
            asked,
            engine: self.engine.clone(),
            by: self.by.clone(),
            state: Arc::clone(&self.state),
            tell: self.tell.clone(),
        }
    }

    fn hear(&self, at: usize, acted: Result<Acted>) {
        self.of(at).hear(acted);
    }
}

/// One wish that is under way.
struct One {
    at: usize,
    asked: Asked,
    engine: Engine,
    by: Caller,
    state: Arc<State>,
    tell: mpsc::UnboundedSender<(usize, Result<Acted>)>,
}

impl One {
    fn hear(&self, acted: Result<Acted>) {
        self.state.begun().remove(&self.at);
        // Nobody listens any more: what was done is durable.
        drop(self.tell.send((self.at, acted)));
    }
}

/// What is told of a revision that is not there: whoever saw it wants it gone, and it is.
fn gone(wish: &Wish, error: Error) -> Result<Acted> {
    let went = wish.seen.is_some() && matches!(wish.act, Act::Verb(RevisionVerb::Delete));
    match error.class() {
        Class::NotFound if went => Ok(Acted::Already),
        _ => Err(error),
    }
}

/// Carries out a wish on a revision that is held.
async fn carry_out(one: &One, wish: &Wish, held: Held) -> Result<Acted> {
    let (engine, by) = (&one.engine, &one.by);
    let (revision, seen) = (&held.revision, wish.seen.as_deref());
    let verb = match &wish.act {
        Act::Verb(verb) => *verb,
        Act::Resolve(decisions) => {
            is_as_seen(revision, seen).map_err(rejected)?;
            return resolve::resolve(engine, by, &held, decisions, &one.state.renders).await;
        }
    };
    match fit(revision, verb, seen).map_err(rejected)? {
        Fit::Already => Ok(Acted::Already),
        Fit::Skipped(reason, why) => Ok(Acted::Skipped(reason, why)),
        Fit::Move(door, to) => {
            let mut input = Input {
                lifecycle: to,
                ..input_of(revision)
            };
            if let Some(class) = wish.class.clone().filter(|_| to == Lifecycle::Published) {
                input
                    .meta
                    .annotations
                    .insert(APPROVED_CLASS.to_owned(), class);
            }
            let made = change::update_held(engine, by, door, input, &held).await?;
            Ok(Acted::Done(Some(made.revision)))
        }
        Fit::Delete { approves: true } if !wish.approver => Err(Error::refused(
            Class::Denied,
            "",
            "its deletion is approved by whoever may approve: the caller cannot update resource \"packagerevisions/approval\"",
        )),
        Fit::Delete { .. } => {
            let any = Preconditions::default();
            let waits = delete::delete_held(engine, by, &held, &any).await?;
            Ok(Acted::Done(waits.map(|made| made.revision)))
        }
    }
}
