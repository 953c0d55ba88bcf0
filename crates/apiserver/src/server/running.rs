//! A server that listens, and how it ends.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::verbs::Core;

/// A server with a socket.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// The certificate authority that clients must trust, PEM.
    pub ca: String,
    pub(super) core: Arc<Core>,
    pub(super) stop: watch::Sender<bool>,
    pub(super) tasks: JoinSet<()>,
}

/// How long open requests may take to finish when a server stops.
const DRAIN: std::time::Duration = std::time::Duration::from_secs(2);

impl Running {
    /// Stops accepting, ends watches, waits for open requests, makes everything durable.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let drained = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            tracing::warn!("requests were still open after the grace period");
        }
        self.tasks.abort_all();
        self.core.close().await;
    }

    /// A kubeconfig for a bearer token.
    #[must_use]
    pub fn kubeconfig(&self, context: &str, token: &str) -> String {
        use base64::Engine as _;
        let ca = base64::engine::general_purpose::STANDARD.encode(&self.ca);
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {context}\nclusters:\n- name: {context}\n  cluster:\n    certificate-authority-data: {ca}\n    server: https://{}\ncontexts:\n- name: {context}\n  context:\n    cluster: {context}\n    user: {context}\nusers:\n- name: {context}\n  user:\n    token: {token}\n",
            self.address
        )
    }
}
