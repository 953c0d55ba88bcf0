//! Field owners of records: the embedding program writes the object, and the server says who owns its fields.
//!
//! A request's owners are computed before the program is asked, which knows nothing of them. They wait here while it
//! works, and are written with the record: in one transaction, as one event. A record that is written at another time
//! keeps the owners that it has.

use std::collections::BTreeMap;
use std::sync::Mutex;

use objects::Backing;
use objects::write::{managed, metadata_mut, rv_of};
use objectstore::{CommitError, Expect, ObjectRef};
use serde_json::Value;

use super::records::Former;
use super::{Core, RequestTarget};
use crate::gateway::{Call, Gateway, Verb};
use crate::lock::lock;

/// The owners of requests that are under way, by the record that they ask for.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    claims: BTreeMap<ObjectRef, Vec<(u64, Value)>>,
}

/// One request's owners; gone when the request is answered, however it ends.
pub(crate) struct Claim<'a> {
    claims: &'a Claims,
    at: ObjectRef,
    number: u64,
}

impl Claims {
    fn make(&self, at: ObjectRef, owners: Value) -> Claim<'_> {
        let mut waiting = lock(&self.0);
        waiting.next += 1;
        let number = waiting.next;
        let line = waiting.claims.entry(at.clone()).or_default();
        line.push((number, owners));
        Claim {
            claims: self,
            at,
            number,
        }
    }

    /// The owners that the newest request for a record computed.
    fn newest(&self, at: &ObjectRef) -> Option<Value> {
        let waiting = lock(&self.0);
        let (_, owners) = waiting.claims.get(at)?.last()?;
        Some(owners.clone())
    }
}

impl Claim<'_> {
    /// The owners that the request computed.
    pub(super) fn owners(&self) -> Value {
        let waiting = lock(&self.claims.0);
        let line = waiting.claims.get(&self.at).into_iter().flatten();
        let mut mine = line.filter(|(number, _)| *number == self.number);
        mine.next()
            .map(|(_, owners)| owners.clone())
            .unwrap_or_default()
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.claims.0);
        if let Some(line) = waiting.claims.get_mut(&self.at) {
            line.retain(|(number, _)| *number != self.number);
            if line.is_empty() {
                waiting.claims.remove(&self.at);
            }
        }
    }
}

/// The owners that an object names.
fn owners(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/managedFields")
}

fn set_owners(object: &mut Value, owners: Value) {
    if let Some(metadata) = metadata_mut(object) {
        metadata.insert("managedFields".to_owned(), owners);
    }
}

impl Core {
    /// The record that a call is about: what a create asks for may be kept under another name than the one that was sent.
    pub(super) fn kept_as(
        &self,
        target: &RequestTarget,
        call: &Call,
        gateway: &dyn Gateway,
    ) -> RequestTarget {
        let composed = (call.verb == Verb::Create).then(|| gateway.composed_name(call));
        let name = composed.flatten();
        target
            .clone()
            .at(&target.namespace, name.as_ref().unwrap_or(&target.name))
    }

    /// Keeps the owners of a write that the embedding program is asked for, until it is answered.
    pub(super) fn claim(
        &self,
        target: &RequestTarget,
        new: Option<&Value>,
        dry: bool,
    ) -> Option<Claim<'_>> {
        if target.resource.backing != Backing::WriteThrough || dry {
            return None;
        }
        let at = (target.resource.key(), target.key());
        Some(self.claims.make(at, owners(new?)?.clone()))
    }

    /// Gives a record that names no owners those of the request that it answers, or else those that it had.
    pub(super) fn own_record(
        &self,
        target: &RequestTarget,
        old: Option<&Former>,
        object: &mut Value,
    ) {
        if owners(object).is_some() {
            return;
        }
        let claimed = self.claims.newest(&(target.resource.key(), target.key()));
        if let Some(owners) = claimed.or_else(|| old.and_then(Former::owners)) {
            set_owners(object, owners);
        }
    }

    /// Completes an answer of the embedding program by the owners that are stored; where it found nothing to write
    /// although owners change, they are written now.
    pub(super) async fn show_owners(
        &self,
        target: &RequestTarget,
        asked: Option<Value>,
        object: &mut Value,
    ) -> Result<(), CommitError> {
        let Some(asked) = asked.filter(|_| owners(object).is_none()) else {
            return Ok(());
        };
        let found = self.store.get(&target.resource.key(), &target.key());
        // Owners belong to the state that is answered: whoever wrote since has computed their own.
        let Some(found) = found.filter(|f| rv_of(object) == Some(f.rv)) else {
            return Ok(());
        };
        let stored = found.value();
        let mut wanted = stored.clone();
        set_owners(&mut wanted, asked);
        if managed::same(&stored, &wanted) {
            if let Some(current) = owners_of(&stored) {
                set_owners(object, current);
            }
            return Ok(());
        }
        if let Some(owners) = owners_of(&wanted) {
            set_owners(object, owners);
        }
        let written = if self.host.is_some() {
            let write = (Expect::Rv(found.rv), Some(wanted));
            vec![self.hand_to_host(target, write).await?]
        } else {
            let Ok(op) = self.op(target, Expect::Rv(found.rv), Some(wanted)) else {
                return Ok(());
            };
            self.store.commit(vec![op]).await?
        };
        if let (Some(written), Some(metadata)) = (written.first(), metadata_mut(object)) {
            let version = written.rv.to_string();
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
        Ok(())
    }
}

fn owners_of(object: &Value) -> Option<Value> {
    owners(object).cloned()
}
