//! Which open revisions are of a closed step of a rollout, or of another version than it wants: a selection, a class or a plan takes
//! none of them (F7, F8). Whoever names one decides it all the same.

use std::collections::{BTreeMap, BTreeSet};

use model::{Lifecycle, RolloutStatus};
use serde_json::Value;

use super::entry::Entry;
use super::{is_open, items, text};
use crate::client::{self, Client, PACKAGES, ResourcePath, SETS, VARIANTS, collection};
use crate::commands::say;
use crate::visible::counted;

/// How many that are left out are named.
const NAMED: usize = 10;

/// What is of closed steps, or is taken back by an undo.
#[derive(Debug, Default)]
pub(super) struct Closed {
    /// The open revisions.
    revisions: BTreeSet<String>,
    /// Proposals of another version than is wanted: drafts are brought to it, and these stand until somebody rejects them.
    others: BTreeSet<String>,
    /// The rollouts, by the names of their sets.
    rollouts: BTreeMap<String, RolloutStatus>,
    /// Every revision that there is.
    known: BTreeSet<String>,
}

impl Closed {
    /// Those of some revisions that are for the verb, the others told of; `awaited` says of which it is known that they are not made
    /// yet.
    pub(super) fn leave<T>(
        &self,
        all: Vec<T>,
        name: impl Fn(&T) -> Option<&str>,
        awaited: impl Fn(&T) -> bool,
    ) -> Vec<T> {
        let of = |one: &T, names: &BTreeSet<String>| name(one).is_some_and(|n| names.contains(n));
        let is_closed = |one: &T| awaited(one) || of(one, &self.revisions);
        let (closed, rest): (Vec<T>, Vec<T>) = all.into_iter().partition(is_closed);
        let (others, rest): (Vec<T>, Vec<T>) =
            rest.into_iter().partition(|one| of(one, &self.others));
        let names = |all: &[T]| -> Vec<String> {
            let names = all.iter().filter_map(&name);
            names.map(str::to_owned).collect()
        };
        let not_made = closed.iter().filter(|one| awaited(one)).count();
        let told = [
            told(&names(&closed), not_made),
            told_others(&names(&others)),
        ];
        told.iter().flatten().for_each(|line| say(line));
        rest
    }

    /// Whether a draft that a plan foresees is not made yet, since the step of its variant is closed.
    fn is_awaited(&self, entry: &Entry) -> bool {
        let early = |(set, variant): &(String, String)| {
            let rollout = self.rollouts.get(set);
            rollout.is_some_and(|rollout| plan::set::is_early(rollout, variant))
        };
        entry.member.as_ref().is_some_and(early) && !self.known.contains(&entry.name)
    }
}

/// Takes out what is of a closed step or of another version than is wanted, and says so; what a plan foresees there need not be made
/// yet.
pub(super) async fn leave_closed(client: &Client, entries: Vec<Entry>) -> Vec<Entry> {
    let closed = closed(client).await;
    let here = |e: &Entry| e.namespace == client.namespace;
    closed.leave(
        entries,
        |e| here(e).then_some(e.name.as_str()),
        |e| here(e) && closed.is_awaited(e),
    )
}

fn told(left: &[String], awaited: usize) -> Option<String> {
    let count = left.len();
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
            "{count} of closed steps of a rollout left out: {}; {way}",
            named(left)
        )
    })
}

fn told_others(left: &[String]) -> Option<String> {
    let count = left.len();
    (count > 0).then(|| {
        format!(
            "{count} of another version than the rollout wants left out: {}; reject them, and they are brought to it",
            named(left)
        )
    })
}

fn named(left: &[String]) -> String {
    let named: Vec<&str> = left.iter().map(String::as_str).take(NAMED).collect();
    let more = if left.len() > NAMED { " …" } else { "" };
    format!("{}{more}", named.join(", "))
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
    let variants = list(client, VARIANTS).await;
    let rolled = variants.iter().filter_map(|variant| {
        let status = statuses.get(owner(variant, "PackageVariantSet")?)?;
        Some((
            api::str_at(variant, &["metadata", "name"])?,
            (variant, status),
        ))
    });
    let rolled: BTreeMap<&str, (&Value, &RolloutStatus)> = rolled.collect();
    let mut closed = Closed::default();
    for revision in &list(client, PACKAGES).await {
        let Some(name) = text(revision, &["metadata", "name"]) else {
            continue;
        };
        closed.known.insert(name.clone());
        let of = owner(revision, "PackageVariant").and_then(|v| rolled.get_key_value(v));
        let Some((by, (variant, status))) = of.filter(|_| is_open(revision)) else {
            continue;
        };
        let is_proposed = client::lifecycle(revision) == Some(Lifecycle::Proposed);
        let commit = |object: &Value, path| text(object, path).unwrap_or_default();
        let holds = commit(revision, &["status", "upstreamLock", "git", "commit"]);
        let wanted = commit(variant, &["spec", "upstream", "commit"]);
        if plan::set::is_early(status, by) {
            closed.revisions.insert(name);
        } else if is_proposed && status.is_of_another(&holds, &wanted) {
            closed.others.insert(name);
        }
    }
    closed.rollouts = statuses;
    closed
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
        assert_eq!(told_others(&[]), None);
        let both = ["a", "b"].map(str::to_owned);
        let head = "2 of closed steps of a rollout left out: a, b; ";
        for (awaited, way) in [
            (0, "name them to decide them all the same"),
            (
                1,
                "1 is not made before the step opens, and the others can be named to decide them all the same",
            ),
            (2, "none is made before its step opens"),
        ] {
            assert_eq!(told(&both, awaited), Some(format!("{head}{way}")));
        }
    }
}
