//! The part of the document that tells what changes: one class, its files and fields.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use model::{File, FileMode, Files, PackagePath};
use package::changes::{
    Body, Changes, ContentChange, FieldChange, FileChange, HashKey, Held, Inputs, TextPart,
    TextWithInputs, leaves, text_holds_secret,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// What hidden values are told apart by in what only one process puts out: whoever has a plain hash of a weak value finds the
/// value by trying.
pub(crate) fn of_this_process() -> &'static HashKey {
    static KEY: LazyLock<HashKey> =
        LazyLock::new(|| HashKey::new(uuid::Uuid::new_v4().to_string()));
    &KEY
}

/// Why a file's text is not shown.
const SECRET: &str = "it holds a Secret";
/// How many fields of an added resource are told; the text of the file stands beside.
const FIELDS: usize = 8;

/// A class: its changes, the files that differ in its first target, and the inputs of all of its targets, the first first.
pub(crate) fn of_changes(
    id: &str,
    first: &str,
    changes: &Changes,
    (before, after): (&Files, &Files),
    targets: &[&Inputs],
) -> Value {
    let example = Example {
        key: &changes.key,
        after,
        inputs: targets.first().copied(),
    };
    let told: Vec<Value> = changes
        .files
        .iter()
        .flat_map(|file| of_file(file, &example))
        .collect();
    let mut class = json!({
        "id": id,
        "count": targets.len(),
        "first": first,
        "contents": contents(after),
        "before": contents(before),
        "changes": told,
        "inputs": inputs(changes, targets),
    });
    for (key, told) in [
        ("modes", modes(before, after)),
        ("hidden", hidden(before, after)),
    ] {
        if !told.is_empty() {
            class[key] = told.into();
        }
    }
    class
}

/// The target that a class is shown by.
struct Example<'a> {
    key: &'a HashKey,
    after: &'a Files,
    inputs: Option<&'a Inputs>,
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
pub(crate) fn shown_text(file: &File) -> String {
    match (not_shown(file), file.as_text()) {
        (None, Some(text)) => text.to_owned(),
        (why, _) => format!("(not shown: {})\n", why.unwrap_or_default()),
    }
}

/// Why the text of a file is not shown, if it is not.
fn not_shown(file: &File) -> Option<String> {
    match file.as_text() {
        Some(text) => text_holds_secret(text).then(|| SECRET.to_owned()),
        None => Some(format!("{} bytes that are no text", file.bytes().len())),
    }
}

/// The files whose mode changes, or that come with one that is not the usual.
fn modes(before: &Files, after: &Files) -> Map<String, Value> {
    let mut all = Map::new();
    for path in before.keys().chain(after.keys()) {
        let [old, new] = [before, after].map(|files| files.get(path).map(File::mode));
        let usual = |mode: Option<FileMode>| mode != Some(FileMode::Executable);
        if old != new && !(usual(old) && usual(new)) {
            let [old, new] = [old, new].map(|mode| mode.map(digits));
            all.insert(path.to_string(), json!([old, new]));
        }
    }
    all
}

/// The files whose bytes differ and of which nothing is shown, and why.
fn hidden(before: &Files, after: &Files) -> Map<String, Value> {
    let differs = |path: &PackagePath| {
        let [old, new] = [before, after].map(|files| files.get(path).map(File::bytes));
        old != new
    };
    let all = before.iter().chain(after);
    all.filter(|(path, _)| differs(path))
        .filter_map(|(path, file)| Some((path.to_string(), not_shown(file)?.into())))
        .collect()
}

/// One change of a file, as a plan tells it.
fn entry_of(
    change: &FileChange,
    kind: &str,
    (resource, path): (&TextWithInputs, &TextWithInputs),
    (before, after): (Value, Value),
) -> Value {
    let mut entry = json!({
        "kind": kind, "file": change.file.to_string(), "resource": resource.to_string(),
        "path": path.to_string(),
        "before": before, "after": after,
    });
    // In braces, a literal reads as an input does.
    let told = [
        ("fileParts", &change.file),
        ("resourceParts", resource),
        ("pathParts", path),
    ];
    let braced = |p: &TextPart| matches!(p, TextPart::Literal(text) if text.contains('{'));
    for (key, template) in told {
        if template.0.iter().any(braced) {
            entry[key] = parts(template).into();
        }
    }
    entry
}

fn of_file(change: &FileChange, example: &Example<'_>) -> Vec<Value> {
    let entry =
        |kind: &str,
         resource: &TextWithInputs,
         path: &TextWithInputs,
         before: Value,
         after: Value| { entry_of(change, kind, (resource, path), (before, after)) };
    let none = TextWithInputs::default();
    let absent = || json!({"absent": true});
    let side = |hash: String| match change.secret {
        true => json!({"hash": example.key.hash(&hash), "hidden": true}),
        false => json!({"hash": hash}),
    };
    let mut entries = Vec::new();
    if let Some((from, to)) = change.mode {
        entries.push(entry("mode", &none, &none, mode(from), mode(to)));
    }
    match &change.content {
        ContentChange::Same => {}
        ContentChange::Added {
            resources,
            body,
            mode,
        } => {
            let fields = fields_in(change, body, example);
            for resource in named(resources) {
                let mut entry = entry("added", resource, &none, absent(), side(hash(body)));
                if *mode == FileMode::Executable {
                    entry["mode"] = digits(*mode).into();
                }
                tell_fields(&fields, resource, &mut entry);
                entries.push(entry);
            }
        }
        ContentChange::Removed { resources, body } => {
            for resource in named(resources) {
                entries.push(entry(
                    "removed",
                    resource,
                    &none,
                    side(hash(body)),
                    absent(),
                ));
            }
        }
        ContentChange::Fields(fields) => {
            entries.extend(fields.iter().map(|f| of_field(f, example.key, &entry)));
        }
        ContentChange::Text { fields, told, .. } if *told => {
            entries.extend(fields.iter().map(|f| of_field(f, example.key, &entry)));
        }
        ContentChange::Text { fields, hunks, .. } => {
            entries.extend(fields.iter().map(|f| of_field(f, example.key, &entry)));
            let mut before = TextWithInputs::default();
            let mut after = TextWithInputs::default();
            for hunk in hunks {
                before.extend(hunk.find.clone());
                after.extend(hunk.replace.clone());
            }
            let (before, after) = (side(before.hash()), side(after.hash()));
            entries.push(entry("text", &none, &none, before, after));
        }
        ContentChange::Binary { before, after } => {
            let side = |bytes: &[u8]| side(hex(&Sha256::digest(bytes)));
            entries.push(entry("binary", &none, &none, side(before), side(after)));
        }
    }
    entries
}

/// The resources of a file; one without has none that is named.
fn named(resources: &[TextWithInputs]) -> Vec<&TextWithInputs> {
    static NONE: TextWithInputs = TextWithInputs(Vec::new());
    match resources.is_empty() {
        true => vec![&NONE],
        false => resources.iter().collect(),
    }
}

/// A field of a resource.
type Leaf = (TextWithInputs, TextWithInputs, Held);

/// The fields of an added file, by the example: as templates, since others have other inputs.
fn fields_in(change: &FileChange, body: &Body, example: &Example<'_>) -> Vec<Leaf> {
    let found = || {
        let inputs = example.inputs?;
        let path = PackagePath::parse(&change.file.fill(inputs)?).ok()?;
        let file = example.after.get(&path)?;
        let Body::Text(text) = body else { return None };
        let same = text.fill(inputs).as_deref() == file.as_text();
        same.then(|| leaves(&path, file, inputs))
    };
    match change.secret {
        true => Vec::new(),
        false => found().unwrap_or_default(),
    }
}

/// Tells the first fields of an added resource.
fn tell_fields(all: &[Leaf], resource: &TextWithInputs, entry: &mut Value) {
    let mine: Vec<&Leaf> = all.iter().filter(|(of, ..)| of == resource).collect();
    let told: Vec<Value> = mine
        .iter()
        .take(FIELDS)
        .map(|(_, path, held)| {
            json!({"path": path.to_string(), "value": {"parts": parts(&held.template)}})
        })
        .collect();
    if !told.is_empty() {
        entry["fields"] = told.into();
    }
    if let Some(more) = mine.len().checked_sub(FIELDS).filter(|more| *more > 0) {
        entry["more"] = more.into();
    }
}

fn of_field(
    change: &FieldChange,
    key: &HashKey,
    entry: &impl Fn(&str, &TextWithInputs, &TextWithInputs, Value, Value) -> Value,
) -> Value {
    let side = |held: &Option<Held>| match held {
        None => json!({"absent": true}),
        Some(held) if change.secret => json!({"hash": key.hash(&held.hash()), "hidden": true}),
        Some(held) => json!({"parts": parts(&held.template)}),
    };
    let kind = match (&change.before, &change.after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    entry(
        kind,
        &change.resource,
        &change.path,
        side(&change.before),
        side(&change.after),
    )
}

fn parts(template: &TextWithInputs) -> Vec<Value> {
    let part = |part: &TextPart| match part {
        TextPart::Literal(text) => json!({"literal": text}),
        TextPart::Input(name) => json!({"input": name}),
    };
    template.0.iter().map(part).collect()
}

fn hash(body: &Body) -> String {
    match body {
        Body::Text(text) => text.hash(),
        Body::Binary(bytes) => hex(&Sha256::digest(bytes)),
    }
}

fn digits(mode: FileMode) -> &'static str {
    match mode {
        FileMode::Regular => "0644",
        FileMode::Executable => "0755",
    }
}

fn mode(mode: FileMode) -> Value {
    json!({"parts": [{"literal": digits(mode)}]})
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
