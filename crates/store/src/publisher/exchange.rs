//! One word with the remote: a fetch, or a step of a push.

use std::collections::BTreeMap;
use std::sync::Arc;

use gix::ObjectId;

use super::Publisher;
use crate::RefName;
use crate::disk::{Disk, PushStep, Pushed, RawEdit, Upstream, Who};
use crate::error::Result;
use crate::fault::{FaultVerdict, Point};
use crate::staged::Packed;
use crate::stats::add;

impl<D: Disk> Publisher<D> {
    /// Brings the remote's refs and objects here.
    pub(crate) fn bring(&self, who: &Who) -> Result<()> {
        let Some(upstream) = self.reader.disk.upstream() else {
            return Ok(());
        };
        if self.reader.fault(Point::BeforeFetch)? == FaultVerdict::Unreachable {
            return Err(self.unreachable("fetch from"));
        }
        add(&self.reader.counters.fetches, 1);
        upstream.fetch(who)
    }

    pub(crate) fn push_step(
        &self,
        upstream: &dyn Upstream,
        edits: &[RawEdit],
        beside: &[(RefName, Option<ObjectId>)],
        along: &BTreeMap<ObjectId, Arc<Packed>>,
        who: &Who,
    ) -> Result<Pushed> {
        add(&self.reader.counters.pushes, 1);
        let step = PushStep {
            edits,
            beside,
            lacking: &|theirs| self.reader.lacking(edits, theirs, along),
        };
        upstream.push(&step, who)
    }
}
