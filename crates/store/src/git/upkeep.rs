//! Upkeep: many small packs become few, many loose refs become one file.
//!
//! Done beside the writer, and beside whoever else tidies the same repository. No object is dropped here: what lies in the packs
//! that are rolled up lies in the new one, all of it. `git repack --geometric` would leave out what larger packs hold; if
//! somebody's `git repack -a -d` takes those away at the same time, and left it out because a pack of ours was kept, it
//! would be nowhere. Without the `git` program nothing is done, and nothing breaks.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gix::ObjectId;

use crate::error::{Error, Result};
use crate::git::transport::Git;

/// When the next roll-up is due.
#[derive(Debug)]
pub(crate) struct Upkeep {
    every: usize,
    packs: AtomicUsize,
    running: AtomicBool,
}

impl Upkeep {
    pub(crate) fn new(every: usize) -> Self {
        Self {
            every,
            packs: AtomicUsize::new(0),
            running: AtomicBool::new(false),
        }
    }

    /// Told of a new pack; starts a roll-up when enough came together.
    pub(crate) fn note_pack(self: &Arc<Self>, git: &Git) {
        let packs = self.packs.fetch_add(1, Ordering::Relaxed) + 1;
        if self.every == 0 || packs < self.every || self.running.swap(true, Ordering::AcqRel) {
            return;
        }
        self.packs.store(0, Ordering::Relaxed);
        let (this, git) = (Arc::clone(self), git.clone());
        let work = git.runtime.clone().spawn_blocking(move || {
            let refs = git.here(&["pack-refs", "--all", "--prune"], None);
            for done in [roll_up(&git), refs.map(drop)] {
                if let Err(error) = done {
                    tracing::warn!(url = git.url, %error, "upkeep was left undone");
                }
            }
            this.running.store(false, Ordering::Release);
        });
        drop(work);
    }
}

/// A pack that may be rolled up.
struct Pack {
    path: PathBuf,
    ids: Vec<ObjectId>,
}

/// Makes one pack of the small ones, so that each that is left is at least twice as large as all smaller ones together.
fn roll_up(git: &Git) -> Result<()> {
    let dir = git.dir.join("objects/pack");
    let attempt = |e| Error::io(format!("look into {}", dir.display()), e);
    let mut packs = find(&dir).map_err(attempt)?;
    packs.sort_by_key(|pack| pack.ids.len());
    let mut sum = 0;
    let mut small = 0;
    for (at, pack) in packs.iter().enumerate() {
        if pack.ids.len() < 2 * sum {
            small = at + 1;
        }
        sum += pack.ids.len();
    }
    packs.truncate(small);
    if packs.len() < 2 {
        return Ok(());
    }
    // By their ids and not by what refs reach: what no ref shows yet must not be left out.
    let mut lines = String::new();
    for id in packs.iter().flat_map(|pack| &pack.ids) {
        lines.push_str(&format!("{id}\n"));
    }
    let base = dir.join("pack").display().to_string();
    let args = ["pack-objects", "-q", "--window=0", &base];
    let made = git.here(&args, Some(lines.into_bytes()))?;
    let made = format!("pack-{}", made.trim());
    // The new pack lasts under its name before the old ones go.
    let sync = File::open(&dir).and_then(|dir| dir.sync_all());
    sync.map_err(attempt)?;
    let is_made = |path: &Path| path.file_stem().is_some_and(|stem| *stem == *made);
    for pack in packs.iter().filter(|pack| !is_made(&pack.path)) {
        // First what makes it visible.
        for kind in ["idx", "bitmap", "rev", "pack"] {
            match fs::remove_file(pack.path.with_extension(kind)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(attempt(e)),
                _ => {}
            }
        }
    }
    Ok(())
}

/// The packs that nobody set apart. Where an index over several of them was made, somebody else looks after them.
fn find(dir: &Path) -> io::Result<Vec<Pack>> {
    let mut packs = Vec::new();
    if dir.join("multi-pack-index").exists() {
        return Ok(packs);
    }
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let apart = |kind: &str| path.with_extension(kind).exists();
        let is_index = path.extension().is_some_and(|kind| kind == "idx");
        if !is_index || ["keep", "promisor", "mtimes"].into_iter().any(apart) {
            continue;
        }
        match fs::read(&path) {
            Ok(bytes) => packs.extend(ids(&bytes).map(|ids| Pack { path, ids })),
            // Somebody else rolled it up.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(packs)
}

/// The objects of a pack by its index; `None` for a format that we do not know.
fn ids(index: &[u8]) -> Option<Vec<ObjectId>> {
    const START: usize = 8 + 256 * 4;
    let rest = index.strip_prefix(b"\xfftOc\0\0\0\x02")?;
    let count = rest.get(255 * 4..256 * 4)?.try_into().ok()?;
    let count = usize::try_from(u32::from_be_bytes(count)).ok()?;
    let ids = index.get(START..)?.get(..count.checked_mul(20)?)?;
    ids.chunks_exact(20)
        .map(|id| ObjectId::try_from(id).ok())
        .collect()
}
