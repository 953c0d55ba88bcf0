//! Which kinds the cluster serves, by its discovery, remembered for a moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apiserver::ResourceName;
use engine::ports::Gvk;
use objects::Failure;
use serde_json::Value;
use tokio::time::Instant;

use super::remote::Remote;
use crate::ports::Served;

/// How long an answer counts: one with the kind, one without it.
const FRESH: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(2));

/// How many groups and versions are remembered; all are forgotten beyond.
const MOST: usize = 256;

/// What a group and version serves, and since when that is known.
type Known = (Instant, Option<Arc<Value>>);

/// The kinds of a cluster.
#[derive(Debug)]
pub(super) struct Kinds {
    remote: Remote,
    known: Mutex<HashMap<String, Known>>,
}

impl Kinds {
    pub(super) fn new(remote: Remote) -> Self {
        Self {
            remote,
            known: Mutex::default(),
        }
    }

    /// Where a kind is served in its version; `None` if it is not.
    ///
    /// # Errors
    /// Discovery cannot be read now.
    pub(super) async fn served(&self, kind: &Gvk) -> Result<Option<Served>, Failure> {
        let Some(resources) = self.resources(&kind.api_version()).await? else {
            return Ok(None);
        };
        let all = resources["resources"].as_array().into_iter().flatten();
        let mut found = all.filter(|one| {
            let name = one["name"].as_str().unwrap_or_default();
            one["kind"] == *kind.kind && !name.contains('/')
        });
        Ok(found.next().map(|one| {
            let verbs = one["verbs"].as_array().into_iter().flatten();
            Served {
                resource: ResourceName::new(
                    &kind.group,
                    &kind.version,
                    one["name"].as_str().unwrap_or_default(),
                ),
                namespaced: one["namespaced"] == true,
                // A definition that goes is listed without the verbs that make objects.
                leaving: !verbs.clone().any(|verb| verb == "create")
                    && verbs.clone().any(|verb| verb == "delete"),
            }
        }))
    }

    async fn resources(&self, version: &str) -> Result<Option<Arc<Value>>, Failure> {
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(version).cloned()
        };
        if let Some((at, resources)) = known {
            let fresh = if resources.is_some() {
                FRESH.0
            } else {
                FRESH.1
            };
            if at.elapsed() < fresh {
                return Ok(resources);
            }
        }
        let path = match version.contains('/') {
            true => format!("/apis/{version}"),
            false => format!("/api/{version}"),
        };
        let resources = match self.remote.read(&path).await {
            Ok(resources) => Some(Arc::new(resources)),
            Err(failure) if failure.code == 404 => None,
            Err(failure) => return Err(failure),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(version.to_owned(), (Instant::now(), resources.clone()));
        Ok(resources)
    }
}
