//! Reading objects: loose and packed, from any thread, over gitoxide's object database.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, SystemTime};

use gix::ObjectId;
use gix::objs::{Exists as _, Find as _, FindHeader as _, Kind};
use gix_odb::store::{Handle, init};
use rustix::fs::{Dir, Mode, OFlags};

use crate::Limits;
use crate::error::{Error, Result};
use crate::git::local::Fence;
use crate::git::plain;
use crate::lru::lock;

/// Packs that may come before the database has to be opened anew: its table of packs is fixed.
const SPARE: usize = 64;

type Reader = Handle<Arc<gix_odb::Store>>;

/// An object database that survives new packs and removed ones, and another repository in its place.
pub(crate) struct Odb {
    objects: PathBuf,
    /// Where objects may be borrowed from.
    fence: Fence,
    limits: Limits,
    open: RwLock<Arc<Opened>>,
    puts: AtomicUsize,
    seen: Mutex<Seen>,
    /// How many directories of objects stood here one after the other.
    incarnation: AtomicU64,
    /// How often packs went away.
    tidied: AtomicU64,
}

/// The directory of objects as it was looked at last.
#[derive(Debug, Default)]
struct Seen {
    /// Device, number and birth of the directory: a repository that was made anew has another one.
    identity: Option<(u64, u64, Option<SystemTime>)>,
    packs: BTreeSet<OsString>,
    /// When the directory of packs changed, if that was so long ago that a later change shows.
    changed: Option<SystemTime>,
    /// What objects are borrowed from.
    borrowed: Vec<Borrowed>,
}

/// A directory of objects that another repository lends, and what was seen of it: which one it is, and when its packs changed.
#[derive(Debug, PartialEq, Eq)]
struct Borrowed {
    objects: PathBuf,
    identity: Option<(u64, u64, Option<SystemTime>)>,
    changed: Option<SystemTime>,
}

/// The file in which git indexes several packs.
const SEVERAL: &str = "multi-pack-index";

/// Changes of a directory within this time may have the same date.
const TICK: Duration = Duration::from_secs(2);

impl Seen {
    fn identity(objects: &Path) -> io::Result<(u64, u64, Option<SystemTime>)> {
        let found = fs::metadata(objects)?;
        Ok((found.dev(), found.ino(), found.created().ok()))
    }

    /// What objects are borrowed from, and what is there: asked at each look, and of most repositories told by one missing file.
    fn borrowed(objects: &Path) -> Vec<Borrowed> {
        let lenders = plain::lenders(objects, objects).unwrap_or_default();
        let seen = |objects: PathBuf| Borrowed {
            identity: Self::identity(&objects).ok(),
            changed: fs::metadata(objects.join("pack"))
                .and_then(|dir| dir.modified())
                .ok(),
            objects,
        };
        lenders.into_iter().map(seen).collect()
    }

    /// Whether the directory of packs holds just what was seen: asked at nearly every look while packs of ours come, so that
    /// no name is copied.
    fn holds_the_same(&self, dir: &Path) -> io::Result<bool> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut found = 0;
        let dir = rustix::fs::open(dir, flags, Mode::empty())?;
        for entry in Dir::new(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            // An index over several packs is told from another one by more than its name.
            if name == SEVERAL.as_bytes() {
                return Ok(false);
            }
            // What stands under a known name may be a link by now.
            if entry.file_type().is_symlink() {
                return Ok(false);
            }
            if !(name.ends_with(b".pack") || name.ends_with(b".idx")) {
                continue;
            }
            if !self.packs.contains(OsStr::from_bytes(name)) {
                return Ok(false);
            }
            found += 1;
        }
        Ok(found == self.packs.len())
    }

    /// The files in the directory of packs by name; an index over several of them is another one once it is
    /// written anew.
    fn packs(dir: &Path) -> io::Result<BTreeSet<OsString>> {
        let mut packs = BTreeSet::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let mut name = entry.file_name();
            let kind = Path::new(&name).extension().and_then(OsStr::to_str);
            let counts = kind.is_some_and(|kind| kind == "pack" || kind == "idx");
            let several = name == SEVERAL;
            if several {
                let found = entry.metadata()?;
                name.push(format!(" {} {}", found.ino(), found.mtime_nsec()));
            }
            if counts || several {
                packs.insert(name);
            }
        }
        Ok(packs)
    }
}

/// One opening of the database, with readers that are handed from thread to thread.
struct Opened {
    store: Arc<gix_odb::Store>,
    readers: Mutex<Vec<Reader>>,
    /// The directories of objects that it reads.
    places: Vec<PathBuf>,
}

impl Opened {
    fn new(objects: &Path, fence: &Fence, most: usize) -> Result<Arc<Self>> {
        let places = plain::check_objects(objects, fence)?;
        let options = init::Options {
            slots: init::Slots::AsNeededByDiskState {
                multiplier: 1.5,
                minimum: SPARE * 2,
            },
            // What a difference is made from, what it makes, and the difference itself.
            alloc_limit_bytes: Some(most.saturating_mul(4)),
            ..init::Options::default()
        };
        let none = &mut std::iter::empty();
        let store =
            gix_odb::Store::at_opts(objects.to_owned(), gix::hash::Kind::Sha1, none, options)
                .map_err(|e| Error::io(format!("open {}", objects.display()), e))?;
        Ok(Arc::new(Self {
            store: Arc::new(store),
            readers: Mutex::default(),
            places,
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
    pub(crate) fn open(objects: PathBuf, fence: Fence, limits: &Limits) -> Result<Self> {
        let open = RwLock::new(Opened::new(&objects, &fence, largest(limits))?);
        let odb = Self {
            objects,
            fence,
            limits: *limits,
            open,
            puts: AtomicUsize::new(0),
            seen: Mutex::default(),
            incarnation: AtomicU64::new(0),
            tidied: AtomicU64::new(0),
        };
        odb.refresh()?;
        Ok(odb)
    }

    /// The directory as it is now, counted: another number is another directory.
    pub(crate) fn look(&self) -> Result<u64> {
        self.refresh()?;
        Ok(self.incarnation.load(Ordering::Acquire))
    }

    /// Looks at the directory itself: what lay in a pack that is gone is not found any more, as its index would go on
    /// saying.
    fn refresh(&self) -> Result<()> {
        let dir = self.objects.join("pack");
        let attempt = |e| Error::io(format!("look into {}", self.objects.display()), e);
        let mut seen = lock(&self.seen);
        let identity = Some(Seen::identity(&self.objects).map_err(attempt)?);
        let replaced = seen.identity.is_some() && seen.identity != identity;
        let now = SystemTime::now();
        let changed = match fs::metadata(&dir).and_then(|dir| dir.modified()) {
            Ok(changed) => changed,
            // Without a pack there need not be a place for them.
            Err(e) if e.kind() == io::ErrorKind::NotFound => SystemTime::UNIX_EPOCH,
            Err(e) => return Err(attempt(e)),
        };
        let borrowed = Seen::borrowed(&self.objects);
        let lent = seen.identity.is_some() && seen.borrowed != borrowed;
        if !lent && seen.identity == identity && seen.changed == Some(changed) {
            return Ok(());
        }
        let settled = now.duration_since(changed).is_ok_and(|age| age > TICK);
        // What cannot be told is looked at in full.
        let here = !lent && seen.identity == identity;
        if here && seen.holds_the_same(&dir).unwrap_or_default() {
            seen.changed = settled.then_some(changed);
            return Ok(());
        }
        plain::check_packs(&dir, &self.fence)?;
        let packs = match Seen::packs(&dir) {
            Ok(packs) => packs,
            Err(e) if e.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(e) => return Err(attempt(e)),
        };
        let gone = replaced || lent || !seen.packs.is_subset(&packs);
        // Whoever looks next must find a table of what was seen; what cannot be opened is looked at again.
        if gone {
            self.reopen()?;
            self.tidied.fetch_add(1, Ordering::Release);
        }
        *seen = Seen {
            identity,
            packs,
            changed: settled.then_some(changed),
            borrowed,
        };
        if replaced {
            self.incarnation.fetch_add(1, Ordering::Release);
        }
        drop(seen);
        Ok(())
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
        let fresh = Opened::new(&self.objects, &self.fence, largest(&self.limits))?;
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

    /// How often packs went away, as far as somebody looked.
    pub(crate) fn tidied(&self) -> u64 {
        self.tidied.load(Ordering::Acquire)
    }

    pub(crate) fn has(&self, id: &ObjectId) -> bool {
        self.opened()
            .with(|reader| reader.exists_without_refresh(id))
    }

    /// What an object is and how many bytes it has, by its header.
    pub(crate) fn header(&self, id: &ObjectId) -> Result<Option<(Kind, u64)>> {
        let name = id.to_string();
        for place in &self.opened().places {
            plain::check_loose(place, &name, &self.fence)?;
        }
        let look = |reader: &Reader| reader.try_header(id).map(|h| h.map(|h| (h.kind, h.size)));
        self.again(id, look)
    }

    /// Reads an object whole, unless its header says that it is too large: a megabyte of a pack may be a gigabyte.
    pub(crate) fn read(&self, id: &ObjectId) -> Result<Option<(Kind, Arc<[u8]>)>> {
        let Some((kind, size)) = self.header(id)? else {
            return Ok(None);
        };
        self.limits.check_object(kind, id, size)?;
        let look = |reader: &Reader| {
            let mut buffer = Vec::new();
            let found = reader.try_find(id, &mut buffer);
            found.map(|data| data.map(|data| (data.kind, Arc::from(data.data))))
        };
        self.again(id, look)
    }

    /// Packs may have been rolled up under our feet: what is not found, or fails, gets another look at a fresh table
    /// where the directory is not what it was.
    fn again<T, E: std::fmt::Display>(
        &self,
        id: &ObjectId,
        look: impl Fn(&Reader) -> std::result::Result<Option<T>, E>,
    ) -> Result<Option<T>> {
        for _ in 0..TRIES {
            let open = self.opened();
            let found = open.with(&look);
            if let Ok(Some(found)) = found {
                return Ok(Some(found));
            }
            if found.is_err() {
                self.reopen()?;
                continue;
            }
            self.refresh()?;
            if Arc::ptr_eq(&open, &self.opened()) {
                return Ok(None);
            }
        }
        self.opened().with(&look).map_err(|e| Error::Damaged {
            id: id.to_string(),
            why: e.to_string(),
        })
    }
}

/// Bytes of the largest object that is read.
fn largest(limits: &Limits) -> usize {
    usize::try_from(limits.object(Kind::Blob)).unwrap_or(usize::MAX)
}

/// How often one object is looked for while packs come and go.
const TRIES: usize = 4;
