//! Which open revisions are of a closed step of a rollout: a selection, a class or a plan takes none of them (F7). Whoever names
//! one decides it all the same.

use std::collections::{BTreeMap, BTreeSet};

use model::RolloutStatus;
use serde_json::Value;

use super::entry::Entry;
use super::{is_open, items, text};
use crate::client::{Client, PACKAGES, ResourcePath, SETS, VARIANTS, collection};
use crate::commands::say;
use crate::visible::counted;

/// How many that are left out are named.
const NAMED: usize = 10;

/// What is of closed steps, or is taken back by an undo.
#[derive(Debug, Default)]
pub(super) struct Closed {
    /// The open revisions.
    pub(super) revisions: BTreeSet<String>,
    /// The rollouts, by the names of their sets.
    rollouts: BTreeMap<String, RolloutStatus>,
    /// Every revision that there is.
    known: BTreeSet<String>,
}

impl Closed {
    /// Whether a draft that a plan foresees is not made yet, since the step of its variant is closed.
    fn is_awaited(&self, entry: &Entry) -> bool {
        let early = |(set, variant): &(String, String)| {
            let rollout = self.rollouts.get(set);
            rollout.is_some_and(|rollout| plan::set::is_early(rollout, variant))
        };
        entry.member.as_ref().is_some_and(early) && !self.known.contains(&entry.name)
    }
}

/// Takes out what is of a closed step, and says so; what a plan foresees there need not be made yet.
pub(super) async fn leave_closed(client: &Client, entries: Vec<Entry>) -> Vec<Entry> {
    let closed = closed(client).await;
    let here = |e: &Entry| e.namespace == client.namespace;
    let is_closed =
        |e: &Entry| here(e) && (closed.revisions.contains(&e.name) || closed.is_awaited(e));
    let (left, open): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_closed);
    let awaited = left.iter().filter(|e| closed.is_awaited(e)).count();
    let names: Vec<&str> = left.iter().map(|e| e.name.as_str()).collect();
    tell(&names, awaited);
    open
}

/// Says which revisions are left out, if any are, and how many of them are not made yet.
pub(super) fn tell(left: &[&str], awaited: usize) {
    if let Some(told) = told(left, awaited) {
        say(&told);
    }
}

fn told(left: &[&str], awaited: usize) -> Option<String> {
    let count = left.len();
    let named: Vec<&str> = left.iter().copied().take(NAMED).collect();
    let more = if count > NAMED { " …" } else { "" };
    let way = match awaited {
        0 => "name them to decide them all the same".to_owned(),
        all if all == count => "none is made before its step opens".to_owned(),
        some => format!(
            "{} made before the step opens, and the others can be named to decide them all the same",
            counted(some, "is not", "are not")
        ),
    };
    (count > 0).then(|| {
        format!(
            "{count} of closed steps of a rollout left out: {}{more}; {way}",
            named.join(", ")
        )
    })
}

/// What of variants is not to be decided now, since their step is closed, or an undo takes them back; nothing for somebody who
/// may not list what says so.
pub(super) async fn closed(client: &Client) -> Closed {
    let sets = list(client, SETS).await;
    let rolling = |set: &Value| {
        set.pointer("/spec/rollout").filter(|r| !r.is_null())?;
        let status = api::read_set_status(set).rollout?;
        Some((text(set, &["metadata", "name"])?, status))
    };
    let statuses: BTreeMap<String, RolloutStatus> = sets.iter().filter_map(rolling).collect();
    if statuses.is_empty() {
        return Closed::default();
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
    let is_closed =
        |r: &&Value| is_open(r) && owner(r, "PackageVariant").is_some_and(|v| early.contains(v));
    let revisions = list(client, PACKAGES).await;
    let name = |r: &Value| text(r, &["metadata", "name"]);
    Closed {
        revisions: revisions
            .iter()
            .filter(is_closed)
            .filter_map(name)
            .collect(),
        known: revisions.iter().filter_map(name).collect(),
        rollouts: statuses,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted_and_what_is_not_made_yet_is_told_apart() {
        assert_eq!(told(&[], 0), None);
        let head = "2 of closed steps of a rollout left out: a, b; ";
        for (awaited, way) in [
            (0, "name them to decide them all the same"),
            (
                1,
                "1 is not made before the step opens, and the others can be named to decide them all the same",
            ),
            (2, "none is made before its step opens"),
        ] {
            assert_eq!(told(&["a", "b"], awaited), Some(format!("{head}{way}")));
        }
    }
}
