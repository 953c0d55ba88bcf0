//! Rendering: what a function may do to a package, and what it never does.

use std::sync::Arc;

use model::{FunctionResultItem, PackagePath, Severity};
use package::kptfile::Kptfile;
use package::render::{Item, Options, Output, Render, RenderStep, Rendered};
use yaml::owned::Value;

use crate::{changed, kept, text, vectors};

pub(crate) const KPTFILE: &str = "\
# the package
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app # its name
  annotations:
    config.kubernetes.io/local-config: \"true\"
pipeline:
  mutators:
    # first of all
    - image: set-namespace:v0.4
      configMap:
        namespace: prod
";

pub(crate) const SERVICE: &str = "\
# licence

apiVersion: v1
kind: Service
metadata:
    name:  web   # odd spacing
    namespace: 'old' # ours
spec:
    ports: [ {port: 80} ]
---
# only a comment
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: prod}
";

pub(crate) fn built_in(texts: &[(&str, &str)]) -> Rendered {
    vectors::render(kept(texts), Options::default())
}

/// A step that makes each value four times as long, and that again and again, made gigabytes of a few bytes.
#[test]
fn what_a_step_makes_of_a_package_is_bounded() {
    let step = "    - image: search-replace:v0.2\n      configMap: {by-value-regex: \"(x+)\", put-value: \"${1}${1}${1}${1}\"}\n";
    let kptfile = |steps: usize| {
        let head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n";
        format!("{head}{}", step.repeat(steps))
    };
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: xxxxxxxxxxxxxxxx}\n";
    let rendered = |steps: usize, most: u64| {
        let options = Options {
            package_bytes: Some(most),
            ..Options::default()
        };
        vectors::render(
            kept(&[("Kptfile", &kptfile(steps)), ("c.yaml", map)]),
            options,
        )
    };
    assert_eq!(rendered(5, 64 << 10).status.error, None);
    let failed = rendered(13, 64 << 10);
    let why = failed.status.error.unwrap_or_default();
    assert!(
        why.contains("search-replace:v0.2\" makes the package's resources larger than 65536 bytes"),
        "{why}"
    );
    assert_eq!(failed.status.steps.len(), 6);
    // Without a limit of the package's, a value has one.
    let why = rendered(13, u64::MAX / 256)
        .status
        .error
        .unwrap_or_default();
    assert!(
        why.contains("a value would be longer than 1048576 bytes"),
        "{why}"
    );
    // Steps are counted together.
    let many = rendered(3, 64 << 10);
    assert_eq!(many.status.error, None);
    let looks = |steps: usize| {
        let step = "    - image: set-namespace:v0.4\n      configMap: {namespace: prod}\n";
        let head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n";
        let big = map.replace("xxxxxxxxxxxxxxxx", &"y".repeat(40_000));
        let options = Options {
            package_bytes: Some(64 << 10),
            ..Options::default()
        };
        let kptfile = format!("{head}{}", step.repeat(steps));
        vectors::render(kept(&[("Kptfile", &kptfile), ("c.yaml", &big)]), options)
    };
    assert_eq!(looks(20).status.error, None);
    let why = looks(250).status.error.unwrap_or_default();
    assert!(
        why.contains("look at more than 128 times 65536 bytes"),
        "{why}"
    );
}

/// What functions report stands in the Kptfile, and in memory until then.
#[test]
fn what_functions_report_is_bounded() {
    let texts = [("Kptfile", KPTFILE), ("service.yaml", SERVICE)];
    let rendered = with(&texts, |_| Output {
        results: (0..100_000)
            .map(|n| {
                functions_result(&format!(
                    "{n} {}",
                    "x".repeat(if n == 0 { 1 << 20 } else { 10 })
                ))
            })
            .collect(),
        stderr: "e".repeat(1 << 20),
        ..Output::default()
    });
    let step = &rendered.status.steps[0];
    let bytes: usize = step.results.iter().map(|r| r.message.len()).sum();
    assert!(bytes + step.stderr.len() < 5 << 20, "{bytes}");
    assert!(
        step.stderr.ends_with("more results are not told\n"),
        "{:.20}",
        step.stderr
    );
    assert!(rendered.status.succeeded());
}

fn functions_result(message: &str) -> FunctionResultItem {
    FunctionResultItem {
        message: message.to_owned(),
        severity: Severity::Info,
        resource: None,
        field: None,
        current: None,
        proposed: None,
        file: None,
        tags: Vec::new(),
    }
}

/// Renders with one function of the test's own for every step.
pub(crate) fn with(
    texts: &[(&str, &str)],
    function: impl Fn(&mut Vec<Item>) -> Output,
) -> Rendered {
    let mut render = Render::new(kept(texts), Options::default());
    loop {
        match render.next() {
            RenderStep::Done(rendered) => return *rendered,
            RenderStep::Run(mut run) => {
                let mut output = function(&mut run.items);
                output.items = run.items;
                render.resume(Ok(output));
            }
        }
    }
}

#[test]
fn v5_only_what_changed_changes_and_every_comment_stays() {
    let rendered = built_in(&[
        ("Kptfile", KPTFILE),
        ("README.md", "no resource"),
        (
            "cm.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: prod\n",
        ),
        ("svc.yaml", SERVICE),
    ]);
    assert_eq!(changed(&rendered.files), ["Kptfile", "svc.yaml"]);
    assert_eq!(
        text(&rendered.files, "svc.yaml"),
        SERVICE.replace("'old'", "'prod'")
    );
    assert!(text(&rendered.files, "Kptfile").starts_with(KPTFILE));
    assert!(rendered.status.succeeded());
}

#[test]
fn m12_the_status_is_written_only_where_its_value_changes() {
    let texts = [
        ("Kptfile", KPTFILE),
        (
            "svc.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n  namespace: prod\n",
        ),
    ];
    let once = built_in(&texts);
    let kptfile = text(&once.files, "Kptfile").to_owned();
    assert!(kptfile.contains("reason: RenderSuccess"), "{kptfile}");
    let commented = kptfile.replace("reason: RenderSuccess", "reason: RenderSuccess # fine");
    let again = built_in(&[("Kptfile", &commented), texts[1]]);
    assert!(
        changed(&again.files).is_empty(),
        "{}",
        text(&again.files, "Kptfile")
    );
}

#[test]
fn m20_an_error_result_fails_the_step_and_leaves_the_files() {
    let texts = [("Kptfile", KPTFILE), ("svc.yaml", SERVICE)];
    let rendered = with(&texts, |items| {
        items.clear();
        Output {
            results: vec![FunctionResultItem {
                message: "not like this".to_owned(),
                severity: Severity::Error,
                resource: None,
                field: None,
                current: None,
                proposed: None,
                file: None,
                tags: Vec::new(),
            }],
            ..Output::default()
        }
    });
    assert_eq!(changed(&rendered.files), ["Kptfile"]);
    let error = rendered.status.error.unwrap();
    assert!(
        error.contains("/set-namespace:v0.4\"") && error.contains("not like this"),
        "{error}"
    );
    assert!(text(&rendered.files, "Kptfile").contains("reason: RenderFailed"));
}

#[test]
fn m17_a_list_is_handed_over_item_by_item_and_written_back_in_place() {
    let list = "\
apiVersion: v1
kind: List
items: # two of them
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a # first
    namespace: old
# about b
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: b
    namespace: prod
";
    let rendered = built_in(&[("Kptfile", KPTFILE), ("list.yaml", list)]);
    assert_eq!(
        text(&rendered.files, "list.yaml"),
        list.replace("namespace: old", "namespace: prod")
    );
}

#[test]
fn resources_can_be_made_moved_and_dropped() {
    let texts = [
        ("Kptfile", KPTFILE),
        (
            "a.yaml",
            "# a\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # its name\n",
        ),
        (
            "b.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b2\n",
        ),
        (
            "c.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n",
        ),
    ];
    let rendered = with(&texts, |items| {
        let name = |item: &Item| {
            item.value
                .str_at(&["metadata", "name"])
                .unwrap_or_default()
                .to_owned()
        };
        items.retain(|item| !["b1", "c"].contains(&name(item).as_str()));
        for item in items.iter_mut().filter(|item| name(item) == "a") {
            item.path = Some("moved/a.yaml".to_owned());
        }
        let new = Value::map([
            ("apiVersion", Value::string("v1")),
            ("kind", Value::string("ConfigMap")),
            (
                "metadata",
                Value::map([
                    ("name", Value::string("new")),
                    ("namespace", Value::string("ns")),
                ]),
            ),
        ]);
        items.push(Item {
            id: None,
            value: Arc::new(new),
            path: None,
            index: None,
        });
        Output::default()
    });
    let paths: Vec<&str> = rendered.files.keys().map(PackagePath::as_str).collect();
    assert_eq!(
        paths,
        ["Kptfile", "b.yaml", "moved/a.yaml", "ns/configmap_new.yaml"]
    );
    assert!(text(&rendered.files, "moved/a.yaml").contains("name: a # its name"));
    assert!(
        text(&rendered.files, "b.yaml").contains("b2")
            && !text(&rendered.files, "b.yaml").contains("b1")
    );
}

#[test]
fn a_function_cannot_write_outside_its_package() {
    for path in ["../out.yaml", "a/../../out.yaml", ".git/config"] {
        let rendered = with(
            &[
                ("Kptfile", KPTFILE),
                ("a.yaml", "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n"),
            ],
            |items| {
                for item in items.iter_mut() {
                    item.path = Some(path.to_owned());
                }
                Output::default()
            },
        );
        let error = rendered.status.error.unwrap_or_default();
        assert!(
            error.contains("must not modify resources outside of package"),
            "{path}: {error}"
        );
        assert_eq!(changed(&rendered.files), ["Kptfile"]);
    }
}

#[test]
fn packages_run_depth_first_and_parents_see_everything_below() {
    let package = |name: &str, ns: &str| {
        KPTFILE
            .replace("name: app", &format!("name: {name}"))
            .replace("namespace: prod", &format!("namespace: {ns}"))
    };
    let cm = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: x\n";
    let (root, a, ab) = (package("root", "r"), package("a", "a"), package("ab", "ab"));
    let mut render = Render::new(
        kept(&[
            ("Kptfile", &root),
            ("a/Kptfile", &a),
            ("a/b/Kptfile", &ab),
            ("a/b/cm.yaml", cm),
            ("z.yaml", cm),
        ]),
        Options::default(),
    );
    let mut order = Vec::new();
    while let RenderStep::Run(run) = render.next() {
        order.push((run.function.config_map[0].1.clone(), run.items.len()));
        render.resume(Ok(Output {
            items: run.items,
            ..Output::default()
        }));
    }
    assert_eq!(
        order,
        [
            ("ab".to_owned(), 2),
            ("a".to_owned(), 3),
            ("r".to_owned(), 5)
        ]
    );
}

#[test]
fn a_package_without_functions_is_not_even_parsed() {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\nstatus:\n  conditions:\n  - type: Rendered\n    status: \"True\"\n    reason: RenderSuccess\n";
    let files = kept(&[
        ("Kptfile", kptfile),
        ("broken.yaml", "a: ["),
        ("values.yaml", "a: 1\n"),
    ]);
    let rendered = vectors::render(files.clone(), Options::default());
    assert_eq!(rendered.files, files);
    assert!(changed(&rendered.files).is_empty());
}

/// Nothing needs such a file to be YAML, so it is kept; but nobody is told that all is well.
#[test]
fn who_asks_hears_of_a_broken_file_that_no_function_sees() {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\n";
    let options = Options {
        tell_unread: true,
        ..Options::default()
    };
    let texts = [
        ("Kptfile", kptfile),
        ("x.yaml", "kind: [x\n"),
        ("values.yaml", "a: 1\n"),
    ];
    let rendered = vectors::render(kept(&texts), options);
    assert_eq!(rendered.status.error, None);
    let [warning] = rendered.warnings.as_slice() else {
        panic!("{:?}", rendered.warnings);
    };
    assert!(warning.starts_with("x.yaml: line "), "{warning}");
    let told = Kptfile::of_files(&rendered.files).unwrap();
    let condition = &told.fields().conditions[0];
    assert_eq!(condition.reason, "FilesNotRead");
    assert_eq!(condition.message, *warning);
    let ignored = [&texts[..], &[(".krmignore", "x.yaml\n")]].concat();
    assert_eq!(vectors::render(kept(&ignored), options).warnings, [""; 0]);
    let mended = [&texts[..1], &texts[2..]].concat();
    let files = kept(&mended);
    let mut again = rendered.files.clone();
    again.retain(|path, _| files.contains_key(path));
    let again = vectors::render(again, options);
    let told = Kptfile::of_files(&again.files).unwrap();
    let condition = &told.fields().conditions[0];
    assert_eq!(
        (&*condition.reason, &*condition.message),
        ("RenderSuccess", "")
    );
}

/// A pipeline under a misspelt key does not run: the report says so.
#[test]
fn a_misspelt_field_of_a_kptfile_is_told() {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutatorz:\n  - image: set-labels\n";
    let rendered = built_in(&[("Kptfile", kptfile)]);
    let told = "Kptfile: line 5: field `pipeline.mutatorz` is not a field of a Kptfile; it is kept (did you mean `mutators`?)";
    assert_eq!(rendered.warnings, [told]);
    let read = Kptfile::of_files(&rendered.files).unwrap();
    let condition = &read.fields().conditions[0];
    assert_eq!(
        (&*condition.reason, &*condition.message),
        ("RenderSuccess", told)
    );
}

#[test]
fn whoever_renders_by_hand_hears_of_a_broken_file_also_without_functions() {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\n";
    let options = Options {
        read_all: true,
        ..Options::default()
    };
    let texts = [
        ("Kptfile", kptfile),
        ("sub/Kptfile", kptfile),
        ("sub/broken.yaml", "a: 1\nb: [\n"),
        ("values.yaml", "a: 1\n"),
    ];
    let rendered = vectors::render(kept(&texts), options);
    let error = rendered.status.error.unwrap();
    assert!(error.contains("sub/broken.yaml: line 2"), "{error}");
    assert_eq!(changed(&rendered.files), ["Kptfile"]);
    // What is ignored is nobody's business, and what is no resource stays one.
    let ignored = [&texts[..], &[("sub/.krmignore", "broken.yaml\n")]].concat();
    let rendered = vectors::render(kept(&ignored), options);
    assert_eq!(rendered.status.error, None);
}
