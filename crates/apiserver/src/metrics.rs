//! Counters of what was served, as plain numbers; the embedding program exposes them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::storage::lock;

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

/// Counts requests.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<RequestKey, u64>>,
}

impl Metrics {
    /// Counts one answered request.
    pub fn count(&self, key: RequestKey) {
        *lock(&self.requests).entry(key).or_insert(0) += 1;
    }

    /// The numbers of this moment.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<RequestKey, u64> {
        lock(&self.requests).clone()
    }
}
