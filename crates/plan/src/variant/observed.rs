//! Everything that the decision about one variant needs. `engine::observe` fills it, by reads of
//! records and indexes; nothing is derived to find out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    Class, CommitId, Downstream, GitLock, Injection, KeptInjection, Machine, ObjectKey, ObjectMeta,
    ObjectName, Pairs, Problem, RepositoryName, Revision, RevisionNumber, Uid, Variant,
    VariantStatus,
};

use super::UpstreamResolution;
use crate::OffBranch;

/// The variant, as the door parsed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// It can be understood.
    Valid(Arc<Variant>),
    /// It cannot; all problems at once, in Porch's order (R16).
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
            Self::Valid(variant) => &variant.key,
            Self::Invalid { key, .. } => key,
        }
    }

    /// Its metadata.
    pub fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Valid(variant) => &variant.meta,
            Self::Invalid { meta, .. } => meta,
        }
    }
}

/// What is known about one variant's world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The variant.
    pub variant: Subject,
    /// Its status as it stands.
    pub status: VariantStatus,
    /// Whether its namespace is going away: everything in it counts as orphaned (V10).
    pub namespace_terminating: bool,
    /// The registered repositories that matter: upstream's, downstream's, and those of
    /// `elsewhere`. One that is absent is not registered.
    pub repositories: BTreeMap<RepositoryName, RepositorySummary>,
    /// What [`super::resolve_upstream`] made of the upstream package's revisions.
    pub upstream: UpstreamResolution,
    /// The variants that lead to the upstream package: the one whose downstream it is, then the
    /// one whose downstream *its* upstream is, and so on, until none is or one comes twice (V24).
    pub feeders: Vec<Feeder>,
    /// All revisions of the downstream package, placeholder included, in any order.
    pub downstream: Vec<Arc<Revision>>,
    /// Other revisions that this variant owns: left behind by a retargeting (R31).
    pub elsewhere: Vec<Arc<Revision>>,
    /// Those of `downstream` that are another variant's through another registration of the same repository: a variant of
    /// another namespace made them and is still there, or one of this namespace owns what is the same ref. What belongs to
    /// somebody there is nobody's to take over here (V25).
    pub made_elsewhere: BTreeSet<ObjectName>,
    /// The set that the variant belongs to, if that is annotated with [`super::words::TAKE_BACK`].
    pub take_back: Option<Uid>,
    /// Whether the set that it belongs to is suspended: without a rollout the variant itself follows what is published latest.
    pub set_suspended: bool,
    /// Whether the rollout of the set that it belongs to has closed its step, so that nothing of it is to be approved now (F7).
    pub step_closed: bool,
    /// Those of the places of `elsewhere` that another variant claims as its downstream (V10).
    pub claimed_elsewhere: BTreeSet<Downstream>,
    /// Other variants with the same downstream, also through other registrations of its repository (V15, V25).
    pub rivals: Vec<Rival>,
    /// The variant's injectors, each with what the cluster holds under its name (R90).
    pub injections: Vec<Injection>,
    /// What its injectors name and nobody has, each by kind and name, of what would be injected if somebody had it.
    pub absent: Vec<String>,
    /// On whose behalf that was read.
    pub writer: Writer,
    /// About the base *p* that [`super::base_of`] chooses; `None` if there is none.
    pub base: Option<ObservedBase>,
    /// Where there is none: the tag that published what the branch holds, if nobody approved that it goes.
    pub lost_tag: Option<LostTag>,
    /// Where there is none: the highest number that was published of what the branch holds, if somebody approved that all of it goes.
    pub deleted_up_to: Option<RevisionNumber>,
    /// Where there is one: why what the branch holds in its place is no package of its own.
    pub off_branch: Option<OffBranch>,
    /// What earlier recipes stated, read from the newest machine output of this downstream: the
    /// open draft's *V* if there is one, else *V_p* (V22).
    pub stated: Stated,
    /// How deriving failed last, if it did and nothing was written since.
    pub failure: Option<FailedDerivation>,
    /// Why upstream or downstream cannot be read, with the reason of the condition: what depends on their contents
    /// is not known then.
    pub unreadable: Option<(&'static str, FailedDerivation)>,
}

impl Observed {
    /// Whether somebody suspended it, or the set that it belongs to: everything stays as it is.
    pub(super) fn is_suspended(&self) -> bool {
        let itself = matches!(&self.variant, Subject::Valid(v) if v.spec.suspend);
        itself || self.set_suspended
    }

    /// Whether the variant is on its way out: somebody deletes it, or its namespace goes, which takes everything along (V10).
    pub(super) fn is_leaving(&self) -> bool {
        self.namespace_terminating || self.variant.meta().is_deleting()
    }
}

/// What decisions need of a registered repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositorySummary {
    /// Whether readiness gates of authors hold and clones get a package context (V12, V13).
    pub deployment: bool,
    /// The branch that packages are published on.
    pub branch: String,
    /// Whether drafts can be written to it, or why not.
    pub writable: Result<(), String>,
    /// Whether its contents are known, or why not (unreachable, wrong credentials, still
    /// reading).
    pub ready: Result<(), String>,
}

/// One link of the chain that leads to an upstream package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feeder {
    /// The variant.
    pub variant: ObjectKey,
    /// What it writes.
    pub downstream: Downstream,
    /// What it reads.
    pub upstream: Downstream,
}

/// Another variant with the same downstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rival {
    /// RFC 3339 creation time: the older variant works (V15).
    pub created: String,
    /// Whether it owns a revision of the downstream package: decides between variants of one second.
    pub holds: bool,
    /// Decides where that does not.
    pub uid: Uid,
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Whether it is being deleted: it claims nothing any more.
    pub deleting: bool,
}

/// On whose behalf injected objects are read (X6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writer {
    /// The user who last wrote the variant, or the set that makes it; or nothing is to be read.
    #[default]
    Known,
    /// Nobody, since nobody is recorded: `injections` say what was injected before.
    Unknown {
        /// Whether something is to be injected that was not injected before: no draft would be complete.
        lacking: bool,
    },
}

impl Rival {
    /// Where it stands among variants of one downstream: the first of them works (V15).
    pub fn rank(&self) -> Rank<'_> {
        (&self.created, !self.holds, &self.uid)
    }
}

/// The older first; of one second, one that owns a revision there; else the smaller uid (V15).
pub type Rank<'a> = (&'a str, bool, &'a Uid);

/// What is known about *p*, the published state that new drafts start from (V20).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedBase {
    /// The commit that was looked at: [`super::base_of`]'s.
    pub commit: CommitId,
    /// Where its content stems from.
    pub lineage: Lineage,
}

/// Where *p*'s content stems from (V20, V19a).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lineage {
    /// It reaches a machine commit of ours with no init or clone in between.
    Trailer(Machine),
    /// No machine commit is to be had: another tool made it, or a squash merge lost it.
    NoTrailer {
        /// *p*'s lock, if it has one.
        lock: Option<GitLock>,
        /// Whether what the lock names can still be had.
        old_upstream: OldUpstream,
    },
    /// It starts anew after our last machine commit, and how.
    Diverged(String),
}

/// What can be had of the upstream that a lock names (V19a).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldUpstream {
    /// The commit is there: *V_p* can be derived anew.
    Commit,
    /// The commit is gone or unknown; this registered revision stands for it, raw.
    Revision(ObjectName),
    /// Nothing.
    Gone,
}

/// What earlier recipes stated, as the machine's own tree holds it (V22).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stated {
    /// Context keys (of [`Machine::context_keys`]) with their values.
    pub context: Pairs,
    /// Injected contents.
    pub injections: Vec<KeptInjection>,
}

/// A derivation that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedDerivation {
    /// The full input digest that was derived: the same input is not tried again hot.
    pub digest: model::Digest,
    /// What kind of failure it was.
    pub class: Class,
    /// The condition's reason, such as `RenderFailed` (V6).
    pub reason: String,
    /// What happened, for people.
    pub message: String,
    /// How often in a row.
    pub attempts: u32,
    /// Whether the time to try again has come (failures of class `Unavailable` or `Bug` only).
    pub due: bool,
}

/// A tag that published what the branch holds, and is gone: nobody approved that, or a draft was derived from what it published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostTag {
    /// Its short name; `None` where nothing tells it.
    pub tag: Option<String>,
    /// Where it was.
    pub commit: CommitId,
    /// The revision that it published; `None` where nothing tells it.
    pub revision: Option<ObjectName>,
    /// Whether somebody approved that it goes.
    pub deleted: bool,
}

impl LostTag {
    /// What a person does about it.
    pub(super) fn back(&self) -> String {
        match &self.tag {
            Some(tag) => format!("put tag {tag} back on commit {} in git", self.commit),
            None => format!("put its tag back on commit {} in git", self.commit),
        }
    }
}
