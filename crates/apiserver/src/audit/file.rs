//! The file that audit events go to, and the older ones beside it.
//!
//! A file that would grow beyond its limit becomes `FILE.1`, what was `FILE.1` becomes `FILE.2`, and so on; the oldest goes.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use objectstore::files;
use serde_json::Value;

use crate::lock::lock;

/// When a file is full, and how many full ones are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes that a file may have; zero for no limit.
    pub bytes: u64,
    /// How many full files stay beside the one that is written.
    pub kept: u32,
}

impl Default for Rotation {
    /// 100 MiB a file, as kube-apiserver has it, and ten of them.
    fn default() -> Self {
        Self {
            bytes: 100 << 20,
            kept: 10,
        }
    }
}

/// Where events go.
#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    rotation: Rotation,
    open: Mutex<OpenLog>,
}

#[derive(Debug)]
struct OpenLog {
    file: File,
    length: u64,
}

impl Audit {
    /// Appends to a file that only its owner can read.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            rotation,
            open: Mutex::new(OpenLog::at(path)?),
        })
    }

    /// Writes an event as one line, never parted between two files.
    pub(crate) fn write(&self, event: &Value) {
        let line = format!("{event}\n");
        let mut open = lock(&self.open);
        let length = open.length.saturating_add(line.len() as u64);
        if self.rotation.bytes > 0 && open.length > 0 && length > self.rotation.bytes {
            match self.rotate() {
                Ok(fresh) => *open = fresh,
                Err(error) => tracing::error!(%error, "begin a new audit log"),
            }
        }
        match open.file.write_all(line.as_bytes()) {
            Ok(()) => open.length += line.len() as u64,
            Err(error) => tracing::error!(%error, "write the audit log"),
        }
    }

    /// Moves every file one place on, and begins a new one.
    fn rotate(&self) -> io::Result<OpenLog> {
        if self.rotation.kept == 0 {
            missing_is_fine(std::fs::remove_file(&self.path))?;
        }
        for number in (0..self.rotation.kept).rev() {
            let (from, to) = (self.numbered(number), self.numbered(number + 1));
            missing_is_fine(std::fs::rename(from, to))?;
        }
        OpenLog::at(&self.path)
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        if number > 0 {
            name.push(format!(".{number}"));
        }
        name.into()
    }
}

impl OpenLog {
    fn at(path: &Path) -> io::Result<Self> {
        let file = files::append(path)?;
        let length = file.metadata()?.len();
        Ok(Self { file, length })
    }
}

fn missing_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
