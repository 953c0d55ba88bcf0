//! Reads the terse worlds of the case folders into `model` values. Every field has a default that
//! makes the plainest case.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{
    AdoptionPolicy, Class, CommitId, Condition, Conflict, ConflictId, ConflictPolicy,
    ConflictState, ConflictValue, Decision, DeletionPolicy, Downstream, Function, GitLock,
    Injector, Lifecycle, Namespace, ObjectKey, ObjectMeta, ObjectName, OwnerReference,
    PackageContext, PackageName, PackagePath, PackedRenderStatus, Pairs, Pipeline, ProposedPolicy,
    ReadinessGate, RenderStatus, RepositoryName, Revision, RevisionNumber, Status, Strategy, Task,
    TreeId, Uid, Upstream, UpstreamVersion, VariantSpec, WorkspaceName,
};
use plan::OffBranch;
use serde_json::Value;

/// A piece of a world.
#[derive(Debug, Clone)]
pub(crate) struct Json(pub(crate) Value);

impl Json {
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        self.0.get(key).filter(|v| !v.is_null()).cloned().map(Json)
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(|v| match v.0 {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    pub(crate) fn or(&self, key: &str, default: &str) -> String {
        self.text(key).unwrap_or_else(|| default.to_owned())
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key).is_some_and(|v| v.0 == Value::Bool(true))
    }

    pub(crate) fn list(&self, key: &str) -> Vec<Self> {
        match self.get(key).map(|v| v.0) {
            Some(Value::Array(items)) => items.into_iter().map(Json).collect(),
            Some(other) => panic!("{key} is no list: {other}"),
            None => Vec::new(),
        }
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        self.list(key)
            .into_iter()
            .map(|v| v.0.as_str().map_or_else(|| v.0.to_string(), str::to_owned))
            .collect()
    }

    pub(crate) fn map(&self, key: &str) -> Pairs {
        self.entries(key)
            .into_iter()
            .map(|(k, v)| {
                (
                    k,
                    v.0.as_str().map_or_else(|| v.0.to_string(), str::to_owned),
                )
            })
            .collect()
    }

    pub(crate) fn entries(&self, key: &str) -> Vec<(String, Self)> {
        match self.get(key).map(|v| v.0) {
            Some(Value::Object(map)) => map.into_iter().map(|(k, v)| (k, Self(v))).collect(),
            Some(other) => panic!("{key} is no map: {other}"),
            None => Vec::new(),
        }
    }
}

pub(crate) fn namespace() -> Namespace {
    Namespace::parse("fleet").expect("a namespace")
}

pub(crate) fn name(text: &str) -> ObjectName {
    ObjectName::parse(text).expect("an object name")
}

pub(crate) fn key(text: &str) -> ObjectKey {
    ObjectKey::new(namespace(), name(text))
}

pub(crate) fn uid(text: &str) -> Uid {
    Uid::parse(text).expect("a uid")
}

pub(crate) fn repo(text: &str) -> RepositoryName {
    RepositoryName::parse(text).expect("a repository")
}

pub(crate) fn package(text: &str) -> PackageName {
    PackageName::parse(text).expect("a package")
}

pub(crate) fn workspace(text: &str) -> WorkspaceName {
    WorkspaceName::parse(text).expect("a workspace")
}

/// `repo/package`.
pub(crate) fn place(text: &str) -> Downstream {
    let (r, p) = text.split_once('/').expect("repo/package");
    Downstream {
        repo: repo(r),
        package: package(p),
    }
}

/// An id from a word: the same word, the same id.
fn hex(word: &str) -> String {
    let mut text: String = word.bytes().map(|b| format!("{b:02x}")).collect();
    text.truncate(40);
    format!("{text:0<40}")
}

pub(crate) fn commit(word: &str) -> CommitId {
    CommitId::parse(&hex(word)).expect("a commit")
}

pub(crate) fn tree(word: &str) -> TreeId {
    TreeId::parse(&hex(word)).expect("a tree")
}

/// `repo/package@version`; a version is `3`, `v3`, a name, `ws:name`, `tag:name`, `-1` or nothing.
pub(crate) fn upstream(text: &str) -> Upstream {
    let (at, version) = text.split_once('@').unwrap_or((text, ""));
    let Downstream { repo, package } = place(at);
    let number = version.strip_prefix('v').unwrap_or(version).parse::<i64>();
    let version = match (version, number) {
        ("", _) => UpstreamVersion::Latest,
        ("-1", _) => UpstreamVersion::BranchHead,
        (_, Ok(n)) => UpstreamVersion::Revision(n),
        _ => match version.split_once(':') {
            Some(("ws", name)) => UpstreamVersion::Workspace(workspace(name)),
            Some(("tag", name)) => UpstreamVersion::Tag(workspace(name)),
            _ => UpstreamVersion::Named(workspace(version)),
        },
    };
    Upstream {
        repo,
        package,
        version,
        allow_unpublished: false,
        commit: None,
    }
}

pub(crate) fn functions(world: &Json, key: &str) -> Vec<Function> {
    world
        .list(key)
        .iter()
        .map(|f| Function {
            image: f.text("image"),
            exec: f.text("exec"),
            name: f.or("name", ""),
            config_map: f.map("config").into_iter().collect(),
            ..Function::default()
        })
        .collect()
}

pub(crate) fn spec(world: &Json) -> VariantSpec {
    let mut up = upstream(&world.or("upstream", "blueprints/nginx@v1"));
    up.allow_unpublished = world.flag("allowUnpublished");
    up.commit = world.text("commit").map(|word| commit(&word));
    let deletion = world.text("deletion");
    VariantSpec {
        upstream: up,
        downstream: place(&world.or("downstream", "deploy/shop")),
        adoption: match world.text("adoption").as_deref() {
            Some("existing") => AdoptionPolicy::Existing,
            _ => AdoptionPolicy::None,
        },
        deletion: match deletion.as_deref() {
            Some("orphan") => DeletionPolicy::Orphan,
            _ => DeletionPolicy::Delete,
        },
        deletion_explicit: deletion.as_deref() == Some("delete"),
        labels: world.map("labels"),
        annotations: world.map("draftAnnotations"),
        context: PackageContext {
            data: world.map("context"),
            remove_keys: world.texts("removeKeys").into_iter().collect(),
            create: world.flag("createContext"),
        },
        pipeline: Pipeline {
            mutators: functions(world, "mutators"),
            validators: functions(world, "validators"),
        },
        injectors: world
            .texts("injectors")
            .into_iter()
            .map(|name| Injector {
                group: None,
                version: None,
                kind: None,
                name,
            })
            .collect(),
        conflict_policy: match world.text("conflicts").as_deref() {
            Some("Local") => ConflictPolicy::Local,
            Some("Upstream") => ConflictPolicy::Upstream,
            _ => ConflictPolicy::Block,
        },
        proposed: match world.text("proposed").as_deref() {
            Some("revert") => ProposedPolicy::RevertToDraft,
            _ => ProposedPolicy::Wait,
        },
        strategy: Strategy::parse(&world.or("strategy", "")).expect("a strategy"),
        suspend: world.flag("suspend"),
    }
}

/// Metadata; owners are `Kind name uid`, controllers unless followed by `plain`.
pub(crate) fn meta(world: &Json, default_uid: &str) -> ObjectMeta {
    ObjectMeta {
        uid: Some(uid(&world.or("uid", default_uid))),
        resource_version: world.or("rv", "1"),
        generation: world.or("generation", "1").parse().expect("a generation"),
        created: world.or("created", "2026-01-01T00:00:00Z"),
        deleted: world
            .flag("deleting")
            .then(|| "2026-02-01T00:00:00Z".to_owned()),
        labels: world.map("labels"),
        annotations: world.map("annotations"),
        finalizers: world.texts("finalizers"),
        owners: world.texts("owners").iter().map(|o| owner(o)).collect(),
    }
}

fn owner(text: &str) -> OwnerReference {
    let words: Vec<&str> = text.split(' ').collect();
    OwnerReference {
        api_version: "config.porch.kpt.dev/v1alpha1".to_owned(),
        kind: words[0].to_owned(),
        name: words[1].to_owned(),
        uid: uid(words[2]),
        controller: words.get(3).is_none_or(|w| *w != "plain"),
        block_owner_deletion: false,
    }
}

/// `repo-url-word directory commit-word ref`, or for short `commit-word` of the usual upstream.
pub(crate) fn lock(text: &str) -> GitLock {
    let words: Vec<&str> = text.split(' ').collect();
    let (repo, directory, at, git_ref) = match words.as_slice() {
        [at] => ("https://git/blueprints.git", "nginx", *at, *at),
        [repo, directory, at, git_ref] => (*repo, *directory, *at, *git_ref),
        _ => panic!("a lock is one word or four: {text}"),
    };
    GitLock {
        repo: repo.to_owned(),
        directory: directory.to_owned(),
        git_ref: git_ref.to_owned(),
        commit: (at != "-").then(|| commit(at)),
    }
}

fn task(text: &str) -> Task {
    let words: Vec<&str> = text.split(' ').collect();
    match words.as_slice() {
        ["clone", upstream] => Task::Clone {
            upstream: name(upstream),
        },
        ["edit", source] => Task::Edit {
            source: name(source),
        },
        ["upgrade", old, new, local] => Task::Upgrade {
            old_upstream: name(old),
            new_upstream: name(new),
            local: name(local),
            strategy: Strategy::default(),
        },
        ["init"] => Task::Init {
            description: String::new(),
            keywords: Vec::new(),
            site: String::new(),
        },
        _ => panic!("unknown task: {text}"),
    }
}

pub(crate) fn status_word(text: &str) -> Status {
    Status::parse(text)
}

fn conditions(world: &Json) -> Vec<Condition> {
    world
        .map("conditions")
        .into_iter()
        .map(|(kind, status)| Condition::new(kind, Status::parse(&status), "", ""))
        .collect()
}

fn conflicts(world: &Json) -> Vec<Conflict> {
    let count: usize = world.or("conflicts", "0").parse().expect("a number");
    (0..count)
        .map(|i| Conflict {
            id: ConflictId(format!("{i:016x}")),
            file: PackagePath::parse("app.yaml").expect("a path"),
            resource: "apps/Deployment//web".to_owned(),
            path: format!("spec.replicas{i}"),
            base: ConflictValue::Json("1".to_owned()),
            local: ConflictValue::Json("2".to_owned()),
            upstream: ConflictValue::Json("3".to_owned()),
            decision: Decision::Upstream,
            state: ConflictState::Open,
            derived_from: None,
        })
        .collect()
}

/// One revision: `at`, `ws`, `state`, `n`, `commit`, `tree`, `lock`, `task`, `mine`, `placeholder`,
/// gates, conditions, conflicts and render error.
pub(crate) fn revision(world: &Json, own_uid: &str) -> Revision {
    let Downstream { repo, package } = place(&world.or("at", "deploy/shop"));
    let placeholder = world.flag("placeholder");
    let ws = workspace(&world.or("ws", if placeholder { "main" } else { "v1" }));
    let composed = model::compose_name(&repo, &package, &ws);
    let state = world.or("state", "Published");
    let lifecycle = Lifecycle::parse(&state).expect("a lifecycle");
    let number = world
        .text("n")
        .map_or(if placeholder { -1 } else { 0 }, |n| {
            n.parse().expect("a number")
        });
    let word = world.or("commit", &composed);
    let mut meta = meta(world, &format!("uid-{composed}"));
    if world.flag("mine") {
        meta.owners
            .push(owner(&format!("PackageVariant shop {own_uid}")));
    }
    Revision {
        key: key(&composed),
        meta,
        self_lock: Some(GitLock {
            repo: format!("https://git/{repo}.git"),
            directory: package.to_string(),
            git_ref: format!("{package}/{ws}"),
            commit: Some(commit(&word)),
        }),
        repository: repo,
        package,
        workspace: ws,
        revision: RevisionNumber(number),
        lifecycle,
        tasks: world.text("task").iter().map(|t| task(t)).collect(),
        readiness_gates: world
            .texts("gates")
            .into_iter()
            .map(|condition_type| ReadinessGate { condition_type })
            .collect(),
        package_labels: world.map("packageLabels"),
        package_annotations: model::Pairs::new(),
        resolved_conflicts: Vec::new(),
        upstream_lock: world.text("lock").map(|l| lock(&l)),
        conditions: conditions(world),
        deployment: true,
        published_by: String::new(),
        published_at: String::new(),
        conflicts: conflicts(world),
        render_status: world.text("render").map(|error| {
            PackedRenderStatus::from(&RenderStatus {
                steps: Vec::new(),
                error: Some(error).filter(|e| e != "ok"),
            })
        }),
        commit: commit(&word),
        tree: tree(&world.or("tree", &word)),
        machine: None,
        noted_digest: None,
        placeholder,
        content_version: String::new(),
    }
}

pub(crate) fn revisions(world: &Json, key: &str, own_uid: &str) -> Vec<Arc<Revision>> {
    world
        .list(key)
        .iter()
        .map(|r| Arc::new(revision(r, own_uid)))
        .collect()
}

/// `gone`, `no Kptfile`, or the package that it lies within.
pub(crate) fn off_branch(text: &str) -> OffBranch {
    match text {
        "gone" => OffBranch::Gone,
        "no Kptfile" => OffBranch::NoKptfile,
        outer => OffBranch::Within(package(outer)),
    }
}

pub(crate) fn class(text: &str) -> Class {
    match text {
        "Invalid" => Class::Invalid,
        "NotFound" => Class::NotFound,
        "Unavailable" => Class::Unavailable,
        "Denied" => Class::Denied,
        other => panic!("unknown class: {other}"),
    }
}

pub(crate) fn names(texts: &[String]) -> BTreeSet<PackageName> {
    texts.iter().map(|t| package(t)).collect()
}
