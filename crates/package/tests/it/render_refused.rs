//! What a render refuses, and one function over a whole package.

use std::sync::Arc;

use model::{File, PackagePath};
use package::render::{Options, Output, Render, Rendered};
use yaml::owned::Value;

use crate::render::{KPTFILE, SERVICE, built_in, with};
use crate::{kept, text, vectors};

#[test]
fn bad_input_is_named_and_nothing_is_lost() {
    for (path, content, wanted) in [
        ("x.yaml", "a: [", "x.yaml"),
        ("x.yaml", "\u{0}", "x.yaml"),
        ("Kptfile", "a: [", "Kptfile"),
        ("sub/Kptfile", "kind: Other\n", "sub"),
    ] {
        let mut files = kept(&[("Kptfile", KPTFILE)]);
        files.insert(PackagePath::parse(path).unwrap(), File::text(content));
        let rendered = vectors::render(files.clone(), Options::default());
        let error = rendered.status.error.unwrap_or_default();
        assert!(error.contains(wanted), "{path}: {error}");
        assert_eq!(rendered.files.get(path), files.get(path));
    }
}

#[test]
fn x2_an_unknown_image_names_the_flag_that_would_run_it() {
    let kptfile = KPTFILE.replace("set-namespace:v0.4", "example.com/mine:v1");
    let rendered = built_in(&[("Kptfile", &kptfile)]);
    let error = rendered.status.error.unwrap();
    assert!(
        error.contains("example.com/mine:v1") && error.contains("--fn-runtime"),
        "{error}"
    );
}

/// What one package may run is bounded, whoever put the functions there: each of them is handed all resources.
#[test]
fn so_many_functions_run_and_not_one_more() {
    let of = |count: usize| {
        let head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutators:\n";
        let one = "  - {image: set-labels, configMap: {a: b}}\n";
        let inner = format!("{head}{}", one.repeat(count - model::MOST_FUNCTIONS / 2));
        let outer = format!("{head}{}", one.repeat(model::MOST_FUNCTIONS / 2));
        built_in(&[("Kptfile", &outer), ("sub/Kptfile", &inner)])
    };
    assert_eq!(of(model::MOST_FUNCTIONS).status.error, None);
    let error = of(model::MOST_FUNCTIONS + 1).status.error.unwrap();
    assert!(error.contains("1025 functions; 1024 may run"), "{error}");
}

fn strictly(texts: &[(&str, &str)]) -> Rendered {
    let options = Options {
        strict: true,
        ..Options::default()
    };
    vectors::render(kept(texts), options)
}

#[test]
fn m18_strictly_what_kpt_refuses_is_refused() {
    let bare = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\n";
    let strange = KPTFILE.to_owned() + "spec: {}\n";
    let cases: [(&[(&str, &str)], &str); 4] = [
        (
            &[("Kptfile", &strange)],
            "line 14: field `spec` is not a field of a Kptfile",
        ),
        (
            &[("Kptfile", bare), ("values.yaml", "a: 1\n")],
            "values.yaml: resource must have `apiVersion`",
        ),
        (
            &[("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\n")],
            "Kptfile: resource must have `metadata.name`",
        ),
        (
            &[
                ("Kptfile", KPTFILE),
                ("sub/Kptfile", bare),
                ("sub/x.yaml", "a: 1\n"),
            ],
            "pkg ./sub: input resource list must contain only KRM resources: x.yaml",
        ),
    ];
    for (texts, why) in cases {
        let error = strictly(texts).status.error.unwrap();
        assert!(error.contains(why), "{error}");
    }
    let lenient = built_in(&[("Kptfile", bare), ("values.yaml", "a: 1\n")]);
    assert!(lenient.status.succeeded(), "{:?}", lenient.status);
}

/// Of a key that stands twice a validator sees one value, and a cluster may take the other (Y3).
#[test]
fn y3_no_validator_passes_a_key_that_stands_twice() {
    let twice = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: prod}\nspec: {type: ClusterIP}\nspec: {type: NodePort}\n";
    let validated = KPTFILE.replace("mutators", "validators");
    let why = "service.yaml line 5: the key \"spec\" stands there already in line 4";
    let texts = |kptfile| [("Kptfile", kptfile), ("service.yaml", twice)];
    let rendered = built_in(&texts(&validated));
    let error = rendered.status.error.unwrap();
    assert!(error.contains(why), "{error}");
    let error = strictly(&texts(KPTFILE)).status.error.unwrap();
    assert!(error.contains(why), "{error}");
    let carried = built_in(&texts(KPTFILE));
    assert!(carried.status.succeeded(), "{:?}", carried.status);
    assert_eq!(text(&carried.files, "service.yaml"), twice);
}

#[test]
fn one_function_runs_over_a_package_whatever_its_pipelines_say() {
    let function = model::Function {
        image: Some("set-labels".to_owned()),
        config_map: vec![("team".to_owned(), "a".to_owned())],
        ..model::Function::default()
    };
    let options = Options {
        without_status: true,
        ..Options::default()
    };
    let files = kept(&[("Kptfile", KPTFILE), ("sub/s.yaml", SERVICE)]);
    let one = |config| {
        vectors::drive(Render::one(
            files.clone(),
            function.clone(),
            config,
            options,
        ))
    };
    let rendered = one(None);
    assert!(rendered.status.succeeded(), "{:?}", rendered.status);
    let service = text(&rendered.files, "sub/s.yaml");
    assert!(service.contains("team: a"), "{service}");
    assert!(service.contains("namespace: 'old' # ours"), "{service}");
    // A configuration that is no resource is an error of its own.
    let error = one(Some(Arc::new(Value::map([("a", Value::string("b"))]))));
    let error = error.status.error.unwrap();
    assert!(error.contains("resource must have `apiVersion`"), "{error}");
}

#[test]
fn what_is_no_resource_at_all_is_the_functions_failure() {
    let rendered = with(&[("Kptfile", KPTFILE)], |items| {
        let mut alien = items[0].clone();
        alien.id = None;
        alien.path = None;
        alien.value = Arc::new(Value::map([("a", Value::string("b"))]));
        items.push(alien);
        Output::default()
    });
    assert!(!rendered.status.succeeded());
    let step = &rendered.status.steps[0];
    assert_eq!(step.exit_code, 1);
    assert!(
        step.stderr.contains("missing Resource metadata"),
        "{step:?}"
    );
}

/// What functions made before one failed is kept only where the Kptfile asks for it (V2); a short image is told with
/// its default prefix (A4).
#[test]
fn v2_half_of_a_render_is_kept_where_the_kptfile_asks_for_it() {
    let failing = "    - image: set-annotations\n      configMap: {}\n";
    for (asks, wanted) in [(false, false), (true, true)] {
        let mut kptfile = KPTFILE.to_owned() + failing;
        if asks {
            let local = "    config.kubernetes.io/local-config: \"true\"\n";
            let save = format!("{local}    kpt.dev/save-on-render-failure: \"true\"\n");
            kptfile = kptfile.replace(local, &save);
        }
        let files = kept(&[("Kptfile", &kptfile), ("service.yaml", SERVICE)]);
        let options = Options {
            gate_failure: true,
            ..Options::default()
        };
        let rendered = vectors::render(files, options);
        let images: Vec<_> = rendered
            .status
            .steps
            .iter()
            .map(|s| s.image.as_deref())
            .collect();
        let catalog = "ghcr.io/kptdev/krm-functions-catalog";
        let shown =
            ["set-namespace:v0.4", "set-annotations"].map(|image| format!("{catalog}/{image}"));
        assert_eq!(images, shown.each_ref().map(|image| Some(image.as_str())));
        let service = text(&rendered.files, "service.yaml");
        assert_eq!(service != SERVICE, wanted, "{service}");
        let kptfile = text(&rendered.files, "Kptfile");
        assert!(
            kptfile.contains("conditionType: offshoot.dev/Rendered"),
            "{kptfile}"
        );
    }
}

/// The package `app` with a function that takes its configuration from a path, the files beside it, and what came of it.
fn configured_by(path: &str, more: &[(&str, &str)]) -> Rendered {
    let first = "    - image: set-labels\n      configMap: {team: a}\n";
    let named = format!("{first}    - image: set-namespace\n      configPath: {path}\n");
    let head =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutators:\n";
    let kptfile = format!("{head}{named}");
    let files = [
        &[("Kptfile", kptfile.as_str()), ("service.yaml", SERVICE)],
        more,
    ]
    .concat();
    built_in(&files)
}

#[test]
fn m26_a_configuration_that_cannot_be_one_is_told_before_anything_runs() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: prod}\n";
    let sub = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: sub}\n";
    let below = [("sub/Kptfile", sub), ("sub/c.yaml", config)];
    let deep = [("sub/Kptfile", sub), ("sub/d/c.yaml", config)];
    let out = [(".krmignore", "c.yaml\n"), ("c.yaml", config)];
    for (path, more, why) in [
        (
            "sub/c.yaml",
            &below[..],
            "the file belongs to the subpackage \"sub\"",
        ),
        (
            "sub/d/../d/c.yaml",
            &deep[..],
            "the file belongs to the subpackage \"sub\"",
        ),
        (
            "c.txt",
            &[("c.txt", config)],
            "only files that end in .yaml",
        ),
        ("c.yaml", &out[..], ".krmignore leaves the file out"),
        (
            "c.yaml",
            &[("c.yaml", "a: 1\n")],
            "functionConfig \"c.yaml\": resource must have `apiVersion`",
        ),
        (
            "c.yaml",
            &[("c.yaml", "kind: A\napiVersion: v1\n")],
            "resource must have `metadata.name`",
        ),
        (
            "c.txt",
            &[("c.txt", "just text\n")],
            "functionConfig \"c.txt\": resource must have `apiVersion`",
        ),
        ("c.yaml", &[("c.yaml", "# nothing\n")], "the file is empty"),
    ] {
        let rendered = configured_by(path, more);
        let error = rendered.status.error.clone().unwrap_or_default();
        assert!(error.contains(why), "{path}: {error}");
        assert!(
            error.contains("`pipeline.mutators[1].configPath`"),
            "{path}: {error}"
        );
        assert_eq!(rendered.status.steps, [], "{path}: nothing ran");
    }
    let right = configured_by("sub/../c.yaml", &[("c.yaml", config), ("sub/Kptfile", sub)]);
    assert!(right.status.succeeded(), "{:?}", right.status);
}

#[test]
fn a_list_is_one_configuration() {
    let list = "apiVersion: v1\nkind: List\nmetadata: {name: l}\nitems:\n";
    let item =
        |name: &str| format!("- {{apiVersion: v1, kind: Secret, metadata: {{name: {name}}}}}\n");
    let list = format!("{list}{}{}", item("a"), item("b"));
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutators:\n    - {image: upsert-resource, configPath: list.yaml}\n";
    let rendered = built_in(&[("Kptfile", kptfile), ("list.yaml", &list)]);
    assert!(rendered.status.succeeded(), "{:?}", rendered.status);
    assert_eq!(text(&rendered.files, "list.yaml"), list);
    let mut render = Render::new(
        kept(&[("Kptfile", kptfile), ("list.yaml", &list)]),
        Options::default(),
    );
    let package::render::RenderStep::Run(run) = render.next() else {
        panic!("nothing is to be run");
    };
    let config = run.config.unwrap();
    assert_eq!(config.get("kind").and_then(Value::text), Some("List"));
}

#[test]
fn m26_the_context_of_a_subpackage_is_not_its_parents() {
    let kptfile =
        |name: &str| format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n");
    let root = kptfile("app") + "pipeline:\n  mutators:\n    - image: builtins/gen-pkg-context\n";
    let context =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: db\n";
    let (below, path) = (kptfile("db"), "package-context.yaml");
    let files = [
        ("Kptfile", root.as_str()),
        ("db/Kptfile", below.as_str()),
        ("db/package-context.yaml", context),
    ];
    let rendered = built_in(&files);
    assert!(rendered.status.succeeded(), "{:?}", rendered.status);
    assert_eq!(text(&rendered.files, "db/package-context.yaml"), context);
    let made = text(&rendered.files, path);
    assert!(
        made.contains("name: app\n") && made.contains("local-config: \"true\""),
        "{made}"
    );
    let marked = [&files[..], &[(path, context)]].concat();
    let made = text(&built_in(&marked).files, path).to_owned();
    assert!(
        made.contains("name: app\n") && made.contains("local-config: \"true\""),
        "{made}"
    );
}

/// What is put where no function reads is not there for the next render, which would put another copy.
#[test]
fn m26_nothing_is_put_where_nothing_is_read() {
    let head =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutators:\n";
    let target = "  annotations: {config.kubernetes.io/target-path: x.yaml}\n";
    let config =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: t\n{target}data: {{a: b}}\n");
    let upsert = format!("{head}    - {{image: upsert-resource, configPath: c.yaml}}\n");
    let context = format!("{head}    - image: builtins/gen-pkg-context\n");
    for (kptfile, ignored, place) in [
        (&upsert, "x.yaml\n", "x.yaml"),
        (&context, "package-*.yaml\n", "package-context.yaml"),
    ] {
        let files = [("Kptfile", kptfile.as_str()), ("c.yaml", &config)];
        assert!(built_in(&files).status.succeeded());
        let rendered = built_in(&[&files[..], &[(".krmignore", ignored)]].concat());
        let error = rendered.status.error.unwrap_or_default();
        assert!(
            error.contains(&format!("into {place:?}: .krmignore leaves the file out")),
            "{error}"
        );
        assert!(!rendered.files.contains_key(place));
    }
    for (place, why) in [
        ("README.md", "no resources are read from there"),
        ("new.txt", "no resources are read from there"),
        ("sub/new.txt", "no resources are read from there"),
    ] {
        for moves in [false, true] {
            let files = [
                ("Kptfile", KPTFILE),
                ("README.md", "read me\n"),
                ("service.yaml", SERVICE),
            ];
            let rendered = with(&files, |items| {
                let service = items
                    .iter()
                    .position(|item| item.path.as_deref() == Some("service.yaml"));
                let item = &mut items[service.unwrap()];
                item.path = Some(place.to_owned());
                if !moves {
                    item.id = None;
                }
                Output::default()
            });
            let error = rendered.status.error.unwrap_or_default();
            assert!(error.contains(why), "{place}: {error}");
            assert_eq!(text(&rendered.files, "service.yaml"), SERVICE);
        }
    }
}

/// Such a package could not be saved again, and would lose a file on other systems.
#[test]
fn x1_no_function_makes_two_names_that_differ_in_case_alone() {
    let files = [
        ("Kptfile", KPTFILE),
        ("a.yaml", SERVICE),
        ("Read.md", "read me\n"),
    ];
    let put = |place: &str, moves: bool| {
        with(&files, |items| {
            let mut item = items.last().unwrap().clone();
            item.path = Some(place.to_owned());
            if moves {
                items
                    .iter_mut()
                    .filter(|item| item.path.as_deref() == Some("a.yaml"))
                    .for_each(|item| {
                        item.path = Some(place.to_owned());
                    });
            } else {
                item.id = None;
                item.index = None;
                items.push(item);
            }
            Output::default()
        })
    };
    let refused = put("A.yaml", false);
    let error = refused.status.error.unwrap_or_default();
    assert!(
        error.contains("\"A.yaml\": it differs from \"a.yaml\" in case alone"),
        "{error}"
    );
    assert!(!refused.files.contains_key("A.yaml"));
    // Where all of a file moves, one name is left.
    let moved = put("A.yaml", true);
    assert!(moved.status.succeeded(), "{:?}", moved.status);
    let names: Vec<&str> = moved.files.keys().map(PackagePath::as_str).collect();
    assert_eq!(names, ["A.yaml", "Kptfile", "Read.md"]);
    assert!(put("b.yaml", false).status.succeeded());
}

/// What a failing step had changed until it was refused is not kept, where the rest is (V2).
#[test]
fn x1_half_of_a_step_is_never_kept() {
    let local = "    config.kubernetes.io/local-config: \"true\"\n";
    let save = format!("{local}    kpt.dev/save-on-render-failure: \"true\"\n");
    let kptfile = KPTFILE.replace(local, &save);
    let files = [("Kptfile", kptfile.as_str()), ("a.yaml", SERVICE)];
    let rendered = with(&files, |items| {
        let mut item = items.last().unwrap().clone();
        (item.id, item.index, item.path) = (None, None, Some("A.yaml".to_owned()));
        items.push(item);
        Output::default()
    });
    assert!(!rendered.status.succeeded());
    assert!(!rendered.files.contains_key("A.yaml"));
}
