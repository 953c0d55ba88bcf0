//! Flags of whatever runs the engine: `up` and `serve`.

use clap::Args;

use super::local;

/// How packages are read, rendered and kept in step.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineArgs {
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
    /// A host that git is fetched from and pushed to, more than once or with commas between: git.example.com, git.example.com:8443 or
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
    #[command(flatten)]
    pub(crate) runtimes: local::RuntimeArgs,
    /// How long a request waits for a remote before it is answered that the change goes on, in seconds; for tests.
    #[arg(
        long,
        hide = true,
        value_name = "SECONDS",
        default_value_t = 20,
        env = "OFFSHOOT_ANSWER_WITHIN"
    )]
    pub(crate) answer_within: u64,
}
