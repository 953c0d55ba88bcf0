//! The merge of one value: what becomes of a local node (M1–M4).

use model::Decision;
use yaml::{Kind, Node, Path, Step};

use super::apply::{New, Op};
use super::compare::{same, same_form, same_opt};
use super::record::Recorder;
use super::whole::{apart, back, back_in_set, is_empty, stand_alone};
use super::{lines, list};
use crate::conflicts::FieldPath;
use crate::schema::{Entries, List, Schema};

/// One value as the three sides hold it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Three<'a> {
    pub(super) base: Option<Node<'a>>,
    pub(super) local: Option<Node<'a>>,
    pub(super) upstream: Option<Node<'a>>,
}

impl<'a> Three<'a> {
    pub(super) fn map(self, pick: impl Fn(Node<'a>) -> Option<Node<'a>>) -> Self {
        Self {
            base: self.base.and_then(&pick),
            local: self.local.and_then(&pick),
            upstream: self.upstream.and_then(&pick),
        }
    }
}

/// Where a value stands: in the local document, and in the words of a record.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: Path,
    pub(super) field: FieldPath,
}

impl Place {
    pub(super) fn root() -> Self {
        Self {
            path: Path::root(),
            field: FieldPath::default(),
        }
    }

    pub(super) fn key(&self, key: &str) -> Self {
        Self {
            path: self.path.join(Step::Key(key.to_owned())),
            field: self.field.field(key),
        }
    }
}

/// What is known of a value: its fields, or how its elements pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'s> {
    /// What is known of its fields, or of its elements' fields.
    pub(super) schema: Schema<'s>,
    /// How it merges if it is a list.
    pub(super) list: List<'s>,
    /// What its entries are to each other if it is a map.
    pub(super) entries: Entries,
}

impl<'s> Known<'s> {
    /// A document, or an element of a list: what it is, its identity says, and each of its fields merges for itself.
    pub(super) fn of(schema: Schema<'s>) -> Self {
        Self {
            schema,
            list: List::Unstated,
            entries: Entries::Free,
        }
    }

    /// What a comment of the field says, where nothing else is known (kyaml's `$openapi` comments).
    pub(super) fn or_comment(self, node: Node<'_>) -> Self {
        if self.list != List::Unstated || !matches!(self.schema, Schema::Unknown) {
            return self;
        }
        let comments = node.comments();
        let mut lines = comments.line.iter().chain(&comments.head);
        let said = lines.find_map(|comment| Schema::of_comment(comment.text));
        said.map_or(self, |(list, schema)| Self {
            schema,
            list,
            ..self
        })
    }

    pub(super) fn field(self, name: &str) -> Self {
        let (list, schema) = match self.schema.list(name) {
            (List::Unstated, Schema::Unknown) => (List::Unstated, self.schema.field(name)),
            stated => stated,
        };
        Self {
            schema,
            list,
            entries: self.schema.entries(name),
        }
    }
}

/// What becomes of a local value; its own inside may have been changed by operations already.
#[derive(Debug)]
pub(super) enum Verdict<'a> {
    /// It stays as it is, there or not there.
    Keep,
    /// It goes.
    Remove,
    /// It becomes this.
    Take(New<'a>),
}

/// Merges one document into operations on the local one.
pub(super) struct Walk<'a, 'r, 'o> {
    pub(super) record: &'r mut Recorder<'o>,
    pub(super) ops: Vec<Op<'a>>,
    /// Fields that are not merged: paths that stay as they are locally.
    pub(super) own: &'static [&'static [&'static str]],
    /// Lists and maps that merge as one value, because what is in them came together to what no rule allows (M13b).
    pub(super) whole: &'r [FieldPath],
}

impl<'a, 'r, 'o> Walk<'a, 'r, 'o> {
    pub(super) fn new(record: &'r mut Recorder<'o>) -> Self {
        Self {
            record,
            ops: Vec::new(),
            own: &[],
            whole: &[],
        }
    }

    /// Merges the root of a document that all sides hold (the base may not).
    pub(super) fn document(&mut self, three: Three<'a>, schema: Schema<'_>) {
        let place = Place::root();
        let verdict = self.node(&place, three, Known::of(schema));
        if let Verdict::Take(new) = verdict {
            self.ops.push(Op::Replace {
                at: place.path,
                with: new,
            });
        }
    }

    /// Merges a document as one value; says whether upstream's is taken.
    pub(super) fn as_one(&mut self, three: Three<'a>) -> bool {
        let Three {
            base,
            local,
            upstream,
        } = three;
        if same_opt(local, upstream) || same_opt(base, upstream) {
            return false;
        }
        let field = FieldPath::default();
        same_opt(base, local)
            || self.record.field(&field, base, local, upstream) == Decision::Upstream
    }

    /// Decides one value.
    pub(super) fn node(&mut self, at: &Place, three: Three<'a>, known: Known<'_>) -> Verdict<'a> {
        let Three {
            base,
            local,
            upstream,
        } = three;
        match (local, upstream) {
            (None, None) => Verdict::Keep,
            (None, Some(upstream)) => self.without_local(at, base, upstream, known),
            (Some(local), None) => self.without_upstream(at, base, local, known),
            (Some(local), Some(upstream)) => self.both(at, base, local, upstream, known),
        }
    }

    /// Deleted locally, or new upstream.
    fn without_local(
        &mut self,
        at: &Place,
        base: Option<Node<'a>>,
        upstream: Node<'a>,
        known: Known<'_>,
    ) -> Verdict<'a> {
        let Some(base) = base else {
            return Verdict::Take(New::Node(upstream));
        };
        if same(base, upstream) {
            return Verdict::Keep; // M4: it stays deleted.
        }
        match self
            .record
            .field(&at.field, Some(base), None, Some(upstream))
        {
            Decision::Local => Verdict::Keep,
            Decision::Upstream if known.list == List::Set => {
                Verdict::Take(back_in_set(base, upstream))
            }
            Decision::Upstream => Verdict::Take(back(base, upstream, known.entries)),
        }
    }

    /// Deleted upstream, or new locally.
    fn without_upstream(
        &mut self,
        at: &Place,
        base: Option<Node<'a>>,
        local: Node<'a>,
        known: Known<'_>,
    ) -> Verdict<'a> {
        let Some(base) = base else {
            return Verdict::Keep;
        };
        if same(base, local) {
            return Verdict::Remove;
        }
        if base.kind() == Kind::Mapping && local.kind() == Kind::Mapping {
            // Local additions stay, what upstream knew goes; nothing is left of a map without additions.
            let added = local.entries().any(|entry| {
                let key = entry.key.key_text();
                key.is_some_and(|key| base.get(key).is_none())
            });
            let three = Three {
                base: Some(base),
                local: Some(local),
                upstream: None,
            };
            let alone = stand_alone(base, known.entries);
            if added && !alone {
                // What was added to a whole of several parts means nothing without them: a probe, a source of a volume.
                return match self.record.field(&at.field, Some(base), Some(local), None) {
                    Decision::Local => Verdict::Keep,
                    Decision::Upstream => Verdict::Remove,
                };
            }
            // Whether anything of the map is left is known only behind its fields: where it goes whole, edits inside find no path.
            let before = self.ops.len();
            let kept = self.fields(at, three, known);
            if (added || kept) && alone {
                return Verdict::Keep;
            }
            // Of a whole no part stays without the others (M4).
            self.ops.truncate(before);
            return if kept { Verdict::Keep } else { Verdict::Remove };
        }
        match self.record.field(&at.field, Some(base), Some(local), None) {
            Decision::Local => Verdict::Keep,
            Decision::Upstream => Verdict::Remove,
        }
    }

    fn both(
        &mut self,
        at: &Place,
        base: Option<Node<'a>>,
        local: Node<'a>,
        upstream: Node<'a>,
        known: Known<'_>,
    ) -> Verdict<'a> {
        // Equal texts are equal values, and cost no parsing; an alias alone may say something else under the same text.
        let unchanged = |base| same_form(base, upstream) && !follows(base, local, upstream);
        if base.is_some_and(unchanged) || same_form(local, upstream) {
            return Verdict::Keep;
        }
        if base.is_some_and(|base| self.untouched(at, base, local, upstream)) {
            return Verdict::Take(New::Node(upstream));
        }
        // Nulls are decided before kinds are compared: a null is a scalar, and would replace a map that people filled.
        let was_null = base.is_some_and(|base| base.is_null());
        if upstream.is_null() && base.is_none_or(is_empty) && !same_opt(base, Some(local)) {
            return Verdict::Keep; // A null where there was nothing says nothing (M2).
        }
        if upstream.is_null() && base.is_some() && !was_null && !local.is_null() {
            return self.null_upstream(at, base, local, upstream);
        }
        if local.is_null() && base.is_some() && !was_null {
            return self.null_local(at, base, local, upstream);
        }
        let three = Three {
            base,
            local: Some(local),
            upstream: Some(upstream),
        };
        // What a null stood for was nothing. Another kind of value that both sides replaced is no base of what they made of it (M3).
        let old = base.filter(|base| !base.is_null());
        let old = old.map(|base| base.target().unwrap_or(base));
        let like = old.is_none_or(|old| old.kind() == local.kind());
        match (local.kind(), upstream.kind()) {
            _ if !like || self.whole.contains(&at.field) => {}
            (Kind::Mapping, Kind::Mapping) if old.is_some() || !apart(local, upstream, known) => {
                self.fields(at, Three { base: old, ..three }, known);
                return Verdict::Keep;
            }
            (Kind::Sequence, Kind::Sequence) => {
                if let Some(verdict) = list::merge(self, at, three, known.list, known.schema) {
                    return verdict;
                }
            }
            _ => {}
        }
        // From here on it is one value: a scalar, a list whose elements do not pair, or two kinds of value.
        if same(local, upstream) || same_opt(base, Some(upstream)) {
            return Verdict::Keep;
        }
        if same_opt(base, Some(local)) {
            return Verdict::Take(New::Node(upstream));
        }
        if let Some(verdict) = lines::string(self, at, three) {
            return verdict;
        }
        match self
            .record
            .field(&at.field, base, Some(local), Some(upstream))
        {
            Decision::Local => Verdict::Keep,
            Decision::Upstream => Verdict::Take(New::Node(upstream)),
        }
    }

    /// Whether nobody touched a value locally, not even its form: then upstream's text is taken as it
    /// is, so that what no person changed is byte for byte the machine's (V17).
    ///
    /// Anchors and aliases tie a value to others, and a null means more than its text.
    fn untouched(&self, at: &Place, base: Node<'_>, local: Node<'_>, upstream: Node<'_>) -> bool {
        let free = |node: Node<'_>| !node.source().contains(['&', '*']);
        let own = |own: &&[&str]| {
            let steps = at.path.steps();
            steps
                .iter()
                .zip(own.iter())
                .all(|(step, name)| *step == Step::from(*name))
        };
        same_form(base, local)
            && !upstream.is_null()
            && free(local)
            && free(upstream)
            && !self.own.iter().any(own)
    }

    /// A `null` that upstream wrote over a value deletes the field (M2), local additions too.
    fn null_upstream(
        &mut self,
        at: &Place,
        base: Option<Node<'a>>,
        local: Node<'a>,
        upstream: Node<'a>,
    ) -> Verdict<'a> {
        if same_opt(base, Some(local)) {
            return Verdict::Remove;
        }
        match self
            .record
            .field(&at.field, base, Some(local), Some(upstream))
        {
            Decision::Local => Verdict::Keep,
            Decision::Upstream => Verdict::Remove,
        }
    }

    /// A `null` that somebody wrote over a value is a deletion (M4): what upstream changed there is a conflict.
    fn null_local(
        &mut self,
        at: &Place,
        base: Option<Node<'a>>,
        local: Node<'a>,
        upstream: Node<'a>,
    ) -> Verdict<'a> {
        if same_opt(base, Some(upstream)) {
            return Verdict::Keep;
        }
        match self
            .record
            .field(&at.field, base, Some(local), Some(upstream))
        {
            Decision::Local => Verdict::Keep,
            Decision::Upstream => Verdict::Take(New::Node(upstream)),
        }
    }

    pub(super) fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| {
            let steps = path.steps();
            steps.len() == own.len()
                && steps
                    .iter()
                    .zip(own.iter())
                    .all(|(step, name)| *step == Step::from(*name))
        })
    }
}

/// Whether an alias that upstream left as it is stands for another value there, and was replaced here: both changed what
/// it says (M1).
fn follows(base: Node<'_>, local: Node<'_>, upstream: Node<'_>) -> bool {
    let aliases = [base, upstream].iter().all(|n| n.kind() == Kind::Alias);
    aliases && !same_form(base, local) && !same(base, upstream)
}
