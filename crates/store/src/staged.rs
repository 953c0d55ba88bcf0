//! Objects that were built and are not yet in the repository: the shelf that makes a commit
//! readable before it is written.
//!
//! An object lives here as long as some [`crate::Written`] holds it. Two drafts with the same file
//! share one object, hashed and deflated once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use flate2::{Compress, Compression, FlushCompress, Status};
use gix::ObjectId;
use gix::objs::Kind;

use crate::error::{Error, Result};
use crate::lru::lock;
use crate::object::hash;

/// An object with everything that a pack needs of it.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) id: ObjectId,
    pub(crate) kind: Kind,
    pub(crate) raw: Arc<[u8]>,
    pub(crate) delta: Option<Delta>,
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
            full: OnceLock::new(),
        })
    }

    /// The object as a pack holds it when it stands alone.
    pub(crate) fn deflated(&self) -> &[u8] {
        self.full.get_or_init(|| deflate(&self.raw))
    }

    /// Deflates now, on the caller's thread, what the writer is sure to need.
    fn prepare(self) -> Self {
        if self.delta.is_none() {
            let _ = self.deflated();
        }
        self
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

/// The objects of one commit.
#[derive(Debug)]
pub(crate) struct Bundle {
    shelf: Arc<Shelf>,
    pub(crate) objects: Vec<Arc<Packed>>,
    /// Commits not yet in the repository that this one stands on.
    pub(crate) needs: Vec<Arc<Self>>,
}

impl Bundle {
    /// Whether an object comes along with this commit.
    pub(crate) fn holds(&self, id: &ObjectId) -> bool {
        self.objects.iter().any(|o| o.id == *id) || self.needs.iter().any(|n| n.holds(id))
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        let objects = std::mem::take(&mut self.objects);
        let ids: Vec<ObjectId> = objects.iter().map(|o| o.id).collect();
        drop(objects);
        self.shelf.sweep(&ids);
    }
}

#[derive(Debug, Default)]
struct Inner {
    objects: HashMap<ObjectId, Weak<Packed>>,
    commits: HashMap<ObjectId, Weak<Bundle>>,
    /// How many objects there may be before those that nobody holds any more are looked for: one that turned out to be
    /// in the repository comes along with no commit, so no commit takes it off.
    full: usize,
}

/// The least number of objects at which the shelf is looked through.
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
pub(crate) struct Shelf {
    inner: Mutex<Inner>,
}

impl Shelf {
    pub(crate) fn find(&self, id: &ObjectId) -> Option<Arc<Packed>> {
        lock(&self.inner).objects.get(id)?.upgrade()
    }

    /// Puts an object on the shelf, or finds it there.
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

    pub(crate) fn keep(&self, packed: Packed) -> Result<Arc<Packed>> {
        if let Some(known) = self.find(&packed.id) {
            return Ok(known);
        }
        let packed = Arc::new(packed.prepare());
        let mut inner = lock(&self.inner);
        if let Some(known) = inner.objects.get(&packed.id).and_then(Weak::upgrade) {
            return Ok(known);
        }
        inner.tidy();
        inner.objects.insert(packed.id, Arc::downgrade(&packed));
        Ok(packed)
    }

    pub(crate) fn bundle(
        self: &Arc<Self>,
        commit: ObjectId,
        objects: Vec<Arc<Packed>>,
        needs: Vec<Arc<Bundle>>,
    ) -> Arc<Bundle> {
        let bundle = Arc::new(Bundle {
            shelf: Arc::clone(self),
            objects,
            needs,
        });
        lock(&self.inner)
            .commits
            .insert(commit, Arc::downgrade(&bundle));
        bundle
    }

    pub(crate) fn commit(&self, id: &ObjectId) -> Option<Arc<Bundle>> {
        lock(&self.inner).commits.get(id)?.upgrade()
    }

    fn sweep(&self, ids: &[ObjectId]) {
        let mut inner = lock(&self.inner);
        for id in ids {
            if inner.objects.get(id).is_some_and(|w| w.strong_count() == 0) {
                inner.objects.remove(id);
            }
            if inner.commits.get(id).is_some_and(|w| w.strong_count() == 0) {
                inner.commits.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_does_not_stay_on_the_shelf() {
        let shelf = Shelf::default();
        let stage = |i: usize| {
            let raw: Arc<[u8]> = i.to_string().into_bytes().into();
            shelf.stage(Kind::Blob, raw).unwrap()
        };
        let held = stage(0);
        for i in 1..3 * FULL {
            drop(stage(i));
        }
        assert!(lock(&shelf.inner).objects.len() <= FULL);
        assert!(shelf.find(&held.id).is_some());
    }
}
