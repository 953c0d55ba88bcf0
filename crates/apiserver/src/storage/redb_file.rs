//! The durable medium on disk: one redb file.
//!
//! Three tables: `objects` (resource, NUL, key → object), `log` (version → event) and `meta` (counters and the
//! format version, X7). A transaction is one group of batches; it is durable when [`Backend::persist`] returns.
//!
//! A write that failed (a full disk) spoils the handle: the file is opened again before the next one, and what
//! became of the failed transaction is read from the file itself, never guessed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::backend::{Backend, Change, Loaded, LogEntry, StorageError};
use super::object::Object;
use super::state::{Key, ResourceKey};
use super::text::Packers;
use crate::files;

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");

/// The format that this program writes (X7).
const FORMAT: u64 = 1;

/// After an unclean stop of a store that did not wait for the disk, versions continue beyond anything that was shown.
const RELAXED_JUMP: u64 = 1 << 20;

/// A file below this size is left as it is.
const SHRINK_ABOVE: u64 = 64 << 20;

/// redb's own page cache is bounded: objects live in our memory already.
const CACHE_BYTES: usize = 4 << 20;

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When it is on the disk (X4). The default.
    #[default]
    Immediate,
    /// When the operating system has it: for tests and experiments. Versions still never repeat.
    Relaxed,
}

/// A redb file as a store's medium.
#[derive(Debug)]
pub struct RedbFile {
    path: PathBuf,
    /// `None` after a write that failed, until the file is opened again.
    database: Option<Database>,
    durability: Durability,
    /// The newest version in the file.
    rv: u64,
    /// A smaller file is never made smaller at the start.
    shrink_above: u64,
    /// Another disk than the file's, for tests of what a power cut leaves.
    #[cfg(test)]
    disk: Option<super::tests::disk::Disk>,
    /// A transaction that failed, and of which nobody knows yet whether it is in the file.
    unsure: Option<Unsure>,
}

/// A transaction that was answered as failed.
#[derive(Debug)]
struct Unsure {
    changes: Vec<Change>,
    before: u64,
    after: u64,
}

impl RedbFile {
    /// Opens or creates the file; a second process on the same file is refused by its lock.
    ///
    /// # Errors
    /// The file cannot be opened, is locked, or was written by a newer program.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, StorageError> {
        let mut opened = Self {
            path: path.to_owned(),
            database: None,
            durability,
            rv: 0,
            shrink_above: SHRINK_ABOVE,
            #[cfg(test)]
            disk: None,
            unsure: None,
        };
        opened.database = Some(opened.open_file()?);
        opened.check_format()?;
        Ok(opened)
    }

    /// Opens a store on a disk of a test.
    #[cfg(test)]
    pub(super) fn on(disk: super::tests::disk::Disk) -> Result<Self, StorageError> {
        let mut opened = Self {
            path: PathBuf::from("disk"),
            database: None,
            durability: Durability::Immediate,
            rv: 0,
            shrink_above: u64::MAX,
            disk: Some(disk),
            unsure: None,
        };
        opened.database = Some(opened.open_file()?);
        opened.check_format()?;
        Ok(opened)
    }

    /// Lets a test shrink small files.
    #[cfg(test)]
    pub(super) fn shrink_above(mut self, bytes: u64) -> Self {
        self.shrink_above = bytes;
        self
    }

    fn open_file(&self) -> Result<Database, StorageError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            let builder = Database::builder()
                .set_cache_size(CACHE_BYTES)
                .create_with_backend(disk.clone());
            return builder.map_err(|e| StorageError::Open {
                path: self.path.display().to_string(),
                detail: e.to_string(),
            });
        }
        let failed = |detail: String| StorageError::Open {
            path: self.path.display().to_string(),
            detail,
        };
        let file = files::open(&self.path).map_err(|e| failed(e.to_string()))?;
        let builder = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create_file(file);
        builder.map_err(|e| failed(e.to_string()))
    }

    fn database(&self) -> Result<&Database, redb::Error> {
        let closed = || std::io::Error::other("the file is closed after a failed write");
        self.database
            .as_ref()
            .ok_or_else(|| redb::Error::Io(closed()))
    }

    fn check_format(&self) -> Result<(), StorageError> {
        let found = self.meta("format").map_err(|e| read_error(&e))?;
        match found {
            Some(found) if found > FORMAT => Err(StorageError::NewerFormat {
                found,
                known: FORMAT,
            }),
            Some(_) => Ok(()),
            None => self
                .write_meta("format", FORMAT)
                .map_err(|e| write_error(&e)),
        }
    }

    fn meta(&self, name: &str) -> Result<Option<u64>, redb::Error> {
        let read = self.database()?.begin_read()?;
        match read.open_table(META) {
            Ok(table) => Ok(table.get(name)?.map(|v| v.value())),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    fn write_meta(&self, name: &str, value: u64) -> Result<(), redb::Error> {
        let write = self.database()?.begin_write()?;
        write.open_table(META)?.insert(name, value)?;
        write.open_table(OBJECTS)?;
        write.open_table(LOG)?;
        write.commit()?;
        Ok(())
    }

    fn read_all(&self) -> Result<(Loaded, Option<String>), redb::Error> {
        let read = self.database()?.begin_read()?;
        let meta = read.open_table(META)?;
        let number = |name: &str| -> Result<u64, redb::Error> {
            Ok(meta.get(name)?.map_or(0, |v| v.value()))
        };
        let mut loaded = Loaded {
            rv: number("rv")?,
            compacted: number("compacted")?,
            ..Loaded::default()
        };
        let mut damaged = None;
        let mut packers = Packers::default();
        for item in read.open_table(OBJECTS)?.iter()? {
            let (name, disk) = item?;
            match stored(name.value(), disk.value(), &mut packers) {
                Some(object) => loaded.objects.push(object),
                None => damaged = Some(name.value().to_owned()),
            }
        }
        for item in read.open_table(LOG)?.iter()? {
            let (rv, disk) = item?;
            match decode(rv.value(), disk.value(), &mut packers) {
                Some(entry) => loaded.log.push(entry),
                None => damaged = Some(format!("log\0{}", rv.value())),
            }
        }
        Ok((loaded, damaged))
    }

    /// Whether nothing was ever written.
    pub(super) fn is_empty(&self) -> Result<bool, StorageError> {
        let rv = self.meta("rv").map_err(|e| read_error(&e))?;
        Ok(rv.is_none_or(|rv| rv == 0))
    }

    /// Writes the objects of a copy, without events.
    pub(super) fn fill(
        &mut self,
        all: &[(ResourceKey, Key, Arc<Object>)],
        rv: u64,
    ) -> Result<(), StorageError> {
        let fill = || -> Result<(), redb::Error> {
            let write = self.database()?.begin_write()?;
            {
                let mut objects = write.open_table(OBJECTS)?;
                for (resource, key, object) in all {
                    let name = format!("{resource}\0{key}");
                    objects.insert(name.as_str(), object.to_disk().as_slice())?;
                }
                let mut meta = write.open_table(META)?;
                meta.insert("rv", rv)?;
                meta.insert("compacted", rv)?;
            }
            write.commit()?;
            Ok(())
        };
        fill().map_err(|e| write_error(&e))?;
        self.rv = rv;
        Ok(())
    }

    /// Everything as it lies there, with the name of something that cannot be read, and whether the file itself was whole.
    pub(super) fn examine(&mut self) -> Result<(Loaded, Option<String>, bool), StorageError> {
        let whole = match &mut self.database {
            Some(database) => database
                .check_integrity()
                .map_err(|e| StorageError::Read(e.to_string()))?,
            None => false,
        };
        let (loaded, damaged) = self.read_all().map_err(|e| read_error(&e))?;
        Ok((loaded, damaged, whole))
    }

    /// Gives room back that a store with many changes has left unused, before anybody waits.
    fn shrink(&mut self, loaded: &Loaded) {
        let objects = loaded.objects.iter().map(|(_, _, o)| o.text_len());
        let events = loaded.log.iter().filter_map(|e| e.old.as_ref());
        let live: usize = objects.chain(events.map(|o| o.text_len())).sum();
        let length = std::fs::metadata(&self.path).map_or(0, |m| m.len());
        if length < self.shrink_above.max(4 * live as u64) {
            return;
        }
        if let Some(database) = &mut self.database
            && let Err(error) = database.compact()
        {
            tracing::warn!(%error, "the object store's file keeps its size");
        }
    }

    fn write_all(
        &self,
        changes: &[Change],
        rv: u64,
        compact: Option<u64>,
    ) -> Result<(), redb::Error> {
        let mut write = self.database()?.begin_write()?;
        if self.durability == Durability::Relaxed {
            write
                .set_durability(redb::Durability::None)
                .map_err(|e| redb::Error::Io(std::io::Error::other(e)))?;
        }
        {
            let mut objects = write.open_table(OBJECTS)?;
            let mut log = write.open_table(LOG)?;
            for change in changes {
                let name = format!("{}\0{}", change.entry.resource, change.entry.key);
                match &change.new {
                    Some(object) => {
                        drop(objects.insert(name.as_str(), object.to_disk().as_slice())?)
                    }
                    None => drop(objects.remove(name.as_str())?),
                }
                log.insert(change.entry.rv, encode(&change.entry).as_slice())?;
            }
            let mut meta = write.open_table(META)?;
            meta.insert("rv", rv)?;
            if let Some(to) = compact {
                log.retain(|at, _| at > to)?;
                meta.insert("compacted", to)?;
            }
        }
        write.commit()?;
        Ok(())
    }
}

impl Backend for RedbFile {
    fn load(&mut self) -> Result<Loaded, StorageError> {
        let (mut loaded, damaged) = self.read_all().map_err(|e| read_error(&e))?;
        if let Some(name) = damaged {
            let (resource, key) = name.split_once('\0').unwrap_or(("", &name));
            return Err(StorageError::Damaged {
                resource: resource.to_owned(),
                key: key.to_owned(),
            });
        }
        let was_relaxed = self.meta("relaxed").map_err(|e| read_error(&e))? == Some(1);
        if was_relaxed {
            loaded.rv += RELAXED_JUMP;
            loaded.compacted = loaded.rv;
            loaded.log.clear();
        }
        self.rv = loaded.rv;
        self.shrink(&loaded);
        let relaxed = u64::from(self.durability == Durability::Relaxed);
        if was_relaxed || relaxed == 1 {
            self.write_meta("rv", loaded.rv)
                .map_err(|e| write_error(&e))?;
            self.write_meta("compacted", loaded.compacted)
                .map_err(|e| write_error(&e))?;
            self.write_meta("relaxed", relaxed)
                .map_err(|e| write_error(&e))?;
        }
        Ok(loaded)
    }

    fn persist(
        &mut self,
        changes: &[Change],
        rv: u64,
        compact: Option<u64>,
    ) -> Result<(), StorageError> {
        self.recover()?;
        let Err(error) = self.write_all(changes, rv, compact) else {
            self.rv = rv;
            return Ok(());
        };
        // redb refuses everything after a failed write until the file is opened again.
        self.database = None;
        self.unsure = Some(Unsure {
            changes: changes.to_vec(),
            before: self.rv,
            after: rv,
        });
        Err(write_error(&error))
    }
}

impl RedbFile {
    /// Opens the file again after a failed write, and takes back what of it is in the file although it was
    /// answered as failed.
    fn recover(&mut self) -> Result<(), StorageError> {
        if self.database.is_none() {
            let database = self.open_file();
            self.database = Some(database.map_err(|e| StorageError::Write(e.to_string()))?);
        }
        let Some(unsure) = self.unsure.take() else {
            return Ok(());
        };
        let undone = match self.meta("rv") {
            Ok(Some(found)) if found == unsure.after => self.undo(&unsure),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        undone.map_err(|error| {
            self.database = None;
            self.unsure = Some(unsure);
            write_error(&error)
        })
    }

    fn undo(&self, unsure: &Unsure) -> Result<(), redb::Error> {
        let write = self.database()?.begin_write()?;
        {
            let mut objects = write.open_table(OBJECTS)?;
            let mut log = write.open_table(LOG)?;
            for change in unsure.changes.iter().rev() {
                let name = format!("{}\0{}", change.entry.resource, change.entry.key);
                match &change.entry.old {
                    Some(object) => {
                        drop(objects.insert(name.as_str(), object.to_disk().as_slice())?)
                    }
                    None => drop(objects.remove(name.as_str())?),
                }
                drop(log.remove(change.entry.rv)?);
            }
            write.open_table(META)?.insert("rv", unsure.before)?;
        }
        write.commit()?;
        Ok(())
    }
}

fn read_error(error: &redb::Error) -> StorageError {
    StorageError::Read(error.to_string())
}

fn write_error(error: &redb::Error) -> StorageError {
    StorageError::Write(error.to_string())
}

/// Reads an object of the first table.
fn stored(
    name: &str,
    disk: &[u8],
    packers: &mut Packers,
) -> Option<(ResourceKey, Key, Arc<Object>)> {
    let (resource, key) = name.split_once('\0')?;
    let resource = ResourceKey::from(resource);
    let object = Object::from_disk(disk, packers.of(&resource))?;
    Some((resource, key.into(), Arc::new(object)))
}

/// Writes an event: lengths and texts of resource and key, then the old state if there was one.
fn encode(entry: &LogEntry) -> Vec<u8> {
    let mut out = Vec::new();
    for text in [entry.resource.as_ref(), entry.key.as_ref()] {
        out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    if let Some(old) = &entry.old {
        out.extend_from_slice(&old.to_disk());
    }
    out
}

fn decode(rv: u64, disk: &[u8], packers: &mut Packers) -> Option<LogEntry> {
    let (resource, rest) = text(disk)?;
    let (key, rest) = text(rest)?;
    let resource = ResourceKey::from(resource);
    let old = if rest.is_empty() {
        None
    } else {
        let packer = packers.of(&resource);
        Some(Arc::new(Object::from_disk(rest, packer)?))
    };
    Some(LogEntry {
        rv,
        resource,
        key: Key::from(key),
        old,
    })
}

fn text(disk: &[u8]) -> Option<(&str, &[u8])> {
    let len = u32::from_le_bytes(disk.get(..4)?.try_into().ok()?) as usize;
    let end = 4_usize.checked_add(len)?;
    Some((
        std::str::from_utf8(disk.get(4..end)?).ok()?,
        disk.get(end..)?,
    ))
}

#[cfg(test)]
mod tests;
