//! A watch: a cursor into the ring of one resource.
//!
//! It holds no events of its own. A watcher that falls behind the ring is told so once and has to list again;
//! it never delays the writer or another watcher.

use std::sync::Arc;

use tokio::sync::watch;

use crate::key::ResourceKey;
use crate::shared::Shared;
use crate::state::Event;

/// How many events are taken at once: bounds how long the picture is held.
const TAKE: usize = 256;

/// No more events are taken once they have so many bytes: bounds what a watcher that reads slowly keeps from being forgotten.
const TAKE_BYTES: usize = 1 << 20;

/// The cursor points at events that are no longer kept: list again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct Gone {
    /// The version that was asked for.
    pub asked: u64,
    /// The version up to which events were forgotten.
    pub oldest: u64,
}

/// Follows the changes of one resource from a version on, in version order.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    resource: ResourceKey,
    cursor: u64,
    told: watch::Receiver<u64>,
}

impl Watch {
    pub(crate) fn new(shared: Arc<Shared>, resource: ResourceKey, from: u64) -> Result<Self, Gone> {
        let told = {
            // Floor and subscription under one lock: no event falls between the two.
            let mut state = shared.write();
            let table = state.table(&resource);
            if from < table.floor {
                return Err(Gone {
                    asked: from,
                    oldest: table.floor,
                });
            }
            table.tell.subscribe()
        };
        Ok(Self {
            shared,
            resource,
            cursor: from,
            told,
        })
    }

    /// The version that was delivered last.
    #[must_use]
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Whether something was written to the resource since events were taken last.
    #[must_use]
    pub fn pending(&self) -> bool {
        self.told.has_changed().unwrap_or(true)
    }

    /// Takes the events that are there now, without waiting; empty if there are none.
    ///
    /// # Errors
    /// The watcher was too slow.
    pub fn ready(&mut self) -> Result<Vec<Event>, Gone> {
        // Marked before the look: what comes in between wakes once too often, and nothing is slept through.
        self.told.mark_unchanged();
        let state = self.shared.read();
        let Some(table) = state.tables.get(&self.resource) else {
            return Ok(Vec::new());
        };
        if self.cursor < table.floor {
            return Err(Gone {
                asked: self.cursor,
                oldest: table.floor,
            });
        }
        let start = table.ring.partition_point(|event| event.rv <= self.cursor);
        let mut taken: Vec<Event> = Vec::new();
        let mut bytes = 0_usize;
        let mut rest = table.ring.range(start..);
        while taken.len() < TAKE && bytes < TAKE_BYTES {
            let Some(event) = rest.next() else { break };
            bytes += event.object.text_len();
            taken.push(event.clone());
        }
        // Beyond what was asked for nothing is skipped: a watch from the future stays silent until it is reached.
        if rest.next().is_none() {
            self.cursor = self.cursor.max(state.rv);
        } else if let Some(last) = taken.last() {
            self.cursor = last.rv;
        }
        Ok(taken)
    }

    /// Waits for events.
    ///
    /// # Errors
    /// The watcher was too slow, or the store was closed.
    pub async fn next(&mut self) -> Result<Vec<Event>, Gone> {
        loop {
            let events = self.ready()?;
            if !events.is_empty() {
                return Ok(events);
            }
            if self.told.changed().await.is_err() {
                return Err(Gone {
                    asked: self.cursor,
                    oldest: self.cursor,
                });
            }
        }
    }
}
