//! Three-way merge of packages: what upstream changed since the base, put into what is local.
//!
//! The local text is edited, never re-emitted (V5): an edit takes a piece of upstream's text with its
//! comments (M14). Files are compared by id or bytes first, so what nobody changed is never parsed and
//! stays [`model::File::Kept`]. Every conflict is data (V4); an error is only what could not be
//! attempted. docs/merge.md tells the rules in one piece.
//!
//! Three sides come in as files, one comes out. Refs, revisions and people are unknown here.

mod apply;
mod attach;
mod comments;
mod compare;
mod diff;
mod documents;
mod fields;
mod file;
mod functions;
mod header;
mod kptfile;
mod layout;
mod leaves;
mod lines;
mod list;
mod marks;
mod moves;
mod order;
mod pairs;
mod partners;
mod record;
mod remarks;
mod renamed;
mod rules;
mod runtime;
mod sequence;
mod strategies;
mod subpackages;
mod tally;
mod value;
mod whole;

use model::{Conflict, ConflictPolicy, Files, Strategy};

use crate::kptfile::ReadError;

pub(crate) use comments::texts as comment_texts;
pub(crate) use compare::{canonical, undecidable};
pub(crate) use diff::diff_where;
pub use diff::{Difference, diff};
pub(crate) use functions::runs as function_runs;
pub use leaves::{Earlier, Leaf, Versions, within};
pub(crate) use marks::{IDENTIFIER, MERGE_COMMENT, merge_comment};
pub use marks::{Identity, identity};
pub(crate) use pairs::keyed;
pub(crate) use record::{file_value, hash, hidden, node_value};
pub(crate) use remarks::standing;
pub use runtime::without_runtime;
pub(crate) use subpackages::tree_value;

/// How to merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeOptions {
    /// The strategy.
    pub strategy: Strategy,
    /// What wins at a conflict, and whether it gates.
    pub policy: ConflictPolicy,
    /// Whether the local side is an open draft in which people work: under [`ConflictPolicy::Block`]
    /// the value that a person set there stays until the conflict is settled (V18).
    pub draft: bool,
    /// Whether the local Kptfile keeps its own name, namespace, upstream and lock, as kpt's
    /// updaters do with a raw upstream. Otherwise they merge like every other field, which is right
    /// where all three sides are machine outputs of one downstream (V17).
    pub own_identity: bool,
    /// Whether each side must hold a Kptfile (M5). Without, plain directories merge too.
    pub need_kptfile: bool,
    /// Whether `fast-forward` compares what YAML files mean and not their bytes: where the base was made up for (V19a),
    /// the local files have the layout of another tool.
    pub by_values: bool,
}

impl MergeOptions {
    /// The merge of V17: *M = merge(V_p, p, V′)*.
    pub fn against_base(strategy: Strategy, policy: ConflictPolicy) -> Self {
        Self {
            strategy,
            policy,
            draft: false,
            own_identity: false,
            need_kptfile: true,
            by_values: false,
        }
    }

    /// The merge of V18: *tip′ = merge(M, tip, M′)*, in an open draft.
    pub fn in_draft(policy: ConflictPolicy) -> Self {
        Self {
            draft: true,
            ..Self::against_base(Strategy::ResourceMerge, policy)
        }
    }

    /// The merge of the upgrade task, as kpt's updaters do it: old upstream, local, new upstream.
    pub fn upgrade(strategy: Strategy, policy: ConflictPolicy) -> Self {
        Self {
            own_identity: true,
            ..Self::against_base(strategy, policy)
        }
    }
}

/// What a merge made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the conflicts say what a person has to look at"]
pub struct Merged {
    /// The merged package.
    pub files: Files,
    /// Every conflict, in the order of their places.
    pub conflicts: Vec<Conflict>,
}

/// A side of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The common ancestor.
    Base,
    /// What people made of it.
    Local,
    /// What is to come in.
    Upstream,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Base => "base",
            Self::Local => "local",
            Self::Upstream => "upstream",
        })
    }
}

/// Why a merge could not be attempted; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// M5: nothing is invented and nothing wiped.
    #[error("the {side} package has no readable Kptfile")]
    ReadKptfile {
        /// Whose.
        side: Side,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// `fast-forward` and somebody changed something (M10).
    #[error("local package files have been modified: [{}].\n  use a different update --strategy.", .files.join(" "))]
    LocalChanges {
        /// What was changed, sorted (M9).
        files: Vec<String>,
    },
}

impl MergeError {
    /// What kind of failure this is.
    pub fn class(&self) -> model::Class {
        match self {
            Self::LocalChanges { .. } => model::Class::Conflict,
            Self::ReadKptfile { .. } => model::Class::Invalid,
        }
    }
}

/// Merges what changed between `base` and `upstream` into `local`.
pub fn merge(
    base: &Files,
    local: &Files,
    upstream: &Files,
    options: &MergeOptions,
) -> Result<Merged, MergeError> {
    let sides = layout::Sides {
        base,
        local,
        upstream,
    };
    let mut merged = match options.strategy {
        Strategy::ResourceMerge => layout::merge(sides, options),
        Strategy::FastForward => strategies::fast_forward(sides, options),
        Strategy::ForceDeleteReplace => strategies::force_delete_replace(sides, options),
        Strategy::CopyMerge => strategies::copy_merge(sides, options),
    }?;
    crate::conflicts::sort(&mut merged.conflicts);
    Ok(merged)
}

#[cfg(test)]
mod tests;
