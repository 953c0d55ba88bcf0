//! One pack and its index, written whole: the only way in which objects of ours reach a disk.
//!
//! Large trees of which one entry changed are written as differences to the tree that they came
//! from, which is added once if the repository has it elsewhere (a pack must stand alone).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flate2::Crc;
use gix::ObjectId;
use gix::objs::Kind;

use crate::error::{Error, Result};
use crate::staged::{Packed, deflate};

/// Differences that may stand on each other; then a tree is written whole again.
const DEPTH: usize = 24;

/// A pack that is written and not visible yet.
#[derive(Debug)]
pub(crate) struct Draft {
    dir: PathBuf,
    name: String,
    pack: (PathBuf, File),
    index: (PathBuf, File),
    pub(crate) bytes: usize,
    pub(crate) first: ObjectId,
}

struct Slot {
    offset: u64,
    crc: u32,
    depth: usize,
}

/// A pack in the making.
struct Writer {
    out: Vec<u8>,
    slots: BTreeMap<ObjectId, Slot>,
}

/// The bytes of a pack and of its index.
pub(crate) struct Bytes {
    pub(crate) pack: Vec<u8>,
    pub(crate) index: Vec<u8>,
    pub(crate) checksum: ObjectId,
}

/// Encodes a pack and its index.
pub(crate) fn encode(objects: &[Arc<Packed>]) -> Result<Bytes> {
    let mut by_id = BTreeMap::new();
    let mut uses: BTreeMap<ObjectId, usize> = BTreeMap::new();
    for object in objects {
        by_id.insert(object.id, object);
        if let Some(delta) = &object.delta {
            *uses.entry(delta.base).or_default() += 1;
        }
    }
    let size: usize = objects.iter().map(|o| o.raw.len() / 2 + 32).sum();
    let mut writer = Writer {
        out: Vec::with_capacity(size),
        slots: BTreeMap::new(),
    };
    writer.out.extend_from_slice(b"PACK\0\0\0\x02\0\0\0\0");
    for object in objects {
        writer.place(object, &by_id, &uses);
    }
    writer.finish()
}

impl Writer {
    /// Writes an object, what it stands on first. How deep it stands.
    fn place(
        &mut self,
        object: &Packed,
        by_id: &BTreeMap<ObjectId, &Arc<Packed>>,
        uses: &BTreeMap<ObjectId, usize>,
    ) {
        // What stands on each other in this batch, from the top down: never a recursion.
        let mut stack = vec![object];
        while let Some(top) = stack.last().copied() {
            let base = top.delta.as_ref().and_then(|d| by_id.get(&d.base));
            match base.filter(|b| !self.slots.contains_key(&b.id) && b.id != top.id) {
                Some(base) => stack.push(base),
                None => break,
            }
        }
        for object in stack.into_iter().rev() {
            if self.slots.contains_key(&object.id) {
                continue;
            }
            if let Some(delta) = &object.delta {
                let shared = uses.get(&delta.base).is_some_and(|n| *n > 1);
                if shared && !self.slots.contains_key(&delta.base) {
                    let deflated = deflate(&delta.base_raw);
                    self.whole(delta.base, Kind::Tree, delta.base_raw.len(), &deflated);
                }
            }
            if !self.difference(object) {
                self.whole(object.id, object.kind, object.raw.len(), object.deflated());
            }
        }
    }

    fn difference(&mut self, object: &Packed) -> bool {
        let Some(delta) = &object.delta else {
            return false;
        };
        let Some(base) = self.slots.get(&delta.base).filter(|s| s.depth < DEPTH) else {
            return false;
        };
        let (offset, depth) = (self.out.len() as u64, base.depth + 1);
        let distance = offset - base.offset;
        self.header(6, delta.size);
        self.out.extend_from_slice(&encode_distance(distance));
        self.out.extend_from_slice(&delta.deflated);
        self.slot(object.id, offset, depth);
        true
    }

    fn whole(&mut self, id: ObjectId, kind: Kind, size: usize, deflated: &[u8]) {
        let offset = self.out.len() as u64;
        let kind = match kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        };
        self.header(kind, size);
        self.out.extend_from_slice(deflated);
        self.slot(id, offset, 0);
    }

    fn header(&mut self, kind: u8, size: usize) {
        let mut rest = size >> 4;
        let mut byte = kind << 4 | (size & 15).to_le_bytes()[0];
        while rest > 0 {
            self.out.push(byte | 0x80);
            byte = (rest & 0x7f).to_le_bytes()[0];
            rest >>= 7;
        }
        self.out.push(byte);
    }

    fn slot(&mut self, id: ObjectId, offset: u64, depth: usize) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut crc = Crc::new();
        crc.update(self.out.get(start..).unwrap_or_default());
        self.slots.insert(
            id,
            Slot {
                offset,
                crc: crc.sum(),
                depth,
            },
        );
    }

    fn finish(mut self) -> Result<Bytes> {
        let limit = u64::from(u32::MAX >> 1);
        if self.out.len() as u64 > limit {
            let (what, found) = ("size of one batch".to_owned(), self.out.len() as u64);
            return Err(Error::TooLarge { what, limit, found });
        }
        let count = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        if let Some(at) = self.out.get_mut(8..12) {
            at.copy_from_slice(&count.to_be_bytes());
        }
        let checksum = digest(&self.out)?;
        self.out.extend_from_slice(checksum.as_bytes());
        let index = self.index(&checksum)?;
        Ok(Bytes {
            pack: self.out,
            index,
            checksum,
        })
    }

    /// Version 2 of git's index.
    fn index(&self, checksum: &ObjectId) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(1100 + self.slots.len() * 28);
        out.extend_from_slice(b"\xfftOc\0\0\0\x02");
        let mut ids = self.slots.keys().peekable();
        let mut count = 0u32;
        for first in 0..=255u8 {
            while ids
                .next_if(|id| id.as_bytes().first().is_some_and(|b| *b <= first))
                .is_some()
            {
                count += 1;
            }
            out.extend_from_slice(&count.to_be_bytes());
        }
        self.slots
            .keys()
            .for_each(|id| out.extend_from_slice(id.as_bytes()));
        self.slots
            .values()
            .for_each(|slot| out.extend_from_slice(&slot.crc.to_be_bytes()));
        for slot in self.slots.values() {
            let offset = u32::try_from(slot.offset).unwrap_or(u32::MAX);
            out.extend_from_slice(&offset.to_be_bytes());
        }
        out.extend_from_slice(checksum.as_bytes());
        let own = digest(&out)?;
        out.extend_from_slice(own.as_bytes());
        Ok(out)
    }
}

fn digest(bytes: &[u8]) -> Result<ObjectId> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(bytes);
    hasher.try_finalize().map_err(|e| Error::Nonsense {
        attempt: "write a pack",
        why: e.to_string(),
    })
}

/// The distance to the object that a difference stands on, in git's own number format.
fn encode_distance(distance: u64) -> Vec<u8> {
    let mut out = vec![(distance & 0x7f).to_le_bytes()[0]];
    let mut rest = distance >> 7;
    while rest > 0 {
        rest -= 1;
        out.push((rest & 0x7f).to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    out.reverse();
    out
}

/// How the names of our files begin before anybody may see them.
const UNSEEN: &str = "offshoot_tmp_";

/// A name that no pack has: whoever tidies may be about to remove one of the same content.
fn free_name(dir: &Path, checksum: &ObjectId) -> Result<String> {
    let mut id = *checksum;
    loop {
        let name = format!("pack-{id}");
        if !dir.join(format!("{name}.pack")).exists() {
            return Ok(name);
        }
        id = digest(id.as_bytes())?;
    }
}

impl Draft {
    /// Writes both files under names that git passes over, and that it does not take for what a crash of its own left.
    pub(crate) fn write(objects: &Path, bytes: &Bytes, first: ObjectId) -> Result<Self> {
        let dir = objects.join("pack");
        let name = free_name(&dir, &bytes.checksum)?;
        let file = |kind: &str, bytes: &[u8]| {
            let path = dir.join(format!("{UNSEEN}{kind}_{name}"));
            let attempt = || format!("write {}", path.display());
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(true).open(&path);
            let mut file = file.map_err(|e| Error::io(attempt(), e))?;
            let done = file.write_all(bytes);
            let done = done.and_then(|()| file.set_permissions(fs::Permissions::from_mode(0o444)));
            if let Err(error) = done {
                drop(fs::remove_file(&path));
                return Err(Error::io(attempt(), error));
            }
            Ok((path, file))
        };
        let pack = file("pack", &bytes.pack)?;
        let index = file("idx", &bytes.index).inspect_err(|_| drop(fs::remove_file(&pack.0)))?;
        let size = bytes.pack.len() + bytes.index.len();
        Ok(Self {
            dir,
            name,
            pack,
            index,
            bytes: size,
            first,
        })
    }

    /// Makes both files durable and then visible, the index last: without it git sees no pack.
    /// How many times the disk was asked to sync, and what keeps the pack from being tidied away.
    pub(crate) fn publish(self, sync: bool) -> Result<(usize, Keep)> {
        let attempt = || format!("publish {} in {}", self.name, self.dir.display());
        let publish = || {
            if sync {
                self.pack.1.sync_data()?;
                self.index.1.sync_data()?;
            }
            // What keeps the pack is there before the pack can be seen: nobody who tidies finds it without.
            let keep = Keep::new(self.dir.join(format!("{}.keep", self.name)))?;
            fs::rename(&self.pack.0, self.dir.join(format!("{}.pack", self.name)))?;
            fs::rename(&self.index.0, self.dir.join(format!("{}.idx", self.name)))?;
            if sync {
                File::open(&self.dir)?.sync_all()?;
            }
            Ok((if sync { 3 } else { 0 }, keep))
        };
        publish().map_err(|e| Error::io(attempt(), e))
    }
}

/// A file by which git leaves a pack alone, as it does for packs that come by a push: until refs show what is in it,
/// `git gc` and `git repack` would drop it.
#[derive(Debug)]
pub(crate) struct Keep(Option<PathBuf>);

/// What such a file of ours says.
const KEPT: &[u8] = b"offshoot is about to show this\n";

/// How old such a file is before we take it for what a crash left behind: another process of ours may need it.
const STALE: Duration = Duration::from_secs(3_600);

impl Keep {
    fn new(path: PathBuf) -> io::Result<Self> {
        // Somebody else may keep the same pack.
        if path.exists() {
            return Ok(Self(None));
        }
        let name = path.file_name().unwrap_or_default();
        let fresh = path.with_file_name(format!("{UNSEEN}keep_{}", name.display()));
        fs::write(&fresh, KEPT)?;
        fs::rename(&fresh, &path)?;
        Ok(Self(Some(path)))
    }

    /// Whether a file was left behind.
    fn is_stale(path: &Path) -> bool {
        let age = fs::metadata(path).and_then(|found| found.modified());
        let old = age.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > STALE));
        old && fs::read(path).is_ok_and(|said| said == KEPT)
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            drop(fs::remove_file(path));
        }
    }
}

/// How long after its last byte a pack that git was receiving is nobody's: no conversation lasts as long.
const BROKEN_OFF: Duration = Duration::from_secs(150);

/// What git calls a pack, and its index, while they come.
const COMING: [&str; 2] = ["tmp_pack_", "tmp_idx_"];

/// Removes what fetches that broke off left in a mirror: git leaves it to a gc that finds it weeks later, and each try would leave as
/// much again.
pub(crate) fn sweep_broken_off(objects: &Path) {
    let Ok(entries) = fs::read_dir(objects.join("pack")) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let written = entry.metadata().and_then(|found| found.modified());
        let old = written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > BROKEN_OFF));
        if old && COMING.iter().any(|prefix| name.starts_with(prefix)) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Removes what a crash left: packs that nobody ever saw, and what kept those whose refs were about to move.
pub(crate) fn sweep(objects: &Path) {
    let Ok(entries) = fs::read_dir(objects.join("pack")) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(UNSEEN) {
            drop(fs::remove_file(entry.path()));
        }
        let keep = name.starts_with("pack-") && name.ends_with(".keep");
        if keep && Keep::is_stale(&entry.path()) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_of_fetches_that_broke_off_go_and_no_others() {
        let root = tempfile::tempdir().unwrap();
        let packs = root.path().join("pack");
        fs::create_dir(&packs).unwrap();
        let old = std::time::SystemTime::now() - BROKEN_OFF * 2;
        let all = ["tmp_pack_a", "tmp_idx_a", "pack-1.pack", "pack-1.idx"];
        for name in all {
            let file = File::create(packs.join(name)).unwrap();
            file.set_modified(old).unwrap();
        }
        File::create(packs.join("tmp_pack_b")).unwrap();
        sweep_broken_off(root.path());
        let mut left: Vec<String> = fs::read_dir(&packs)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["pack-1.idx", "pack-1.pack", "tmp_pack_b"]);
    }
}
