//! Who wrote, in words.

use std::fmt;

use model::{CommitId, ConflictId, Decision};

/// How many digits of a commit are shown.
const DIGITS: usize = 7;

/// Who wrote a field last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrote {
    /// The upstream package, as the machine took it.
    Upstream {
        /// Its ref, such as `web/v1`.
        git_ref: String,
        /// Its repository.
        repo: String,
        /// The commit.
        commit: Option<CommitId>,
    },
    /// The clone: names, identity marks, upstream and lock.
    Clone,
    /// The package context that the variant states.
    Context {
        /// The set's expression that gave the value, if one did.
        expression: Option<String>,
    },
    /// The variant's own functions, as they stand in the pipeline.
    Pipeline,
    /// An object of the cluster.
    Injected {
        /// Its name, if it is known.
        object: Option<String>,
    },
    /// A function.
    Function {
        /// Its name, or its image.
        name: String,
        /// The set's expressions that gave its configuration, if any did.
        expression: Option<String>,
    },
    /// The report of a render.
    Report,
    /// A merge that met a conflict there.
    Merge {
        /// The conflict.
        conflict: ConflictId,
        /// What the merge took.
        decision: Decision,
    },
    /// A person.
    Person {
        /// The commit.
        commit: CommitId,
        /// Who.
        by: String,
        /// The first line of its message.
        subject: String,
    },
    /// The machine; which layer cannot be told.
    Unknown,
}

impl Wrote {
    /// The layer in one word.
    pub fn layer(&self) -> &'static str {
        match self {
            Self::Upstream { .. } => "upstream",
            Self::Clone => "clone",
            Self::Context { .. } => "context",
            Self::Pipeline => "pipeline",
            Self::Injected { .. } => "injected",
            Self::Function { .. } => "function",
            Self::Report => "render",
            Self::Merge { .. } => "merge",
            Self::Person { .. } => "person",
            Self::Unknown => "machine",
        }
    }

    /// The commit, where one stands for it.
    pub fn commit(&self) -> Option<CommitId> {
        match self {
            Self::Upstream { commit, .. } => *commit,
            Self::Person { commit, .. } => Some(*commit),
            _ => None,
        }
    }
}

/// The last part of an address: what people call the repository.
fn last(repo: &str) -> &str {
    let repo = repo.trim_end_matches('/');
    let name = repo.rsplit('/').next().unwrap_or(repo);
    name.strip_suffix(".git").unwrap_or(name)
}

fn short(commit: CommitId) -> String {
    commit.to_string().chars().take(DIGITS).collect()
}

/// What is to be said beside the layer.
impl fmt::Display for Wrote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |what: &str, expression: &Option<String>| match expression {
            Some(expression) => format!("{what}; {expression}"),
            None => what.to_owned(),
        };
        match self {
            Self::Upstream {
                git_ref,
                repo,
                commit: Some(commit),
            } => write!(f, "{git_ref} of {} ({})", last(repo), short(*commit)),
            Self::Upstream { git_ref, repo, .. } => write!(f, "{git_ref} of {}", last(repo)),
            Self::Clone => f.write_str("names, marks, upstream and lock"),
            Self::Context { expression } => {
                f.write_str(&with("spec.packageContext of the variant", expression))
            }
            Self::Pipeline => f.write_str("spec.pipeline of the variant"),
            Self::Injected {
                object: Some(object),
            } => write!(f, "object {object:?} of the cluster"),
            Self::Injected { object: None } => f.write_str("an object of the cluster"),
            Self::Function { name, expression } => f.write_str(&with(name, expression)),
            Self::Report => f.write_str("the report of the render"),
            Self::Merge { conflict, decision } => {
                let taken = match decision {
                    Decision::Upstream => "upstream's",
                    Decision::Local => "the local",
                };
                write!(f, "{taken} value was taken, conflict {conflict}")
            }
            Self::Person {
                commit,
                by,
                subject,
            } => write!(f, "{by} ({}): {subject}", short(*commit)),
            Self::Unknown => f.write_str("layer unknown"),
        }
    }
}
