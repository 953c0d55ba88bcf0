//! The merge of one resource, held against the rules of its schema (M13b).
//!
//! What each side says alone may break a rule together: two ports with one number, two handlers of one probe. Where the
//! result breaks one that no side broke, the list or map is one value, and who wins at a conflict gives all of it. Values
//! are never judged here, only what tells elements apart, and which fields exclude each other.

use std::collections::{BTreeMap, BTreeSet};

use yaml::{Node, NodeKind, Stream};

use super::apply;
use super::identify::identity;
use super::known::Known;
use super::record::Recorder;
use super::schemas::Schemas;
use super::three::Three;
use super::value;
use super::walk::DocumentMerge;
use crate::place::{FieldPath, PathStep};
use crate::schema::{ListKey, ListRule, Schema};

/// Merges one document field by field; `None` where that cannot be written, or only against the rules.
pub(super) fn merge(
    stream: &Stream,
    document: usize,
    three: Three<'_>,
    schemas: &Schemas<'_>,
    record: &mut Recorder<'_>,
) -> Option<Stream> {
    let local = three.local?;
    let schema = schema_of(local, schemas, record);
    let since = record.len();
    let mut whole: Vec<FieldPath> = Vec::new();
    loop {
        let mut walk = DocumentMerge::new(record);
        walk.whole = &whole;
        value::document(&mut walk, three, schema);
        let ops = walk.ops;
        let merged = apply::apply(stream, document, ops)?;
        let mut rules = Rules { broken: Vec::new() };
        let sides = [three.base, three.local, three.upstream];
        let root = merged.document(document)?.root();
        rules.look(&FieldPath::default(), root, sides, Known::of(schema));
        if rules.broken.is_empty() {
            return Some(merged);
        }
        record.truncate(since);
        rules
            .broken
            .retain(|path| whole.binary_search(path).is_err());
        if rules.broken.is_empty() {
            return None;
        }
        whole.append(&mut rules.broken);
        whole.sort();
    }
}

/// The schema of a document: of its kind, or of the file that it stands in.
pub(super) fn schema_of<'s>(
    root: Node<'s>,
    schemas: &'s Schemas<'_>,
    record: &Recorder<'_>,
) -> Schema<'s> {
    let kind = root.get("kind").is_some();
    let named = Schema::of_file(record.file().file_name()).filter(|_| !kind);
    named.unwrap_or_else(|| schemas.of(root))
}

/// Looks for what no rule allows.
struct Rules {
    /// The lists and maps that hold it.
    broken: Vec<FieldPath>,
}

impl Rules {
    fn look<'a>(
        &mut self,
        at: &FieldPath,
        merged: Node<'a>,
        sides: [Option<Node<'a>>; 3],
        known: Known<'_>,
    ) {
        match merged.kind() {
            NodeKind::Mapping if exclusive(merged, sides, known.schema) => {
                self.broken.push(at.clone());
            }
            NodeKind::Mapping if !matches!(known.schema, Schema::Unknown) => {
                for entry in merged.entries() {
                    let Some(key) = entry.key.key_text() else {
                        continue;
                    };
                    let sides = sides.map(|side| side?.get(key));
                    self.look(&at.field(key), entry.value, sides, known.field(key));
                }
            }
            NodeKind::Sequence => self.elements(at, merged, sides, known),
            _ => {}
        }
    }

    fn elements<'a>(
        &mut self,
        at: &FieldPath,
        merged: Node<'a>,
        sides: [Option<Node<'a>>; 3],
        known: Known<'_>,
    ) {
        if let ListRule::Map(keys) = known.list {
            let ports = matches!(known.schema, Schema::Builtin(_));
            let mut faults = faults(merged, keys, ports);
            if !faults.is_empty() {
                for side in sides.into_iter().flatten() {
                    let there = self::faults(side, keys, ports);
                    faults.retain(|fault| !there.contains(fault));
                }
            }
            if !faults.is_empty() {
                self.broken.push(at.clone());
                return;
            }
        }
        if known.schema.is_leaf() {
            return;
        }
        let named = sides.map(|side| by_identity(side, known.list));
        for (index, item) in merged.items().enumerate() {
            let step = identity(item, known.list);
            let sides = match &step {
                Some(step) => named.each_ref().map(|items| items.get(step).copied()),
                None => sides.map(|side| side?.at(index)),
            };
            let at = at.join(step.clone().unwrap_or(PathStep::Index(index)));
            self.look(&at, item, sides, Known::of(known.schema));
        }
    }
}

/// The elements of a list by what tells them apart; of equal ones the first.
fn by_identity<'a>(list: Option<Node<'a>>, known: ListRule<'_>) -> BTreeMap<PathStep, Node<'a>> {
    let mut items = BTreeMap::new();
    for item in list.into_iter().flat_map(|list| list.items()) {
        if let Some(step) = identity(item, known) {
            items.entry(step).or_insert(item);
        }
    }
    items
}

/// Whether a map has several fields of which it may have one alone, and no side has.
fn exclusive(merged: Node<'_>, sides: [Option<Node<'_>>; 3], schema: Schema<'_>) -> bool {
    let several = |node: Node<'_>| {
        let there = |name: &&str| node.get(name).is_some_and(|value| !value.is_null());
        schema.alternatives().filter(there).count() > 1
    };
    several(merged) && !sides.into_iter().flatten().any(several)
}

/// What a list holds that no rule allows: keys that stand twice; of ports names that do, and, of those of a Service,
/// more than one where one has none.
fn faults(list: Node<'_>, keys: &[ListKey], ports: bool) -> BTreeSet<PathStep> {
    let mut faults = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for item in list.items() {
        if let Some(step) = identity(item, ListRule::Map(keys)) {
            add(step, &mut seen, &mut faults);
        }
    }
    let has = |name: &str| keys.iter().any(|key| key.name == name);
    if !ports || !(has("port") || has("containerPort")) {
        return faults;
    }
    for item in list.items() {
        let name = item.effective("name").and_then(|name| name.as_str());
        match name {
            Some(name) => add(PathStep::Item(name.to_owned()), &mut seen, &mut faults),
            None if has("port") && list.items().len() > 1 => {
                faults.insert(PathStep::Item(String::new()));
            }
            None => {}
        }
    }
    faults
}

fn add(step: PathStep, seen: &mut BTreeSet<PathStep>, faults: &mut BTreeSet<PathStep>) {
    if !seen.insert(step.clone()) {
        faults.insert(step);
    }
}
