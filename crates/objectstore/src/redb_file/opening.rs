//! Opens the file: waits where a lock is about to go, and tells damage from everything else.

use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use redb::{Database, DatabaseError};

use super::StorageError;
use crate::files;

/// How long another process may still hold the file. A program that is being started shares our lock between its fork and
/// its exec, also after we closed the file; whoever really uses the file holds it for longer.
const WAIT: Duration = Duration::from_secs(2);

/// The database in the file at `path`, which is made where there is none.
///
/// # Errors
/// [`StorageError::Damage`] where the content cannot be read, [`StorageError::Full`] where mending it takes room that is not there,
/// [`StorageError::Open`] otherwise.
pub(super) fn database(path: &Path, cache_bytes: usize) -> Result<Database, StorageError> {
    let asked = Instant::now();
    let shown = || path.display().to_string();
    loop {
        let file = files::open(path).map_err(|e| StorageError::Open {
            path: shown(),
            detail: e.to_string(),
        })?;
        let opened = Database::builder()
            .set_cache_size(cache_bytes)
            .create_file(file);
        match opened {
            Ok(database) => return Ok(database),
            Err(DatabaseError::DatabaseAlreadyOpen) if asked.elapsed() < WAIT => {
                std::thread::sleep(WAIT / 40);
            }
            Err(error) => {
                return Err(failed(path, &error));
            }
        }
    }
}

/// Why a file could not be opened.
pub(super) fn failed(path: &Path, error: &DatabaseError) -> StorageError {
    let path = path.display().to_string();
    if let Some(found) = spoilt(error) {
        return StorageError::Damage { path, found };
    }
    match error {
        // What was half written is mended first, and that takes room.
        DatabaseError::Storage(redb::StorageError::Io(io))
            if io.kind() == ErrorKind::StorageFull =>
        {
            StorageError::Full(format!("open {path}: {error}"))
        }
        _ => StorageError::Open {
            path,
            detail: error.to_string(),
        },
    }
}

/// What is wrong with the file itself, where that is why it cannot be opened: also an end that comes too soon.
fn spoilt(error: &DatabaseError) -> Option<String> {
    match error {
        DatabaseError::Storage(redb::StorageError::Corrupted(found)) => Some(found.clone()),
        DatabaseError::Storage(redb::StorageError::Io(error))
            if matches!(
                error.kind(),
                ErrorKind::UnexpectedEof | ErrorKind::InvalidData
            ) =>
        {
            Some(error.to_string())
        }
        _ => None,
    }
}
