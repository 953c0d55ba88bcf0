//! Flags of the commands that need no server: `pkg` and `fn`; and which functions may run.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

/// Flags of `pkg`.
#[derive(Debug, Args)]
pub(crate) struct PkgArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Pkg,
}

/// What can be done with packages in directories.
#[derive(Debug, Subcommand)]
pub(crate) enum Pkg {
    /// Run the pipelines of a package and its subpackages, in place.
    #[command(
        after_help = "Example:\n  offshoot pkg render ./shop\n  offshoot pkg render ./shop --output ./rendered --no-status"
    )]
    Render(RenderArgs),
    /// Merge what changed between a base and an upstream into a local package.
    #[command(
        after_help = "Conflicts are listed on standard output. Exit code 1 if one is open: under the policy `block`, each.\n\nExample:\n  offshoot pkg merge --base v1 --local shop --upstream v2 --out shop"
    )]
    Merge(MergeArgs),
    /// Merge one file: a git merge driver.
    #[command(
        after_help = "Exit code 0 if it merged, 1 if there are conflicts: they are listed on standard error, and both sides of each stand between markers in the file, as git's own merge leaves them. With `--conflicts upstream` or `local` one side wins and there are no markers.\n\nExample:\n  git config merge.offshoot.name 'field by field'\n  git config merge.offshoot.driver 'offshoot pkg merge-file --marker-size %L %O %A %B %P'\n  echo '*.yaml merge=offshoot' >> .gitattributes\n  echo 'Kptfile merge=offshoot' >> .gitattributes"
    )]
    MergeFile(MergeFileArgs),
    /// Show what differs between two packages, field by field.
    #[command(
        after_help = "Exit code 0 if nothing differs, 2 if something does.\n\nExample:\n  offshoot pkg diff v1 v2"
    )]
    Diff(DiffArgs),
}

/// Flags of `pkg render`.
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The package's directory.
    pub(crate) directory: PathBuf,
    /// Write the result into this directory, which must be new, and leave the package alone.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Leave the status in the Kptfile alone.
    #[arg(long)]
    pub(crate) no_status: bool,
    /// Refuse what kpt refuses and we only warn about: fields that a Kptfile does not have, and in packages without
    /// a pipeline what is no resource; and keys that stand twice in a mapping.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) runtimes: RuntimeArgs,
}

/// Flags of `pkg merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// What both sides come from.
    #[arg(long, value_name = "DIR")]
    pub(crate) base: PathBuf,
    /// What people made of it.
    #[arg(long, value_name = "DIR")]
    pub(crate) local: PathBuf,
    /// What is to come in.
    #[arg(long, value_name = "DIR")]
    pub(crate) upstream: PathBuf,
    /// Where the result goes: a new directory, or the local one.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// resource-merge, fast-forward, force-delete-replace or copy-merge.
    #[arg(long, value_name = "STRATEGY", default_value = "resource-merge", value_parser = strategy)]
    pub(crate) strategy: model::Strategy,
    /// What wins where both sides changed the same.
    #[arg(long, value_enum, default_value = "block")]
    pub(crate) conflicts: Policy,
    /// How conflicts are printed.
    #[arg(long, short, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

fn strategy(text: &str) -> Result<model::Strategy, String> {
    model::Strategy::parse(text).ok_or_else(|| {
        let known = model::Strategy::ALL.map(model::Strategy::as_str);
        format!("must be one of {}", known.join(", "))
    })
}

/// What wins at a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Upstream's value, and the command fails until somebody looked.
    Block,
    /// Upstream's value; conflicts are only listed.
    Upstream,
    /// The local value; conflicts are only listed.
    Local,
}

impl Policy {
    pub(crate) fn model(self) -> model::ConflictPolicy {
        match self {
            Self::Block => model::ConflictPolicy::Block,
            Self::Upstream => model::ConflictPolicy::Upstream,
            Self::Local => model::ConflictPolicy::Local,
        }
    }
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for people.
    Text,
    /// One JSON array.
    Json,
}

/// Flags of `pkg merge-file`.
#[derive(Debug, Args)]
pub(crate) struct MergeFileArgs {
    /// The common ancestor (%O).
    pub(crate) base: PathBuf,
    /// The local version; the result replaces it (%A).
    pub(crate) local: PathBuf,
    /// The other version (%B).
    pub(crate) upstream: PathBuf,
    /// The file's path in the repository (%P): its name tells what it is.
    pub(crate) path: Option<String>,
    /// What wins where both sides changed the same; under `block` a person decides between the markers.
    #[arg(long, value_enum, default_value = "block")]
    pub(crate) conflicts: Policy,
    /// How long conflict markers are (%L).
    #[arg(long, value_name = "SIGNS", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) marker_size: u16,
    /// What the markers call the local version (%X, where git knows it).
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub(crate) label_local: String,
    /// What the markers call the other version (%Y, where git knows it).
    #[arg(long, value_name = "NAME", default_value = "upstream")]
    pub(crate) label_upstream: String,
}

/// Flags of `pkg diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first package.
    pub(crate) before: PathBuf,
    /// The second package.
    pub(crate) after: PathBuf,
    /// How differences are printed.
    #[arg(long, short, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Flags of `template`.
#[derive(Debug, Args)]
pub(crate) struct TemplateArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Template,
}

/// What can be done with templates.
#[derive(Debug, Subcommand)]
pub(crate) enum Template {
    /// Print what an expression yields.
    #[command(
        after_help = "Exit code 1 if the expression is wrong or fails; where, is on standard error.\n\nExample:\n  offshoot template eval --expr \"repository.labels['region']\" --vars vars.yaml"
    )]
    Eval {
        /// The expression.
        #[arg(long, value_name = "EXPRESSION")]
        expr: String,
        /// A YAML or JSON file with the variables: repoDefault, packageDefault, and upstream, repository and target
        /// with name, namespace, labels and annotations.
        #[arg(long, value_name = "FILE")]
        vars: Option<PathBuf>,
        /// As in downstream.repoExpr, where the repository is not known yet.
        #[arg(long)]
        repo_expr: bool,
    },
}

/// Flags of `fn`.
#[derive(Debug, Args)]
pub(crate) struct FnArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Fn,
}

/// What can be done with functions.
#[derive(Debug, Subcommand)]
pub(crate) enum Fn {
    /// List the functions that are built in.
    #[command(after_help = "Example:\n  offshoot fn list")]
    List {
        /// How they are printed.
        #[arg(long, short, value_enum, default_value = "text")]
        format: Format,
    },
    /// Run one function over the ResourceList on standard input.
    #[command(
        after_help = "Exit code 1 if the function fails; what it answered is printed then, too.\n\nExample:\n  offshoot fn run set-namespace --config config.yaml < list.yaml"
    )]
    Run(Box<RunArgs>),
    /// Explain a function that is built in.
    #[command(after_help = "Example:\n  offshoot fn doc apply-setters")]
    Doc {
        /// Its name or image.
        image: String,
    },
}

/// Flags of `fn run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The function's image, with any registry and tag or none.
    #[arg(required_unless_present = "exec")]
    pub(crate) image: Option<String>,
    /// A command instead of an image.
    #[arg(long, value_name = "COMMAND", conflicts_with = "image")]
    pub(crate) exec: Option<String>,
    /// A file that holds the function's configuration.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Run a script in this process instead of one of its own.
    #[arg(long, hide = true)]
    pub(crate) here: bool,
    #[command(flatten)]
    pub(crate) runtimes: RuntimeArgs,
}

/// Which functions may run besides the built-in ones, and within which limits.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Functions")]
pub(crate) struct RuntimeArgs {
    /// Run `exec` functions: commands of this machine. Only for packages that you trust.
    #[arg(long, env = "OFFSHOOT_ALLOW_EXEC")]
    pub(crate) allow_exec: bool,
    /// Run images that are not built in with this command: podman, docker or nerdctl, with its own flags.
    #[arg(long, value_name = "COMMAND", env = "OFFSHOOT_FN_RUNTIME")]
    pub(crate) fn_runtime: Option<String>,
    /// Further flags of its `run`.
    #[arg(
        long,
        value_name = "FLAGS",
        default_value = "",
        allow_hyphen_values = true,
        env = "OFFSHOOT_FN_RUNTIME_FLAGS"
    )]
    pub(crate) fn_runtime_flags: String,
    /// When images are fetched: missing, never or always.
    #[arg(long, value_name = "WHEN", default_value = "missing", value_parser = ["missing", "never", "always"], env = "OFFSHOOT_FN_PULL")]
    pub(crate) fn_pull: String,
    /// Have a function runner evaluate images that are not built in (gRPC, host:port).
    #[arg(long, value_name = "ADDRESS", env = "OFFSHOOT_FN_RUNNER")]
    pub(crate) fn_runner: Option<String>,
    /// Run images as WebAssembly modules of this directory: NAME.wasm.
    #[cfg(feature = "wasm")]
    #[arg(long, value_name = "DIR", env = "OFFSHOOT_FN_WASM")]
    pub(crate) fn_wasm: Option<PathBuf>,
    /// Schemas for kubeconform: OpenAPI documents, custom resource definitions, JSON schemas.
    #[arg(long, value_name = "DIR", env = "OFFSHOOT_SCHEMAS")]
    pub(crate) schemas: Option<PathBuf>,
    /// How long one function may take, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        env = "OFFSHOOT_FN_TIMEOUT"
    )]
    pub(crate) fn_timeout: u64,
    /// What one function may take of memory, in MiB.
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 256,
        env = "OFFSHOOT_FN_MEMORY"
    )]
    pub(crate) fn_memory: usize,
    /// How many functions run at once in processes, modules or containers; half of them for one namespace. Twice as many as there are
    /// processors without it.
    #[arg(long, value_name = "COUNT", env = "OFFSHOOT_FN_PROCESSES")]
    pub(crate) fn_processes: Option<std::num::NonZeroUsize>,
    /// What one function may print, in MiB.
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 32,
        env = "OFFSHOOT_FN_OUTPUT"
    )]
    pub(crate) fn_output: usize,
}

impl RuntimeArgs {
    /// The limits of one function.
    pub(crate) fn limits(&self) -> functions::Limits {
        functions::Limits {
            output: self.fn_output << 20,
            time: Duration::from_secs(self.fn_timeout),
            memory: self.fn_memory << 20,
            ..functions::Limits::default()
        }
    }
}
