//! What differs between two packages, by file, resource and field.
//!
//! Lists pair as in a merge. Values of Secrets show as hashes only. Nothing here decides anything.

use std::collections::BTreeSet;

use model::{ConflictValue, File, Files, PackagePath};
use yaml::{Limits, Node, NodeKind, Stream};

use super::known::Known;
use super::pairs;
use super::schemas::Schemas;
use super::sides::{Sides, is_documents};
use super::three::Three;
use crate::place::{FieldPath, PathStep};
use crate::schema::Schema;
use crate::values::{ResourceIdentity, file_value, hidden, identity, is_secret, node_value, same};

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
}

impl Difference {
    /// Whether nothing but the form differs.
    pub fn is_form(&self) -> bool {
        self.before == self.after
    }
}

/// All differences, in the order of their places.
pub fn diff(before: &Files, after: &Files) -> Vec<Difference> {
    diff_where(before, after, |_| true)
}

/// The differences in some of the files.
pub(crate) fn diff_where(
    before: &Files,
    after: &Files,
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
        if sides[0] != sides[1] && !documents(path, sides, &schemas, &mut all) {
            all.push(Difference {
                file: path.clone(),
                resource: String::new(),
                path: String::new(),
                before: file_value(sides[0]),
                after: file_value(sides[1]),
            });
        }
    }
    all
}

/// Compares the documents of a file; says whether it could.
fn documents(
    path: &PackagePath,
    sides: [Option<&File>; 2],
    schemas: &Schemas<'_>,
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
    let (old, new) = (roots(&before), roots(&after));
    let unique = |ids: &[ResourceIdentity]| ids.iter().collect::<BTreeSet<_>>().len() == ids.len();
    if !unique(&old) || !unique(&new) || (old.is_empty() && new.is_empty()) {
        return false;
    }
    let start = all.len();
    let ids = old.iter().chain(new.iter().filter(|id| !old.contains(id)));
    for id in ids {
        let root = |stream: &'_ Stream, ids: &[ResourceIdentity]| {
            let index = ids.iter().position(|other| other == id);
            index.filter(|index| *index < stream.len())
        };
        let a = root(&before, &old)
            .and_then(|index| before.document(index))
            .map(|d| d.root());
        let b = root(&after, &new)
            .and_then(|index| after.document(index))
            .map(|d| d.root());
        let schema = match a.or(b) {
            Some(_) if kptfile => Schema::kptfile(),
            Some(node) => schemas.of(node),
            None => Schema::Unknown,
        };
        let mut walk = Comparison {
            file: path,
            resource: id.record(),
            secret: a.into_iter().chain(b).any(is_secret),
            all,
        };
        walk.node(&FieldPath::default(), a, b, Known::of(schema));
    }
    // Something differs, or the files would be equal: the form.
    all.len() > start || {
        all.push(Difference {
            file: path.clone(),
            resource: String::new(),
            path: String::new(),
            before: ConflictValue::Absent,
            after: ConflictValue::Absent,
        });
        true
    }
}

pub(super) struct Comparison<'w> {
    file: &'w PackagePath,
    resource: String,
    secret: bool,
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
            if same(a, b) {
                return;
            }
            match (a.kind(), b.kind()) {
                (NodeKind::Mapping, NodeKind::Mapping) => return self.fields(at, a, b, known),
                (NodeKind::Sequence, NodeKind::Sequence) if self.elements(at, a, b, known) => {
                    return;
                }
                _ => {}
            }
        }
        let secret = self.secret && hidden(at);
        self.all.push(Difference {
            file: self.file.clone(),
            resource: self.resource.clone(),
            path: at.to_string(),
            before: node_value(before, secret),
            after: node_value(after, secret),
        });
    }

    fn fields(&mut self, at: &FieldPath, before: Node<'_>, after: Node<'_>, known: Known<'_>) {
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
