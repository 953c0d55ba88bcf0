//! The in-memory twin of the durable medium.
//!
//! Clones share one image, so a test can drop a store (a crash) and open another on what was durable.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::backend::{Backend, Change, Loaded, LogEntry, StorageError};
use crate::key::{Key, ResourceKey};
use crate::lock;
use crate::object::Object;

#[derive(Debug, Default)]
struct Image {
    rv: u64,
    compacted: u64,
    objects: BTreeMap<(ResourceKey, Key), Arc<Object>>,
    log: BTreeMap<u64, LogEntry>,
    fail: Option<StorageError>,
}

/// A medium that lives as long as its last clone.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    image: Arc<Mutex<Image>>,
}

impl Memory {
    /// Makes an empty medium.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets every later transaction fail so, as a full disk would; `None` heals it.
    pub fn fail_writes(&self, error: Option<StorageError>) {
        lock(&self.image).fail = error;
    }
}

impl Backend for Memory {
    fn load(&mut self) -> Result<Loaded, StorageError> {
        let image = lock(&self.image);
        let objects = image
            .objects
            .iter()
            .map(|((r, k), o)| (r.clone(), k.clone(), Arc::clone(o)))
            .collect();
        let log = image.log.values().cloned().collect();
        Ok(Loaded {
            rv: image.rv,
            compacted: image.compacted,
            objects,
            log,
        })
    }

    fn persist(
        &mut self,
        changes: &[Change],
        rv: u64,
        compact: Option<u64>,
    ) -> Result<(), StorageError> {
        let mut image = lock(&self.image);
        if let Some(error) = &image.fail {
            return Err(error.clone());
        }
        for change in changes {
            let key = (change.entry.resource.clone(), change.entry.key.clone());
            match &change.new {
                Some(object) => image.objects.insert(key, Arc::clone(object)),
                None => image.objects.remove(&key),
            };
            image.log.insert(change.entry.rv, change.entry.clone());
        }
        image.rv = rv;
        if let Some(to) = compact {
            image.compacted = image.compacted.max(to);
            image.log = image.log.split_off(&(to + 1));
        }
        Ok(())
    }
}
