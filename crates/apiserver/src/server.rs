//! A running server: store, resources, TLS, credentials, housekeeping.

mod builder;
mod connections;
mod gather;
mod meter;
mod open;
mod running;
mod tls;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use objects::Failure;
use objectstore::StorageError;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::authn::{Authenticator, Certificates, TokenKeys};
use crate::authz::Authorizer;
use crate::gateway::{Gateway, User};
use crate::http::{Door, Guard};
use crate::limits::Limits;
use crate::verbs::handle::ServerHandle;
use crate::verbs::{Core, keep as housekeeping};

pub use builder::ServerBuilder;
use connections::Serving;
pub use running::Running;
pub use tls::{Authority, Issued, ServingCertificate, TlsError};

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The object store.
    #[error("open the object store")]
    Store(#[source] StorageError),
    /// The data directory.
    #[error("prepare the data directory {path}")]
    Data {
        /// Where it lies.
        path: PathBuf,
        /// What the file system said.
        #[source]
        source: std::io::Error,
    },
    /// Certificates.
    #[error("prepare the certificates")]
    Tls(#[source] TlsError),
    /// The socket.
    #[error("listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// First objects.
    #[error("write the first objects")]
    Bootstrap(#[source] Failure),
    /// A definition that the embedding program gave.
    #[error("install the definition {name}: {why}")]
    Definition {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

/// An opened server. It serves in process at once and a socket after [`Server::listen`].
#[derive(Debug)]
pub struct Server {
    core: Arc<Core>,
    identity: Authority,
    certificates: Certificates,
    keys: Arc<TokenKeys>,
    limits: Limits,
    guard: Arc<Guard>,
    authorizer: Arc<dyn Authorizer>,
    tokens: Vec<(String, User)>,
}

impl std::fmt::Debug for dyn Authorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authorizer")
    }
}

impl Server {
    /// Starts gathering what a server is made of.
    #[must_use]
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// The handle for the embedding program.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        ServerHandle::new(Arc::clone(&self.core))
    }

    /// Says who handles write-through and virtual resources.
    pub fn set_gateway(&self, gateway: Arc<dyn Gateway>) {
        self.handle().set_gateway(gateway);
    }

    /// Signs a certificate for a client: `name` is the user, `groups` holds at most one group.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn issue(&self, name: &str, groups: &[String], days: u16) -> Result<Issued, StartError> {
        let issued = self.identity.issue(name, groups, days);
        issued.map_err(StartError::Tls)
    }

    /// Judges the certificates of clients, for routers that are served otherwise: a [`Peer`](crate::authn::Peer)
    /// is a request extension.
    #[must_use]
    pub fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// The router, for in-process clients: identities come as a [`Whose`](crate::verbs::Whose) request extension.
    pub fn router(&self, address: &str) -> Router {
        let authenticator = Authenticator::new(
            Arc::clone(&self.core),
            self.tokens.clone(),
            Arc::clone(&self.keys),
        );
        let door = Door::new(
            Arc::clone(&self.core),
            authenticator,
            Arc::clone(&self.authorizer),
            Arc::clone(&self.guard),
            address,
        );
        door.router()
    }

    /// Serves TLS on a socket and does the housekeeping, until [`Running::stop`].
    ///
    /// # Errors
    /// The certificates or the socket cannot be had.
    pub async fn listen(&self, address: SocketAddr) -> Result<Running, StartError> {
        let acceptor = self.identity.acceptor(address.ip());
        let acceptor = acceptor.map_err(StartError::Tls)?;
        self.listen_with(address, acceptor, |router| router).await
    }

    /// The same with a certificate that somebody else made and may replace; `around` puts around the API what else is done
    /// there. Whatever certificate a client brings is taken, and judged afterwards.
    ///
    /// # Errors
    /// The certificate or the socket cannot be used.
    pub async fn listen_as(
        &self,
        address: SocketAddr,
        shown: &ServingCertificate,
        around: impl FnOnce(Router) -> Router,
    ) -> Result<Running, StartError> {
        let acceptor = tls::acceptor_of(shown).map_err(StartError::Tls)?;
        self.listen_with(address, acceptor, around).await
    }

    async fn listen_with(
        &self,
        address: SocketAddr,
        acceptor: TlsAcceptor,
        around: impl FnOnce(Router) -> Router,
    ) -> Result<Running, StartError> {
        let serving = Serving {
            acceptor,
            certificates: self.certificates.clone(),
            router: Router::new(),
            limits: self.limits,
            connections: self.guard.connections().clone(),
            judged_by_host: self.core.host.is_some(),
        };
        let fail = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let bound = listener.local_addr().map_err(fail)?;
        let (stop, stopped) = watch::channel(false);
        let router = around(self.router(&bound.to_string()));
        let serving = Serving { router, ..serving };
        let mut tasks = JoinSet::new();
        tasks.spawn(connections::accept(listener, serving, stopped.clone()));
        if self.core.host.is_none() {
            tasks.spawn(housekeeping(Arc::clone(&self.core), stopped));
        }
        Ok(Running {
            address: bound,
            ca: self.identity.ca_pem.clone(),
            core: Arc::clone(&self.core),
            stop,
            tasks,
        })
    }
}
