//! Flags of the commands that look at a whole fleet, and at what differs in it.

use clap::{Args, ValueEnum};

use super::connect::Connect;

/// `status`: the fleet on one screen.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Only these sets and their variants.
    #[arg(value_name = "SET")]
    pub(crate) sets: Vec<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
    /// All namespaces.
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,
    /// What a line stands for: set, repository, or the key of a label of repositories, such as region.
    #[arg(long, value_name = "set|repository|LABEL", default_value = "set")]
    pub(crate) by: String,
    /// Go on, and show it again when it changes.
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// Wait until each set and variant was looked at as it stands now: its draft is made, or it says what keeps it from one.
    #[arg(long, conflicts_with = "watch")]
    pub(crate) wait: bool,
    /// How many seconds to wait; then what is not there yet is named, and the exit code is 1.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "wait")]
    pub(crate) timeout: u64,
    /// json, for programs.
    #[arg(long, short, value_parser = ["json"])]
    pub(crate) output: Option<String>,
}

/// `rpkg diff`: what revisions change.
#[derive(Debug, Args)]
pub(crate) struct RevisionDiffArgs {
    /// Names of package revisions.
    pub(crate) names: Vec<String>,
    /// All that carry these labels, instead of names.
    #[arg(long, short = 'l', value_name = "SELECTOR", conflicts_with = "names")]
    pub(crate) selector: Option<String>,
    /// All that have these fields, instead of names, such as spec.lifecycle=Draft.
    #[arg(long, value_name = "SELECTOR", conflicts_with = "names")]
    pub(crate) field_selector: Option<String>,
    /// What they are compared with.
    #[arg(long, value_enum, default_value = "published")]
    pub(crate) against: Against,
    /// Also what is kept about the package in its Kptfile: upstream, lock, status.
    #[arg(long)]
    pub(crate) all: bool,
    /// json, for programs.
    #[arg(long, short, value_parser = ["json"])]
    pub(crate) output: Option<String>,
}

/// What a revision is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    /// The latest published revision of its package, of a published one the one before it.
    Published,
    /// The revision that it was made from: copied, or upgraded.
    Base,
    /// The upstream package that it stems from.
    Upstream,
}

/// `blame`: who wrote what.
#[derive(Debug, Args)]
pub(crate) struct BlameArgs {
    #[command(flatten)]
    pub(crate) connect: Connect,
    /// The package revision.
    #[arg(value_name = "REVISION")]
    pub(crate) name: String,
    /// A file of it, such as deployment.yaml.
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Only this field and what is below it, such as spec.replicas; after KIND/NAME and a blank where the file holds several
    /// resources.
    #[arg(value_name = "FIELD")]
    pub(crate) field: Option<String>,
    /// json, for programs.
    #[arg(long, short, value_parser = ["json"])]
    pub(crate) output: Option<String>,
}
