//! Creating a package revision for a person.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    CommitId, Lifecycle, Namespace, ObjectKey, ObjectMeta, ObjectName, PackedRenderStatus, Pairs,
    Revision, RevisionNumber, Task, Uid, WorkspaceName,
};
use package::render::{Options, Rendered};
use plan::revision::{ContentSource, CreateObserved, CreatePlan, Creation, create as judge};
use plan::variant::RepositorySummary;
use store::{Content as Put, RefEdit};

use super::{Caller, Input, Made, PackageKey, content, metadata, rejected, sources};
use crate::discover::{Origin, approved_last, self_lock};
use crate::git::Subject;
use crate::observe::repository_summary;
use crate::repos::OpenRepository;
use crate::transaction::{DraftCommit, Follow, Tip, Transaction, told};
use crate::{Engine, Error, Result, conversation, opening, registrations, transaction, waiting};

pub(super) async fn create(
    engine: &Engine,
    by: &Caller,
    namespace: &Namespace,
    input: Input,
) -> Result<Made> {
    let key = PackageKey::new(namespace, &input.repository, &input.package);
    let (guard, race) = waiting::earlier(engine, engine.inner.locks.for_request(&key)).await;
    let made = async {
        let _making = engine.inner.locks.making(&key)?;
        within(engine, by, namespace, input, &key).await
    };
    let made = made.await;
    drop(guard);
    made.map_err(|error| race.tell(error))
}

/// With the package held against other changes.
async fn within(
    engine: &Engine,
    by: &Caller,
    namespace: &Namespace,
    input: Input,
    key: &PackageKey,
) -> Result<Made> {
    engine.alive()?;
    let open = match opening::open(engine, namespace, &input.repository).await {
        Ok(open) => Some(open),
        Err(Error::NotFound { .. }) => None,
        Err(error) => return Err(error),
    };
    if let Some(open) = &open {
        hear(engine, open.key()).await?;
    }
    let observed = observe(engine, key, &input, open.as_deref());
    let plan = judge(&observed).map_err(rejected)?;
    let Some(open) = open else {
        return Err(Error::NotFound {
            what: "repositories.config.porch.kpt.dev",
            name: input.repository.to_string(),
        });
    };
    carry_out(engine, by, &open, key, input, plan).await
}

/// Whoever was told that a repository is ready must not be refused, because no watch has told it here yet.
async fn hear(engine: &Engine, repository: &ObjectKey) -> Result<()> {
    let known = engine.world(|w| w.repositories.get(repository).cloned());
    if known.is_some_and(|known| repository_summary(&known).ready.is_ok()) {
        return Ok(());
    }
    engine.repository_now(repository).await.map(drop)
}

fn observe(
    engine: &Engine,
    key: &PackageKey,
    input: &Input,
    open: Option<&OpenRepository>,
) -> CreateObserved {
    let named = |name: &ObjectName| {
        let key = ObjectKey::new(key.namespace.clone(), name.clone());
        engine.world(|w| w.revisions.get(&key))
    };
    let names: Vec<&ObjectName> = input.tasks.iter().flat_map(sources_of).collect();
    let overlapping: BTreeSet<_> = engine
        .world(|w| w.revisions.packages_of(&key.namespace, &key.repository))
        .into_iter()
        .filter(|p| p.overlaps(&key.package))
        .collect();
    CreateObserved {
        request: Creation {
            namespace: key.namespace.clone(),
            repository: key.repository.clone(),
            package: key.package.clone(),
            workspace: input.workspace.clone(),
            lifecycle: input.lifecycle,
            tasks: input.tasks.clone(),
        },
        repository: open.and_then(|open| {
            let stored = engine.world(|w| w.repositories.get(open.key()).cloned())?;
            Some(RepositorySummary {
                writable: registrations::writable(engine, open),
                ..repository_summary(&stored)
            })
        }),
        siblings: engine.world(|w| w.revisions.of_package(key)),
        packages: overlapping,
        sources: names
            .into_iter()
            .filter_map(|name| Some((name.clone(), named(name)?)))
            .collect::<BTreeMap<_, _>>(),
    }
}

fn sources_of(task: &Task) -> Vec<&ObjectName> {
    match task {
        Task::Init { .. } | Task::CloneGit(_) => Vec::new(),
        Task::Clone { upstream } => vec![upstream],
        Task::Edit { source } => vec![source],
        Task::Upgrade {
            old_upstream,
            new_upstream,
            local,
            ..
        } => vec![old_upstream, new_upstream, local],
    }
}

async fn carry_out(
    engine: &Engine,
    by: &Caller,
    open: &Arc<OpenRepository>,
    key: &PackageKey,
    input: Input,
    plan: CreatePlan,
) -> Result<Made> {
    let uid = transaction::unrecorded(engine, &plan.key).await?;
    let mut content = sources::content(engine, by, open, key, &plan.source).await?;
    metadata::apply(&mut content.files, &metadata::edits(&input, None))?;
    let rendered = render(engine, &plan.key.namespace, &input, &content).await?;
    let leaves = leaves_at(engine, open, key, &plan.source)?;
    let mut transaction = Transaction::begin(engine, open);
    let tip = transaction.commit(
        by,
        &DraftCommit {
            package: &key.package,
            workspace: &input.workspace,
            content: Put::Files(&rendered.files, &content.opaque),
            parents: &[leaves],
            subject: Subject::Task(&plan.task),
            body: String::new(),
            machine: None,
            conditions: &content.conditions,
            conflicts: told(&content.conflicts),
        },
    )?;
    let mut record = new_record(engine, open, key, &plan.key, &input.workspace, (uid, tip));
    record.tasks = vec![plan.task.clone()];
    record.meta.labels.clone_from(&input.meta.labels);
    record.meta.annotations.clone_from(&input.meta.annotations);
    let annotations = &mut record.meta.annotations;
    annotations.retain(|key, _| !model::marks::ANNOTATIONS.contains(&key.as_str()));
    record.meta.labels.remove(model::marks::LATEST);
    record.meta.finalizers.clone_from(&input.meta.finalizers);
    record.meta.owners.clone_from(&input.meta.owners);
    record.conflicts.clone_from(&content.conflicts);
    let render = rendered.status;
    record.render_status = Some(PackedRenderStatus::from(&render));
    content::take(&mut record, &rendered.files, tip)?;
    content::say(&mut record, content.conditions);
    if let ContentSource::Edit(source) = &plan.source {
        // A copy of what nobody rendered anew says what its source says.
        record.upstream_lock.clone_from(&source.upstream_lock);
    }
    let failed = content::render_told(Some(&render), true).err();
    let mut warnings = content.warnings;
    warnings.extend(rendered.warnings);
    warnings.extend(failed.map(|error| error.to_string()));
    let mut made = Made {
        render: Some(render),
        files: Some(rendered.files),
        warnings,
        ..Made::of(record.clone())
    };
    let shown = open.layout.draft(&key.package, &input.workspace)?;
    transaction.move_refs([RefEdit::create(shown, tip.commit)]);
    let prepared = transaction.prepare(vec![Follow::put(record, None)])?;
    if by.dry_run {
        return Ok(made);
    }
    if let Some(stored) = prepared.publish().await? {
        made.revision = stored;
    }
    Ok(made)
}

/// Where a new draft leaves the branch: at its head. What was made of a published revision while the branch's directory
/// holds what nobody published leaves it at that revision: its content knows nothing of that work, so an approval must
/// refuse it until the draft is based anew (V20).
fn leaves_at(
    engine: &Engine,
    open: &OpenRepository,
    key: &PackageKey,
    source: &ContentSource,
) -> Result<CommitId> {
    let head = open.head()?;
    let (ContentSource::Edit(from) | ContentSource::Upgrade { local: from, .. }) = source else {
        return Ok(head);
    };
    let on_branch = open.tree_at(head, &key.package)?;
    let known = engine.world(|w| w.revisions.of_package(key));
    let mut published = known
        .iter()
        .filter(|r| r.lifecycle.is_published() && !r.placeholder);
    if published.any(|r| Some(r.tree) == on_branch)
        || approved_last(open, &open.layout.dir(&key.package), head)?
    {
        return Ok(head);
    }
    let failed = |source| Error::Store {
        attempt: "read the history of the branch",
        source,
    };
    let stems = open.repo.is_ancestor(from.commit, head).map_err(failed)?;
    Ok(if stems { from.commit } else { head })
}

async fn render(
    engine: &Engine,
    tenant: &model::Namespace,
    input: &Input,
    content: &sources::Content,
) -> Result<Rendered> {
    let keep = content::keeps_failures(&input.meta);
    let options = Options {
        // What is kept although it failed cannot be approved (V2).
        gate_failure: keep,
        package_bytes: Some(engine.inner.options.package_bytes),
        tell_unread: true,
        ..Options::default()
    };
    let rendered = conversation::render(engine, tenant, content.files.clone(), options).await?;
    if !keep {
        content::check(&rendered)?;
    }
    Ok(rendered)
}

/// The record of a new draft, of which only its place in git is known.
pub(crate) fn new_record(
    engine: &Engine,
    open: &OpenRepository,
    package: &PackageKey,
    key: &ObjectKey,
    workspace: &WorkspaceName,
    (uid, tip): (Uid, Tip),
) -> Revision {
    let origin = Origin::open(Lifecycle::Draft, workspace, tip.commit);
    Revision {
        key: key.clone(),
        meta: ObjectMeta {
            uid: Some(uid),
            created: model::utc(engine.now()),
            ..ObjectMeta::default()
        },
        repository: package.repository.clone(),
        package: package.package.clone(),
        workspace: workspace.clone(),
        revision: RevisionNumber::NONE,
        lifecycle: Lifecycle::Draft,
        tasks: Vec::new(),
        readiness_gates: Vec::new(),
        package_labels: Pairs::new(),
        package_annotations: Pairs::new(),
        resolved_conflicts: Vec::new(),
        upstream_lock: None,
        self_lock: Some(self_lock(open, &package.package, &origin, tip.commit)),
        conditions: Vec::new(),
        deployment: open.repository.deployment,
        published_by: String::new(),
        published_at: String::new(),
        conflicts: Vec::new(),
        render_status: None,
        commit: tip.commit,
        tree: tip.tree,
        machine: None,
        noted_digest: None,
        placeholder: false,
        content_version: String::new(),
    }
}
