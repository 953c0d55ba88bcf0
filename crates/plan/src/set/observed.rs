//! Everything that the decision about one set needs. `engine::observe` fills it from indexes.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    CommitId, Downstream, Lifecycle, ObjectKey, ObjectMeta, ObjectName, Pairs, Problem,
    RepositoryName, SetStatus, Standing, Status, Upstream, Variant, VariantSet,
};

use super::Compiled;
use crate::variant::UpstreamResolution;

/// The set, as the door parsed it.
#[derive(Debug, Clone)]
pub enum Subject {
    /// It can be understood.
    Valid {
        /// The set.
        set: Arc<VariantSet>,
        /// Its templates, compiled once per (uid, generation), or what is wrong with them (S4).
        templates: Arc<Result<Compiled, Vec<Problem>>>,
    },
    /// It cannot; all problems at once, in Porch's order.
    Invalid {
        /// Its namespace and name.
        key: ObjectKey,
        /// Its metadata.
        meta: Arc<ObjectMeta>,
        /// What is wrong with it.
        problems: Vec<Problem>,
    },
}

impl Subject {
    /// Its namespace and name.
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Valid { set, .. } => &set.key,
            Self::Invalid { key, .. } => key,
        }
    }

    /// Its metadata.
    pub fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Valid { set, .. } => &set.meta,
            Self::Invalid { meta, .. } => meta,
        }
    }
}

/// What is known about one set's world.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The set.
    pub set: Subject,
    /// Its status as it stands.
    pub status: SetStatus,
    /// Unix seconds: how long deletions wait, and how old those before them are (S3).
    pub now: i64,
    /// How long a selection must be quiet before deletions that follow from it are judged (S3).
    pub quiet: QuietTime,
    /// Whether the process that acts for sets acts for variants, too: then a variant is made with its finalizer (V10).
    pub variants_here: bool,
    /// The upstream packages, all sources put together in the set's order, each once.
    pub upstreams: Vec<Followed>,
    /// Sources of upstream packages that cannot be read: what they would name is unknown.
    pub unread: Vec<Unread>,
    /// All repositories of the namespace.
    pub repositories: Arc<BTreeMap<RepositoryName, RepositoryObject>>,
    /// For each target with an object selector, by its index: what the kind's objects with the
    /// selector's labels are, or why that is unknown. Objects come in any order.
    pub selected: BTreeMap<usize, Result<Vec<Arc<SelectedObject>>, SelectionFailure>>,
    /// All variants of the namespace, in any order.
    pub variants: Vec<Arc<Existing>>,
    /// What each of the set's variants has published, by the records, and each that the set would take over; only of a set
    /// with a rollout (F7).
    pub published: BTreeMap<ObjectName, Published>,
    /// Whether all steps of a rollout are supposed to be open: a plan tells what becomes of every target.
    pub whole_rollout: bool,
    /// Whether the last apply failed in a way that passes by itself, how often in a row, and
    /// whether the time to try again has come.
    pub failure: Option<crate::variant::FailedDerivation>,
}

/// How long a selection must be quiet before deletions that follow from it are judged, in seconds (S3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietTime {
    /// So long no target may have left or returned.
    pub quiet: i64,
    /// And so long they wait at most.
    pub longest: i64,
}

impl Default for QuietTime {
    fn default() -> Self {
        Self {
            quiet: 10,
            longest: 60,
        }
    }
}

/// An upstream package of a set.
#[derive(Debug, Clone)]
pub struct Followed {
    /// Which revision of it is wanted.
    pub wanted: Upstream,
    /// What [`crate::variant::resolve_upstream`] made of its revisions.
    pub found: UpstreamResolution,
    /// Whether the set itself names it, so that only an edit of the set takes it away (S3).
    pub listed: bool,
}

/// A source of upstream packages that cannot be read (R185, R186).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// A sentence that names it.
    pub why: String,
    /// Whether that passes by itself: nobody has to act.
    pub passes: bool,
    /// Whether it is read for nobody, as nobody knows who wrote the set (X6).
    pub writer_unknown: bool,
}

/// What templates see of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepositoryObject {
    /// Its labels.
    pub labels: Pairs,
    /// Its annotations.
    pub annotations: Pairs,
}

/// What templates see of a selected object (R152).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SelectedObject {
    /// Its name.
    pub name: String,
    /// Its namespace; empty if cluster-scoped.
    pub namespace: String,
    /// Its labels.
    pub labels: Pairs,
    /// Its annotations.
    pub annotations: Pairs,
}

/// Why a selection is unknown: deletions stop (S2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectionFailure {
    /// The kind is not served.
    KindMissing,
    /// Whoever wrote the set may not list it, and why (S5, X6).
    Forbidden(String),
    /// Nobody knows who wrote the set: it is listed for nobody (X6).
    WriterUnknown,
    /// It cannot be listed now.
    Unavailable(String),
}

/// A variant that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Existing {
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its metadata.
    pub meta: Arc<ObjectMeta>,
    /// The variant; `None` if its spec cannot be understood.
    pub variant: Option<Arc<Variant>>,
    /// Its condition `Ready`, with reason and message; unknown if it has none for its generation.
    pub ready: (Status, String, String),
    /// Whether its condition `Stalled` is true.
    pub stalled: bool,
    /// Where its newest downstream revision stands, if it has one.
    pub lifecycle: Option<model::Lifecycle>,
    /// The upstream commit that this stems from, where that is known.
    pub holds: Option<CommitId>,
    /// Where it stands itself: what of it a person has to look at first.
    pub standing: Standing,
    /// Whether its published revision is of its spec as it is now, at the commit that this names (F7).
    pub published: bool,
    /// Whether an approver rejected its draft (F7).
    pub rejected: bool,
    /// Whether the branch holds what it is to have, and no tag publishes that: somebody deleted the tag in git.
    pub untagged: bool,
}

impl Existing {
    /// Whether its newest revision is open.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.lifecycle, Some(Lifecycle::Draft | Lifecycle::Proposed))
    }
}

/// What a variant has published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The upstream commit that it stems from.
    pub commit: CommitId,
    /// When it was published, in Unix seconds, where that is known.
    pub at: Option<i64>,
    /// The upstream commit of what was published when the rollout began that the set's status tells of (F7); where nothing
    /// was, of the last other commit that was published since.
    pub then: Option<CommitId>,
    /// The upstream commit of what was published before that rollout began, in an earlier second.
    pub earlier: Option<CommitId>,
}

impl Existing {
    /// Why a variant that has the name of one that a set wants, and is not the set's, is not taken over; `None` where it is
    /// (S8).
    pub(super) fn refusal(&self, wanted: &Downstream) -> Option<String> {
        let name = &self.key.name;
        if let Some(other) = self.meta.controller() {
            return Some(format!(
                "packagevariant '{name}' exists already and is controlled by {} '{}'",
                other.kind, other.name
            ));
        }
        let is = self.variant.as_ref();
        let here = is.is_some_and(|v| v.spec.downstream == *wanted);
        (!here)
            .then(|| format!("packagevariant '{name}' exists already and has another downstream"))
    }
}
