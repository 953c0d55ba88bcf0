//! How to reach the server: flags that all commands share which talk to one.

use std::path::PathBuf;

use clap::Args;

/// How to reach the server: the words that kubectl uses.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Connect {
    /// The kubeconfig; those that KUBECONFIG lists, else ~/.kube/config.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) context: Option<String>,
    /// The cluster of the kubeconfig.
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) cluster: Option<String>,
    /// The user of the kubeconfig.
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) user: Option<String>,
    /// The server's address instead of the kubeconfig's.
    #[arg(long, short = 's', value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    /// The namespace; the context's by default.
    #[arg(long, short, value_name = "NAME", global = true)]
    pub(crate) namespace: Option<String>,
    /// Ask as this user, who need not be one of the kubeconfig.
    #[arg(
        long = "as",
        value_name = "NAME",
        global = true,
        hide_short_help = true
    )]
    pub(crate) as_user: Option<String>,
    /// With --as: ask as a member of this group, also more than once.
    #[arg(
        long = "as-group",
        value_name = "GROUP",
        global = true,
        hide_short_help = true
    )]
    pub(crate) as_groups: Vec<String>,
    /// Ask with this uid, as the user of --as or of the kubeconfig's `as`.
    #[arg(long, value_name = "UID", global = true, hide_short_help = true)]
    pub(crate) as_uid: Option<String>,
    /// The name that the server's certificate must have, if it is not the address.
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    pub(crate) tls_server_name: Option<String>,
    /// Do not ask for compressed answers.
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value_t = false,
        action = clap::ArgAction::Set
    )]
    pub(crate) disable_compression: bool,
    /// Log requests to standard error: 6 what was asked and answered, 7 also headers, 8 also the
    /// beginning of bodies, 9 more of them, 10 all. Neither credentials nor Secrets are shown.
    #[arg(
        short,
        long = "v",
        value_name = "LEVEL",
        global = true,
        default_value_t = 0
    )]
    pub(crate) v: u8,
    /// Whether -v=8 and -v=9 cut long bodies.
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value_t = true,
        action = clap::ArgAction::Set
    )]
    pub(crate) truncate_output: bool,
    /// Taken for porchctl's sake: what is logged is written at once.
    #[arg(long, value_name = "DURATION", global = true, hide = true)]
    pub(crate) log_flush_frequency: Option<String>,
}
