//! The journal's file.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::Mutex;

use crate::error::{Error, Result};
use crate::git::lockfile::sync_dir;
use crate::git::private;
use crate::lru::lock;

/// One file, appended to by the writer.
#[derive(Debug)]
pub(crate) struct JournalFile {
    pub(crate) path: PathBuf,
    open: Mutex<Option<(File, u64)>>,
    sync: bool,
}

impl JournalFile {
    pub(crate) fn new(path: PathBuf, sync: bool) -> Self {
        Self {
            path,
            open: Mutex::default(),
            sync,
        }
    }

    pub(crate) fn load(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.with("read", |file, _| {
            file.seek(SeekFrom::Start(0))?;
            file.read_to_end(&mut bytes).map(|_| ())
        })?;
        Ok(bytes)
    }

    /// Appends all of it, or leaves the file as it was: what comes later must stay readable.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<()> {
        self.with("append to", |file, size| {
            file.seek(SeekFrom::Start(*size))?;
            if let Err(error) = file.write_all(bytes) {
                file.set_len(*size)?;
                return Err(error);
            }
            *size += bytes.len() as u64;
            Ok(())
        })
    }

    pub(crate) fn durable(&self) -> Result<usize> {
        if !self.sync {
            return Ok(0);
        }
        self.with("sync", |file, _| file.sync_data())?;
        Ok(1)
    }

    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<()> {
        let fresh = self.path.with_extension("new");
        let attempt = |e| Error::io(format!("replace {}", self.path.display()), e);
        let mut open = lock(&self.open);
        let write = || {
            let mut file = private::create(&fresh)?;
            file.write_all(bytes)?;
            if self.sync {
                file.sync_data()?;
            }
            fs::rename(&fresh, &self.path)
        };
        write().map_err(attempt)?;
        // The open file is the one that was replaced: what is appended to it would be lost.
        *open = None;
        if let Some(dir) = self.path.parent().filter(|_| self.sync) {
            sync_dir(dir)?;
        }
        Ok(())
    }

    fn with(
        &self,
        attempt: &str,
        work: impl FnOnce(&mut File, &mut u64) -> io::Result<()>,
    ) -> Result<()> {
        let failed = |e| Error::io(format!("{attempt} {}", self.path.display()), e);
        let mut open = lock(&self.open);
        let (file, size) = match &mut *open {
            Some(open) => open,
            none => {
                let file = private::open(&self.path).map_err(failed)?;
                let size = file.metadata().map_err(failed)?.len();
                none.insert((file, size))
            }
        };
        work(file, size).map_err(failed)
    }
}
