//! Git's own locks: `<file>.lock`, made exclusively and renamed into place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How long another process may hold a lock before we give up. Git itself waits 0.1 to 1 s.
const PATIENCE: Duration = Duration::from_secs(5);

/// The lock of a file.
pub(crate) fn lock_of(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// A held lock; gone when dropped.
#[derive(Debug)]
pub(crate) struct LockFile {
    lock: PathBuf,
    target: PathBuf,
    file: File,
    done: bool,
}

impl LockFile {
    /// Takes the lock of a file, waiting for others. Directories on the way are made; those that
    /// were missing are reported.
    pub(crate) fn take(target: &Path, made: &mut Vec<PathBuf>) -> Result<Self> {
        let lock = lock_of(target);
        let start = Instant::now();
        let mut wait = Duration::from_millis(1);
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&lock) {
                Ok(file) => {
                    return Ok(Self {
                        lock,
                        target: target.to_owned(),
                        file,
                        done: false,
                    });
                }
                // Another process removes empty directories as we make them.
                Err(e) if e.kind() == io::ErrorKind::NotFound && start.elapsed() < PATIENCE => {
                    make_dirs(lock.parent(), made).map_err(|e| {
                        Error::io(format!("make a directory for {}", lock.display()), e)
                    })?;
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    if start.elapsed() >= PATIENCE {
                        return Err(Error::Locked {
                            path: lock.display().to_string(),
                        });
                    }
                    std::thread::sleep(wait);
                    wait = (wait * 2).min(Duration::from_millis(50));
                }
                Err(e) => return Err(Error::io(format!("lock {}", target.display()), e)),
            }
        }
    }

    /// Writes the new content, durable if asked.
    pub(crate) fn write(&mut self, bytes: &[u8], sync: bool) -> Result<()> {
        let mut write = || {
            self.file.write_all(bytes)?;
            if sync { self.file.sync_data() } else { Ok(()) }
        };
        write().map_err(|e| Error::io(format!("write {}", self.lock.display()), e))
    }

    /// Puts the new content in place.
    pub(crate) fn commit(mut self) -> Result<()> {
        let rename = || match fs::rename(&self.lock, &self.target) {
            // An empty directory is in the way: what deleted refs left.
            Err(e) if self.target.is_dir() => {
                if remove_empty(&self.target) {
                    fs::rename(&self.lock, &self.target)
                } else {
                    Err(e)
                }
            }
            done => done,
        };
        let done = rename();
        self.done = done.is_ok();
        done.map_err(|e| Error::io(format!("replace {}", self.target.display()), e))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.done {
            drop(fs::remove_file(&self.lock));
        }
    }
}

/// A note of the locks that a transaction takes, so that the next process can remove those that
/// a killed one left behind. Without it they would stay in everybody's way, as git's do.
#[derive(Debug)]
pub(crate) struct Claims {
    path: PathBuf,
}

/// Held while a transaction runs. The note goes with it, or stays until what moved is durable: a power cut may bring a
/// lock back that was renamed or removed, and what names it must not be gone then.
pub(crate) struct Claim<'a> {
    of: &'a Claims,
    stays: bool,
    /// Calls of fsync that the note took.
    pub(crate) syncs: usize,
}

impl Claim<'_> {
    /// Everything moved: the note stays until [`Claims::clear`].
    pub(crate) fn keep(mut self) {
        self.stays = true;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.stays {
            self.of.clear();
        }
    }
}

/// How old a lock must be to be nobody's: git holds one for milliseconds.
const NOBODYS: Duration = Duration::from_secs(1);

impl Claims {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Notes locks before they are taken; where asked, durably: a lock that outlives a power cut is known then.
    pub(crate) fn note(
        &self,
        locks: impl Iterator<Item = PathBuf>,
        sync: bool,
    ) -> Result<Claim<'_>> {
        let lines: String = locks.map(|l| format!("{}\n", l.display())).collect();
        let made = !self.path.exists();
        let write = || {
            let mut file = File::create(&self.path)?;
            file.write_all(lines.as_bytes())?;
            if sync { file.sync_data() } else { Ok(()) }
        };
        write().map_err(|e| Error::io(format!("write {}", self.path.display()), e))?;
        let mut syncs = usize::from(sync);
        if let (true, true, Some(dir)) = (sync, made, self.path.parent()) {
            syncs += usize::from(sync_dir(dir)?);
        }
        Ok(Claim {
            of: self,
            stays: false,
            syncs,
        })
    }

    /// No lock is held. The file stays: to make and remove it each time would have to be durable, too.
    pub(crate) fn clear(&self) {
        if fs::metadata(&self.path).is_ok_and(|note| note.len() > 0) {
            drop(File::create(&self.path));
        }
    }

    /// Removes the locks that the note names, if they are there and old.
    pub(crate) fn release(&self) -> Result<()> {
        let Ok(lines) = fs::read_to_string(&self.path) else {
            return Ok(());
        };
        let left: Vec<&Path> = lines
            .lines()
            .map(Path::new)
            .filter(|p| p.exists())
            .collect();
        // A lock so young may be another process's git, which took it after ours had ended.
        if left.iter().any(|path| is_young(path)) {
            std::thread::sleep(NOBODYS);
        }
        left.into_iter().try_for_each(take_away)?;
        self.clear();
        Ok(())
    }
}

/// Whether somebody may still be at work on a file.
fn is_young(path: &Path) -> bool {
    let changed = fs::metadata(path).and_then(|m| m.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    age.is_none_or(|age| age < NOBODYS)
}

fn take_away(path: &Path) -> Result<()> {
    tracing::info!(path = %path.display(), "removing a lock of an ended process");
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("remove {}", path.display()), e))
        }
        _ => Ok(()),
    }
}

/// Removes what a git that was killed while it packed refs left in a mirror, where nobody works but we and what we
/// start. What changed a moment ago may be one that outlived us: it is given time, and left alone if it goes on.
pub(crate) fn free(mirror: &Path) -> Result<()> {
    let packed = ["packed-refs.lock", "packed-refs.new"].map(|name| mirror.join(name));
    let mut left: Vec<PathBuf> = packed.into_iter().filter(|path| path.exists()).collect();
    find_locks(&mirror.join("refs"), &mut left);
    let is_any_young = || left.iter().any(|path| path.exists() && is_young(path));
    if is_any_young() {
        std::thread::sleep(NOBODYS);
    }
    if is_any_young() {
        return Ok(());
    }
    left.iter().try_for_each(|path| take_away(path))
}

fn find_locks(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            find_locks(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "lock") {
            found.push(path);
        }
    }
}

fn make_dirs(dir: Option<&Path>, made: &mut Vec<PathBuf>) -> io::Result<()> {
    let Some(dir) = dir else { return Ok(()) };
    match fs::create_dir(dir) {
        Ok(()) => {
            made.push(dir.to_owned());
            Ok(())
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            make_dirs(dir.parent(), made)?;
            make_dirs(Some(dir), made)
        }
        Err(e) => Err(e),
    }
}

/// Removes a directory that holds nothing but directories.
pub(crate) fn remove_empty(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir) else {
        return false;
    };
    for entry in entries.flatten() {
        if !entry.file_type().is_ok_and(|t| t.is_dir()) || !remove_empty(&entry.path()) {
            return false;
        }
    }
    fs::remove_dir(dir).is_ok()
}

/// Whether there is a directory of that name with anything in it but directories.
pub(crate) fn holds_file(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir) else {
        return false;
    };
    let is_dir = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|t| t.is_dir());
    let mut entries = entries.flatten();
    entries.any(|entry| !is_dir(&entry) || holds_file(&entry.path()))
}

/// Syncs a directory, so that names in it last.
pub(crate) fn sync_dir(dir: &Path) -> Result<bool> {
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        Ok(()) => Ok(true),
        // Emptied and removed since.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io(format!("sync {}", dir.display()), e)),
    }
}
