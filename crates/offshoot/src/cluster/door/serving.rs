//! The certificate that we show to the cluster, and the authority by which the cluster verifies it.
//!
//! Both come from a directory that somebody else fills (cert-manager), or we have an authority of our own in a Secret. Either is
//! followed while the server runs: nothing here needs a restart. The authority is written into the objects by which the cluster
//! finds us, where they carry the label `offshoot.dev/serving: own-ca`; nobody is ever asked not to verify.

mod bundles;
mod directory;
mod own;

use std::path::PathBuf;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;

use apiserver::{ServingCertificate, TlsError};
use directory::Directory;
use own::Own;

/// How long it takes until what failed is tried again.
const AGAIN: Duration = Duration::from_secs(10);

/// Where certificate and authority come from.
#[derive(Debug, Clone)]
pub enum CertificateSource {
    /// Files `tls.crt`, `tls.key` and, where the cluster is to be told of it, `ca.crt`.
    Directory(PathBuf),
    /// A Secret of our own, which is filled where it is empty and made where it is missing.
    Secret {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The names by which the cluster finds us, `offshoot.offshoot-system.svc`.
        dns: Vec<String>,
    },
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// A file cannot be read.
    #[error("read {path}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// What was read is no certificate with its key.
    #[error("use the certificate of {place}")]
    Use {
        /// Where it lies.
        place: String,
        /// What is wrong with it.
        #[source]
        source: TlsError,
    },
    /// The cluster did not let us.
    #[error("{attempt}")]
    Cluster {
        /// What was tried.
        attempt: String,
        /// What it said.
        #[source]
        source: Box<kube::Error>,
    },
    /// The Secret is somebody else's.
    #[error(
        "secret {place} holds something, but not the keys ca.crt and ca.key: remove it, or name another"
    )]
    Foreign {
        /// Which.
        place: String,
    },
    /// Others wrote the Secret each time.
    #[error("secret {place} changed each time that it was to be written")]
    Contended {
        /// Which.
        place: String,
    },
}

/// Certificate and authority, as they are now.
pub struct Serving {
    client: Client,
    shown: ServingCertificate,
    authority: watch::Sender<Option<String>>,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Directory(Directory),
    Own(Box<Own>),
}

impl std::fmt::Debug for Serving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serving")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// What a source gives.
struct Given {
    leaf: apiserver::Issued,
    authority: Option<String>,
}

impl Serving {
    /// Reads the certificate, or makes it.
    ///
    /// # Errors
    /// There is none that can be used, and why.
    pub async fn open(client: Client, source: CertificateSource) -> Result<Self, ServingError> {
        let origin = match source {
            CertificateSource::Directory(path) => Origin::Directory(Directory::new(path)),
            CertificateSource::Secret {
                namespace,
                name,
                dns,
            } => Origin::Own(Box::new(Own::new(&client, &namespace, &name, dns))),
        };
        let given = origin.read().await?;
        let shown = ServingCertificate::new(&given.leaf);
        let shown = shown.map_err(|source| origin.unusable(source))?;
        Ok(Self {
            client,
            shown,
            authority: watch::Sender::new(given.authority),
            origin,
        })
    }

    /// The certificate, for whoever listens: it is replaced below them.
    #[must_use]
    pub fn certificate(&self) -> &ServingCertificate {
        &self.shown
    }

    /// The authority, PEM, as far as it is known.
    #[must_use]
    pub fn authority(&self) -> Option<String> {
        self.authority.borrow().clone()
    }

    /// Follows the source and tells the cluster, for as long as the server runs. It never ends by itself; what fails is logged
    /// and tried again, and meanwhile the last certificate is shown.
    pub async fn follow(&self) {
        tokio::join!(
            self.follow_source(),
            bundles::follow(&self.client, self.authority.subscribe()),
        );
    }

    async fn follow_source(&self) {
        let mut changes = self.origin.changes();
        let mut said = String::new();
        let mut failed = false;
        loop {
            let again = tokio::time::sleep(AGAIN);
            tokio::select! {
                () = changes.next() => {}
                () = again, if failed => {}
            }
            let taken = self.take().await;
            failed = taken.is_err();
            match taken {
                Ok(()) => said.clear(),
                Err(error) => {
                    let error = chain(&error);
                    if said != error {
                        tracing::warn!(error, "renew the certificate that is shown to the cluster");
                    }
                    said = error;
                }
            }
        }
    }

    /// Shows what the source gives now.
    async fn take(&self) -> Result<(), ServingError> {
        let given = self.origin.read().await?;
        let replaced = self.shown.replace(&given.leaf);
        replaced.map_err(|source| self.origin.unusable(source))?;
        self.authority.send_if_modified(|held| {
            let changed = *held != given.authority;
            if changed {
                *held = given.authority;
            }
            changed
        });
        Ok(())
    }
}

impl Origin {
    async fn read(&self) -> Result<Given, ServingError> {
        match self {
            Self::Directory(directory) => directory.read(),
            Self::Own(own) => own.read().await,
        }
    }

    fn changes(&self) -> Changes {
        match self {
            Self::Directory(directory) => Changes::Directory(directory.changes()),
            Self::Own(own) => Changes::Own(Box::new(own.changes())),
        }
    }

    fn unusable(&self, source: TlsError) -> ServingError {
        let place = match self {
            Self::Directory(directory) => directory.place(),
            Self::Own(own) => own.place(),
        };
        ServingError::Use { place, source }
    }
}

/// When there may be something new.
enum Changes {
    Directory(directory::Changes),
    Own(Box<own::Changes>),
}

impl Changes {
    async fn next(&mut self) {
        match self {
            Self::Directory(changes) => changes.next().await,
            Self::Own(changes) => changes.next().await,
        }
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests;
