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
