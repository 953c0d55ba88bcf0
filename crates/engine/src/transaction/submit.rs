//! Handing a change to the repository's writer, until there is an answer.

use std::time::Duration;

use model::Class;
use store::{Answer, RefEdit, RefName, Submission};
use tokio::time::Instant;

use crate::ports::PortError;
use crate::repos::OpenRepository;
use crate::stats::count;
use crate::{Engine, Error, Result, registrations, waiting};

/// How long the answer to a push that was lost is asked for: whoever waits longer is answered, and a look at the
/// repository finds it out.
const HEARING: Duration = Duration::from_secs(45);

/// Submits, and waits for the answer of a remote that gives none at once.
///
/// # Errors
/// Another registration writes there; a refusal, by its class; what could not be attempted.
pub(super) async fn submit(
    engine: &Engine,
    open: &OpenRepository,
    submission: Submission,
) -> Result<store::Published> {
    registrations::may_write(engine, open)?;
    let address = open.repo.url();
    waiting::is_heard(engine, address)?;
    let names = submission.refs.iter().map(|edit| edit.name.clone());
    let branch = submission.branch.iter().map(|edit| edit.branch.clone());
    let names: Vec<RefName> = names.chain(branch).collect();
    let heard = waiting::remote(engine, address, hear(engine, open, submission)).await;
    // Also where it failed: part of it may stand.
    open.has_moved(names);
    if let Some(commit) = heard.as_ref().ok().and_then(|published| published.commit) {
        open.has_made(commit);
    }
    heard
}

/// Moves refs that no record tells of: what a change that was cut short left to do.
///
/// # Errors
/// As [`Transaction::publish`](super::Transaction::publish).
pub(crate) async fn move_refs(
    engine: &Engine,
    open: &OpenRepository,
    refs: Vec<RefEdit>,
) -> Result<()> {
    let submission = Submission {
        refs,
        ..Submission::default()
    };
    submit(engine, open, submission).await.map(drop)
}

/// Makes a ref that keeps a commit. Whether it is kept: it may be refused.
///
/// # Errors
/// It could not be attempted.
pub(crate) async fn keep(
    engine: &Engine,
    open: &OpenRepository,
    attempt: &'static str,
    kept: RefEdit,
) -> Result<bool> {
    let submission = Submission {
        refs: vec![kept],
        ..Submission::default()
    };
    let submitted = waiting::remote(engine, open.repo.url(), open.repo.submit(submission)).await;
    let answer = submitted.map_err(|source| Error::Store { attempt, source })?;
    tracing::debug!(?answer, "kept");
    Ok(matches!(answer, Answer::Published(_)))
}

/// Submits, and asks for the answer until there is one.
async fn hear(
    engine: &Engine,
    open: &OpenRepository,
    submission: Submission,
) -> Result<store::Published> {
    let failed = |source| Error::Store {
        attempt: "publish to the repository",
        source,
    };
    let mut answer = open.repo.submit(submission).await.map_err(failed)?;
    let begun = Instant::now();
    let mut wait = Duration::from_millis(200);
    loop {
        match answer {
            Answer::Published(published) => return Ok(published),
            Answer::Refused(refusal) => {
                count(&engine.counters().refused);
                return Err(refused(&refusal));
            }
            Answer::Pending(handle) => {
                let patient = wait <= Duration::from_secs(10) && begun.elapsed() < HEARING;
                if !patient || engine.is_stopped() {
                    return Err(unheard(open.repo.url()));
                }
                tokio::time::sleep(wait).await;
                wait *= 2;
                answer = open.repo.outcome(handle).await.map_err(failed)?;
            }
        }
    }
}

/// A push of which nobody knows what became of it.
fn unheard(address: &str) -> Error {
    let text = "the push was sent and not answered; once the repository answers, the package revision shows what became \
                of it";
    Error::Port {
        source: PortError::new(Class::Unavailable, format!("hear from {address}"), text),
    }
}

fn refused(refusal: &store::SubmissionRefusal) -> Error {
    match refusal.class() {
        _ if refusal.stays() => Error::InTheWay {
            message: refusal.to_string(),
        },
        Class::Conflict => Error::conflict(refusal.to_string()),
        class => Error::Refused {
            class,
            reason: None,
            problems: vec![model::Problem::new("", refusal.to_string())],
        },
    }
}
