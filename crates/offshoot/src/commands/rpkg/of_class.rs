//! `--class` without a plan: which open revisions are of a class as they are now, told before anything is done (F1, F3).
//!
//! What is told is what is then asked for: each revision with the tree that was compared.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use package::changes::{HashKey, Inputs};
use plan::revision::RevisionVerb;
use serde_json::{Value, json};

use super::agree::agreed;
use super::alike::Stated;
use super::classify::{Classified, Unclassified, classify};
use super::entry::{self, Entry};
use super::{is_open, items, lifecycle, steps, text, upgrade};
use crate::cli::remote::Which;
use crate::client::{Client, PACKAGES, REPOSITORIES, collection};
use crate::commands::waiting::waited;
use crate::commands::{say, say_plain};
use crate::exit::ExitFailure;
use crate::planning;
use crate::visible::counted;

/// How many packages are fetched at once.
const AT_ONCE: usize = 8;
/// The digits of a whole id.
const DIGITS: usize = 64;
/// How many revisions without a class are told one by one.
const NAMED: usize = 10;

/// The revisions of the classes, once whoever asks has seen them and agreed.
///
/// # Errors
/// An id that is not whole, a verb that no class is of, a server that does not answer, or nobody agreed.
pub(super) async fn entries(
    client: &Client,
    which: &Which,
    verb: RevisionVerb,
) -> Result<Vec<Entry>, ExitFailure> {
    if verb == RevisionVerb::ProposeDeletion {
        return Err(
            ExitFailure::usage("what is published changes nothing, and has no class")
                .hint("name package revisions, or select them with -l"),
        );
    }
    if let Some(id) = which.classes.iter().find(|id| !is_whole(id)) {
        return Err(ExitFailure::usage(format!(
            "--class {id}: without --plan, a class has all {DIGITS} digits of its id"
        ))
        .hint("offshoot plan -o json tells them; offshoot plan --out FILE and --plan FILE take the first eight"));
    }
    let mut found = waited("comparing", found(client, which)).await?;
    if matches!(verb, RevisionVerb::Propose | RevisionVerb::Approve) {
        let closed = steps::closed(client).await;
        found = closed.leave(found, |(open, _)| Some(open.name.as_str()), |_| false);
    }
    if found.is_empty() {
        say(&format!(
            "No open package revision of namespace {} is of that class now.",
            client.namespace
        ));
        return Ok(Vec::new());
    }
    say_plain(&page(&found));
    if !which.dry_run && !which.yes {
        let what = lifecycle::asked(verb);
        let revisions = counted(
            found.len(),
            "package revision, as it is",
            "package revisions, as they are",
        );
        agreed(
            &format!("{what} {revisions} now?"),
            "--yes takes whatever is found; --dry-run only says it; --plan FILE binds it to a plan",
        )?;
    }
    let mut entries: Vec<Entry> = found
        .into_iter()
        .map(|(open, class)| Entry {
            namespace: client.namespace.clone(),
            name: open.name,
            tree: Some(open.tree).filter(|tree| !tree.is_empty()),
            class: Some(class.seen()),
            member: None,
        })
        .collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn is_whole(id: &str) -> bool {
    id.len() == DIGITS && id.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A revision of one of the classes, with what it changes.
type OfClass = (Unclassified, Classified);

/// Every open revision that is selected and of one of the classes.
async fn found(client: &Client, which: &Which) -> Result<Vec<OfClass>, ExitFailure> {
    let all = client
        .get(&collection(PACKAGES, &client.namespace, &[]))
        .await?;
    let all = items(&all);
    let mut open: Vec<&Value> = all.iter().filter(|r| is_open(r)).collect();
    let labels = which.selector.as_deref().unwrap_or_default();
    let fields = which.field_selector.as_deref().unwrap_or_default();
    if !(labels.is_empty() && fields.is_empty()) {
        let selected = entry::selected(client, labels, fields).await?;
        let name = |r: &Value| text(r, &["metadata", "name"]);
        open.retain(|r| selected.iter().any(|s| Some(&s.name) == name(r).as_ref()));
    }
    let keys = keys(client).await;
    let compare = open.iter().filter_map(|r| unclassified(all, r)).map(|one| {
        let key = one
            .upstream
            .as_ref()
            .and_then(|(repository, ..)| keys.get(repository));
        let key = key
            .cloned()
            .unwrap_or_else(|| planning::of_this_process().clone());
        async move {
            let class = classify(client, &one, key).await;
            (one, class)
        }
    });
    let compared: Vec<_> = futures::stream::iter(compare)
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut found = Vec::new();
    let mut untold: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (one, class) in compared {
        match class {
            Ok(class) if which.classes.contains(&class.id) => found.push((one, class)),
            Ok(_) => {}
            Err(why) => untold
                .entry(why.message().to_owned())
                .or_default()
                .push(one.name),
        }
    }
    for (why, names) in untold {
        let shown = names
            .iter()
            .take(NAMED)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        let count = names.len();
        say(&format!("{count} without a class here ({why}): {shown}"));
    }
    Ok(found)
}

/// A revision with what it is compared with, among all that are there.
fn unclassified(all: &[Value], revision: &Value) -> Option<Unclassified> {
    let tree = |object: &Value| text(object, &["status", "offshoot", "tree"]).unwrap_or_default();
    let base = upgrade::published(all, revision).map(|base| {
        let tree = upgrade::find(all, &base).map(tree).unwrap_or_default();
        (base, tree)
    });
    let upstream = upgrade::upstream_of(all, revision).ok().map(|upstream| {
        let part = |key: &str| text(upstream, &["spec", key]).unwrap_or_default();
        (part("repository"), part("packageName"), tree(upstream))
    });
    Some(Unclassified {
        name: text(revision, &["metadata", "name"])?,
        tree: tree(revision),
        // Only drafts and proposals are approved by class.
        deletion: false,
        stated: Stated::of(revision),
        base,
        upstream,
    })
}

/// What hashes of Secrets are made with, by the upstream's Repository: as plans make them.
async fn keys(client: &Client) -> BTreeMap<String, HashKey> {
    let path = collection(REPOSITORIES, &client.namespace, &[]);
    // Who may not list them finds no class in which a Secret changes.
    let Ok(list) = client.get(&path).await else {
        return BTreeMap::new();
    };
    let key = |repository: &Value| {
        let name = text(repository, &["metadata", "name"])?;
        Some((name, HashKey::new(text(repository, &["metadata", "uid"])?)))
    };
    items(&list).iter().filter_map(key).collect()
}

/// What was found: each class as a plan's page tells it, with its inputs' values.
fn page(found: &[OfClass]) -> String {
    let mut classes: BTreeMap<&str, Vec<&OfClass>> = BTreeMap::new();
    for one in found {
        classes.entry(&one.1.id).or_default().push(one);
    }
    let told = classes.into_iter().map(|(id, members)| {
        let inputs: Vec<&Inputs> = members.iter().map(|(_, class)| &class.inputs).collect();
        let names: Vec<Value> = members
            .iter()
            .map(|(open, _)| json!({"variant": open.name, "verdict": "package revisions"}))
            .collect();
        let class = members
            .first()
            .map(|(_, first)| first.class.told(id, &inputs));
        planning::class_page(&class.unwrap_or_default(), &names)
    });
    told.collect()
}
