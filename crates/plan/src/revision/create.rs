//! Creating a package revision.
//!
//! Checks compare whole package paths, never leaves, and only where they belong: Porch's
//! misfire for nested paths.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    Class, GitSource, Lifecycle, Namespace, ObjectKey, ObjectName, PackageName, RepositoryName,
    Revision, Strategy, Task, TreeId, WorkspaceName,
};

use super::{Rejected, RejectionReason};
use crate::variant::{RepositorySummary, base_of};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// In which namespace.
    pub namespace: Namespace,
    /// In which repository.
    pub repository: RepositoryName,
    /// Which package.
    pub package: PackageName,
    /// Under which workspace.
    pub workspace: WorkspaceName,
    /// Only Draft is possible.
    pub lifecycle: Lifecycle,
    /// At most one; none is an init.
    pub tasks: Vec<Task>,
}

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateObserved {
    /// What is asked for.
    pub request: Creation,
    /// The repository, if it is registered.
    pub repository: Option<RepositorySummary>,
    /// All revisions of the package, placeholder included.
    pub siblings: Vec<Arc<Revision>>,
    /// All packages of the repository that overlap the new one's path, itself included.
    pub packages: BTreeSet<PackageName>,
    /// The revisions that the task names, as far as they exist.
    pub sources: BTreeMap<ObjectName, Arc<Revision>>,
}

/// Where the content comes from, everything looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentSource {
    /// A new package.
    Init {
        /// `info.description`
        description: String,
        /// `info.keywords`
        keywords: Vec<String>,
        /// `info.site`
        site: String,
    },
    /// A registered package revision.
    Clone(Arc<Revision>),
    /// A package anywhere in git.
    CloneGit(GitSource),
    /// A published revision of the same package.
    Edit(Arc<Revision>),
    /// A three-way merge.
    Upgrade {
        /// What the local one stems from.
        old: Arc<Revision>,
        /// What is wanted.
        new: Arc<Revision>,
        /// The published local one.
        local: Arc<Revision>,
        /// How to merge.
        strategy: Strategy,
    },
}

/// What to make.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "carry the creation out"]
pub struct CreatePlan {
    /// The object's namespace and composed name; expected absent.
    pub key: ObjectKey,
    /// The task to record.
    pub task: Task,
    /// Where the content comes from.
    pub source: ContentSource,
    /// The package's tree on the branch now: what approval will expect there (V20).
    pub directory: Option<TreeId>,
}

/// Whether the revision can be made.
///
/// # Errors
/// Porch's messages, with honest classes: a duplicate is a conflict (A9), an unknown source is
/// not found.
pub fn create(o: &CreateObserved) -> Result<CreatePlan, Rejected> {
    let request = &o.request;
    if request.lifecycle != Lifecycle::Draft {
        return Err(Rejected::invalid(
            "spec.lifecycle",
            request.lifecycle,
            "value can be only created as Draft",
        ));
    }
    repository(o)?;
    if request.tasks.len() > 1 {
        return Err(Rejected::invalid(
            "spec.tasks",
            request.tasks.len(),
            "task list must not contain more than one task",
        ));
    }
    unique(o)?;
    nested(o)?;
    let task = request
        .tasks
        .first()
        .cloned()
        .unwrap_or_else(|| Task::Init {
            description: format!("{} description", request.package),
            keywords: Vec::new(),
            site: String::new(),
        });
    let source = source(o, &task)?;
    let name = model::compose_name(&request.repository, &request.package, &request.workspace);
    let name = ObjectName::parse(&name)
        .map_err(|e| Rejected::invalid("metadata.name", &e.text, e.to_string()))?;
    let head = o.siblings.iter().find(|r| r.placeholder).map(|r| r.tree);
    let directory = head.or_else(|| base_of(&o.siblings).map(|base| base.tree));
    Ok(CreatePlan {
        key: ObjectKey::new(request.namespace.clone(), name),
        task,
        source,
        directory,
    })
}

fn repository(o: &CreateObserved) -> Result<(), Rejected> {
    let name = &o.request.repository;
    let Some(repository) = &o.repository else {
        return Err(Rejected::new(
            Class::NotFound,
            format!("repositories.config.porch.kpt.dev \"{name}\" not found"),
        ));
    };
    if let Err(why) = &repository.ready {
        let message = format!("repository \"{name}\" is not ready: {why}");
        return Err(Rejected::new(Class::Unavailable, message));
    }
    if let Err(why) = &repository.writable {
        let message = format!("repository \"{name}\" cannot be written to: {why}");
        return Err(Rejected::new(Class::Denied, message));
    }
    Ok(())
}

/// Workspaces are unique per package; the branch's head has one too.
fn unique(o: &CreateObserved) -> Result<(), Rejected> {
    let r = &o.request;
    let taken = o.siblings.iter().any(|s| s.workspace == r.workspace);
    if !taken {
        return Ok(());
    }
    Err(Rejected::new(
        Class::Conflict,
        format!(
            "package revision workspaceNames must be unique; package revision with name {} in repo {} with workspaceName {} already exists",
            r.package, r.repository, r.workspace
        ),
    )
    .because(RejectionReason::AlreadyExists)
    .hint("choose another spec.workspaceName"))
}

fn nested(o: &CreateObserved) -> Result<(), Rejected> {
    let package = &o.request.package;
    let other = o
        .packages
        .iter()
        .find(|p| *p != package && p.overlaps(package));
    other.map_or(Ok(()), |other| {
        let rejected = Rejected::invalid(
            "spec.packageName",
            package,
            format!("package path \"{package}\" conflicts with existing package \"{other}\": packages cannot be nested"),
        );
        Err(match package.as_str().starts_with(other.as_str()) {
            true => rejected.hint(format!(
                "a subpackage is a directory with a Kptfile in a draft of {other}"
            )),
            false => rejected,
        })
    })
}

fn source(o: &CreateObserved, task: &Task) -> Result<ContentSource, Rejected> {
    match task {
        Task::Init {
            description,
            keywords,
            site,
        } => {
            first(o, "init")?;
            Ok(ContentSource::Init {
                description: description.clone(),
                keywords: keywords.clone(),
                site: site.clone(),
            })
        }
        Task::Clone { upstream } => {
            first(o, "clone")?;
            let upstream = find(o, upstream)?;
            not_placeholder(upstream, "upstream")?;
            Ok(ContentSource::Clone(Arc::clone(upstream)))
        }
        Task::CloneGit(git) => {
            first(o, "clone")?;
            Ok(ContentSource::CloneGit(git.clone()))
        }
        Task::Edit { source } => {
            let source = find(o, source)?;
            not_placeholder(source, "source")?;
            same_package(o, source)?;
            published(source, "source revision must be published")?;
            Ok(ContentSource::Edit(Arc::clone(source)))
        }
        Task::Upgrade {
            old_upstream,
            new_upstream,
            local,
            strategy,
        } => {
            let (old, new) = (find(o, old_upstream)?, find(o, new_upstream)?);
            let local = find(o, local)?;
            not_placeholder(old, "old upstream")?;
            not_placeholder(new, "new upstream")?;
            not_placeholder(local, "local package")?;
            same_package(o, local)?;
            for (revision, what) in [
                (old, "old upstream"),
                (new, "new upstream"),
                (local, "local package"),
            ] {
                published(
                    revision,
                    &format!(
                        "all source PackageRevisions of upgrade task must be published, {what} revision {} is not",
                        revision.key.name
                    ),
                )?;
            }
            Ok(ContentSource::Upgrade {
                old: Arc::clone(old),
                new: Arc::clone(new),
                local: Arc::clone(local),
                strategy: *strategy,
            })
        }
    }
}

/// A package begins once: by init or clone.
fn first(o: &CreateObserved, verb: &str) -> Result<(), Rejected> {
    if o.siblings.iter().all(|s| s.placeholder) {
        return Ok(());
    }
    let (package, repo) = (&o.request.package, &o.request.repository);
    let further = "make subsequent revisions using `copy`";
    if verb == "init" {
        let text = format!("package \"{package}\" already exists in repository \"{repo}\"");
        return Err(Rejected::new(Class::Conflict, text)
            .because(RejectionReason::AlreadyExists)
            .hint(further));
    }
    Err(Rejected::new(
        Class::Conflict,
        format!(
            "`{verb}` cannot create a new revision for package \"{package}\" that already exists in repo \"{repo}\"; {further}"
        ),
    )
    .because(RejectionReason::AlreadyExists))
}

fn find<'a>(o: &'a CreateObserved, name: &ObjectName) -> Result<&'a Arc<Revision>, Rejected> {
    o.sources.get(name).ok_or_else(|| {
        Rejected::new(
            Class::NotFound,
            format!("packagerevisions.porch.kpt.dev \"{name}\" not found"),
        )
    })
}

fn not_placeholder(revision: &Revision, what: &str) -> Result<(), Rejected> {
    if !revision.placeholder {
        return Ok(());
    }
    let (repo, name) = (&revision.repository, &revision.key.name);
    Err(Rejected::new(
        Class::Invalid,
        format!("{what} revision may not be the placeholder package revision {repo}/{name}"),
    )
    .hint("name a published revision"))
}

fn same_package(o: &CreateObserved, source: &Revision) -> Result<(), Rejected> {
    if source.repository == o.request.repository && source.package == o.request.package {
        return Ok(());
    }
    Err(Rejected::new(
        Class::Invalid,
        format!(
            "source revision must be from same package {}/{} (got: {}/{})",
            o.request.repository, o.request.package, source.repository, source.package
        ),
    ))
}

fn published(revision: &Revision, message: &str) -> Result<(), Rejected> {
    if revision.lifecycle.is_published() {
        Ok(())
    } else {
        Err(Rejected::new(Class::Invalid, message))
    }
}
