//! Input that is wrong: the render says where and what to do about it, and the package stays as it was.

use model::{File, Files, PackagePath};
use package::render::{Options, Render};

use crate::vectors;

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n  - image: \
    set-labels:v0.2\n    configMap:\n      team: blue\n";

fn with(path: &str, bytes: Vec<u8>) -> Files {
    let file = |path: &str, bytes: Vec<u8>| (PackagePath::parse(path).unwrap(), File::new(bytes));
    Files::from([file("Kptfile", KPTFILE.into()), file(path, bytes)])
}

fn resource(rest: &str) -> Vec<u8> {
    format!("apiVersion: v1\nkind: A\n{rest}").into_bytes()
}

fn subpackage(rest: &str) -> Vec<u8> {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\n{rest}").into_bytes()
}

fn laughs() -> Vec<u8> {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let alias = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(","));
    }
    text.into_bytes()
}

#[test]
fn what_cannot_be_read_is_named_with_its_line_and_nothing_changes() {
    let nested: String = (0..1_000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    let outside = "metadata:\n  name: s\npipeline:\n  mutators:\n  - image: set-labels:v0.2\n    configPath: ../../x.yaml\n";
    let unknown = "metadata:\n  name: s\npipeline:\n  mutators:\n  - image: nobody-knows:v0.2\n";
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        (
            "bad.yaml",
            [resource("metadata:\n  name: "), vec![0xff, b'\n']].concat(),
            &[
                "bad.yaml: line 4: the file is not text in UTF-8",
                ".krmignore",
            ],
        ),
        (
            "bad.yaml",
            b"\x7fELF\0\0\x01".to_vec(),
            &["bad.yaml: line 1"],
        ),
        (
            "bad.yaml",
            resource("metadata:\n\tname: a\n"),
            &["bad.yaml: line 4, column 1", "tab"],
        ),
        (
            "bad.yaml",
            nested.into_bytes(),
            &["bad.yaml: line 101", "nested deeper than 100"],
        ),
        (
            "bad.yaml",
            laughs(),
            &["bad.yaml: line 4", "excessive aliasing"],
        ),
        (
            "sub/Kptfile",
            b"apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\n".to_vec(),
            &["\"sub\"", "update the package to kpt.dev/v1"],
        ),
        (
            "sub/Kptfile",
            subpackage("metadata: [a]\npipeline: x\n"),
            &["\"sub\"", "line 3", "line 4"],
        ),
        (
            "sub/Kptfile",
            subpackage(outside),
            &["pipeline.mutators[0].configPath", "outside the package"],
        ),
        (
            "sub/Kptfile",
            subpackage(unknown),
            &["./sub", "nobody-knows", "--fn-runtime"],
        ),
    ];
    for (path, bytes, words) in cases {
        let files = with(path, bytes);
        let rendered = vectors::drive(Render::new(files.clone(), Options::default()));
        let error = rendered.status.error.unwrap_or_default();
        for word in words {
            assert!(error.contains(word), "{path}: {error:?} has no {word:?}");
        }
        assert_eq!(rendered.files[path], files[path], "{path}: {error}");
        let kptfile = rendered.files["Kptfile"].as_text().unwrap();
        assert!(
            kptfile.starts_with(KPTFILE),
            "only the status is new:\n{kptfile}"
        );
    }
}

#[test]
fn what_is_odd_but_legal_is_rendered_and_keeps_its_bytes() {
    let long = format!("metadata: {{name: x}}\na: {}\n", "x".repeat(10 << 20));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (resource("metadata:\n  name: a\n  name: b\n"), "  name: b\n"),
        (resource(&long), &long[22..]),
        (
            resource("metadata:\n  name: a\nx: &x {b: 1}\ny:\n  <<: *x # merged\n"),
            "x: &x {b: 1}\ny:\n  <<: *x # merged\n",
        ),
        (
            b"apiVersion: v1\rkind: A\rmetadata:\r  name: a # old\r".to_vec(),
            "kind: A\rmetadata:\r  name: a # old\r",
        ),
    ];
    for (bytes, kept) in cases {
        let rendered = vectors::drive(Render::new(with("odd.yaml", bytes), Options::default()));
        assert_eq!(rendered.status.error, None);
        let text = rendered.files["odd.yaml"].as_text().unwrap();
        let shown: String = text.chars().take(300).collect();
        assert!(
            text.contains(kept) && text.contains("team: blue"),
            "{shown:?}"
        );
    }
}
