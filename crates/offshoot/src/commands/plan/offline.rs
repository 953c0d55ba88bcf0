//! A plan without a server: the manifests and clones of a directory, behind a server of this process that goes with it.
//!
//! It is the same server, so that it plans the same. It works on copies of the clones, contacts nobody and runs no
//! controller. What the directory does not hold is said to be unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use apiserver::{RequestTarget, ResourceName, ServerHandle};
use engine::planned::Verdict;
use engine::ports::Gvk;
use objects::Reason;
use serde_json::{Value, json};
use tokio::process::Command;

use super::{contents, manifests};
use crate::cli::remote::Connect;
use crate::client::{Client, REPOSITORIES, collection};
use crate::exit::ExitFailure;
use crate::up::{self, Running};

/// Where the clones are, below the directory.
const CLONES: &str = "git";
/// How long the clones may take to be read.
const PATIENCE: Duration = Duration::from_secs(300);

/// Kinds that are not imported: git holds the packages, and nothing of the others is planned with.
const LEFT_OUT: [&str; 5] = [
    "PackageRevision",
    "PackageRevisionResources",
    "PorchPackage",
    "Event",
    "Secret",
];

const NAMESPACE: &str = "Namespace";

/// A server over a directory.
pub(super) struct Offline {
    running: Running,
    /// What the directory does not hold, and what follows.
    unknown: Vec<(String, String)>,
    /// Variants that came with their uid, as `namespace/name`.
    known: BTreeSet<String>,
    namespace: String,
}

/// Where the copies of the clones are, and what the server keeps, for as long as a plan is made.
pub(super) struct Copies(tempfile::TempDir);

/// How often it is tried to take them away: what is left of a server may still write.
const ATTEMPTS: usize = 50;

impl Copies {
    /// A directory for them.
    ///
    /// # Errors
    /// None can be made.
    pub(super) fn new() -> Result<Self, ExitFailure> {
        let root = tempfile::Builder::new().prefix("offshoot-plan-").tempdir();
        root.map(Self)
            .map_err(|e| ExitFailure::of("make a directory for the plan", &e))
    }

    /// Takes them away; says where they are if that cannot be.
    pub(super) async fn remove(self) {
        let path = self.0.keep();
        for _ in 0..ATTEMPTS {
            match std::fs::remove_dir_all(&path) {
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => {}
                _ => return,
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        crate::commands::say(&format!(
            "copies of the clones are left in {}: remove them",
            path.display()
        ));
    }
}

/// Serves a directory.
///
/// # Errors
/// It cannot be read, holds an object that no server would take, or a clone that git cannot read.
pub(super) async fn start(
    dir: &Path,
    namespace: Option<&str>,
    copies: &Copies,
) -> Result<Offline, ExitFailure> {
    if !dir.is_dir() {
        let why = format!("--offline {} is no directory", dir.display());
        return Err(ExitFailure::usage(why).hint("it holds manifests, and clones as git/NAME.git"));
    }
    let root = copies.0.path();
    let mut read = Read {
        namespace: namespace.unwrap_or("default").to_owned(),
        ..Read::default()
    };
    for object in manifests::read(&entries(dir)?)? {
        read.take(object);
    }
    let clones = read.clones(dir, root).await?;
    let running = up::start(up::Options {
        durable: false,
        reconcilers: Vec::new(),
        instead: Some(clones.clone()),
        ..up::Options::at(&root.join("data"))
    })
    .await?;
    let known = read.import(&running.handle()).await?;
    let offline = Offline {
        running,
        unknown: read.unknown,
        known,
        namespace: read.namespace,
    };
    offline.read_clones(clones.len()).await?;
    Ok(offline)
}

/// What lies in the directory beside the clones and what is hidden.
fn entries(dir: &Path) -> Result<Vec<PathBuf>, ExitFailure> {
    let failed = |e: std::io::Error| ExitFailure::of(&format!("read {}", dir.display()), &e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let manifest = path.is_dir() || ["yaml", "yml", "json"].contains(&&*ending);
        if manifest && name != CLONES && !name.starts_with('.') {
            contents::check(&path, contents::MANIFESTS)?;
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What the directory holds.
#[derive(Default)]
struct Read {
    namespace: String,
    objects: Vec<Value>,
    elsewhere: BTreeSet<String>,
    unknown: Vec<(String, String)>,
}

impl Read {
    fn take(&mut self, object: Value) {
        let kind = text(&object, "/kind");
        let namespace = text(&object, "/metadata/namespace");
        if LEFT_OUT.contains(&kind) {
            return;
        }
        if !namespace.is_empty() && namespace != self.namespace {
            if self.elsewhere.insert(namespace.to_owned()) {
                let what = format!("what is in namespace {namespace}");
                let why = format!("this plan is of namespace {}", self.namespace);
                self.unknown.push((what, why));
            }
            return;
        }
        self.objects.push(object);
    }

    /// Copies the clones of the repositories; where that of a URL is.
    async fn clones(
        &mut self,
        dir: &Path,
        root: &Path,
    ) -> Result<BTreeMap<String, PathBuf>, ExitFailure> {
        let mut clones = BTreeMap::new();
        let repositories = self
            .objects
            .iter()
            .filter(|o| text(o, "/kind") == "Repository");
        for repository in repositories {
            let name = text(repository, "/metadata/name");
            let url = text(repository, "/spec/git/repo").trim_end_matches('/');
            let from = dir.join(CLONES).join(format!("{name}.git"));
            // A name is no path: what no server takes is refused when it is imported.
            if name.contains('/') || !from.is_dir() {
                let why = format!("{} is not there", from.display());
                self.unknown.push((format!("repository {name}"), why));
                continue;
            }
            if clones.contains_key(url) {
                continue;
            }
            // Git opens what it finds: a pipe would hold it for ever, a link leads out of the directory.
            contents::check(&from, contents::CLONE)?;
            let to = root.join(CLONES).join(format!("{name}.git"));
            clone(&from, &to).await?;
            clones.insert(url.to_owned(), to);
        }
        Ok(clones)
    }

    /// Imports everything: what others refer to first, so that nothing is taken for abandoned. Answers the variants that
    /// came with their uid.
    async fn import(&mut self, handle: &ServerHandle) -> Result<BTreeSet<String>, ExitFailure> {
        let own = |o: &&Value| {
            text(o, "/kind") == NAMESPACE && text(o, "/metadata/name") == self.namespace
        };
        if !self.objects.iter().any(|o| own(&o)) {
            let own = json!({ "name": self.namespace });
            let own = json!({ "apiVersion": "v1", "kind": NAMESPACE, "metadata": own });
            self.objects.push(own);
        }
        self.objects.sort_by_key(|o| rank(text(o, "/kind")));
        let uids: BTreeSet<String> = self
            .objects
            .iter()
            .map(|o| text(o, "/metadata/uid").to_owned())
            .collect();
        let mut known = BTreeSet::new();
        for mut object in std::mem::take(&mut self.objects) {
            let what = called(&object);
            if text(&object, "/kind") == "PackageVariant"
                && !text(&object, "/metadata/uid").is_empty()
            {
                known.insert(format!(
                    "{}/{}",
                    self.namespace,
                    text(&object, "/metadata/name")
                ));
            }
            self.owners(&mut object, &uids);
            if text(&object, "/kind") == "Repository" {
                // Credentials are not here, nor needed; what was last seen is seen again.
                drop(
                    object["spec"]["git"]
                        .as_object_mut()
                        .map(|git| git.remove("secretRef")),
                );
                drop(object.as_object_mut().map(|root| root.remove("status")));
            }
            let Some(target) = self.target(handle, &object).await else {
                let why = "no definition of its kind is in the directory";
                self.unknown.push((what, why.to_owned()));
                continue;
            };
            let imported = import(handle, &target, object).await;
            imported.map_err(|e| ExitFailure::new(format!("{what}: {}", e.message)))?;
        }
        Ok(known)
    }

    /// Takes away owners that are not in the directory: what they own would be collected.
    fn owners(&mut self, object: &mut Value, uids: &BTreeSet<String>) {
        let what = called(object);
        let owners = object.pointer_mut("/metadata/ownerReferences");
        let Some(owners) = owners.and_then(Value::as_array_mut) else {
            return;
        };
        for owner in owners.iter().filter(|o| !uids.contains(text(o, "/uid"))) {
            let why = format!(
                "it belongs to {}, which is not in the directory",
                called(owner)
            );
            self.unknown.push((what.clone(), why));
        }
        owners.retain(|owner| uids.contains(text(owner, "/uid")));
    }

    /// The place of an object. A definition that was imported before is served in a moment.
    async fn target(&self, handle: &ServerHandle, object: &Value) -> Option<RequestTarget> {
        let kind = Gvk::of(text(object, "/apiVersion"), text(object, "/kind"));
        let started = Instant::now();
        loop {
            let found = handle.target_of_kind(&kind.group, &kind.version, &kind.kind);
            let found = found.map(|found| {
                let namespace = if found.resource.namespaced {
                    &self.namespace
                } else {
                    ""
                };
                found.at(namespace, text(object, "/metadata/name"))
            });
            if found.is_some() || started.elapsed() > Duration::from_secs(2) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Imports an object. A server has namespaces of its own: to such a one is added what the directory says of it.
async fn import(
    handle: &ServerHandle,
    target: &RequestTarget,
    object: Value,
) -> Result<(), objects::Failure> {
    let whose = handle.own("admin");
    let namespace = text(&object, "/kind") == NAMESPACE;
    let said = ["labels", "annotations"].map(|key| (key, object["metadata"][key].clone()));
    match handle.import(target, object, &whose).await {
        Err(e) if namespace && e.reason == Reason::AlreadyExists => {
            let said = said.into_iter().filter(|(_, said)| !said.is_null());
            let said: BTreeMap<&str, Value> = said.collect();
            let namespaces = ResourceName::new("", "v1", "namespaces");
            let patch = json!({ "metadata": said });
            let patched = handle.patch(&namespaces, "", &target.name, "", &patch, &whose);
            patched.await.map(drop)
        }
        imported => imported,
    }
}

impl Offline {
    /// A client of it.
    pub(super) async fn client(&self) -> Result<Client, ExitFailure> {
        Client::connect(&Connect {
            kubeconfig: Some(self.running.kubeconfig().to_owned()),
            namespace: Some(self.namespace.clone()),
            ..Connect::default()
        })
        .await
    }

    /// Waits until every clone was read, or cannot be.
    async fn read_clones(&self, count: usize) -> Result<(), ExitFailure> {
        let client = self.client().await?;
        let started = Instant::now();
        loop {
            let list = client
                .get(&collection(REPOSITORIES, &self.namespace, &[]))
                .await?;
            let all = list["items"].as_array().map_or(&[][..], Vec::as_slice);
            let looked = |r: &&Value| !text(r, "/status/conditions/0/status").is_empty();
            let read = all.iter().filter(looked).count();
            if read == all.len() && self.running.busy() == 0 {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                let why = format!(
                    "{read} of {count} clones were read after {} s",
                    PATIENCE.as_secs()
                );
                return Err(ExitFailure::new(why));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Says in a plan what the directory does not hold. Whose packages are of variants that came without uid cannot be
    /// told from git: their failures are no failures, but unknown.
    pub(super) fn say(&self, document: &mut Value) {
        let mut unknown = self.unknown.clone();
        let mut moved: Vec<(String, Value)> = Vec::new();
        for target in items(document, "targets") {
            let name = text(target, "/variant").to_owned();
            for what in not_there(target) {
                let why = format!("{name} injects it, and it is not in the directory");
                unknown.push((what, why));
            }
            let unowned = text(target, "/reason") == "DownstreamExistsUnowned";
            if unowned && !self.known.contains(&name) {
                target["verdict"] = Verdict::Unknown.word().into();
                target["message"] = UNOWNED.into();
                moved.push((name, target["set"].clone()));
            }
        }
        for (name, set) in moved {
            let of_set = items(document, "sets").find(|s| s["set"] == set);
            if let Some(of_set) = of_set {
                shift(&mut of_set["counts"], "failed", "unknown");
            }
            if let Some(failed) = document["failed"].as_array_mut() {
                failed.retain(|f| text(f, "/variant") != name);
            }
            unknown.push((format!("variant {name}"), UNOWNED.to_owned()));
        }
        if let Some(all) = document["unknown"].as_array_mut() {
            all.extend(
                unknown
                    .into_iter()
                    .map(|(what, why)| json!({ "what": what, "why": why })),
            );
        }
        document["plan"] = crate::planning::id_of(document).into();
    }

    /// A failure, with what the directory lacks: that may be why.
    pub(super) fn with_unknown(&self, why: ExitFailure) -> ExitFailure {
        let lacks: Vec<String> = self
            .unknown
            .iter()
            .map(|(what, why)| format!("{what}: {why}"))
            .collect();
        match lacks.is_empty() || why.is_hinted() {
            true => why,
            false => why.hint(lacks.join("; ")),
        }
    }

    /// Ends the server.
    pub(super) async fn stop(self) {
        self.running.stop().await;
    }
}

/// Why a package that is published fits no variant of the directory.
const UNOWNED: &str = "its package is published, and the directory does not hold the packagevariant with its uid that made \
    it: kubectl get pvar -o yaml writes it";

/// What a target would inject and the directory lacks: whether anybody has it is not known here, nor what comes of the target.
fn not_there(target: &mut Value) -> Vec<String> {
    let absent = target.get("absent").and_then(Value::as_array);
    let absent = absent.into_iter().flatten().filter_map(Value::as_str);
    let absent: Vec<String> = absent.map(str::to_owned).collect();
    if !absent.is_empty() {
        let why = format!("{} is not in the directory", absent.join(", "));
        let all = [why.as_str(), text(target, "/inexact")];
        let all: Vec<&str> = all.into_iter().filter(|why| !why.is_empty()).collect();
        target["inexact"] = all.join("; ").into();
        target["exact"] = false.into();
        target["tree"] = Value::Null;
    }
    absent
}

fn items<'a>(document: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    let items = document.get_mut(key).and_then(Value::as_array_mut);
    items.into_iter().flatten()
}

fn shift(counts: &mut Value, from: &str, to: &str) {
    let of = |key: &str| counts[key].as_u64().unwrap_or_default();
    let (less, more) = (of(from).saturating_sub(1), of(to) + 1);
    counts[from] = less.into();
    counts[to] = more.into();
}

/// What is imported first: definitions, then what is selected and injected, sets before their variants, and repositories
/// last, so that what is found in them has its owners.
fn rank(kind: &str) -> u8 {
    match kind {
        "CustomResourceDefinition" | NAMESPACE => 0,
        "PackageVariantSet" => 2,
        "PackageVariant" => 3,
        "Repository" => 4,
        _ => 1,
    }
}

fn called(object: &Value) -> String {
    let name = match text(object, "/metadata/name") {
        "" => text(object, "/name"),
        name => name,
    };
    format!("{} {name}", text(object, "/kind").to_lowercase())
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Copies a clone with all its refs: nothing is written where it lies.
async fn clone(from: &Path, to: &Path) -> Result<(), ExitFailure> {
    let attempt = || format!("copy {}", from.display());
    let output = Command::new("git")
        .args(["clone", "--quiet", "--mirror", "--"])
        .args([from, to])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|e| ExitFailure::of(&attempt(), &e))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ExitFailure::new(format!("cannot {}: {why}", attempt()))
        .hint("git clone --mirror URL makes one that can be read"))
}
