//! Trees: files into trees, a package's tree into a repository's, and small differences between
//! large trees.

use std::collections::BTreeMap;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use model::{File, FileMode, Files};

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::object::{
    BLOB, EXEC, Entry, Oid as _, SUBMODULE, TREE, encode_tree, find_dir, next_name, push_entry,
};
use crate::reader::RepoReader;
use crate::staged::{Delta, Packed, Part, Parts, deflate};
use crate::{Dir, Opaque};

/// Trees smaller than this are written whole: a difference would save nothing.
const WORTH_A_DELTA: usize = 1 << 10;

enum Node {
    Leaf(u32, ObjectId),
    Dir(BTreeMap<Vec<u8>, Self>),
}

/// The tree of a package's files, with all that it is made of. `None` if there is nothing.
pub(crate) fn of_files<D: Disk>(
    reader: &RepoReader<D>,
    files: &Files,
    opaque: &[Opaque],
    out: &mut Parts,
) -> Result<Option<ObjectId>> {
    let mut top = BTreeMap::new();
    for (path, file) in files {
        let mode = match file.mode() {
            FileMode::Regular => BLOB,
            FileMode::Executable => EXEC,
        };
        let id = build_blob(reader, file, out)?;
        plant(&mut top, path.as_str().as_bytes(), mode, id)?;
    }
    for entry in opaque {
        plant(&mut top, &entry.path, entry.mode, entry.oid()?)?;
        // A submodule's commit is in another repository.
        if entry.mode & 0o170_000 != SUBMODULE {
            out.relies.insert(entry.oid()?);
        }
    }
    if top.is_empty() {
        return Ok(None);
    }
    build_dir(reader, top, out).map(Some)
}

fn build_blob<D: Disk>(reader: &RepoReader<D>, file: &File, out: &mut Parts) -> Result<ObjectId> {
    match file {
        File::Kept { id, bytes, .. } => {
            let id = id.oid()?;
            out.add(if reader.has(&id)? {
                Part::Kept(id, Arc::clone(bytes))
            } else {
                Part::Built(reader.staging.stage_as(id, Kind::Blob, Arc::clone(bytes))?)
            });
            Ok(id)
        }
        File::New { bytes, .. } => build(reader, Kind::Blob, Arc::clone(bytes), out),
    }
}

/// An object that was made here; the repository may have it all the same.
fn build<D: Disk>(
    reader: &RepoReader<D>,
    kind: Kind,
    raw: Arc<[u8]>,
    out: &mut Parts,
) -> Result<ObjectId> {
    let packed = Packed::new(kind, raw)?;
    let id = packed.id;
    reader
        .limits
        .check_object(kind, &id, packed.raw.len() as u64)?;
    out.build(if reader.has(&id)? {
        Arc::new(packed)
    } else {
        reader.staging.keep(packed)?
    });
    Ok(id)
}

fn build_dir<D: Disk>(
    reader: &RepoReader<D>,
    dir: BTreeMap<Vec<u8>, Node>,
    out: &mut Parts,
) -> Result<ObjectId> {
    let mut entries = Vec::with_capacity(dir.len());
    for (name, node) in dir {
        let (mode, id) = match node {
            Node::Leaf(mode, id) => (mode, id),
            Node::Dir(dir) => (TREE, build_dir(reader, dir, out)?),
        };
        entries.push(Entry { mode, name, id });
    }
    build(reader, Kind::Tree, encode_tree(entries).into(), out)
}

/// The root tree with another directory at `dir` (or none); its new trees are added to `out`.
pub(crate) fn graft<D: Disk>(
    reader: &RepoReader<D>,
    root: Option<ObjectId>,
    dir: &Dir,
    content: Option<ObjectId>,
    out: &mut Parts,
) -> Result<ObjectId> {
    let segments: Vec<&str> = dir.segments().collect();
    match graft_below(reader, root, &segments, content, out)? {
        Some(id) => Ok(id),
        None => {
            let empty = reader.staging.stage(Kind::Tree, Arc::from(&[][..]))?;
            let id = empty.id;
            out.build(empty);
            Ok(id)
        }
    }
}

fn graft_below<D: Disk>(
    reader: &RepoReader<D>,
    tree: Option<ObjectId>,
    segments: &[&str],
    content: Option<ObjectId>,
    out: &mut Parts,
) -> Result<Option<ObjectId>> {
    let Some((first, rest)) = segments.split_first() else {
        return Ok(content);
    };
    let old: Arc<[u8]> = match tree {
        Some(id) => reader.read_as(&id, Kind::Tree)?,
        None => Arc::from(&[][..]),
    };
    let child = find_dir(&old, first.as_bytes());
    let new_child = graft_below(reader, child, rest, content, out)?;
    // Equal below, so equal here: no tree is made, and the old one need not be written again.
    if new_child == child && tree.is_some() {
        return Ok(tree);
    }
    let raw = splice(&old, first.as_bytes(), new_child.as_ref()).ok_or_else(|| Error::Damaged {
        id: tree.map_or_else(String::new, |t| t.to_string()),
        why: "it is no tree".to_owned(),
    })?;
    if raw.is_empty() {
        return Ok(None);
    }
    let mut packed = Packed::new(Kind::Tree, raw.into())?;
    // Nobody could read it again.
    let size = packed.raw.len() as u64;
    reader.limits.check_object(Kind::Tree, &packed.id, size)?;
    if let Some(base) = tree.filter(|_| packed.raw.len() >= WORTH_A_DELTA) {
        packed.delta = Some(difference(base, old, &packed.raw));
    }
    let packed = reader.staging.keep(packed)?;
    let id = packed.id;
    out.build(packed);
    Ok(Some(id))
}

fn plant(top: &mut BTreeMap<Vec<u8>, Node>, path: &[u8], mode: u32, id: ObjectId) -> Result<()> {
    let clash = || Error::Nonsense {
        attempt: "write a package",
        why: format!(
            "{} is already a link, a submodule or a file, or a directory of one, so that no file can be written there",
            String::from_utf8_lossy(path)
        ),
    };
    let mut segments: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
    let Some(leaf) = segments.pop() else {
        return Ok(());
    };
    let mut dir = top;
    for segment in segments {
        let node = dir
            .entry(segment.to_vec())
            .or_insert_with(|| Node::Dir(BTreeMap::new()));
        match node {
            Node::Dir(below) => dir = below,
            Node::Leaf(..) => return Err(clash()),
        }
    }
    match dir.insert(leaf.to_vec(), Node::Leaf(mode, id)) {
        None => Ok(()),
        Some(_) => Err(clash()),
    }
}

/// A tree's bytes with the entry of this name replaced, inserted or removed. `None`: no tree.
fn splice(raw: &[u8], name: &[u8], new: Option<&ObjectId>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(raw.len() + name.len() + 32);
    let mut rest = raw;
    let mut placed = new.is_none();
    // What stays is taken over in runs, not entry by entry.
    let mut run = raw;
    while !rest.is_empty() {
        let (is_tree, found, after) = next_name(rest)?;
        let order = || crate::object::name_order(found, is_tree, name, true);
        let here = !placed && order().is_ge();
        // A file of the same name gives way to the directory: git cannot hold both.
        let goes = found == name;
        if here || goes {
            out.extend_from_slice(run.get(..run.len() - rest.len())?);
            run = if goes { after } else { rest };
        }
        if here {
            place(&mut out, name, new);
            placed = true;
        }
        rest = after;
    }
    out.extend_from_slice(run);
    if !placed {
        place(&mut out, name, new);
    }
    Some(out)
}

fn place(out: &mut Vec<u8>, name: &[u8], new: Option<&ObjectId>) {
    if let Some(id) = new {
        push_entry(out, TREE, name, id);
    }
}

/// What a pack says instead of a large tree of which one entry changed.
fn difference(base: ObjectId, base_raw: Arc<[u8]>, target: &[u8]) -> Delta {
    let bytes = encode_delta(&base_raw, target);
    Delta {
        base,
        base_raw,
        size: bytes.len(),
        deflated: deflate(&bytes),
    }
}

/// Git's delta format: the common start, what is new, the common end.
pub(crate) fn encode_delta(base: &[u8], target: &[u8]) -> Vec<u8> {
    let start = common_start(base, target);
    let rest = (
        base.get(start..).unwrap_or_default(),
        target.get(start..).unwrap_or_default(),
    );
    let end = common_end(rest.0, rest.1);
    let mut out = Vec::with_capacity(64);
    push_varint(&mut out, base.len());
    push_varint(&mut out, target.len());
    push_copy(&mut out, 0, start);
    let new = target.get(start..target.len() - end).unwrap_or_default();
    for chunk in new.chunks(127) {
        out.push(chunk.len().to_le_bytes()[0]);
        out.extend_from_slice(chunk);
    }
    push_copy(&mut out, base.len() - end, end);
    out
}

/// How many bytes are compared at once, before what differs is looked for byte by byte.
const STRIDE: usize = 64;

/// How many bytes two texts begin with in common.
fn common_start(a: &[u8], b: &[u8]) -> usize {
    let strides = a.chunks_exact(STRIDE).zip(b.chunks_exact(STRIDE));
    let alike = STRIDE * strides.take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(alike..), b.get(alike..));
    let rest = a.into_iter().flatten().zip(b.into_iter().flatten());
    alike + rest.take_while(|(a, b)| a == b).count()
}

/// How many bytes two texts end with in common.
fn common_end(a: &[u8], b: &[u8]) -> usize {
    let strides = a.rchunks_exact(STRIDE).zip(b.rchunks_exact(STRIDE));
    let alike = STRIDE * strides.take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(..a.len() - alike), b.get(..b.len() - alike));
    let a = a.into_iter().flatten().rev();
    let rest = a.zip(b.into_iter().flatten().rev());
    alike + rest.take_while(|(a, b)| a == b).count()
}

fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

fn push_copy(out: &mut Vec<u8>, mut offset: usize, mut size: usize) {
    while size > 0 {
        let now = size.min(0xffff);
        let at = out.len();
        let mut op = 0x80;
        out.push(op);
        for (bit, byte) in offset.to_le_bytes().into_iter().take(4).enumerate() {
            if byte != 0 {
                op |= 1 << bit;
                out.push(byte);
            }
        }
        for (bit, byte) in now.to_le_bytes().into_iter().take(2).enumerate() {
            if byte != 0 {
                op |= 0x10 << bit;
                out.push(byte);
            }
        }
        if let Some(first) = out.get_mut(at) {
            *first = op;
        }
        offset += now;
        size -= now;
    }
}

#[cfg(test)]
mod tests;
