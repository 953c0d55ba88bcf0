//! Git's objects as bytes: commits and trees are encoded and read here, and hashed.
//!
//! One builder makes every commit ([`encode_commit`]): the place where signing would hook in.

use std::borrow::Cow;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use model::{BlobId, CommitId, TreeId};

use crate::error::{Error, Result};

/// A moment, as git writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Offset from UTC in minutes; display only.
    pub offset_minutes: i32,
}

impl Time {
    /// A moment in UTC.
    pub fn utc(seconds: i64) -> Self {
        Self {
            seconds,
            offset_minutes: 0,
        }
    }
}

/// Who made a commit, and when.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Signature {
    /// The name; characters that git refuses are dropped when written.
    pub name: String,
    /// The address; likewise.
    pub email: String,
    /// When.
    pub time: Time,
}

/// A commit, as far as we look. The message is bytes to us, shown as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: CommitId,
    /// The root directory.
    pub tree: TreeId,
    /// The parents, the branch's own first.
    pub parents: Vec<CommitId>,
    /// Who wrote it.
    pub author: Signature,
    /// Who committed it.
    pub committer: Signature,
    /// The whole message; bytes that are no UTF-8 are replaced.
    pub message: String,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: u32,
    pub(crate) name: Vec<u8>,
    pub(crate) id: ObjectId,
}

pub(crate) const TREE: u32 = 0o40000;
pub(crate) const BLOB: u32 = 0o100_644;
pub(crate) const EXEC: u32 = 0o100_755;
pub(crate) const SUBMODULE: u32 = 0o160_000;

impl Entry {
    pub(crate) fn is_tree(&self) -> bool {
        self.mode == TREE
    }

    /// A file with content that we may read; symlinks and submodules are not.
    pub(crate) fn is_file(&self) -> bool {
        is_file(self.mode)
    }
}

/// Whether a mode is that of a file with content that we may read.
pub(crate) fn is_file(mode: u32) -> bool {
    mode & 0o170_000 == 0o100_000
}

/// Ids as gix has them, from ids that do not know their width.
pub(crate) trait Oid {
    fn oid(&self) -> Result<ObjectId>;
}

macro_rules! oid {
    ($($id:ident),*) => {$(
        impl Oid for $id {
            fn oid(&self) -> Result<ObjectId> {
                ObjectId::try_from(self.as_slice()).map_err(|_| Error::Nonsense {
                    attempt: "use an object id",
                    why: format!("{self} has {} bytes, not 20", self.as_slice().len()),
                })
            }
        }
    )*};
}
oid!(CommitId, TreeId, BlobId);

/// The other way round; 20 bytes always fit.
macro_rules! wide {
    ($($name:ident: $id:ident),*) => {$(
        pub(crate) fn $name(id: &ObjectId) -> $id {
            $id::from_bytes(id.as_bytes()).expect("20 bytes fit")
        }
    )*};
}
wide!(commit_id: CommitId, tree_id: TreeId, blob_id: BlobId);

pub(crate) fn hash(kind: Kind, raw: &[u8]) -> Result<ObjectId> {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, raw).map_err(|e| Error::Nonsense {
        attempt: "hash an object",
        why: e.to_string(),
    })
}

fn damaged(id: &ObjectId, why: &str) -> Error {
    Error::Damaged {
        id: id.to_string(),
        why: why.to_owned(),
    }
}

/// The entries of a tree, in git's order.
pub(crate) fn decode_tree(id: &ObjectId, raw: &[u8]) -> Result<Arc<[Entry]>> {
    let mut entries = Vec::new();
    let mut rest = raw;
    while !rest.is_empty() {
        let (entry, after) = next_entry(rest).ok_or_else(|| damaged(id, "it is no tree"))?;
        entries.push(Entry {
            mode: entry.mode,
            name: entry.name.to_vec(),
            id: entry.id,
        });
        rest = after;
    }
    Ok(entries.into())
}

pub(crate) struct RawEntry<'a> {
    pub(crate) mode: u32,
    pub(crate) name: &'a [u8],
    pub(crate) id: ObjectId,
}

/// The directory of this name in a tree's bytes.
pub(crate) fn find_dir(raw: &[u8], name: &[u8]) -> Option<ObjectId> {
    let mut rest = raw;
    while let Some((is_tree, found, after)) = next_name(rest) {
        if is_tree && found == name {
            return next_entry(rest).map(|(entry, _)| entry.id);
        }
        rest = after;
    }
    None
}

/// What the first entry of a tree's bytes is called, whether it is a directory, and what follows: of the thousands in a root
/// directory all but one are only passed by.
pub(crate) fn next_name(raw: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let Some(rest) = raw.strip_prefix(b"40000 ") else {
        let (entry, after) = next_entry(raw)?;
        return Some((entry.mode == TREE, entry.name, after));
    };
    let (name, id) = rest.split_at(memchr::memchr(0, rest)?);
    Some((true, name, id.get(21..)?))
}

/// Whether something of this name in a tree's bytes is no directory.
pub(crate) fn holds_no_dir(raw: &[u8], name: &[u8]) -> bool {
    let mut rest = raw;
    while let Some((is_dir, entry, after)) = next_name(rest) {
        if !is_dir && entry == name {
            return true;
        }
        rest = after;
    }
    false
}

/// The first entry of a tree's bytes and what follows.
pub(crate) fn next_entry(raw: &[u8]) -> Option<(RawEntry<'_>, &[u8])> {
    let space = raw.iter().take(8).position(|b| *b == b' ')?;
    let mode = raw.get(..space)?.iter().try_fold(0u32, |mode, b| {
        b.is_ascii_digit().then(|| mode * 8 + u32::from(b - b'0'))
    })?;
    let rest = raw.get(space + 1..)?;
    let nul = rest.iter().position(|b| *b == 0)?;
    let id = ObjectId::try_from(rest.get(nul + 1..nul + 21)?).ok()?;
    let name = rest.get(..nul)?;
    Some((RawEntry { mode, name, id }, rest.get(nul + 21..)?))
}

/// How many entries a tree has, as far as it is one.
pub(crate) fn count_entries(mut raw: &[u8]) -> usize {
    let mut count = 0;
    while let Some((_, rest)) = next_entry(raw) {
        count += 1;
        raw = rest;
    }
    count
}

/// A tree's bytes; entries need not be sorted.
pub(crate) fn encode_tree(mut entries: Vec<Entry>) -> Vec<u8> {
    entries.sort_by(|a, b| name_order(&a.name, a.is_tree(), &b.name, b.is_tree()));
    let mut raw = Vec::with_capacity(entries.len() * 40);
    for entry in &entries {
        push_entry(&mut raw, entry.mode, &entry.name, &entry.id);
    }
    raw
}

pub(crate) fn push_entry(raw: &mut Vec<u8>, mode: u32, name: &[u8], id: &ObjectId) {
    raw.extend_from_slice(format!("{mode:o} ").as_bytes());
    raw.extend_from_slice(name);
    raw.push(0);
    raw.extend_from_slice(id.as_bytes());
}

pub(crate) fn name_order(a: &[u8], a_tree: bool, b: &[u8], b_tree: bool) -> std::cmp::Ordering {
    gix::objs::tree::name_order(a, a_tree, b, b_tree)
}

/// Reads a commit; unknown headers (encoding, signatures) are passed over.
pub(crate) fn decode_commit(id: &ObjectId, raw: &[u8]) -> Result<Commit> {
    let split = raw.windows(2).position(|w| w == b"\n\n");
    let (head, body) = split.map_or((raw, &[][..]), |at| raw.split_at(at));
    let head = String::from_utf8_lossy(head);
    let field = |name: &str| {
        head.lines()
            .find_map(|l| l.strip_prefix(name)?.strip_prefix(' '))
    };
    let tree = field("tree").and_then(TreeId::parse);
    let parents = head.lines().filter_map(|l| l.strip_prefix("parent "));
    Ok(Commit {
        id: commit_id(id),
        tree: tree.ok_or_else(|| damaged(id, "it is no commit"))?,
        parents: parents.filter_map(CommitId::parse).collect(),
        author: field("author").map(decode_signature).unwrap_or_default(),
        committer: field("committer").map(decode_signature).unwrap_or_default(),
        message: String::from_utf8_lossy(body.get(2..).unwrap_or_default()).into_owned(),
    })
}

fn decode_signature(line: &str) -> Signature {
    let (who, when) = line.rsplit_once('>').unwrap_or((line, ""));
    let (name, email) = who.split_once('<').unwrap_or((who, ""));
    let mut when = when.split_whitespace();
    let seconds = when.next().and_then(|s| s.parse().ok()).unwrap_or_default();
    let offset = when
        .next()
        .and_then(|s| s.parse::<i32>().ok())
        .unwrap_or_default();
    Signature {
        name: name.trim().to_owned(),
        email: email.to_owned(),
        time: Time {
            seconds,
            offset_minutes: offset / 100 * 60 + offset % 100,
        },
    }
}

/// What a new commit says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommitText<'a> {
    pub(crate) tree: &'a ObjectId,
    pub(crate) parents: &'a [ObjectId],
    pub(crate) author: &'a Signature,
    pub(crate) committer: &'a Signature,
    pub(crate) message: &'a str,
}

/// The one builder of commits.
pub(crate) fn encode_commit(commit: CommitText<'_>) -> Result<Vec<u8>> {
    if commit.message.contains('\0') {
        let why = "its message holds a NUL".to_owned();
        return Err(Error::Nonsense {
            attempt: "write a commit",
            why,
        });
    }
    let mut text = format!("tree {}\n", commit.tree);
    for parent in commit.parents {
        text.push_str(&format!("parent {parent}\n"));
    }
    text.push_str(&format!("author {}\n", encode_signature(commit.author)));
    text.push_str(&format!(
        "committer {}\n\n",
        encode_signature(commit.committer)
    ));
    text.push_str(commit.message);
    if !commit.message.ends_with('\n') {
        text.push('\n');
    }
    Ok(text.into_bytes())
}

fn encode_signature(who: &Signature) -> String {
    let name = clean(&who.name);
    let name = if name.is_empty() {
        Cow::Borrowed("unknown")
    } else {
        name
    };
    let offset = who.time.offset_minutes;
    let (sign, minutes) = if offset < 0 {
        ('-', -offset)
    } else {
        ('+', offset)
    };
    let zone = format!("{sign}{:02}{:02}", minutes / 60 % 100, minutes % 60);
    format!(
        "{name} <{}> {} {zone}",
        clean(&who.email),
        who.time.seconds.max(0)
    )
}

/// Git's rule: no angle brackets or control characters, no crud at the ends.
fn clean(text: &str) -> Cow<'_, str> {
    let bad = |c: char| c.is_control() || c == '<' || c == '>';
    let crud = |c: char| bad(c) || c.is_whitespace() || ".,:;\"\\'".contains(c);
    let bare = text.trim_matches(crud);
    if bare.contains(bad) {
        bare.replace(bad, "").into()
    } else {
        bare.into()
    }
}

/// The target of an annotated tag.
pub(crate) fn tag_target(raw: &[u8]) -> Option<ObjectId> {
    ObjectId::from_hex(raw.strip_prefix(b"object ")?.get(..40)?).ok()
}

#[cfg(test)]
mod tests;
