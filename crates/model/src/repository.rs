//! A registered git repository.

use crate::{ObjectKey, ObjectMeta, RepositoryName};

/// A `Repository` object, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its name as revisions refer to it.
    pub name: RepositoryName,
    /// Its metadata.
    pub meta: ObjectMeta,
    /// `spec.description`
    pub description: String,
    /// Whether packages in it are deployed: readiness gates hold on approval into it (V12).
    pub deployment: bool,
    /// Whether the author's gates do not hold although it is a deployment repository (V12).
    pub ignore_author_gates: bool,
    /// Where it is.
    pub git: GitSpec,
    /// `spec.sync.schedule`, five cron fields; empty for the default interval.
    pub sync_schedule: String,
    /// `spec.sync.runOnceAt`, RFC 3339; empty if not asked for.
    pub run_once_at: String,
}

/// Where a repository is and how to write to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSpec {
    /// `file:///…`, `http://…` or `https://…`.
    pub repo: String,
    /// The branch that packages are published on; `main` unless said otherwise.
    pub branch: String,
    /// Whether to create the branch if it is missing.
    pub create_branch: bool,
    /// Additive: create a missing bare repository at a `file://` path.
    pub create: bool,
    /// Packages outside of this directory are ignored; empty or `/` for all. Without slashes at
    /// its ends.
    pub directory: String,
    /// The Secret with the credentials, in the same namespace.
    pub secret: Option<String>,
    /// The author of our commits, if fixed.
    pub author: Option<String>,
    /// That author's address.
    pub email: Option<String>,
}
