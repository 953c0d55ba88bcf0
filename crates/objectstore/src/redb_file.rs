//! The durable medium on disk: one redb file.
//!
//! Three tables: `objects` (resource, NUL, key → object), `log` (version → event) and `meta` (counters and the
//! format version, X7). A transaction is one group of batches; it is durable when [`Backend::persist`] returns.
//!
//! A write that failed (a full disk) spoils the handle: the file is opened again before the next one, and what
//! became of the failed transaction is read from the file itself, never guessed.

mod opening;
mod rows;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::backend::{Backend, Change, Loaded, StorageError};
use crate::key::{Key, ResourceKey};
use crate::object::Object;
use crate::text::Packers;
use crate::whole;

use rows::{decode, encode, stored};

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
pub(crate) struct RedbFile {
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
    disk: Option<crate::tests::disk::Disk>,
    /// A transaction that failed, and of which nobody knows yet whether it is in the file.
    unsure: Option<Unsure>,
    /// What was read while the file was checked, and the name of something in it that cannot be read.
    ahead: Option<(Loaded, Option<String>)>,
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
    pub(crate) fn open(path: &Path, durability: Durability) -> Result<Self, StorageError> {
        let mut opened = Self {
            path: path.to_owned(),
            database: None,
            durability,
            rv: 0,
            shrink_above: SHRINK_ABOVE,
            #[cfg(test)]
            disk: None,
            unsure: None,
            ahead: None,
        };
        match whole::look(path)? {
            whole::FileState::Closed(file) => {
                let read = whole::read(path, &file, |database| {
                    known_format(database)?;
                    read_all(database).map_err(|e| whole::damage(path, e.to_string()))
                });
                opened.ahead = Some(read?);
            }
            whole::FileState::Nothing | whole::FileState::Open => {}
        }
        // What a crash left is repaired here, which may meet damage that redb does not expect.
        let ready = whole::guarded(|| {
            opened.database = Some(opened.open_file()?);
            opened.check_format()
        });
        ready.map_err(|found| whole::damage(path, found))??;
        Ok(opened)
    }

    /// Opens the file of a store that was used before.
    ///
    /// # Errors
    /// As [`Self::open`]; or it is missing, or empty.
    pub(crate) fn open_used(path: &Path, durability: Durability) -> Result<Self, StorageError> {
        whole::expect(path)?;
        Self::open(path, durability)
    }

    /// Opens a store on a disk of a test.
    #[cfg(test)]
    pub(super) fn on(disk: crate::tests::disk::Disk) -> Result<Self, StorageError> {
        let mut opened = Self {
            path: PathBuf::from("disk"),
            database: None,
            durability: Durability::Immediate,
            rv: 0,
            shrink_above: u64::MAX,
            disk: Some(disk),
            unsure: None,
            ahead: None,
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
            return builder.map_err(|e| opening::failed(&self.path, &e));
        }
        opening::database(&self.path, CACHE_BYTES)
    }

    fn database(&self) -> Result<&Database, redb::Error> {
        let closed = || std::io::Error::other("the file is closed after a failed write");
        self.database
            .as_ref()
            .ok_or_else(|| redb::Error::Io(closed()))
    }

    fn check_format(&self) -> Result<(), StorageError> {
        let database = self.database().map_err(|e| read_error(&e))?;
        if known_format(database)? {
            return Ok(());
        }
        self.write_meta("format", FORMAT)
            .map_err(|e| write_error(&e))
    }

    fn meta(&self, name: &str) -> Result<Option<u64>, redb::Error> {
        meta(self.database()?, name)
    }

    fn write_meta(&self, name: &str, value: u64) -> Result<(), redb::Error> {
        let write = self.database()?.begin_write()?;
        write.open_table(META)?.insert(name, value)?;
        write.open_table(OBJECTS)?;
        write.open_table(LOG)?;
        write.commit()?;
        Ok(())
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
        let database = self.database().map_err(|e| read_error(&e))?;
        let (loaded, damaged) = read_all(database).map_err(|e| read_error(&e))?;
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
        let read = match self.ahead.take() {
            Some(read) => Ok(Ok(read)),
            None => whole::guarded(|| read_all(self.database()?)),
        };
        let damage = |found: String| whole::damage(&self.path, found);
        let read = read.map_err(damage)?;
        let (mut loaded, damaged) = read.map_err(|e| damage(e.to_string()))?;
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
            self.database = Some(database.map_err(|error| match error {
                full @ StorageError::Full(_) => full,
                other => StorageError::Write(other.to_string()),
            })?);
        }
        let Some(unsure) = self.unsure.take() else {
            return Ok(());
        };
        // The counter is written with the changes: it tells whether they are in the file.
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
            // Backwards: of two changes of one object the first one's old state must be left.
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

/// Whether a file says its format.
fn known_format(database: &Database) -> Result<bool, StorageError> {
    match meta(database, "format").map_err(|e| read_error(&e))? {
        Some(found) if found > FORMAT => Err(StorageError::NewerFormat {
            found,
            known: FORMAT,
        }),
        found => Ok(found.is_some()),
    }
}

fn meta(database: &Database, name: &str) -> Result<Option<u64>, redb::Error> {
    let read = database.begin_read()?;
    match read.open_table(META) {
        Ok(table) => Ok(table.get(name)?.map(|v| v.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Everything in a file, and the name of something that cannot be read.
fn read_all(database: &Database) -> Result<(Loaded, Option<String>), redb::Error> {
    let read = database.begin_read()?;
    let mut loaded = Loaded {
        rv: meta(database, "rv")?.unwrap_or(0),
        compacted: meta(database, "compacted")?.unwrap_or(0),
        ..Loaded::default()
    };
    let mut damaged = None;
    let mut packers = Packers::default();
    let objects = match read.open_table(OBJECTS) {
        Ok(objects) => objects,
        // A file of which nothing but its frame was written.
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok((loaded, None)),
        Err(other) => return Err(other.into()),
    };
    for item in objects.iter()? {
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

fn read_error(error: &redb::Error) -> StorageError {
    StorageError::Read(error.to_string())
}

fn write_error(error: &redb::Error) -> StorageError {
    match error {
        redb::Error::Io(io) if io.kind() == std::io::ErrorKind::StorageFull => {
            StorageError::Full(error.to_string())
        }
        _ => StorageError::Write(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
