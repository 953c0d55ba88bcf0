//! The intent journal: what was about to be made visible, until its record is durable elsewhere.
//!
//! Format 1: `offshoot-journal`, one byte of version, then frames: four bytes of length (little
//! endian), eight of checksum (the start of a SHA-256), and as many bytes of one entry: a line of
//! JSON and, for an intent, the payload as it was given. A newer version is refused untouched (X7);
//! an entry that was cut off by a crash was never promised and is dropped. An intent that stands there
//! twice counts as it stands there last. The journal only saves a look: losing it loses nothing.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::disk::{Disk, RawEdit};
use crate::error::{Error, Result};
use crate::{RefName, Scope};

const MAGIC: &[u8] = b"offshoot-journal";
const VERSION: u8 = 1;
/// A journal that grew beyond this is rewritten with what is still open.
const COMPACT: usize = 16 << 20;

/// One ref of an intent, tags not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) name: RefName,
    pub(crate) old: Option<ObjectId>,
    pub(crate) new: Option<ObjectId>,
    pub(crate) scope: Scope,
}

impl Edit {
    /// The same for a disk, which knows no scope.
    pub(crate) fn raw(&self) -> RawEdit {
        RawEdit {
            name: self.name.clone(),
            old: self.old,
            new: self.new,
        }
    }
}

/// An open intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) commit: Option<ObjectId>,
    pub(crate) edits: Vec<Edit>,
    pub(crate) payload: Vec<u8>,
    /// Whether all of it was there once: what becomes of its refs later is no part of it, and
    /// nothing is completed any more. On disk every ref of it leads from where it is to there.
    pub(crate) landed: bool,
}

impl Entry {
    pub(crate) fn new(commit: Option<ObjectId>, edits: Vec<Edit>, payload: Vec<u8>) -> Self {
        let landed = !edits.is_empty() && edits.iter().all(|e| e.old == e.new);
        Self {
            commit,
            edits,
            payload,
            landed,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Intent {
        id: u64,
        commit: Option<String>,
        refs: Vec<RefLine>,
    },
    Settled {
        ids: Vec<u64>,
    },
}

#[derive(Serialize, Deserialize)]
struct RefLine {
    name: String,
    from: Option<String>,
    to: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    local: bool,
}

/// The journal of one repository.
#[derive(Debug)]
pub(crate) struct Journal {
    open: BTreeMap<u64, Entry>,
    /// Those that landed, which is not on disk.
    unnoted: BTreeSet<u64>,
    next: u64,
    size: usize,
}

impl Journal {
    /// Reads what is there; what a crash cut off is cut off for good.
    pub(crate) fn load<D: Disk>(disk: &D) -> Result<Self> {
        let bytes = disk.journal_load()?;
        let mut journal = Self {
            open: BTreeMap::new(),
            unnoted: BTreeSet::new(),
            next: 1,
            size: bytes.len(),
        };
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            // Nothing, or not even the first line got through.
            if !MAGIC.starts_with(&bytes) {
                return Err(refuse(disk, "is not one of ours; move it away"));
            }
            disk.journal_replace(&header())?;
            journal.size = header().len();
            return Ok(journal);
        };
        match rest.split_first() {
            Some((&VERSION, frames)) => {
                let good = journal.replay(frames);
                if good < frames.len() {
                    disk.journal_replace(bytes.get(..header().len() + good).unwrap_or_default())?;
                    journal.size = header().len() + good;
                }
            }
            Some((&newer, _)) => {
                let why =
                    format!("has format {newer}, this version knows {VERSION}; use a newer one");
                return Err(refuse(disk, &why));
            }
            None => disk.journal_replace(&header())?,
        }
        Ok(journal)
    }

    /// Reads frames while they are whole; how many bytes of them are.
    fn replay(&mut self, frames: &[u8]) -> usize {
        // Frames are appended in order, so what stands behind one that is not whole was promised to nobody.
        let mut good = 0;
        while let Some((body, used)) = frames.get(good..).and_then(unframe) {
            if self.apply(body).is_none() {
                break;
            }
            good += used;
        }
        good
    }

    fn apply(&mut self, body: &[u8]) -> Option<()> {
        let end = body.iter().position(|b| *b == b'\n')?;
        match serde_json::from_slice(body.get(..end)?).ok()? {
            Line::Intent { id, commit, refs } => {
                let edits = refs
                    .into_iter()
                    .map(RefLine::parse)
                    .collect::<Option<_>>()?;
                let commit = match commit {
                    Some(hex) => Some(oid(&hex)?),
                    None => None,
                };
                let payload = body.get(end + 1..)?.to_vec();
                self.open.insert(id, Entry::new(commit, edits, payload));
                self.next = self.next.max(id + 1);
            }
            Line::Settled { ids } => ids.iter().for_each(|id| {
                self.open.remove(id);
            }),
        }
        Some(())
    }

    pub(crate) fn open(&self) -> &BTreeMap<u64, Entry> {
        &self.open
    }

    /// How long it is.
    pub(crate) fn bytes(&self) -> usize {
        self.size
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Appends intents; durable only after the disk says so.
    pub(crate) fn add<D: Disk>(&mut self, disk: &D, entries: Vec<(u64, Entry)>) -> Result<usize> {
        let mut bytes = Vec::new();
        for (id, entry) in &entries {
            bytes.extend(frame(&intent_body(*id, entry)));
        }
        // First the bytes: an intent that could not be noted is not open.
        disk.journal_append(&bytes)?;
        self.size += bytes.len();
        for (id, _) in &entries {
            self.unnoted.remove(id);
        }
        self.open.extend(entries);
        Ok(bytes.len())
    }

    /// Remembers that all of these intents is there now.
    pub(crate) fn land(&mut self, ids: impl IntoIterator<Item = u64>) {
        for id in ids {
            if let Some(entry) = self.open.get_mut(&id).filter(|entry| !entry.landed) {
                entry.landed = true;
                self.unnoted.insert(id);
            }
        }
    }

    /// Intents that landed, of which some of these refs are about to move on: unless that is noted
    /// first, a crash would have them put back.
    pub(crate) fn overtaken(&self, moves: &BTreeMap<RefName, Edit>) -> Vec<(u64, Entry)> {
        let entries = self.unnoted.iter().filter_map(|id| {
            let entry = self.open.get(id)?;
            let touched = |edit: &Edit| moves.contains_key(&edit.name);
            let touched = entry.edits.iter().any(touched);
            touched.then(|| (*id, entry.clone()))
        });
        entries.collect()
    }

    /// Forgets intents. When none is open, the journal starts anew.
    pub(crate) fn settle<D: Disk>(&mut self, disk: &D, ids: &[u64]) -> Result<()> {
        let known: Vec<u64> = ids
            .iter()
            .copied()
            .filter(|id| self.open.contains_key(id))
            .collect();
        if known.is_empty() {
            return Ok(());
        }
        // First in memory: an intent whose end could not be noted is only looked at once more after a restart.
        for id in &known {
            self.open.remove(id);
            self.unnoted.remove(id);
        }
        if self.open.is_empty() || self.size > COMPACT {
            return self.rewrite(disk);
        }
        let mut body = serde_json::to_vec(&Line::Settled { ids: known }).unwrap_or_default();
        body.push(b'\n');
        let bytes = frame(&body);
        self.size += bytes.len();
        disk.journal_append(&bytes)
    }

    fn rewrite<D: Disk>(&mut self, disk: &D) -> Result<()> {
        let mut bytes = header();
        for (id, entry) in &self.open {
            bytes.extend(frame(&intent_body(*id, entry)));
        }
        self.size = bytes.len();
        disk.journal_replace(&bytes)?;
        // What has landed is written down as landed, so nothing is left to be noted.
        self.unnoted.clear();
        Ok(())
    }
}

fn header() -> Vec<u8> {
    [MAGIC, &[VERSION]].concat()
}

fn refuse<D: Disk>(disk: &D, why: &str) -> Error {
    Error::Journal {
        path: disk.journal_path(),
        why: why.to_owned(),
    }
}

fn intent_body(id: u64, entry: &Entry) -> Vec<u8> {
    let of = |edit| RefLine::of(edit, entry.landed);
    let refs = entry.edits.iter().map(of).collect();
    let commit = entry.commit.map(|c| c.to_string());
    let line = Line::Intent { id, commit, refs };
    let mut body = serde_json::to_vec(&line).unwrap_or_default();
    body.push(b'\n');
    body.extend_from_slice(&entry.payload);
    body
}

fn checksum(body: &[u8]) -> [u8; 8] {
    let mut first = [0; 8];
    let digest = Sha256::digest(body);
    first
        .iter_mut()
        .zip(digest.iter())
        .for_each(|(to, from)| *to = *from);
    first
}

fn frame(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes()[..], &checksum(body), body].concat()
}

/// The first entry and the bytes that its frame takes; `None` if it is not whole.
fn unframe(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    let end = 12 + usize::try_from(length).ok()?;
    let body = bytes.get(12..end)?;
    (checksum(body) == *bytes.get(4..12)?).then_some((body, end))
}

fn oid(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

impl RefLine {
    fn of(edit: &Edit, landed: bool) -> Self {
        let from = if landed { edit.new } else { edit.old };
        Self {
            name: edit.name.as_str().to_owned(),
            from: from.map(|id| id.to_string()),
            to: edit.new.map(|id| id.to_string()),
            local: edit.scope == Scope::Local,
        }
    }

    fn parse(self) -> Option<Edit> {
        let id = |hex: Option<String>| match hex {
            Some(hex) => oid(&hex).map(Some),
            None => Some(None),
        };
        Some(Edit {
            name: RefName::parse(&self.name).ok()?,
            old: id(self.from)?,
            new: id(self.to)?,
            scope: if self.local {
                Scope::Local
            } else {
                Scope::Remote
            },
        })
    }
}

#[cfg(test)]
mod tests;
