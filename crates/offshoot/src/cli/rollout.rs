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
    Pause(Of),
    /// Go on after pause or undo.
    Resume(Of),
    /// Go on after a halt; what halted it and is still so halts it again.
    Retry(Of),
    /// Take it back: each member that was reached returns to the upstream commit that it had published before, and stays
    /// there until resume or another spec.upstream.
    Undo(Of),
}

/// What a verb is about.
#[derive(Debug, Args)]
pub(crate) struct Of {
    /// The set.
    pub(crate) name: String,
    /// Only if the rollout is as `rollout status` showed it with this version; else what changed is told.
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<String>,
}

impl RolloutVerb {
    /// The set that it is about.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Status { name, .. } => name,
            Self::Pause(of) | Self::Resume(of) | Self::Retry(of) | Self::Undo(of) => &of.name,
        }
    }

    /// The version that was seen, where that matters.
    pub(crate) fn if_version(&self) -> Option<&str> {
        match self {
            Self::Status { .. } => None,
            Self::Pause(of) | Self::Resume(of) | Self::Retry(of) | Self::Undo(of) => {
                of.if_version.as_deref()
            }
        }
    }
}
