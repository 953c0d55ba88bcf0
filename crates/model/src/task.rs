//! How a package revision was made.

use crate::ObjectName;

/// How an upgrade merges (R25).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Strategy {
    /// Three-way, resource by resource and field by field.
    #[default]
    ResourceMerge,
    /// Only if nobody changed anything locally.
    FastForward,
    /// Upstream's files, whatever is local.
    ForceDeleteReplace,
    /// Upstream's files over the local ones.
    CopyMerge,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::ResourceMerge,
        Self::FastForward,
        Self::ForceDeleteReplace,
        Self::CopyMerge,
    ];

    /// Reads the wire form; empty is the default.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }

    /// The wire form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ResourceMerge => "resource-merge",
            Self::FastForward => "fast-forward",
            Self::ForceDeleteReplace => "force-delete-replace",
            Self::CopyMerge => "copy-merge",
        }
    }
}

/// A package in a repository that need not be registered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitSource {
    /// The URL.
    pub repo: String,
    /// Branch, tag or commit.
    pub git_ref: String,
    /// The package's directory.
    pub directory: String,
    /// A Secret with credentials.
    pub secret: Option<String>,
}

/// The task that made a revision.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A new package.
    Init {
        /// `info.description`
        description: String,
        /// `info.keywords`
        keywords: Vec<String>,
        /// `info.site`
        site: String,
    },
    /// A clone of a registered package revision.
    Clone {
        /// The upstream revision's object name.
        upstream: ObjectName,
    },
    /// A clone of a package anywhere in git.
    CloneGit(GitSource),
    /// A new revision with the contents of a published one.
    Edit {
        /// That revision's object name.
        source: ObjectName,
    },
    /// A three-way merge of a new upstream revision into a published one.
    Upgrade {
        /// The upstream revision that the local one stems from.
        old_upstream: ObjectName,
        /// The upstream revision wanted.
        new_upstream: ObjectName,
        /// The published local revision.
        local: ObjectName,
        /// How to merge.
        strategy: Strategy,
    },
}

impl Task {
    /// The wire form of its type.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Init { .. } => "init",
            Self::Clone { .. } | Self::CloneGit(_) => "clone",
            Self::Edit { .. } => "edit",
            Self::Upgrade { .. } => "upgrade",
        }
    }
}
