//! What the walk is made of: the upstream package, variants, the set, repositories, and what a
//! complete derivation of them looks like.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::ports::Gvk;
use engine::usecase::Input;
use model::{
    AdoptionPolicy, ConflictPolicy, DeletionGuard, DeletionPolicy, Downstream, File, Files,
    Function, GitSpec, HaltWhen, Injector, InjectorTemplate, LabelSelector, Lifecycle, ObjectMeta,
    ObjectSelector, OnError, OpenWhen, PackageContext, PackageContextTemplate, PackageName,
    PackagePath, Pairs, Pipeline, ProposedPolicy, Repository, RepositoryName, Revision, Rollout,
    RolloutStep, StepMembers, Strategy, Target, TargetSelection, Task, Template, Upstream,
    UpstreamVersion, Variant, VariantSet, VariantSetSpec, VariantSpec, WorkspaceName,
};
use store::{Signature, Time};

use crate::twin::key;

/// The first namespace.
pub(super) const NS: &str = "default";
/// The one that registers the same repositories later, in worlds that have it.
pub(super) const TENANT: &str = "tenant";
/// Where packages come from.
pub(super) const BLUEPRINTS: &str = "file:///git/blueprints.git";
/// Where they go: a repository written in place, and one that is pushed to.
pub(super) const TARGETS: [(&str, &str); 2] = [
    ("deploy", "file:///git/deploy.git"),
    ("edge", "https://git.example/edge.git"),
];
/// The second registration, and the variant that goes through it.
pub(super) const AGAIN: &str = "again";

/// The registration of a copy of the first of them, and where it lies.
pub(super) const COPY: &str = "copy";
pub(super) const COPY_AT: &str = "file:///git/copy.git";

/// Whether a record is of the second registration, or of a copy: it stands for a revision that another one stands for.
pub(super) fn is_again(record: &Revision) -> bool {
    matches!(record.repository.as_str(), AGAIN | COPY)
}

/// Values that a person gives to a variant.
pub(super) const REGIONS: [&str; 3] = ["eu", "us", "ap"];

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\ninfo:\n  description: an app # kept\n";
const CONTEXT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: example\n";
const DEPLOYMENT: &str = "# The app itself.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\n  annotations:\n    team: core\nspec:\n  replicas: 1 # few\n  template:\n    spec:\n      containers:\n        - name: app\n          image: example.test/app:v1 # released\n";
const POINT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: endpoint\n  annotations:\n    kpt.dev/config-injection: required\ndata:\n  host: nowhere\n";

/// The host of a package that nothing was injected into.
pub(super) const NOWHERE: &str = "nowhere";
const INJECTED: &str =
    "    kpt.dev/injected-resource-name: endpoint\n    kpt.dev/injected-resource: endpoint\n";

/// The file that people edit.
pub(super) const EDITED: &str = "deployment.yaml";
const TEAM: &str = "    team: core\n";
/// How the key of a person's annotation begins.
const MARK: &str = "    edit-";

/// The upstream package in a version.
pub(super) fn upstream(version: u64) -> Files {
    let deployment = DEPLOYMENT.replace("app:v1", &format!("app:v{version}"));
    [
        ("Kptfile", KPTFILE.to_owned()),
        ("package-context.yaml", CONTEXT.to_owned()),
        (EDITED, deployment),
        ("endpoint.yaml", POINT.to_owned()),
    ]
    .into_iter()
    .map(|(path, text)| (self::path(path), File::text(text)))
    .collect()
}

/// The deployment with a person's annotation in it, once.
pub(super) fn mark(text: &str, marker: &str) -> String {
    text.replacen(TEAM, &format!("{TEAM}    {marker}: \"yes\"\n"), 1)
}

/// Whether a text carries a person's annotation.
pub(super) fn is_marked(text: &str, marker: &str) -> bool {
    text.contains(&format!("    {marker}: \"yes\"\n"))
}

/// A complete derivation as far as it does not depend on inputs, and the inputs that it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Derived {
    /// The texts with their inputs taken out.
    shape: Pairs,
    /// Upstream's version, by the image and by the Kptfile's lock.
    pub(super) version: (String, String),
    /// The context's region.
    pub(super) region: String,
    /// The injected host.
    pub(super) host: String,
}

impl Derived {
    /// Reads the files of a draft; what people wrote into it is taken out first.
    pub(super) fn of(files: &Files, package: &str) -> Self {
        let text = |name: &str| -> String {
            let file = files.get(&path(name)).and_then(File::as_text);
            file.unwrap_or_default().to_owned()
        };
        let (context, region) = take(&text("package-context.yaml"), "region: ");
        let (endpoint, host) = take(&text("endpoint.yaml"), "host: ");
        let (deployment, image) = take(&text(EDITED), "image: example.test/app:");
        let unmarked = |line: &&str| !line.starts_with(MARK);
        let deployment: Vec<&str> = deployment.lines().filter(unmarked).collect();
        let (_, lock) = take(&text("Kptfile"), "ref: app/");
        // What nobody may read is not injected, and the gate of the point holds the draft.
        let injected = match host.as_str() {
            NOWHERE => "    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|endpoint'\n",
            _ => "",
        };
        let endpoint = match injected {
            "" => endpoint,
            line => endpoint.replace(line, &format!("{line}{INJECTED}")),
        };
        let image = image.split(' ').next().unwrap_or_default().to_owned();
        let named = |key: &str| {
            (
                format!("  {key}: {package}\n"),
                format!("  {key}: PACKAGE\n"),
            )
        };
        let (name, place) = (named("name"), named("package-path"));
        let context = context
            .replace(&name.0, &name.1)
            .replace(&place.0, &place.1);
        let shape = Pairs::from_iter([
            ("package-context.yaml".to_owned(), context),
            ("endpoint.yaml".to_owned(), endpoint),
            (EDITED.to_owned(), deployment.join("\n")),
        ]);
        Self {
            shape,
            version: (image, lock),
            region,
            host,
        }
    }

    /// What is wrong with it beside a complete one; `None`: nothing.
    pub(super) fn half_made(&self, complete: &Self) -> Option<String> {
        if self.version.0 != self.version.1 {
            return Some(format!("image and lock disagree: {:?}", self.version));
        }
        let differs = |(file, text): &(&String, &String)| complete.shape.get(*file) != Some(*text);
        let first = self.shape.iter().find(differs)?;
        let whole = complete.shape.get(first.0);
        Some(format!("{}:\n{}\ninstead of\n{whole:?}", first.0, first.1))
    }
}

/// A text without the value after a key, and that value.
fn take(text: &str, key: &str) -> (String, String) {
    let Some((before, rest)) = text.split_once(key) else {
        return (text.to_owned(), String::new());
    };
    let (value, after) = rest.split_once('\n').unwrap_or((rest, ""));
    (format!("{before}{key}\n{after}"), value.to_owned())
}

/// A path of a package.
pub(super) fn path(text: &str) -> PackagePath {
    PackagePath::parse(text).expect("a path")
}

/// The kind of injected objects.
pub(super) fn config_map() -> Gvk {
    Gvk::of("v1", "ConfigMap")
}

/// The kind of selected objects.
pub(super) fn site() -> Gvk {
    Gvk::of("example.test/v1", "Site")
}

/// Who pushes by hand.
pub(super) fn person() -> Signature {
    Signature {
        name: "Person".to_owned(),
        email: "person@example.test".to_owned(),
        time: Time::utc(1_767_225_600),
    }
}

/// A registration.
pub(super) fn repository(name: &str, url: &str, zone: &str) -> Repository {
    let mut meta = ObjectMeta::default();
    meta.labels.insert("zone".to_owned(), zone.to_owned());
    meta.labels.insert("place".to_owned(), name.to_owned());
    Repository {
        key: key(NS, name),
        name: RepositoryName::parse(name).expect("a name"),
        meta,
        description: String::new(),
        deployment: name != "blueprints",
        ignore_author_gates: false,
        git: GitSpec {
            repo: url.to_owned(),
            branch: "main".to_owned(),
            create_branch: false,
            create: false,
            directory: String::new(),
            secret: None,
            author: None,
            email: None,
        },
        sync_schedule: String::new(),
        run_once_at: String::new(),
    }
}

/// A registration of the second namespace, made later.
pub(super) fn theirs(name: &str, url: &str, shared: bool) -> Repository {
    let mut theirs = repository(name, url, "theirs");
    theirs.key = key(TENANT, name);
    theirs.meta.created = "2026-02-02T02:02:02Z".to_owned();
    share(&mut theirs, shared);
    theirs
}

/// Lets other namespaces write to the same place.
pub(super) fn share(repository: &mut Repository, shared: bool) {
    if shared {
        let annotations = &mut repository.meta.annotations;
        annotations.insert(plan::repository::SHARED.to_owned(), "true".to_owned());
    }
}

/// The same variant in the second namespace.
pub(super) fn moved(mut variant: Variant) -> Variant {
    variant.key = key(TENANT, variant.key.name.as_str());
    variant
}

fn latest() -> Upstream {
    Upstream {
        repo: RepositoryName::parse("blueprints").expect("a name"),
        package: PackageName::parse("app").expect("a name"),
        version: UpstreamVersion::Latest,
        allow_unpublished: false,
        commit: None,
    }
}

fn labels() -> Function {
    Function {
        image: Some("gcr.io/kpt-fn/set-labels:v0.1".to_owned()),
        name: "labels".to_owned(),
        config_map: vec![("tier".to_owned(), "web".to_owned())],
        ..Function::default()
    }
}

/// A variant that follows the latest upstream.
pub(crate) fn variant(name: &str, repo: &str, region: &str) -> Variant {
    Variant {
        key: key(NS, name),
        meta: Arc::default(),
        spec: VariantSpec {
            upstream: latest(),
            downstream: Downstream {
                repo: RepositoryName::parse(repo).expect("a name"),
                package: PackageName::parse(name).expect("a name"),
            },
            adoption: AdoptionPolicy::None,
            deletion: DeletionPolicy::Delete,
            deletion_explicit: false,
            labels: Pairs::new(),
            annotations: Pairs::new(),
            context: PackageContext {
                data: Pairs::from_iter([("region".to_owned(), region.to_owned())]),
                remove_keys: BTreeSet::new(),
                create: false,
            },
            pipeline: Pipeline {
                mutators: vec![labels()],
                validators: Vec::new(),
            },
            injectors: vec![Injector {
                group: None,
                version: None,
                kind: None,
                name: "endpoint".to_owned(),
            }],
            conflict_policy: ConflictPolicy::Block,
            proposed: ProposedPolicy::Wait,
            strategy: Strategy::ResourceMerge,
            suspend: false,
        },
    }
}

fn zone(value: &str) -> LabelSelector {
    LabelSelector {
        match_labels: Pairs::from_iter([("zone".to_owned(), value.to_owned())]),
        requirements: Vec::new(),
    }
}

/// The set: a variant in every cold repository, and one for every site that is live.
pub(super) fn set(region: &str) -> VariantSet {
    let template = Template {
        context: Some(PackageContextTemplate {
            data: Pairs::from_iter([("region".to_owned(), region.to_owned())]),
            ..PackageContextTemplate::default()
        }),
        mutators: vec![model::FunctionTemplate {
            function: labels(),
            config_map_exprs: Vec::new(),
        }],
        injectors: vec![InjectorTemplate {
            name: Some("endpoint".to_owned()),
            ..InjectorTemplate::default()
        }],
        ..Template::default()
    };
    let repositories = Target {
        selection: TargetSelection::RepositorySelector {
            selector: zone("cold"),
            packages: vec![PackageName::parse("fan").expect("a name")],
        },
        template: Some(template.clone()),
    };
    let sites = Target {
        selection: TargetSelection::ObjectSelector {
            selector: ObjectSelector {
                api_version: "example.test/v1".to_owned(),
                kind: "Site".to_owned(),
                name: None,
                labels: zone("cold"),
            },
            packages: Vec::new(),
        },
        template: Some(Template {
            repo: Some("deploy".to_owned()),
            package_expr: Some(format!("'{}' + target.name", package_of(false))),
            ..template
        }),
    };
    VariantSet {
        key: key(NS, "fan"),
        meta: ObjectMeta::default(),
        spec: VariantSetSpec {
            upstreams: vec![model::UpstreamSource::Package(latest())],
            targets: vec![repositories, sites],
            on_error: OnError::Continue,
            deletion_guard: DeletionGuard {
                enabled: false,
                percent: 20,
            },
            max_in_flight: None,
            rollout: None,
            suspend: false,
        },
    }
}

/// What the packages of sites are called before the site's own name; once they moved, otherwise.
pub(super) fn package_of(moved: bool) -> &'static str {
    if moved { "lot-" } else { "site-" }
}

/// The steps of [`rolling_set`].
pub(super) const STEPS: [&str; 3] = ["canary", "half", "rest"];

/// The same set in three steps: what lies in the remote repository, half of all, and the rest. Its first two sites lie in the
/// remote repository. What left and comes back is taken over.
pub(super) fn rolling_set(region: &str, moved: bool) -> VariantSet {
    let mut set = set(region);
    for target in &mut set.spec.targets {
        let template = target.template.get_or_insert_default();
        template.adoption = Some(AdoptionPolicy::Existing);
        if template.repo.take().is_some() {
            template.repo_expr = Some("target.name < 's2' ? 'edge' : 'deploy'".to_owned());
            template.package_expr = Some(format!("'{}' + target.name", package_of(moved)));
        }
    }
    let [canary, half, rest] = STEPS.map(str::to_owned);
    let edge = LabelSelector {
        match_labels: Pairs::from_iter([("place".to_owned(), "edge".to_owned())]),
        requirements: Vec::new(),
    };
    let step = |name, members| RolloutStep { name, members };
    set.spec.rollout = Some(Rollout {
        steps: vec![
            step(canary, StepMembers::Selector(edge)),
            step(half, StepMembers::Percent(50)),
            step(rest, StepMembers::Rest),
        ],
        open: OpenWhen {
            published: 100,
            soak: 2,
        },
        halt: HaltWhen::default(),
    });
    set
}

/// Another set, without steps, over what the first one has in each repository; it leaves in place what it made.
pub(super) fn rival_set() -> VariantSet {
    let mut set = set("us");
    set.key = key(NS, "rival");
    set.spec.targets.truncate(1);
    for target in &mut set.spec.targets {
        let template = target.template.get_or_insert_default();
        template.deletion = Some(DeletionPolicy::Orphan);
    }
    set
}

/// A person's own copy of a published revision.
pub(super) fn copy(repo: &str, package: &str, workspace: &str, of: &str) -> Input {
    Input {
        meta: ObjectMeta::default(),
        repository: RepositoryName::parse(repo).expect("a name"),
        package: PackageName::parse(package).expect("a name"),
        workspace: WorkspaceName::parse(workspace).expect("a name"),
        lifecycle: Lifecycle::Draft,
        revision: 0,
        tasks: vec![Task::Edit {
            source: key(NS, of).name,
        }],
        readiness_gates: Vec::new(),
        package_metadata: None,
        resolved_conflicts: None,
        conditions: None,
    }
}
