//! Answers in time: whatever a remote does, whoever asked hears what is waited for, and what becomes of it.
//!
//! A change goes on although nobody waits for it any more, be it that the client went away or that it was told so: half a
//! change would help nobody. What came of one that was answered late is told as an event of the package revision.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apiserver::gateway::{Call, CallAnswer, Refusal, RefusalClass, Verb};
use engine::usecase::Many;
use engine::{Asked, Wait};
use model::{Namespace, ObjectKey, ObjectName};

use super::{PackageGateway, dispatch, revisions};

/// Changes of one user that may wait for remotes without anybody who waits for them.
const MOST: usize = 32;
/// How often a request that takes longer than usual is asked what it waits for.
pub(super) const GLANCE: Duration = Duration::from_secs(1);

/// Changes that were answered late, by what they change: by whom each is.
#[derive(Debug, Default)]
pub(super) struct Late(Mutex<BTreeMap<String, String>>);

impl Late {
    /// Refuses further changes of a user who has enough that are late.
    pub(super) fn admit_user(&self, user: &str) -> Result<(), Refusal> {
        let late = lock(&self.0);
        if late.values().filter(|of| *of == user).count() >= MOST {
            let text = format!(
                "{MOST} changes of user {user:?} wait for repositories that do not answer: try again when some of them have ended"
            );
            return Err(Refusal::new(RefusalClass::Unavailable, text));
        }
        Ok(())
    }

    /// Refuses what would only wait behind a change of the same package revision that is late.
    pub(super) fn admit_name(&self, key: &ObjectKey) -> Result<(), Refusal> {
        self.admit(&called(key))
    }

    fn admit(&self, name: &str) -> Result<(), Refusal> {
        if lock(&self.0).contains_key(name) {
            let text = format!(
                "{name} is still being changed by an earlier request, which waits for its repository: look at it before you try again"
            );
            return Err(Refusal::new(RefusalClass::Unavailable, text));
        }
        Ok(())
    }
}

/// A package revision, as people name it.
fn called(key: &ObjectKey) -> String {
    format!("package revision {}/{}", key.namespace, key.name)
}

/// What is said of changes of a request for many that go on although it was answered.
pub(super) fn waited(outlives: bool, wait: Option<(Wait, Duration)>) -> String {
    let what = wait.map(|(wait, long)| Waited { wait, long }.text());
    let what = what.unwrap_or_else(|| "its repository has not answered".to_owned());
    format!(
        "Timeout: {what}; {}, and an event says what comes of it",
        goes_on(outlives)
    )
}

/// What becomes of a change that nobody waits for any more. What a replica on a cluster had begun may go with its pod.
fn goes_on(outlives: bool) -> &'static str {
    match outlives {
        true => "the change goes on, also if the server is started again",
        false => {
            "the change goes on while this replica runs (if that ends first, nothing may have been done: look, and try again)"
        }
    }
}

/// Follows changes that are late until each has ended, and tells what came of them.
pub(super) fn follow(
    gateway: &PackageGateway,
    user: String,
    changes: Vec<(usize, ObjectKey)>,
    mut many: Many,
) {
    let changes: BTreeMap<usize, ObjectKey> = changes.into_iter().collect();
    for key in changes.values() {
        lock(&gateway.late.0).insert(called(key), user.clone());
    }
    let gateway = gateway.clone();
    tokio::spawn(async move {
        while let Some((at, acted)) = many.next().await {
            let Some(key) = changes.get(&at) else {
                continue;
            };
            lock(&gateway.late.0).remove(&called(key));
            let failed = acted.as_ref().err().map(engine::Error::chain);
            gateway.engine.tell_late(key, failed.as_deref()).await;
        }
        let mut late = lock(&gateway.late.0);
        for key in changes.values() {
            late.remove(&called(key));
        }
    });
}

/// A change that is under way until this is dropped, however it ends.
struct UnderWay<'a> {
    late: &'a Late,
    name: &'a str,
    state: &'a Mutex<State>,
}

impl UnderWay<'_> {
    /// Ends it; whether it was answered late.
    fn end(&self) -> bool {
        let was = std::mem::replace(&mut *lock(self.state), State::Done);
        if was == State::Late {
            lock(&self.late.0).remove(self.name);
        }
        was == State::Late
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// How far a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Awaited,
    Late,
    Done,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles a call, and answers in time.
pub(super) async fn handle(gateway: &PackageGateway, call: Call) -> Result<CallAnswer, Refusal> {
    let asked = Asked::default();
    let reads = matches!(call.verb, Verb::Get | Verb::List | Verb::Watch);
    let subject = Subject::of(&call);
    if reads || call.dry_run {
        let work = Box::pin(asked.during(dispatch(gateway, call)));
        return match in_time(gateway, &asked, work).await {
            Ok(answer) => answer,
            Err(wait) => Err(nothing_changed(&wait)),
        };
    }
    subject.admit(&gateway.late)?;
    let state = Arc::new(Mutex::new(State::Awaited));
    let work = tokio::spawn({
        let (gateway, subject) = (gateway.clone(), subject.clone());
        let (asked, state) = (asked.clone(), Arc::clone(&state));
        async move {
            let under_way = UnderWay {
                late: &gateway.late,
                name: &subject.name,
                state: &state,
            };
            let answer = Box::pin(asked.during(dispatch(&gateway, call))).await;
            if under_way.end() {
                subject.tell(&gateway, &answer).await;
            }
            drop(under_way);
            answer
        }
    });
    tokio::pin!(work);
    match in_time(gateway, &asked, &mut work).await {
        Ok(answer) => ended(answer),
        Err(wait) => {
            {
                let mut state = lock(&state);
                if *state == State::Awaited {
                    *state = State::Late;
                    let mut late = lock(&gateway.late.0);
                    late.insert(subject.name.clone(), subject.user.clone());
                    return Err(subject.goes_on(gateway.engine.outlives(), &wait));
                }
            }
            // It ended just now.
            ended(work.await)
        }
    }
}

fn ended(
    answer: Result<Result<CallAnswer, Refusal>, tokio::task::JoinError>,
) -> Result<CallAnswer, Refusal> {
    let broken = |error: tokio::task::JoinError| {
        let text = format!("Internal error occurred: a change ended without an answer: {error}");
        Refusal::new(RefusalClass::Bug, text)
    };
    answer.unwrap_or_else(|error| Err(broken(error)))
}

/// What a request waited for when it was given up.
struct Waited {
    wait: Wait,
    long: Duration,
}

/// Waits for work as long as it works: once it has waited for somebody else for too long, it is given up.
async fn in_time<T>(
    gateway: &PackageGateway,
    asked: &Asked,
    mut work: impl Future<Output = T> + Unpin,
) -> Result<T, Waited> {
    let mut patience = gateway.answer_within;
    loop {
        if let Ok(done) = tokio::time::timeout(patience, &mut work).await {
            return Ok(done);
        }
        if let Some((wait, long)) = asked.waits_for() {
            return Err(Waited { wait, long });
        }
        patience = GLANCE;
    }
}

impl Waited {
    /// What is waited for, as a sentence goes on.
    fn text(&self) -> String {
        let seconds = self.long.as_secs();
        match &self.wait {
            Wait::Remote(address) => {
                format!("{address} was asked {seconds} s ago and has not answered")
            }
            Wait::Change => {
                format!("an earlier change of this package has not ended for {seconds} s")
            }
        }
    }
}

fn nothing_changed(wait: &Waited) -> Refusal {
    let text = format!("Timeout: {}; nothing was changed", wait.text());
    Refusal::new(RefusalClass::TimedOut, text)
}

/// What a call changes, and who asks.
#[derive(Debug, Clone)]
struct Subject {
    /// As people name it.
    name: String,
    user: String,
    /// The package revision, where it can be told of.
    key: Option<ObjectKey>,
}

impl Subject {
    fn of(call: &Call) -> Self {
        let name = match call.verb {
            Verb::Create => revisions::composed_name(call).unwrap_or_default(),
            _ => call.name.clone(),
        };
        let namespace = Namespace::parse(&call.namespace);
        let named = ObjectName::parse(&name);
        Self {
            name: format!("package revision {}/{name}", call.namespace),
            user: call.user.name.clone(),
            key: namespace
                .ok()
                .zip(named.ok())
                .map(|(namespace, name)| ObjectKey { namespace, name }),
        }
    }

    /// Refuses what would only wait behind a change that is late.
    fn admit(&self, late: &Late) -> Result<(), Refusal> {
        late.admit(&self.name)?;
        late.admit_user(&self.user)
    }

    fn goes_on(&self, outlives: bool, wait: &Waited) -> Refusal {
        let text = format!(
            "Timeout: {}; {}: {} shows what comes of it, and an event of it says so; its Repository says whether its address \
             answers",
            wait.text(),
            goes_on(outlives),
            self.name
        );
        Refusal::new(RefusalClass::TimedOut, text)
    }

    /// Says what came of a change that was answered late.
    async fn tell(&self, gateway: &PackageGateway, answer: &Result<CallAnswer, Refusal>) {
        let Some(key) = &self.key else {
            return;
        };
        let failed = answer
            .as_ref()
            .err()
            .map(|refusal| refusal.message.as_str());
        gateway.engine.tell_late(key, failed).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(name: &str, user: &str) -> Subject {
        Subject {
            name: name.to_owned(),
            user: user.to_owned(),
            key: None,
        }
    }

    #[test]
    fn nobody_lines_up_behind_a_change_that_is_late() {
        let late = Late::default();
        assert!(subject("a", "ann").admit(&late).is_ok());
        for number in 0..MOST {
            lock(&late.0).insert(number.to_string(), "ann".to_owned());
        }
        assert!(subject("0", "bob").admit(&late).is_err(), "it is under way");
        assert!(subject("a", "ann").admit(&late).is_err(), "she has enough");
        assert!(subject("a", "bob").admit(&late).is_ok());
    }

    /// On a cluster nothing of a push that no remote has answered outlives the replica that began it.
    #[test]
    fn nothing_is_promised_beyond_the_process_that_carries_it_out() {
        let told = |outlives| waited(outlives, None);
        assert!(told(true).contains("also if the server is started again"));
        let here = told(false);
        assert!(!here.contains("started again"), "{here}");
        assert!(
            here.contains("nothing may have been done: look, and try again"),
            "{here}"
        );
    }
}
