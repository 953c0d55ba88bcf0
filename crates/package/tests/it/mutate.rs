//! Mutations: package context, pipeline, injection.

use std::collections::{BTreeMap, BTreeSet};

use model::{Files, Function, Injection, InjectionOutcome, ObjectName, Pairs, Pipeline, Status};
use package::mutate::{self, MutateError, Mutation, Previous};
use proptest::prelude::*;

use crate::{changed, kept, text};

const CONTEXT: &str = "\
# context
apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
data:
  name: app
  # the region
  region: \"us\" # for now
  gone: x
";

const KPTFILE: &str = "\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app # its name
info:
  # who wrote it
  description: d
  readinessGates:
  - conditionType: zzz # mine
pipeline:
  mutators:
  # theirs
  - image: set-labels:v1
    configMap: {team: a}
status:
  conditions:
  - type: other
    status: \"True\"
";

const POINT: &str = "\
# before
apiVersion: v1
kind: ConfigMap
metadata:
  name: site # its name
  annotations:
    kpt.dev/config-injection: required
data:
  # kept
  a: \"1\" # one
  b: \"2\"
";

fn package() -> Files {
    kept(&[
        ("Kptfile", KPTFILE),
        ("README.md", "x"),
        ("package-context.yaml", CONTEXT),
        ("sub/point.yaml", POINT),
    ])
}

fn strings<const N: usize>(pairs: [(&str, &str); N]) -> Pairs {
    pairs
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect()
}

fn context<const N: usize>(set: [(&str, &str); N], remove: &[&str]) -> Mutation {
    let remove = remove.iter().map(|key| (*key).to_owned()).collect();
    Mutation::Context {
        set: strings(set),
        remove,
        create: false,
    }
}

fn function(image: &str, name: &str) -> Function {
    Function {
        image: Some(image.to_owned()),
        name: name.to_owned(),
        ..Function::default()
    }
}

fn pipeline(mutators: Vec<Function>) -> Mutation {
    let pipeline = Pipeline {
        mutators,
        validators: Vec::new(),
    };
    Mutation::Pipeline {
        variant: ObjectName::parse("my.pv").unwrap(),
        pipeline,
    }
}

fn inject(outcome: Option<InjectionOutcome>, previous: Option<Previous>) -> Mutation {
    let found = outcome.map(|outcome| ("/v1/ConfigMap".to_owned(), outcome));
    let injection = Injection {
        group: None,
        version: None,
        kind: Some("ConfigMap".to_owned()),
        name: "eu".to_owned(),
        found: found.into_iter().collect(),
    };
    let previous =
        previous.map(|previous| ("config.injection.ConfigMap.site".to_owned(), previous));
    Mutation::Inject {
        injections: vec![injection],
        previous: previous.into_iter().collect(),
    }
}

fn content(json: &str) -> InjectionOutcome {
    InjectionOutcome::Content(json.into())
}

fn apply(mutations: &[Mutation]) -> mutate::Mutated {
    mutate::apply(&package(), mutations).unwrap()
}

#[test]
fn r64_r68_context_keys_keep_their_place_new_ones_follow_removal_wins() {
    let done = apply(&[context(
        [("region", "eu"), ("b", "yes"), ("a", "1"), ("gone", "y")],
        &["gone"],
    )]);
    let wanted = CONTEXT
        .replace("\"us\"", "\"eu\"")
        .replace("  gone: x\n", "  a: \"1\"\n  b: \"yes\"\n");
    assert_eq!(text(&done.files, "package-context.yaml"), wanted);
    assert_eq!(changed(&done.files), ["package-context.yaml"]);
}

#[test]
fn r66_r67_v13_a_missing_context_matters_only_with_something_to_write() {
    let files = kept(&[("Kptfile", KPTFILE)]);
    let same = mutate::apply(&files, &[context([], &[]), context([], &["x"])]).unwrap();
    assert_eq!(same.files, files);
    let error = mutate::apply(&files, &[context([("a", "1")], &[])]).unwrap_err();
    assert_eq!(error, MutateError::PackageContextMissing);
    let create = Mutation::Context {
        set: strings([("a", "1")]),
        remove: BTreeSet::new(),
        create: true,
    };
    let made = mutate::apply(&files, &[create]).unwrap();
    assert!(text(&made.files, "package-context.yaml").contains("name: kptfile.kpt.dev"));
    assert!(text(&made.files, "package-context.yaml").contains("a: \"1\""));
}

#[test]
fn r63_the_context_is_found_in_any_file_of_the_root_and_never_below() {
    let other = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n---\n{CONTEXT}");
    let files = kept(&[
        ("Kptfile", KPTFILE),
        ("many.yaml", &other),
        ("sub/package-context.yaml", CONTEXT),
    ]);
    let done = mutate::apply(&files, &[context([("region", "eu")], &[])]).unwrap();
    assert_eq!(changed(&done.files), ["many.yaml"]);
    assert_eq!(
        text(&done.files, "many.yaml"),
        other.replace("\"us\"", "\"eu\"")
    );
}

#[test]
fn r70_r71_r76_functions_are_prepended_under_our_names_and_comments_stay() {
    let done = apply(&[pipeline(vec![
        function("a:v1", "one"),
        function("b:v1", ""),
    ])]);
    let wanted = KPTFILE.replace(
        "  mutators:\n",
        "  mutators:\n  - image: a:v1\n    name: PackageVariant.my.pv.one.0\n  - image: b:v1\n    name: PackageVariant.my.pv..1\n",
    );
    assert_eq!(text(&done.files, "Kptfile"), wanted);
}

#[test]
fn r75_a_pipeline_that_cannot_be_written_is_refused() {
    let odd = KPTFILE.replace(
        "  - image: set-labels:v1\n    configMap: {team: a}\n",
        "    odd: yes\n",
    );
    let files = kept(&[("Kptfile", &odd)]);
    let error = mutate::apply(&files, &[pipeline(vec![function("x", "f")])]).unwrap_err();
    assert!(matches!(error, MutateError::Shape { .. }), "{error}");
    let error = mutate::apply(&kept(&[]), &[pipeline(vec![function("x", "f")])]).unwrap_err();
    assert_eq!(error, MutateError::KptfileMissing);
}

#[test]
fn r72_r74_functions_that_are_no_longer_wanted_go_and_empty_lists_with_them() {
    let bare = kept(&[(
        "Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n",
    )]);
    let with = mutate::apply(&bare, &[pipeline(vec![function("a:v1", "one")])]).unwrap();
    assert!(text(&with.files, "Kptfile").contains("pipeline:"));
    let without = mutate::apply(&with.files, &[pipeline(Vec::new())]).unwrap();
    assert_eq!(text(&without.files, "Kptfile"), text(&bare, "Kptfile"));
    let untouched = mutate::apply(&bare, &[pipeline(Vec::new())]).unwrap();
    assert!(changed(&untouched.files).is_empty());
}

#[test]
fn r72_r73_our_functions_are_told_by_prefix_and_index_whatever_dots_a_name_has() {
    let own = |variant: &str, name: &str| {
        mutate::is_own_function(&ObjectName::parse(variant).unwrap(), name)
    };
    assert!(own("my.pv", "PackageVariant.my.pv.f.0"));
    assert!(own("my.pv", "PackageVariant.my.pv..12"));
    assert!(own("my.pv", "PackageVariant.my.pv.3"), "the older form");
    assert!(!own("my", "PackageVariant.my.pv.f.0"), "another variant's");
    assert!(!own("my.pv", "PackageVariant.my.pv.f"));
    assert!(!own("my.pv", "PackageVariant.my.pvc.f.0"));
    assert!(!own("my.pv", "my.pv.f.0"));
}

#[test]
fn r84_r86_r92_r93_v7_injected_content_replaces_and_keeps_what_survives() {
    let done = apply(&[inject(Some(content(r#"{"a":"x","c":"3"}"#)), None)]);
    let wanted = POINT
        .replace("\"1\" # one\n  b: \"2\"\n", "\"x\" # one\n  c: \"3\"\n")
        .replace(
            "required\n",
            "required\n    kpt.dev/injected-resource-name: eu\n    kpt.dev/injected-resource: eu\n",
        );
    assert_eq!(text(&done.files, "sub/point.yaml"), wanted);
    let kptfile = KPTFILE.replace(
        "zzz # mine\n",
        "zzz # mine\n  - conditionType: config.injection.ConfigMap.site\n",
    ) + "  - type: config.injection.ConfigMap.site\n    status: \"True\"\n    reason: ConfigInjected\n    message: injected resource \"eu\" from cluster\n";
    assert_eq!(text(&done.files, "Kptfile"), kptfile);
    assert_eq!(done.gates_added, ["config.injection.ConfigMap.site"]);
    assert_eq!(done.injected[0].object.as_deref(), Some("eu"));
}

/// R97, R194: a kind that is not served at the point's version, or may not be read, is said.
#[test]
fn r85_r90_every_failure_has_a_reason_of_its_own() {
    let reason = |mutation: Mutation| {
        let done = apply(&[mutation]);
        let condition = done.injected[0].condition.clone();
        assert_eq!(condition.status, Status::False);
        (condition.reason, condition.message)
    };
    let of = |outcome| reason(inject(outcome, None));
    let no_match = "no resource matched any injection selector for this injection point".to_owned();
    assert_eq!(
        of(None),
        ("NoResourceSelected".to_owned(), no_match.clone())
    );
    assert_eq!(
        of(Some(InjectionOutcome::Absent)),
        ("NoResourceSelected".to_owned(), no_match)
    );
    let missing = of(Some(InjectionOutcome::FieldMissing("data".to_owned())));
    assert_eq!(
        missing,
        (
            "FieldMissing".to_owned(),
            "field \"data\" not found in resource \"eu\"".to_owned()
        )
    );
    assert_eq!(of(Some(InjectionOutcome::KindMissing)).0, "SchemaMissing");
    assert_eq!(
        of(Some(InjectionOutcome::Unreadable("denied".to_owned()))),
        ("LoadFailed".to_owned(), "denied".to_owned())
    );
    let none = Mutation::Inject {
        injections: Vec::new(),
        previous: BTreeMap::new(),
    };
    assert_eq!(
        reason(none),
        ("NoInjectors".to_owned(), "no injectors defined".to_owned())
    );
}

#[test]
fn r95_v22_what_was_injected_stays_when_nothing_matches_any_more() {
    let previous = Previous {
        name: "eu".to_owned(),
        content: r#"{"a":"x"}"#.to_owned(),
    };
    let done = apply(&[inject(None, Some(previous.clone()))]);
    assert_eq!(done.injected[0].condition.reason, "InjectionStale");
    assert!(text(&done.files, "sub/point.yaml").contains("a: \"x\" # one"));
    let found = mutate::previous(&done.files).unwrap();
    assert_eq!(found.values().collect::<Vec<_>>(), [&previous]);
}

#[test]
fn r81_r82_points_that_say_nonsense_or_share_a_name_are_refused_in_order() {
    let bad = POINT.replace("required", "maybe");
    let files = kept(&[("Kptfile", KPTFILE), ("a.yaml", &bad), ("b.yaml", POINT)]);
    let error = mutate::injection_points(&files).unwrap_err().to_string();
    assert_eq!(
        error,
        "errors in injection points: a.yaml: ConfigMap/site has invalid \"kpt.dev/config-injection\" annotation \
         value of \"maybe\", duplicate injection conditionType \"config.injection.ConfigMap.site\" (a.yaml and b.yaml)"
    );
}

#[test]
fn r80_points_are_found_in_subpackages_and_say_what_to_load() {
    let points = mutate::injection_points(&package()).unwrap();
    let [point] = points.as_slice() else {
        panic!("{points:?}")
    };
    assert_eq!(
        (point.file.as_str(), point.index, point.required),
        ("sub/point.yaml", 0, true)
    );
    assert_eq!(
        (point.gvk().as_str(), point.field()),
        ("/v1/ConfigMap", "data")
    );
}

#[test]
fn r94_without_points_nothing_is_touched() {
    let files = kept(&[("Kptfile", KPTFILE), ("a.yaml", CONTEXT)]);
    let done = mutate::apply(&files, &[inject(Some(content("{}")), None)]).unwrap();
    assert!(changed(&done.files).is_empty());
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let key = prop::sample::select(vec!["name2", "region", "gone", "new", "yes"]);
    let word = prop::sample::select(vec![
        "eu",
        "1",
        "true",
        "",
        "a b",
        "x: y",
        "#",
        "line\nline",
    ]);
    let set = prop::collection::btree_map(
        key.clone().prop_map(str::to_owned),
        word.clone().prop_map(str::to_owned),
        0..4,
    );
    let remove = prop::collection::btree_set(key.prop_map(str::to_owned), 0..2);
    let context = (set, remove).prop_map(|(set, remove)| Mutation::Context {
        set: set.into_iter().collect(),
        remove,
        create: true,
    });
    let functions =
        prop::collection::vec((word.clone(), word.clone()), 0..3).prop_map(|functions| {
            let function = |(image, value): (&str, &str)| Function {
                image: Some(format!("img{}", image.len())),
                config_map: vec![("k".to_owned(), value.to_owned())],
                name: "f".to_owned(),
                ..Function::default()
            };
            pipeline(functions.into_iter().map(function).collect())
        });
    let injection = prop::option::of(word).prop_map(|word| {
        inject(
            word.map(|word| {
                content(&serde_json::json!({ "a": word, "n": { "m": [word] } }).to_string())
            }),
            None,
        )
    });
    (context, functions, injection).prop_map(|(a, b, c)| vec![a, b, c])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn r60_mutations_commute_and_are_idempotent(mutations in mutations()) {
        let once = mutate::apply(&package(), &mutations).unwrap().files;
        let again = mutate::apply(&once, &mutations).unwrap().files;
        prop_assert_eq!(&once, &again);
        for order in [[1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]] {
            let one_by_one = order.iter().fold(package(), |files, at| {
                mutate::apply(&files, std::slice::from_ref(&mutations[*at])).unwrap().files
            });
            prop_assert_eq!(&once, &one_by_one);
        }
    }
}
