//! What stands in the tables of the file: objects and events, as bytes.

use std::sync::Arc;

use crate::backend::LogEntry;
use crate::key::{Key, ResourceKey};
use crate::object::Object;
use crate::text::Packers;

/// Reads an object of the first table.
pub(super) fn stored(
    name: &str,
    disk: &[u8],
    packers: &mut Packers,
) -> Option<(ResourceKey, Key, Arc<Object>)> {
    let (resource, key) = name.split_once('\0')?;
    let resource = ResourceKey::from(resource);
    let object = Object::from_disk(disk, packers.of(&resource))?;
    Some((resource, key.into(), Arc::new(object)))
}

/// Writes an event: lengths and texts of resource and key, then the old state if there was one.
pub(super) fn encode(entry: &LogEntry) -> Vec<u8> {
    let mut out = Vec::new();
    for text in [entry.resource.as_ref(), entry.key.as_ref()] {
        out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    if let Some(old) = &entry.old {
        out.extend_from_slice(&old.to_disk());
    }
    out
}

pub(super) fn decode(rv: u64, disk: &[u8], packers: &mut Packers) -> Option<LogEntry> {
    let (resource, rest) = text(disk)?;
    let (key, rest) = text(rest)?;
    let resource = ResourceKey::from(resource);
    let old = if rest.is_empty() {
        None
    } else {
        let packer = packers.of(&resource);
        Some(Arc::new(Object::from_disk(rest, packer)?))
    };
    Some(LogEntry {
        rv,
        resource,
        key: Key::from(key),
        old,
    })
}

fn text(disk: &[u8]) -> Option<(&str, &[u8])> {
    let len = u32::from_le_bytes(disk.get(..4)?.try_into().ok()?) as usize;
    let end = 4_usize.checked_add(len)?;
    Some((
        std::str::from_utf8(disk.get(4..end)?).ok()?,
        disk.get(end..)?,
    ))
}
