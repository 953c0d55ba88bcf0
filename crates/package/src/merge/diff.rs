//! What differs between two packages, by file, resource and field.
//!
//! Lists pair as in a merge. Values of Secrets show as hashes only. Nothing here decides anything.

use std::collections::{BTreeMap, BTreeSet};

use model::{ConflictValue, File, Files, PackagePath};
use similar::{Algorithm, DiffTag, capture_diff_slices};
use yaml::{Limits, Node, NodeKind, Stream};

use super::known::Known;
use super::pairs;
use super::schemas::Schemas;
use super::sides::{Sides, is_documents};
use super::three::Three;
use crate::place::{FieldPath, PathStep};
use crate::schema::Schema;
use crate::values::{
    ResourceIdentity, cluster_value, file_value, hidden, identity, is_secret, node_value, same,
    same_in_cluster, undecidable,
};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The file.
    pub file: PackagePath,
    /// `group/NodeKind/namespace/name`; empty for a file that holds no resource.
    pub resource: String,
    /// The field's path; empty for the whole resource or file.
    pub path: String,
    /// What the first package holds.
    pub before: ConflictValue,
    /// What the second package holds. Equal to `before` where only the form differs: comments, order,
    /// quotes, layout.
    pub after: ConflictValue,
    /// Where a key stands twice in the document, which is compared as a text then (M6): readers take one of them or the other.
    pub twice: Option<String>,
}

/// The path of what differs in a document that is compared as a text.
const LINES: &str = "#lines";

impl Difference {
    /// Whether nothing but the form differs.
    pub fn is_form(&self) -> bool {
        self.before == self.after
    }
}

/// All differences, in the order of their places, for whoever has to judge them: also what only a cluster reads otherwise, and
/// what stands behind a key that stands twice.
pub fn diff(before: &Files, after: &Files) -> Vec<Difference> {
    found(before, after, true, |_| true)
}

/// The fields that differ in some of the files, as the package's own readers take them.
pub(crate) fn diff_where(
    before: &Files,
    after: &Files,
    asked: impl Fn(&PackagePath) -> bool,
) -> Vec<Difference> {
    found(before, after, false, asked)
}

fn found(
    before: &Files,
    after: &Files,
    judged: bool,
    asked: impl Fn(&PackagePath) -> bool,
) -> Vec<Difference> {
    let schemas = Schemas::new(Sides {
        base: before,
        local: before,
        upstream: after,
    });
    let mut all = Vec::new();
    let paths: BTreeSet<&PackagePath> = before.keys().chain(after.keys()).collect();
    for path in paths.into_iter().filter(|path| asked(path)) {
        let sides = [before.get(path), after.get(path)];
        if sides[0] != sides[1] && !documents(path, sides, (&schemas, judged), &mut all) {
            all.push(Difference {
                file: path.clone(),
                resource: String::new(),
                path: String::new(),
                before: file_value(sides[0]),
                after: file_value(sides[1]),
                twice: None,
            });
        }
    }
    all
}

/// Compares the documents of a file; says whether it could.
fn documents(
    path: &PackagePath,
    sides: [Option<&File>; 2],
    (schemas, judged): (&Schemas<'_>, bool),
    all: &mut Vec<Difference>,
) -> bool {
    let kptfile = path.file_name() == crate::kptfile::FILE_NAME;
    if !is_documents(path) {
        return false;
    }
    let stream = |file: Option<&File>| match file {
        Some(file) => Stream::parse(file.as_text()?, &Limits::default()).ok(),
        None => Stream::parse("", &Limits::default()).ok(),
    };
    let [Some(before), Some(after)] = sides.map(stream) else {
        return false;
    };
    let roots = |stream: &Stream| -> Vec<ResourceIdentity> {
        stream
            .documents()
            .map(|document| identity(document.root()))
            .collect()
    };
    let (mut old, new) = (roots(&before), roots(&after));
    if judged {
        follow(&mut old, &new, kptfile);
    }
    let unique = |ids: &[ResourceIdentity]| ids.iter().collect::<BTreeSet<_>>().len() == ids.len();
    if !unique(&old) || !unique(&new) || (old.is_empty() && new.is_empty()) {
        return false;
    }
    let start = all.len();
    let (in_old, in_new) = (places(&old), places(&new));
    let ids = old
        .iter()
        .chain(new.iter().filter(|id| !in_old.contains_key(id)));
    for id in ids {
        let (a, b) = (root_of(&before, &in_old, id), root_of(&after, &in_new, id));
        let schema = match a.or(b) {
            Some(_) if kptfile => Schema::kptfile(),
            Some(node) => schemas.of(node),
            None => Schema::Unknown,
        };
        let mut walk = Comparison {
            file: path,
            resource: id.record(),
            secret: a.into_iter().chain(b).any(is_secret),
            judged,
            all,
        };
        match judged && a.into_iter().chain(b).any(undecidable) {
            true => walk.lines(a, b),
            false => walk.node(&FieldPath::default(), a, b, Known::of(schema)),
        }
    }
    // Something differs, or the files would be equal: the form.
    all.len() > start || {
        all.push(Difference {
            file: path.clone(),
            resource: String::new(),
            path: String::new(),
            before: ConflictValue::Absent,
            after: ConflictValue::Absent,
            twice: None,
        });
        true
    }
}

/// Calls what is the same resource by the name that it has afterwards: the Kptfile of a package with another name, and what was
/// put into another namespace. Whoever judges is to see what differs in it, and not one that goes and one that comes.
fn follow(old: &mut [ResourceIdentity], new: &[ResourceIdentity], kptfile: bool) {
    if let ([one], [other], true) = (&mut *old, new, kptfile) {
        one.clone_from(other);
        return;
    }
    let alone = |ids: &[ResourceIdentity], others: &[ResourceIdentity]| {
        let mut found: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, id) in ids.iter().enumerate().filter(|(_, id)| id.is_resource()) {
            if !others.contains(id) {
                let name = [&id.group, &id.kind, &id.name].map(Clone::clone);
                found.entry(name).or_default().push(at);
            }
        }
        found
    };
    let (gone, come) = (alone(old, new), alone(new, old));
    for (name, places) in gone {
        let ([from], Some([to])) = (places.as_slice(), come.get(&name).map(Vec::as_slice)) else {
            continue;
        };
        if let (Some(one), Some(other)) = (old.get_mut(*from), new.get(*to)) {
            one.clone_from(other);
        }
    }
}

/// Where the resources of a file stand.
type Places<'i> = BTreeMap<&'i ResourceIdentity, usize>;

fn places(ids: &[ResourceIdentity]) -> Places<'_> {
    ids.iter().zip(0..).collect()
}

/// The document of a resource.
fn root_of<'a>(stream: &'a Stream, places: &Places<'_>, id: &ResourceIdentity) -> Option<Node<'a>> {
    let index = places
        .get(id)
        .copied()
        .filter(|index| *index < stream.len());
    Some(stream.document(index?)?.root())
}

/// The first key that stands twice in a document, and where.
fn repeated(root: Node<'_>) -> Option<String> {
    let [before, again] = root.repeated_keys().into_iter().next()?;
    let key = again.key_text().unwrap_or_default();
    let (before, again) = (before.line(), again.line());
    Some(format!(
        "the key {key:?} stands in line {before} and again in line {again}"
    ))
}

pub(super) struct Comparison<'w> {
    file: &'w PackagePath,
    resource: String,
    secret: bool,
    /// Whether somebody judges by it what a cluster will get.
    judged: bool,
    all: &'w mut Vec<Difference>,
}

impl<'w> Comparison<'w> {
    /// A comparison of one resource of a file, whose values may be seen.
    pub(super) fn new(
        file: &'w PackagePath,
        resource: String,
        all: &'w mut Vec<Difference>,
    ) -> Self {
        Self {
            file,
            resource,
            secret: false,
            judged: false,
            all,
        }
    }

    pub(super) fn node(
        &mut self,
        at: &FieldPath,
        before: Option<Node<'_>>,
        after: Option<Node<'_>>,
        known: Known<'_>,
    ) {
        if let (Some(a), Some(b)) = (before, after) {
            if same(a, b) && (!self.judged || same_in_cluster(a, b)) {
                return;
            }
            match (a.kind(), b.kind()) {
                (NodeKind::Mapping, NodeKind::Mapping)
                    if self.fields(at, a, b, known) || !self.judged =>
                {
                    return;
                }
                (NodeKind::Sequence, NodeKind::Sequence) if self.elements(at, a, b, known) => {
                    return;
                }
                _ => {}
            }
        }
        let secret = self.secret && hidden(at);
        let mut values = [before, after].map(|node| node_value(node, secret));
        if self.judged && values[0] == values[1] {
            // What the package's own readers take for the same is another value in a cluster.
            values = [before, after].map(|node| cluster_value(node, secret));
        }
        self.push(at.to_string(), values, None);
    }

    fn push(&mut self, path: String, values: [ConflictValue; 2], twice: Option<String>) {
        let [before, after] = values;
        self.all.push(Difference {
            file: self.file.clone(),
            resource: self.resource.clone(),
            path,
            before,
            after,
            twice,
        });
    }

    /// Compares a document in which a key stands twice as a text: whatever value is looked at, readers may take another one.
    fn lines(&mut self, before: Option<Node<'_>>, after: Option<Node<'_>>) {
        let twice = [after, before].into_iter().flatten().find_map(repeated);
        let [old, new] = [before, after].map(|node| node.map_or("", |node| node.source()));
        if self.secret {
            if old != new {
                let values = [before, after].map(|node| cluster_value(node, true));
                self.push(LINES.to_owned(), values, twice);
            }
            return;
        }
        let [old, new] = [old, new].map(|text| text.lines().collect::<Vec<_>>());
        let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
        for op in ops.into_iter().filter(|op| op.tag() != DiffTag::Equal) {
            let sides = [old.get(op.old_range()), new.get(op.new_range())];
            let values = sides.map(|lines| match lines.unwrap_or_default() {
                [] => ConflictValue::Absent,
                lines => ConflictValue::Json(serde_json::Value::from(lines.join("\n")).to_string()),
            });
            self.push(LINES.to_owned(), values, twice.clone());
        }
    }

    /// Compares the fields of both; says whether any differs.
    fn fields(
        &mut self,
        at: &FieldPath,
        before: Node<'_>,
        after: Node<'_>,
        known: Known<'_>,
    ) -> bool {
        let start = self.all.len();
        let new = after.entries().filter(|entry| {
            entry
                .key
                .key_text()
                .is_some_and(|key| before.get(key).is_none())
        });
        for entry in before.entries().chain(new) {
            let Some(key) = entry.key.key_text() else {
                continue;
            };
            self.node(
                &at.field(key),
                before.get(key),
                after.get(key),
                known.field(key),
            );
        }
        self.all.len() > start
    }

    /// Compares lists that pair; says whether they do, and whether more than the order differs.
    fn elements(
        &mut self,
        at: &FieldPath,
        before: Node<'_>,
        after: Node<'_>,
        known: Known<'_>,
    ) -> bool {
        let three = Three {
            base: Some(before),
            local: Some(before),
            upstream: Some(after),
        };
        let slots = pairs::slots(three, known.list);
        let start = self.all.len();
        for slot in slots.into_iter().flatten() {
            let a = slot.local.and_then(|index| before.at(index));
            let b = slot.upstream.and_then(|index| after.at(index));
            let step: PathStep = slot.step;
            self.node(&at.join(step), a, b, Known::of(known.schema));
        }
        // Where only the order differs no element does: the list as a whole is told then.
        self.all.len() > start
    }
}
