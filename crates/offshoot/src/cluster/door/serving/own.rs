//! An authority of our own in a Secret, for clusters without cert-manager.
//!
//! Whichever replica comes first makes it; a write that finds another version than it expects is no write, so that there is
//! one authority only. Each replica signs a certificate for itself, which lies nowhere. Before the authority ends it is renewed
//! with the same name and key: what it signed stays valid under both, whatever the order in which replicas and the cluster learn
//! of it.

use std::pin::Pin;
use std::time::Duration;

use apiserver::Authority;
use futures::{Stream, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};

use super::{Given, ServingError};

/// How long an authority lasts, and when it is renewed.
const AUTHORITY_DAYS: u16 = 3650;
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_hours(365 * 24);

/// How long our certificate lasts, and when there is a new one.
const LEAF_DAYS: u16 = 90;
const LEAF_FOR: Duration = Duration::from_hours(30 * 24);

/// How often a write is tried that others come before.
const ATTEMPTS: u8 = 8;

const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";

/// The Secret.
pub(super) struct Own {
    secrets: Api<Secret>,
    namespace: String,
    name: String,
    dns: Vec<String>,
}

impl std::fmt::Debug for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Own").field(&self.place()).finish()
    }
}

/// When there may be something new: the Secret changed, or our certificate is old.
pub(super) struct Changes {
    secret: Pin<Box<dyn Stream<Item = watcher::Result<Option<Secret>>> + Send>>,
}

impl Changes {
    pub(super) async fn next(&mut self) {
        let old = tokio::time::sleep(LEAF_FOR);
        tokio::select! {
            Some(seen) = self.secret.next() => if let Err(error) = seen {
                tracing::warn!(%error, "follow the Secret with our authority");
            },
            () = old => {}
        }
    }
}

impl Own {
    pub(super) fn new(client: &Client, namespace: &str, name: &str, dns: Vec<String>) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            dns,
        }
    }

    pub(super) fn place(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    pub(super) fn changes(&self) -> Changes {
        let seen = watcher::watch_object(self.secrets.clone(), &self.name);
        Changes {
            secret: seen.default_backoff().boxed(),
        }
    }

    /// A certificate by the authority as it is now, which is made or renewed where that is due.
    pub(super) async fn read(&self) -> Result<Given, ServingError> {
        let authority = self.authority().await?;
        let unusable = |source| ServingError::Use {
            place: self.place(),
            source,
        };
        let leaf = authority.issue_server(self.dns.clone(), LEAF_DAYS);
        Ok(Given {
            leaf: leaf.map_err(unusable)?,
            authority: Some(authority.ca_pem),
        })
    }

    async fn authority(&self) -> Result<Authority, ServingError> {
        for _ in 0..ATTEMPTS {
            let found = self.secrets.get_opt(&self.name).await;
            let found = found.map_err(|e| self.failed("read", e))?;
            let held = match &found {
                Some(secret) => self.held(secret)?,
                None => None,
            };
            let (fresh, old) = match held {
                Some(held) if !self.is_due(&held)? => return Ok(held),
                Some(held) => (held.renewed(AUTHORITY_DAYS), true),
                None => (Authority::make(AUTHORITY_DAYS), false),
            };
            let fresh = fresh.map_err(|source| ServingError::Use {
                place: self.place(),
                source,
            })?;
            if self.write(found, &fresh).await? {
                let secret = self.place();
                tracing::info!(secret, renewed = old, "our authority was written");
                return Ok(fresh);
            }
        }
        Err(ServingError::Contended {
            place: self.place(),
        })
    }

    /// The authority in a Secret; none where the Secret is empty.
    fn held(&self, secret: &Secret) -> Result<Option<Authority>, ServingError> {
        let data = secret.data.clone().unwrap_or_default();
        let text = |key: &str| {
            let bytes = data.get(key).map(|bytes| bytes.0.clone())?;
            String::from_utf8(bytes)
                .ok()
                .filter(|text| !text.is_empty())
        };
        match (text(CERTIFICATE), text(KEY)) {
            (Some(certificate), Some(key)) => {
                let held = Authority::from_pem(&certificate, &key);
                held.map(Some).map_err(|source| ServingError::Use {
                    place: self.place(),
                    source,
                })
            }
            _ if data.is_empty() => Ok(None),
            _ => Err(ServingError::Foreign {
                place: self.place(),
            }),
        }
    }

    fn is_due(&self, held: &Authority) -> Result<bool, ServingError> {
        let until = held.until().map_err(|source| ServingError::Use {
            place: self.place(),
            source,
        })?;
        Ok(until.duration_since(Timestamp::now()) < RENEWED_BEFORE)
    }

    /// Writes an authority over what was found; whether it was still there.
    async fn write(&self, found: Option<Secret>, fresh: &Authority) -> Result<bool, ServingError> {
        let new = found.is_none();
        let mut secret = found.unwrap_or_else(|| {
            let mut secret = Secret::default();
            secret.metadata.name = Some(self.name.clone());
            secret
        });
        let data = secret.data.get_or_insert_default();
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        data.insert(CERTIFICATE.to_owned(), bytes(&fresh.ca_pem));
        data.insert(KEY.to_owned(), bytes(&fresh.key_pem()));
        let how = PostParams::default();
        let written = match new {
            true => self.secrets.create(&how, &secret).await,
            // With the version that was found: another one is a conflict.
            false => self.secrets.replace(&self.name, &how, &secret).await,
        };
        match written {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(self.failed("write", error)),
        }
    }

    fn failed(&self, verb: &str, source: kube::Error) -> ServingError {
        ServingError::Cluster {
            attempt: format!("{verb} secret {}", self.place()),
            source: Box::new(source),
        }
    }
}
