//! Flags of `plan`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::remote::Connect;

/// What is supposed, and how the plan is printed.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Manifests that would be applied: files, or directories with all that is below them; `-` for standard input.
    #[arg(long = "filename", short = 'f', value_name = "FILE|DIR")]
    pub(crate) files: Vec<PathBuf>,
    /// An object that would be deleted, such as `pvset/web` or `configmap/edge-7`.
    #[arg(long, value_name = "KIND/NAME")]
    pub(crate) delete: Vec<String>,
    /// An upstream revision that would be published: its package in a directory, or in a commit, tag or branch of its
    /// repository.
    #[arg(long, value_name = "REPO/PACKAGE@REVISION=DIR|GITREF")]
    pub(crate) upstream: Vec<String>,
    /// Plan without a server: a directory with manifests, as `kubectl get repo,pvset,pvar,cm -o yaml` writes them, and with
    /// clones of the repositories as git/NAME.git.
    #[arg(long, value_name = "DIR")]
    pub(crate) offline: Option<PathBuf>,
    /// Show one class alone, by its id or the beginning of it.
    #[arg(long, value_name = "ID")]
    pub(crate) class: Option<String>,
    /// Run functions that are not built in; what they make may be otherwise the next time.
    #[arg(long)]
    pub(crate) run_functions: bool,
    /// How the plan is printed.
    #[arg(long, short, value_enum, default_value = "table")]
    pub(crate) output: PlanOutput,
    /// Keep the plan in this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Show also what only is noted in the Kptfile.
    #[arg(long)]
    pub(crate) all: bool,
    /// How to reach the server.
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// How a plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanOutput {
    /// A page for people.
    Table,
    /// Everything, for programs.
    Json,
    /// A comment for a pull request, of at most 65,536 characters.
    Markdown,
    /// The first target of the class that --class names, as a diff.
    Diff,
}
