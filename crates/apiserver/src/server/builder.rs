//! What a server is made of, and how it is put together: the store is opened, the core made whole, the first objects written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use objects::resource::Converter;
use objects::write::WriteOptions;
use objects::{Reason, Resource};
use objectstore::{Durability, Memory, Options, Store};
use serde_json::Value;

use super::tls::{self, Authority};
use super::{Server, StartError, open};
use crate::aggregated::Host;
use crate::audit::Audit;
use crate::authn::TokenKeys;
use crate::authz::{Authorizer, Rbac, Roles, Setters, Writers};
use crate::clock::{Clock, CountingUids, RandomUids, SystemClock, Uids};
use crate::gateway::User;
use crate::http::Guard;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::verbs::{Core, Parts, RequestTarget};

/// Gathers what a server is made of.
pub struct ServerBuilder {
    data: Option<PathBuf>,
    memory: Option<Memory>,
    how: open::How,
    options: Options,
    crds: Vec<Value>,
    resources: Vec<Resource>,
    converters: BTreeMap<String, Arc<dyn Converter>>,
    clock: Arc<dyn Clock>,
    uids: Arc<dyn Uids>,
    authorizer: Option<Arc<dyn Authorizer>>,
    writers: Option<Writers>,
    setters: Option<Setters>,
    roles: Vec<Value>,
    tokens: Vec<(String, User)>,
    limits: Limits,
    audit: Option<Audit>,
    host: Option<Arc<dyn Host>>,
}

impl std::fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            data: None,
            memory: None,
            how: open::How::default(),
            options: Options {
                threaded: true,
                ..Options::default()
            },
            crds: Vec::new(),
            resources: Vec::new(),
            converters: BTreeMap::new(),
            clock: Arc::new(SystemClock),
            uids: Arc::new(RandomUids),
            authorizer: None,
            writers: None,
            setters: None,
            roles: Vec::new(),
            tokens: Vec::new(),
            limits: Limits::default(),
            audit: None,
            host: None,
        }
    }
}

impl ServerBuilder {
    /// Keeps objects and certificates in a directory; without it nothing survives.
    #[must_use]
    pub fn data_dir(mut self, path: &Path) -> Self {
        self.data = Some(path.to_owned());
        self
    }

    /// Keeps objects in memory, also where there is a data directory.
    #[must_use]
    pub fn memory(mut self, medium: Memory) -> Self {
        self.memory = Some(medium);
        self
    }

    /// Says when a write counts as done.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.how.durability = durability;
        self
    }

    /// Says that the data directory was used before, where more than its keys tell: a store that is missing or empty there
    /// is refused.
    #[must_use]
    pub fn used_before(mut self, used: bool) -> Self {
        self.how.used = used;
        self
    }

    /// Begins with an empty store where that of the data directory is damaged or missing; what is found is kept beside it.
    #[must_use]
    pub fn begin_anew(mut self, anew: bool) -> Self {
        self.how.anew = anew;
        self
    }

    /// Sets the store's options; `threaded: false` makes it deterministic.
    #[must_use]
    pub fn store_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Installs a `CustomResourceDefinition` at the start, as if it had been applied.
    #[must_use]
    pub fn crd(mut self, crd: Value) -> Self {
        self.crds.push(crd);
        self
    }

    /// Converts between the versions of a definition (`plural.group`) in process, whatever it says about webhooks.
    #[must_use]
    pub fn converter(mut self, definition: &str, converter: Arc<dyn Converter>) -> Self {
        self.converters.insert(definition.to_owned(), converter);
        self
    }

    /// Serves a resource of the embedding program that is no CRD.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Sets the clock that objects are stamped with.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Counts uids and generated names up from a seed, so that the same requests have the same answers.
    #[must_use]
    pub fn counted_uids(mut self, seed: u64) -> Self {
        self.uids = Arc::new(CountingUids::new(seed));
        self
    }

    /// Sets who may do what; by default what roles and bindings say ([`Rbac`]).
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Records who writes these objects.
    #[must_use]
    pub fn writers(mut self, writers: Writers) -> Self {
        self.writers = Some(writers);
        self
    }

    /// Records who sets this field.
    #[must_use]
    pub fn setters(mut self, setters: Setters) -> Self {
        self.setters = Some(setters);
        self
    }

    /// Adds a `ClusterRole` to the default ones; labelled so that `admin`, `edit` or `view` gather it.
    #[must_use]
    pub fn cluster_role(mut self, role: Value) -> Self {
        self.roles.push(role);
        self
    }

    /// Sets how much is done at once, and for how long.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Writes an audit log.
    #[must_use]
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Accepts a bearer token as a user.
    #[must_use]
    pub fn token(mut self, token: &str, user: User) -> Self {
        self.tokens.push((token.to_owned(), user));
        self
    }

    /// Serves its resources within a cluster that keeps everything else: no built-in kinds, roles, namespaces or collector
    /// of its own, and records are kept there. Who may do what is for [`Self::authorizer`] to ask that cluster.
    #[must_use]
    pub fn aggregated(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
    }

    /// Opens the store and makes everything ready, without a socket: enough for in-process use.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn build(mut self) -> Result<Server, StartError> {
        let options = self.options.clone();
        let store = match (self.memory.take(), &self.data) {
            (Some(medium), _) => Store::in_memory(medium, options),
            (None, Some(path)) => {
                let prepare = |source| StartError::Data {
                    path: path.clone(),
                    source,
                };
                objectstore::files::directory(path).map_err(prepare)?;
                open::store(path, self.how, &options)
            }
            (None, None) => Store::in_memory(Memory::new(), options),
        };
        let store = store.map_err(StartError::Store)?;
        let guard = Guard::new(self.limits, self.audit);
        let (authorizer, roles) = who_decides(self.authorizer, &store);
        let core = Core::new(Parts {
            store,
            metrics: Metrics::of(guard.connections()),
            clock: self.clock,
            uids: self.uids,
            authorizer: Arc::clone(&authorizer),
            roles,
            writers: self.writers,
            setters: self.setters,
            converters: self.converters,
            host: self.host,
        });
        let built_in = match core.host {
            Some(_) => Vec::new(),
            None => Resource::built_ins(),
        };
        for resource in built_in.into_iter().chain(self.resources) {
            core.registry.put(resource);
        }
        let first = core.store.rv() == 0;
        if core.host.is_none() {
            core.bootstrap().await.map_err(StartError::Bootstrap)?;
            let roles = core.bootstrap_roles(&self.roles).await;
            roles.map_err(StartError::Bootstrap)?;
        }
        for crd in &self.crds {
            install(&core, crd).await?;
        }
        if core.host.is_none() {
            core.load_crds().await.map_err(StartError::Bootstrap)?;
        }
        if first && core.host.is_none() {
            // Nobody has seen the versions of the first objects.
            core.store.compact();
        }
        let data = self.data.as_deref();
        let identity = Authority::load_or_make(data).map_err(StartError::Tls)?;
        let keys = TokenKeys::of(&tls::key_pair(data, "sa.key").map_err(StartError::Tls)?);
        Ok(Server {
            core: Arc::new(core),
            certificates: identity.certificates().map_err(StartError::Tls)?,
            identity,
            keys: Arc::new(keys),
            limits: self.limits,
            guard: Arc::new(guard),
            authorizer,
            tokens: self.tokens,
        })
    }
}

/// The embedding program's authorizer, or the roles that are kept here.
fn who_decides(given: Option<Arc<dyn Authorizer>>, store: &Store) -> (Arc<dyn Authorizer>, Roles) {
    match given {
        Some(authorizer) => (authorizer, Roles::default()),
        None => {
            let rbac = Arc::new(Rbac::new(store.clone()));
            (Arc::clone(&rbac) as Arc<dyn Authorizer>, Roles::of(rbac))
        }
    }
}

/// Creates a definition, or brings its spec up to date.
async fn install(core: &Core, crd: &Value) -> Result<(), StartError> {
    let name = objects::write::meta(crd, "name").to_owned();
    let fail = |why: String| StartError::Definition {
        name: name.clone(),
        why,
    };
    Resource::from_crd(crd).map_err(|e| fail(e.to_string()))?;
    let catalog = core.registry.catalog();
    let resource = catalog.get("apiextensions.k8s.io", "customresourcedefinitions");
    let resource = resource.ok_or_else(|| fail("definitions are not served".to_owned()))?;
    let target = RequestTarget::stored(resource, "", &name);
    let whose = core.own("system:apiserver");
    let options = WriteOptions {
        field_manager: whose.agent.clone(),
        ..WriteOptions::default()
    };
    let created = core
        .create(&target.clone().at("", ""), &whose, crd.clone(), &options)
        .await;
    let written = match created {
        Err(failure) if failure.reason == Reason::AlreadyExists => {
            let patch =
                serde_json::json!({"spec": crd.get("spec"), "metadata": crd.get("metadata")});
            core.patch(
                &target,
                &whose,
                objects::write::patching::PatchKind::Merge,
                &patch,
                &options,
            )
            .await
        }
        other => other,
    };
    written.map(drop).map_err(|failure| fail(failure.message))
}
