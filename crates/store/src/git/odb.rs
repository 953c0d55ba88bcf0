//! Reading objects: loose and packed, from any thread, over gitoxide's object database.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use gix::ObjectId;
use gix::objs::{Exists as _, Find as _, FindHeader as _, Kind};
use gix_odb::store::{Handle, init};

use crate::error::{Error, Result};
use crate::lru::lock;

/// Packs that may come before the database has to be opened anew: its table of packs is fixed.
const SPARE: usize = 64;

type Reader = Handle<Arc<gix_odb::Store>>;

/// An object database that survives new packs and removed ones.
pub(crate) struct Odb {
    objects: PathBuf,
    open: RwLock<Arc<Opened>>,
    puts: AtomicUsize,
}

/// One opening of the database, with readers that are handed from thread to thread.
struct Opened {
    store: Arc<gix_odb::Store>,
    readers: Mutex<Vec<Reader>>,
}

impl Opened {
    fn new(objects: &Path) -> Result<Arc<Self>> {
        let options = init::Options {
            slots: init::Slots::AsNeededByDiskState {
                multiplier: 1.5,
                minimum: SPARE * 2,
            },
            alloc_limit_bytes: Some(1 << 30),
            ..init::Options::default()
        };
        let none = &mut std::iter::empty();
        let store =
            gix_odb::Store::at_opts(objects.to_owned(), gix::hash::Kind::Sha1, none, options)
                .map_err(|e| Error::io(format!("open {}", objects.display()), e))?;
        Ok(Arc::new(Self {
            store: Arc::new(store),
            readers: Mutex::default(),
        }))
    }

    fn with<T>(&self, work: impl FnOnce(&Reader) -> T) -> T {
        let reader = lock(&self.readers)
            .pop()
            .unwrap_or_else(|| self.store.to_handle_arc());
        let result = work(&reader);
        lock(&self.readers).push(reader);
        result
    }
}

impl Odb {
    pub(crate) fn open(objects: PathBuf) -> Result<Self> {
        let open = RwLock::new(Opened::new(&objects)?);
        Ok(Self {
            objects,
            open,
            puts: AtomicUsize::new(0),
        })
    }

    fn opened(&self) -> Arc<Opened> {
        Arc::clone(
            &self
                .open
                .read()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }

    fn reopen(&self) -> Result<()> {
        let fresh = Opened::new(&self.objects)?;
        self.puts.store(0, Ordering::Relaxed);
        *self
            .open
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Told of a new pack with this object in it.
    pub(crate) fn note_pack(&self, id: &ObjectId) -> Result<()> {
        if self.puts.fetch_add(1, Ordering::Relaxed) >= SPARE / 2 {
            return self.reopen();
        }
        // A look that misses makes the database read its directory again.
        if !self.opened().with(|reader| reader.exists(id)) {
            self.reopen()?;
        }
        Ok(())
    }

    pub(crate) fn has(&self, id: &ObjectId) -> bool {
        self.opened()
            .with(|reader| reader.exists_without_refresh(id))
    }

    pub(crate) fn kind(&self, id: &ObjectId) -> Result<Option<Kind>> {
        let look = |reader: &Reader| reader.try_header(id).map(|h| h.map(|h| h.kind));
        self.twice(id, look)
    }

    pub(crate) fn size(&self, id: &ObjectId) -> Result<Option<u64>> {
        let look = |reader: &Reader| reader.try_header(id).map(|h| h.map(|h| h.size));
        self.twice(id, look)
    }

    pub(crate) fn read(&self, id: &ObjectId) -> Result<Option<(Kind, Arc<[u8]>)>> {
        let look = |reader: &Reader| {
            let mut buffer = Vec::new();
            let found = reader.try_find(id, &mut buffer);
            found.map(|data| data.map(|data| (data.kind, Arc::from(data.data))))
        };
        self.twice(id, look)
    }

    /// Packs may have been rolled up under our feet: an error gets a second look at a fresh table.
    fn twice<T, E: std::fmt::Display>(
        &self,
        id: &ObjectId,
        look: impl Fn(&Reader) -> std::result::Result<Option<T>, E>,
    ) -> Result<Option<T>> {
        if let Ok(found) = self.opened().with(&look) {
            return Ok(found);
        }
        self.reopen()?;
        self.opened().with(&look).map_err(|e| Error::Damaged {
            id: id.to_string(),
            why: e.to_string(),
        })
    }
}
