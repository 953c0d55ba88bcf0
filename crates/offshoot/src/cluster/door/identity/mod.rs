//! Who asks a server within a cluster: the front proxy's word, a client certificate of the cluster's, a bearer token, or nobody.
//!
//! The front proxy is kube-apiserver's aggregator. It proves itself by a certificate and tells in headers for whom it asks;
//! without such a certificate the same headers are refused. What it is recognised by is read from the cluster and followed, so
//! that a rotation needs no restart. Tokens are judged by the cluster (TokenReview); none is kept.

mod front;
mod tokens;

use std::sync::Arc;

use futures::StreamExt as _;
use http::header::AUTHORIZATION;
use http::request::Parts;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use tokio::sync::watch;

use apiserver::authn::Chain;
use apiserver::gateway::User;
use front::Trust;
use objects::{Failure, Reason};
use tokens::Tokens;

/// Where a cluster says how its front proxy and its clients are recognised.
const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";

/// Tells who asks.
pub struct Identity {
    client: Client,
    trust: watch::Sender<Option<Arc<Trust>>>,
    tokens: Tokens,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

impl Identity {
    /// Asks the cluster of this client. Nobody with a certificate is known before [`Self::follow`] has run for a moment.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            tokens: Tokens::new(client.clone()),
            client,
            trust: watch::Sender::new(None),
        }
    }

    /// Whether it is known how the front proxy is recognised.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.trust.borrow().is_some()
    }

    /// Follows how the front proxy is recognised, for as long as the server runs. It never ends by itself; what cannot be read
    /// is tried again, and meanwhile the last that could be used holds.
    pub async fn follow(&self) {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let seen = watcher::watch_object(maps, NAME).default_backoff();
        let mut seen = std::pin::pin!(seen);
        while let Some(found) = seen.next().await {
            match found {
                Ok(Some(map)) => self.take(&map),
                Ok(None) => tracing::warn!(
                    "the ConfigMap {NAMESPACE}/{NAME} is missing: nobody can come in through the cluster's API server"
                ),
                Err(error) => tracing::warn!(
                    %error,
                    "read the ConfigMap {NAMESPACE}/{NAME}, which says how the front proxy is recognised"
                ),
            }
        }
    }

    fn take(&self, map: &ConfigMap) {
        let empty = std::collections::BTreeMap::new();
        match Trust::read(map.data.as_ref().unwrap_or(&empty)) {
            Ok(trust) => {
                self.trust.send_if_modified(|held| {
                    let changed = held.as_deref() != Some(&trust);
                    if changed {
                        tracing::info!("how the front proxy is recognised was read anew");
                        *held = Some(Arc::new(trust));
                    }
                    changed
                });
            }
            Err(why) => tracing::error!(
                "the ConfigMap {NAMESPACE}/{NAME} cannot be used, what was read before holds: {why}"
            ),
        }
    }

    /// Tells who asks; without credentials that is `system:anonymous`.
    ///
    /// # Errors
    /// 401 for credentials that are not accepted, and for the front proxy's headers from anybody else; 503 where credentials
    /// cannot be judged now.
    pub async fn identify(&self, parts: &Parts) -> Result<User, Failure> {
        let trust = self.trust.borrow().clone();
        let chain = parts.extensions.get::<Chain>();
        let authorization = parts.headers.get(AUTHORIZATION);
        let Some(trust) = trust else {
            // A probe brings nothing. Whatever else there is may be the front proxy's, by headers that have no name yet.
            let usual = "x-remote-";
            let remote = parts
                .headers
                .keys()
                .any(|name| name.as_str().starts_with(usual));
            if chain.is_none() && authorization.is_none() && !remote {
                return Ok(User::anonymous());
            }
            return Err(unknown_yet());
        };
        if let Some(chain) = chain
            && trust.is_front_proxy(chain)
        {
            return trust.told(&parts.headers).ok_or_else(Failure::unauthorized);
        }
        if trust.speaks_for_others(&parts.headers) {
            return Err(Failure::unauthorized());
        }
        if let Some(user) = chain.and_then(|chain| trust.client(chain)) {
            return Ok(user);
        }
        match authorization {
            Some(given) => {
                let token = tokens::bearer(given).ok_or_else(Failure::unauthorized)?;
                self.tokens.user(token).await
            }
            None if chain.is_some() => Err(Failure::unauthorized()),
            None => Ok(User::anonymous()),
        }
    }
}

fn unknown_yet() -> Failure {
    let why = "how the cluster's API server is recognised is not known yet: try again in a moment";
    Failure::new(503, Reason::ServiceUnavailable, why)
}

#[cfg(test)]
mod tests;
