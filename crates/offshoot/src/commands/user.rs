//! `offshoot user`: a kubeconfig with a certificate for somebody else.

use std::path::Path;
use std::process::ExitCode;

use apiserver::Authority;
use base64::Engine as _;
use kube::config::Kubeconfig;

use crate::cli::UserArgs;
use crate::exit::ExitFailure;
use crate::up::{Holder, may_replace, write_private};

/// Signs a certificate with the data directory's authority; the server need not run.
///
/// # Errors
/// The directory has no authority yet, the file cannot be written, or holds the credentials of somebody else.
pub(super) fn run(args: &UserArgs) -> Result<ExitCode, ExitFailure> {
    if args.name.is_empty() {
        return Err(ExitFailure::usage("a user needs a name".to_owned()));
    }
    if let Some(path) = &args.output {
        may_replace(path, &args.at.data, Holder::User(&args.name))?;
    }
    let text = kubeconfig(args)?;
    match &args.output {
        Some(path) => {
            write_private(path, &text)?;
            super::say(&format!("wrote {}", path.display()));
            Ok(ExitCode::SUCCESS)
        }
        None => super::print(&text),
    }
}

fn kubeconfig(args: &UserArgs) -> Result<String, ExitFailure> {
    let data: &Path = &args.at.data;
    if !data.join("pki/ca.key").exists() {
        let text = format!("{} holds no certificate authority", data.display());
        return Err(ExitFailure::new(text)
            .hint("start `offshoot up` on it once, or name another directory with --data"));
    }
    let failed = |e: &dyn std::error::Error| ExitFailure::of("make the certificate", e);
    let authority = Authority::load_or_make(Some(data)).map_err(|e| failed(&e))?;
    let issued = authority
        .issue(&args.name, args.group.as_slice(), args.days)
        .map_err(|e| failed(&e))?;
    let server = match &args.server {
        Some(server) => server.clone(),
        None => address(data)?,
    };
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    // JSON is YAML: whatever is in a name is quoted.
    let file = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "offshoot",
        "clusters": [{"name": "offshoot", "cluster": {
            "certificate-authority-data": encode(&authority.ca_pem), "server": server,
        }}],
        "contexts": [{"name": "offshoot", "context": {"cluster": "offshoot", "user": args.name}}],
        "users": [{"name": args.name, "user": {
            "client-certificate-data": encode(&issued.certificate), "client-key-data": encode(&issued.key),
        }}],
    });
    let text = serde_json::to_string_pretty(&file).map_err(|e| failed(&e))?;
    Ok(text + "\n")
}

/// Where the server of this directory serves, as its own kubeconfig says.
fn address(data: &Path) -> Result<String, ExitFailure> {
    let path = data.join("kubeconfig");
    let file = Kubeconfig::read_from(&path).map_err(|e| {
        ExitFailure::of(&format!("read {}", path.display()), &e)
            .hint("say the address with --server")
    })?;
    let cluster = file.clusters.into_iter().next().and_then(|c| c.cluster);
    let server = cluster.and_then(|c| c.server);
    server.ok_or_else(|| {
        ExitFailure::new(format!("{} names no server", path.display()))
            .hint("say the address with --server")
    })
}
