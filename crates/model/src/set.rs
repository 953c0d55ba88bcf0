//! A package variant set: a fan-out of variants over targets.

use crate::{
    AdoptionPolicy, ConflictPolicy, DeletionPolicy, Function, LabelSelector, ObjectKey, ObjectMeta,
    ObjectName, PackageName, Pairs, ProposedPolicy, RepositoryName, Rollout, Strategy, Upstream,
};

/// A `PackageVariantSet` object, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantSet {
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its metadata.
    pub meta: ObjectMeta,
    /// What it asks for.
    pub spec: VariantSetSpec,
}

/// What a set asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantSetSpec {
    /// The upstream packages: one, as the documents have it, or several (R184–R186).
    pub upstreams: Vec<UpstreamSource>,
    /// Where the variants go.
    pub targets: Vec<Target>,
    /// Whether one target's failure stops the others (S2).
    pub on_error: OnError,
    /// The deletion guard (S3).
    pub deletion_guard: DeletionGuard,
    /// How many variants are changed at a time, if that is limited.
    pub max_in_flight: Option<usize>,
    /// The steps in which changes reach the targets; all at once without (F7).
    pub rollout: Option<Rollout>,
    /// Whether to leave everything as it is.
    pub suspend: bool,
}

impl VariantSetSpec {
    /// The packages that are named one by one.
    pub fn packages(&self) -> impl Iterator<Item = &Upstream> {
        self.upstreams.iter().filter_map(|source| match source {
            UpstreamSource::Package(upstream) => Some(upstream),
            UpstreamSource::Set(_) | UpstreamSource::Labels { .. } => None,
        })
    }
}

/// Where upstream packages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamSource {
    /// One package.
    Package(Upstream),
    /// Those that the `PackageRevisionSet` of this name selects (R185).
    Set(ObjectName),
    /// For each package with published revisions that carry these labels, the latest of them (R186).
    Labels {
        /// Of this repository alone, if one is named.
        repo: Option<RepositoryName>,
        /// The labels.
        selector: LabelSelector,
    },
}

/// One entry of `spec.targets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What it selects.
    pub selection: TargetSelection,
    /// How each variant is made; the defaults if absent (R137).
    pub template: Option<Template>,
}

/// What a target selects: exactly one of three (R132).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetSelection {
    /// Repositories by name, each with its packages (upstream's own name if none, R133).
    Repositories(Vec<(RepositoryName, Vec<PackageName>)>),
    /// `Repository` objects by labels (R134).
    RepositorySelector {
        /// Which of them.
        selector: LabelSelector,
        /// The packages in each.
        packages: Vec<PackageName>,
    },
    /// Any objects (R135).
    ObjectSelector {
        /// Which of them.
        selector: ObjectSelector,
        /// The packages for each.
        packages: Vec<PackageName>,
    },
}

/// A selector of any kind of object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectSelector {
    /// `apiVersion` of the objects.
    pub api_version: String,
    /// Their kind.
    pub kind: String,
    /// One of this name only.
    pub name: Option<String>,
    /// By labels.
    pub labels: LabelSelector,
}

/// What to do when one target fails (S2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum OnError {
    /// Keep that target's variant as it is and go on.
    #[default]
    Continue,
    /// Change nothing at all.
    Stop,
}

/// The deletion guard (S3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletionGuard {
    /// Whether it is on.
    pub enabled: bool,
    /// The share of variants that may go within an hour unconfirmed, in per cent; three always may.
    pub percent: u8,
}

impl Default for DeletionGuard {
    fn default() -> Self {
        Self {
            enabled: true,
            percent: 20,
        }
    }
}

/// How each variant of a target is made (R138). Expressions are kept as text: `expr` compiles
/// them once per generation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// `downstream.repo`
    pub repo: Option<String>,
    /// `downstream.repoExpr`
    pub repo_expr: Option<String>,
    /// `downstream.package`
    pub package: Option<String>,
    /// `downstream.packageExpr`
    pub package_expr: Option<String>,
    /// `adoptionPolicy`
    pub adoption: Option<AdoptionPolicy>,
    /// `deletionPolicy`
    pub deletion: Option<DeletionPolicy>,
    /// `labels`
    pub labels: Pairs,
    /// `labelExprs`
    pub label_exprs: Vec<MapExpr>,
    /// `annotations`
    pub annotations: Pairs,
    /// `annotationExprs`
    pub annotation_exprs: Vec<MapExpr>,
    /// `packageContext`
    pub context: Option<PackageContextTemplate>,
    /// `pipeline.mutators`
    pub mutators: Vec<FunctionTemplate>,
    /// `pipeline.validators`
    pub validators: Vec<FunctionTemplate>,
    /// `injectors`
    pub injectors: Vec<InjectorTemplate>,
    /// `conflictPolicy` (V4)
    pub conflict_policy: Option<ConflictPolicy>,
    /// `proposedRevisions` (V3)
    pub proposed: Option<ProposedPolicy>,
    /// `upgradeStrategy` (R25)
    pub strategy: Option<Strategy>,
}

/// A key and a value, each plain or by expression (R139).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MapExpr {
    /// `key`
    pub key: Option<String>,
    /// `keyExpr`
    pub key_expr: Option<String>,
    /// `value`
    pub value: Option<String>,
    /// `valueExpr`
    pub value_expr: Option<String>,
}

/// `template.packageContext`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackageContextTemplate {
    /// `data`
    pub data: Pairs,
    /// `dataExprs`
    pub data_exprs: Vec<MapExpr>,
    /// `removeKeys`
    pub remove_keys: Vec<String>,
    /// `removeKeyExprs`
    pub remove_key_exprs: Vec<String>,
    /// `create` (V13)
    pub create: bool,
}

/// One function of a template's pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionTemplate {
    /// Everything plain.
    pub function: Function,
    /// `configMapExprs`
    pub config_map_exprs: Vec<MapExpr>,
}

/// One injector of a template.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InjectorTemplate {
    /// `group`
    pub group: Option<String>,
    /// `version`
    pub version: Option<String>,
    /// `kind`
    pub kind: Option<String>,
    /// `name`
    pub name: Option<String>,
    /// `nameExpr`
    pub name_expr: Option<String>,
    /// `groupExpr` of the earliest document (A3).
    pub group_expr: Option<String>,
    /// `versionExpr` of the earliest document (A3).
    pub version_expr: Option<String>,
    /// `kindExpr` of the earliest document (A3).
    pub kind_expr: Option<String>,
}
