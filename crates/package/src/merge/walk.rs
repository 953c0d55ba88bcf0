//! A merge of one document on its way: what was decided, and the decisions about one value that ask nothing of what is in it.

use model::Decision;
use yaml::{Node, NodeStep, Path};

use super::apply::{New, Op};
use super::known::Known;
use super::record::Recorder;
use super::three::Three;
use super::whole::{back, back_in_set};
use crate::place::FieldPath;
use crate::schema::ListRule;
use crate::values::{same, same_form, same_opt};

/// Where a value stands: in the local document, and in the words of a record.
#[derive(Debug, Clone)]
pub(super) struct ValuePlace {
    pub(super) path: Path,
    pub(super) field: FieldPath,
}

impl ValuePlace {
    pub(super) fn root() -> Self {
        Self {
            path: Path::root(),
            field: FieldPath::default(),
        }
    }

    pub(super) fn key(&self, key: &str) -> Self {
        Self {
            path: self.path.join(NodeStep::Key(key.to_owned())),
            field: self.field.field(key),
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
pub(super) struct DocumentMerge<'a, 'r, 'o> {
    pub(super) record: &'r mut Recorder<'o>,
    pub(super) ops: Vec<Op<'a>>,
    /// Fields that are not merged: paths that stay as they are locally.
    pub(super) own: &'static [&'static [&'static str]],
    /// Lists and maps that merge as one value, because what is in them came together to what no rule allows
    /// (M13b); sorted.
    pub(super) whole: &'r [FieldPath],
}

impl<'a, 'r, 'o> DocumentMerge<'a, 'r, 'o> {
    pub(super) fn new(record: &'r mut Recorder<'o>) -> Self {
        Self {
            record,
            ops: Vec::new(),
            own: &[],
            whole: &[],
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

    /// Deleted locally, or new upstream.
    pub(super) fn without_local(
        &mut self,
        at: &ValuePlace,
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
            Decision::Upstream if known.list == ListRule::Set => {
                Verdict::Take(back_in_set(base, upstream))
            }
            Decision::Upstream => Verdict::Take(back(base, upstream, known.entries)),
        }
    }

    /// An element that upstream deleted goes or stays whole: without its keys it would be a skeleton (M4).
    pub(super) fn deleted(
        &mut self,
        at: &ValuePlace,
        base: Node<'a>,
        local: Node<'a>,
    ) -> Verdict<'a> {
        if same(base, local) {
            return Verdict::Remove;
        }
        match self.record.field(&at.field, Some(base), Some(local), None) {
            Decision::Local => Verdict::Keep,
            Decision::Upstream => Verdict::Remove,
        }
    }

    /// Whether nobody touched a value locally, not even its form: then upstream's text is taken as it
    /// is, so that what no person changed is byte for byte the machine's (V17).
    ///
    /// Anchors and aliases tie a value to others, and a null means more than its text.
    pub(super) fn untouched(
        &self,
        at: &ValuePlace,
        base: Node<'_>,
        local: Node<'_>,
        upstream: Node<'_>,
    ) -> bool {
        let free = |node: Node<'_>| !node.source().contains(['&', '*']);
        let own = |own: &&[&str]| {
            let steps = at.path.steps();
            steps
                .iter()
                .zip(own.iter())
                .all(|(step, name)| *step == NodeStep::from(*name))
        };
        same_form(base, local)
            && !upstream.is_null()
            && free(local)
            && free(upstream)
            && !self.own.iter().any(own)
    }

    /// A `null` that upstream wrote over a value deletes the field (M2), local additions too.
    pub(super) fn null_upstream(
        &mut self,
        at: &ValuePlace,
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
    pub(super) fn null_local(
        &mut self,
        at: &ValuePlace,
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
                    .all(|(step, name)| *step == NodeStep::from(*name))
        })
    }
}
