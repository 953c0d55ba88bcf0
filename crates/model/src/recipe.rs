//! What the machine is asked to make of an upstream revision: *r* of docs/merge.md (V17).

use std::collections::{BTreeMap, BTreeSet};

use crate::{ConflictPolicy, ObjectName, PackageName, Pairs, Pipeline, Strategy, Text};

/// Everything that turns an upstream package into the downstream's machine output, and nothing
/// else: two equal recipes on one upstream give the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The downstream package.
    pub package: PackageName,
    /// The variant's name: its functions are called `PackageVariant.{name}.{function}.{index}`.
    pub variant: ObjectName,
    /// Whether the downstream repository is a deployment repository: the clone then writes
    /// `name` and `package-path` into the package context (V13).
    pub deployment: bool,
    /// `spec.packageContext.data`, and (V22) keys that an earlier spec stated.
    pub context: Pairs,
    /// `spec.packageContext.removeKeys`.
    pub remove_keys: BTreeSet<String>,
    /// `packageContext.create`: make a missing package context (V13).
    pub create_context: bool,
    /// `spec.pipeline`, prepended to the package's own.
    pub pipeline: Pipeline,
    /// The injectors, each with what the cluster holds under its name.
    pub injections: Vec<Injection>,
    /// Contents injected earlier that no injector states any more: they stay as they are, their
    /// points' conditions turn False, `InjectionStale` (V22).
    pub kept: Vec<KeptInjection>,
    /// How upgrades merge.
    pub strategy: Strategy,
    /// What to do about conflicts.
    pub conflict_policy: ConflictPolicy,
    /// `offshoot.dev/push-on-render-failure` and Porch's annotation: a failed render still
    /// makes a draft, gated (V2).
    pub push_on_render_failure: bool,
}

/// One injector of the variant and the cluster object that it names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Injection {
    /// Must equal the in-package resource's group where given.
    pub group: Option<String>,
    /// Must equal the in-package resource's version where given.
    pub version: Option<String>,
    /// Must equal the in-package resource's kind where given.
    pub kind: Option<String>,
    /// The name of the object in the cluster.
    pub name: String,
    /// What was found, by `group/version/kind` of the injection points that could take it.
    pub found: BTreeMap<String, InjectionOutcome>,
}

/// What an earlier recipe injected into a point that nothing matches now (V22).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptInjection {
    /// `group/version/kind` of the injection point.
    pub gvk: String,
    /// The point's name in the package.
    pub point: String,
    /// The name of the cluster object that was injected.
    pub injected: String,
    /// The injected `data` or `spec`, as JSON text.
    pub content: Text,
}

/// What the cluster holds under an injector's name for one group, version and kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum InjectionOutcome {
    /// The object's `data` (ConfigMap) or `spec`, as JSON text.
    Content(Text),
    /// The object is there but has no such field: its name says which.
    FieldMissing(String),
    /// There is no object of that name.
    Absent,
    /// The kind is not served (`SchemaMissing`).
    KindMissing,
    /// It cannot be read, and why (`LoadFailed`): such as a missing permission.
    Unreadable(String),
}
