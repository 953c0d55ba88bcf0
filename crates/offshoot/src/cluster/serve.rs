//! One replica, from its start to its end.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use apiserver::gateway::User;
use apiserver::{Server, TlsError};
use engine::Engine;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::door::{Access, CertificateSource, Identity, Serving, written_by};
use super::holder::{self, Ground};
use super::host::ClusterHost;
use super::lease::{Lease, Replica};
use super::options::Options;
use super::records::Ingest;
use super::remote::Remote;
use super::repeats::Repeats;
use super::replicas::{Forward, Replicas, certificates, fingerprint};
use super::routing::{Routing, Stage, through};
use super::scratch::Scratch;
use super::seen::Seen;
use super::term::Term;
use super::{import, namespaces, neighbours, remote};
use crate::exit::ExitFailure;
use crate::gateway;

/// How long turns of controllers may take to end when a replica stops.
const GRACE: Duration = Duration::from_secs(1);

/// Serves until SIGINT or SIGTERM, which hands the Lease over; ends with 1 when the Lease is lost.
///
/// # Errors
/// It could not start.
pub(crate) async fn run(options: Options) -> Result<ExitCode, ExitFailure> {
    let signals = Signals::new()?;
    let replica = Started::new(&options).await?;
    replica.serve(&options, signals).await
}

/// SIGINT and SIGTERM.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, ExitFailure> {
        let failed = |e: std::io::Error| ExitFailure::of("listen for signals", &e);
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// A replica whose listener is open.
struct Started {
    server: Server,
    listening: apiserver::Running,
    remote: Remote,
    seen: Arc<Seen>,
    records: Arc<Ingest>,
    term: Arc<Term>,
    lease: Arc<Lease>,
    stage: watch::Sender<Stage>,
    account: User,
}

impl Started {
    async fn new(options: &Options) -> Result<Self, ExitFailure> {
        let client = remote::client(options.kubeconfig.as_deref()).await?;
        let remote = Remote::new(client.clone());
        let account = account(&remote).await?;
        tracing::info!(account = %account.name, "the cluster knows this replica");
        neighbours::look(&remote, &options.lease).await?;
        let (seen, term) = (Arc::<Seen>::default(), Term::new());
        let records = Ingest::new(Arc::clone(&seen), Arc::clone(&term));
        let identity = Arc::new(Identity::new(client.clone()));
        let own = own_certificate()?;
        let lease = Arc::new(Lease::new(
            remote.clone(),
            (&options.lease.0, &options.lease.1),
            own.replica(&options.advertise),
            Arc::clone(&term),
        ));
        let replicas = Replicas::of(&lease, &own.id);
        let host = Arc::new(ClusterHost {
            remote: remote.within(&term),
            identity: Arc::clone(&identity),
            replicas: Arc::clone(&replicas),
            seen: Arc::clone(&seen),
            records: Arc::clone(&records),
            term: Arc::clone(&term),
        });
        let server = server_of(host, client.clone(), options.package_bytes).await?;
        records.feeds(
            server
                .handle()
                .mirror(api::PACKAGE_GROUP, "packagerevisions"),
        );
        let stage = watch::Sender::new(Stage::Standby);
        let (serving, name) = serving(client, options).await?;
        let routing = Arc::new(Routing {
            stage: stage.subscribe(),
            identity: Arc::clone(&identity),
            term: Arc::clone(&term),
            forward: Forward::new(
                lease.heard(),
                (&own.certificate, &own.key),
                (Arc::clone(&serving), &name),
            ),
            replicas,
            repeats: Repeats::default(),
        });
        let stamps = written_by(&account.name);
        let listening = server
            .listen_as(options.listen, serving.certificate(), move |router| {
                through(routing, router.merge(stamps))
            })
            .await;
        let listening = listening.map_err(|e| ExitFailure::of("serve", &e))?;
        tracing::info!(address = %listening.address, "a replica serves");
        follow((identity, serving), (&remote, &seen, &records));
        Ok(Self {
            server,
            listening,
            remote,
            seen,
            records,
            term,
            lease,
            stage,
            account,
        })
    }

    /// Waits for the Lease, works while it holds it.
    async fn serve(self, options: &Options, mut signals: Signals) -> Result<ExitCode, ExitFailure> {
        let term = tokio::select! {
            term = self.lease.acquire() => term.map_err(|lost| ExitFailure::of("wait for the Lease", &lost))?,
            () = signals.any() => {
                self.listening.stop().await;
                return Ok(ExitCode::SUCCESS);
            }
        };
        tracing::info!(term, "this replica holds the Lease");
        self.stage.send_replace(Stage::Starting);
        let scratch = Scratch::new()?;
        let ended = tokio::select! {
            lost = self.lease.hold(term) => Some(ExitFailure::of("write", &lost)),
            failure = self.work(options, term, scratch.path()) => Some(failure),
            () = signals.any() => None,
        };
        self.stage.send_replace(Stage::Standby);
        match ended {
            Some(failure) => {
                // Whatever is under way meets a compare-and-swap; nothing more starts.
                self.term.end();
                Err(failure)
            }
            None => {
                self.lease.release().await;
                let _ = tokio::time::timeout(GRACE, self.listening.stop()).await;
                Ok(ExitCode::SUCCESS)
            }
        }
    }

    /// Begins the term and runs the engine; ends only where that fails.
    async fn work(&self, options: &Options, term: i64, scratch: &Path) -> ExitFailure {
        loop {
            let marked = holder::mark(&self.remote, &self.records, &options.lease.0, term).await;
            match marked {
                Ok(()) => break,
                Err(failure) => {
                    tracing::warn!(%failure, "the term cannot begin; trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
        if self.records.met_newer() {
            return ExitFailure::new("there are records of a newer format".to_owned())
                .hint("use the version that wrote them");
        }
        let ground = Ground {
            server: &self.server,
            remote: &self.remote,
            seen: &self.seen,
            term: &self.term,
            account: self.account.clone(),
        };
        let drafts = match gateway::Drafts::new().await {
            Ok(drafts) => drafts,
            Err(failure) => return failure,
        };
        let inherited = match &options.import {
            Some(asked) => import::run(&self.remote, asked).await,
            None => Ok(Arc::default()),
        };
        let inherited = match inherited {
            Ok(inherited) => inherited,
            Err(failure) => {
                // Nothing was begun: whoever is better set up need not wait.
                self.lease.release().await;
                return failure;
            }
        };
        let engine = holder::engine(&ground, options, drafts, scratch, inherited);
        let runs = async {
            tokio::join!(engine.run(), wait_until_ready(&engine, &self.stage));
        };
        let why = tokio::select! {
            () = runs => "a write was under way when the term was over: the next holder reads anew what git says",
            () = self.records.loses() => "somebody removed records: the next holder reads anew what git says",
        };
        // Nobody has to wait for a Lease of a replica that goes.
        self.lease.release().await;
        ExitFailure::new(why.to_owned())
    }
}

/// The package API's server over the cluster.
async fn server_of(
    host: Arc<ClusterHost>,
    client: kube::Client,
    package_bytes: u64,
) -> Result<Server, ExitFailure> {
    let mut builder = Server::builder()
        .aggregated(host)
        .authorizer(Arc::new(Access::new(client)));
    for resource in gateway::definitions(package_bytes)? {
        builder = builder.resource(resource);
    }
    let server = builder.build().await;
    server.map_err(|e| ExitFailure::of("make the server", &e))
}

/// Follows what every replica needs of the cluster, for as long as the process lives.
fn follow(
    (identity, serving): (Arc<Identity>, Arc<Serving>),
    (remote, seen, records): (&Remote, &Arc<Seen>, &Arc<Ingest>),
) {
    tokio::spawn(async move { identity.follow().await });
    tokio::spawn(async move { serving.follow().await });
    tokio::spawn(namespaces::run(remote.clone(), Arc::clone(seen)));
    let (records, remote) = (Arc::clone(records), remote.clone());
    tokio::spawn(async move { records.run(remote).await });
}

/// The first lists are complete before the first request is answered.
async fn wait_until_ready(engine: &Engine, stage: &watch::Sender<Stage>) {
    while !engine.is_ready() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tracing::info!("everything was read: this replica answers");
    stage.send_replace(Stage::Holding);
}

/// The certificate that is shown, and the name that it is for: that of the Service, which is the Lease's.
async fn serving(
    client: kube::Client,
    options: &Options,
) -> Result<(Arc<Serving>, String), ExitFailure> {
    let (namespace, lease) = &options.lease;
    let name = format!("{lease}.{namespace}.svc");
    let source = match &options.tls {
        Some(directory) => CertificateSource::Directory(directory.clone()),
        None => CertificateSource::Secret {
            namespace: namespace.clone(),
            name: format!("{lease}-serving"),
            dns: vec![name.clone()],
        },
    };
    let serving = Serving::open(client, source).await.map_err(|e| {
        ExitFailure::of("have a certificate", &e)
            .hint("--tls-dir names a directory with tls.crt, tls.key and ca.crt")
    })?;
    Ok((Arc::new(serving), name))
}

/// As whom the cluster knows this process.
async fn account(remote: &Remote) -> Result<User, ExitFailure> {
    let resource =
        apiserver::ResourceName::new("authentication.k8s.io", "v1", "selfsubjectreviews");
    let asked =
        serde_json::json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let said = remote.create(&resource, "", &asked).await;
    let said = said.map_err(|e| ExitFailure::of("ask the cluster who this is", &e))?;
    let user = &said["status"]["userInfo"];
    let groups = user["groups"].as_array().into_iter().flatten();
    let groups: Vec<&str> = groups.filter_map(serde_json::Value::as_str).collect();
    Ok(User::new(
        user["username"].as_str().unwrap_or_default(),
        &groups,
    ))
}

/// What this process shows when it forwards.
struct Own {
    id: String,
    certificate: String,
    key: String,
    fingerprint: String,
}

impl Own {
    fn replica(&self, address: &str) -> Replica {
        Replica {
            id: self.id.clone(),
            address: address.to_owned(),
            fingerprint: self.fingerprint.clone(),
        }
    }
}

fn own_certificate() -> Result<Own, ExitFailure> {
    let id = uuid::Uuid::new_v4().simple().to_string();
    let failed = |e: TlsError| ExitFailure::of("make a certificate", &e);
    let authority = apiserver::Authority::load_or_make(None).map_err(failed)?;
    let name = format!("offshoot-replica-{id}");
    let issued = authority.issue(&name, &[], 3_650).map_err(failed)?;
    let der = certificates(&issued.certificate);
    let der = der.map_err(|e| ExitFailure::of("read a certificate", &e))?;
    Ok(Own {
        id,
        fingerprint: der.first().map(|own| fingerprint(own)).unwrap_or_default(),
        certificate: issued.certificate,
        key: issued.key,
    })
}
