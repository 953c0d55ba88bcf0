//! Repositories on disk: bare ones in place, remotes through a mirror of ours, and repositories
//! with a working tree, which are only read.

mod bounds;
mod disk;
mod fetches;
mod http;
mod journal;
mod layout;
mod local;
mod lockfile;
mod odb;
mod pack;
mod packed;
mod pkt;
mod plain;
mod private;
mod refs;
mod remote;
mod send;
mod transport;
mod upkeep;
mod worktrees;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::fault::{Faults, NoFaults};
use crate::git::bounds::Bounds;
use crate::git::disk::{DiskPaths, GitDisk};
use crate::git::fetches::Fetches;
use crate::git::transport::Git;
use crate::hosts::Hosts;
use crate::lru::{Share, lock};
use crate::reader::Setup;
use crate::remote::{RemoteSpec, UrlKind};
use crate::repository::{Repository, Shared, WAITS};
use crate::stats::Counters;
use crate::{Limits, Repo, Store};

use local::Fence;
pub use local::Local;

/// Whether what was answered survives a power cut. Git's own policy covers neither refs nor loose
/// objects (only what `core.fsync` names), so this is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// Everything that is answered was synced to disk.
    #[default]
    Always,
    /// Nothing is synced: for demonstrations and tests that ask for it.
    Never,
}

/// What a git store is made with.
#[derive(Debug, Clone)]
pub struct GitOptions {
    /// Limits of packages, batches and caches.
    pub limits: Limits,
    /// Durability.
    pub sync: Sync,
    /// Told at every named point.
    pub faults: Arc<dyn Faults>,
    /// The `git` program: it speaks to remotes and rolls up packs; nothing else needs it.
    pub git: PathBuf,
    /// How long one conversation with a remote may take.
    pub timeout: Duration,
    /// How long a remote may say nothing within one.
    pub silence: Duration,
    /// Whether pushes and looks go over HTTP of our own, where no proxy is configured. The program
    /// does the same, slower with every ref.
    pub direct: bool,
    /// How many fetches bring objects at once, half of them for one tenant ([`crate::Credentials::tenant`]).
    pub fetches: usize,
    /// New packs after which they are rolled up; 0 is never.
    pub roll_up: usize,
    /// Which local repositories may be opened at all.
    pub local: Local,
    /// Which hosts may be contacted; `None` for all.
    pub hosts: Option<Hosts>,
    /// Where the repository of a URL lies instead; with it nobody is contacted, and every other URL has none.
    pub instead: Option<BTreeMap<String, PathBuf>>,
}

impl Default for GitOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            sync: Sync::Always,
            faults: Arc::new(NoFaults),
            git: PathBuf::from("git"),
            timeout: Duration::from_secs(120),
            silence: Duration::from_secs(30),
            direct: true,
            fetches: Fetches::usual(),
            roll_up: 48,
            local: Local::default(),
            hosts: None,
            instead: None,
        }
    }
}

/// The place of one repository.
#[derive(Default)]
struct Slot {
    /// One opening at a time: it may wait for a remote.
    turn: tokio::sync::Mutex<()>,
    /// Its repository, and whether what a crash left in it was put right. Held for work on this disk alone.
    repository: Mutex<Option<(Arc<Repository<GitDisk>>, bool)>>,
}

impl Slot {
    /// Notes that what a crash left in a repository was put right, unless another one took its place.
    fn ready(&self, repository: &Arc<Repository<GitDisk>>) {
        if let Some((known, ready)) = lock(&self.repository).as_mut() {
            *ready |= Arc::ptr_eq(known, repository);
        }
    }
}

/// Git repositories, with mirrors and journals below one directory that only we use (the data
/// directory's lock is the caller's to hold).
pub struct GitStore {
    data: PathBuf,
    options: GitOptions,
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    share: Share,
    fetches: Arc<Fetches>,
    /// Whether all conversations with remotes are to end.
    ended: watch::Sender<bool>,
}

impl GitStore {
    /// A store over a data directory; made when the first repository is opened.
    pub fn new(data: impl Into<PathBuf>, options: GitOptions) -> Self {
        Self {
            data: data.into(),
            fetches: Arc::new(Fetches::new(options.fetches)),
            options,
            slots: Mutex::default(),
            share: Share::default(),
            ended: watch::Sender::new(false),
        }
    }

    /// One URL for one repository, and how it is reached, if that may be.
    fn place(&self, spec: &RemoteSpec) -> Result<(String, UrlKind)> {
        let (url, kind) = spec.kind()?;
        if let Some(instead) = &self.options.instead {
            return match instead.get(&url) {
                Some(path) => Ok((url, UrlKind::Local(path.clone()))),
                None => Err(Error::NoRepository { url }),
            };
        }
        match (&kind, &self.options.hosts) {
            (UrlKind::Local(path), _) => self.options.local.check(&url, path)?,
            (UrlKind::Remote, Some(hosts)) => hosts.check(&url)?,
            (UrlKind::Remote, None) => {}
        }
        Ok(layout::canonical(url, kind))
    }

    fn slot(&self, url: &str) -> Arc<Slot> {
        let mut slots = lock(&self.slots);
        let slot = Arc::clone(slots.entry(url.to_owned()).or_default());
        self.share
            .divide(self.options.limits.cache_bytes, slots.len());
        slot
    }

    /// The opened repository, made where there is none, and whether it is ready for writes.
    fn repository(
        &self,
        slot: &Slot,
        url: &str,
        kind: &UrlKind,
        spec: &RemoteSpec,
    ) -> Result<(Arc<Repository<GitDisk>>, bool)> {
        let mut known = lock(&slot.repository);
        if let Some((repository, ready)) = known
            .as_ref()
            .filter(|(repository, _)| repository.reader.alive().is_ok())
        {
            // It was moved away, and another one may be made there: whoever still holds this one opens it again.
            let replaces =
                matches!(kind, UrlKind::Local(path) if spec.create_repository && !path.exists());
            if !replaces {
                return Ok((Arc::clone(repository), *ready));
            }
            repository.reader.stop();
        }
        let repository = Arc::new(self.fresh(url, kind, spec)?);
        *known = Some((Arc::clone(&repository), false));
        Ok((repository, false))
    }

    /// A repository over what is on this disk.
    fn fresh(&self, url: &str, kind: &UrlKind, spec: &RemoteSpec) -> Result<Repository<GitDisk>> {
        let home = self.home(url)?;
        let (git_dir, writable) = match kind {
            UrlKind::Local(path) => layout::find_local(url, path, spec)?,
            UrlKind::Remote => (layout::mirror(&home)?, true),
        };
        let counters = Arc::new(Counters::default());
        let git = Git {
            program: self.options.git.clone(),
            dir: git_dir.clone(),
            home: home.clone(),
            url: url.to_owned(),
            bounds: self.bounds(),
            memory: transport::USUAL,
            runtime: tokio::runtime::Handle::current(),
        };
        let place = DiskPaths {
            git_dir,
            journal: home.join("journal"),
            remote: *kind == UrlKind::Remote,
            writable,
            sync: self.options.sync == Sync::Always,
            roll_up: self.options.roll_up,
            direct: self.options.direct && !http::behind_a_proxy(),
            fence: self.fence(url, kind),
        };
        let disk = GitDisk::open(place, git, &counters, &self.options.limits)?;
        let setup = Setup {
            url: url.to_owned(),
            writable,
            limits: self.options.limits,
            share: self.share.clone(),
            faults: Arc::clone(&self.options.faults),
            counters,
        };
        Repository::new(disk, setup)
    }

    /// What every conversation with a remote keeps to.
    fn bounds(&self) -> Bounds {
        Bounds {
            whole: self.options.timeout,
            silence: self.options.silence,
            refs: (self.options.limits.refs, self.options.limits.ref_bytes),
            fetches: Arc::clone(&self.fetches),
            ended: self.ended.subscribe(),
        }
    }

    /// The repository of a slot, ready for reads and, as far as its remote can be asked, for writes.
    async fn opened(
        &self,
        slot: &Slot,
        (url, kind): (&str, &UrlKind),
        spec: &RemoteSpec,
    ) -> Result<Arc<Repository<GitDisk>>> {
        let turn = slot.turn.lock().await;
        let (repository, ready) = self.repository(slot, url, kind, spec)?;
        let (opened, who) = (Arc::clone(&repository), Arc::clone(&spec.credentials));
        blocking(move || match ready {
            // Whoever opens a mirror must be welcome at the remote: it is not a way around.
            true => opened.reader.disk.welcome(&who),
            // A mirror that never saw the remote does.
            false => opened.put_right(opened.reader.disk.is_new_mirror()?, &who),
        })
        .await?;
        slot.ready(&repository);
        drop(turn);
        Ok(repository)
    }

    /// What a local repository may lead to; a mirror of ours leads to nothing else.
    fn fence(&self, url: &str, kind: &UrlKind) -> Fence {
        let judged = *kind != UrlKind::Remote && self.options.instead.is_none();
        Fence(judged.then(|| (url.to_owned(), self.options.local.clone())))
    }

    /// Where the mirror of a remote is, whether it was made or not, for whoever looks at what no server uses.
    pub fn mirror_of(data: &Path, url: &str) -> PathBuf {
        layout::mirror_in(&home_of(data, url.trim_end_matches('/')))
    }

    fn home(&self, url: &str) -> Result<PathBuf> {
        let home = home_of(&self.data, url);
        let name_it = || {
            let mut file = private::create(&home.join("url"))?;
            file.write_all(format!("{url}\n").as_bytes())
        };
        private::directory(&self.data.join("git"))
            .and_then(|()| private::directory(&home))
            .and_then(|()| name_it())
            .map_err(|e| Error::io(format!("make {}", home.display()), e))?;
        Ok(home)
    }
}

/// Where mirror and journal of a URL are: named by a digest, as no two URLs may share one
/// (Porch's names collide).
fn home_of(data: &Path, url: &str) -> PathBuf {
    let digest = Sha256::digest(url.as_bytes());
    let name: String = digest.iter().take(16).map(|b| format!("{b:02x}")).collect();
    data.join("git").join(name)
}

/// Runs work that blocks beside the reactor.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|e| Error::Nonsense {
        attempt: "open a repository",
        why: e.to_string(),
    })?
}

#[async_trait]
impl Store for GitStore {
    async fn open(&self, spec: RemoteSpec) -> Result<Arc<dyn Repo>> {
        let (url, kind) = self.place(&spec)?;
        let slot = self.slot(&url);
        let mut opened = self.opened(&slot, (&url, &kind), &spec).await;
        for _ in 0..WAITS {
            if !matches!(opened, Err(Error::Busy { .. })) {
                break;
            }
            let kept = self.bounds().turn(&url, &spec.credentials).await?;
            opened = self.opened(&slot, (&url, &kind), &spec).await;
            drop(kept);
        }
        let repository = opened?;
        repository.ensure_branch(&spec).await?;
        Ok(Arc::new(Shared {
            repository,
            who: spec.credentials,
        }))
    }

    async fn here(&self, url: &str) -> Result<Option<Arc<dyn Repo>>> {
        let spec = RemoteSpec::new(url);
        let (url, kind) = spec.kind()?;
        let mirror = layout::mirror_in(&home_of(&self.data, &url));
        if kind != UrlKind::Remote || !mirror.join("HEAD").is_file() {
            return Ok(None);
        }
        let slot = self.slot(&url);
        let (repository, _) = self.repository(&slot, &url, &kind, &spec)?;
        if repository.reader.disk.is_new_mirror()? {
            return Ok(None);
        }
        Ok(Some(Arc::new(Shared {
            repository,
            who: spec.credentials,
        })))
    }

    fn disconnect(&self) {
        self.ended.send_replace(true);
    }
}
