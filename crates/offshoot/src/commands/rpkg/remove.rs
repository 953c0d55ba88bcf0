//! `rpkg del --package`: a package goes for good: drafts, published revisions, and its directory on the branch.

use std::collections::{BTreeMap, BTreeSet};

use model::Lifecycle::{self, DeletionProposed, Draft, Proposed, Published};
use plan::revision::RevisionVerb;
use serde_json::{Value, json};

use super::agree::agreed;
use super::bulk::{self, Asked};
use super::entry::{self, Entry};
use super::{is_open, items, text};
use crate::client::{Client, PACKAGES, VARIANTS, collection, lifecycle};
use crate::commands::{say, write_out};
use crate::exit::ExitFailure;
use crate::visible::counted;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Which package goes, and from where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Going<'a> {
    /// The package.
    pub(super) name: &'a str,
    /// The one repository, if that was said.
    pub(super) repository: Option<&'a str>,
    /// Labels and fields by which revisions are selected: the repositories of those are meant, however many.
    pub(super) selection: Option<(&'a str, &'a str)>,
}

/// A package in one repository: that, and its revisions.
type InOne = (String, Vec<Value>);

/// Removes every revision of a package; what is to be printed.
///
/// # Errors
/// There is none, it is not said where, a variant would make it again, nobody agreed that drafts go with what they hold, or
/// something was refused.
pub(super) async fn package(
    client: &Client,
    going: Going<'_>,
    (dry_run, yes): (bool, bool),
) -> Result<String, ExitFailure> {
    let name = going.name;
    let revisions = revisions(client, name, going.repository).await?;
    let all = match going.selection {
        None => vec![(place(name, &revisions)?, revisions)],
        Some(selection) => selected(client, revisions, selection).await?,
    };
    let all = without_makers(client, going, all).await?;
    if all.is_empty() {
        return Ok(String::new());
    }
    for (_, revisions) in &all {
        may_finish(client, name, revisions).await?;
    }
    for (place, revisions) in &all {
        say(&steps(name, place, revisions));
    }
    if dry_run {
        return Ok(String::new());
    }
    let open = all
        .iter()
        .flat_map(|(_, revisions)| open(revisions))
        .count();
    if open > 0 && !yes {
        let lost = counted(open, "draft or proposal holds", "drafts and proposals hold");
        agreed(
            &format!("Remove it, and what {lost}?"),
            "--yes removes drafts and proposals, too; --dry-run only says what would go",
        )?;
    }
    let of = |wanted: &[Lifecycle]| -> Vec<Entry> {
        let some = all
            .iter()
            .flat_map(|(_, revisions)| revisions)
            .filter(|r| lifecycle(r).is_some_and(|now| wanted.contains(&now)));
        some.filter_map(|r| entry(client, r)).collect()
    };
    // What is open goes first: it may hold what is published.
    for (verb, lifecycles) in [
        (RevisionVerb::Delete, &[Draft, Proposed][..]),
        (RevisionVerb::ProposeDeletion, &[Published]),
        (RevisionVerb::Delete, &[Published, DeletionProposed]),
    ] {
        let entries = of(lifecycles);
        if !entries.is_empty() {
            let out = bulk::run(client, Asked::Verb(verb), &entries, false).await?;
            write_out(&out)?;
        }
    }
    let gone = all
        .iter()
        .map(|(place, _)| format!("{name} is gone from {place}\n"));
    Ok(gone.collect())
}

/// The repositories in which some revision of the package is selected, each with all of its revisions there.
async fn selected(
    client: &Client,
    revisions: Vec<Value>,
    (labels, fields): (&str, &str),
) -> Result<Vec<InOne>, ExitFailure> {
    let meant = entry::selected(client, labels, fields).await?;
    let meant: BTreeSet<String> = meant.into_iter().map(|entry| entry.name).collect();
    let mut places: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for revision in revisions {
        let place = text(&revision, &["spec", "repository"]).unwrap_or_default();
        places.entry(place).or_default().push(revision);
    }
    let is_meant = |r: &Value| text(r, &["metadata", "name"]).is_some_and(|n| meant.contains(&n));
    places.retain(|_, revisions| revisions.iter().any(is_meant));
    Ok(places.into_iter().collect())
}

/// Those that no variant would make again. Of a selection, the others are left and told; the one that was named is an error.
async fn without_makers(
    client: &Client,
    going: Going<'_>,
    all: Vec<InOne>,
) -> Result<Vec<InOne>, ExitFailure> {
    let list = client
        .get(&collection(VARIANTS, &client.namespace, &[]))
        .await?;
    let mut free = Vec::with_capacity(all.len());
    let mut made = Vec::new();
    for one in all {
        match no_maker(items(&list), going.name, &one.0) {
            Ok(()) => free.push(one),
            Err(why) if going.selection.is_none() => return Err(why),
            Err(why) => made.push((one.0, why)),
        }
    }
    if let Some((place, why)) = made.first() {
        let count = made.len();
        let places = match count {
            1 => format!("in {place}"),
            _ => format!("in {count} repositories, {place} among them,"),
        };
        say(&format!(
            "skipped: {places} a variant makes it: {}",
            why.text().trim_end()
        ));
    }
    Ok(free)
}

async fn revisions(
    client: &Client,
    name: &str,
    repository: Option<&str>,
) -> Result<Vec<Value>, ExitFailure> {
    let mut fields = format!("spec.packageName={name}");
    if let Some(repository) = repository {
        fields.push_str(&format!(",spec.repository={repository}"));
    }
    let path = collection(PACKAGES, &client.namespace, &[("fieldSelector", &fields)]);
    let list = client.get(&path).await?;
    let found = items(&list).to_vec();
    if found.is_empty() {
        return Err(
            ExitFailure::new(format!("no revision of package {name:?} is here"))
                .hint("offshoot rpkg get lists packages; -n names another namespace"),
        );
    }
    Ok(found)
}

/// The one repository that it is in.
fn place(name: &str, revisions: &[Value]) -> Result<String, ExitFailure> {
    let all: BTreeSet<String> = revisions
        .iter()
        .filter_map(|r| text(r, &["spec", "repository"]))
        .collect();
    let listed = all.iter().cloned().collect::<Vec<_>>().join(", ");
    let mut all = all.into_iter();
    match (all.next(), all.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(ExitFailure::usage(format!(
            "package {name:?} is in several repositories: {listed}"
        ))
        .hint(
            "say in which one with --repository, or select revisions of all that are meant with -l",
        )),
    }
}

/// A variant makes its package again as soon as it is gone.
fn no_maker(variants: &[Value], name: &str, repository: &str) -> Result<(), ExitFailure> {
    let makes = |variant: &&Value| {
        let downstream = |key| text(variant, &["spec", "downstream", key]);
        downstream("repo").as_deref() == Some(repository)
            && downstream("package").as_deref() == Some(name)
    };
    let Some(variant) = variants.iter().find(makes) else {
        return Ok(());
    };
    let variant_name = text(variant, &["metadata", "name"]).unwrap_or_default();
    let owners = variant.pointer("/metadata/ownerReferences");
    let mut owners = owners.and_then(Value::as_array).into_iter().flatten();
    let set = owners.find(|owner| api::str_at(owner, &["kind"]) == Some("PackageVariantSet"));
    let way = match set.and_then(|set| api::str_at(set, &["name"])) {
        Some(set) => format!("take the target out of packagevariantset {set}, whose variant it is"),
        None => format!("kubectl delete packagevariant {variant_name}"),
    };
    Err(ExitFailure::new(format!(
        "packagevariant {variant_name} makes {name} in {repository}, and would make it again"
    ))
    .hint(way))
}

/// Who may not approve the deletion of what is published would stop halfway, with the drafts gone.
async fn may_finish(client: &Client, name: &str, revisions: &[Value]) -> Result<(), ExitFailure> {
    if revisions.iter().all(is_open) {
        return Ok(());
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "namespace": client.namespace, "verb": "update", "group": "porch.kpt.dev",
            "resource": "packagerevisions", "subresource": "approval",
        }},
    });
    let answer = client.post(REVIEWS, &review).await?;
    let allowed = answer.pointer("/status/allowed").and_then(Value::as_bool);
    if allowed == Some(true) {
        return Ok(());
    }
    Err(ExitFailure::new(format!(
        "{name} is published, and you may not approve its deletion; nothing was removed"
    ))
    .hint("offshoot rpkg propose-delete asks for the deletion; whoever may approve does it"))
}

/// The drafts and proposals of a package: what they hold is nowhere else.
fn open(revisions: &[Value]) -> impl Iterator<Item = &Value> {
    revisions.iter().filter(|r| !is_head(r) && is_open(r))
}

/// What is done, in one line.
fn steps(name: &str, repository: &str, revisions: &[Value]) -> String {
    let head = revisions.iter().filter(|r| is_head(r)).count();
    let open: Vec<String> = open(revisions)
        .filter_map(|r| text(r, &["metadata", "name"]))
        .collect();
    let published = revisions.len() - head - open.len();
    let mut parts = Vec::new();
    if !open.is_empty() {
        parts.push(counted(
            open.len(),
            "draft or proposal",
            "drafts and proposals",
        ));
    }
    if head > 0 {
        parts.push("its directory on the branch".to_owned());
    }
    if published > 0 {
        let (one, many) = (
            "published revision with its tag",
            "published revisions with their tags",
        );
        parts.push(counted(published, one, many));
    }
    format!(
        "Removing {name} from {repository}: {}. What was published stays in git's history{}",
        parts.join(", "),
        match open.as_slice() {
            [] => ".".to_owned(),
            [one] => format!("; what {one} holds goes for good."),
            _ => format!("; what {} hold goes for good.", open.join(", ")),
        }
    )
}

/// Whether it is the branch's own revision.
pub(super) fn is_head(revision: &Value) -> bool {
    let number = revision.pointer("/spec/revision").and_then(Value::as_i64);
    number == Some(-1)
}

fn entry(client: &Client, revision: &Value) -> Option<Entry> {
    Some(Entry {
        namespace: client.namespace.clone(),
        name: text(revision, &["metadata", "name"])?,
        tree: text(revision, &["status", "offshoot", "tree"]),
        ..Entry::default()
    })
}
