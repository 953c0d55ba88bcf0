//! A registered repository: opened, read, looked at again.
//!
//! What cannot be done is said on the `Repository` and tried again; records stay as they were, since
//! an unreachable server says nothing about packages (A7: never partial).

use std::sync::Arc;
use std::time::Duration;

use model::{Class, Condition, ObjectKey, Repository, RepositoryStatus, Status, join_problems};
use plan::repository::UnreadyReason;

use super::{Turn, cron};
use crate::discover::Discovered;
use crate::error::port;
use crate::index::READ_ONLY;
use crate::ports::{EventType, OurKind, Point, StoredRepository, reported};
use crate::queue::Done;
use crate::registrations;
use crate::repos::OpenRepository;
use crate::stats::count;
use crate::transaction::Follow;
use crate::{Engine, Error, Result, discover, leaving, opening, transaction};

/// Porch's finalizer.
const FINALIZER: &str = "config.porch.kpt.dev/repository";
/// How many problems a condition names.
const NAMED: usize = 10;

/// Brings the records of one repository in line with what is in git.
pub(super) async fn reconcile(engine: &Engine, key: &ObjectKey) -> Turn {
    let stored = engine.world(|w| w.repositories.get(key).cloned());
    if leaving::was_heard_to(engine, &key.namespace).await? {
        return let_go(engine, key, stored.as_deref()).await;
    }
    let Some(stored) = stored else {
        return gone(engine, key).await;
    };
    if stored.meta.is_deleting() {
        unregister(engine, &stored).await?;
        return Ok(Done::Rest);
    }
    if !stored.meta.finalizers.iter().any(|f| f == FINALIZER) {
        finalizers(engine, &stored, true).await?;
        return Ok(Done::Rest);
    }
    let repository = match &stored.parsed {
        Ok(repository) => repository.clone(),
        Err(problems) => {
            let condition = failed(UnreadyReason::Error, &join_problems(problems));
            write(engine, &stored, |status| {
                status.conditions = vec![condition]
            })
            .await?;
            return Ok(Done::Rest);
        }
    };
    if let Some(other) = engine.world(|w| registrations::refused(w, &stored)) {
        let condition = failed(UnreadyReason::Error, &other);
        write(engine, &stored, |status| {
            status.conditions = vec![condition]
        })
        .await?;
        return Ok(Done::After(engine.inner.options.resync));
    }
    match look(engine, &stored, &repository).await {
        Ok(looked) => settled(engine, &stored, &looked).await,
        Err(Error::Stopped) => Err(Error::Stopped),
        Err(error) if error.class() == Class::Conflict => Err(error),
        Err(error) => {
            let condition = failed(error.unready(), &error.chain());
            write(engine, &stored, |status| {
                status.conditions = vec![condition]
            })
            .await?;
            Err(error)
        }
    }
}

/// What was looked at, and why.
struct Looked {
    open: Arc<OpenRepository>,
    found: Discovered,
    /// When it was begun.
    at: i64,
    /// Whether `spec.sync.runOnceAt` had come and was not obeyed yet.
    asked: bool,
    /// Whether the schedule's time had come.
    scheduled: bool,
}

async fn look(
    engine: &Engine,
    stored: &StoredRepository,
    repository: &Repository,
) -> Result<Looked> {
    let mut open = opening::open_repository(engine, repository).await?;
    let at = engine.now();
    let (now, status) = (model::utc(at), &stored.status);
    let once = &repository.run_once_at;
    let asked = !once.is_empty() && *once != status.observed_run_once_at && *once <= now;
    let scheduled = !status.next_full_sync.is_empty() && status.next_full_sync <= now;
    let repos = &engine.inner.repos;
    let hinted = repos.take_hint(&stored.key);
    let edited = status.observed_generation != stored.meta.generation;
    // A local repository's refs are read in place; a remote is asked when it is time.
    let due = asked || scheduled || hinted || edited || repos.is_due(&stored.key, at);
    let fetch = due && !is_local(repository);
    if fetch {
        // Due until it was done: what asked for it is taken by now.
        repos.polled(&stored.key, at);
    }
    let mut found = discover::repository(engine, &open, fetch).await?;
    if found.head.is_none() {
        // It was made anew, or its branch was deleted: as when it was registered, the branch is made or missed.
        repos.close(&stored.key);
        open = opening::open_repository(engine, repository).await?;
        found = discover::repository(engine, &open, false).await?;
    }
    if fetch {
        repos.polled(&stored.key, next_look(engine, repository, at));
    }
    Ok(Looked {
        open,
        found,
        at,
        asked,
        scheduled,
    })
}

fn is_local(repository: &Repository) -> bool {
    repository.git.repo.starts_with("file://")
}

/// Writes what was found, and says when to look again. A look that finds nothing new writes nothing (V16): the times
/// in the status are those of the schedule, and of looks that changed something.
async fn settled(engine: &Engine, stored: &StoredRepository, looked: &Looked) -> Turn {
    let Looked { open, found, .. } = looked;
    let repository = &open.repository;
    let count = engine.world(|w| {
        let all = w
            .revisions
            .of_repository(&stored.key.namespace, &repository.name);
        u32::try_from(all.len()).unwrap_or(u32::MAX)
    });
    let mut condition = Condition::new("Ready", Status::True, "Ready", "Repository Ready");
    if !found.problems.is_empty() {
        condition.message = summary(&found.problems);
    }
    // Without a schedule it is looked at all the time: no time is promised.
    let next = cron::next(&repository.sync_schedule, looked.at);
    if next.is_none()
        && let Some(why) = cron::schedule_problem(&repository.sync_schedule)
    {
        condition.message = format!("{}; {why}", condition.message);
    }
    let read_only = engine.world(|w| registrations::read_only(engine, w, repository));
    let read_only = read_only.map(|why| {
        let reason = "AnotherRegistrationWrites";
        Condition::new(READ_ONLY, Status::True, reason, why)
    });
    write(engine, stored, |status| {
        let before = status.clone();
        status.conditions = vec![condition];
        status.conditions.extend(read_only);
        status.package_count = count;
        // What was there once is remembered: a branch that is gone is not made anew.
        if let Some(head) = found.head {
            status.git_commit = head.to_string();
        }
        status.next_full_sync = next.map(model::utc).unwrap_or_default();
        if looked.asked {
            let at = &repository.run_once_at;
            status.observed_run_once_at.clone_from(at);
        }
        let news = status.git_commit != before.git_commit
            || status.package_count != before.package_count
            || status.conditions != before.conditions;
        if status.last_full_sync.is_empty() || looked.asked || looked.scheduled || news {
            status.last_full_sync = model::utc(looked.at);
        }
    })
    .await?;
    let pause = if is_local(repository) {
        engine.inner.options.local_poll
    } else {
        let now = engine.now();
        let next = engine.inner.repos.next_poll(&stored.key).unwrap_or(now);
        Duration::from_secs(u64::try_from(next - now).unwrap_or(1).max(1))
    };
    Ok(Done::After(pause))
}

/// When a remote is to be asked again.
fn next_look(engine: &Engine, repository: &Repository, now: i64) -> i64 {
    let interval = engine.inner.options.remote_poll.as_secs();
    let usual = now + i64::try_from(interval).unwrap_or(60);
    let next = match repository.sync_schedule.as_str() {
        "" => usual,
        schedule => cron::next(schedule, now).unwrap_or(usual),
    };
    let once = parse_soon(&repository.run_once_at, now);
    once.map_or(next, |once| next.min(once))
}

/// A time that lies ahead, by how its text compares: both are RFC 3339 in UTC.
fn parse_soon(at: &str, now: i64) -> Option<i64> {
    if at.is_empty() || *at <= *model::utc(now) {
        return None;
    }
    // Within a day, minute by minute: farther ones are found by the polls in between.
    (1..=1_440)
        .map(|m| now + m * 60)
        .find(|t| *at <= *model::utc(*t))
}

fn summary(problems: &[String]) -> String {
    let mut named: Vec<&str> = problems.iter().take(NAMED).map(String::as_str).collect();
    let more = format!("and {} more", problems.len().saturating_sub(NAMED));
    if problems.len() > NAMED {
        named.push(&more);
    }
    format!("Repository Ready; left out: {}", named.join("; "))
}

fn failed(reason: UnreadyReason, message: &str) -> Condition {
    Condition::new("Ready", Status::False, reason.as_str(), message)
}

/// The status is written where it changed.
async fn write(
    engine: &Engine,
    stored: &StoredRepository,
    change: impl FnOnce(&mut RepositoryStatus),
) -> Result<()> {
    let mut status = stored.status.clone();
    status.observed_generation = stored.meta.generation;
    change(&mut status);
    if status == stored.status {
        return Ok(());
    }
    engine.point(Point::BeforeStatus)?;
    let repositories = &engine.ports().repositories;
    let version = &stored.meta.resource_version;
    let written = repositories.set_status(&stored.key, version, &status).await;
    let written = written.map_err(port)?;
    count(&engine.counters().statuses);
    tell(engine, &stored.key, &stored.status, &status).await;
    if !written.is_empty() {
        engine.learn_repository(reported::<Repository>(stored, written, status));
    }
    Ok(())
}

/// Tells people when a repository gets ready, or fails in another way than before.
async fn tell(
    engine: &Engine,
    key: &ObjectKey,
    before: &RepositoryStatus,
    after: &RepositoryStatus,
) {
    let find = |status: &RepositoryStatus, kind: &str| {
        let mut all = status.conditions.iter();
        all.find(|c| c.kind == kind).cloned()
    };
    if let (None, Some(now)) = (find(before, READ_ONLY), find(after, READ_ONLY)) {
        let (kind, warning) = (OurKind::Repository, EventType::Warning);
        engine
            .tell(kind, key, warning, &now.kind, now.message)
            .await;
    }
    let ready = |status: &RepositoryStatus| status.ready().cloned();
    let (was, Some(now)) = (ready(before), ready(after)) else {
        return;
    };
    let same = match now.status {
        Status::True => was.is_some_and(|was| was.status == Status::True),
        _ => was.as_ref() == Some(&now),
    };
    if same {
        return;
    }
    let event_type = match now.status {
        Status::True => EventType::Normal,
        _ => EventType::Warning,
    };
    engine
        .tell(
            OurKind::Repository,
            key,
            event_type,
            &now.reason,
            now.message,
        )
        .await;
}

/// Lets a repository go with its namespace, before anybody asks: whoever empties it removes records, too.
async fn let_go(engine: &Engine, key: &ObjectKey, stored: Option<&StoredRepository>) -> Turn {
    engine.inner.repos.close(key);
    if let Some(stored) = stored.filter(|s| s.meta.finalizers.iter().any(|f| f == FINALIZER)) {
        finalizers(engine, stored, false).await?;
    }
    Ok(Done::Rest)
}

/// Forgets a repository: its records go, git stays as it is.
async fn unregister(engine: &Engine, stored: &StoredRepository) -> Result<()> {
    forget_records(engine, &stored.key).await?;
    engine.inner.repos.close(&stored.key);
    if stored.meta.finalizers.iter().any(|f| f == FINALIZER) {
        finalizers(engine, stored, false).await?;
    }
    Ok(())
}

/// The object is gone, whoever took the finalizer off. A list that came late is not believed: its
/// records would go, with the labels and owners that git does not know.
async fn gone(engine: &Engine, key: &ObjectKey) -> Turn {
    let now = engine.ports().repositories.get(key).await.map_err(port)?;
    if let Some(now) = now {
        engine.learn_repository(now);
        return Ok(Done::Again);
    }
    forget_records(engine, key).await?;
    engine.inner.repos.close(key);
    Ok(Done::Rest)
}

async fn forget_records(engine: &Engine, key: &ObjectKey) -> Result<()> {
    let Ok(name) = model::RepositoryName::parse(key.name.as_str()) else {
        return Ok(());
    };
    let all = engine.world(|w| w.revisions.of_repository(&key.namespace, &name));
    for some in all.chunks(256) {
        transaction::record(engine, some.iter().map(Follow::delete).collect()).await?;
    }
    Ok(())
}

async fn finalizers(engine: &Engine, stored: &StoredRepository, add: bool) -> Result<()> {
    engine.point(Point::BeforeFinalizer)?;
    let mut list = stored.meta.finalizers.clone();
    list.retain(|f| f != FINALIZER);
    if add {
        list.push(FINALIZER.to_owned());
    }
    let repositories = &engine.ports().repositories;
    let version = &stored.meta.resource_version;
    repositories
        .set_finalizers(&stored.key, version, &list)
        .await
        .map(drop)
        .map_err(port)
}
