//! How to reach the server: flags that all commands share which talk to one.

use std::path::PathBuf;

use clap::Args;

use crate::shell::quoted;

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

impl Connect {
    /// What was typed, for another command that is to reach the same: a space before each word, quoted for a shell.
    /// `namespace` is the one that is looked at, by whatever it was chosen.
    pub(crate) fn typed(&self, namespace: &str) -> String {
        let file = self.kubeconfig.as_ref().map(|file| {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            file.to_string_lossy().into_owned()
        });
        let space = self.namespace.is_some() || namespace != "default";
        let named = [
            ("--kubeconfig", &file),
            ("--context", &self.context),
            ("--cluster", &self.cluster),
            ("--user", &self.user),
            ("--server", &self.server),
            ("--tls-server-name", &self.tls_server_name),
            ("-n", &space.then(|| namespace.to_owned())),
            ("--as", &self.as_user),
            ("--as-uid", &self.as_uid),
        ];
        let named = named
            .into_iter()
            .filter_map(|(flag, value)| Some((flag, value.as_ref()?)));
        let groups = self.as_groups.iter().map(|group| ("--as-group", group));
        named
            .chain(groups)
            .map(|(flag, value)| format!(" {flag} {}", quoted(value)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_command_reaches_what_was_reached() {
        assert_eq!(Connect::default().typed("default"), "");
        assert_eq!(Connect::default().typed("shop"), " -n shop");
        // The context may name another namespace.
        let there = Connect {
            namespace: Some("default".to_owned()),
            kubeconfig: Some("/etc/the one".into()),
            context: Some("prod".to_owned()),
            as_user: Some("ann's".to_owned()),
            as_groups: vec!["a".to_owned(), "b c".to_owned()],
            ..Connect::default()
        };
        assert_eq!(
            there.typed("default"),
            " --kubeconfig '/etc/the one' --context prod -n default --as 'ann'\\''s' --as-group a --as-group 'b c'"
        );
    }
}
