//! Deriving: the machine's output, people's edits, and how the two meet.

mod beside;
mod carried;
mod conflicts;
mod drafts;
mod lines;
mod shared;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CommitId, Conflict, ConflictPolicy, ConflictState, ConflictValue, Files, Function, GitLock,
    GitUpstream, Injection, InjectionOutcome, ObjectName, PackageName, PackagePath, Pairs,
    Pipeline, Recipe, Strategy,
};
use package::derive::{Base, DeriveInput, Derived, MachineFiles, OpenDraft};
use package::kptfile::Kptfile;
use package::merge::Occupied;

use crate::{POINT, kept, text, vectors};

use shared::{places, try_derive};

const KPTFILE: &str = "\
# an application
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
info:
  description: one application
pipeline:
  mutators:
  - image: set-labels:v0.2 # theirs
    configMap:
      team: blue
";

const CONTEXT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: \"true\"
data:
  name: example
";

const DEPLOYMENT: &str = "\
# licence

apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # the name
  namespace: app
spec:
  replicas: 1 # one is enough
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: web
        image: web:v1 # released
        args: [a]
";

/// The upstream package at its first version, or with one text replaced.
fn upstream(replace: &[(&str, &str)]) -> Files {
    let mut deployment = DEPLOYMENT.to_owned();
    for (from, to) in replace {
        deployment = deployment.replace(from, to);
    }
    kept(&[
        ("Kptfile", KPTFILE),
        ("README.md", "read me"),
        ("deployment.yaml", &deployment),
        ("package-context.yaml", CONTEXT),
        ("point.yaml", POINT),
    ])
}

fn recipe() -> Recipe {
    let set_namespace = Function {
        image: Some("set-namespace:v0.4".to_owned()),
        name: "ns".to_owned(),
        config_map: vec![("namespace".to_owned(), "shop".to_owned())],
        ..Function::default()
    };
    Recipe {
        package: PackageName::parse("shop").unwrap(),
        variant: ObjectName::parse("shop-app").unwrap(),
        deployment: true,
        context: Pairs::from_iter([("region".to_owned(), "eu".to_owned())]),
        remove_keys: BTreeSet::new(),
        create_context: false,
        pipeline: Pipeline {
            mutators: vec![set_namespace],
            validators: Vec::new(),
        },
        injections: vec![injection("eu-1")],
        kept: Vec::new(),
        strategy: Strategy::ResourceMerge,
        conflict_policy: ConflictPolicy::Block,
        push_on_render_failure: false,
    }
}

fn injection(region: &str) -> Injection {
    let content = serde_json::json!({ "region": region }).to_string();
    Injection {
        group: None,
        version: None,
        kind: None,
        name: "eu".to_owned(),
        found: BTreeMap::from([(
            "/v1/ConfigMap".to_owned(),
            InjectionOutcome::Content(content.as_str().into()),
        )]),
    }
}

fn input(upstream: Files, version: u8, recipe: Recipe) -> DeriveInput {
    let commit = CommitId::from_bytes(&[version; 20]);
    let git_ref = format!("app/v{version}");
    let (repo, directory) = (
        "https://git.example.test/blueprints.git".to_owned(),
        "app".to_owned(),
    );
    DeriveInput {
        package_bytes: None,
        upstream_occupied: Occupied::default(),
        marked: None,
        upstream,
        git_upstream: GitUpstream {
            repo: repo.clone(),
            directory: directory.clone(),
            git_ref: git_ref.clone(),
        },
        lock: GitLock {
            repo,
            directory,
            git_ref,
            commit,
        },
        recipe,
        base: None,
        draft: None,
    }
}

/// A draft in which somebody works.
fn worked_on(mut draft: Derived, tip: Files) -> Derived {
    draft.tip = tip;
    draft
}

#[track_caller]
fn derive(input: DeriveInput) -> Derived {
    match try_derive(input) {
        Ok(derived) => derived,
        Err(error) => panic!("{}", error.message()),
    }
}

fn first() -> Derived {
    derive(input(upstream(&[]), 1, recipe()))
}

fn known(files: Files) -> MachineFiles {
    let gates = Kptfile::of_files(&files)
        .unwrap()
        .fields()
        .info
        .readiness_gates
        .clone();
    let gates = gates.into_iter().map(|gate| gate.condition_type).collect();
    MachineFiles::Known { files, gates }
}

fn base(published: Files, v: Files) -> Option<Base> {
    Some(Base {
        occupied: Occupied::default(),
        published,
        machine: known(v),
    })
}

/// A person's edit of one file.
#[track_caller]
fn edited(files: &Files, path: &str, from: &str, to: &str) -> Files {
    let old = text(files, path);
    assert!(old.contains(from), "{path} has no {from:?}:\n{old}");
    let mut files = files.clone();
    let file = files[path].with_bytes(old.replacen(from, to, 1).into_bytes());
    files.insert(PackagePath::parse(path).unwrap(), file);
    files
}

#[test]
fn v17_a_first_draft_is_the_machines_output_alone() {
    let derived = first();
    assert!(derived.v_equals_m && derived.tip_equals_m && !derived.m_equals_p);
    assert!(derived.conflicts.is_empty() && derived.render.succeeded());
    let deployment = text(&derived.tip, "deployment.yaml");
    for comment in ["# licence", "# the name", "# one is enough", "# released"] {
        assert!(
            deployment.contains(comment),
            "{comment} is lost:\n{deployment}"
        );
    }
    assert!(deployment.contains("namespace: shop") && deployment.contains("team: blue"));
    assert!(text(&derived.tip, "point.yaml").contains("region: eu-1"));
    assert!(text(&derived.tip, "package-context.yaml").contains("region: eu"));
    let kptfile = Kptfile::of_files(&derived.tip).unwrap();
    let fields = kptfile.fields();
    assert_eq!(fields.name, "shop");
    assert_eq!(
        fields.pipeline.mutators[0].name,
        "PackageVariant.shop-app.ns.0"
    );
    let conditions: Vec<&str> = fields.conditions.iter().map(|c| c.kind.as_str()).collect();
    assert_eq!(conditions, ["config.injection.ConfigMap.site", "Rendered"]);
    assert_eq!(derived.gates_added, ["config.injection.ConfigMap.site"]);
    assert_eq!(
        derived.tip["README.md"].id(),
        upstream(&[])["README.md"].id(),
        "untouched files are kept"
    );
}

#[test]
fn equal_input_gives_equal_bytes() {
    assert_eq!(first(), first());
}

#[test]
fn v17_an_upgrade_nobody_interfered_with_is_the_machines_output() {
    let old = first();
    let mut input = input(upstream(&[("web:v1", "web:v2")]), 2, recipe());
    input.base = base(old.tip, old.v);
    let derived = derive(input);
    assert!(derived.v_equals_m && derived.conflicts.is_empty() && !derived.m_equals_p);
    assert!(text(&derived.tip, "deployment.yaml").contains("image: web:v2 # released"));
}

/// R39, R188.
#[test]
fn v17_a_persons_edit_survives_an_upgrade_and_a_change_of_the_spec() {
    let old = first();
    let published = edited(
        &old.tip,
        "deployment.yaml",
        "replicas: 1 # one is enough",
        "replicas: 3 # busy",
    );
    let mut wanted = recipe();
    wanted.pipeline.mutators[0].config_map[0].1 = "store".to_owned();
    let mut input = input(upstream(&[("web:v1", "web:v2")]), 2, wanted);
    input.base = base(published, old.v);
    let derived = derive(input);
    assert_eq!(places(&derived.conflicts), []);
    let deployment = text(&derived.tip, "deployment.yaml");
    for wanted in [
        "replicas: 3 # busy",
        "image: web:v2 # released",
        "namespace: store",
        "team: blue",
    ] {
        assert!(deployment.contains(wanted), "{wanted}:\n{deployment}");
    }
    assert!(!derived.v_equals_m && derived.tip_equals_m);
}

#[test]
fn v17_what_functions_wrote_is_never_local_and_never_conflicts() {
    // The namespace of everything changes with the spec; nobody touched it, so nobody is asked.
    let old = first();
    let mut wanted = recipe();
    wanted.pipeline.mutators[0].config_map[0].1 = "store".to_owned();
    let mut input = input(
        upstream(&[("namespace: app", "namespace: other")]),
        2,
        wanted,
    );
    input.base = base(old.tip.clone(), old.v);
    let derived = derive(input);
    assert!(derived.conflicts.is_empty() && derived.v_equals_m);
}

/// A push is not rendered: what a person published at a field of a function is replaced by the next render.
#[test]
fn v17_a_persons_value_that_the_render_replaces_is_recorded_without_a_gate() {
    let old = first();
    let published = edited(&old.tip, "deployment.yaml", "team: blue", "team: red");
    let mut input = input(upstream(&[("web:v1", "web:v2")]), 2, recipe());
    input.base = base(published, old.v);
    let derived = derive(input);
    let deployment = text(&derived.tip, "deployment.yaml");
    assert!(deployment.contains("team: blue"), "{deployment}");
    let recorded = |path: &str| (format!("deployment.yaml {path}"), ConflictState::Recorded);
    let place = recorded("metadata.labels.team");
    assert!(
        places(&derived.conflicts).contains(&place),
        "{:?}",
        derived.conflicts
    );
    let found = derived
        .conflicts
        .iter()
        .find(|c| c.path == "metadata.labels.team");
    let sides = found.map(|c| [&c.base, &c.local, &c.upstream]);
    let json = |text: &str| ConflictValue::Json(format!("{text:?}"));
    let (blue, red) = (json("blue"), json("red"));
    assert_eq!(sides, Some([&blue, &red, &blue]));
    assert!(derived.conflicts.iter().all(|c| !c.blocks()));
}

#[test]
fn v17a_nothing_new_means_no_draft() {
    let old = first();
    let mut same = input(upstream(&[]), 1, recipe());
    same.base = base(old.tip.clone(), old.v.clone());
    assert!(derive(same.clone()).m_equals_p);
    let published = edited(&old.tip, "deployment.yaml", "replicas: 1", "replicas: 3");
    same.base = base(published, old.v);
    let derived = derive(same);
    assert!(
        derived.m_equals_p,
        "a person's edit alone is no reason for a draft"
    );
}

/// R27, R188.
#[test]
fn v18_new_input_for_an_open_draft_keeps_what_people_did_in_it() {
    let old = first();
    let published = edited(&old.tip, "deployment.yaml", "args: [a]", "args: [b]");
    let mut second = input(upstream(&[("web:v1", "web:v2")]), 2, recipe());
    second.base = base(published.clone(), old.v.clone());
    let draft = derive(second);
    let tip = edited(&draft.tip, "deployment.yaml", "replicas: 1", "replicas: 5");
    let mut third = input(upstream(&[("web:v1", "web:v3")]), 3, recipe());
    third.base = base(published, old.v);
    third.draft = Some(OpenDraft {
        occupied: Occupied::default(),
        machine: known(draft.m.clone()),
        tip,
        conflicts: draft.conflicts,
        acknowledged: Vec::new(),
    });
    let derived = derive(third);
    let deployment = text(&derived.tip, "deployment.yaml");
    for wanted in ["args: [b]", "replicas: 5", "web:v3"] {
        assert!(deployment.contains(wanted), "{wanted}:\n{deployment}");
    }
    assert!(
        !text(&derived.m, "deployment.yaml").contains("replicas: 5"),
        "humans and machine are apart"
    );
    assert_eq!(places(&derived.conflicts), []);
    assert!(!derived.tip_equals_m);
}

/// R95.
#[test]
fn v22_injected_content_stays_when_nothing_matches_any_more() {
    let old = first();
    let mut wanted = recipe();
    wanted.injections = Vec::new();
    let mut input = input(upstream(&[("web:v1", "web:v2")]), 2, wanted);
    input.base = base(old.tip, old.v);
    let derived = derive(input);
    assert!(text(&derived.tip, "point.yaml").contains("region: eu-1"));
    assert_eq!(derived.injected[0].condition.reason, "InjectionStale");
    assert!(derived.conflicts.is_empty());
}

/// R86.
#[test]
fn v8_a_gate_of_ours_goes_with_its_point_and_the_authors_gates_stay() {
    let old = first();
    let mut files = upstream(&[]);
    files.remove("point.yaml");
    let mut input = input(files, 2, recipe());
    let published = edited(
        &old.tip,
        "Kptfile",
        "  readinessGates:\n",
        "  readinessGates:\n  - conditionType: mine\n",
    );
    input.base = base(published, old.v);
    let derived = derive(input);
    let kptfile = Kptfile::of_files(&derived.tip).unwrap();
    let gates: Vec<&str> = kptfile
        .fields()
        .info
        .readiness_gates
        .iter()
        .map(|g| g.condition_type.as_str())
        .collect();
    assert_eq!(gates, ["mine"]);
    assert!(!derived.tip.contains_key("point.yaml"));
}

/// R89.
#[test]
fn v2_a_failed_render_makes_nothing_unless_the_recipe_insists() {
    let mut wanted = recipe();
    wanted.pipeline.mutators[0].config_map.clear();
    let error = try_derive(input(upstream(&[]), 1, wanted.clone())).unwrap_err();
    assert_eq!(error.reason(), "RenderFailed");
    assert!(
        !error.message().contains('\n'),
        "tables and events show one line"
    );
    assert!(
        error.message().contains("PackageVariant.shop-app.ns.0"),
        "{}",
        error.message()
    );
    wanted.push_on_render_failure = true;
    let derived = derive(input(upstream(&[]), 1, wanted));
    assert!(!derived.render.succeeded());
    assert!(text(&derived.tip, "Kptfile").contains("RenderFailed"));
    let gates = |files: &Files| {
        Kptfile::of_files(files)
            .unwrap()
            .fields()
            .info
            .readiness_gates
            .len()
    };
    assert_eq!(
        gates(&derived.tip),
        2,
        "the point's gate, and that of the failure"
    );
    let mended = edited(
        &derived.tip,
        "Kptfile",
        "name: PackageVariant.shop-app.ns.0",
        "configMap: {namespace: shop}",
    );
    let rendered = vectors::render(mended, package::render::Options::default());
    assert!(rendered.status.succeeded());
    assert_eq!(gates(&rendered.files), 1);
}

/// R67.
#[test]
fn v13_a_context_key_without_a_context_is_told_by_its_reason() {
    let mut files = upstream(&[]);
    files.remove("package-context.yaml");
    let mut wanted = recipe();
    wanted.deployment = false;
    let error = try_derive(input(files, 1, wanted)).unwrap_err();
    assert_eq!(error.reason(), "PackageContextMissing");
}

#[test]
fn v17a_a_pipeline_that_never_comes_to_rest_does_not_touch_what_people_changed() {
    // Its output is its own next input: `a` grows with every run.
    let grow = KPTFILE.replace(
        "set-labels:v0.2 # theirs\n    configMap:\n      team: blue\n",
        "search-replace:v1\n    configMap:\n      by-path: data.a\n      by-value-regex: (.*)\n      put-value: ${1}x\n",
    );
    let files = |value: &str| {
        let cm = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: {value}\n  b: b\n"
        );
        kept(&[
            ("Kptfile", &grow),
            ("cm.yaml", &cm),
            ("package-context.yaml", CONTEXT),
        ])
    };
    let mut wanted = recipe();
    wanted.pipeline = Pipeline::default();
    let old = derive(input(files("v"), 1, wanted.clone()));
    assert!(text(&old.tip, "cm.yaml").contains("a: vx\n"));
    let published = edited(&old.tip, "cm.yaml", "b: b", "b: mine");
    let mut next = input(files("w"), 2, wanted);
    next.base = base(published, old.v);
    let derived = derive(next);
    assert_eq!(derived.conditions[0].kind, "RenderNotIdempotent");
    assert!(derived.conditions[0].message.contains("search-replace:v1"));
    let cm = text(&derived.tip, "cm.yaml");
    assert!(cm.contains("a: wx\n") && cm.contains("b: mine"), "{cm}");
    assert!(text(&derived.tip, "Kptfile").contains("RenderSuccess"));
}
