//! Flags of `offshoot serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::local;

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
    /// A host that git is fetched from and pushed to, also more than once: git.example.com, git.example.com:8443 or
    /// *.example.com. Others are not contacted; all are by default.
    #[arg(
        long,
        value_name = "HOST",
        value_delimiter = ',',
        env = "OFFSHOOT_GIT_HOSTS"
    )]
    pub(crate) git_hosts: Vec<String>,
    /// How long a git server may say nothing before a fetch or push is given up, in seconds; a hook that is silent for
    /// longer needs more.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600), env = "OFFSHOOT_GIT_SILENCE")]
    pub(crate) git_silence: u64,
    /// How often repositories without a schedule are read again, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        env = "OFFSHOOT_SYNC_SECONDS"
    )]
    pub(crate) sync_seconds: u64,
    /// How often everything is looked at again, in seconds; repairs lost events.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 600,
        env = "OFFSHOOT_RESYNC_SECONDS"
    )]
    pub(crate) resync_seconds: u64,
    /// How many bytes the files of one package may have that are shown and saved. Of a larger one that came by git, the
    /// largest files are not shown.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 16 << 20,
        value_parser = clap::value_parser!(u64).range(1 << 20..=1 << 30),
        env = "OFFSHOOT_PACKAGE_BYTES"
    )]
    pub(crate) package_bytes: u64,
    /// How long a request waits for a remote before it is answered that the change goes on, in seconds; for tests.
    #[arg(
        long,
        hide = true,
        value_name = "SECONDS",
        default_value_t = 20,
        env = "OFFSHOOT_ANSWER_WITHIN"
    )]
    pub(crate) answer_within: u64,
    #[command(flatten)]
    pub(crate) runtimes: local::RuntimeArgs,
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
}
