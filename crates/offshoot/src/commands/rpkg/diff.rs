//! `rpkg diff`: what revisions change, equal changes told once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use futures::StreamExt as _;
use model::Files;
use package::changes::{ClassId, ContentChange, Inputs, aside, changes};
use package::merge::Difference;
use serde_json::{Value, json};

use super::alike::{self, Stated, inputs};
use super::contents::{Contents, NOT_COMPARED, contents, differences, may_hide};
use super::{entry, items, text, upgrade};
use crate::cli::fleet::{Against, RevisionDiffArgs};
use crate::client::{Client, PACKAGES, collection};
use crate::commands::pkg::findings;
use crate::commands::{say, write_out};
use crate::exit::Failure;
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
) -> Result<ExitCode, Failure> {
    let wanted = wanted(client, args).await?;
    let list = client
        .get(&collection(PACKAGES, &client.namespace, &[]))
        .await?;
    let all = items(&list);
    let mut pairs = Vec::new();
    for name in &wanted {
        let revision = upgrade::find(all, name)
            .ok_or_else(|| Failure::new(format!("could not find package revision {name}")))?;
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
async fn wanted(client: &Client, args: &RevisionDiffArgs) -> Result<Vec<String>, Failure> {
    if !args.names.is_empty() {
        return Ok(args.names.clone());
    }
    let labels = args.selector.as_deref().unwrap_or_default();
    let fields = args.field_selector.as_deref().unwrap_or_default();
    if labels.is_empty() && fields.is_empty() {
        return Err(
            Failure::usage("PACKAGE_REVISION is a required positional argument")
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
            matches!(&file.content, ContentChange::Text { fields, .. } if !fields.is_empty())
        });
        let path = |file: &package::changes::FileChange| file.file.fill(inputs);
        Self {
            id: found.alike(),
            files: more.filter_map(path).collect(),
        }
    }
}

/// Fetches both sides of each pair; what several are compared with is fetched once.
async fn compare(client: &Client, pairs: Vec<Pair>) -> Result<Vec<Compared>, Failure> {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for base in pairs.iter().filter_map(|pair| pair.base.as_ref()) {
        *uses.entry(base.clone()).or_default() += 1;
    }
    let shared = uses.into_iter().filter(|(_, count)| *count > 1);
    let mut known: BTreeMap<String, Arc<Contents>> = BTreeMap::new();
    for (name, _) in shared {
        let files = Arc::new(files(client, &name).await?);
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
                None => Arc::new(files(client, base).await?),
            },
        };
        let after = files(client, &name).await?;
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
    let all: Vec<Result<Compared, Failure>> = futures::stream::iter(pairs)
        .map(one)
        .buffered(AT_ONCE)
        .collect()
        .await;
    all.into_iter().collect()
}

async fn files(client: &Client, name: &str) -> Result<Contents, Failure> {
    let found = contents(client, name).await?;
    if !found.complete {
        say(&format!(
            "Warning: {name} has links, or files that are binary or too large; they are not compared"
        ));
    }
    Ok(found)
}

/// What the Kptfile keeps about the package, which every upgrade and render writes.
pub(in crate::commands) fn is_bookkeeping(difference: &Difference) -> bool {
    let kept = ["upstream", "upstreamLock", "status"];
    let top = difference.path.split(['.', '[']).next().unwrap_or_default();
    difference.file.file_name() == "Kptfile" && kept.contains(&top)
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
            [(_, None)] => format!(" against nothing: {against} is not there"),
            _ => String::new(),
        };
        _ = match single {
            true => writeln!(out, "== {named}{base}"),
            false => writeln!(out, "== {} of them: {named}{base}", names.len()),
        };
        let inputs: Vec<&Inputs> = group.inputs.iter().collect();
        let differences = alike::named(&group.differences, &inputs);
        out.push_str(&findings::differences(&differences));
        for file in &group.form {
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
mod tests {
    use model::{File, Files, PackagePath};

    use super::*;

    fn revision(name: &str, number: i64, task: &Value) -> Value {
        json!({ "metadata": { "name": name }, "spec": { "packageName": "web", "repository": "east",
            "revision": number, "tasks": [task] } })
    }

    #[test]
    fn a_draft_is_compared_with_the_latest_and_a_published_one_with_the_one_before() {
        let none = json!({});
        let all = [
            revision("v1", 1, &none),
            revision("v3", 3, &none),
            revision("v2", 2, &none),
            revision(
                "draft",
                0,
                &json!({ "edit": { "sourceRef": { "name": "v2" } } }),
            ),
            json!({ "metadata": { "name": "x" }, "spec": { "packageName": "db", "repository": "east", "revision": 9 } }),
        ];
        let of = |n: usize| published(&all, &all[n]);
        assert_eq!(of(3).as_deref(), Some("v3"));
        assert_eq!(of(1).as_deref(), Some("v2"));
        assert_eq!(of(0), None);
        assert_eq!(made_from(&all[3]).as_deref(), Some("v2"));
        assert_eq!(made_from(&all[0]), None);
    }

    fn compared(name: &str, before: &str, after: &str) -> Compared {
        let files = |text: &str| -> Files {
            let path = PackagePath::parse("cm.yaml").unwrap();
            [(path, File::text(text))].into_iter().collect()
        };
        let differences = package::merge::diff(&files(before), &files(after));
        let inputs = Inputs::new([("package".to_owned(), format!("web-{name}"))]);
        Compared {
            name: name.to_owned(),
            base: Some(format!("{name}-before")),
            differences,
            unseen: false,
            form: Form::of(&files(before), &files(after), &inputs),
            inputs,
        }
    }

    /// A package's own name in what changes makes no other change of it; a literal in braces does.
    #[test]
    fn changes_that_differ_by_what_the_package_states_are_one() {
        let cm = |own: &str, value: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {own}}}\ndata:\n  one: {own}/{value}\n"
            )
        };
        let of = |name: &str, value: &str| {
            let own = format!("web-{name}");
            compared(name, &cm(&own, "x"), &cm(&own, value))
        };
        let braces = compared("d", &cm("{package}", "x"), &cm("{package}", "y"));
        let groups = grouped(vec![of("a", "y"), of("b", "y"), of("c", "z"), braces]);
        let sizes: Vec<usize> = groups.iter().map(|g| g.members.len()).collect();
        assert_eq!(sizes, [2, 1, 1]);
        let text = as_text(&groups, Against::Published);
        assert!(text.starts_with("== 2 of them: a, b\n"), "{text}");
        assert!(text.contains("{package}/y"), "{text}");
        assert!(
            text.contains("web-c/z"),
            "one alone is told as it is: {text}"
        );
        let json = as_json(&groups, Against::Published);
        let group = &json["groups"][0];
        assert_eq!(group["inputs"], json!(["package"]));
        assert_eq!(
            group["differences"][0]["after"]["value"]
                .as_str()
                .map(|v| v.contains("web-a/y")),
            Some(true),
            "{group}"
        );
    }

    #[test]
    fn equal_changes_are_told_once_and_the_frequent_first() {
        let cm = |value: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{k: {value}}}\n"
            )
        };
        let groups = grouped(vec![
            compared("a", &cm("x"), &cm("x")),
            compared("b", &cm("x"), &cm("z")),
            compared("c", &cm("x"), &cm("y")),
            compared("d", &cm("x"), &cm("y")),
        ]);
        let text = as_text(&groups, Against::Published);
        let heads: Vec<&str> = text.lines().filter(|l| l.starts_with("==")).collect();
        let wanted = [
            "== 2 of them: c, d",
            "== 1 of them: b against b-before",
            "== equal to what is published: a",
        ];
        assert_eq!(heads, wanted, "{text}");
        assert!(text.contains("+ data.k: \"y\""), "{text}");
    }

    /// A comment may be a setter: what has another one beside an equal change is no equal change.
    #[test]
    fn what_differs_in_its_form_stands_apart_and_says_so() {
        let cm = |value: &str| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  k: {value}\n")
        };
        let groups = grouped(vec![
            compared("a", &cm("old"), &cm("next")),
            compared("b", &cm("old"), &cm("next")),
            compared("c", &cm("old"), &cm("next # kpt-set: ${other}")),
            compared("d", &cm("old"), &cm("\"next\"")),
        ]);
        let sizes: Vec<usize> = groups.iter().map(|g| g.members.len()).collect();
        assert_eq!(sizes, [2, 1, 1]);
        let text = as_text(&groups, Against::Published);
        let said = "and in cm.yaml comments, order or how values are written";
        assert_eq!(text.matches(said).count(), 2, "{text}");
        assert_eq!(
            as_json(&groups, Against::Published)["groups"][1]["form"],
            json!(["cm.yaml"])
        );
    }

    /// A reviewer is never told that something is equal of which not all is known.
    #[test]
    fn what_may_differ_unseen_is_not_said_to_be_equal() {
        let cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: x}\n";
        let same = |name: &str| compared(name, cm, cm);
        let changed = |name: &str| compared(name, cm, &cm.replace("k: x", "k: y"));
        let hiding = |one: Compared| Compared {
            unseen: true,
            ..one
        };
        let groups = grouped(vec![
            same("a"),
            hiding(same("b")),
            changed("c"),
            hiding(changed("d")),
        ]);
        assert_eq!(groups.len(), 4);
        let text = as_text(&groups, Against::Published);
        let about = |name: &str| {
            let line = text.lines().find(|l| l.contains(&format!(": {name}")));
            line.unwrap_or_default().to_owned()
        };
        assert!(about("a").contains("equal to"), "{text}");
        assert!(about("b").contains("may differ from"), "{text}");
        assert_eq!(text.matches(NOT_COMPARED).count(), 2, "{text}");
        let json = as_json(&groups, Against::Published);
        let unseen = json["groups"].as_array().unwrap().iter();
        assert_eq!(unseen.filter(|g| g["unseen"] == true).count(), 2, "{json}");
    }

    #[test]
    fn what_the_kptfile_keeps_is_no_change_of_the_package() {
        let kptfile = |commit: &str, info: &str| -> Files {
            let text = format!(
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {{name: a}}\nupstreamLock: {{git: {{commit: {commit}}}}}\ninfo: {{site: {info}}}\n"
            );
            [(PackagePath::parse("Kptfile").unwrap(), File::text(text))]
                .into_iter()
                .collect()
        };
        let mut all = package::merge::diff(&kptfile("a", "x"), &kptfile("b", "y"));
        all.retain(|d| !is_bookkeeping(d));
        let paths: Vec<&str> = all.iter().map(|d| d.path.as_str()).collect();
        assert_eq!(paths, ["info.site"]);
    }
}
