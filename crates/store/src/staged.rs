//! Objects that were built and are not yet in the repository: the staging that makes a commit
//! readable before it is written.
//!
//! An object lives here as long as some [`crate::Written`] holds it. Two drafts with the same file
//! share one object, hashed and deflated once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use flate2::{Compress, Compression, FlushCompress, Status};
use gix::ObjectId;
use gix::objs::Kind;

use crate::error::{Error, Result};
use crate::lru::lock;
use crate::object::{SUBMODULE, hash, next_entry};

/// An object with everything that a pack needs of it.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) id: ObjectId,
    pub(crate) kind: Kind,
    pub(crate) raw: Arc<[u8]>,
    pub(crate) delta: Option<Delta>,
    /// Whether it is staged: the repository did not have it when it was built, so that a pack is sure to need it.
    staged: bool,
    full: OnceLock<Vec<u8>>,
}

/// An object as a difference to another one.
#[derive(Debug)]
pub(crate) struct Delta {
    pub(crate) base: ObjectId,
    pub(crate) base_raw: Arc<[u8]>,
    pub(crate) size: usize,
    pub(crate) deflated: Vec<u8>,
}

impl Packed {
    pub(crate) fn new(kind: Kind, raw: Arc<[u8]>) -> Result<Self> {
        let id = hash(kind, &raw)?;
        Ok(Self {
            id,
            kind,
            raw,
            delta: None,
            staged: false,
            full: OnceLock::new(),
        })
    }

    /// The object as a pack holds it when it stands alone.
    pub(crate) fn deflated(&self) -> &[u8] {
        self.full.get_or_init(|| deflate(&self.raw))
    }

    /// Deflates now, on the caller's thread, what the writer is sure to need.
    fn prepare(&self) {
        if self.staged && self.delta.is_none() {
            let _ = self.deflated();
        }
    }
}

thread_local! {
    /// Making a compressor costs more than using it on a small file, so each thread keeps one.
    static COMPRESS: RefCell<Compress> = RefCell::new(Compress::new(Compression::fast(), true));
}

/// A zlib stream in memory.
pub(crate) fn deflate(raw: &[u8]) -> Vec<u8> {
    COMPRESS.with_borrow_mut(|compress| {
        compress.reset();
        let mut out = Vec::with_capacity(raw.len() + raw.len() / 100 + 64);
        loop {
            let done = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
            let rest = raw.get(done..).unwrap_or_default();
            match compress.compress_vec(rest, &mut out, FlushCompress::Finish) {
                Ok(Status::StreamEnd) | Err(_) => break out,
                Ok(Status::Ok | Status::BufError) => out.reserve(raw.len() / 2 + 64),
            }
        }
    })
}

/// An object that comes along with a commit.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// Built here, ready for a pack.
    Built(Arc<Packed>),
    /// The repository had it when it was looked for; its content comes along, as it may be gone by the time refs
    /// move (X10).
    Kept(ObjectId, Arc<[u8]>),
}

impl Part {
    pub(crate) fn id(&self) -> ObjectId {
        match self {
            Self::Built(packed) => packed.id,
            Self::Kept(id, _) => *id,
        }
    }

    /// What a tree names, files and directories; nothing of anything else.
    pub(crate) fn links(&self) -> Vec<ObjectId> {
        let mut links = Vec::new();
        if let Self::Built(packed) = self
            && packed.kind == Kind::Tree
        {
            let mut rest = &*packed.raw;
            while let Some((entry, after)) = next_entry(rest) {
                if entry.mode != SUBMODULE {
                    links.push(entry.id);
                }
                rest = after;
            }
        }
        links
    }

    /// The object as a pack takes it; `None` if the bytes are those of another one.
    pub(crate) fn packed(self) -> Result<Option<Arc<Packed>>> {
        match self {
            Self::Built(packed) => Ok(Some(packed)),
            Self::Kept(id, raw) => {
                let packed = Packed::new(Kind::Blob, raw)?;
                Ok((packed.id == id).then(|| Arc::new(packed)))
            }
        }
    }
}

/// The objects of one commit.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// All that it is made of, as far as the content is known here.
    pub(crate) all: BTreeMap<ObjectId, Part>,
    /// Those that its first parent has at the same place: who keeps the parent keeps them.
    pub(crate) held: BTreeSet<ObjectId>,
    /// Objects named by id alone, which must be in the repository when refs move.
    pub(crate) relies: BTreeSet<ObjectId>,
}

impl Parts {
    pub(crate) fn add(&mut self, part: Part) {
        self.all.entry(part.id()).or_insert(part);
    }

    pub(crate) fn build(&mut self, packed: Arc<Packed>) {
        self.add(Part::Built(packed));
    }

    /// Notes an object, and all below it, as held by the parent.
    pub(crate) fn hold(&mut self, id: &ObjectId) {
        let mut left = vec![*id];
        while let Some(id) = left.pop() {
            if let Some(part) = self.all.get(&id)
                && self.held.insert(id)
            {
                left.extend(part.links());
            }
        }
    }
}

/// A commit that was built here.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) commit: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    /// The directory that it is about.
    pub(crate) tree: Option<ObjectId>,
}

/// A commit with its objects.
#[derive(Debug)]
pub(crate) struct Bundle {
    staging: Arc<Staging>,
    pub(crate) of: Built,
    pub(crate) parts: Parts,
    /// Commits not yet in the repository that this one stands on.
    pub(crate) needs: Vec<Arc<Self>>,
}

impl Bundle {
    /// Whether an object comes along with this commit.
    pub(crate) fn holds(&self, id: &ObjectId) -> bool {
        self.parts.all.contains_key(id) || self.needs.iter().any(|n| n.holds(id))
    }

    /// Deflates what comes along, on the thread of whoever submits it: most of what is built for a plan, or only to learn
    /// an id, is never written.
    pub(crate) fn prepare(&self) {
        let mut seen = BTreeSet::new();
        let mut left = vec![self];
        while let Some(bundle) = left.pop() {
            if !seen.insert(bundle.of.commit) {
                continue;
            }
            for part in bundle.parts.all.values() {
                if let Part::Built(packed) = part {
                    packed.prepare();
                }
            }
            left.extend(bundle.needs.iter().map(Arc::as_ref));
        }
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let ids: Vec<ObjectId> = parts.all.keys().copied().collect();
        // The objects go before they are counted: what this commit alone held has no holder left.
        drop(parts);
        self.staging.sweep(&ids, &self.of);
    }
}

type Bundles = HashMap<ObjectId, Vec<Weak<Bundle>>>;

#[derive(Debug, Default)]
struct Inner {
    objects: HashMap<ObjectId, Weak<Packed>>,
    commits: Bundles,
    /// By the directory that they are about.
    trees: Bundles,
    /// How many objects there may be before those that nobody holds any more are looked for: one that turned out to be
    /// in the repository comes along with no commit, so no commit takes it off.
    full: usize,
}

/// The least number of objects at which the staging is looked through.
const FULL: usize = 4_096;

impl Inner {
    fn tidy(&mut self) {
        if self.objects.len() >= self.full.max(FULL) {
            self.objects.retain(|_, object| object.strong_count() > 0);
            self.full = self.objects.len() * 2;
        }
    }
}

/// All objects that some caller holds and that may not be in the repository yet.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    inner: Mutex<Inner>,
}

impl Staging {
    pub(crate) fn find(&self, id: &ObjectId) -> Option<Arc<Packed>> {
        lock(&self.inner).objects.get(id)?.upgrade()
    }

    /// Stages an object, or finds it there.
    pub(crate) fn stage(&self, kind: Kind, raw: Arc<[u8]>) -> Result<Arc<Packed>> {
        self.keep(Packed::new(kind, raw)?)
    }

    /// The same for an object whose id is known; a wrong one would be written as it is, so it is
    /// compared.
    pub(crate) fn stage_as(&self, id: ObjectId, kind: Kind, raw: Arc<[u8]>) -> Result<Arc<Packed>> {
        if let Some(known) = self.find(&id) {
            return Ok(known);
        }
        let packed = Packed::new(kind, raw)?;
        if packed.id != id {
            let why = format!("its bytes are those of {}, not of {id}", packed.id);
            return Err(Error::Nonsense {
                attempt: "keep a file",
                why,
            });
        }
        self.keep(packed)
    }

    pub(crate) fn keep(&self, mut packed: Packed) -> Result<Arc<Packed>> {
        packed.staged = true;
        let mut inner = lock(&self.inner);
        if let Some(known) = inner.objects.get(&packed.id).and_then(Weak::upgrade) {
            return Ok(known);
        }
        inner.tidy();
        let packed = Arc::new(packed);
        inner.objects.insert(packed.id, Arc::downgrade(&packed));
        Ok(packed)
    }

    pub(crate) fn bundle(
        self: &Arc<Self>,
        of: Built,
        parts: Parts,
        needs: Vec<Arc<Bundle>>,
    ) -> Arc<Bundle> {
        let (commit, tree) = (of.commit, of.tree);
        let bundle = Arc::new(Bundle {
            staging: Arc::clone(self),
            of,
            parts,
            needs,
        });
        let mut inner = lock(&self.inner);
        let note = |of: &mut Bundles, id: ObjectId| {
            of.entry(id).or_default().push(Arc::downgrade(&bundle))
        };
        note(&mut inner.commits, commit);
        if let Some(tree) = tree {
            note(&mut inner.trees, tree);
        }
        drop(inner);
        bundle
    }

    pub(crate) fn commit(&self, id: &ObjectId) -> Option<Arc<Bundle>> {
        first(lock(&self.inner).commits.get(id)?)
    }

    /// A commit that was built and is about this directory.
    pub(crate) fn about(&self, tree: &ObjectId) -> Option<Arc<Bundle>> {
        first(lock(&self.inner).trees.get(tree)?)
    }

    /// How many objects somebody holds.
    pub(crate) fn held(&self) -> usize {
        let inner = lock(&self.inner);
        let objects = inner.objects.values();
        objects.filter(|object| object.strong_count() > 0).count()
    }

    fn sweep(&self, ids: &[ObjectId], of: &Built) {
        let mut inner = lock(&self.inner);
        for id in ids {
            if inner.objects.get(id).is_some_and(|w| w.strong_count() == 0) {
                inner.objects.remove(id);
            }
        }
        let inner = &mut *inner;
        forget(&mut inner.commits, &of.commit);
        if let Some(tree) = &of.tree {
            forget(&mut inner.trees, tree);
        }
    }
}

fn first(bundles: &[Weak<Bundle>]) -> Option<Arc<Bundle>> {
    bundles.iter().find_map(Weak::upgrade)
}

/// Takes those off that nobody holds any more; others may be about the same.
fn forget(bundles: &mut Bundles, id: &ObjectId) {
    if let Some(some) = bundles.get_mut(id) {
        some.retain(|bundle| bundle.strong_count() > 0);
        if some.is_empty() {
            bundles.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_submitted_is_not_deflated() {
        let staging = Arc::new(Staging::default());
        let (file, other) = (b"a file".as_slice(), b"one that is there".as_slice());
        let built = staging.stage(Kind::Blob, file.into()).unwrap();
        let known = Arc::new(Packed::new(Kind::Blob, other.into()).unwrap());
        let mut parts = Parts::default();
        parts.build(Arc::clone(&built));
        parts.build(Arc::clone(&known));
        let of = Built {
            commit: built.id,
            parents: Vec::new(),
            tree: None,
        };
        let bundle = staging.bundle(of, parts, Vec::new());
        assert!(built.full.get().is_none());
        bundle.prepare();
        assert!(built.full.get().is_some());
        // The repository has it: a pack may well do without.
        assert!(known.full.get().is_none());
    }

    #[test]
    fn what_nobody_holds_does_not_stay_staged() {
        let staging = Staging::default();
        let stage = |i: usize| {
            let raw: Arc<[u8]> = i.to_string().into_bytes().into();
            staging.stage(Kind::Blob, raw).unwrap()
        };
        let held = stage(0);
        for i in 1..3 * FULL {
            drop(stage(i));
        }
        assert!(lock(&staging.inner).objects.len() <= FULL);
        assert!(staging.find(&held.id).is_some());
    }
}
