//! The memory twin's other side: what a network and the server behind it make of a push.

use std::fmt;
use std::sync::{Arc, Mutex};

use super::MemoryDisk;
use super::site::Site;
use crate::disk::{PushStep, Pushed, Turn, Upstream, Who};
use crate::error::Result;
use crate::lru::lock;
use crate::refname::mirrored;

/// What becomes of one step of a push on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    /// It arrives, and the answer does.
    #[default]
    Through,
    /// Nothing arrives, and nobody is told: an error of a server that may come before or after.
    Nothing,
    /// Its objects arrive, no ref moves, and nobody is told.
    Objects,
    /// The server takes refs one by one and breaks off half way, and nobody is told.
    Half,
}

/// Decides what becomes of pushes.
pub trait Wire: Send + Sync + fmt::Debug {
    /// What becomes of a step that moves this many refs.
    fn push(&self, url: &str, refs: usize) -> Delivery;
}

/// Everything arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sound;

impl Wire for Sound {
    fn push(&self, _url: &str, _refs: usize) -> Delivery {
        Delivery::Through
    }
}

/// The other side of a mirror.
pub(super) struct Remote {
    pub(super) url: String,
    pub(super) site: Arc<Mutex<Site>>,
    pub(super) wire: Arc<dyn Wire>,
}

impl Upstream for MemoryDisk {
    fn push(&self, step: &PushStep<'_>, _who: &Who) -> Result<Pushed> {
        let Some(Remote { url, site, wire }) = &self.remote else {
            return Ok(Pushed::Taken);
        };
        let theirs = lock(site).refs.clone();
        let stale = step.stale(&theirs);
        if !stale.is_empty() {
            return Ok(Pushed::Stale(stale));
        }
        let delivery = wire.push(url, step.edits.len());
        if delivery == Delivery::Nothing {
            return Ok(Pushed::Unheard);
        }
        let sent = match step.lacking {
            lacking if step.makes() => lacking(&theirs)?,
            _ => Some(Vec::new()),
        };
        let mut remote = lock(site);
        match sent {
            Some(objects) => remote.take(&objects),
            None => remote.copy(
                &lock(&self.site),
                step.edits.iter().filter_map(|e| e.new).collect(),
            ),
        }
        if delivery == Delivery::Objects {
            return Ok(Pushed::Unheard);
        }
        let declined = remote.declined(step.edits);
        let gone = || step.edits.iter().filter(|e| e.new.is_none());
        if !declined.is_empty() && remote.lacks(step.edits) && gone().next().is_some() {
            // As git does, also where all or nothing was asked for: what leads nowhere is refused, deletions are taken.
            gone().for_each(|edit| remote.apply(edit));
            return Ok(Pushed::Unheard);
        }
        if !declined.is_empty() {
            return Ok(Pushed::Declined(declined));
        }
        let taken = match delivery {
            Delivery::Half => step.edits.len() / 2,
            _ => step.edits.len(),
        };
        step.edits
            .iter()
            .take(taken)
            .for_each(|edit| remote.apply(edit));
        Ok(match delivery {
            Delivery::Half => Pushed::Unheard,
            _ => Pushed::Taken,
        })
    }

    fn turn(&self, _who: &Who) -> Turn {
        Box::pin(async { Ok(Box::new(()) as Box<dyn Send>) })
    }

    fn fetch(&self, _who: &Who) -> Result<()> {
        let Some(Remote { site: remote, .. }) = &self.remote else {
            return Ok(());
        };
        let remote = lock(remote);
        let mut site = lock(&self.site);
        site.copy(&remote, remote.refs.values().copied().collect());
        site.refs.retain(|name, _| !mirrored(name));
        // A server tells of no ref that leads nowhere.
        let theirs = remote
            .refs
            .iter()
            .filter(|(name, id)| mirrored(name) && remote.objects.contains_key(*id));
        site.refs
            .extend(theirs.map(|(name, id)| (name.clone(), *id)));
        site.durable_refs = site.refs.clone();
        Ok(())
    }
}
