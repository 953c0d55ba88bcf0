//! What the replica does that holds the Lease: its marker first, then the engine (C2).

use std::path::Path;
use std::sync::Arc;

use apiserver::Server;
use engine::Engine;
use objects::Failure;
use serde_json::Value;
use store::{GitOptions, GitStore, Limits, Local, Sync};

use super::host::LARGEST;
use super::objects::{ClusterObjects, Namespaces};
use super::options::Options;
use super::records::{self, Ingest};
use super::remote::{Remote, version_of};
use super::seen::Seen;
use super::term::Term;
use crate::ports::Inherited;
use crate::{gateway, ports, up};

/// The name of the record that marks the beginning of a term.
const MARKER: &str = "offshoot-term";

/// What the engine of a term stands on.
pub(super) struct Ground<'a> {
    pub(super) server: &'a Server,
    pub(super) remote: &'a Remote,
    pub(super) seen: &'a Arc<Seen>,
    pub(super) term: &'a Arc<Term>,
    /// As whom the cluster knows this process.
    pub(super) account: apiserver::gateway::User,
}

/// Writes the marker of a term, and waits until the watch has told of it: whatever was written before is known then.
///
/// # Errors
/// The cluster refuses it, or cannot be asked.
pub(super) async fn mark(
    remote: &Remote,
    records: &Ingest,
    namespace: &str,
    term: i64,
) -> Result<(), Failure> {
    let resource = records::resource();
    let place = (namespace, MARKER);
    match remote.get(&resource, namespace, MARKER).await? {
        None => {
            let marker = api::write_record(place, term, None, None);
            remote.create(&resource, namespace, &marker).await?;
        }
        Some(old) => {
            let version = version_of(&old).to_string();
            let marker = api::write_record(place, term, None, Some(&version));
            let media = "application/merge-patch+json";
            let patch = serde_json::json!({
                "metadata": {"resourceVersion": version},
                "spec": Value::clone(&marker["spec"]),
            });
            remote
                .patch(&resource, (namespace, MARKER, ""), media, &patch)
                .await?;
        }
    }
    records.heard_of(term).await;
    Ok(())
}

/// An engine over the cluster, known to the server from now on.
pub(super) fn engine(
    ground: &Ground<'_>,
    options: &Options,
    drafts: gateway::Drafts,
    scratch: &Path,
    inherited: Arc<Inherited>,
) -> Engine {
    let handle = ground.server.handle();
    let namespaces: Namespaces = Arc::new(options.namespaces.clone());
    let parts = (
        ground.remote.within(ground.term),
        Arc::clone(ground.seen),
        Arc::clone(ground.term),
    );
    let api = ClusterObjects::new(parts, &handle, namespaces, ground.account.clone());
    let store: Arc<dyn store::Store> = Arc::new(GitStore::new(
        scratch,
        git_options(options, Arc::clone(ground.term)),
    ));
    let engine = Engine::new(
        ports::within(
            &handle,
            api.clone(),
            Arc::clone(&options.functions),
            (Arc::clone(ground.term) as _, LARGEST),
            inherited,
        ),
        store,
        engine_options(options),
    );
    ground.server.set_gateway(gateway::PackageGateway::new(
        engine.clone(),
        handle.clone(),
        (api, Some(drafts)),
        options.answer_within,
    ));
    let asked = Arc::clone(ground.remote.asked());
    let counted = move || {
        let all = asked.entries().into_iter();
        all.map(|(verb, count)| ("cluster", verb, count)).collect()
    };
    up::expose_metrics(&engine, &handle, Box::new(counted));
    engine
}

fn git_options(options: &Options, term: Arc<Term>) -> GitOptions {
    GitOptions {
        // Two replicas on two machines see two directories: only remotes are one repository for both.
        local: Local {
            below: Some(Vec::new()),
            never: Vec::new(),
        },
        hosts: options.git_hosts.clone(),
        silence: options.git_silence,
        // What is on this disk is thrown away with the pod: nothing waits for it.
        sync: Sync::Never,
        limits: Limits {
            package_bytes: options.package_bytes,
            ..Limits::default()
        },
        faults: term,
        ..GitOptions::default()
    }
}

fn engine_options(options: &Options) -> engine::Options {
    engine::Options {
        remote_poll: options.sync_every,
        resync: options.resync_every,
        package_bytes: options.package_bytes,
        lasting_copies: false,
        ..engine::Options::default()
    }
}
