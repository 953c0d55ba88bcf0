//! `rpkg diff`: what revisions change, equal changes told once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use futures::StreamExt as _;
use model::{ConflictValue, Files};
use package::changes::{ClassId, ContentChange, Inputs, aside, changes};
use package::merge::Difference;
use serde_json::{Value, json};

use super::alike::{self, Stated, inputs};
use super::contents::{Contents, NOT_COMPARED, contents, differences, may_hide};
use super::{entry, items, text, upgrade};
use crate::cli::fleet::{Against, RevisionDiffArgs};
use crate::client::{Client, PACKAGES, collection};
use crate::commands::pkg::findings;
use crate::commands::write_out;
use crate::exit::ExitFailure;
pub(in crate::commands) use upgrade::published;

/// Something differs.
const CHANGES: u8 = 2;
/// How many packages are fetched at once.
const AT_ONCE: usize = 8;
/// How many revisions a line names.
const NAMED: usize = 8;

/// Prints the differences, and whether there are any as exit code.
///
/// # Errors
/// A revision is not there, or the server cannot be reached.
pub(in crate::commands) async fn run(
    client: &Client,
    args: &RevisionDiffArgs,
) -> Result<ExitCode, ExitFailure> {
    let wanted = wanted(client, args).await?;
    let list = client
        .get(&collection(PACKAGES, &client.namespace, &[]))
        .await?;
    let all = items(&list);
    let mut pairs = Vec::new();
    for name in &wanted {
        let revision = upgrade::find(all, name)
            .ok_or_else(|| ExitFailure::new(format!("could not find package revision {name}")))?;
        let base = match args.against {
            Against::Published => published(all, revision),
            Against::Base => made_from(revision),
            Against::Upstream => text(upgrade::upstream_of(all, revision)?, &["metadata", "name"]),
        };
        let tree = |object: &Value| text(object, &["status", "offshoot", "tree"]);
        let before = base.as_ref().and_then(|base| upgrade::find(all, base));
        pairs.push(Pair {
            name: name.clone(),
            trees: [before.and_then(tree), tree(revision)],
            base,
            stated: Stated::of(revision),
        });
    }
    let mut compared = compare(client, pairs).await?;
    if !args.all {
        for one in &mut compared {
            one.differences.retain(|d| !is_bookkeeping(d));
        }
    }
    let groups = grouped(compared);
    write_out(&match args.output {
        Some(_) => format!("{}\n", as_json(&groups, args.against)),
        None => as_text(&groups, args.against),
    })?;
    let equal = |group: &Group| group.differences.is_empty() && !group.unseen;
    Ok(match groups.iter().all(equal) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(CHANGES),
    })
}

/// The names that were given, or those that a selection lists.
async fn wanted(client: &Client, args: &RevisionDiffArgs) -> Result<Vec<String>, ExitFailure> {
    if !args.names.is_empty() {
        return Ok(args.names.clone());
    }
    let labels = args.selector.as_deref().unwrap_or_default();
    let fields = args.field_selector.as_deref().unwrap_or_default();
    if labels.is_empty() && fields.is_empty() {
        return Err(
            ExitFailure::usage("PACKAGE_REVISION is a required positional argument")
                .hint("name package revisions, or select them with -l or --field-selector"),
        );
    }
    let entries = entry::selected(client, labels, fields).await?;
    Ok(entries.into_iter().map(|entry| entry.name).collect())
}

/// The revision of the same package that this one was copied from, or upgraded.
fn made_from(revision: &Value) -> Option<String> {
    let task = revision.pointer("/spec/tasks/0")?;
    text(task, &["edit", "sourceRef", "name"])
        .or_else(|| text(task, &["upgrade", "localPackageRevisionRef", "name"]))
}

/// What is compared: a revision, with which other, and which target it is of.
struct Pair {
    name: String,
    base: Option<String>,
    stated: Stated,
    /// What both hold, as the server knows it.
    trees: [Option<String>; 2],
}

/// One revision and what it changes.
struct Compared {
    name: String,
    base: Option<String>,
    differences: Vec<Difference>,
    /// Whether it may change what is not shown, too.
    unseen: bool,
    form: Form,
    inputs: Inputs,
}

/// What changes beside values: comments, order, quotes, documents.
struct Form {
    /// What all that change the same have in common, values included.
    id: ClassId,
    /// The files in which it is more than values.
    files: Vec<String>,
}

impl Form {
    fn of(before: &Files, after: &Files, inputs: &Inputs) -> Self {
        let found = changes(&aside(before), &aside(after), inputs);
        let more = found.files.iter().filter(|file| {
            matches!(&file.content, ContentChange::Text { fields, told, .. } if !fields.is_empty() && !told)
        });
        let path = |file: &package::changes::FileChange| file.file.fill(inputs);
        Self {
            id: found.alike(),
            files: more.filter_map(path).collect(),
        }
    }
}

/// Fetches both sides of each pair; what several are compared with is fetched once.
async fn compare(client: &Client, pairs: Vec<Pair>) -> Result<Vec<Compared>, ExitFailure> {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for base in pairs.iter().filter_map(|pair| pair.base.as_ref()) {
        *uses.entry(base.clone()).or_default() += 1;
    }
    let shared = uses.into_iter().filter(|(_, count)| *count > 1);
    let mut known: BTreeMap<String, Arc<Contents>> = BTreeMap::new();
    for (name, _) in shared {
        let files = Arc::new(contents(client, &name).await?);
        known.insert(name, files);
    }
    let known = &known;
    let one = |pair: Pair| async move {
        let Pair {
            name,
            base,
            stated,
            trees,
        } = pair;
        let before = match &base {
            None => Arc::new(Contents::none()),
            Some(base) => match known.get(base) {
                Some(files) => Arc::clone(files),
                None => Arc::new(contents(client, base).await?),
            },
        };
        let after = contents(client, &name).await?;
        let differences = differences(&before.files, &after.files);
        let trees = trees.each_ref().map(|tree| tree.as_deref());
        let unseen = may_hide([&before, &after], trees);
        let old = base.is_some().then_some(&before.files);
        let inputs = inputs(&client.namespace, &stated, old, &after.files);
        let form = Form::of(&before.files, &after.files, &inputs);
        Ok(Compared {
            name,
            base,
            differences,
            unseen,
            form,
            inputs,
        })
    };
    let all: Vec<Result<Compared, ExitFailure>> = futures::stream::iter(pairs)
        .map(one)
        .buffered(AT_ONCE)
        .collect()
        .await;
    all.into_iter().collect()
}

/// What the Kptfile keeps about the package, which every upgrade and render writes; gates of ours, too.
pub(in crate::commands) fn is_bookkeeping(difference: &Difference) -> bool {
    let kept = ["upstream", "upstreamLock", "status"];
    let top = difference.path.split(['.', '[']).next().unwrap_or_default();
    let is_kept = kept.contains(&top) || is_gate_of_ours(difference);
    difference.file.file_name() == "Kptfile" && is_kept
}

/// Whether nothing but readiness gates of ours comes or goes: what they wait for is told as what it is.
fn is_gate_of_ours(difference: &Difference) -> bool {
    let at_gates = difference.path == "info" || difference.path.starts_with("info.readinessGates");
    let ours = |gate: &Value| {
        let kind = gate.get("conditionType").and_then(Value::as_str);
        kind.is_some_and(|kind| kind.starts_with("offshoot.dev/"))
    };
    let side = |side: &ConflictValue| match side {
        ConflictValue::Absent => true,
        ConflictValue::Hash(_) => false,
        ConflictValue::Json(text) => match serde_json::from_str(text) {
            Ok(Value::Array(gates)) => gates.iter().all(ours),
            Ok(Value::Object(map)) => {
                let gates = map.get("readinessGates").and_then(Value::as_array);
                let alone = map.len() == 1 && gates.is_some_and(|all| all.iter().all(ours));
                alone || ours(&Value::Object(map))
            }
            _ => false,
        },
    };
    at_gates && side(&difference.before) && side(&difference.after)
}

/// Revisions that change the same.
struct Group {
    /// Each with what it was compared with.
    members: Vec<(String, Option<String>)>,
    /// Those of the first.
    differences: Vec<Difference>,
    /// Whether they may change what is not shown, too.
    unseen: bool,
    /// The files of the first in which more than values changes.
    form: Vec<String>,
    /// What each states about itself.
    inputs: Vec<Inputs>,
}

/// The most frequent change first, what does not differ last.
fn grouped(all: Vec<Compared>) -> Vec<Group> {
    let mut groups = BTreeMap::new();
    for one in all {
        let told = alike::key(&one.differences, &one.inputs);
        let key = (one.unseen, told, one.form.id.to_string());
        let group = groups.entry(key).or_insert_with(|| Group {
            members: Vec::new(),
            differences: one.differences,
            unseen: one.unseen,
            form: one.form.files,
            inputs: Vec::new(),
        });
        group.members.push((one.name, one.base));
        group.inputs.push(one.inputs);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|g| {
        let nothing = g.differences.is_empty();
        (
            nothing,
            nothing && !g.unseen,
            std::cmp::Reverse(g.members.len()),
        )
    });
    groups
}

/// What a first draft can be compared with.
const UPSTREAM: &str = "; --against upstream compares with its upstream";

fn against_words(against: Against) -> &'static str {
    match against {
        Against::Published => "what is published",
        Against::Base => "what it was made from",
        Against::Upstream => "its upstream",
    }
}

fn as_text(groups: &[Group], against: Against) -> String {
    let mut out = String::new();
    let single = matches!(groups, [group] if group.members.len() == 1);
    let against = against_words(against);
    for group in groups {
        let names: Vec<&str> = group
            .members
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        let mut named = names.get(..NAMED).unwrap_or(&names).join(", ");
        if let Some(more) = names.len().checked_sub(NAMED).filter(|more| *more > 0) {
            // Writing to a String cannot fail.
            _ = write!(named, " and {more} more");
        }
        if group.differences.is_empty() {
            _ = match group.unseen {
                true => writeln!(out, "== may differ from {against}, {NOT_COMPARED}: {named}"),
                false => writeln!(out, "== equal to {against}: {named}"),
            };
            continue;
        }
        let base = match group.members.as_slice() {
            [(_, Some(base))] => format!(" against {base}"),
            [(_, None)] => format!(" against nothing: {against} is not there{UPSTREAM}"),
            _ => String::new(),
        };
        _ = match single {
            true => writeln!(out, "== {named}{base}"),
            false => writeln!(out, "== {} of them: {named}{base}", names.len()),
        };
        let inputs: Vec<&Inputs> = group.inputs.iter().collect();
        let differences = alike::named(&group.differences, &inputs);
        out.push_str(&findings::differences(&differences));
        // Of a file in which nothing else differs that is said already.
        let said = |file: &&String| {
            let mut all = differences.iter();
            all.any(|d| d.is_form() && d.file.as_str() == file.as_str())
        };
        for file in group.form.iter().filter(|file| !said(file)) {
            _ = writeln!(
                out,
                "and in {file} comments, order or how values are written"
            );
        }
        if group.unseen {
            _ = writeln!(out, "and {NOT_COMPARED}");
        }
    }
    out
}

fn as_json(groups: &[Group], against: Against) -> Value {
    let group = |group: &Group| {
        let member =
            |(name, base): &(String, Option<String>)| json!({ "name": name, "against": base });
        let members: Vec<Value> = group.members.iter().map(member).collect();
        let text = findings::differences_json(&group.differences);
        let differences: Value = serde_json::from_str(&text).unwrap_or_default();
        let inputs: Vec<&Inputs> = group.inputs.iter().collect();
        let varying = alike::varying(&group.differences, &inputs);
        let mut out =
            json!({ "revisions": members, "differences": differences, "inputs": varying });
        if !group.form.is_empty() {
            out["form"] = group.form.clone().into();
        }
        if group.unseen {
            out["unseen"] = true.into();
        }
        out
    };
    json!({ "against": against_words(against), "groups": groups.iter().map(group).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests;
