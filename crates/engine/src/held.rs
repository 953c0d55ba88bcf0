//! A record, and one whose package is held against other changes of this process.

use std::sync::{Arc, Mutex, PoisonError};

use model::{ObjectKey, Revision};

use crate::index::PackageKey;
use crate::locks::Race;
use crate::ports::PortError;
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result, opening, waiting};

/// A revision that nobody else in this process changes.
pub(crate) struct Held {
    /// Its record.
    pub(crate) revision: Arc<Revision>,
    /// Its repository.
    pub(crate) open: Arc<OpenRepository>,
    /// Whether another request was waited for.
    pub(crate) race: Race,
    /// What the repository's writer was told: a submission is coming.
    announced: Mutex<Option<store::Announced>>,
    _guard: tokio::sync::OwnedMutexGuard<()>,
}

impl Held {
    /// Tells the repository's writer that a submission is coming. From then on nobody else is to be waited for.
    pub(crate) fn announce(&mut self) {
        self.announced = Mutex::new(Some(self.open.repo.announce()));
    }

    /// What the writer was told, for the submission.
    pub(crate) fn announced(&self) -> Option<store::Announced> {
        let mut announced = self
            .announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        announced.take()
    }
}

/// A record: what is known of it, else what the store says.
///
/// # Errors
/// Nobody has such a record (`NotFound`).
pub(crate) async fn revision(engine: &Engine, key: &ObjectKey) -> Result<Arc<Revision>> {
    if let Some(known) = engine.world(|w| w.revisions.get(key)) {
        return Ok(known);
    }
    let stored = engine.ports().records.get(key).await;
    stored
        .map_err(|source: PortError| Error::Port { source })?
        .map(Arc::new)
        .ok_or_else(|| Error::NotFound {
            what: "packagerevisions.porch.kpt.dev",
            name: key.name.to_string(),
        })
}

/// A record and its repository, with the package held against other changes.
pub(crate) async fn hold(engine: &Engine, key: &ObjectKey) -> Result<Held> {
    let first = revision(engine, key).await?;
    let open = opening::open(engine, &key.namespace, &first.repository).await?;
    let package = PackageKey::of(&first);
    let turn = engine.inner.locks.for_request(&package);
    let (guard, race) = waiting::earlier(engine, turn).await;
    engine.alive()?;
    held(engine, key, open, race, guard).await
}

/// As [`hold`], unless somebody holds the package: then it waits for nobody, and there is none.
pub(crate) async fn hold_if_free(engine: &Engine, key: &ObjectKey) -> Result<Option<Held>> {
    let first = revision(engine, key).await?;
    let open = opening::open(engine, &key.namespace, &first.repository).await?;
    let Some(guard) = engine.inner.locks.if_free(&PackageKey::of(&first)) else {
        return Ok(None);
    };
    engine.alive()?;
    held(engine, key, open, Race::default(), guard)
        .await
        .map(Some)
}

async fn held(
    engine: &Engine,
    key: &ObjectKey,
    open: Arc<OpenRepository>,
    race: Race,
    guard: tokio::sync::OwnedMutexGuard<()>,
) -> Result<Held> {
    // What was waited for may have changed it; the index has our own writes at once.
    match revision(engine, key).await {
        Ok(revision) => Ok(Held {
            revision,
            open,
            race,
            announced: Mutex::default(),
            _guard: guard,
        }),
        Err(error) => Err(race.tell(error)),
    }
}
