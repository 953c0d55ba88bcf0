//! Functions in a pipeline, by cases that no recording holds (M26).

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

#[test]
fn scratch() {
    let pod = |image: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n  - name: a\n    image: {image}\n"
        )
    };
    for (config, image) in [
        ("{name: web, newTag: 2}", "web"),
        ("{name: web, newTag: '2'}", "web@sha256:ab"),
        ("{name: web, newTag: '1.10'}", "web:1 # why"),
        ("{name: web, newTag: 1.10}", "web:1"),
        ("{name: web, newTag: '2'}", "webby:1"),
        ("{name: web, newTag: '2'}", "\"web:1\""),
        ("{name: web, newTag: '2'}", "1"),
        (
            "{name: 'localhost:5000/web', newTag: '2'}",
            "localhost:5000/web",
        ),
        ("{name: '.*', newTag: '2'}", "localhost:5000/web:1"),
        (
            "{name: '.*', newName: 'x', newTag: '2'}",
            "localhost:5000/web:1",
        ),
        ("{name: '(?i)WEB', newTag: '2'}", "web:1"),
        ("{name: 'web:1', newTag: '2'}", "web:1"),
        ("{name: 'web', newName: 'a:5000/b'}", "web:1"),
        ("{name: 'web', digest: 'sha256:cd'}", "web:1"),
        (
            "{name: 'web', digest: 'sha256:cd', newTag: '3'}",
            "web:1@sha256:ab",
        ),
        ("{name: 'web', newTag: '3'}", "web:1@sha512:ab"),
        ("{name: 'a|web', newTag: '3'}", "web-exporter:1"),
        ("{name: '', newTag: '3'}", "web:1"),
        ("{name: web, newTag: ''}", "web:1"),
        ("{name: web, newTag: '2', tag: x}", "web:1"),
    ] {
        let pod = pod(image);
        let all = after(
            &format!("{{image: set-image, configMap: {config}}}"),
            "p.yaml",
            &[("p.yaml", &pod)],
        );
        println!(
            "SET-IMAGE {config} {image} => {}",
            all.lines().last().unwrap_or_default()
        );
    }
    let own = "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetImage\nmetadata: {name: c}\nimage: {name: web, newTag: 1.10}\nadditionalImageFields:\n- {kind: MyApp, path: 'spec/images[]/ref'}\n- {kind: MyApp, path: spec/main}\n";
    let app = "apiVersion: e.com/v1\nkind: MyApp\nmetadata: {name: m}\nspec:\n  main: web:1 # main\n  images:\n  - ref: web:1\n  - ref: other:1\n";
    println!(
        "SET-IMAGE own => {}",
        after(
            "{image: set-image, configPath: c.yaml}",
            "m.yaml",
            &[("c.yaml", own), ("m.yaml", app)]
        )
    );
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: a}}\n";
    for config in [
        "",
        ", configMap: {}",
        ", configMap: {a: 1}",
        ", configMap: {a: 'true'}",
        ", configMap: {a: null}",
        ", configPath: c.yaml",
    ] {
        for own in [
            "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nmetadata: {name: c}\nlabels: [a]\n",
            "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nmetadata: {name: c}\n",
            "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nmetadata: {name: c}\nlabels: {a: 1, b: true}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: {b: c}}\n",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: c}\ndata: {a: b}\n",
        ] {
            if !config.contains("Path") && !own.contains("[a]") {
                continue;
            }
            let rendered = ran(
                &format!("{{image: set-labels{config}}}"),
                &[("c.yaml", own), ("s.yaml", service)],
            );
            println!(
                "SET-LABELS {config} {own:?} => {:?} {:?} {:?}",
                rendered.status.error,
                rendered
                    .status
                    .steps
                    .iter()
                    .map(|s| (
                        s.exit_code,
                        s.results
                            .iter()
                            .map(|r| (r.severity, r.message.clone()))
                            .collect::<Vec<_>>()
                    ))
                    .collect::<Vec<_>>(),
                text(&rendered.files, "s.yaml")
            );
        }
    }
    for target in [
        "../x.yaml",
        "/x.yaml",
        "sub/x.yaml",
        "./n//x.yaml",
        "s.yaml",
        "Kptfile",
        "x.txt",
        "x",
        "n/",
        "''",
        "a/../../x.yaml",
        ".git/x.yaml",
    ] {
        let own = format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: t\n  annotations: {{config.kubernetes.io/target-path: {target}}}\nspec: {{a: b}}\n"
        );
        let sub = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: sub}\n";
        let rendered = ran(
            "{image: upsert-resource, configPath: c.yaml}",
            &[("c.yaml", &own), ("s.yaml", service), ("sub/Kptfile", sub)],
        );
        println!("UPSERT {target} => {:?}", rendered.status.error);
        for (p, f) in &rendered.files {
            if p.as_str() != "Kptfile" && p.as_str() != "sub/Kptfile"
                || rendered.status.error.is_none() && target == "Kptfile"
            {
                println!("   {p}: {:?}", f.as_text());
            }
        }
    }
    for (setters, line) in [
        ("{a: ''}", "x: old # kpt-set: ${a}"),
        ("{a: null}", "x: old # kpt-set: ${a}"),
        ("{a: 1.10}", "x: old # kpt-set: ${a}"),
        ("{image: i}", "x: old # kpt-set: ${image-tag}"),
        (
            "{image: i, image-tag: t}",
            "x: a:b # kpt-set: ${image}:${image-tag}",
        ),
        ("{image-tag: t}", "x: a:b # kpt-set: ${image}:${image-tag}"),
        (
            "{image-tag: t}",
            "x: h:5000/a:b # kpt-set: ${image}:${image-tag}",
        ),
        ("{image-tag: t}", "x: ab # kpt-set: ${image}:${image-tag}"),
        ("{a: b}", "x: old # kpt-set: ${ a }"),
        ("{a.b: c}", "x: old # kpt-set: ${a.b}"),
        ("{a: 'x.*'}", "x: old # kpt-set: ${a}+${a}"),
        ("{a: new}", "x: old+q # kpt-set: ${b}+${c}${a}"),
        ("{a: n}", "x: p-old # kpt-set: p-${a}"),
        ("{a: '$x'}", "x: p-old # kpt-set: p-${a}"),
        ("{a: '${HOME}/bin'}", "x: p # kpt-set: ${a}"),
        ("{a: '[x, y]'}", "x: # kpt-set: ${a}\n- old"),
        ("{a: 'x'}", "x: # kpt-set: ${a}\n- old"),
        ("{a: ''}", "x: # kpt-set: ${a}\n- old"),
        ("{a: n, b: m}", "x: o # kpt-set: ${a}${b}"),
        ("{a: n}", "x: om # kpt-set: ${a}${b}"),
        ("{a: n}", "x: \"\" # kpt-set: ${a}-${b}"),
        ("{b: n}", "x: a-b-c # kpt-set: ${a}-${b}"),
        ("{a: n}", "x: a-b-c # kpt-set: ${a}-${b}"),
        ("{a: n, b: m}", "x: nothing # kpt-set: ${a}-${b}"),
        ("{a: n}", "x: [q] # kpt-set: ${a}"),
        ("{a: n}", "# kpt-set: ${a}\nx: q"),
        ("{a: 'yes'}", "x: q # kpt-set: ${a}"),
        ("{a: '5'}", "x: 4 # kpt-set: ${a}"),
        ("{a: 'multi\\nline'}", "x: q # kpt-set: ${a}"),
    ] {
        let own = format!("apiVersion: e.com/v1\nkind: A\nmetadata: {{name: a}}\n{line}\n");
        let setters = if setters.contains("\\n") {
            setters.replace('\'', "\"")
        } else {
            setters.to_owned()
        };
        println!(
            "SETTERS {setters} {line:?} => {:?}",
            after(
                &format!("{{image: apply-setters, configMap: {setters}}}"),
                "a.yaml",
                &[("a.yaml", &own)]
            )
            .lines()
            .skip(3)
            .collect::<Vec<_>>()
        );
    }
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: prod}\n";
    for path in [
        "Kptfile",
        "dir",
        "/c.yaml",
        "../c.yaml",
        "c.json",
        "''",
        "dir/c.yaml",
        "C.yaml",
        "c.yaml/",
        "two.yaml",
        "list.yaml",
        "kust.yaml",
        "kept/c.yaml",
    ] {
        let rendered = ran(
            &format!("{{image: set-namespace, configPath: {path}}}"),
            &[
                ("c.yaml", config),
                ("dir/c.yaml", config),
                (
                    "c.json",
                    "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"c\"}, \"data\": {\"namespace\": \"prod\"}}",
                ),
                ("two.yaml", &format!("{config}---\n{config}")),
                ("list.yaml", "- a\n"),
                ("kust.yaml", "resources: [a]\n"),
                ("s.yaml", service),
            ],
        );
        println!(
            "CONFIG {path} => {:?} steps {}",
            rendered.status.error,
            rendered.status.steps.len()
        );
    }
    let kptfile = format!("{HEAD}  - {{image: set-namespace, configPath: ../c.yaml}}\n");
    let kptfile = kptfile.replace("name: app", "name: sub");
    let rendered = built_in(&[
        (
            "Kptfile",
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\n",
        ),
        ("sub/Kptfile", &kptfile),
        ("c.yaml", config),
    ]);
    println!(
        "CONFIG sub => {:?} {}",
        rendered.status.error,
        rendered.status.steps.len()
    );
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutators:\n  - {image: set-labels, configMap: {a: b}}\n  validators:\n  - {image: kubeconform, configPath: sub/c.yaml}\n";
    let sub = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: sub}\n";
    let rendered = built_in(&[
        ("Kptfile", kptfile),
        ("sub/Kptfile", sub),
        ("sub/c.yaml", config),
        ("s.yaml", service),
    ]);
    println!(
        "CONFIG validator => {:?} {}",
        rendered.status.error,
        rendered.status.steps.len()
    );
    let sub = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: sub}\npipeline:\n  mutators:\n  - {image: set-labels, configPath: deep/c.yaml}\n";
    let deep = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: deep}\n";
    let rendered = built_in(&[
        (
            "Kptfile",
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutators:\n  - {image: set-labels, configMap: {a: b}}\n",
        ),
        ("sub/Kptfile", sub),
        ("sub/deep/Kptfile", deep),
        ("sub/deep/c.yaml", config),
        ("s.yaml", service),
    ]);
    println!(
        "CONFIG deep => {:?} {}",
        rendered.status.error,
        rendered.status.steps.len()
    );
}
