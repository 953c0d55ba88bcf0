//! Waiting in the engine's name: for remotes, and for earlier changes.

use std::future::Future;
use std::time::Duration;

use model::{Class, ObjectKey};

use crate::ports::{EventType, OurKind, PortError};
use crate::waits::{Noted, Wait, asking};
use crate::{Engine, Error, Result};

/// How long a turn may wait before it gives its slot back.
const LEND: Duration = Duration::from_secs(2);
/// How long a remote may be silent before controllers send it nothing more to wait for.
const SILENT: Duration = Duration::from_secs(10);

/// Waits for what talks to a remote.
pub(crate) async fn remote<T>(engine: &Engine, address: &str, talk: impl Future<Output = T>) -> T {
    if address.starts_with("file://") {
        return talk.await;
    }
    let _begun = engine.inner.waits.begin(address);
    wait(engine, Wait::Remote(address.to_owned()), talk).await
}

/// Waits for an earlier change of a package to end.
pub(crate) async fn earlier<T>(engine: &Engine, end: impl Future<Output = T>) -> T {
    wait(engine, Wait::Change, end).await
}

/// Says what came of a change of a package revision after whoever asked for it was told that it goes on.
pub(crate) async fn tell_late(engine: &Engine, revision: &ObjectKey, failed: Option<&str>) {
    let (event_type, reason, message) = match failed {
        None => (
            EventType::Normal,
            "ChangeCompleted",
            "a change that was answered late is done".to_owned(),
        ),
        Some(why) => (
            EventType::Warning,
            "ChangeFailed",
            format!("a change that was answered late failed: {why}"),
        ),
    };
    engine
        .tell(OurKind::Revision, revision, event_type, reason, message)
        .await;
}

async fn wait<T>(engine: &Engine, wait: Wait, work: impl Future<Output = T>) -> T {
    let _noted = Noted::new(wait);
    let Some(Some(key)) = asking() else {
        return work.await;
    };
    tokio::pin!(work);
    if let Ok(done) = tokio::time::timeout(LEND, &mut work).await {
        return done;
    }
    engine.inner.queue.lend(&key);
    work.await
}

/// Keeps controllers from lining up behind a remote that is silent: each of them would hold a derived package until
/// it speaks again. People are told what they wait for.
///
/// # Errors
/// It has been silent for long, and a controller asks.
pub(crate) fn is_heard(engine: &Engine, address: &str) -> Result<()> {
    let controls = asking().is_some_and(|key| key.is_some());
    let silent = engine.inner.waits.longest(address);
    if !controls || silent < SILENT {
        return Ok(());
    }
    let text = format!(
        "nothing was heard for {} s; it is tried again",
        silent.as_secs()
    );
    Err(Error::Port {
        source: PortError::new(Class::Unavailable, format!("push to {address}"), text),
    })
}
