//! Whether a store's file is whole: looked at before anything is written to it.
//!
//! redb has a checksum for every page, but looks at them only after an unclean stop; a file that was closed and then damaged would
//! be served as it is, or end the process by a panic. So a closed file is checked before it is opened, while it is read, both
//! through an [`Overlay`] that keeps in memory what redb writes: a file that is refused stays as it was found.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, Once};

use redb::{Database, StorageBackend};

use crate::backend::StorageError;
use crate::lock;

/// How every redb file begins, and the byte of flags behind it.
const HEAD: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";

/// The flag of a file that was not closed.
const OPEN: u8 = 2;

/// What a path leads to.
#[derive(Debug)]
pub(super) enum FileState {
    /// No file, or an empty one.
    Nothing,
    /// A store that was closed.
    Closed(File),
    /// A store that somebody has open, or that a crash left: whoever opens it next checks it.
    Open,
}

/// Looks at the file before it is opened.
///
/// # Errors
/// What was found instead of a store.
pub(super) fn look(path: &Path) -> Result<FileState, StorageError> {
    let damaged = |found: String| damage(path, found);
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileState::Nothing),
        Err(error) => return Err(damaged(error.to_string())),
    };
    if found.is_dir() {
        return Err(damaged("it is a directory".to_owned()));
    }
    if !found.is_file() {
        return Err(damaged("it is no regular file".to_owned()));
    }
    if found.len() == 0 {
        return Ok(FileState::Nothing);
    }
    let file = File::open(path).map_err(|e| damaged(e.to_string()))?;
    let mut head = [0; HEAD.len() + 1];
    let begins = file.read_exact_at(&mut head, 0);
    let [begin @ .., flags] = head;
    if begins.is_err() || begin != HEAD {
        return Err(damaged("it does not begin like an object store".to_owned()));
    }
    if flags & OPEN != 0 || file.try_lock_shared().is_err() {
        return Ok(FileState::Open);
    }
    Ok(FileState::Closed(file))
}

/// Refuses a path where there is no store.
///
/// # Errors
/// There is no file, or an empty one.
pub(super) fn expect(path: &Path) -> Result<(), StorageError> {
    if !matches!(look(path)?, FileState::Nothing) {
        return Ok(());
    }
    let found = if path.exists() {
        "is empty"
    } else {
        "is missing"
    };
    Err(StorageError::Lost {
        path: path.display().to_string(),
        found: found.to_owned(),
    })
}

/// Reads a store that was closed while its checksums are looked at; what was read counts only if they fit.
///
/// # Errors
/// What was found instead of a whole store, or what `read` failed with.
pub(super) fn read<T>(
    path: &Path,
    file: &File,
    read: impl FnOnce(&Database) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    let open = || -> Result<Database, String> {
        let overlay = Overlay::new(file).map_err(|e| e.to_string())?;
        let builder = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create_with_backend(overlay);
        builder.map_err(|e| e.to_string())
    };
    let check = || guarded(|| open()?.check_integrity().map_err(|e| e.to_string()));
    let (checked, read) = std::thread::scope(|scope| {
        let check = scope.spawn(check);
        let read = guarded(|| open().map(|database| read(&database)));
        (check.join(), read)
    });
    let damaged = |found: String| damage(path, found);
    match checked {
        Ok(Ok(Ok(true))) => {}
        Ok(Ok(Ok(false))) => {
            return Err(damaged("its checksums do not fit its contents".to_owned()));
        }
        Ok(Ok(Err(found)) | Err(found)) => return Err(damaged(found)),
        Err(_) => return Err(damaged("it cannot be checked".to_owned())),
    }
    match read {
        Ok(Ok(read)) => read,
        Ok(Err(found)) | Err(found) => Err(damaged(found)),
    }
}

/// Says of a file that it is damaged.
pub(super) fn damage(path: &Path, found: String) -> StorageError {
    StorageError::Damage {
        path: path.display().to_string(),
        found,
    }
}

/// Every page is read once or twice: a large cache of them is of no use.
const CACHE_BYTES: usize = 4 << 20;

thread_local! {
    /// Whether a panic of this thread is told by what it is answered with.
    static ANSWERED: Cell<bool> = const { Cell::new(false) };
}

/// Does what may panic on a damaged file; the panic is an error, and nothing is printed of it.
///
/// # Errors
/// What the panic said.
pub(super) fn guarded<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !ANSWERED.get() {
                before(info);
            }
        }));
    });
    ANSWERED.set(true);
    let done = catch_unwind(AssertUnwindSafe(what));
    ANSWERED.set(false);
    done.map_err(|said| {
        let text = said.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| said.downcast_ref::<&str>().copied());
        let text = text.unwrap_or_default().lines().next().unwrap_or_default();
        format!("it cannot be read: {text}")
    })
}

/// A file that is never written: what is written lies over it, block by block.
#[derive(Debug)]
struct Overlay {
    file: File,
    /// How much of the file itself is there.
    there: u64,
    over: Mutex<Over>,
}

#[derive(Debug)]
struct Over {
    length: u64,
    blocks: BTreeMap<u64, Vec<u8>>,
}

const BLOCK: u64 = 4096;

impl Overlay {
    fn new(file: &File) -> io::Result<Self> {
        let file = file.try_clone()?;
        let there = file.metadata()?.len();
        let over = Over {
            length: there,
            blocks: BTreeMap::new(),
        };
        Ok(Self {
            file,
            there,
            over: Mutex::new(over),
        })
    }

    /// Reads from the file, zeros behind its end.
    fn below(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = self.there.saturating_sub(offset);
        let length = usize::try_from(there).unwrap_or(usize::MAX).min(out.len());
        let (part, beyond) = out.split_at_mut(length);
        beyond.fill(0);
        self.file.read_exact_at(part, offset)
    }
}

/// The parts of a stretch that lie in one block each: the block, where in it, and where in the stretch.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut at = 0_usize;
    std::iter::from_fn(move || {
        if at >= length {
            return None;
        }
        let place = offset + at as u64;
        let within = usize::try_from(place % BLOCK).unwrap_or_default();
        let many = (BLOCK as usize - within).min(length - at);
        let range = at..at + many;
        at += many;
        Some((place / BLOCK, within, range))
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.over).length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.below(offset, out)?;
        let over = lock(&self.over);
        if over.blocks.is_empty() {
            return Ok(());
        }
        for (block, within, range) in parts(offset, out.len()) {
            let from = over.blocks.get(&block);
            let from = from.and_then(|b| b.get(within..within + range.len()));
            if let (Some(from), Some(to)) = (from, out.get_mut(range)) {
                to.copy_from_slice(from);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        lock(&self.over).length = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut over = lock(&self.over);
        for (block, within, range) in parts(offset, data.len()) {
            let lies = match over.blocks.entry(block) {
                std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    let mut bytes = vec![0; BLOCK as usize];
                    self.below(block * BLOCK, &mut bytes)?;
                    place.insert(bytes)
                }
            };
            let to = lies.get_mut(within..within + range.len());
            if let (Some(to), Some(from)) = (to, data.get(range)) {
                to.copy_from_slice(from);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
