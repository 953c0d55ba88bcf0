//! Functions in a pipeline, by cases that no recording holds (M26).

use model::Severity;
use package::render::Rendered;

use crate::render::built_in;
use crate::text;

const HEAD: &str =
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutators:\n";

/// The package `app` after one function of its pipeline.
fn ran(function: &str, files: &[(&str, &str)]) -> Rendered {
    let kptfile = format!("{HEAD}  - {function}\n");
    built_in(&[&[("Kptfile", kptfile.as_str())], files].concat())
}

/// What a file holds afterwards, or why nothing was done.
fn after(function: &str, path: &str, files: &[(&str, &str)]) -> String {
    let rendered = ran(function, files);
    match rendered.status.error {
        Some(error) => error,
        None => text(&rendered.files, path).to_owned(),
    }
}

const SERVICE: &str =
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: a}}\n";

/// The resource `a` after one function, from its third line on, or why nothing was done.
fn line(function: &str, line: &str) -> String {
    let resource = format!("apiVersion: e.com/v1\nkind: A\nmetadata: {{name: a}}\n{line}\n");
    let text = after(function, "a.yaml", &[("a.yaml", &resource)]);
    let kept = text.strip_prefix("apiVersion: e.com/v1\nkind: A\nmetadata: {name: a}\n");
    kept.map_or_else(|| text.clone(), |rest| rest.trim_end().to_owned())
}

#[test]
fn m26_set_image_takes_its_name_for_a_pattern() {
    for (config, image, wanted) in [
        ("{name: web, newTag: 2}", "web", "web:2"),
        ("{name: web, newTag: '2'}", "web@sha256:ab", "web:2"),
        ("{name: web, newTag: 1.10}", "web:1 # why", "web:1.10 # why"),
        ("{name: web, newTag: '2'}", "webby:1", "webby:1"),
        ("{name: web, newTag: '2'}", "my/web:1", "my/web:1"),
        ("{name: web, newTag: '2'}", "\"web:1\"", "\"web:2\""),
        ("{name: web, newTag: '2'}", "1", "1"),
        (
            "{name: 'h:5000/web', newTag: '2'}",
            "h:5000/web",
            "h:5000/web:2",
        ),
        (
            "{name: '.*', newName: x, newTag: '2'}",
            "h:5000/web:1",
            "x:2",
        ),
        ("{name: '(?i)WEB', newTag: '2'}", "web:1", "web:2"),
        ("{name: 'web:1', newTag: '2'}", "web:1", "web:2"),
        ("{name: web, newName: 'a:5000/b'}", "web:1", "a:5000/b:1"),
        (
            "{name: web, digest: 'sha256:cd', newTag: '3'}",
            "web:1@sha256:ab",
            "web@sha256:cd",
        ),
        (
            "{name: 'a|web', newTag: '3'}",
            "web-exporter:1",
            "web-exporter:1",
        ),
    ] {
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n  - image: {image}\n"
        );
        let function = format!("{{image: set-image, configMap: {config}}}");
        let text = after(&function, "p.yaml", &[("p.yaml", &pod)]);
        let image_after = text
            .trim_end()
            .rsplit_once("image: ")
            .map(|(_, image)| image);
        assert_eq!(image_after, Some(wanted), "{config} {image}: {text}");
    }
    let config = "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetImage\nmetadata: {name: c}\nimage: {name: w.b, newTag: 1.10}\nadditionalImageFields:\n- {kind: A, path: 'images[]/ref'}\n- {kind: B, path: main}\n- {path: main/image}\n";
    let app = "apiVersion: e.com/v1\nkind: A\nmetadata: {name: a}\nmain: {image: web:1}\nimages:\n- ref: web:1 # ours\n- ref: other:1\n";
    let text = after(
        "{image: set-image, configPath: c.yaml}",
        "a.yaml",
        &[("c.yaml", config), ("a.yaml", app)],
    );
    assert_eq!(text, app.replace("web:1", "web:1.10"));
}

#[test]
fn m26_set_labels_says_no_less_than_its_exit_code() {
    let own = |rest: &str| {
        format!("apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nmetadata: {{name: c}}\n{rest}")
    };
    let map =
        |rest: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n{rest}");
    for (config, why) in [
        (String::new(), "`FunctionConfig` is not given"),
        (
            own("labels: [a]\n"),
            "`labels` must be a mapping of strings",
        ),
        (
            own("labels: {a: x, b: [c]}\n"),
            "`labels.b` must be a string",
        ),
        (
            map("data: {a: x, b: {c: d}}\n"),
            "`data.b` must be a string",
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: c}\ndata: {a: b}\n".to_owned(),
            "unknown functionConfig Kind=Secret",
        ),
    ] {
        let function = match config.is_empty() {
            true => "{image: set-labels}",
            false => "{image: set-labels, configPath: c.yaml}",
        };
        let beside = [("c.yaml", config.as_str()), ("s.yaml", SERVICE)];
        let rendered = ran(function, &beside[usize::from(config.is_empty())..]);
        let error = rendered.status.error.as_deref().unwrap_or_default();
        assert!(error.contains(why), "{config}: {error}");
        let step = &rendered.status.steps[0];
        assert_eq!(step.exit_code, 1, "{config}");
        assert!(
            step.results
                .iter()
                .any(|result| result.severity == Severity::Error),
            "{config}: {step:?}"
        );
        assert_eq!(text(&rendered.files, "s.yaml"), SERVICE);
    }
    // Texts that another reader takes for something else are quoted, as those of flow maps are.
    for (labels, wanted) in [
        (
            "{a: 1, b: true}",
            "{name: s, labels: {a: \"1\", b: \"true\"}}",
        ),
        ("{a: null}", "{name: s, labels: {a: \"\"}}"),
    ] {
        let function = format!("{{image: set-labels, configMap: {labels}}}");
        let text = after(&function, "s.yaml", &[("s.yaml", SERVICE)]);
        assert!(text.contains(wanted), "{labels}: {text}");
    }
}

#[test]
fn m26_upsert_resource_adds_where_its_target_path_says_or_says_why_not() {
    let sub = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: sub}\n";
    let wanted = |target: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: t\n  annotations: {{config.kubernetes.io/target-path: {target}}}\nspec: {{a: b}}\n"
        )
    };
    let upserted = |target: &str| {
        let config = wanted(target);
        let files = [
            ("c.yaml", &*config),
            ("s.yaml", SERVICE),
            ("sub/Kptfile", sub),
        ];
        ran("{image: upsert-resource, configPath: c.yaml}", &files)
    };
    let new = "apiVersion: v1\nkind: Service\nmetadata:\n  name: t\nspec:\n  a: b\n";
    for (target, file, holds) in [
        ("x.yaml", "x.yaml", new.to_owned()),
        ("./n//x.yml", "n/x.yml", new.to_owned()),
        ("sub/x.yaml", "sub/x.yaml", new.to_owned()),
        ("s.yaml", "s.yaml", format!("{SERVICE}---\n{new}")),
    ] {
        let rendered = upserted(target);
        assert!(
            rendered.status.succeeded(),
            "{target}: {:?}",
            rendered.status
        );
        assert_eq!(text(&rendered.files, file), holds, "{target}");
        assert_eq!(text(&rendered.files, "c.yaml"), wanted(target));
        // A second run finds what the first one made.
        let texts = rendered.files.iter();
        let texts: Vec<(&str, &str)> = texts
            .map(|(path, file)| (path.as_str(), file.as_text().unwrap()))
            .collect();
        assert_eq!(text(&built_in(&texts).files, file), holds, "{target}");
    }
    let outside = "must not modify resources outside of package";
    for (target, why) in [
        ("../x.yaml", outside),
        ("a/../../x.yaml", outside),
        (".git/x.yaml", outside),
        ("Kptfile", "name a file that holds resources"),
        ("sub/Kptfile", "name a file that holds resources"),
        ("x.txt", "name a file that holds resources"),
        ("n/", "name a file that holds resources"),
        ("''", "name a file that holds resources"),
    ] {
        let rendered = upserted(target);
        let error = rendered.status.error.as_deref().unwrap_or_default();
        assert!(error.contains(why), "{target}: {error}");
        assert_eq!(rendered.files.len(), 4, "{target}: nothing is added");
    }
}

/// Setters, a field with its comment, and what comes of it.
const SET: &[[&str; 3]] = &[
    [
        "{a: ''}",
        "x: old # kpt-set: ${a}",
        "x: \"\" # kpt-set: ${a}",
    ],
    [
        "{a: null}",
        "x: old # kpt-set: ${a}",
        "x: \"\" # kpt-set: ${a}",
    ],
    [
        "{a: 1.10}",
        "x: old # kpt-set: ${a}",
        "x: 1.10 # kpt-set: ${a}",
    ],
    [
        "{a.b: c}",
        "x: old # kpt-set: ${a.b}",
        "x: c # kpt-set: ${a.b}",
    ],
    [
        "{a: 'yes'}",
        "x: q # kpt-set: ${a}",
        "x: \"yes\" # kpt-set: ${a}",
    ],
    [
        "{a: '$x'}",
        "x: p # kpt-set: p-${a}",
        "x: p-$x # kpt-set: p-${a}",
    ],
    [
        "{a: 'x.*'}",
        "x: q # kpt-set: ${a}+${a}",
        "x: x.*+x.* # kpt-set: ${a}+${a}",
    ],
    // One name begins like another.
    [
        "{i: j}",
        "x: old # kpt-set: ${i-tag}",
        "x: old # kpt-set: ${i-tag}",
    ],
    [
        "{i: j, i-tag: t}",
        "x: a:b # kpt-set: ${i}:${i-tag}",
        "x: j:t # kpt-set: ${i}:${i-tag}",
    ],
    [
        "{i-tag: t}",
        "x: h:50/a:b # kpt-set: ${i}:${i-tag}",
        "x: h:50/a:t # kpt-set: ${i}:${i-tag}",
    ],
    [
        "{b: n}",
        "x: a-b-c # kpt-set: ${a}-${b}",
        "x: a-b-n # kpt-set: ${a}-${b}",
    ],
    // What is given needs no field that fits the pattern.
    [
        "{a: n, b: m}",
        "x: none # kpt-set: ${a}-${b}",
        "x: n-m # kpt-set: ${a}-${b}",
    ],
    [
        "{a: n, b: m}",
        "x: o # kpt-set: ${a}${b}",
        "x: nm # kpt-set: ${a}${b}",
    ],
    [
        "{a: '[p, q]'}",
        "x: # kpt-set: ${a}\n- old",
        "x: [p, q] # kpt-set: ${a}",
    ],
    [
        "{a: ''}",
        "x: # kpt-set: ${a}\n- old",
        "x: [] # kpt-set: ${a}",
    ],
];

#[test]
fn m26_apply_setters_takes_what_it_is_given_and_reads_the_rest_off_the_field() {
    for [setters, field, wanted] in SET {
        let function = format!("{{image: apply-setters, configMap: {setters}}}");
        assert_eq!(line(&function, field), *wanted, "{setters}");
    }
    for (setters, field, why) in [
        (
            "{b: n}",
            "x: ab # kpt-set: ${a}:${b}",
            "values for setters [${a}] must be provided",
        ),
        (
            "{a: n}",
            "x: om # kpt-set: ${a}${b}",
            "values for setters [${b}] must be provided",
        ),
        (
            "{a: x}",
            "x: # kpt-set: ${a}\n- old",
            "must be an array of values",
        ),
    ] {
        let function = format!("{{image: apply-setters, configMap: {setters}}}");
        let error = line(&function, field);
        assert!(error.contains(why), "{setters} {field}: {error}");
    }
}

#[test]
fn m26_a_configuration_below_or_outside_of_the_package_is_told_before_anything_runs() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: prod}\n";
    let two = format!("{config}---\n{config}");
    let json = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"c\"}, \"data\": {\"namespace\": \"prod\"}}\n";
    let files = [
        ("c.yaml", config),
        ("dir/c.yaml", config),
        ("c.json", json),
        ("two.yaml", two.as_str()),
        ("list.yaml", "- a\n"),
        ("s.yaml", SERVICE),
    ];
    for (path, why) in [
        ("dir", "no such file"),
        ("C.yaml", "no such file"),
        ("/c.yaml", "path must be relative"),
        ("../c.yaml", "path must not be outside the package"),
        ("two.yaml", "must not contain more than one config, got 2"),
        ("list.yaml", "resource must have `apiVersion`"),
    ] {
        let rendered = ran(
            &format!("{{image: set-namespace, configPath: {path}}}"),
            &files,
        );
        let error = rendered.status.error.as_deref().unwrap_or_default();
        let field = "`pipeline.mutators[0].configPath`";
        assert!(
            error.contains(why) && error.contains(field),
            "{path}: {error}"
        );
        assert_eq!(rendered.status.steps, [], "{path}: nothing ran");
    }
    for path in ["c.yaml", "dir/c.yaml", "c.json", "./dir/../c.yaml"] {
        let named = format!("{{image: set-namespace, configPath: {path}}}");
        let good = files.iter().filter(|(path, _)| *path != "list.yaml");
        let good: Vec<_> = good.copied().collect();
        let text = after(&named, "s.yaml", &good);
        assert!(text.contains("namespace: prod"), "{path}: {text}");
    }
}

#[test]
fn m26_a_configuration_of_a_subpackage_is_none_for_a_validator_or_a_package_above() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: prod}\n";
    // A validator's, and one of a subpackage that lies in another one below it.
    let named =
        |name: &str| format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {{name: {name}}}\n");
    let step = "pipeline:\n  mutators:\n  - {image: set-labels, configMap: {a: b}}\n";
    let validator = "  validators:\n  - {image: kubeconform, configPath: sub/c.yaml}\n";
    let root = named("app") + step + validator;
    let sub =
        named("sub") + "pipeline:\n  mutators:\n  - {image: set-labels, configPath: deep/c.yaml}\n";
    let (plain, app, deep) = (named("sub"), named("app") + step, named("deep"));
    for (files, field, owner) in [
        (
            vec![
                ("Kptfile", &*root),
                ("sub/Kptfile", &*plain),
                ("sub/c.yaml", config),
            ],
            "pipeline.validators[0].configPath",
            "subpackage \"sub\"",
        ),
        (
            vec![
                ("Kptfile", &*app),
                ("sub/Kptfile", &*sub),
                ("sub/deep/Kptfile", &*deep),
                ("sub/deep/c.yaml", config),
            ],
            "pipeline.mutators[0].configPath",
            "subpackage \"deep\"",
        ),
    ] {
        let rendered = built_in(&[&files[..], &[("s.yaml", SERVICE)]].concat());
        let error = rendered.status.error.as_deref().unwrap_or_default();
        assert!(error.contains(field) && error.contains(owner), "{error}");
        assert_eq!(rendered.status.steps, []);
        assert_eq!(text(&rendered.files, "s.yaml"), SERVICE);
    }
}
