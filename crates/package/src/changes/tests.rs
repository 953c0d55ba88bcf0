//! The law of classes, and what must never hide in one.

use std::collections::BTreeMap;

use model::{File, FileMode, Files, Namespace, PackageName, PackagePath, RepositoryName, TreeId};
use proptest::prelude::*;

use super::{
    ClassId, ContentChange, Inputs, TargetNames, TextWithInputs, WantedUpstream, apply, changes,
    inputs_of,
};

fn wanted() -> WantedUpstream {
    WantedUpstream {
        repository: RepositoryName::parse("blueprints").unwrap(),
        package: PackageName::parse("web").unwrap(),
        tree: TreeId::from_bytes(&[7; 20]).unwrap(),
    }
}

fn files(texts: &[(&str, &str)]) -> Files {
    let parsed = texts
        .iter()
        .map(|(path, text)| (PackagePath::parse(path).unwrap(), File::text(text)));
    parsed.collect()
}

fn inputs(pairs: &[(&str, &str)]) -> Inputs {
    Inputs::new(
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned())),
    )
}

fn class(before: &Files, after: &Files, inputs: &Inputs) -> ClassId {
    changes(before, after, inputs).id(&wanted())
}

const V1: &str = "# The web.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web # ours\n  namespace: NS\nspec:\n  replicas: 3\n  paused: false\n  template:\n    spec:\n      containers:\n      - name: web\n        image: example.test/web:1.4\n        env:\n        - {name: REGION, value: NS}\n";

fn of(namespace: &str, text: &str) -> Files {
    files(&[("deployment.yaml", &text.replace("NS", namespace))])
}

#[test]
fn targets_that_differ_by_their_inputs_alone_are_of_one_class() {
    let v2 = V1
        .replace("web:1.4", "web:1.5")
        .replace("  paused: false\n", "")
        .replace("value: NS", "value: x-NS/NS");
    let (eu, us) = (
        inputs(&[("namespace", "edge-eu")]),
        inputs(&[("namespace", "edge-us")]),
    );
    let a = changes(&of("edge-eu", V1), &of("edge-eu", &v2), &eu);
    let b = changes(&of("edge-us", V1), &of("edge-us", &v2), &us);
    assert_ne!(
        a.id(&wanted()),
        b.id(&wanted()),
        "only whole tokens are inputs"
    );
    let v2 = v2.replace("x-NS/NS", "x/NS");
    let a = changes(&of("edge-eu", V1), &of("edge-eu", &v2), &eu);
    assert_eq!(
        a.id(&wanted()),
        class(&of("edge-us", V1), &of("edge-us", &v2), &us)
    );
    assert_eq!(apply(&of("edge-us", V1), &a, &us), Some(of("edge-us", &v2)));
}

/// Nothing of this is the same change.
#[test]
fn nothing_hides_in_a_class() {
    let none = inputs(&[("package", "shop-web"), ("context.region", "eu-west")]);
    let before = of("edge", V1);
    let change = |from: &str, to: &str| of("edge", &V1.replace(from, to));
    let mut executable = before.clone();
    for file in executable.values_mut() {
        *file = File::New {
            mode: FileMode::Executable,
            bytes: file.bytes().to_vec().into(),
        };
    }
    let mut added = before.clone();
    added.extend(files(&[("more.yaml", "a: 1\n")]));
    let mut other = before.clone();
    other.extend(files(&[("more.yaml", "a: 2\n")]));
    let afters = [
        before.clone(),
        change("web:1.4", "web:1.5"),
        change("web:1.4", "web:1.6"),
        change("replicas: 3", "replicas: \"3\""),
        change("replicas: 3", "replicas: 4"),
        change("# ours", "# theirs"),
        change("# The web.\n", ""),
        change(
            "  replicas: 3\n  paused: false\n",
            "  paused: false\n  replicas: 3\n",
        ),
        change("web:1.4", "shop-web"),
        change("web:1.4", "{package}"),
        change("web:1.4", "eu-west"),
        change("web:1.4", "{context.region}"),
        executable,
        added,
        other,
        Files::new(),
    ];
    let mut seen: BTreeMap<ClassId, usize> = BTreeMap::new();
    for (at, after) in afters.iter().enumerate() {
        let found = changes(&before, after, &none);
        assert_eq!(
            apply(&before, &found, &none).as_ref().map(bytes),
            Some(bytes(after)),
            "{at}"
        );
        if let Some(first) = seen.insert(found.id(&wanted()), at) {
            panic!("{first} and {at} are of one class");
        }
    }
    let mut elsewhere = wanted();
    elsewhere.repository = RepositoryName::parse("others").unwrap();
    let found = changes(&before, &afters[1], &none);
    assert_ne!(
        found.id(&wanted()),
        found.id(&elsewhere),
        "an upstream switch"
    );
    elsewhere = WantedUpstream {
        tree: TreeId::from_bytes(&[8; 20]).unwrap(),
        ..wanted()
    };
    assert_ne!(
        found.id(&wanted()),
        found.id(&elsewhere),
        "another upstream tree"
    );
}

/// What a file is: kept or made anew makes no difference.
fn bytes(files: &Files) -> Vec<(String, FileMode, Vec<u8>)> {
    let all = files.iter();
    all.map(|(p, f)| (p.to_string(), f.mode(), f.bytes().to_vec()))
        .collect()
}

/// An input that the published package states otherwise stays literal, wherever it stands.
#[test]
fn an_input_that_changed_stays_literal() {
    let of = |region: &str| {
        files(&[
            (
                "package-context.yaml",
                &format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  region: {region}\n  stays: as-it-was\n"
                ),
            ),
            (
                "map.yaml",
                &format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\ndata:\n  one: {region}/as-it-was\n"
                ),
            ),
        ])
    };
    let place = (
        PackageName::parse("shop-web").unwrap(),
        RepositoryName::parse("edge").unwrap(),
        Namespace::parse("default").unwrap(),
    );
    let place = TargetNames {
        package: &place.0,
        repository: &place.1,
        namespace: &place.2,
        variant: None,
    };
    let (west, moved) = (of("eu-west"), of("us-west"));
    let value = |inputs: &Inputs, name: &str| inputs.value(name).map(str::to_owned);
    // It says the same, or there is no package yet: its name stands for it.
    for before in [None, Some(&west)] {
        let inputs = inputs_of(place, before, &west);
        assert_eq!(value(&inputs, "context.region").as_deref(), Some("eu-west"));
    }
    let inputs = inputs_of(place, Some(&west), &moved);
    assert_eq!(value(&inputs, "context.region"), None);
    assert_eq!(
        value(&inputs, "context.stays").as_deref(),
        Some("as-it-was")
    );
    // What the published package does not state at all is no input either.
    let none = files(&[("map.yaml", "a: 1\n")]);
    let inputs = inputs_of(place, Some(&none), &west);
    assert_eq!(value(&inputs, "context.stays"), None);
    // Two that go elsewhere are of two classes.
    let other = of("ap-east");
    let id = |after: &Files| class(&west, after, &inputs_of(place, Some(&west), after));
    assert_ne!(id(&moved), id(&other));
}

/// The names of functions that a variant puts into a pipeline say which variant it is, and nothing else does.
#[test]
fn the_functions_of_a_variant_are_of_one_class_whatever_it_is_called() {
    let kptfile = |functions: &[(&str, &str)]| {
        let items = functions.iter().map(|(name, value)| {
            format!("  - image: gcr.io/kpt-fn/set-labels:v0.1\n    configMap:\n      tier: {value}\n    name: {name}\n")
        });
        let text = format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n{}",
            items.collect::<String>()
        );
        files(&[("Kptfile", &text)])
    };
    let of = |variant: &str| inputs(&[("package", "web-pkg"), ("variant", variant)]);
    let own = |variant: &str, function: &str| format!("PackageVariant.{variant}.{function}");
    let cases = |variant: &str, value: &str| -> Vec<(Files, Files)> {
        let (one, two) = (own(variant, "tier.0"), own(variant, ".1"));
        let none = files(&[]);
        vec![
            // It is new, a value changes, another one comes, a list without names.
            (none, kptfile(&[(&one, "a")])),
            (kptfile(&[(&one, "a")]), kptfile(&[(&one, value)])),
            (
                kptfile(&[(&one, "a")]),
                kptfile(&[(&one, "a"), (&two, value)]),
            ),
            (kptfile(&[("", "a")]), kptfile(&[(&one, value), ("", "a")])),
        ]
    };
    let (eu, us) = (of("web-edge-eu"), of("web.edge-us"));
    let mine = cases("web-edge-eu", "b").into_iter();
    let theirs = cases("web.edge-us", "b").into_iter();
    let others = cases("web.edge-us", "c").into_iter();
    for (at, ((mine, theirs), others)) in mine.zip(theirs).zip(others).enumerate() {
        let found = changes(&mine.0, &mine.1, &eu);
        assert_eq!(
            found.id(&wanted()),
            class(&theirs.0, &theirs.1, &us),
            "{at}"
        );
        let made = apply(&theirs.0, &found, &us);
        assert_eq!(made.as_ref().map(bytes), Some(bytes(&theirs.1)), "{at}");
        // A value that somebody wrote does not hide beside it.
        let differs = found.id(&wanted()) != class(&others.0, &others.1, &us);
        assert_eq!(differs, at > 0, "{at}");
    }
    // What another variant wrote, and the variant's name elsewhere, are literals.
    for text in [
        "PackageVariant.web-edge.tier.0",
        "PackageVariant.web-edge-eu.tier",
        "PackageVariant.web-edge-eu.a.b.0",
        "web-edge-eu",
        "xPackageVariant.web-edge-eu.tier.0",
    ] {
        assert_eq!(TextWithInputs::of(text, &eu), TextWithInputs::plain(text));
    }
    let shown = TextWithInputs::of("a: PackageVariant.web-edge-eu.tier.0\n", &eu);
    assert_eq!(shown.to_string(), "a: PackageVariant.{variant}.tier.0\n");
}

/// Names of list elements are values as any: the container that is named after the package.
#[test]
fn list_elements_that_are_named_by_an_input_are_of_one_class() {
    let of = |package: &str, image: &str| {
        let text = V1.replace("- name: web", &format!("- name: {package}"));
        files(&[("deployment.yaml", &text.replace("web:1.4", image))])
    };
    let (a, b) = (
        inputs(&[("package", "shop-a")]),
        inputs(&[("package", "shop-b")]),
    );
    let found = changes(&of("shop-a", "web:1.4"), &of("shop-a", "web:1.5"), &a);
    let (before, after) = (of("shop-b", "web:1.4"), of("shop-b", "web:1.5"));
    assert_eq!(found.id(&wanted()), class(&before, &after, &b));
    assert_eq!(
        apply(&before, &found, &b).as_ref().map(bytes),
        Some(bytes(&after))
    );
    // One that is called as the other's package is another one.
    let before = of("shop-a", "web:1.4");
    assert_ne!(
        found.id(&wanted()),
        class(&before, &of("shop-a", "web:1.5"), &b)
    );
}

#[test]
fn an_input_stands_for_whole_tokens_and_never_for_numbers() {
    let inputs = inputs(&[
        ("package", "web"),
        ("repository", "web"),
        ("context.short", "eu"),
        ("context.number", "8080"),
        ("context.truth", "true"),
    ]);
    let shown = |text: &str| TextWithInputs::of(text, &inputs).to_string();
    assert_eq!(
        shown("web/web-limits web.example web"),
        "{package}/web-limits web.example {package}"
    );
    assert_eq!(shown("eu 8080 true"), "eu 8080 true");
    for text in ["", "web", " web ", "{package}", "ü web ü", "webweb web_web"] {
        assert_eq!(
            TextWithInputs::of(text, &inputs).fill(&inputs).as_deref(),
            Some(text)
        );
    }
    assert_ne!(
        TextWithInputs::of("web", &inputs),
        TextWithInputs::of("{package}", &inputs)
    );
}

/// A small package: names and values are drawn so that inputs are met often.
fn package() -> impl Strategy<Value = Vec<(u8, u8, u8, u8)>> {
    proptest::collection::vec((0..4_u8, 0..5_u8, 0..5_u8, 0..6_u8), 0..4)
}

const WORDS: [&str; 5] = ["PKG", "PKG-x", "REG", "literal", "{package}"];
const COMMENTS: [&str; 6] = ["", "# PKG", "# REG here", "# one", "# two", "#"];

/// The package of a target with these inputs.
fn made(entries: &[(u8, u8, u8, u8)], package: &str, region: &str) -> Files {
    let put = |text: &str| text.replace("PKG", package).replace("REG", region);
    let mut all = Files::new();
    for (at, (file, value, list, comment)) in entries.iter().enumerate() {
        let path = put(["a.yaml", "PKG.yaml", "b.txt", "c.yaml"][usize::from(*file)]);
        let (value, item) = (WORDS[usize::from(*value)], WORDS[usize::from(*list)]);
        let comment = COMMENTS[usize::from(*comment)];
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {value}-{at} {comment}\ndata:\n  key: '{value}'\n  items:\n  - name: {item}\n    n: {at}\n  {comment}\n  z: {item}\n"
        );
        all.insert(PackagePath::parse(&path).unwrap(), File::text(put(&text)));
    }
    all
}

/// 500 targets are generated, more where `PROPTEST_CASES` asks for more.
fn cases() -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig::with_cases(asked.cases.max(500))
}

proptest! {
    #![proptest_config(cases())]

    /// The law: what changes in one target, with another's inputs put in, turns that other target's package into its new
    /// one byte for byte, whenever both are of one class; and a target's own change always does.
    #[test]
    fn a_class_tells_what_changes_to_the_byte(
        before in package(),
        after in package(),
        names in ("[a-z]{3,8}", "[a-z]{3,8}", "[a-z]{3,8}", "[a-z]{3,8}"),
    ) {
        let mine = inputs(&[("package", &names.0), ("context.region", &names.1)]);
        let theirs = inputs(&[("package", &names.2), ("context.region", &names.3)]);
        let (p, new) = (made(&before, &names.0, &names.1), made(&after, &names.0, &names.1));
        let (q, other) = (made(&before, &names.2, &names.3), made(&after, &names.2, &names.3));
        let change = changes(&p, &new, &mine);
        let own = apply(&p, &change, &mine);
        prop_assert_eq!(own.as_ref().map(bytes), Some(bytes(&new)));
        let id = change.id(&wanted());
        if id == class(&q, &other, &theirs) {
            let applied = apply(&q, &change, &theirs);
            prop_assert_eq!(applied.as_ref().map(bytes), Some(bytes(&other)));
        }
        // Nothing that is no input of the target's counts.
        let stranger = inputs(&[
            ("package", &names.0), ("context.region", &names.1), ("context.other", "nothing-like-it"),
        ]);
        prop_assert_eq!(id, class(&p, &new, &stranger));
    }
}

/// Where a new field stands among the old ones is nothing that a reader has to look for; a comment and an order are.
#[test]
fn new_fields_that_stand_elsewhere_are_told_by_the_fields() {
    let before = "a:\n  b: x\npipeline:\n  c: 2\n";
    let told = |after: &str| {
        let [old, new] = [before, after].map(|text| files(&[("Kptfile", text)]));
        let found = changes(&old, &new, &inputs(&[]));
        let [file] = found.files.as_slice() else {
            panic!("{found:?}");
        };
        match &file.content {
            ContentChange::Text { told, .. } => Some(*told),
            _ => None,
        }
    };
    assert_eq!(told("a:\n  b: x\n  d: 3\npipeline:\n  c: 2\n"), None);
    assert_eq!(told("a:\n  d: 3\n  b: x\npipeline:\n  c: 2\n"), Some(true));
    assert_eq!(told("new: 3\na:\n  b: x\npipeline:\n  c: 2\n"), Some(true));
    let hidden = [
        "pipeline:\n  c: 2\na:\n  b: x\n",
        "new: 3\npipeline:\n  c: 2\na:\n  b: x\n",
        "new: 3\na:\n  b: x # why\npipeline:\n  c: 2\n",
        "new: 3\na:\n  b: \"x\"\npipeline:\n  c: 2\n",
    ];
    for after in hidden {
        assert_eq!(told(after), Some(false), "{after}");
    }
}
