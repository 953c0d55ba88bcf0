//! A record made from what git says.

use std::sync::Arc;

use model::{
    CommitId, Condition, Conflict, ConflictId, ConflictState, DraftOwner, GitLock, Lifecycle,
    ObjectKey, ObjectMeta, ObjectName, OwnerReference, PackageName, PackedRenderStatus, Pairs,
    ReadinessGate, Revision, RevisionNumber, Status, Task, TreeId, WorkspaceName, compose_name,
};
use package::kptfile::Kptfile;
use plan::variant::words;
use store::{Dir, Snapshot};

use super::history::{self, Told};
use crate::git::Layout;
use crate::index::{PackageKey, downstream_of};
use crate::ports::StoredVariant;
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result};

/// Where one revision stands in git.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// Its lifecycle, as the refs tell it.
    pub(crate) lifecycle: Lifecycle,
    /// Its workspace, as far as the ref tells it (a tag's is its last segment).
    pub(crate) workspace: WorkspaceName,
    /// The tag's last segment.
    pub(crate) tag: Option<WorkspaceName>,
    /// Its commit.
    pub(crate) commit: CommitId,
    /// Whether it is the branch's head.
    pub(crate) placeholder: bool,
}

impl Origin {
    /// A draft or a proposal.
    pub(crate) fn open(lifecycle: Lifecycle, ws: &WorkspaceName, commit: CommitId) -> Self {
        Self {
            lifecycle,
            workspace: ws.clone(),
            tag: None,
            commit,
            placeholder: false,
        }
    }

    /// A tag.
    pub(crate) fn tag(tag: &WorkspaceName, commit: CommitId, deletion: bool) -> Self {
        Self {
            tag: Some(tag.clone()),
            ..Self::open(published(deletion), tag, commit)
        }
    }

    /// The branch's head.
    pub(crate) fn head(branch: &WorkspaceName, commit: CommitId, deletion: bool) -> Self {
        Self {
            placeholder: true,
            ..Self::open(published(deletion), branch, commit)
        }
    }

    /// What it is, for people.
    pub(crate) fn label(&self) -> String {
        match (&self.tag, self.placeholder) {
            (Some(tag), _) => format!("tag {tag}"),
            (None, true) => format!("branch {}", self.workspace),
            (None, false) => format!("{} {}", self.lifecycle, self.workspace),
        }
    }
}

fn published(deletion: bool) -> Lifecycle {
    if deletion {
        Lifecycle::DeletionProposed
    } else {
        Lifecycle::Published
    }
}

/// A record, and what could not be read or served.
pub(crate) struct Built {
    /// The record; none where there is no package, or none that can be served: then a problem says why.
    pub(crate) record: Option<Revision>,
    /// Problems.
    pub(crate) problems: Vec<String>,
}

/// The lock that names a revision's own content (the directory is
/// whole, so that a clone's lock leads back here).
pub(crate) fn self_lock(
    open: &OpenRepository,
    package: &PackageName,
    origin: &Origin,
    commit: CommitId,
) -> GitLock {
    let dir = open.layout.dir(package);
    let git_ref = match (&origin.tag, origin.placeholder, origin.lifecycle) {
        (Some(tag), ..) => format!("{dir}/{tag}"),
        (None, true, _) => open.layout.branch().to_owned(),
        (None, false, Lifecycle::Proposed) => format!("proposed/{dir}/{}", origin.workspace),
        (None, false, _) => format!("drafts/{dir}/{}", origin.workspace),
    };
    GitLock {
        repo: open.repository.git.repo.clone(),
        directory: dir.to_string(),
        git_ref,
        commit: Some(commit),
    }
}

impl Built {
    /// Nothing, and why.
    fn nothing(why: String) -> Self {
        Self {
            record: None,
            problems: vec![why],
        }
    }
}

/// Makes the record of an origin.
///
/// # Errors
/// Git cannot be read. A package that cannot be understood has a record with what is known.
pub(crate) fn build(
    engine: &Engine,
    open: &OpenRepository,
    key: &PackageKey,
    origin: &Origin,
    known: &[Arc<Revision>],
) -> Result<Built> {
    let failed = |source| Error::Store {
        attempt: "read a package",
        source,
    };
    let dir = open.layout.dir(&key.package);
    let commit = open.repo.commit(origin.commit).map_err(failed)?;
    let Some(tree) = open.repo.subtree(commit.tree, &dir).map_err(failed)? else {
        return Ok(Built::nothing(format!("it has no directory {dir}")));
    };
    let mut problems = Vec::new();
    let snapshot = match open.repo.snapshot(tree) {
        Ok(snapshot) if is_package(&snapshot) => Some(snapshot),
        Ok(_) => return Ok(Built::nothing(format!("directory {dir} has no Kptfile"))),
        Err(error) => {
            problems.push(error.to_string());
            None
        }
    };
    let approval = origin
        .tag
        .as_ref()
        .and_then(|_| history::approval(open, &dir, &commit.message));
    let mut told = told(open, &dir, origin, &commit.parents, approval.as_ref())?;
    problems.extend(told.unreadable.iter().cloned());
    if let Some(snapshot) = &snapshot {
        history::resolved_by_push(open, &dir, &mut told, &snapshot.files)?;
    }
    let workspace = approval
        .as_ref()
        .and_then(|(ws, _)| WorkspaceName::parse(ws).ok())
        .unwrap_or_else(|| origin.workspace.clone());
    let name = compose_name(&key.repository, &key.package, &workspace);
    let name = match ObjectName::parse(&name) {
        Ok(name) => ObjectKey::new(key.namespace.clone(), name),
        Err(error) => return Ok(Built::nothing(error.to_string())),
    };
    let before = known.iter().find(|r| r.key == name);
    let mut record = blank(
        engine,
        open,
        key,
        origin,
        (name, workspace),
        (before, &told),
    );
    record.tree = tree;
    if origin.placeholder {
        record.machine = history::behind(open, &dir, &commit)?;
    }
    if origin.lifecycle.is_published() {
        record.published_by = match before {
            Some(b) if b.commit == origin.commit => b.published_by.clone(),
            _ => commit.author.email.clone(),
        };
        record.published_at = model::utc(commit.author.time.seconds);
    }
    if let Some(snapshot) = snapshot {
        match Kptfile::of_files(&snapshot.files) {
            Ok(kptfile) => {
                apply_kptfile(&mut record, &kptfile);
                unrendered(&mut record, &kptfile);
                record.conditions.extend(told.conditions.iter().cloned());
            }
            Err(error) => problems.push(unreadable(&mut record, chain(&error))),
        }
    }
    Ok(Built {
        record: Some(record),
        problems,
    })
}

/// A record of which nothing but its place is known.
fn blank(
    engine: &Engine,
    open: &OpenRepository,
    key: &PackageKey,
    origin: &Origin,
    (name, workspace): (ObjectKey, WorkspaceName),
    (before, told): (Option<&Arc<Revision>>, &Told),
) -> Revision {
    let meta = before.map_or_else(
        || ObjectMeta {
            uid: Some(engine.ports().ids.revision_uid(&name.namespace, &name.name)),
            created: if told.created > 0 {
                model::utc(told.created)
            } else {
                String::new()
            },
            owners: told
                .machine
                .as_ref()
                .and_then(|m| owner(engine, key, &m.owner))
                .into_iter()
                .collect(),
            ..ObjectMeta::default()
        },
        |b| {
            let mut meta = b.meta.clone();
            if !origin.lifecycle.is_published() && is_elsewheres(engine, key, told) {
                meta.owners.retain(|o| o.kind != words::KIND);
            }
            meta
        },
    );
    let revision = match &origin.tag {
        Some(tag) => RevisionNumber::of_tag(tag.as_str()),
        None if origin.placeholder => RevisionNumber::UNNUMBERED,
        None => RevisionNumber::NONE,
    };
    let told_task: Option<Task> = told.task.clone();
    Revision {
        key: name,
        meta,
        repository: key.repository.clone(),
        package: key.package.clone(),
        workspace,
        revision,
        lifecycle: origin.lifecycle,
        tasks: told_task.map_or_else(
            || before.map(|b| b.tasks.clone()).unwrap_or_default(),
            |task| vec![task],
        ),
        readiness_gates: Vec::new(),
        package_labels: Pairs::new(),
        package_annotations: Pairs::new(),
        resolved_conflicts: acknowledged(
            before.map_or(&[], |b| &b.resolved_conflicts),
            &told.conflicts,
        ),
        upstream_lock: None,
        self_lock: Some(self_lock(open, &key.package, origin, origin.commit)),
        conditions: Vec::new(),
        deployment: open.repository.deployment,
        published_by: String::new(),
        published_at: String::new(),
        conflicts: told.conflicts.clone(),
        render_status: None,
        commit: origin.commit,
        tree: placeholder_tree(before),
        machine: told.machine.clone(),
        noted_digest: before.and_then(|b| b.noted_digest.clone()),
        placeholder: origin.placeholder,
        content_version: String::new(),
    }
}

/// What people acknowledged: as the commits have it, and what was said before of conflicts that they do not list.
fn acknowledged(before: &[ConflictId], conflicts: &[Conflict]) -> Vec<ConflictId> {
    let said = |id: &ConflictId| {
        let conflict = conflicts.iter().find(|conflict| conflict.id == *id);
        conflict.is_none_or(|c| c.state != ConflictState::Open)
    };
    let mut ids: Vec<ConflictId> = before.iter().filter(|id| said(id)).cloned().collect();
    for conflict in conflicts {
        if conflict.state == ConflictState::Acknowledged && !ids.contains(&conflict.id) {
            ids.push(conflict.id.clone());
        }
    }
    ids
}

/// Whether what a draft holds was made by a variant of another namespace that is still there. Where one address is
/// registered in both and the repository was made anew, both may make a draft of the same name: it is whose machine wrote
/// it last, or each would go on bringing it in line with its own inputs for ever (V25).
fn is_elsewheres(engine: &Engine, key: &PackageKey, told: &Told) -> bool {
    let machine = told.machine.as_ref();
    let elsewhere = machine.filter(|m| m.owner.namespace != key.namespace);
    elsewhere.is_some_and(|m| engine.world(|w| w.variant_of_uid(&m.owner.uid).is_some()))
}

/// The variant that a trailer names, if it is still that very one: a crash may have lost the record
/// and the journal, never who the draft was made for.
fn owner(engine: &Engine, package: &PackageKey, owner: &DraftOwner) -> Option<OwnerReference> {
    engine.world(|w| {
        let variant = w.variant_of_uid(&owner.uid)?;
        owned_by(package, owner, variant)
    })
}

/// The reference to the variant that a trailer names, if it is this one and goes to this package. The same commits may be seen
/// elsewhere: through a registration of another namespace, where it is nobody (V25), through another one of its own namespace,
/// of a directory above or below, and in a copy of the repository. There they are nothing that it left behind.
pub(super) fn owned_by(
    package: &PackageKey,
    owner: &DraftOwner,
    variant: &StoredVariant,
) -> Option<OwnerReference> {
    let key = ObjectKey::new(owner.namespace.clone(), owner.name.clone());
    let this = variant.key == key
        && variant.meta.uid.as_ref() == Some(&owner.uid)
        && key.namespace == package.namespace;
    let here = match &variant.parsed {
        Ok(variant) => downstream_of(variant) == *package,
        // Of what cannot be understood nobody knows where it goes.
        Err(_) => true,
    };
    (this && here).then(|| reference(owner))
}

fn reference(owner: &DraftOwner) -> OwnerReference {
    OwnerReference {
        api_version: words::API_VERSION.to_owned(),
        kind: words::KIND.to_owned(),
        name: owner.name.to_string(),
        uid: owner.uid.clone(),
        controller: true,
        block_owner_deletion: false,
    }
}

/// Overwritten by the caller; a record always names a tree.
fn placeholder_tree(before: Option<&Arc<Revision>>) -> TreeId {
    before.map_or_else(zero_tree, |b| b.tree)
}

#[expect(clippy::expect_used, reason = "20 bytes fit into an id of up to 32")]
fn zero_tree() -> TreeId {
    TreeId::from_bytes(&[0; 20]).expect("20 bytes are an id")
}

/// Takes what a Kptfile says into a record.
pub(crate) fn apply_kptfile(record: &mut Revision, kptfile: &Kptfile) {
    let fields = kptfile.fields();
    record
        .readiness_gates
        .clone_from(&fields.info.readiness_gates);
    record.package_labels.clone_from(&fields.labels);
    record.package_annotations.clone_from(&fields.annotations);
    record.conditions.clone_from(&fields.conditions);
    record.upstream_lock = fields.upstream_lock.as_ref().and_then(|l| l.git.clone());
    record.render_status = fields.render_status.as_ref().map(PackedRenderStatus::from);
}

/// A draft that arrived by git and that nobody rendered is gated until somebody does (V14): saving
/// it renders it. The gate stands on the record alone, since nobody commits for another.
fn unrendered(record: &mut Revision, kptfile: &Kptfile) {
    let open = !record.lifecycle.is_published();
    if !open || kptfile.fields().pipeline.is_empty() || record.condition("Rendered").is_some() {
        return;
    }
    let message = "it arrived by git; save its resources to render it";
    for kind in ["Rendered", words::RENDERED] {
        record.conditions.push(Condition::new(
            kind,
            Status::Unknown,
            "NotRendered",
            message,
        ));
    }
    record.readiness_gates.push(ReadinessGate {
        condition_type: words::RENDERED.to_owned(),
    });
}

/// A package whose Kptfile cannot be read says so, and is neither proposed nor approved until it can: saving it, or
/// another push, mends it. The gate stands on the record alone, since nobody commits for another.
fn unreadable(record: &mut Revision, text: String) -> String {
    let message = format!("{text}{MEND}");
    let condition = Condition::new(UNREADABLE, Status::False, "KptfileUnreadable", message);
    record.conditions.push(condition);
    if !record.lifecycle.is_published() {
        record.readiness_gates.push(ReadinessGate {
            condition_type: UNREADABLE.to_owned(),
        });
    }
    text
}

/// Why the Kptfile of a record's package cannot be read, where it cannot.
pub(super) fn why_unreadable(record: &Revision) -> Option<&str> {
    let message = record.condition(UNREADABLE)?.message.as_str();
    Some(message.strip_suffix(MEND).unwrap_or(message))
}

/// Whether a record waits for its first render.
pub(crate) fn is_unrendered(record: &Revision) -> bool {
    record.condition(words::RENDERED).is_some()
}

/// The gate of a draft whose Kptfile cannot be read.
const UNREADABLE: &str = "offshoot.dev/Kptfile";
/// The way out of it.
const MEND: &str = "; push a Kptfile that can be read";

fn is_package(snapshot: &Snapshot) -> bool {
    snapshot.files.contains_key(&package::kptfile::path())
}

fn told(
    open: &OpenRepository,
    dir: &Dir,
    origin: &Origin,
    parents: &[CommitId],
    approval: Option<&(String, i64)>,
) -> Result<Told> {
    match (&origin.tag, approval, parents.get(1)) {
        (Some(_), Some((workspace, _)), Some(draft)) => {
            history::told(open, dir, *draft, Some(workspace))
        }
        (None, ..) if !origin.placeholder => {
            history::told(open, dir, origin.commit, Some(origin.workspace.as_str()))
        }
        _ => Ok(Told::default()),
    }
}

/// An error with all its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}

/// The last segment of the tag of a record's number.
pub(crate) fn tag_of(record: &Revision) -> String {
    if record.revision.is_numbered() {
        Layout::tag_of(record.revision)
    } else {
        record.workspace.to_string()
    }
}
