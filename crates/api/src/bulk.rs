//! `BulkChange`: one request for many package revisions, and what came of each (F3).

use std::collections::BTreeSet;

use model::{Lifecycle, ObjectName, Problem, TreeId};
use serde_json::{Map, Value};

use crate::fields::{FieldReader, name, object_of, put};

/// The group of what is answered about whole fleets.
pub const FLEET_GROUP: &str = "fleet.offshoot.dev";

/// The most entries of one request.
pub const BULK_LIMIT: usize = 10_000;

/// How many wrong entries are told.
const TOLD: usize = 20;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkEntry {
    /// The package revision.
    pub name: ObjectName,
    /// What is asked for, as it is written; which verbs there are is not known here.
    pub verb: String,
    /// The tree that was seen, if that was said.
    pub tree: Option<String>,
    /// The class of changes that was seen and its inputs, as JSON, if that was said.
    pub class: Option<String>,
}

/// What came of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BulkResult {
    /// It was changed.
    Done,
    /// It was so already.
    Already,
    /// The verb is not for it.
    Skipped,
    /// It was not changed.
    Refused,
    /// It waits for its repository, and goes on.
    Pending,
    /// It was not begun.
    Left,
}

impl BulkResult {
    /// All of them, with the field of the status that counts them.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Done, "done"),
        (Self::Already, "already"),
        (Self::Skipped, "skipped"),
        (Self::Refused, "refused"),
        (Self::Pending, "pending"),
        (Self::Left, "left"),
    ];

    /// The wire form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "Done",
            Self::Already => "Already",
            Self::Skipped => "Skipped",
            Self::Refused => "Refused",
            Self::Pending => "Pending",
            Self::Left => "Left",
        }
    }

    /// Reads the wire form.
    pub fn parse(text: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter().map(|(result, _)| result);
        all.find(|result| result.as_str() == text)
    }
}

/// What is told of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkOutcome {
    /// What came of it.
    pub result: BulkResult,
    /// What kind of refusal, as in a `Status` of Kubernetes; empty for none.
    pub reason: String,
    /// Why it was refused or skipped, for programs, as in the causes of a `Status`; empty where they do nothing about it.
    pub cause: String,
    /// Why; empty for nothing to say.
    pub message: String,
    /// The lifecycle that the revision has now, if that is known.
    pub lifecycle: Option<Lifecycle>,
}

impl BulkOutcome {
    /// An outcome without words.
    pub fn of(result: BulkResult) -> Self {
        Self {
            result,
            reason: String::new(),
            cause: String::new(),
            message: String::new(),
            lifecycle: None,
        }
    }

    /// Reads an entry of `status.results`: the name of the revision, and what came of it.
    pub fn read(result: &Value) -> Option<(String, Self)> {
        let result = FieldReader::new(result, "");
        let text = |key| result.owned(key).unwrap_or_default();
        let outcome = Self {
            result: BulkResult::parse(&text("result"))?,
            reason: text("reason"),
            cause: text("cause"),
            message: text("message"),
            lifecycle: result.text("lifecycle").and_then(Lifecycle::parse),
        };
        Some((text("name"), outcome))
    }
}

/// Reads the entries of a request.
///
/// # Errors
/// There are none or too many; an entry without a name or a verb, or with a tree that is none; a name that stands there
/// twice.
pub fn read_bulk(object: &Value) -> Result<Vec<BulkEntry>, Vec<Problem>> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let spec = FieldReader::new(spec, "spec");
    let entries = spec.list("changes");
    if entries.is_empty() {
        let what = "spec.changes must name at least one package revision";
        return Err(vec![Problem::new("spec.changes", what)]);
    }
    if entries.len() > BULK_LIMIT {
        let what = format!(
            "spec.changes has {} entries, and one request may have {BULK_LIMIT}",
            entries.len()
        );
        let problem = Problem::new("spec.changes", what);
        return Err(vec![problem.hint("ask in several requests")]);
    }
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let mut read = Vec::with_capacity(entries.len());
    for entry in &entries {
        let Some(one) = read_entry(entry, &mut problems) else {
            continue;
        };
        if !seen.insert(one.name.clone()) {
            let field = entry.field("name");
            let what = format!("{field}: {} stands there twice", one.name);
            problems.push(Problem::new(field, what));
        }
        read.push(one);
    }
    problems.truncate(TOLD);
    if problems.is_empty() {
        Ok(read)
    } else {
        Err(problems)
    }
}

fn read_entry(entry: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<BulkEntry> {
    let field = entry.field("name");
    let text = entry.text("name").unwrap_or_default();
    let named = name(problems, &field, text, ObjectName::parse);
    let verb = entry.owned("verb");
    if verb.is_none() {
        let field = entry.field("verb");
        let what = format!("{field} must not be empty");
        problems.push(Problem::new(field, what));
    }
    let tree = entry.owned("tree");
    if let Some(tree) = tree.as_ref().filter(|tree| TreeId::parse(tree).is_none()) {
        let field = entry.field("tree");
        let what = format!("{field}: Invalid value: {tree:?}: must be the id of a tree");
        let problem = Problem::new(field, what);
        problems.push(problem.hint("status.offshoot.tree of a package revision is one"));
    }
    Some(BulkEntry {
        name: named?,
        verb: verb?,
        tree,
        class: entry.raw("class").map(Value::to_string),
    })
}

/// The answer: the request, and what came of its entries.
pub fn write_bulk(namespace: &str, results: &[(ObjectName, BulkOutcome)]) -> Value {
    let mut status = Map::new();
    for (result, field) in BulkResult::ALL {
        let count = results.iter().filter(|(_, one)| one.result == result);
        status.insert(field.to_owned(), count.count().into());
    }
    let one = |(name, outcome): &(ObjectName, BulkOutcome)| {
        let mut out = Map::new();
        put(&mut out, "name", name.as_str());
        put(&mut out, "result", outcome.result.as_str());
        put(&mut out, "reason", &outcome.reason);
        put(&mut out, "cause", &outcome.cause);
        put(&mut out, "message", &outcome.message);
        let now = outcome.lifecycle.map_or("", Lifecycle::as_str);
        put(&mut out, "lifecycle", now);
        Value::Object(out)
    };
    let results = results.iter().map(one).collect();
    status.insert("results".to_owned(), Value::Array(results));
    let namespace = object_of([("namespace", namespace.into())]);
    object_of([
        ("apiVersion", format!("{FLEET_GROUP}/v1alpha1").into()),
        ("kind", "BulkChange".into()),
        ("metadata", namespace),
        ("status", Value::Object(status)),
    ])
}
