//! The command line: `offshoot --help` is its table of contents.

pub(crate) mod board;
mod connect;
pub(crate) mod engine;
pub(crate) mod fleet;
pub(crate) mod local;
pub(crate) mod plan;
pub(crate) mod remote;
pub(crate) mod rollout;
pub(crate) mod serve;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::config;
use crate::exit::ExitFailure;

/// Keeps fleets of configuration packages in step with their upstream.
#[derive(Debug, Parser)]
#[command(name = "offshoot", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// A TOML file with defaults for flags, by command.
    #[arg(long, global = true, value_name = "FILE", env = "OFFSHOOT_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// How logs are written.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "text",
        env = "OFFSHOOT_LOG_FORMAT"
    )]
    pub(crate) log: LogFormat,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Tell the whole story in a fresh directory, in seconds.
    #[command(after_help = "Example:\n  offshoot demo --keep /tmp/story")]
    Demo(DemoArgs),
    /// Run the embedded server: API, object store, git and controllers in one process.
    #[command(
        after_help = "Example:\n  offshoot up --data ./data &\n  export KUBECONFIG=$PWD/data/kubeconfig\n  kubectl get pkgrev"
    )]
    Up(Box<UpArgs>),
    /// Run on a cluster: one replica of a server whose objects and records that cluster keeps.
    #[command(
        after_help = "docs/cluster.md says how it is installed, and what it may do there.\n\nExample:\n  offshoot serve --kubeconfig admin.conf --lease offshoot-system/offshoot --advertise 10.0.0.7:10250 --tls-dir ./tls"
    )]
    Serve(Box<serve::ServeArgs>),
    /// Write a kubeconfig with a certificate for a user of the embedded server.
    #[command(
        after_help = "What the user may do is said by roles: kubectl create rolebinding …\n\nExample:\n  offshoot user ann --group web --data ./data -o ann.kubeconfig\n  kubectl create rolebinding web --clusterrole=edit --group=web"
    )]
    User(UserArgs),
    /// Package revisions: list, make, fetch, write, propose, approve, upgrade.
    #[command(
        alias = "rpackage",
        after_help = "Example:\n  offshoot rpkg propose -l team=web\n  offshoot rpkg approve --plan monday.json --class 5f02c1d9\n  offshoot rpkg approve edge-eu.shop.packagevariant-1"
    )]
    Rpkg(Box<remote::RpkgArgs>),
    /// Repositories: register, list, sync, unregister.
    #[command(
        alias = "repository",
        after_help = "Example:\n  offshoot repo reg file:///srv/blueprints.git --create --create-branch"
    )]
    Repo(Box<remote::RepoArgs>),
    /// Packages in directories: render, merge, compare.
    #[command(
        after_help = "Example:\n  offshoot pkg merge --base v1 --local shop --upstream v2 --out shop\n  offshoot pkg render shop"
    )]
    Pkg(Box<local::PkgArgs>),
    /// Functions: list, explain, run as filters of a ResourceList.
    #[command(
        name = "fn",
        after_help = "Example:\n  offshoot fn list\n  offshoot fn run set-labels --config labels.yaml < list.yaml"
    )]
    Fn(Box<local::FnArgs>),
    /// Copy all objects of a running server into a file, or fill a data directory from such a file.
    #[command(
        after_help = "Example:\n  offshoot backup monday.jsonl\n  offshoot backup monday.jsonl --restore --data ./new && offshoot up --data ./new"
    )]
    Backup(Box<BackupArgs>),
    /// Verify the object store of a stopped server, and its records against git; or the records of a cluster.
    #[command(
        after_help = "Example:\n  offshoot check --data ./data\n  offshoot check --kubeconfig admin.conf"
    )]
    Check(CheckArgs),
    /// Take Offshoot's finalizers off the objects of a cluster, so that they can be deleted once nobody serves them.
    #[command(
        after_help = "Nothing else is changed, in git nothing at all. Stop the replicas first.\n\nExample:\n  helm uninstall offshoot -n offshoot-system\n  offshoot release --kubeconfig admin.conf"
    )]
    Release(serve::ReleaseArgs),
    /// Why something is as it is: what is seen, what is waited for, what a person can do.
    #[command(
        after_help = "Kinds: packagevariant (pvar), packagevariantset (pvset), packagerevision (pkgrev), repository (repo).\n\nExample:\n  offshoot why pvar/shop"
    )]
    Why(Box<remote::WhyArgs>),
    /// What applying, deleting or publishing something would do to every target, grouped by what changes.
    #[command(
        after_help = "Nothing is written. Exit code 0 if nothing would change, 2 if something would, 1 if something fails.\n\nExample:\n  offshoot plan -f web.yaml\n  offshoot plan --upstream blueprints/web@v2=./web -o markdown\n  offshoot plan -f web.yaml -o diff --class 5f02c1d9"
    )]
    Plan(Box<plan::PlanArgs>),
    /// Decide equal conflicts of many drafts at once: by a side, by a value, or as one draft was decided.
    #[command(
        after_help = "offshoot why pkgrev/NAME shows the keys of open conflicts.\n\nExample:\n  offshoot resolve k77d2c1a0 --take local\n  offshoot resolve k77d2c1a0 --value 7 -l region=eu\n  offshoot resolve --like edge-eu.web.packagevariant-2 -l team=web"
    )]
    Resolve(Box<remote::ResolveArgs>),
    /// The steps in which a set reaches its targets: how they stand; hold them, go on, or take them back.
    #[command(after_help = "Example:\n  offshoot rollout status web\n  offshoot rollout undo web")]
    Rollout(Box<rollout::RolloutArgs>),
    /// Who wrote each field of a file last: upstream, the clone, context, an injected object, a function, a merge or a person.
    #[command(
        after_help = "Where the machine's output cannot be made again as it was recorded, its layer is unknown, and that is said.\n\nExample:\n  offshoot blame edge-eu.web.packagevariant-2 deployment.yaml spec.replicas"
    )]
    Blame(Box<fleet::BlameArgs>),
    /// The fleet on one screen: how many variants of each set, repository or region are up to date, and what waits.
    #[command(
        after_help = "Each variant is counted in one column: the one that somebody has to look at first.\n\nExample:\n  offshoot status\n  offshoot status --by region -w\n  offshoot status web --wait && offshoot rpkg propose -l offshoot.dev/set=web"
    )]
    Status(Box<fleet::StatusArgs>),
    /// The fleet in a browser: what waits, targets, changes, conflicts; with your own kubeconfig, on this machine alone.
    #[command(
        after_help = "The address that it prints opens the board once, within a minute.\n\nExample:\n  offshoot board\n  offshoot board --context production -n web"
    )]
    Board(Box<board::BoardArgs>),
    /// Templates of sets: evaluate an expression.
    #[command(
        after_help = "Example:\n  offshoot template eval --expr \"target.name + '-' + packageDefault\" --vars vars.yaml"
    )]
    Template(local::TemplateArgs),
    /// Print the custom resource definitions of config.porch.kpt.dev.
    #[command(after_help = "Example:\n  offshoot crds | kubectl apply -f -")]
    Crds,
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example:\n  offshoot completion bash > /etc/bash_completion.d/offshoot"
    )]
    Completion {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the version.
    Version,
}

/// Flags of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Leave everything in this directory, to be opened with git and kubectl.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// No progress bar.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where an embedded server keeps what is durable.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataArg {
    /// The server's data directory: objects, journal, mirrors, credentials.
    #[arg(
        long,
        value_name = "DIR",
        default_value = "offshoot-data",
        env = "OFFSHOOT_DATA"
    )]
    pub(crate) data: PathBuf,
}

/// Flags of `backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The copy: lines of JSON with a digest at the end. It holds secrets, so only its owner may read it.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Make a data directory from the copy instead; git is not part of it and stays where it is.
    #[arg(long, requires = "data")]
    pub(crate) restore: bool,
    /// The directory to fill; it must not hold objects yet.
    #[arg(long, value_name = "DIR", requires = "restore")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: remote::Connect,
}

/// Flags of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) at: DataArg,
    /// Compare the records of this cluster instead, with copies of its repositories that your own git makes.
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Succeed although records of some repositories could not be compared; they are named all the same.
    #[arg(long)]
    pub(crate) skip_uncompared: bool,
}

/// Flags of `user`.
#[derive(Debug, Args)]
pub(crate) struct UserArgs {
    /// The user's name.
    pub(crate) name: String,
    /// A group of the user.
    #[arg(long, short, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    #[command(flatten)]
    pub(crate) at: DataArg,
    /// How many days the certificate is valid.
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub(crate) days: u16,
    /// The server's address, if not the one in the data directory's kubeconfig.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// The file to write, readable by its owner alone; standard output by default. One that holds
    /// anything but this user's own certificate for this server is refused.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Flags of `up`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) at: DataArg,
    /// The address to serve at; port 0 takes a free one. Only loopback unless you say otherwise.
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:0",
        env = "OFFSHOOT_LISTEN"
    )]
    pub(crate) listen: std::net::SocketAddr,
    /// Where to write the kubeconfig; `kubeconfig` in the data directory by default. A file that holds anything but
    /// the token of this very server is refused.
    #[arg(long, value_name = "FILE", env = "OFFSHOOT_KUBECONFIG")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Append who asked for what to this file: JSON lines in the shape of audit.k8s.io/v1, without bodies.
    #[arg(long, value_name = "FILE", env = "OFFSHOOT_AUDIT_LOG")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Megabytes of one audit log; a full one becomes FILE.1. 0 for no limit.
    #[arg(long, value_name = "MB", default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=1 << 20), env = "OFFSHOOT_AUDIT_LOG_MAXSIZE")]
    pub(crate) audit_log_maxsize: u64,
    /// How many full audit logs are kept.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        env = "OFFSHOOT_AUDIT_LOG_MAXBACKUP"
    )]
    pub(crate) audit_log_maxbackup: u32,
    /// Forget all records of package revisions and bring them back from git alone; labels and annotations put on
    /// revisions by hand are lost.
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Which controllers run.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "packagevariants,packagevariantsets",
        value_parser = RECONCILERS,
        env = "OFFSHOOT_RECONCILERS"
    )]
    pub(crate) reconcilers: Vec<String>,
    /// Do not wait for the disk: faster, and a power cut or `kill -9` loses every object that was written since the last clean
    /// stop. For jobs that throw the data directory away.
    #[arg(long, env = "OFFSHOOT_NO_FSYNC")]
    pub(crate) no_fsync: bool,
    /// A directory that `file://` repositories may lie below, more than once or with commas between; by default the
    /// one that holds the data directory. Repositories in the data directory are never opened.
    #[arg(
        long = "repositories-below",
        value_name = "DIR",
        value_delimiter = ',',
        env = "OFFSHOOT_REPOSITORIES_BELOW"
    )]
    pub(crate) repositories: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: engine::EngineArgs,
    /// At most this many writes of one repository share a batch; for tests.
    #[arg(long, hide = true, value_name = "N", env = "OFFSHOOT_BATCH_LIMIT")]
    pub(crate) batch_limit: Option<usize>,
}

/// The command line, with the configuration file's defaults beneath it.
///
/// # Errors
/// The configuration file is wrong. Wrong arguments end the process here, with code 64.
pub(crate) fn matches() -> Result<Cli, ExitFailure> {
    let args: Vec<String> = std::env::args().collect();
    let matches = match config::path(&args) {
        Some(path) => config::matches(&Cli::command(), &path, &args, enabled)?,
        None => enabled(Cli::command()).try_get_matches_from(&args),
    };
    let parsed = matches
        .and_then(|mut matches| <Cli as clap::FromArgMatches>::from_arg_matches_mut(&mut matches));
    parsed.map_err(|error| {
        // Help and version are answers, everything else is a usage error (clap's 2 is taken).
        if error.print().is_err() || !error.use_stderr() {
            std::process::exit(0);
        }
        std::process::exit(64);
    })
}

/// `ENABLE_PACKAGEVARIANTS=true` and the like choose controllers where no flag does, as Porch knows it.
fn enabled(command: clap::Command) -> clap::Command {
    let on = |name: &&str| {
        let variable = format!("ENABLE_{}", name.to_uppercase());
        std::env::var(variable).is_ok_and(|value| value == "true")
    };
    let list: Vec<&str> = RECONCILERS.iter().copied().filter(on).collect();
    if list.is_empty() {
        return command;
    }
    let list = list.join(",");
    command.mut_subcommand("up", |up| {
        up.mut_arg("reconcilers", |flag| flag.default_value(list))
    })
}

/// The controllers.
const RECONCILERS: [&str; 2] = ["packagevariants", "packagevariantsets"];
