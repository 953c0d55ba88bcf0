//! How to merge, and what a merge gives back.

use model::{Conflict, ConflictPolicy, Files, Strategy};

use crate::kptfile::ReadError;

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
