//! A disk that can lose its power: what was not synced is lost, kept or torn, write by write.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

use crate::lock;

/// What is on its way to the disk.
#[derive(Debug, Clone)]
enum Pending {
    Write(u64, Vec<u8>),
    Length(u64),
}

#[derive(Debug, Default)]
struct Inner {
    /// What survives a power cut in any case.
    durable: Vec<u8>,
    /// What reads see.
    now: Vec<u8>,
    pending: Vec<Pending>,
    /// Changes until the power goes; none while it stays.
    left: Option<u64>,
    dark: bool,
    /// Changes until some fail, and how many then do.
    fails: (u64, u64),
    failed: u64,
}

/// A disk; clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<Inner>>);

impl Disk {
    /// Cuts the power after so many changes and syncs.
    pub(super) fn cut_after(&self, changes: u64) {
        lock(&self.0).left = Some(changes);
    }

    /// Has some changes fail as on a full disk, after others.
    pub(super) fn fail_after(&self, changes: u64, many: u64) {
        lock(&self.0).fails = (changes, many);
    }

    /// How many changes failed so far.
    pub(super) fn failed(&self) -> u64 {
        lock(&self.0).failed
    }

    /// Whether the power is gone.
    pub(super) fn is_dark(&self) -> bool {
        lock(&self.0).dark
    }

    /// The disk after a power cut: of what was not synced `dice` decides, three ways.
    pub(super) fn image(&self, dice: &mut impl FnMut(u64) -> u64) -> Self {
        let inner = lock(&self.0);
        let mut image = inner.durable.clone();
        for pending in &inner.pending {
            match (pending, dice(3)) {
                (_, 0) => {}
                (Pending::Length(length), _) => resize(&mut image, *length),
                (Pending::Write(at, bytes), fate) => {
                    let kept = if fate == 1 {
                        bytes.len()
                    } else {
                        torn(bytes.len(), dice)
                    };
                    put(&mut image, *at, &bytes[..kept]);
                }
            }
        }
        Self(Arc::new(Mutex::new(Inner {
            now: image.clone(),
            durable: image,
            ..Inner::default()
        })))
    }

    fn change(&self, pending: Option<Pending>) -> io::Result<()> {
        let mut inner = lock(&self.0);
        match &mut inner.fails {
            (0, 0) => {}
            (0, many) => {
                *many -= 1;
                inner.failed += 1;
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            (changes, _) => *changes -= 1,
        }
        if let Some(left) = &mut inner.left {
            if *left == 0 {
                inner.dark = true;
            } else {
                *left -= 1;
            }
        }
        match pending {
            // What was under way when the power went may be on the disk, too.
            Some(pending) => {
                match &pending {
                    Pending::Write(at, bytes) => put(&mut inner.now, *at, bytes),
                    Pending::Length(length) => resize(&mut inner.now, *length),
                }
                inner.pending.push(pending);
            }
            None if !inner.dark => {
                inner.durable = inner.now.clone();
                inner.pending.clear();
            }
            None => {}
        }
        if inner.dark { Err(dark()) } else { Ok(()) }
    }
}

fn dark() -> io::Error {
    io::Error::other("the power is gone")
}

/// How much of a write is there: whole sectors.
fn torn(length: usize, dice: &mut impl FnMut(u64) -> u64) -> usize {
    const SECTOR: usize = 512;
    let sectors = (length / SECTOR) as u64;
    (dice(sectors + 1) as usize) * SECTOR
}

fn resize(image: &mut Vec<u8>, length: u64) {
    image.resize(usize::try_from(length).expect("small"), 0);
}

fn put(image: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let at = usize::try_from(at).expect("small");
    if image.len() < at + bytes.len() {
        image.resize(at + bytes.len(), 0);
    }
    image[at..at + bytes.len()].copy_from_slice(bytes);
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        let inner = lock(&self.0);
        if inner.dark {
            Err(dark())
        } else {
            Ok(inner.now.len() as u64)
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let inner = lock(&self.0);
        let at = usize::try_from(offset).expect("small");
        let found = inner.now.get(at..at + out.len());
        match found.filter(|_| !inner.dark) {
            Some(found) => {
                out.copy_from_slice(found);
                Ok(())
            }
            None => Err(dark()),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Some(Pending::Length(len)))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(None)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Some(Pending::Write(offset, data.to_vec())))
    }
}
