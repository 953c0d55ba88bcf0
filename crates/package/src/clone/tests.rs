use std::sync::Arc;

use model::{BlobId, CommitId, FileMode};

use super::*;

fn path(text: &str) -> PackagePath {
    PackagePath::parse(text).unwrap()
}

fn files(all: &[(&str, &str)]) -> Files {
    let kept = |(at, (name, text)): (usize, &(&str, &str))| {
        let id = BlobId::from_bytes(&[u8::try_from(at).unwrap(); 20]).unwrap();
        let bytes: Arc<[u8]> = text.as_bytes().into();
        (
            path(name),
            File::Kept {
                id,
                mode: FileMode::Regular,
                bytes,
            },
        )
    };
    all.iter().enumerate().map(kept).collect()
}

fn spec(deployment: bool) -> CloneSpec {
    CloneSpec {
        package: PackageName::parse("team/shop").unwrap(),
        upstream: GitUpstream {
            repo: "https://example.com/blueprints".into(),
            directory: "/shop".into(),
            git_ref: "shop/v1".into(),
        },
        lock: GitLock {
            repo: "https://example.com/blueprints".into(),
            directory: "/shop".into(),
            git_ref: "shop/v1".into(),
            commit: CommitId::parse("27e093250ac9cd22eec516a090b2969442ad89c8"),
        },
        deployment,
    }
}

const KPTFILE: &str = "\
# top comment of the Kptfile
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: demo # name comment
  labels:
    team: core
pipeline:
  # pipeline comment
  mutators:
  - image: set-namespace:v0.4.5 # image comment
# foot comment
";

const CONFIG: &str = "\
# head comment
apiVersion: v1
kind: ConfigMap
metadata: # important
  name: settings # line comment
  namespace: app
data:
  list:
      - a

# foot comment
";

fn text(cloned: &Cloned, name: &str) -> String {
    cloned.files[&path(name)].as_text().unwrap().to_owned()
}

#[test]
fn only_what_must_change_changes() {
    let upstream = files(&[
        ("Kptfile", KPTFILE),
        ("cm.yaml", CONFIG),
        ("README.md", "demo\n"),
        ("comments.yaml", "# nothing here\n"),
        ("values.yaml", "a: 1\n"),
        ("broken.yaml", "a: [\n"),
    ]);
    let cloned = clone(&upstream, &spec(false)).unwrap();
    assert_eq!(
        text(&cloned, "Kptfile"),
        "\
# top comment of the Kptfile
apiVersion: kpt.dev/v1
kind: Kptfile
metadata: # kpt-merge: /team/shop
  name: team/shop # name comment
  labels:
    team: core
  annotations:
    internal.kpt.dev/upstream-identifier: 'kpt.dev|Kptfile|default|team/shop'
upstream:
  type: git
  git:
    repo: https://example.com/blueprints.git
    directory: shop
    ref: shop/v1
upstreamLock:
  type: git
  git:
    repo: https://example.com/blueprints.git
    directory: shop
    ref: shop/v1
    commit: 27e093250ac9cd22eec516a090b2969442ad89c8
pipeline:
  # pipeline comment
  mutators:
  - image: set-namespace:v0.4.5 # image comment
# foot comment
"
    );
    assert_eq!(
        text(&cloned, "cm.yaml"),
        "\
# head comment
apiVersion: v1
kind: ConfigMap
# important
metadata: # kpt-merge: app/settings
  name: settings # line comment
  namespace: app
  annotations:
    internal.kpt.dev/upstream-identifier: '|ConfigMap|app|settings'
data:
  list:
      - a

# foot comment
"
    );
    for name in ["README.md", "comments.yaml", "values.yaml", "broken.yaml"] {
        let kept = &cloned.files[&path(name)];
        assert!(kept.id().is_some(), "{name} is not what it was");
    }
    let warned: Vec<_> = cloned.warnings.iter().map(|w| w.field.as_str()).collect();
    assert_eq!(warned, ["broken.yaml"]);
}

#[test]
fn marking_again_changes_nothing() {
    let upstream = files(&[("Kptfile", KPTFILE), ("cm.yaml", CONFIG)]);
    let once = clone(&upstream, &spec(true)).unwrap();
    assert_eq!(mark(&once.files).files, once.files);
    assert_eq!(clone(&once.files, &spec(true)).unwrap().files, once.files);
}

#[test]
fn a_deployment_package_knows_its_name() {
    let context = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
data:
  # data comment
  name: example # name comment
  region: eu-1
";
    let upstream = files(&[("Kptfile", KPTFILE), ("ctx.yaml", context)]);
    let cloned = clone(&upstream, &spec(true)).unwrap();
    let text = text(&cloned, "ctx.yaml");
    assert!(
        text.ends_with("data:\n  # data comment\n  name: team/shop # name comment\n  region: eu-1\n  package-path: team/shop\n"),
        "{text}"
    );
    let bare = clone(&files(&[("Kptfile", KPTFILE)]), &spec(true)).unwrap();
    assert!(bare.files.contains_key(&path("package-context.yaml")));
    let blueprint = clone(&files(&[("Kptfile", KPTFILE)]), &spec(false)).unwrap();
    assert_eq!(blueprint.files.len(), 1);
}

#[test]
fn marks_are_written_as_the_peer_does() {
    let marked = |text: &str| {
        let cloned = mark(&files(&[("a.yaml", text)]));
        cloned.files[&path("a.yaml")].as_text().unwrap().to_owned()
    };
    // A comment that is there says who it is, whatever its name is now.
    let renamed =
        marked("apiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: ns/orig\n  name: x\n");
    assert!(
        renamed.ends_with(
            "  annotations:\n    internal.kpt.dev/upstream-identifier: '|ConfigMap|ns|orig'\n"
        ),
        "{renamed}"
    );
    // An annotation that is there keeps its style.
    let old = marked(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n    internal.kpt.dev/upstream-identifier: \"|ConfigMap|old|old\"\n",
    );
    assert!(old.contains("metadata: # kpt-merge: /x\n"), "{old}");
    assert!(
        old.ends_with("identifier: \"|ConfigMap|default|x\"\n"),
        "{old}"
    );
    let labels = marked("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {a: b}\n");
    assert!(labels.contains("metadata: # kpt-merge: /\n"), "{labels}");
    for untouched in [
        "apiVersion: v1\nkind: List\nitems: []\n",
        "- a\n",
        "metadata: {}\n",
        "# c\n",
    ] {
        assert_eq!(marked(untouched), untouched);
    }
    let flow = marked("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n");
    assert!(
        flow.contains("'|ConfigMap|default|x'") || flow.contains("\"|ConfigMap|default|x\""),
        "{flow}"
    );
}

#[test]
fn a_package_without_kptfile_is_refused_in_the_peers_words() {
    let why = clone(&files(&[("a.yaml", "a: 1\n")]), &spec(false)).unwrap_err();
    assert_eq!(why.to_string(), "package \"team/shop\" is missing Kptfile");
}

#[test]
fn marks_that_are_at_hand_make_the_same_package() {
    let upstream = files(&[
        ("Kptfile", KPTFILE),
        ("cm.yaml", CONFIG),
        (
            "package-context.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: example\n",
        ),
        ("sub/Kptfile", KPTFILE),
        ("broken.yaml", "a: [\n"),
        ("README.md", "demo\n"),
    ]);
    let marked = mark(&upstream).files;
    assert_ne!(marked[&path("cm.yaml")], upstream[&path("cm.yaml")]);
    for deployment in [false, true] {
        let spec = spec(deployment);
        let alone = clone(&upstream, &spec).unwrap();
        let with = clone_with(&upstream, Some(&marked), &spec).unwrap();
        assert_eq!(with.files, alone.files);
        let context = path("package-context.yaml");
        assert_eq!(
            with.files[&context] == marked[&context],
            !deployment,
            "what the clone changes is marked anew"
        );
    }
}
