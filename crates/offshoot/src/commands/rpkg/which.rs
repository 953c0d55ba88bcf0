//! Which package revisions a verb is for: names, a selection, or what a plan lists, with the trees that were seen.

use std::collections::BTreeMap;
use std::path::Path;

use engine::planned::Fate;
use plan::revision::RevisionVerb;
use serde_json::{Map, Value, json};

use super::bulk::{self, Asked};
use super::entry::{self, Entry};
use super::{followed, lifecycle, of_class, stays, steps, text, unfinished};
use crate::cli::remote::Which;
use crate::client::Client;
use crate::commands::write_out;
use crate::exit::ExitFailure;
use crate::planning;
use crate::visible::counted;

/// Carries out a verb on whatever was named.
///
/// # Errors
/// Nothing was named, or something was refused.
pub(super) async fn each(
    client: &Client,
    which: &Which,
    verb: RevisionVerb,
) -> Result<String, ExitFailure> {
    let mut entries = entries(client, which, verb).await?;
    if which.names.is_empty() && matches!(verb, RevisionVerb::Propose | RevisionVerb::Approve) {
        entries = steps::leave_closed(client, entries).await;
        unfinished::tell(client, which.selector.as_deref().unwrap_or_default()).await;
    }
    let out = match entries.as_slice() {
        [] => return Ok(String::new()),
        [one] if !which.names.is_empty() => {
            lifecycle::alone(client, one, verb, which.dry_run).await?
        }
        many => bulk::run(client, Asked::Verb(verb), many, which.dry_run).await?,
    };
    // What was done comes first, and then what follows from it.
    write_out(&out)?;
    if verb == RevisionVerb::ProposeDeletion {
        followed::tell(client, &entries).await;
    }
    if verb == RevisionVerb::Delete && !which.dry_run {
        stays::tell(client, &entries).await;
    }
    Ok(String::new())
}

async fn entries(
    client: &Client,
    which: &Which,
    verb: RevisionVerb,
) -> Result<Vec<Entry>, ExitFailure> {
    if let Some(file) = &which.plan {
        let entries = of_plan(file, &which.classes, verb)?;
        return in_namespace(client, entries);
    }
    if !which.names.is_empty() {
        return named(client, which);
    }
    if !which.classes.is_empty() {
        return of_class::entries(client, which, verb).await;
    }
    let labels = which.selector.as_deref().unwrap_or_default();
    let fields = which.field_selector.as_deref().unwrap_or_default();
    if labels.is_empty() && fields.is_empty() {
        return Err(
            ExitFailure::usage("PACKAGE_REVISION is a required positional argument").hint(
                "name package revisions, select them with -l, --field-selector or --class, or take them from a --plan",
            ),
        );
    }
    entry::selected(client, labels, fields).await
}

/// A plan says in which namespaces its drafts are: one that is asked for beside it must be theirs.
fn in_namespace(client: &Client, entries: Vec<Entry>) -> Result<Vec<Entry>, ExitFailure> {
    let other = entries.iter().find(|e| e.namespace != client.namespace);
    match other.filter(|_| client.names_namespace) {
        None => Ok(entries),
        Some(Entry {
            namespace, name, ..
        }) => Err(ExitFailure::usage(format!(
            "the plan is of namespace {namespace} ({name}), not of {}",
            client.namespace
        ))
        .hint("leave -n out: a plan names the namespaces of its drafts")),
    }
}

fn named(client: &Client, which: &Which) -> Result<Vec<Entry>, ExitFailure> {
    if which.expected_tree.is_some() && which.names.len() != 1 {
        return Err(
            ExitFailure::usage("--expected-tree is the tree of one package revision").hint(
                "select several with -l or take them from a --plan: then each is bound to what was listed",
            ),
        );
    }
    let mut entries: Vec<Entry> = Vec::with_capacity(which.names.len());
    for name in &which.names {
        if !entries.iter().any(|known| known.name == *name) {
            entries.push(Entry {
                namespace: client.namespace.clone(),
                name: name.clone(),
                tree: which.expected_tree.clone(),
                ..Entry::default()
            });
        }
    }
    Ok(entries)
}

/// The format of plans that is read.
const FORMAT: u64 = 1;
/// The fewest digits of a class's id.
const SHORT: usize = 8;

/// The drafts that a plan lists, or (to delete them) what it says will be proposed for deletion.
fn of_plan(file: &Path, classes: &[String], verb: RevisionVerb) -> Result<Vec<Entry>, ExitFailure> {
    let shown = file.display();
    let bytes = std::fs::read(file).map_err(|e| ExitFailure::of(&format!("read {shown}"), &e))?;
    let plan: Value = serde_json::from_slice(&bytes)
        .map_err(|e| ExitFailure::of(&format!("read {shown} as a plan"), &e))?;
    let format = plan.get("format").and_then(Value::as_u64);
    if format != Some(FORMAT) {
        let found = format.map_or_else(|| "none".to_owned(), |f| f.to_string());
        return Err(
            ExitFailure::new(format!("{shown} has format {found}, and {FORMAT} is read"))
                .hint("write it with offshoot plan --out FILE of this version"),
        );
    }
    if text(&plan, &["plan"]).is_none_or(|id| id != planning::id_of(&plan)) {
        return Err(ExitFailure::new(format!(
            "{shown} is not what offshoot plan wrote: what it holds does not fit its id"
        ))
        .hint("write it anew with offshoot plan --out FILE"));
    }
    match verb {
        RevisionVerb::Approve => {
            let entries = drafts(&plan, classes)?;
            tell_classes(&plan, &entries);
            Ok(entries)
        }
        RevisionVerb::Propose | RevisionVerb::Reject => drafts(&plan, classes),
        RevisionVerb::Delete if classes.is_empty() => Ok(leaving(&plan)),
        RevisionVerb::Delete => Err(ExitFailure::usage(
            "what a plan says leaves has no class: leave --class out",
        )),
        RevisionVerb::ProposeDeletion => Err(ExitFailure::usage(
            "the deletions of a plan are proposed by its sets",
        )
        .hint("offshoot rpkg del --plan FILE approves them")),
    }
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    let list = value.get(key).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn drafts(plan: &Value, classes: &[String]) -> Result<Vec<Entry>, ExitFailure> {
    let wanted = classes
        .iter()
        .map(|id| class(plan, id))
        .collect::<Result<Vec<&str>, ExitFailure>>()?;
    let is_wanted = |target: &&Value| {
        let class = api::str_at(target, &["class"]);
        wanted.is_empty() || class.is_some_and(|class| wanted.contains(&class))
    };
    let mut entries = Vec::new();
    let mut unbound = Vec::new();
    for target in list(plan, "targets").filter(is_wanted) {
        let Some(draft) = text(target, &["draft"]) else {
            continue;
        };
        let variant = text(target, &["variant"]).unwrap_or_default();
        let (namespace, variant) = variant.split_once('/').unwrap_or_default();
        match text(target, &["tree"]) {
            Some(tree) => entries.push(Entry {
                class: seen_class(plan, target),
                namespace: namespace.to_owned(),
                name: draft,
                tree: Some(tree),
                member: text(target, &["set"])
                    .and_then(|set| Some(set.split_once('/')?.1.to_owned()))
                    .map(|set| (set, variant.to_owned())),
            }),
            None => unbound.push(draft),
        }
    }
    if unbound.is_empty() {
        // Those of one namespace stand together in a request.
        entries.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        return Ok(entries);
    }
    let first = unbound.first().cloned().unwrap_or_default();
    let revisions = counted(unbound.len(), "package revision", "package revisions");
    Err(ExitFailure::new(format!(
        "the plan does not know what {revisions} will hold, {first} among them"
    ))
    .hint("plan against the server with the upstream published, and with --run-functions"))
}

/// The class of a target of a plan, with what the target states for the inputs that the class names.
fn seen_class(plan: &Value, target: &Value) -> Option<Value> {
    let id = api::str_at(target, &["class"])?;
    let class = list(plan, "classes").find(|class| api::str_at(class, &["id"]) == Some(id))?;
    let named = list(class, "inputs").filter_map(|input| api::str_at(input, &["input"]));
    let own = api::object_at(target, &["inputs"]);
    let value = |name: &str| Some((name.to_owned(), own?.get(name)?.clone()));
    let inputs: Map<String, Value> = named.filter_map(value).collect();
    Some(json!({ "id": id, "inputs": inputs }))
}

/// How many classes are told with their inputs.
const TOLD: usize = 20;

/// Tells the classes that are approved with the values of their inputs: in them alone their targets differ.
fn tell_classes(plan: &Value, entries: &[Entry]) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for class in entries.iter().filter_map(|entry| entry.class.as_ref()) {
        let id = api::str_at(class, &["id"]).unwrap_or_default();
        *counts.entry(id).or_default() += 1;
    }
    for (id, count) in counts.iter().take(TOLD) {
        let class = list(plan, "classes").find(|class| api::str_at(class, &["id"]) == Some(id));
        let inputs = class.map(planning::class_inputs).unwrap_or_default();
        let id = id.get(..SHORT).unwrap_or(id);
        let revisions = counted(*count, "package revision", "package revisions");
        crate::commands::say_plain(&format!("class {id}: {revisions}\n{inputs}"));
    }
    if let Some(more) = counts.len().checked_sub(TOLD).filter(|more| *more > 0) {
        crate::commands::say(&format!("and {more} more classes: the plan lists them"));
    }
}

/// The whole id of a class of a plan.
fn class<'p>(plan: &'p Value, id: &str) -> Result<&'p str, ExitFailure> {
    let known = list(plan, "classes").filter_map(|class| api::str_at(class, &["id"]));
    let mut found = known.filter(|known| known.starts_with(id));
    match (found.next(), found.next()) {
        _ if id.len() < SHORT => Err(ExitFailure::usage(format!(
            "--class {id}: an id has {SHORT} digits or more"
        ))),
        (Some(one), None) => Ok(one),
        (None, _) => Err(ExitFailure::new(format!("the plan has no class {id}"))
            .hint("offshoot plan lists the classes with their ids")),
        (Some(_), Some(_)) => Err(ExitFailure::new(format!(
            "the plan has several classes whose ids begin with {id}"
        ))
        .hint("write more digits")),
    }
}

/// What a plan says will be proposed for deletion.
fn leaving(plan: &Value) -> Vec<Entry> {
    let mut entries = Vec::new();
    for variant in list(plan, "leaving") {
        let whole = text(variant, &["variant"]).unwrap_or_default();
        let namespace = whole.split_once('/').map_or("", |(namespace, _)| namespace);
        let proposed = list(variant, "revisions")
            .filter(|r| api::str_at(r, &["fate"]) == Some(Fate::DELETION_PROPOSED));
        entries.extend(proposed.filter_map(|revision| {
            Some(Entry {
                namespace: namespace.to_owned(),
                name: text(revision, &["name"])?,
                tree: text(revision, &["tree"]),
                ..Entry::default()
            })
        }));
    }
    entries.sort_by(|a, b| a.namespace.cmp(&b.namespace));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Value {
        let target = |name: &str, class: &str, tree: Value| json!({ "variant": format!("default/{name}"), "class": class, "draft": format!("edge.{name}.packagevariant-2"), "tree": tree });
        json!({
            "format": 1,
            "classes": [{ "id": "5f02c1d9aa" }, { "id": "5f02c1d9bb" }, { "id": "c41a77e000" }],
            "targets": [
                target("a", "5f02c1d9aa", "01".into()),
                target("b", "c41a77e000", "02".into()),
                target("c", "5f02c1d9bb", Value::Null),
                { "variant": "default/d", "verdict": "unchanged", "draft": null, "tree": "03" },
            ],
            "leaving": [{ "variant": "default/x", "revisions": [
                { "name": "edge.x.v1", "fate": "deletion proposed" }, { "name": "edge.x.v2", "fate": "deleted" },
            ] }],
        })
    }

    fn names(classes: &[&str]) -> Result<Vec<String>, String> {
        let classes: Vec<String> = classes.iter().map(|id| (*id).to_owned()).collect();
        let found = drafts(&plan(), &classes);
        found
            .map(|all| all.into_iter().map(|entry| entry.name).collect())
            .map_err(|why| why.to_string())
    }

    #[test]
    fn a_plan_gives_the_drafts_of_its_classes_with_their_trees() {
        assert_eq!(
            names(&["5f02c1d9a", "c41a77e0"]).unwrap(),
            ["edge.a.packagevariant-2", "edge.b.packagevariant-2"]
        );
        let bound = drafts(&plan(), &["c41a77e0".to_owned()]).unwrap();
        assert_eq!(bound[0].tree.as_deref(), Some("02"));
        assert_eq!(bound[0].namespace, "default");
    }

    #[test]
    fn what_a_plan_cannot_bind_or_does_not_have_is_refused() {
        for (classes, why) in [
            (&["5f02c1d9"][..], "several classes"),
            (&["00000000"], "no class"),
            (&["5f02"], "8 digits"),
            (&["5f02c1d9bb"], "does not know what 1"),
            (&[], "does not know what 1"),
        ] {
            let refused = names(classes).unwrap_err();
            assert!(refused.contains(why), "{classes:?}: {refused}");
        }
    }

    #[test]
    fn what_leaves_is_what_will_be_proposed_for_deletion() {
        let found = leaving(&plan());
        let names: Vec<&str> = found.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["edge.x.v1"]);
    }
}
