use super::*;
use crate::kptfile::Kptfile;

fn text(files: &Files, path: &str) -> String {
    files[&PackagePath::parse(path).unwrap()]
        .as_text()
        .unwrap()
        .to_owned()
}

#[test]
fn a_new_package_is_the_peers() {
    let package = PackageName::parse("site").unwrap();
    let spec = InitSpec {
        description: "A new site".into(),
        keywords: vec!["web".into(), "shop".into()],
        site: "https://site.example.test".into(),
    };
    let files = init(&package, &spec);
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: site\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  site: https://site.example.test\n  description: A new site\n  keywords:\n    - web\n    - shop\n";
    assert_eq!(text(&files, "Kptfile"), kptfile);
    let readme = "# site\n\n## Description\nA new site\n\n## Usage\n\n### Fetch the package\n`kpt pkg get REPO_URI[.git]/PKG_PATH[@VERSION] site`\nDetails: https://kpt.dev/reference/cli/pkg/get/\n\n### View package content\n`kpt pkg tree site`\nDetails: https://kpt.dev/reference/cli/pkg/tree/\n\n### Apply the package\n```\nkpt live init site\nkpt live apply site --reconcile-timeout=2m --output=table\n```\nDetails: https://kpt.dev/reference/cli/live/\n";
    assert_eq!(text(&files, "README.md"), readme);
    let context = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: example\n";
    assert_eq!(text(&files, "package-context.yaml"), context);
}

#[test]
fn every_description_reads_back() {
    let package = PackageName::parse("team/site").unwrap();
    for description in [
        "yes",
        "two\nlines\n",
        " a\n  b",
        "a: b # c",
        "- x",
        "",
        "'\"",
        "\ttab",
        "0777",
    ] {
        let spec = InitSpec {
            description: description.into(),
            keywords: vec![description.into(), "on".into()],
            ..InitSpec::default()
        };
        let files = init(&package, &spec);
        let kptfile = Kptfile::of_files(&files).unwrap();
        assert_eq!(kptfile.fields().info.description, description);
        assert_eq!(kptfile.fields().info.keywords, [description, "on"]);
        assert_eq!(kptfile.fields().name, "team/site");
    }
}
