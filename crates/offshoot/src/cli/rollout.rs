//! Flags of `rollout`.

use clap::{Args, Subcommand};

use super::connect::Connect;

/// `rollout`: the steps of a set.
#[derive(Debug, Args)]
pub(crate) struct RolloutArgs {
    #[command(flatten)]
    pub(crate) connect: Connect,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: RolloutVerb,
}

/// What to do with a rollout.
#[derive(Debug, Subcommand)]
pub(crate) enum RolloutVerb {
    /// How it stands: each step, what holds it, and which members are not published yet.
    Status {
        /// The set.
        name: String,
        /// json, for programs.
        #[arg(long, short, value_parser = ["json"])]
        output: Option<String>,
    },
    /// Open no further step until resume.
    Pause {
        /// The set.
        name: String,
    },
    /// Go on after pause or undo.
    Resume {
        /// The set.
        name: String,
    },
    /// Go on after a halt; what halted it and is still so halts it again.
    Retry {
        /// The set.
        name: String,
    },
    /// Take it back: each member that was reached returns to the upstream commit that it had published before, and stays
    /// there until resume or another spec.upstream.
    Undo {
        /// The set.
        name: String,
    },
}

impl RolloutVerb {
    /// The set that it is about.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Status { name, .. }
            | Self::Pause { name }
            | Self::Resume { name }
            | Self::Retry { name }
            | Self::Undo { name } => name,
        }
    }
}
