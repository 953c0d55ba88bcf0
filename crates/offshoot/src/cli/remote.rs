//! Flags of the commands that talk to a server: `rpkg` and `repo`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub(crate) use super::connect::Connect;
use super::fleet::RevisionDiffArgs;

/// How a listing is printed.
#[derive(Debug, Clone, Args)]
pub(crate) struct Listing {
    /// All namespaces.
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,
    /// json, yaml, name, wide, or one of these with =TEMPLATE: jsonpath, jsonpath-as-json, custom-columns; or with =FILE:
    /// jsonpath-file, custom-columns-file.
    #[arg(long, short, value_name = "FORMAT")]
    pub(crate) output: Option<String>,
    /// The template of -o jsonpath, or the file of -o jsonpath-file. One that asks for .items is given a list of everything,
    /// any other one each object in turn.
    #[arg(long, value_name = "TEMPLATE", allow_hyphen_values = true)]
    pub(crate) template: Option<String>,
    /// No header line.
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// Show the kind before each name.
    #[arg(long)]
    pub(crate) show_kind: bool,
    /// Show all labels in a last column.
    #[arg(long)]
    pub(crate) show_labels: bool,
    /// Show these labels as columns.
    #[arg(long, short = 'L', value_delimiter = ',', value_name = "KEYS")]
    pub(crate) label_columns: Vec<String>,
    /// Show metadata.managedFields, too.
    #[arg(long)]
    pub(crate) show_managed_fields: bool,
    /// Sort by this JSONPath.
    #[arg(long, value_name = "PATH")]
    pub(crate) sort_by: Option<String>,
}

/// Which objects: by name or by selector.
#[derive(Debug, Clone, Args)]
pub(crate) struct Which {
    /// Names of package revisions.
    pub(crate) names: Vec<String>,
    /// All that carry these labels, instead of names.
    #[arg(long, short = 'l', value_name = "SELECTOR", conflicts_with = "names")]
    pub(crate) selector: Option<String>,
    /// All that have these fields, instead of names, such as spec.lifecycle=Proposed.
    #[arg(long, value_name = "SELECTOR", conflicts_with = "names")]
    pub(crate) field_selector: Option<String>,
    /// All drafts of a plan that offshoot plan --out wrote; with del, what the plan says will be proposed for deletion.
    /// One that does not hold what the plan says is refused.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["names", "selector", "field_selector"]
    )]
    pub(crate) plan: Option<PathBuf>,
    /// Only those of this class, also more than once. With --plan, its first eight digits are enough. Without, all 64: what
    /// open revisions change now is compared, and what is found is shown before anything is done.
    #[arg(
        long = "class",
        value_name = "ID",
        conflicts_with = "names",
        group = "asked"
    )]
    pub(crate) classes: Vec<String>,
    /// With --class and without --plan, or with del --package: do not ask.
    #[arg(long, requires = "asked", conflicts_with = "plan")]
    pub(crate) yes: bool,
    /// The tree of the one revision that is named (status.offshoot.tree): if it holds another one, nothing is done.
    #[arg(long, value_name = "TREE", requires = "names")]
    pub(crate) expected_tree: Option<String>,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `rpkg del`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DelArgs {
    #[command(flatten)]
    pub(crate) which: Which,
    /// A whole package: its drafts, its published revisions (their deletion is proposed and approved) and its directory on
    /// the branch. With -l or --field-selector, in each repository in which a revision of it is selected. What a variant makes is
    /// refused, or left. What drafts and proposals hold goes for good: it asks first where there are any, or needs --yes.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["names", "plan", "classes"], group = "asked")]
    pub(crate) package: Option<String>,
    /// With --package: the repository, where several have a package of that name.
    #[arg(long, value_name = "NAME", requires = "package")]
    pub(crate) repository: Option<String>,
}

/// `resolve`: equal conflicts, decided once.
#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    pub(crate) connect: Connect,
    /// The key of the conflicts: the same place, base and upstream.
    #[arg(required_unless_present = "like", conflicts_with = "like")]
    pub(crate) key: Option<String>,
    /// Take what this side holds.
    #[arg(long, value_enum, required_unless_present_any = ["like", "value"], conflicts_with_all = ["like", "value"])]
    pub(crate) take: Option<TakenSide>,
    /// Write this value: as YAML, or as text where the sides are texts. Only where the local values are equal, too; never
    /// of a Secret.
    #[arg(long, conflicts_with = "like", allow_hyphen_values = true)]
    pub(crate) value: Option<String>,
    /// Decide as this draft was decided, in others: select them with -l.
    #[arg(long, value_name = "PACKAGE_REVISION", requires = "selection")]
    pub(crate) like: Option<String>,
    /// Only drafts that carry these labels; all of the namespace without.
    #[arg(long, short = 'l', value_name = "SELECTOR", group = "selection")]
    pub(crate) selector: Option<String>,
    /// Only drafts that have these fields, such as spec.repository=edge-eu.
    #[arg(long, value_name = "SELECTOR", group = "selection")]
    pub(crate) field_selector: Option<String>,
    /// Say what would be done, renders included, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The sides of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TakenSide {
    /// What people made of it.
    Local,
    /// What upstream made of it.
    Upstream,
    /// What it was before both.
    Base,
}

/// `why`: what is seen, and what follows.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) connect: Connect,
    /// What to explain: KIND/NAME.
    #[arg(value_name = "KIND/NAME")]
    pub(crate) what: String,
}

/// `rpkg`: package revisions.
#[derive(Debug, Args)]
pub(crate) struct RpkgArgs {
    #[command(flatten)]
    pub(crate) connect: Connect,
    /// The version of porch.kpt.dev to speak.
    #[arg(
        long,
        global = true,
        env = "PORCHCTL_API_VERSION",
        value_name = "VERSION",
        default_value = "v1alpha1",
        value_parser = ["v1alpha1"]
    )]
    pub(crate) api_version: String,
    #[command(subcommand)]
    pub(crate) verb: Rpkg,
}

/// What to do with package revisions.
#[derive(Debug, Subcommand)]
pub(crate) enum Rpkg {
    /// List package revisions.
    #[command(alias = "list", alias = "ls")]
    Get {
        /// Names; all if there are none.
        names: Vec<String>,
        /// Only of this package.
        #[arg(long)]
        name: Option<String>,
        /// Only of this number.
        #[arg(long, allow_hyphen_values = true)]
        revision: Option<i64>,
        /// Only of this workspace.
        #[arg(long)]
        workspace: Option<String>,
        /// Print the Kptfile of one revision.
        #[arg(long)]
        show_kptfile: bool,
        /// Only with these labels.
        #[arg(long, short = 'l', value_name = "SELECTOR")]
        selector: Option<String>,
        /// Only with these fields, such as spec.lifecycle=Draft.
        #[arg(long, value_name = "SELECTOR", conflicts_with = "names")]
        field_selector: Option<String>,
        #[command(flatten)]
        listing: Listing,
    },
    /// Make a new package.
    Init {
        /// The package.
        name: String,
        /// The repository.
        #[arg(long)]
        repository: String,
        /// The workspace.
        #[arg(long)]
        workspace: String,
        /// What it is for.
        #[arg(long, default_value = "sample description")]
        description: String,
        /// Words to find it by.
        #[arg(long, value_delimiter = ',')]
        keywords: Vec<String>,
        /// Its page.
        #[arg(long, default_value = "")]
        site: String,
    },
    /// Clone a package revision, or a package anywhere in git.
    Clone {
        /// The name of a package revision, or the address of a git repository.
        source: String,
        /// The new package.
        name: String,
        /// The repository that it goes into.
        #[arg(long)]
        repository: String,
        /// The workspace.
        #[arg(long, default_value = "v1")]
        workspace: String,
        /// Branch, tag or commit of an address.
        #[arg(long, value_name = "REF")]
        r#ref: Option<String>,
        /// The package's directory at an address.
        #[arg(long)]
        directory: Option<String>,
        /// The Secret with credentials for an address.
        #[arg(long)]
        secret_ref: Option<String>,
    },
    /// Make a new draft with the contents of a published revision.
    Copy {
        /// The published revision.
        source: String,
        /// The workspace.
        #[arg(long)]
        workspace: String,
    },
    /// Fetch the files of a package revision.
    #[command(alias = "source", alias = "read")]
    Pull {
        /// The revision.
        name: String,
        /// A directory that does not exist yet; a ResourceList on standard output without it.
        directory: Option<PathBuf>,
        /// Show open conflicts in the files, both sides between markers as git leaves them: decide each and take its
        /// markers away before the push.
        #[arg(long, requires = "directory")]
        markers: bool,
        /// Bring a directory that was pulled earlier to what the revision holds now. Your edits stay; nothing is changed
        /// where both sides changed a file.
        #[arg(long, requires = "directory", conflicts_with = "markers")]
        update: bool,
    },
    /// Write the files of a draft, and bring the directory to what the render made of them.
    #[command(alias = "sink", alias = "write")]
    Push {
        /// The draft.
        name: String,
        /// The directory, or - for a ResourceList on standard input.
        directory: Option<PathBuf>,
    },
    /// Edit the files of a draft with $EDITOR, and push them.
    #[command(
        after_help = "What was edited stays in a directory that is named where the push is refused.\n\nExample:\n  EDITOR=vi offshoot rpkg edit deploy.shop.v2 deployment.yaml"
    )]
    Edit {
        /// The draft.
        name: String,
        /// Which of its files; all by default.
        files: Vec<String>,
        /// As `copy --workspace`, which was called edit: make a new draft with the contents of a published revision.
        #[arg(long, conflicts_with = "files")]
        workspace: Option<String>,
    },
    /// Show what revisions change, equal changes once.
    #[command(
        after_help = "Exit code 2 says that something differs.\n\nExample:\n  offshoot rpkg diff -l offshoot.dev/set=web --field-selector spec.lifecycle=Draft"
    )]
    Diff(RevisionDiffArgs),
    /// Propose drafts for approval.
    Propose(Which),
    /// Approve proposed revisions.
    Approve(Which),
    /// Reject proposals, and proposals to delete.
    Reject(Which),
    /// Propose published revisions for deletion.
    #[command(alias = "propose-del")]
    ProposeDelete(Which),
    /// Delete package revisions, or a package for good.
    #[command(alias = "delete")]
    Del(DelArgs),
    /// Merge a newer upstream revision into a published one, as a new draft.
    Upgrade {
        /// The published revision; several with --discover.
        names: Vec<String>,
        /// The workspace of the new draft.
        #[arg(long)]
        workspace: Option<String>,
        /// The number of the upstream revision; the latest by default.
        #[arg(long, allow_hyphen_values = true, default_value_t = 0)]
        revision: i64,
        /// resource-merge, fast-forward, force-delete-replace or copy-merge.
        #[arg(long, default_value = "resource-merge")]
        strategy: String,
        /// List what could be upgraded instead.
        #[arg(long, value_enum)]
        discover: Option<Discover>,
    },
}

/// Which way `upgrade --discover` looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Discover {
    /// What newer upstreams there are.
    Upstream,
    /// What is behind.
    Downstream,
}

/// `repo`: repositories.
#[derive(Debug, Args)]
pub(crate) struct RepoArgs {
    #[command(flatten)]
    pub(crate) connect: Connect,
    #[command(subcommand)]
    pub(crate) verb: Repo,
}

/// What to do with repositories.
#[derive(Debug, Subcommand)]
pub(crate) enum Repo {
    /// Register a git repository.
    #[command(alias = "register")]
    Reg(Box<RegArgs>),
    /// List repositories.
    #[command(alias = "ls", alias = "list")]
    Get {
        /// Names; all if there are none.
        names: Vec<String>,
        #[command(flatten)]
        listing: Listing,
    },
    /// Have repositories read again.
    #[command(alias = "reconcile")]
    Sync {
        /// Names.
        names: Vec<String>,
        /// All of the namespace.
        #[arg(long)]
        all: bool,
        /// All of all namespaces, with --all.
        #[arg(long, short = 'A')]
        all_namespaces: bool,
        /// When: a duration such as 10m, or a time; at once by default.
        #[arg(long, value_name = "WHEN")]
        run_once: Option<String>,
    },
    /// Unregister a repository; git is not touched.
    #[command(alias = "unregister")]
    Unreg {
        /// Its name.
        name: String,
        /// Leave the Secret that `repo reg` made for it; one that others made, or other repositories name, is left anyway.
        #[arg(long)]
        keep_auth_secret: bool,
    },
}

/// Flags of `repo reg`.
#[derive(Debug, Args)]
pub(crate) struct RegArgs {
    /// The repository's address, or its absolute path on the server's machine.
    pub(crate) address: String,
    /// The object's name; the last part of the address by default.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The branch that packages are published on.
    #[arg(long, default_value = "main")]
    pub(crate) branch: String,
    /// Create the branch if it is missing.
    #[arg(long)]
    pub(crate) create_branch: bool,
    /// Create a missing bare repository at a file:// address.
    #[arg(long)]
    pub(crate) create: bool,
    /// Where packages start.
    #[arg(long, default_value = "/")]
    pub(crate) directory: String,
    /// Packages in it are deployed.
    #[arg(long)]
    pub(crate) deployment: bool,
    /// A text for people.
    #[arg(long, default_value = "")]
    pub(crate) description: String,
    /// When to read it again: five cron fields.
    #[arg(long)]
    pub(crate) sync_schedule: Option<String>,
    /// The user name; makes a Secret.
    #[arg(long, requires = "repo_basic_password")]
    pub(crate) repo_basic_username: Option<String>,
    /// The password; makes a Secret.
    #[arg(
        long,
        requires = "repo_basic_username",
        env = "OFFSHOOT_REPO_PASSWORD",
        hide_env_values = true
    )]
    pub(crate) repo_basic_password: Option<String>,
    /// Makes a Secret that asks for workload identity of a cloud. This server has none, and will say so; others may.
    #[arg(long, conflicts_with = "repo_basic_username")]
    pub(crate) repo_workload_identity: bool,
    /// Mark the Repository for v1alpha2 package revisions, as Porch wants it. This server serves v1alpha1.
    #[arg(long)]
    pub(crate) v1alpha2: bool,
}
