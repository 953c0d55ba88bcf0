//! Making conflicts (V4): what is recorded, what wins, and what gates.

use std::collections::BTreeSet;

use model::{
    Conflict, ConflictId, ConflictPolicy, ConflictState, ConflictValue, Decision, File, PackagePath,
};
use yaml::Node;

use super::options::MergeOptions;
use super::work;
use crate::lines::{Excerpt, write};
use crate::place::{FieldPath, PathStep, identify};
use crate::values::{file_value, hash, hidden, node_value, secret_within};

/// Gathers the conflicts of one file.
#[derive(Debug)]
pub(super) struct Recorder<'o> {
    options: &'o MergeOptions,
    file: PackagePath,
    resource: String,
    /// Whether values are recorded as hashes: the resource is a Secret.
    secret: bool,
    conflicts: Vec<Conflict>,
    /// Resources and paths of what is recorded.
    places: BTreeSet<(String, String)>,
}

impl<'o> Recorder<'o> {
    pub(super) fn new(options: &'o MergeOptions, file: &PackagePath) -> Self {
        Self {
            options,
            file: file.clone(),
            resource: String::new(),
            secret: false,
            conflicts: Vec::new(),
            places: BTreeSet::new(),
        }
    }

    /// Says which resource the following conflicts are about.
    pub(super) fn enter(&mut self, resource: String, secret: bool) {
        self.resource = resource;
        self.secret = secret;
    }

    /// Which file is merged.
    pub(super) fn file(&self) -> &PackagePath {
        &self.file
    }

    pub(super) fn finish(self) -> Vec<Conflict> {
        self.conflicts
    }

    /// Forgets what was recorded since there were `len` conflicts: it did not happen.
    pub(super) fn truncate(&mut self, len: usize) {
        let from = len.min(self.conflicts.len());
        for conflict in self.conflicts.drain(from..) {
            self.places.remove(&(conflict.resource, conflict.path));
        }
    }

    /// Whether something was recorded since there were `len` conflicts that is about more than form.
    pub(super) fn asks(&self, len: usize) -> bool {
        let since = self.conflicts.get(len..).unwrap_or_default();
        let form = |c: &Conflict| c.path.ends_with("#comment") || c.path.ends_with("#order");
        !since.iter().all(form)
    }

    pub(super) fn len(&self) -> usize {
        self.conflicts.len()
    }

    /// A field that both sides changed, or one changed and the other deleted: says who wins.
    pub(super) fn field(
        &mut self,
        path: &FieldPath,
        base: Option<Node<'_>>,
        local: Option<Node<'_>>,
        upstream: Option<Node<'_>>,
    ) -> Decision {
        let decision = self.whole(Decision::Upstream);
        self.decided(path, [base, local, upstream], decision);
        decision
    }

    /// Lines of a text that both sides changed (M21): `blocked` is what wins there under `Block`.
    pub(super) fn lines(
        &mut self,
        path: &FieldPath,
        hunks: &[[Excerpt; 3]],
        blocked: Decision,
    ) -> Decision {
        let (state, decision) = (self.state(), self.whole(blocked));
        let values = [0, 1, 2].map(|side| {
            let text = write(hunks.iter().filter_map(|sides| sides.get(side)));
            ConflictValue::Json(serde_json::Value::from(text).to_string())
        });
        self.push(&path.join(PathStep::Lines), values, decision, state);
        decision
    }

    /// A field where the local side stays whatever the policy says.
    pub(super) fn kept_local(
        &mut self,
        path: &FieldPath,
        base: Option<Node<'_>>,
        local: Option<Node<'_>>,
        upstream: Option<Node<'_>>,
    ) {
        self.decided(path, [base, local, upstream], Decision::Local);
    }

    /// A whole resource that one side deleted and the other changed. Under `Block` what is local
    /// stays, as with kpt: a person decides before anything is lost.
    pub(super) fn resource(&mut self, sides: [Option<Node<'_>>; 3]) -> Decision {
        let decision = self.whole(Decision::Local);
        self.decided(&FieldPath::default(), sides, decision);
        decision
    }

    fn whole(&self, blocked: Decision) -> Decision {
        match self.options.policy {
            ConflictPolicy::Upstream => Decision::Upstream,
            ConflictPolicy::Local => Decision::Local,
            ConflictPolicy::Block if self.options.draft => Decision::Local,
            ConflictPolicy::Block => blocked,
        }
    }

    fn decided(&mut self, path: &FieldPath, sides: [Option<Node<'_>>; 3], decision: Decision) {
        let state = self.state();
        // A manifest of a Secret may stand as a text in another resource.
        let secret =
            (self.secret || sides.into_iter().flatten().any(secret_within)) && hidden(path);
        let [base, local, upstream] = sides.map(|node| node_value(node, secret));
        self.push(path, [base, local, upstream], decision, state);
    }

    /// Comments that both sides changed (M14): local stays, nothing is gated.
    pub(super) fn comments(&mut self, path: &FieldPath, sides: [&str; 3]) {
        self.commented(path, sides, Decision::Local);
    }

    fn commented(&mut self, path: &FieldPath, sides: [&str; 3], decision: Decision) {
        let path = path.join(PathStep::Comment);
        let values = sides.map(|text| match text {
            "" => ConflictValue::Absent,
            text if self.secret => hash(text.as_bytes()),
            text => ConflictValue::Json(serde_json::Value::from(text).to_string()),
        });
        self.push(&path, values, decision, ConflictState::Recorded);
    }

    /// An order that both sides changed, each in its own way (M13): local stays, nothing is gated.
    pub(super) fn order(&mut self, path: &FieldPath, sides: [Vec<String>; 3]) {
        let secret = self.secret && hidden(path);
        let values = sides.map(|names| {
            let json = serde_json::Value::from(names).to_string();
            if secret {
                hash(json.as_bytes())
            } else {
                ConflictValue::Json(json)
            }
        });
        let path = path.join(PathStep::Order);
        self.push(&path, values, Decision::Local, ConflictState::Recorded);
    }

    /// Comments that a side added and that found no place in a document (M14): noted, nothing is gated.
    pub(super) fn lost_comments(&mut self, sides: [&str; 3], decision: Decision) {
        self.commented(&FieldPath::default(), sides, decision);
    }

    /// The comments of which a record since there were `since` conflicts says what became; `None` where values are hidden: it may be
    /// any.
    pub(super) fn named_comments(&self, since: usize) -> Option<BTreeSet<String>> {
        let known = self.conflicts.get(since..).unwrap_or_default();
        let comments = known.iter().filter(|c| c.path.ends_with("#comment"));
        let mut named = BTreeSet::new();
        for value in comments.flat_map(|c| [&c.local, &c.upstream]) {
            match value {
                ConflictValue::Json(json) => {
                    work::done(1);
                    let text = serde_json::from_str::<String>(json).unwrap_or_default();
                    named.extend(text.lines().map(|line| line.trim_end().to_owned()));
                }
                ConflictValue::Hash(_) => return None,
                ConflictValue::Absent => {}
            }
        }
        Some(named)
    }

    /// Whether values are hidden.
    pub(super) fn hides(&self) -> bool {
        self.secret
    }

    /// A whole file that both sides changed, or one changed and the other deleted; `blocked` is what
    /// wins under `Block`.
    pub(super) fn whole_file(&mut self, sides: [Option<&File>; 3], blocked: Decision) -> Decision {
        self.enter(String::new(), false);
        let (state, decision) = (self.state(), self.whole(blocked));
        self.push(
            &FieldPath::default(),
            sides.map(file_value),
            decision,
            state,
        );
        decision
    }

    /// Something that both sides moved, each to another place (M23): which one it goes to, and the record of it. What is
    /// local stays until somebody answers.
    pub(super) fn apart(
        options: &'o MergeOptions,
        resource: &str,
        [base, local, upstream]: [Option<&PackagePath>; 3],
    ) -> (Decision, Vec<Conflict>) {
        let decision = match options.policy {
            ConflictPolicy::Upstream => Decision::Upstream,
            ConflictPolicy::Local | ConflictPolicy::Block => Decision::Local,
        };
        let at = match decision {
            Decision::Local => local,
            Decision::Upstream => upstream,
        };
        let Some(at) = at else {
            return (decision, Vec::new());
        };
        let places = [base, local, upstream];
        let conflict = Self::places(options, resource, places, at, decision);
        (decision, conflict.into_iter().collect())
    }

    /// Where each side has something that both sides moved.
    pub(super) fn places(
        options: &'o MergeOptions,
        resource: &str,
        places: [Option<&PackagePath>; 3],
        at: &PackagePath,
        decision: Decision,
    ) -> Option<Conflict> {
        let mut record = Self::new(options, at);
        record.enter(resource.to_owned(), false);
        let values = places.map(|place| match place {
            Some(place) => ConflictValue::Json(serde_json::Value::from(place.as_str()).to_string()),
            None => ConflictValue::Absent,
        });
        let (state, path) = (record.state(), FieldPath::default().join(PathStep::File));
        record.push(&path, values, decision, state);
        record.finish().pop()
    }

    /// A text that one side changed and moved, and the other deleted (M23): it stays.
    pub(super) fn kept_text(
        options: &'o MergeOptions,
        at: &PackagePath,
        sides: [Option<&File>; 3],
        decision: Decision,
    ) -> Option<Conflict> {
        let mut record = Self::new(options, at);
        let state = record.state();
        record.push(
            &FieldPath::default(),
            sides.map(file_value),
            decision,
            state,
        );
        record.finish().pop()
    }

    /// A resource that a merge made two of (M23): both stay.
    pub(super) fn twice(&mut self, resource: String, [local, upstream]: [ConflictValue; 2]) {
        self.enter(resource, false);
        let (state, values) = (self.state(), [ConflictValue::Absent, local, upstream]);
        self.push(&FieldPath::default(), values, Decision::Local, state);
    }

    /// A local change that a strategy replaces by its nature: noted, nothing is gated.
    pub(super) fn replaced_file(&mut self, sides: [Option<&File>; 3]) {
        self.enter(String::new(), false);
        self.note(sides.map(file_value), Decision::Upstream);
    }

    /// A subpackage that one side deleted and the other changed. Under `Block` what is local stays.
    pub(super) fn subpackage(&mut self, values: [ConflictValue; 3]) -> Decision {
        let (state, decision) = (self.state(), self.whole(Decision::Local));
        self.push(&FieldPath::default(), values, decision, state);
        decision
    }

    /// A file of upstream that has no place beside what is local.
    pub(super) fn clash(&mut self, sides: [Option<&File>; 3]) {
        let state = self.state();
        self.push(
            &FieldPath::default(),
            sides.map(file_value),
            Decision::Local,
            state,
        );
    }

    /// Something that is noted but gates nothing.
    pub(super) fn note(&mut self, values: [ConflictValue; 3], decision: Decision) {
        self.push(
            &FieldPath::default(),
            values,
            decision,
            ConflictState::Recorded,
        );
    }

    fn state(&self) -> ConflictState {
        match self.options.policy {
            ConflictPolicy::Block => ConflictState::Open,
            ConflictPolicy::Upstream | ConflictPolicy::Local => ConflictState::Recorded,
        }
    }

    fn push(
        &mut self,
        path: &FieldPath,
        values: [ConflictValue; 3],
        decision: Decision,
        state: ConflictState,
    ) {
        let path = path.to_string();
        // One place is asked about once, whatever part of the merge comes there again.
        if !self.places.insert((self.resource.clone(), path.clone())) {
            return;
        }
        let [base, local, upstream] = values;
        let mut conflict = Conflict {
            id: ConflictId(String::new()),
            file: self.file.clone(),
            resource: self.resource.clone(),
            path,
            base,
            local,
            upstream,
            decision,
            state,
            derived_from: None,
        };
        identify(&mut conflict);
        self.conflicts.push(conflict);
    }
}
