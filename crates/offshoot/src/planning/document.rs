//! From what the engine planned to the document (frozen: others build on it, and pass over fields that they do not know).

use std::collections::BTreeMap;

use engine::planned::{
    FleetPlan, Leaving, PlannedClass, PlannedSet, Target, UpstreamChange, Verdict,
};
use model::{Conflict, ConflictValue, FileMode, Files, ObjectKey};
use package::changes::{
    Body, Changes, ClassId, ContentChange, FieldChange, FileChange, Held, Inputs, Part, Template,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::id_of;

/// Stands for contents that nobody is shown.
const HIDDEN: &str = "(not shown: it holds a Secret)\n";

/// The document of a plan; with a class, of its targets alone.
pub(crate) fn document(plan: &FleetPlan, class: Option<&str>) -> Value {
    let shown = |id: &str| class.is_none_or(|wanted| id.starts_with(wanted));
    let targets: Vec<&Target> = plan
        .targets
        .iter()
        .filter(|t| class.is_none() || t.class.is_some_and(|id| shown(&id.to_string())))
        .collect();
    // Many targets may be in many classes: each is looked at once.
    let mut members: BTreeMap<ClassId, Vec<&Target>> = BTreeMap::new();
    for target in &targets {
        if let Some(class) = target.class {
            members.entry(class).or_default().push(target);
        }
    }
    let classes: Vec<Value> = plan
        .classes
        .iter()
        .map(|(id, class)| (id, id.to_string(), class))
        .filter(|(_, text, _)| shown(text))
        .map(|(id, text, class)| {
            let mine = members.get(id).map_or(&[][..], Vec::as_slice);
            of_class(&text, class, mine)
        })
        .collect();
    let failed = targets.iter().filter(|t| t.verdict == Verdict::Failed);
    let failed = failed
        .map(|t| json!({"variant": t.variant.to_string(), "reason": t.why.0, "message": t.why.1}));
    let stalled = plan.stalled.iter().map(|(set, reason, message)| {
        json!({"set": set.to_string(), "reason": reason, "message": message})
    });
    let failed: Vec<Value> = failed.chain(stalled).collect();
    let counts = counted(&plan.targets);
    let sets: Vec<Value> = plan.sets.iter().map(|set| of_set(set, &counts)).collect();
    let unknown = plan.unknown.iter();
    let unknown: Vec<Value> = unknown
        .map(|(what, why)| json!({"what": what, "why": why}))
        .collect();
    let leaving: Vec<Value> = plan.leaving.iter().map(of_leaving).collect();
    let mut document = json!({
        "format": 1,
        "plan": "",
        "sets": sets,
        "classes": classes,
        "targets": targets.iter().map(|t| of_target(t)).collect::<Vec<_>>(),
        "leaving": leaving,
        "failed": failed,
        "unknown": unknown,
    });
    document["plan"] = id_of(&document).into();
    document
}

/// How many targets of each set have which verdict.
fn counted(targets: &[Target]) -> BTreeMap<(&ObjectKey, Verdict), usize> {
    let mut counts = BTreeMap::new();
    for target in targets {
        if let Some(set) = &target.set {
            *counts.entry((set, target.verdict)).or_default() += 1;
        }
    }
    counts
}

fn of_set(set: &PlannedSet, counts: &BTreeMap<(&ObjectKey, Verdict), usize>) -> Value {
    let counts: Map<String, Value> = Verdict::ALL
        .into_iter()
        .map(|verdict| {
            let count = counts.get(&(&set.key, verdict)).copied();
            (verdict.word().to_owned(), count.unwrap_or_default().into())
        })
        .collect();
    let mut object = json!({
        "set": set.key.to_string(),
        "counts": counts,
        "fuse": {"holds": set.held, "deleting": set.deleting, "of": set.of},
    });
    if !set.steps.is_empty() {
        object["steps"] = set.steps.as_slice().into();
    }
    if let Some(warning) = &set.warning {
        object["warning"] = warning.as_str().into();
    }
    object
}

fn of_leaving(leaving: &Leaving) -> Value {
    let revisions = leaving.revisions.iter();
    let revisions: Vec<Value> = revisions
        .map(|one| {
            let tree = one.tree.map(|tree| tree.to_string());
            json!({"name": one.name.as_str(), "fate": one.fate, "tree": tree})
        })
        .collect();
    json!({"variant": leaving.variant.to_string(), "why": leaving.why, "revisions": revisions})
}

fn of_target(target: &Target) -> Value {
    let inputs = target.inputs.iter();
    let inputs: Map<String, Value> = inputs.map(|(k, v)| (k.to_owned(), v.into())).collect();
    let mut object = json!({
        "variant": target.variant.to_string(),
        "set": target.set.as_ref().map(ToString::to_string),
        "repository": target.place.as_ref().map(|(repository, _)| repository.as_str()),
        "package": target.place.as_ref().map(|(_, package)| package.as_str()),
        "verdict": target.verdict.word(),
        "exact": target.inexact.is_none() && !matches!(target.verdict, Verdict::Unknown | Verdict::Failed),
        "class": target.class.map(|id| id.to_string()),
        "step": target.step,
        "upstream": target.upstream.as_ref().map(of_upstream),
        "draft": target.draft.as_ref().map(|name| name.as_str()),
        "tree": target.tree.map(|tree| tree.to_string()),
        "inputs": inputs,
        "conflicts": target.conflicts.iter().map(of_conflict).collect::<Vec<_>>(),
    });
    if let Some(why) = &target.inexact {
        object["inexact"] = why.as_str().into();
    }
    let (reason, message) = &target.why;
    if !message.is_empty() {
        object["reason"] = reason.as_str().into();
        object["message"] = message.as_str().into();
    }
    object
}

fn of_upstream(change: &UpstreamChange) -> Value {
    let end = |(revision, commit): &(String, Option<model::CommitId>)| json!({"revision": revision, "commit": commit.map(|c| c.to_string())});
    json!({
        "repository": change.repository.as_str(),
        "package": change.package.as_str(),
        "from": change.from.as_ref().map(end),
        "to": end(&change.to),
    })
}

fn of_conflict(conflict: &Conflict) -> Value {
    let side = |value: &ConflictValue| match value {
        ConflictValue::Absent => json!({"absent": true}),
        ConflictValue::Hash(hash) => json!({"hash": hash.to_string()}),
        ConflictValue::Json(text) => json!({"value": text.to_string()}),
    };
    json!({
        "id": conflict.id.0,
        "key": api::conflict_key(conflict),
        "file": conflict.file.as_str(),
        "resource": conflict.resource,
        "path": conflict.path,
        "base": side(&conflict.base),
        "local": side(&conflict.local),
        "upstream": side(&conflict.upstream),
    })
}

fn of_class(id: &str, class: &PlannedClass, targets: &[&Target]) -> Value {
    let mine: Vec<&Inputs> = targets.iter().map(|t| &t.inputs).collect();
    let files = (&class.before, &class.after);
    of_changes(id, &class.first.to_string(), &class.changes, files, &mine)
}

/// A class: its changes, the files that differ in its first target, and the inputs of all of its targets.
pub(crate) fn of_changes(
    id: &str,
    first: &str,
    changes: &Changes,
    (before, after): (&Files, &Files),
    targets: &[&Inputs],
) -> Value {
    let told: Vec<Value> = changes.files.iter().flat_map(of_file).collect();
    json!({
        "id": id,
        "count": targets.len(),
        "first": first,
        "contents": contents(after),
        "before": contents(before),
        "changes": told,
        "inputs": inputs(changes, targets),
    })
}

/// The inputs that a class names, each with its values and how many targets have them.
fn inputs(changes: &Changes, targets: &[&Inputs]) -> Vec<Value> {
    let named = changes.inputs();
    named
        .into_iter()
        .map(|name| {
            let mut values: BTreeMap<&str, usize> = BTreeMap::new();
            for target in targets {
                *values
                    .entry(target.value(&name).unwrap_or_default())
                    .or_default() += 1;
            }
            let values: Vec<Value> = values
                .into_iter()
                .map(|(value, count)| json!({"value": value, "count": count}))
                .collect();
            json!({"input": name, "values": values})
        })
        .collect()
}

/// The texts of files; one that holds a Secret is not shown, and one that is no text is no text here either.
fn contents(files: &Files) -> Map<String, Value> {
    let shown = files.iter();
    shown
        .map(|(path, file)| (path.as_str().to_owned(), shown_text(file).into()))
        .collect()
}

/// The text of a file as anybody may see it.
pub(crate) fn shown_text(file: &model::File) -> String {
    match file.as_text() {
        Some(text) if holds_secret(text) => HIDDEN.to_owned(),
        Some(text) => text.to_owned(),
        None => format!(
            "(not shown: {} bytes that are no text)\n",
            file.bytes().len()
        ),
    }
}

/// Whether a text may hold a Secret: what cannot be read as YAML is judged by its words.
fn holds_secret(text: &str) -> bool {
    // A quoted text may write the word in escapes.
    let words = ["Secret", "\\x", "\\u", "\\U"];
    if !words.iter().any(|word| text.contains(word)) {
        return false;
    }
    let read = || {
        let stream = yaml::Stream::parse(text, &yaml::Limits::default()).ok()?;
        let values = stream
            .documents()
            .map(|d| d.to_value(yaml::Reader::V3).ok());
        values.collect::<Option<Vec<_>>>()
    };
    match read() {
        Some(values) => values.iter().any(package::changes::holds_secret),
        None => true,
    }
}

fn of_file(change: &FileChange) -> Vec<Value> {
    let file = change.file.to_string();
    let entry = |kind: &str, resource: &str, path: &str, before: Value, after: Value| {
        json!({
            "kind": kind, "file": file, "resource": resource, "path": path,
            "before": before, "after": after,
        })
    };
    let mut entries = Vec::new();
    if let Some((from, to)) = change.mode {
        entries.push(entry("mode", "", "", mode(from), mode(to)));
    }
    let absent = || json!({"absent": true});
    match &change.content {
        ContentChange::Same => {}
        ContentChange::Added {
            resources, body, ..
        } => {
            for resource in names(resources) {
                entries.push(entry("added", &resource, "", absent(), hash(body)));
            }
        }
        ContentChange::Removed { resources, body } => {
            for resource in names(resources) {
                entries.push(entry("removed", &resource, "", hash(body), absent()));
            }
        }
        ContentChange::Fields(fields) => {
            entries.extend(fields.iter().map(|f| of_field(f, &entry)));
        }
        ContentChange::Text { fields, hunks } => {
            entries.extend(fields.iter().map(|f| of_field(f, &entry)));
            let mut before = Template::default();
            let mut after = Template::default();
            for hunk in hunks {
                before.extend(hunk.find.clone());
                after.extend(hunk.replace.clone());
            }
            let side = |template: &Template| json!({"hash": template.hash()});
            entries.push(entry("text", "", "", side(&before), side(&after)));
        }
        ContentChange::Binary { before, after } => {
            let side = |bytes: &[u8]| json!({"hash": hex(&Sha256::digest(bytes))});
            entries.push(entry("binary", "", "", side(before), side(after)));
        }
    }
    entries
}

fn names(resources: &[Template]) -> Vec<String> {
    if resources.is_empty() {
        return vec![String::new()];
    }
    resources.iter().map(ToString::to_string).collect()
}

fn of_field(
    change: &FieldChange,
    entry: &impl Fn(&str, &str, &str, Value, Value) -> Value,
) -> Value {
    let side = |held: &Option<Held>| match held {
        None => json!({"absent": true}),
        Some(held) if change.secret => json!({"hash": held.hash()}),
        Some(held) => json!({"parts": parts(&held.template)}),
    };
    let kind = match (&change.before, &change.after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let (resource, path) = (change.resource.to_string(), change.path.to_string());
    entry(
        kind,
        &resource,
        &path,
        side(&change.before),
        side(&change.after),
    )
}

fn parts(template: &Template) -> Vec<Value> {
    let part = |part: &Part| match part {
        Part::Literal(text) => json!({"literal": text}),
        Part::Input(name) => json!({"input": name}),
    };
    template.0.iter().map(part).collect()
}

fn hash(body: &Body) -> Value {
    match body {
        Body::Text(text) => json!({"hash": text.hash()}),
        Body::Binary(bytes) => json!({"hash": hex(&Sha256::digest(bytes))}),
    }
}

fn mode(mode: FileMode) -> Value {
    let text = match mode {
        FileMode::Regular => "0644",
        FileMode::Executable => "0755",
    };
    json!({"parts": [{"literal": text}]})
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
