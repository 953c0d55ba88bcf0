//! Counters of what was served, as plain numbers; the embedding program exposes them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, OnceLock};

use crate::connections::{ConnectionNumbers, Connections};
use crate::lock::lock;

/// What a request is counted under.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKey {
    /// The verb.
    pub verb: &'static str,
    /// `plural.group`, or the first path segment for other paths.
    pub resource: String,
    /// The HTTP status.
    pub code: u16,
}

/// Makes the page that `/metrics` answers with.
pub(crate) type Page = Box<dyn Fn() -> String + Send + Sync>;

/// Counts requests.
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<RequestKey, u64>>,
    /// Made of what the embedding program counts, which is there later than this.
    page: OnceLock<Page>,
    connections: Connections,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Counts nothing yet; tells of these connections.
    pub(crate) fn of(connections: &Connections) -> Self {
        Self {
            requests: Mutex::default(),
            page: OnceLock::new(),
            connections: connections.clone(),
        }
    }

    /// Counts one answered request.
    pub(crate) fn count(&self, key: RequestKey) {
        *lock(&self.requests).entry(key).or_insert(0) += 1;
    }

    /// Says what `/metrics` answers with (OpenMetrics text); the first call decides.
    pub(crate) fn expose(&self, page: Page) {
        if self.page.set(page).is_err() {
            tracing::warn!("a page of metrics was set already; the first one stays");
        }
    }

    /// What `/metrics` answers with; `None` if nobody exposes them.
    #[must_use]
    pub(crate) fn page(&self) -> Option<String> {
        self.page.get().map(|page| page())
    }

    /// The connections of this moment; none for a server that has no socket.
    #[must_use]
    pub(crate) fn connections(&self) -> ConnectionNumbers {
        self.connections.numbers()
    }

    /// The numbers of this moment.
    #[must_use]
    pub(crate) fn requests(&self) -> BTreeMap<RequestKey, u64> {
        lock(&self.requests).clone()
    }
}
