//! Which open revisions are of a closed step of a rollout: a selection, a class or a plan takes none of them (F7). Whoever names
//! one decides it all the same.

use std::collections::{BTreeMap, BTreeSet};

use model::RolloutStatus;
use serde_json::Value;

use super::entry::Entry;
use super::{is_open, items, text};
use crate::client::{Client, PACKAGES, ResourcePath, SETS, VARIANTS, collection};
use crate::commands::say;

/// How many that are left out are named.
const NAMED: usize = 10;

/// Takes out what is of a closed step, and says so.
pub(super) async fn leave_closed(client: &Client, entries: Vec<Entry>) -> Vec<Entry> {
    let closed = closed(client).await;
    let is_closed = |e: &Entry| e.namespace == client.namespace && closed.contains(&e.name);
    let (left, open): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_closed);
    tell(left.iter().map(|e| e.name.as_str()));
    open
}

/// Says which revisions are left out, if any are.
pub(super) fn tell<'n>(left: impl ExactSizeIterator<Item = &'n str>) {
    let count = left.len();
    if count == 0 {
        return;
    }
    let named: Vec<&str> = left.take(NAMED).collect();
    let more = if count > NAMED { " …" } else { "" };
    say(&format!(
        "{count} of closed steps of a rollout left out: {}{more}; name them to decide them all the same",
        named.join(", ")
    ));
}

/// The open revisions of variants whose step is closed, or which an undo takes back; none for somebody who may not list what says so.
pub(super) async fn closed(client: &Client) -> BTreeSet<String> {
    let sets = list(client, SETS).await;
    let rolling = |set: &Value| {
        set.pointer("/spec/rollout").filter(|r| !r.is_null())?;
        let status = api::read_set_status(set).rollout?;
        Some((text(set, &["metadata", "name"])?, status))
    };
    let statuses: BTreeMap<String, RolloutStatus> = sets.iter().filter_map(rolling).collect();
    if statuses.is_empty() {
        return BTreeSet::new();
    }
    let is_early = |variant: &Value| {
        let name = text(variant, &["metadata", "name"])?;
        let set = owner(variant, "PackageVariantSet")?;
        plan::set::is_early(statuses.get(set)?, &name).then_some(name)
    };
    let early: BTreeSet<String> = list(client, VARIANTS)
        .await
        .iter()
        .filter_map(is_early)
        .collect();
    if early.is_empty() {
        return BTreeSet::new();
    }
    let is_closed =
        |r: &&Value| is_open(r) && owner(r, "PackageVariant").is_some_and(|v| early.contains(v));
    let revisions = list(client, PACKAGES).await;
    let closed = revisions.iter().filter(is_closed);
    closed
        .filter_map(|r| text(r, &["metadata", "name"]))
        .collect()
}

async fn list(client: &Client, kind: ResourcePath) -> Vec<Value> {
    let answer = client.get(&collection(kind, &client.namespace, &[])).await;
    answer.map_or_else(|_| Vec::new(), |list| items(&list).to_vec())
}

/// The name of the owner of a kind.
fn owner<'v>(object: &'v Value, kind: &str) -> Option<&'v str> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners
        .iter()
        .find(|o| api::str_at(o, &["kind"]) == Some(kind));
    api::str_at(owner?, &["name"])
}
