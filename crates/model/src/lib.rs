//! The words of Offshoot: names with their laws, package variants and sets, lifecycles, locks,
//! conditions, conflicts and recipes, as plain data.
//!
//! Everything here is a value: wire formats live in `api`, decisions in `plan`, contents in
//! `package`, storage in `store`. This crate never serialises, never touches the world and knows
//! no clock. Data arrives parsed (by the doors) and leaves as it is.

mod class;
mod condition;
mod conflict;
mod digest;
mod endless;
mod files;
pub mod git;
mod guard;
mod label;
mod lifecycle;
mod lock;
mod machine;
pub mod marks;
mod meta;
mod names;
mod near;
mod pipeline;
mod recipe;
mod rendering;
mod repository;
mod resolution;
mod revision;
mod rollout;
mod selector;
mod set;
mod standing;
mod status;
mod task;
mod text;
mod utc;
mod variant;

pub use class::{Class, Problem, join_problems};
pub use condition::{Condition, Status};
pub use conflict::{Conflict, ConflictId, ConflictPolicy, ConflictState, ConflictValue, Decision};
pub use digest::Digest;
pub use files::{File, FileMode, Files, total_bytes};
pub use git::{BlobId, CommitId, TreeId};
pub use guard::{GuardMemory, Shrink, UidMark, WaitingDeletions};
pub use label::{label, label_key};
pub use lifecycle::{Door, Lifecycle, TransitionRefusal, transition};
pub use lock::{GitLock, GitUpstream};
pub use machine::{DraftOwner, Machine};
pub use meta::{ObjectKey, ObjectMeta, OwnerReference, Pairs};
pub use names::{
    NameError, Namespace, ObjectName, PackageName, PackagePath, RepositoryName, Uid, WorkspaceName,
    is_path_segment,
};
pub use near::nearest;
pub use pipeline::{Function, MOST_FUNCTIONS, Pipeline, Selector};
pub use recipe::{Injection, InjectionOutcome, KeptInjection, Recipe};
pub use rendering::{
    FunctionResult, FunctionResultItem, PackedRenderStatus, RenderStatus, ResourceRef, Severity,
};
pub use repository::{GitSpec, Repository};
pub use resolution::{Choice, ConflictSide, Resolution};
pub use revision::{ReadinessGate, Revision, RevisionNumber, compose_name};
pub use rollout::{
    Before, HaltWhen, MAX_NAMED, Member, MemberMark, OpenWhen, RolledUpstream, Rollout,
    RolloutState, RolloutStatus, RolloutStep, StepMembers, StepStatus, Unmade,
};
pub use selector::{LabelSelector, Requirement, SelectorOperator};
pub use set::{
    DeletionGuard, FunctionTemplate, InjectorTemplate, MapExpr, ObjectSelector, OnError,
    PackageContextTemplate, Target, TargetSelection, Template, UpstreamSource, VariantSet,
    VariantSetSpec,
};
pub use standing::{NOT_TAGGED, Standing};
pub use status::{DownstreamTarget, InjectionNote, RepositoryStatus, SetStatus, VariantStatus};
pub use task::{GitSource, Strategy, Task};
pub use text::Text;
pub use utc::utc;
pub use variant::{
    AdoptionPolicy, DeletionPolicy, Downstream, Injector, PackageContext, ProposedPolicy, Upstream,
    UpstreamVersion, Variant, VariantSpec,
};
