//! What people read of a plan of 300 targets, to the letter.

use std::collections::BTreeMap;

use engine::planned::{
    FleetPlan, Leaving, PlannedClass, PlannedSet, PlannedTarget, UpstreamChange, Verdict,
};
use model::{
    Conflict, ConflictId, ConflictState, ConflictValue, Decision, File, Files, Namespace,
    ObjectKey, ObjectName, PackageName, PackagePath, RepositoryName, TreeId,
};
use package::changes::{HashKey, TargetNames, WantedUpstream, changes, inputs_of};

use serde_json::json;

use super::{diff, document, id_of, markdown, outcome, table};

mod pages;

const OLD: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n  paused: false\n  template:\n    spec:\n      containers:\n      - name: web\n        image: example.test/web:1.4\n";
const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: key\nstringData:\n  password: hunter1\n";

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(
        Namespace::parse("default").unwrap(),
        ObjectName::parse(name).unwrap(),
    )
}

fn files(texts: &[(&str, String)]) -> Files {
    let parsed = texts
        .iter()
        .map(|(path, text)| (PackagePath::parse(path).unwrap(), File::text(text)));
    parsed.collect()
}

fn context(region: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  region: {region}\n"
    )
}

/// A package before and after, by what is special about its target.
fn package(region: &str, special: u8) -> (Files, Files) {
    let before = files(&[
        ("deployment.yaml", OLD.to_owned()),
        ("package-context.yaml", context(region)),
        ("secret.yaml", SECRET.to_owned()),
    ]);
    let mut next = OLD
        .replace("web:1.4", "web:1.5")
        .replace("  paused: false\n", "");
    if special == 1 {
        next = next.replace("replicas: 3", "replicas: 5");
    }
    let limits = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: limits\ndata:\n  region: {region}\n"
    );
    let mut after = vec![
        ("deployment.yaml", next),
        ("package-context.yaml", context(region)),
        ("secret.yaml", SECRET.replace("hunter1", "hunter2")),
    ];
    if special != 2 {
        after.push(("limits.yaml", limits));
    }
    (before, files(&after))
}

fn target(plan: &mut FleetPlan, name: &str, verdict: Verdict) -> usize {
    plan.targets.push(PlannedTarget {
        variant: key(name),
        set: Some(key("web")),
        place: Some((
            RepositoryName::parse("edge").unwrap(),
            PackageName::parse("web").unwrap(),
        )),
        step: None,
        verdict,
        inexact: None,
        class: None,
        upstream: None,
        draft: None,
        tree: None,
        inputs: Default::default(),
        absent: Vec::new(),
        conflicts: Vec::new(),
        why: Default::default(),
    });
    plan.targets.len() - 1
}

fn upgrade(plan: &mut FleetPlan, name: &str, region: &str, special: u8) {
    let at = target(plan, name, Verdict::Upgrade);
    let (package, repository) = (
        PackageName::parse("web").unwrap(),
        RepositoryName::parse("blueprints").unwrap(),
    );
    let (before, after) = self::package(region, special);
    let edge = RepositoryName::parse(&format!("edge-{region}")).unwrap();
    let namespace = Namespace::parse("default").unwrap();
    let names = TargetNames {
        package: &package,
        repository: &edge,
        namespace: &namespace,
        variant: Some(&plan.targets[at].variant.name),
    };
    let inputs = inputs_of(names, Some(&before), &after);
    let found = changes(&before, &after, &inputs).keyed(HashKey::new("of the upstream"));
    let id = found.id(&WantedUpstream {
        repository: repository.clone(),
        package: package.clone(),
        tree: TreeId::from_bytes(&[7; 20]).unwrap(),
    });
    let changed = |a: &Files, b: &Files| -> Files {
        a.iter()
            .filter(|(p, f)| b.get(*p) != Some(f))
            .map(|(p, f)| (p.clone(), f.clone()))
            .collect()
    };
    let class = PlannedClass {
        changes: found,
        first: key(name),
        before: changed(&before, &after),
        after: changed(&after, &before),
    };
    plan.classes.entry(id).or_insert(class);
    let target = &mut plan.targets[at];
    target.class = Some(id);
    target.inputs = inputs;
    target.tree = TreeId::from_bytes(&[9; 20]);
    target.draft = Some(ObjectName::parse(&format!("edge.{name}.packagevariant-2")).unwrap());
    target.upstream = Some(UpstreamChange {
        repository,
        package,
        from: Some(("v1".to_owned(), None)),
        to: ("v2".to_owned(), None),
    });
}

fn conflict(plan: &mut FleetPlan) {
    let target = plan.targets.last_mut().unwrap();
    target.verdict = Verdict::Conflict;
    target.conflicts = vec![Conflict {
        id: ConflictId("5c0ffee5".to_owned()),
        file: PackagePath::parse("deployment.yaml").unwrap(),
        resource: "apps/Deployment//web".to_owned(),
        path: "spec.replicas".to_owned(),
        base: ConflictValue::Json("3".into()),
        local: ConflictValue::Json("9".into()),
        upstream: ConflictValue::Json("5".into()),
        decision: Decision::Upstream,
        state: ConflictState::Open,
        derived_from: None,
    }];
}

/// 300 targets: most alike, six with a change more, one alone, two with conflicts, five that leave, five as they are.
fn fleet() -> FleetPlan {
    let mut plan = FleetPlan::default();
    for n in 0..281 {
        let region = if n < 120 { "europe" } else { "america" };
        upgrade(&mut plan, &format!("web-edge-{n:03}"), region, 0);
    }
    for n in 281..287 {
        upgrade(&mut plan, &format!("web-edge-{n:03}"), "europe", 1);
    }
    upgrade(&mut plan, "web-edge-lab", "europe", 2);
    for n in 288..290 {
        upgrade(&mut plan, &format!("web-edge-{n:03}"), "europe", 0);
        conflict(&mut plan);
    }
    for n in 290..295 {
        let name = format!("web-edge-{n:03}");
        target(&mut plan, &name, Verdict::Leave);
        plan.leaving.push(Leaving {
            variant: key(&name),
            why: "its packagevariant goes".to_owned(),
            branch: None,
            revisions: vec![engine::planned::Fate {
                name: ObjectName::parse(&format!("edge.{name}.v1")).unwrap(),
                fate: "deletion proposed",
                tree: TreeId::from_bytes(&[8; 20]),
            }],
        });
    }
    for n in 295..300 {
        target(&mut plan, &format!("web-edge-{n:03}"), Verdict::Unchanged);
    }
    plan.sets.push(PlannedSet {
        key: key("web"),
        held: false,
        deleting: 5,
        of: 300,
        steps: Vec::new(),
        warning: None,
        confirm: None,
        unknown: false,
    });
    plan
}

#[test]
fn a_plan_of_300_targets_reads_as_one_page() {
    let document = document(&fleet(), None);
    let page = table(&document, false);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/src/planning/fleet.txt");
    if std::env::var_os("OFFSHOOT_BLESS").is_some() {
        std::fs::write(golden, &page).unwrap();
    }
    assert_eq!(page, std::fs::read_to_string(golden).unwrap());
    assert_eq!(outcome(&document), (true, false));
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let document = document(&fleet(), None);
    let class = document["classes"][0]["id"].as_str().unwrap();
    let diff = diff(&document, class).unwrap();
    assert!(
        diff.contains("-        image: example.test/web:1.4"),
        "{diff}"
    );
    for text in [
        document.to_string(),
        table(&document, true),
        markdown(&document, true),
        diff,
    ] {
        assert!(!text.contains("hunter"), "{text}");
    }
}

/// A Secret in a list, in another resource, and one whose kind is written in escapes.
#[test]
fn a_secret_shows_nothing_wherever_it_stands() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: a}\n  stringData: {p: hunter1}\n";
    let short = "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: a}\n  stringData: {p: hunter1}\n";
    let work = "apiVersion: work.example.com/v1\nkind: ManifestWork\nmetadata: {name: a}\nspec:\n  manifests:\n  - apiVersion: v1\n    kind: Secret\n    metadata: {name: a}\n    data: {p: hunter1}\n";
    let escaped = "apiVersion: v1\n\"kind\": \"\\u0053ecret\"\nmetadata: {name: a}\nstringData: {p: hunter1}\n";
    let anchor = "apiVersion: v1\nkind: &k Secret\nmetadata: {name: a, labels: {k: *k}}\nstringData: {p: hunter1}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    let applied = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: '{\"stringData\":{\"p\":\"hunter1\"}}'\n";
    let broken = "apiVersion: v1\nkind: Secret\nmetadata: {name: a\nstringData: {p: hunter1}\n";
    let json =
        "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"},\"stringData\":{\"p\":\"hunter1\"}}\n";
    let within = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  secret.yaml: |\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: a}\n    stringData: {p: hunter1}\n";
    let patch = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches:\n- patch: |-\n    kind: Secret\n    metadata: {name: a}\n    stringData: {p: hunter1}\n";
    let made = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nsecretGenerator:\n- name: a\n  literals: [p=hunter1]\n";
    let numbers = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a.json: '{\"k\\u0069nd\":\"Sec\\u0072et\",\"metadata\":{\"name\":\"a\"},\"stringData\":{\"p\":\"hunter1\"}}'\n";
    for (path, text) in [
        ("m.yaml", numbers),
        ("i.yaml", within),
        ("k.yaml", patch),
        ("l.yaml", made),
        ("a.yaml", list),
        ("b.yaml", short),
        ("c.yaml", work),
        ("d.yaml", escaped),
        ("e.yaml", anchor),
        ("f.yaml", applied),
        ("g.yaml", broken),
        ("h.json", json),
    ] {
        for (old, new) in [
            (text.to_owned(), text.replace("hunter1", "hunter2")),
            (String::new(), text.to_owned()),
            (text.to_owned(), String::new()),
            (text.to_owned(), text.replace("hunter1", "hunter2 # new")),
        ] {
            let plan = of_one(path, &old, &new);
            let document = document(&plan, None);
            let class = document["classes"][0]["id"].as_str().unwrap();
            for shown in [
                document.to_string(),
                table(&document, true),
                markdown(&document, true),
                diff(&document, class).unwrap(),
            ] {
                assert!(!shown.contains("hunter"), "{path}: {shown}");
            }
        }
    }
}

/// A sentence about Secrets is none, and is shown.
#[test]
fn what_only_speaks_of_secrets_is_shown() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  note: 'any kind of Secret {of ours}: one'\n  more: |\n    This kind is no Secret.\n    See there.\n";
    let plan = of_one("a.yaml", text, &text.replace("one", "another"));
    let page = table(&document(&plan, None), false);
    assert!(page.contains("another"), "{page}");
}

/// A plan with one target whose package has one file; an empty text is no file.
fn of_one(path: &str, old: &str, new: &str) -> FleetPlan {
    let holds = |text: &str| match text {
        "" => Files::new(),
        text => files(&[(path, text.to_owned())]),
    };
    let (before, after) = (holds(old), holds(new));
    let mut plan = FleetPlan::default();
    let at = target(&mut plan, "one", Verdict::Upgrade);
    let found = changes(&before, &after, &Default::default());
    let id = found.id(&WantedUpstream {
        repository: RepositoryName::parse("blueprints").unwrap(),
        package: PackageName::parse("web").unwrap(),
        tree: TreeId::from_bytes(&[7; 20]).unwrap(),
    });
    plan.targets[at].class = Some(id);
    let first = key("one");
    plan.classes.insert(
        id,
        PlannedClass {
            changes: found,
            first,
            before,
            after,
        },
    );
    plan
}

/// What is not exact says so, and why: on every page.
#[test]
fn why_a_target_is_not_exact_is_on_every_page() {
    let mut plan = fleet();
    let why = "you may not read ConfigMap default/endpoint";
    for target in plan.targets.iter_mut().take(3) {
        target.inexact = Some(why.to_owned());
    }
    let document = document(&plan, None);
    let pages = [
        (table(&document, false), why.to_owned()),
        (markdown(&document, false), format!("`{why}`")),
    ];
    for (page, why) in pages {
        assert!(page.contains(&format!("3 not exact: {why}")), "{page}");
    }
}

#[test]
fn the_order_of_targets_and_strangers_change_no_id() {
    let plan = fleet();
    let mut other = plan.clone();
    other.targets.reverse();
    upgrade(&mut other, "zzz-stranger", "nowhere", 1);
    let ids = |plan: &FleetPlan| -> BTreeMap<String, String> {
        let all = plan.targets.iter();
        all.filter_map(|t| Some((t.variant.to_string(), t.class?.to_string())))
            .collect()
    };
    let mut more = ids(&other);
    more.remove("default/zzz-stranger");
    assert_eq!(more, ids(&plan));
    let lone = ids(&plan)["default/web-edge-lab"].clone();
    assert_eq!(
        ids(&plan).values().filter(|id| **id == lone).count(),
        1,
        "a lone outlier is a class of its own"
    );
}

#[test]
fn a_comment_is_never_too_long_and_names_every_class() {
    let page = markdown(&document(&fleet(), None), false);
    let mut plan = FleetPlan::default();
    for n in 0..300 {
        upgrade(
            &mut plan,
            &format!("web-edge-{n:03}"),
            &format!("region-{n:03}"),
            1,
        );
        // Each is changed in its own way.
        let class = plan.targets.last().unwrap().class.unwrap();
        let mut own = plan.classes[&class].clone();
        own.first = key(&format!("web-edge-{n:03}"));
        let (before, mut after) = package(&format!("region-{n:03}"), 1);
        after.insert(
            PackagePath::parse("own.yaml").unwrap(),
            File::text(format!("a: {n}\n")),
        );
        own.changes = changes(&before, &after, &Default::default());
        let id = own.changes.id(&WantedUpstream {
            repository: RepositoryName::parse("blueprints").unwrap(),
            package: PackageName::parse("web").unwrap(),
            tree: TreeId::from_bytes(&[7; 20]).unwrap(),
        });
        plan.targets.last_mut().unwrap().class = Some(id);
        plan.classes.insert(id, own);
    }
    let document = document(&plan, None);
    let long = markdown(&document, true);
    assert!(
        page.len() <= 65_536 && long.len() <= 65_536,
        "{}",
        long.len()
    );
    for class in document["classes"].as_array().unwrap() {
        let id = class["id"].as_str().unwrap();
        assert!(long.contains(&id[..8]), "{id}");
    }
}

#[test]
fn the_id_of_a_plan_is_of_what_it_says_whatever_the_order_of_keys() {
    let document = document(&fleet(), None);
    assert_eq!(document["plan"], id_of(&document));
    let text = document.to_string();
    let sorted: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(
        id_of(&serde_json::to_value(sorted).unwrap()),
        id_of(&document)
    );
    let mut other = document.clone();
    other["targets"][0]["verdict"] = "edit".into();
    assert_ne!(id_of(&other), id_of(&document));
}

/// Whoever approves a class approves each of its values: none of them is behind a number.
#[test]
fn an_approval_lists_every_value_and_a_page_says_how_many_it_leaves_out() {
    let values = (0..9).map(|n| json!({"value": format!("site-{n}"), "count": 1}));
    let class = json!({"id": "5f02c1d9", "inputs": [{"input": "context.site", "values": values.collect::<Vec<_>>()}]});
    let all = super::class_inputs(&class);
    assert!(
        (0..9).all(|n| all.contains(&format!("site-{n} 1"))),
        "{all}"
    );
    assert!(super::class_page(&class, &[]).contains("site-8 1"));
    let mut some = String::new();
    super::classes::values(&class, super::classes::values_listed(false), &mut some);
    assert!(
        some.contains("site-5 1, and 3 more values: --all lists them"),
        "{some}"
    );
}

#[test]
fn no_file_hides_a_change_from_whoever_reads_a_plan() {
    let document = serde_json::json!({"classes": [{
        "id": "5f02", "count": 1, "first": "default/web",
        "before": {"web.yaml": "image: a\n"},
        "contents": {"web.yaml": "image: b\u{1b}[1A\u{202e}\n"},
        "changes": [{
            "kind": "changed", "file": "web.yaml", "path": "image",
            "before": {"parts": [{"literal": "a"}]},
            "after": {"parts": [{"literal": "b\u{1b}[1A\u{202e}"}]},
        }],
    }]});
    for page in [
        table(&document, true),
        markdown(&document, true),
        diff(&document, "5f02").unwrap(),
    ] {
        assert!(page.contains("b<U+001B>[1A<U+202E>"), "{page:?}");
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page:?}");
    }
}
