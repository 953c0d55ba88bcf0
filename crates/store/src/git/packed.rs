//! `packed-refs`: many refs in one file, replaced at once.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Bound;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gix::ObjectId;

use crate::error::{Error, Result};
use crate::git::plain;
use crate::lru::lock;

/// The refs of one `packed-refs` file, with what their tags lead to.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    pub(crate) refs: BTreeMap<Arc<[u8]>, (ObjectId, Option<ObjectId>)>,
}

impl Packed {
    pub(crate) fn get(&self, name: &str) -> Option<ObjectId> {
        self.refs.get(name.as_bytes()).map(|(id, _)| *id)
    }

    /// The refs below this name, in the order of names.
    pub(crate) fn range_below(
        &self,
        name: &str,
    ) -> impl Iterator<Item = (&Arc<[u8]>, &(ObjectId, Option<ObjectId>))> {
        let below = format!("{name}/").into_bytes();
        let range = (Bound::Included(&below[..]), Bound::Unbounded);
        self.refs
            .range::<[u8], _>(range)
            .take_while(move |(name, _)| name.starts_with(&below))
    }

    /// A ref below this name.
    pub(crate) fn below(&self, name: &str) -> Option<String> {
        let (first, _) = self.range_below(name).next()?;
        Some(String::from_utf8_lossy(first).into_owned())
    }

    /// Reads the file, or says which line is no ref.
    fn parse(text: &[u8]) -> Result<Self, usize> {
        let mut refs: BTreeMap<Arc<[u8]>, (ObjectId, Option<ObjectId>)> = BTreeMap::new();
        let mut last: Option<Arc<[u8]>> = None;
        for (at, line) in text.split(|b| *b == b'\n').enumerate() {
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let mut take = || {
                if let Some(hex) = line.strip_prefix(b"^") {
                    let peeled = ObjectId::from_hex(hex).ok()?;
                    refs.get_mut(last.as_ref()?)?.1 = Some(peeled);
                    return Some(());
                }
                let id = ObjectId::from_hex(line.get(..40)?).ok()?;
                let rest = line.get(40..)?.strip_prefix(b" ")?;
                let name: Arc<[u8]> = Some(rest).filter(|name| !name.is_empty())?.into();
                refs.insert(Arc::clone(&name), (id, None));
                last = Some(name);
                Some(())
            };
            take().ok_or(at + 1)?;
        }
        Ok(Self { refs })
    }

    /// The file's bytes. What we add leads to commits, so that "fully peeled" stays true only if it
    /// was: without it git looks itself.
    pub(crate) fn encode(&self, fully_peeled: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.refs.len() * 80 + 64);
        let peeled = if fully_peeled {
            "peeled fully-peeled sorted"
        } else {
            "sorted"
        };
        out.extend_from_slice(format!("# pack-refs with: {peeled} \n").as_bytes());
        for (name, (id, tag)) in &self.refs {
            let mut hex = [0; 40];
            out.extend_from_slice(id.hex_to_buf(&mut hex).as_bytes());
            out.push(b' ');
            out.extend_from_slice(name);
            out.push(b'\n');
            if let Some(peeled) = tag {
                out.extend_from_slice(format!("^{peeled}\n").as_bytes());
            }
        }
        out
    }
}

type Stamp = (u64, u64, u64, i64, i64);

fn stamp(found: &fs::Metadata) -> Stamp {
    let (at, nanos) = (found.mtime(), found.mtime_nsec());
    (found.dev(), found.ino(), found.size(), at, nanos)
}

#[derive(Debug)]
struct Known {
    stamp: Option<Stamp>,
    packed: Arc<Packed>,
    fully_peeled: bool,
}

/// The file, read again when it was replaced.
#[derive(Debug)]
pub(crate) struct PackedFile {
    pub(crate) path: PathBuf,
    /// Refs that it may hold, and bytes in which it may do so.
    bounds: (usize, u64),
    known: Mutex<Option<Arc<Known>>>,
}

impl PackedFile {
    pub(crate) fn new(git_dir: &Path, bounds: (usize, u64)) -> Self {
        Self {
            path: git_dir.join("packed-refs"),
            bounds,
            known: Mutex::default(),
        }
    }

    pub(crate) fn load(&self) -> Result<Arc<Packed>> {
        Ok(Arc::clone(&self.read()?.packed))
    }

    /// Whether tags in it are known to be followed.
    pub(crate) fn fully_peeled(&self) -> Result<bool> {
        Ok(self.read()?.fully_peeled)
    }

    /// Where the file is written before it takes its place. Not where git does so: it makes that file exclusively, and what a
    /// crash of ours left there would be in its way for good.
    pub(crate) fn fresh(&self) -> PathBuf {
        self.path.with_file_name("packed-refs.offshoot")
    }

    /// Puts these refs in place, durable if asked. The lock of the file is held before, and still is behind it. What was
    /// written is known, and not read again.
    pub(crate) fn replace(&self, packed: Packed, sync: bool) -> Result<()> {
        let fully_peeled = self.fully_peeled()?;
        let bytes = packed.encode(fully_peeled);
        let stamp = self.write(&bytes, sync)?;
        let (most, most_bytes) = self.bounds;
        // What is beyond the bounds is told by whoever reads it.
        let fits = packed.refs.len() <= most && bytes.len() as u64 <= most_bytes;
        *lock(&self.known) = fits.then(|| {
            Arc::new(Known {
                stamp: Some(stamp),
                packed: Arc::new(packed),
                fully_peeled,
            })
        });
        Ok(())
    }

    /// Writes the file anew; by what it can be told from every other one.
    fn write(&self, bytes: &[u8], sync: bool) -> Result<Stamp> {
        let fresh = self.fresh();
        let write = || {
            // What a crash left goes; what somebody put there is not written through.
            match fs::remove_file(&fresh) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).open(&fresh)?;
            file.write_all(bytes)?;
            if sync {
                file.sync_data()?;
            }
            let stamp = stamp(&file.metadata()?);
            fs::rename(&fresh, &self.path)?;
            Ok(stamp)
        };
        write().map_err(|e| {
            drop(fs::remove_file(&fresh));
            Error::io(format!("replace {}", self.path.display()), e)
        })
    }

    fn read(&self) -> Result<Arc<Known>> {
        let attempt = |e| Error::io(format!("read {}", self.path.display()), e);
        // The stamp is older than the text: a file that is replaced between the two is read again, and none is missed.
        let stamp = match fs::metadata(&self.path) {
            Ok(found) => Some(stamp(&found)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(attempt(e)),
        };
        if let Some(known) = lock(&self.known).as_ref().filter(|k| k.stamp == stamp) {
            return Ok(Arc::clone(known));
        }
        let (most, bytes) = self.bounds;
        let text = match plain::read(&self.path, bytes) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(attempt(e)),
        };
        let first = text.split(|b| *b == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        // Git reads nothing of such a file, either; left out, the line would be lost with the next write.
        let packed = Packed::parse(&text).map_err(|line| Error::BrokenRefs { line })?;
        if packed.refs.len() > most {
            return Err(Error::TooLarge {
                what: format!("number of refs in {}", self.path.display()),
                limit: most as u64,
                found: packed.refs.len() as u64,
            });
        }
        let fully_peeled = text.is_empty() || first.contains(" fully-peeled ");
        let known = Arc::new(Known {
            stamp,
            packed: Arc::new(packed),
            fully_peeled,
        });
        *lock(&self.known) = Some(Arc::clone(&known));
        Ok(known)
    }
}

#[cfg(test)]
mod tests;
