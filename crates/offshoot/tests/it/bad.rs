//! Bad input: each is told with file, place and way out, and the package stays as it was.

use std::collections::BTreeMap;
use std::path::Path;

use super::local::{Answer, offshoot, put};

fn kptfile(function: &str) -> String {
    format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\npipeline:\n  mutators:\n  - {function}\n"
    )
}

const LABELS: &str = "image: set-labels:v0.2\n    configMap: {a: b}";
const WEB: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web # ours\n";

/// Every file, but for the Kptfile's status, which tells that the render failed (M12).
fn content(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(place) = waiting.pop() {
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let mut bytes = std::fs::read(&path).unwrap();
            if path.ends_with("Kptfile")
                && let Ok(text) = std::str::from_utf8(&bytes)
                && let Some((spec, _)) = text.split_once("\nstatus:")
            {
                bytes = format!("{spec}\n").into_bytes();
            }
            all.insert(
                path.strip_prefix(root).unwrap().display().to_string(),
                bytes,
            );
        }
    }
    all
}

/// Renders a package that cannot be rendered.
fn refused(files: &[(&str, &[u8])], flags: &[&str]) -> Answer {
    let root = tempfile::tempdir().unwrap();
    let package = root.path().join("p");
    put(&package, &[("notes.md", "mine\n")]);
    for (path, bytes) in files {
        let place = package.join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, bytes).unwrap();
    }
    let before = content(&package);
    let mut arguments = vec!["pkg", "render", "p"];
    arguments.extend(flags);
    let answer = offshoot(root.path(), &arguments, "");
    assert_eq!(answer.code, 1, "{}", answer.err);
    assert_eq!(
        content(&package),
        before,
        "the package is unchanged: {}",
        answer.err
    );
    assert!(
        answer.err.contains("error: cannot render p: "),
        "{}",
        answer.err
    );
    answer
}

#[test]
fn files_that_cannot_be_read_are_named_with_their_place() {
    let kptfile = kptfile(LABELS);
    let nested = (0..1_100).fold(String::new(), |text, at| text + &" ".repeat(at) + "a:\n");
    let laughs = (1..30).fold("a0: &a0 [x]\n".to_owned(), |text, at| {
        let before = at - 1;
        text + &format!(
            "a{at}: &a{at} [{}]\n",
            vec![format!("*a{before}"); 10].join(", ")
        )
    });
    let cases: [(&str, Vec<u8>, &[&str]); 8] = [
        (
            "not UTF-8",
            b"a: \xff\xfe\xfd\n".to_vec(),
            &["x.yaml", "not text"],
        ),
        ("binary", b"\x00\x01\x02".to_vec(), &["x.yaml", "not text"]),
        ("no YAML", b"kind: A\nb: [\n".to_vec(), &["x.yaml", "line "]),
        (
            "a tab",
            b"kind: A\nb:\n\tc: 1\n".to_vec(),
            &["x.yaml", "line 3"],
        ),
        ("nested maps", nested.into_bytes(), &["x.yaml", "line "]),
        ("billion laughs", laughs.into_bytes(), &["x.yaml"]),
        (
            "no resource",
            b"a: 1\n".to_vec(),
            &["x.yaml", "must have `apiVersion`"],
        ),
        ("a list", b"- a\n- b\n".to_vec(), &["x.yaml"]),
    ];
    for (what, bytes, wanted) in cases {
        let answer = refused(
            &[("Kptfile", kptfile.as_bytes()), ("sub/x.yaml", &bytes)],
            &[],
        );
        for part in wanted {
            assert!(
                answer.err.contains(part),
                "{what}: {part} in {}",
                answer.err
            );
        }
        assert!(answer.err.len() < 4_000, "{what}: {}", answer.err);
    }
}

#[test]
fn odd_but_valid_files_are_rendered() {
    let long = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: long}}\ndata:\n  a: {}\n",
        "x".repeat(10 << 20)
    );
    for (what, text) in [
        ("a line of 10 MB", long.as_str()),
        (
            "CR only",
            "apiVersion: v1\rkind: ConfigMap\rmetadata:\r  name: cr\r",
        ),
        (
            "CRLF",
            "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: crlf\r\n",
        ),
        (
            "merge keys",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: &m {x: y}\nmore:\n  <<: *m\n",
        ),
        (
            "a mark",
            "\u{feff}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bom}\n",
        ),
    ] {
        let root = tempfile::tempdir().unwrap();
        put(
            root.path(),
            &[("p/Kptfile", &kptfile(LABELS)), ("p/x.yaml", text)],
        );
        let answer = offshoot(root.path(), &["pkg", "render", "p"], "");
        assert_eq!(answer.code, 0, "{what}: {}", answer.err);
        let after = std::fs::read_to_string(root.path().join("p/x.yaml")).unwrap();
        assert!(
            after.contains("labels") && after.len() > text.len(),
            "{what}"
        );
        let lines: Vec<&str> = text.lines().collect();
        let kept = lines.iter().filter(|line| after.contains(**line)).count();
        assert!(
            kept + 1 >= lines.len(),
            "{what}: {kept} of {} lines",
            lines.len()
        );
    }
}

#[test]
fn kptfiles_that_cannot_be_used_are_named() {
    let version = kptfile(LABELS).replace("kpt.dev/v1\n", "kpt.dev/v1alpha2\n");
    let outside = kptfile("image: set-labels:v0.2\n    configPath: ../labels.yaml");
    let bare = kptfile("name: nothing");
    for (text, wanted) in [
        (version.as_str(), "v1alpha2"),
        ("kind: [\n", "line "),
        (
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nkind: Kptfile\nmetadata: {name: a}\n",
            "kind",
        ),
        (outside.as_str(), "configPath"),
        (bare.as_str(), "must specify a functon"),
    ] {
        let answer = refused(
            &[("Kptfile", text.as_bytes()), ("web.yaml", WEB.as_bytes())],
            &[],
        );
        assert!(answer.err.contains(wanted), "{wanted} in {}", answer.err);
    }
    let answer = refused(&[("web.yaml", WEB.as_bytes())], &[]);
    assert!(
        answer.err.contains("package has no Kptfile"),
        "{}",
        answer.err
    );
}

#[test]
fn functions_that_cannot_run_or_misbehave_are_named_and_leave_the_package() {
    let quick: &[&str] = &["--allow-exec", "--fn-timeout", "1"];
    let allowed: &[&str] = &["--allow-exec", "--fn-timeout", "60", "--fn-output", "1"];
    let quoted = |command: &str| format!("exec: {}", serde_json::to_string(command).unwrap());
    let outside = quoted("sed -e 's|path: web.yaml|path: ../out.yaml|'");
    let broken = quoted(r"printf 'kind: ResourceList\nitems: ['");
    for (function, flags, wanted) in [
        (
            "image: example.com/mine:v1",
            &[][..],
            &["example.com/mine:v1", "--fn-runtime", "offshoot fn list"][..],
        ),
        ("exec: cat", &[], &["--allow-exec"]),
        (
            "exec: echo garbage",
            allowed,
            &["echo garbage", "offshoot fn run"],
        ),
        (&broken, allowed, &["line 2"]),
        (
            "exec: sleep 100",
            quick,
            &["sleep 100", "exceeded its limit of 1 s"],
        ),
        ("exec: \"yes\"", allowed, &["bytes of output"]),
        ("exec: \"false\"", allowed, &["false"]),
        (&outside, allowed, &["../out.yaml", "outside of package"]),
        (
            "image: starlark\n    configPath: script.yaml",
            &[],
            &["s:2:1", "undefined_name"],
        ),
        ("image: kubeconform", &[], &["--schemas=DIR"]),
        (
            "image: set-namespace\n    configMap: {}",
            &[],
            &["namespace"],
        ),
    ] {
        let script = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: s\n  annotations: {config.kubernetes.io/local-config: \"true\"}\nsource: |\n  x = 1\n  undefined_name()\n";
        let files = [
            ("Kptfile", kptfile(function)),
            ("web.yaml", WEB.to_owned()),
            ("script.yaml", script.to_owned()),
        ];
        let files: Vec<(&str, &[u8])> = files
            .iter()
            .map(|(path, text)| (*path, text.as_bytes()))
            .collect();
        let answer = refused(&files, flags);
        for part in wanted {
            assert!(
                answer.err.contains(part),
                "{function}: {part} in {}",
                answer.err
            );
        }
    }
}

#[test]
fn a_script_is_ended_by_the_system_where_it_takes_too_much() {
    // One expression that the interpreter cannot weigh before it is made.
    let hungry = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: s\nsource: |\n  x = 'a' * 2000000000\n";
    let files = [
        (
            "Kptfile",
            kptfile("image: starlark\n    configPath: script.yaml"),
        ),
        ("web.yaml", WEB.to_owned()),
        ("script.yaml", hungry.to_owned()),
    ];
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, text)| (*path, text.as_bytes()))
        .collect();
    let answer = refused(&files, &[]);
    assert!(answer.err.contains("256 MiB of memory"), "{}", answer.err);
}

#[test]
fn a_command_sees_no_credentials_of_ours() {
    let root = tempfile::tempdir().unwrap();
    put(
        root.path(),
        &[
            ("p/Kptfile", &kptfile("exec: sh -c 'env >&2; cat'")),
            ("p/web.yaml", WEB),
        ],
    );
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["pkg", "render", "p", "--allow-exec"])
        .current_dir(root.path())
        .env("EXAMPLE_TOKEN", "s3cret")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.contains("PATH="), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
}

#[test]
fn a_broken_file_is_named_also_where_no_function_runs() {
    let bare = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\n";
    for (what, bytes) in [
        ("no YAML", &b"a: 1\nb: [\n"[..]),
        ("not UTF-8", b"a: 1\nb: \xff\n"),
        (
            "conflict markers",
            b"<<<<<<< local\na: 1\n=======\na: 2\n>>>>>>> upstream\n",
        ),
    ] {
        let files = [("Kptfile", bare.as_bytes()), ("sub/x.yaml", bytes)];
        let answer = refused(&files, &[]);
        for part in ["sub/x.yaml: line ", ".krmignore"] {
            assert!(
                answer.err.contains(part),
                "{what}: {part} in {}",
                answer.err
            );
        }
        let ignored = tempfile::tempdir().unwrap();
        put(
            ignored.path(),
            &[("p/Kptfile", bare), ("p/.krmignore", "sub\n")],
        );
        std::fs::create_dir(ignored.path().join("p/sub")).unwrap();
        std::fs::write(ignored.path().join("p/sub/x.yaml"), bytes).unwrap();
        let answer = offshoot(ignored.path(), &["pkg", "render", "p"], "");
        assert_eq!(answer.code, 0, "{what}: {}", answer.err);
    }
}

/// Merges three packages that differ in `x.yaml`; the answer, and what became of the file.
fn merged(root: &Path, sides: [&[u8]; 3]) -> (Answer, Vec<u8>) {
    for (name, bytes) in ["base", "local", "upstream"].into_iter().zip(sides) {
        put(
            &root.join(name),
            &[("Kptfile", &kptfile(LABELS)), ("web.yaml", WEB)],
        );
        std::fs::write(root.join(name).join("x.yaml"), bytes).unwrap();
    }
    let arguments = "pkg merge --base base --local local --upstream upstream --out local";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let answer = offshoot(root, &arguments, "");
    let file = std::fs::read(root.join("local/x.yaml")).unwrap();
    (answer, file)
}

#[test]
fn a_merge_carries_what_it_cannot_read_and_loses_nothing() {
    let nested = (0..1_100).fold(String::new(), |text, at| text + &" ".repeat(at) + "a:\n");
    let laughs = (1..30).fold("a0: &a0 [x]\n".to_owned(), |text, at| {
        let alias = format!("*a{}", at - 1);
        text + &format!("a{at}: &a{at} [{}]\n", [alias.as_str(); 10].join(", "))
    });
    let long = format!("a: {}\n", "x".repeat(10 << 20));
    let cases: [(&str, &[u8]); 9] = [
        ("not UTF-8", b"a: \xff\n"),
        ("binary", b"\x00\x01\xfe\n"),
        ("no YAML", b"a: [\n"),
        ("a tab", b"b:\n\tc: 1\n"),
        ("keys that stand twice", b"a: 1\na: 2\n"),
        ("CR only", b"a: 1\rb: 2\r"),
        ("nested maps", nested.as_bytes()),
        ("billion laughs", laughs.as_bytes()),
        ("a line of 10 MB", long.as_bytes()),
    ];
    for (what, base) in cases {
        let root = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["# ours", "# theirs"].map(|end| [base, end.as_bytes()].concat());
        let (answer, file) = merged(root.path(), [base, base, &theirs]);
        assert!(answer.code == 0 && file == theirs, "{what}: {}", answer.err);
        let (answer, file) = merged(root.path(), [base, &ours, base]);
        assert!(answer.code == 0 && file == ours, "{what}: {}", answer.err);
        let (answer, file) = merged(root.path(), [base, &ours, &theirs]);
        // Where only comments differ, ours stays and nobody needs to look; what is text is a person's to decide.
        let recorded = answer.out.contains("x.yaml") || file == ours;
        assert!(recorded, "{what}: {}\n{}", answer.out, answer.err);
    }
}

#[test]
fn a_merge_names_the_side_whose_kptfile_cannot_be_used() {
    for (side, text, wanted) in [
        (
            "upstream",
            kptfile(LABELS).replace("kpt.dev/v1\n", "kpt.dev/v1alpha2\n"),
            "v1alpha2",
        ),
        ("base", "kind: [\n".to_owned(), "line 1"),
        ("local", "a: \u{0}\n".to_owned(), "Kptfile"),
    ] {
        let root = tempfile::tempdir().unwrap();
        for name in ["base", "local", "upstream"] {
            let text = if name == side {
                text.clone()
            } else {
                kptfile(LABELS)
            };
            put(
                &root.path().join(name),
                &[("Kptfile", &text), ("web.yaml", WEB)],
            );
        }
        let before = content(root.path());
        let arguments = "pkg merge --base base --local local --upstream upstream --out local";
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let answer = offshoot(root.path(), &arguments, "");
        assert_eq!(answer.code, 1, "{side}: {}", answer.err);
        let named = format!("the {side} package has no readable Kptfile");
        for part in [named.as_str(), wanted, "hint: "] {
            assert!(
                answer.err.contains(part),
                "{side}: {part} in {}",
                answer.err
            );
        }
        assert_eq!(content(root.path()), before, "{side}");
    }
}
