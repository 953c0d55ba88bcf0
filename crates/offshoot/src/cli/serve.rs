//! Flags of `offshoot serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::engine::EngineArgs;

/// Flags of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The cluster's kubeconfig; without it, the account of the pod that this runs in.
    #[arg(long, value_name = "FILE", env = "OFFSHOOT_KUBECONFIG")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The address to serve at. The control plane of a private cluster reaches port 10250.
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "0.0.0.0:10250",
        env = "OFFSHOOT_LISTEN"
    )]
    pub(crate) listen: SocketAddr,
    /// The Lease that all replicas share: the one that holds it writes. Its name is also that of the Service.
    #[arg(
        long,
        value_name = "NAMESPACE/NAME",
        default_value = "offshoot-system/offshoot",
        env = "OFFSHOOT_LEASE"
    )]
    pub(crate) lease: String,
    /// Where the other replicas reach this one.
    #[arg(long, value_name = "HOST:PORT", env = "OFFSHOOT_ADVERTISE")]
    pub(crate) advertise: String,
    /// A directory with tls.crt, tls.key and ca.crt: the certificate that is shown, for NAME.NAMESPACE.svc of the Lease, and
    /// the authority that signed it. Without it they are made, and kept in the Secret NAMESPACE/NAME-serving.
    #[arg(long, value_name = "DIR", env = "OFFSHOOT_TLS_DIR")]
    pub(crate) tls_dir: Option<PathBuf>,
    /// A namespace that is served, also more than once; all are by default.
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_delimiter = ',',
        env = "OFFSHOOT_NAMESPACES"
    )]
    pub(crate) namespaces: Vec<String>,
    /// Takes over from Porch, which is stopped: labels, annotations, owners and finalizers of its package revisions, and sets
    /// that are stored in v1alpha1. Leave it out once all repositories are Ready.
    #[arg(long, env = "OFFSHOOT_IMPORT_PORCH")]
    pub(crate) import_porch: bool,
    /// With --import-porch: the user that is recorded as the writer of every variant and set that nobody wrote since. What they
    /// inject and select is read as this user, whom this account must be allowed to impersonate.
    #[arg(
        long,
        value_name = "USER",
        requires = "import_porch",
        env = "OFFSHOOT_WRITER"
    )]
    pub(crate) writer: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// Flags of `release`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// The cluster's kubeconfig.
    #[arg(long, value_name = "FILE", env = "OFFSHOOT_KUBECONFIG")]
    pub(crate) kubeconfig: PathBuf,
    /// The Lease that the replicas shared.
    #[arg(
        long,
        value_name = "NAMESPACE/NAME",
        default_value = "offshoot-system/offshoot",
        env = "OFFSHOOT_LEASE"
    )]
    pub(crate) lease: String,
    /// Only what is in this namespace, also while replicas run that do not serve it (any more).
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
}
