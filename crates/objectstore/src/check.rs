//! Looks a store over that nobody uses: the file itself, and what must hold between objects and events.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::backend::{Loaded, StorageError};
use crate::key::{Key, ResourceKey};
use crate::object::Object;
use crate::redb_file::{Durability, RedbFile};
use crate::store::key_of;

/// How resources begin that hold no objects but notes of names that were used: each is empty but for its key.
pub const NOTES: &str = "retired:";

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The newest version.
    pub rv: u64,
    /// All objects.
    pub objects: Vec<(ResourceKey, Key, Arc<Object>)>,
    /// How many events the log holds.
    pub events: usize,
    /// What is broken.
    pub problems: Vec<String>,
}

impl Findings {
    /// Looks over the store below a data directory.
    ///
    /// # Errors
    /// It cannot be opened at all, or was written by a newer program.
    pub fn of(data: &Path) -> Result<Self, StorageError> {
        let path = data.join("objects.redb");
        let mut file = RedbFile::open_used(&path, Durability::Immediate)?;
        let (loaded, damaged, whole) = file.examine()?;
        let mut findings = judge(loaded);
        if let Some(name) = damaged {
            let name = name.replace('\0', " ");
            findings.problems.push(format!("{name} cannot be read"));
        }
        if !whole {
            let text = "the file was not whole; what could be saved was saved";
            findings.problems.push(text.to_owned());
        }
        Ok(findings)
    }
}

/// Checks what must hold between objects, events and the counters.
pub(super) fn judge(loaded: Loaded) -> Findings {
    let mut problems = Vec::new();
    let mut versions: BTreeMap<u64, String> = BTreeMap::new();
    let mut uids: BTreeMap<&str, String> = BTreeMap::new();
    for (resource, key, object) in &loaded.objects {
        let name = format!("{resource} {key}");
        let fields = &object.fields;
        let is_note = resource.starts_with(NOTES);
        if !is_note && key_of(&fields.namespace, &fields.name) != *key {
            problems.push(format!(
                "{name} holds the object {}/{}",
                fields.namespace, fields.name
            ));
        }
        if object.rv == 0 || object.rv > loaded.rv {
            problems.push(format!(
                "{name} has version {}, the newest is {}",
                object.rv, loaded.rv
            ));
        }
        if let Some(other) = versions.insert(object.rv, name.clone()) {
            problems.push(format!("{name} and {other} have version {}", object.rv));
        }
        if is_note {
            continue;
        }
        if fields.uid.is_empty() {
            problems.push(format!("{name} has no uid"));
        } else if let Some(other) = uids.insert(&fields.uid, name.clone()) {
            problems.push(format!("{name} and {other} have uid {}", fields.uid));
        }
    }
    events(&loaded, &mut problems);
    Findings {
        rv: loaded.rv,
        events: loaded.log.len(),
        problems,
        objects: loaded.objects,
    }
}

/// The log is a history: each event starts from what the one before it left, the newest leaves what is stored.
fn events(loaded: &Loaded, problems: &mut Vec<String>) {
    let mut later: BTreeMap<(&str, &str), Option<u64>> = BTreeMap::new();
    for (resource, key, object) in &loaded.objects {
        later.insert((resource, key), Some(object.rv));
    }
    let mut seen = BTreeSet::new();
    for entry in loaded.log.iter().rev() {
        let at = (entry.resource.as_ref(), entry.key.as_ref());
        let name = format!("the event {} of {} {}", entry.rv, at.0, at.1);
        if entry.rv > loaded.rv || entry.rv <= loaded.compacted || !seen.insert(entry.rv) {
            problems.push(format!(
                "{name} is not between {} and {}",
                loaded.compacted, loaded.rv
            ));
        }
        if let Some(after) = later.get(&at).copied().flatten()
            && after != entry.rv
        {
            problems.push(format!("{name} leads to version {after}"));
        }
        let before = entry.old.as_ref().map(|old| old.rv);
        if before.is_some_and(|before| before >= entry.rv) {
            problems.push(format!("{name} starts from a later version"));
        }
        later.insert(at, before);
    }
}
