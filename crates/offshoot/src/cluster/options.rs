//! What a replica is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::Namespace;
use store::Hosts;

use super::import::Import;

/// What a replica is started with.
pub(crate) struct Options {
    /// The kubeconfig; the pod's own account without one.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The address that it listens at.
    pub(crate) listen: SocketAddr,
    /// Namespace and name of the Lease.
    pub(crate) lease: (String, String),
    /// Where other replicas reach this one, `HOST:PORT`.
    pub(crate) advertise: String,
    /// The directory of `tls.crt`, `tls.key` and `ca.crt`; a Secret of our own without one.
    pub(crate) tls: Option<PathBuf>,
    /// The namespaces that are served; all, if none is named.
    pub(crate) namespaces: Vec<Namespace>,
    /// The hosts that git is fetched from and pushed to; `None` for all.
    pub(crate) git_hosts: Option<Hosts>,
    /// How long a git server may say nothing.
    pub(crate) git_silence: Duration,
    /// How often remotes without a schedule are read.
    pub(crate) sync_every: Duration,
    /// How often everything is looked at again.
    pub(crate) resync_every: Duration,
    /// Bytes of one package that are shown and saved.
    pub(crate) package_bytes: u64,
    /// How long anybody who asks for a change is made to wait for a remote.
    pub(crate) answer_within: Duration,
    /// What is taken over from Porch, if anything is.
    pub(crate) import: Option<Import>,
    /// What runs functions.
    pub(crate) functions: Arc<dyn functions::Runner>,
}
