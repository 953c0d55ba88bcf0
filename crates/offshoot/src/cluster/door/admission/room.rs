//! Room for questions while they arrive. It is counted by what has arrived, not by who has begun to ask: whoever opens many
//! questions and says nothing in them takes nothing from others. One address fills a quarter of it at most, which is room for
//! thousands of usual questions, since the cluster's API server may be one address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::body::Body;
use futures::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many bytes are one unit.
const UNIT: usize = 1 << 10;

/// How many units of questions are in memory at once.
const ALL: usize = 256 << 10;

/// How many of them may be of one address.
const SHARE: usize = ALL / 4;

/// Room for questions.
#[derive(Debug)]
pub(super) struct Room {
    all: Arc<Semaphore>,
    addresses: Mutex<BTreeMap<Option<IpAddr>, Weak<Semaphore>>>,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(ALL)),
            addresses: Mutex::default(),
        }
    }
}

/// Why a question was not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// It is too long, or was cut off.
    TooLong,
}

/// A question that has arrived, and keeps its room until it is answered.
#[derive(Debug)]
pub(super) struct Taken {
    text: Vec<u8>,
    /// Of the address first: it holds nothing of the whole while it waits for its own share.
    room: Vec<OwnedSemaphorePermit>,
}

impl Taken {
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }
}

impl Room {
    /// Reads a question, as far as there is room.
    ///
    /// # Errors
    /// It is longer than `limit`, or was cut off.
    pub(super) async fn take(
        &self,
        from: Option<IpAddr>,
        body: Body,
        limit: usize,
    ) -> Result<Taken, Unread> {
        let own = self.of(from);
        let mut taken = Taken {
            text: Vec::new(),
            room: Vec::new(),
        };
        let mut held = 0;
        let mut arriving = body.into_data_stream();
        while let Some(part) = arriving.next().await {
            let part = part.map_err(|_| Unread::TooLong)?;
            let length = taken.text.len() + part.len();
            if length > limit {
                return Err(Unread::TooLong);
            }
            let units = u32::try_from(length.div_ceil(UNIT) - held).unwrap_or(u32::MAX);
            for of in [&own, &self.all] {
                let permit = Arc::clone(of).acquire_many_owned(units).await;
                taken.room.push(permit.map_err(|_| Unread::TooLong)?);
            }
            held = length.div_ceil(UNIT);
            taken.text.extend_from_slice(&part);
        }
        Ok(taken)
    }

    /// The share of an address; those that nobody asks from any more are forgotten.
    fn of(&self, from: Option<IpAddr>) -> Arc<Semaphore> {
        let mut addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = addresses.get(&from).and_then(Weak::upgrade) {
            return share;
        }
        addresses.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(SHARE));
        addresses.insert(from, Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests;
