//! `offshoot up`: one process with one data directory: API server, object store, git, controllers.
//!
//! This is the only place where the crates are put together.

mod data;
mod files;
mod kubeconfig;
mod metrics;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apiserver::audit::{Audit, Rotation};
use apiserver::gateway::User;
use apiserver::{Record, ResourceName, Server, ServerHandle, StartError};
use engine::Engine;
use objectstore::{Durability, Expect};
use store::{GitOptions, GitStore, Hosts, Limits, Local, Sync};
use tokio::task::JoinHandle;

use crate::cli::UpArgs;
use crate::exit::ExitFailure;
use crate::{gateway, ports};
pub(crate) use data::{DataDir, write_private};
pub(crate) use kubeconfig::{Holder, may_replace};
pub(crate) use metrics::expose as expose_metrics;

/// What a server is started with.
#[derive(Clone)]
pub struct Options {
    /// The data directory.
    pub data: PathBuf,
    /// The address.
    pub listen: SocketAddr,
    /// The kubeconfig, if not in the data directory.
    pub kubeconfig: Option<PathBuf>,
    /// Where the audit log goes, if there is one.
    pub audit: Option<PathBuf>,
    /// When the audit log is full, and what becomes of full ones.
    pub audit_rotation: Rotation,
    /// Throw records away and bring them back from git.
    pub rebuild: bool,
    /// Which controllers run.
    pub reconcilers: Vec<String>,
    /// How often remotes without a schedule are read.
    pub sync_every: Duration,
    /// How often everything is looked at again.
    pub resync_every: Duration,
    /// How long a selection must be quiet before deletions that follow from it are judged.
    pub quiet: plan::set::QuietTime,
    /// Whether answers wait for the disk.
    pub durable: bool,
    /// Bytes of one package that are shown and saved.
    pub package_bytes: u64,
    /// Writes of one batch, if limited.
    pub batch: Option<usize>,
    /// Directories that `file://` repositories may lie below; by default the one that holds the
    /// data directory.
    pub repositories: Vec<PathBuf>,
    /// The hosts that git is fetched from and pushed to; `None` for all.
    pub git_hosts: Option<Hosts>,
    /// How long a remote may say nothing before a conversation with it is given up.
    pub git_silence: Duration,
    /// How long anybody who asks for a change is made to wait for a remote.
    pub answer_within: Duration,
    /// What runs functions.
    pub functions: Arc<dyn functions::Runner>,
    /// Where the repository of an address lies instead; with it nobody is contacted.
    pub instead: Option<BTreeMap<String, PathBuf>>,
}

impl Options {
    /// Everything by default, in this directory, on a free port of loopback.
    pub fn at(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            kubeconfig: None,
            audit: None,
            audit_rotation: Rotation::default(),
            rebuild: false,
            reconcilers: vec![
                "packagevariants".to_owned(),
                "packagevariantsets".to_owned(),
            ],
            sync_every: Duration::from_secs(60),
            resync_every: Duration::from_secs(600),
            quiet: plan::set::QuietTime::default(),
            durable: true,
            package_bytes: Limits::default().package_bytes,
            batch: None,
            repositories: Vec::new(),
            git_hosts: None,
            git_silence: Duration::from_secs(30),
            answer_within: Duration::from_secs(20),
            functions: Arc::new(functions::runtime::Runtimes::default()),
            instead: None,
        }
    }

    /// As the command line says.
    ///
    /// # Errors
    /// A runtime of functions that cannot be enabled.
    pub(crate) fn of(args: &UpArgs) -> Result<Self, ExitFailure> {
        Ok(Self {
            data: args.at.data.clone(),
            listen: args.listen,
            kubeconfig: args.kubeconfig.clone(),
            audit: args.audit_log.clone(),
            audit_rotation: Rotation {
                bytes: args.audit_log_maxsize << 20,
                kept: args.audit_log_maxbackup,
            },
            rebuild: args.rebuild,
            reconcilers: args.reconcilers.clone(),
            sync_every: Duration::from_secs(args.engine.sync_seconds),
            resync_every: Duration::from_secs(args.engine.resync_seconds),
            quiet: plan::set::QuietTime::default(),
            durable: !args.no_fsync,
            package_bytes: args.engine.package_bytes,
            batch: args.batch_limit,
            repositories: args.repositories.clone(),
            git_hosts: git_hosts(&args.engine.git_hosts)?,
            git_silence: Duration::from_secs(args.engine.git_silence),
            answer_within: Duration::from_secs(args.engine.answer_within),
            functions: Arc::new(crate::runtimes::of(&args.engine.runtimes)?),
            instead: None,
        })
    }
}

/// How long turns of controllers may take to end when a server stops.
const GRACE: Duration = Duration::from_secs(2);

/// A running server. Dropping it without [`Running::stop`] leaves nothing half done: whatever was
/// answered is durable.
#[derive(Debug)]
pub struct Running {
    server: apiserver::Running,
    engine: Engine,
    handle: ServerHandle,
    controllers: JoinHandle<()>,
    kubeconfig: PathBuf,
    /// Held until the end.
    _data: DataDir,
}

impl Running {
    /// The kubeconfig, complete.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// The verbs without HTTP.
    pub(crate) fn handle(&self) -> ServerHandle {
        self.handle.clone()
    }

    /// What server, engine and store counted since the start, by name.
    pub fn counted(&self) -> Vec<(String, u64)> {
        let mut out: Vec<(String, u64)> = Vec::new();
        let engine = self.engine.stats().entries().into_iter();
        out.extend(engine.map(|(name, value)| (name.to_owned(), value)));
        let store = self.engine.store_stats().entries().into_iter();
        out.extend(store.map(|(name, value)| (format!("git {name}"), value)));
        for (key, count) in self.handle.requests() {
            out.push((format!("{} {} {}", key.verb, key.resource, key.code), count));
        }
        out.push(("writes of objects".to_owned(), self.handle.version()));
        out
    }

    /// Looks at everything again, as the periodic resync does.
    pub fn look_at_everything(&self) {
        self.engine.look_at_everything();
    }

    /// Keys that wait or are worked on; 0 is rest.
    pub fn busy(&self) -> usize {
        self.engine.busy()
    }

    /// Drains: no new requests, the controllers end, everything is durable.
    /// No remote is waited for: what was sent to one and not answered stands in the journal and is completed at the next
    /// start.
    pub async fn stop(mut self) {
        self.engine.stop();
        self.engine.disconnect();
        match tokio::time::timeout(GRACE, &mut self.controllers).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the controllers ended by a panic"),
            Err(_) => {
                tracing::warn!("controllers were still at work after the grace period");
                self.controllers.abort();
            }
        }
        self.server.stop().await;
    }
}

/// Starts everything; returns when it is ready and the kubeconfig is written.
///
/// # Errors
/// The data directory is in use or newer, the address is taken, a store is damaged, the kubeconfig is somebody else's.
pub async fn start(options: Options) -> Result<Running, ExitFailure> {
    // The data directory's own is ours, whatever became of it.
    if let Some(path) = &options.kubeconfig {
        may_replace(path, &options.data, Holder::Administrator)?;
    }
    let data = DataDir::open(&options.data)?;
    let path = options.kubeconfig.clone();
    let path = path.unwrap_or_else(|| data.root().join("kubeconfig"));
    let token = kubeconfig::token(&path).unwrap_or_else(kubeconfig::new_token);
    let server = build_server(&data, &options, &token).await?;
    let handle = server.handle();
    if options.rebuild {
        forget_records(&handle).await?;
    }
    let store: Arc<dyn store::Store> =
        Arc::new(GitStore::new(data.git(), git_options(&data, &options)));
    let engine = Engine::new(
        ports::over(&handle, options.functions.clone()),
        store,
        engine_options(&options),
    );
    server.set_gateway(gateway::PackageGateway::new(
        engine.clone(),
        handle.clone(),
        (ports::embedded(&handle), None),
        options.answer_within,
    ));
    metrics::expose(&engine, &handle, Box::new(Vec::new));
    let controllers = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run().await }
    });
    wait_until_ready(&engine).await;
    let server = server.listen(options.listen).await;
    let server = server.map_err(|e| ExitFailure::of("serve", &e))?;
    let wanted = server.kubeconfig(kubeconfig::NAME, &token);
    kubeconfig::write(&path, &wanted)?;
    Ok(Running {
        server,
        handle,
        engine,
        controllers,
        kubeconfig: path,
        _data: data,
    })
}

async fn build_server(
    data: &DataDir,
    options: &Options,
    token: &str,
) -> Result<Server, ExitFailure> {
    let durability = if options.durable {
        Durability::Immediate
    } else {
        Durability::Relaxed
    };
    let mut builder = ports::recording(Server::builder())
        .data_dir(data.root())
        .durability(durability)
        .used_before(data.was_used())
        .begin_anew(options.rebuild)
        .limits(apiserver::Limits::default().with_files(files::raise()))
        .token(token, User::new("admin", &["system:masters"]));
    let crds = api::embedded_crds().map_err(|e| ExitFailure::of("read the definitions", &e))?;
    for crd in crds {
        builder = builder.crd(crd);
    }
    for (definition, versions) in gateway::versions() {
        builder = builder.converter(definition, versions);
    }
    for resource in gateway::definitions(options.package_bytes)? {
        builder = builder.resource(resource);
    }
    if let Some(path) = &options.audit {
        let opened = Audit::open(path, options.audit_rotation);
        let failed = |e: std::io::Error| ExitFailure::of(&format!("open {}", path.display()), &e);
        builder = builder.audit(opened.map_err(failed)?);
    }
    for role in gateway::roles() {
        builder = builder.cluster_role(role);
    }
    builder.build().await.map_err(|e| not_built(data, &e))
}

/// Why there is no server, and the way out where its object store is damaged or gone.
fn not_built(data: &DataDir, error: &StartError) -> ExitFailure {
    match error {
        StartError::Store(found) if found.is_damage() => {
            let root = data.root().display();
            ExitFailure::of("open the object store", error).hint(format!(
                "fill a new directory from a copy: `offshoot backup FILE --restore --data NEW`; or start with --rebuild, which \
                 keeps what was found in {root} and begins with no objects: apply repositories and variants again, package \
                 revisions come back from git"
            ))
        }
        _ => ExitFailure::of("start the server", error),
    }
}

/// Local repositories lie beside the data directory unless somebody says otherwise, and never in it.
fn local_repositories(data: &DataDir, options: &Options) -> Local {
    let mut below = options.repositories.clone();
    if below.is_empty() {
        let beside = data.root().parent().map(Path::to_owned);
        // A data directory at the top of the file system says nothing about what may be served.
        below.extend(beside.filter(|dir| dir.parent().is_some()));
    }
    Local {
        below: Some(below),
        never: vec![data.root().to_owned()],
    }
}

/// The hosts that flags or the environment name.
pub(crate) fn git_hosts(list: &[String]) -> Result<Option<Hosts>, ExitFailure> {
    if list.is_empty() {
        return Ok(None);
    }
    let list = list.join(",");
    let wrong = |why: String| {
        ExitFailure::usage(format!("--git-hosts: {why}"))
            .hint("write git.example.com, git.example.com:8443 or *.example.com")
    };
    if list.trim_matches([',', ' ']).is_empty() {
        return Err(wrong("it names no host".to_owned()));
    }
    let hosts = Hosts::parse(&list);
    hosts
        .map(Some)
        .map_err(|entry| wrong(format!("{entry:?} is no host")))
}

fn git_options(data: &DataDir, options: &Options) -> GitOptions {
    let limits = Limits::default();
    GitOptions {
        local: local_repositories(data, options),
        hosts: options.git_hosts.clone(),
        instead: options.instead.clone(),
        silence: options.git_silence,
        sync: if options.durable {
            Sync::Always
        } else {
            Sync::Never
        },
        limits: Limits {
            package_bytes: options.package_bytes,
            batch: options.batch.unwrap_or(limits.batch),
            ..limits
        },
        ..GitOptions::default()
    }
}

fn engine_options(options: &Options) -> engine::Options {
    engine::Options {
        remote_poll: options.sync_every,
        local_poll: options.sync_every.min(Duration::from_secs(2)),
        resync: options.resync_every,
        quiet: options.quiet,
        package_bytes: options.package_bytes,
        rebuild: options.rebuild,
        variants: options.reconcilers.iter().any(|r| r == "packagevariants"),
        sets: options
            .reconcilers
            .iter()
            .any(|r| r == "packagevariantsets"),
        ..engine::Options::default()
    }
}

/// Throws every record away; discovery makes them anew from git.
async fn forget_records(handle: &ServerHandle) -> Result<(), ExitFailure> {
    let failed = |e: &dyn std::error::Error| ExitFailure::of("forget the records", e);
    let resource = ResourceName::new(api::PACKAGE_GROUP, "v1alpha1", "packagerevisions");
    let list = handle
        .list(&resource, "", "")
        .await
        .map_err(|e| failed(&e))?;
    let records = list.items.iter().filter_map(|object| {
        let key = api::read_key(object)?;
        Some(Record {
            group: resource.group.clone(),
            resource: resource.plural.clone(),
            namespace: key.namespace.as_str().to_owned(),
            name: key.name.as_str().to_owned(),
            expect: Expect::Any,
            object: None,
            manager: String::new(),
        })
    });
    handle
        .commit(records.collect())
        .await
        .map(drop)
        .map_err(|e| failed(&e))
}

/// The first lists are complete before the first request is answered.
async fn wait_until_ready(engine: &Engine) {
    while !engine.is_ready() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
