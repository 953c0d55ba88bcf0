//! `offshoot serve`: one replica on a cluster, until it is told to stop or loses its Lease.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use model::Namespace;

use crate::cli::serve::ServeArgs;
use crate::cluster::{self, Import, Options};
use crate::exit::ExitFailure;
use crate::{runtimes, up};

/// Serves.
///
/// # Errors
/// It could not start, or it lost its Lease.
pub(super) async fn run(args: &ServeArgs) -> Result<ExitCode, ExitFailure> {
    cluster::run(options(args)?).await
}

fn options(args: &ServeArgs) -> Result<Options, ExitFailure> {
    Ok(Options {
        kubeconfig: args.kubeconfig.clone(),
        listen: args.listen,
        lease: lease(&args.lease)?,
        advertise: args.advertise.clone(),
        tls: args.tls_dir.clone(),
        namespaces: namespaces(&args.namespaces)?,
        git_hosts: up::git_hosts(&args.engine.git_hosts)?,
        git_silence: Duration::from_secs(args.engine.git_silence),
        sync_every: Duration::from_secs(args.engine.sync_seconds),
        resync_every: Duration::from_secs(args.engine.resync_seconds),
        package_bytes: args.engine.package_bytes,
        answer_within: Duration::from_secs(args.engine.answer_within),
        import: args.import_porch.then(|| Import {
            writer: args.writer.clone(),
        }),
        functions: Arc::new(runtimes::of(&args.engine.runtimes)?),
    })
}

/// Namespace and name of a Lease.
///
/// # Errors
/// The text is none.
pub(super) fn lease(text: &str) -> Result<(String, String), ExitFailure> {
    let wrong = || {
        ExitFailure::usage(format!("--lease: {text:?} is no NAMESPACE/NAME"))
            .hint("write offshoot-system/offshoot")
    };
    let (namespace, name) = text.split_once('/').ok_or_else(wrong)?;
    let named = Namespace::parse(namespace).is_ok() && model::ObjectName::parse(name).is_ok();
    if !named {
        return Err(wrong());
    }
    Ok((namespace.to_owned(), name.to_owned()))
}

fn namespaces(list: &[String]) -> Result<Vec<Namespace>, ExitFailure> {
    let read = |text: &String| {
        Namespace::parse(text.trim())
            .map_err(|e| ExitFailure::usage(format!("--namespaces: {text:?}: {e}")))
    };
    list.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_has_a_namespace_and_a_name() {
        let read = lease("offshoot-system/offshoot").ok();
        let wanted = ("offshoot-system".to_owned(), "offshoot".to_owned());
        assert_eq!(read, Some(wanted));
        for wrong in ["offshoot", "a/b/c", "/x", "UPPER/x", "a/"] {
            assert!(lease(wrong).is_err(), "{wrong}");
        }
    }
}
