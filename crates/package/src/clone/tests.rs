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
    let marked = Marked::of(&upstream, &spec(false).upstream, &spec(false).lock);
    let files = marked.files();
    assert_ne!(files[&path("cm.yaml")], upstream[&path("cm.yaml")]);
    for deployment in [false, true] {
        let spec = spec(deployment);
        let alone = clone(&upstream, &spec).unwrap();
        let mut parsed = Parsed::default();
        let with = clone_with(&upstream, Some(&marked), &spec, &mut parsed).unwrap();
        assert_eq!(with.files, alone.files);
        let context = path("package-context.yaml");
        assert_eq!(
            with.files[&context] == files[&context],
            !deployment,
            "what the clone changes is marked anew"
        );
    }
}

/// What is shared by the clones of an upstream package makes no difference to any of them.
#[test]
fn clones_are_the_same_with_what_they_share_and_without() {
    let kptfiles = [
        KPTFILE.to_owned(),
        KPTFILE.replace(
            "metadata:\n  name: demo # name comment\n  labels:\n    team: core\n",
            "",
        ),
        KPTFILE.replace("metadata:\n  name: demo # name comment\n", "metadata:\n"),
        KPTFILE.replace(
            "pipeline:",
            "upstream: {type: git, git: {repo: a, directory: b, ref: c}}\npipeline:",
        ),
        KPTFILE.replace(
            "pipeline:",
            "upstreamLock:\n  type: git # old\nupstream:\n  type: git\npipeline:",
        ),
        "{apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: demo}}\n".to_owned(),
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {}\n---\nmore: 1\n".to_owned(),
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: &m\n  name: demo\ninfo:\n  labels: *m\n"
            .to_owned(),
        "no Kptfile".to_owned(),
    ];
    for kptfile in kptfiles {
        let upstream = files(&[
            ("Kptfile", &kptfile),
            ("config.yaml", CONFIG),
            ("odd.yaml", "a: [\n"),
            (
                "package-context.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: x\n",
            ),
            ("readme.md", "read"),
        ]);
        for (deployment, git_ref) in [(false, "shop/v1"), (true, "shop/v1"), (true, "shop/v2")] {
            let spec = CloneSpec {
                lock: GitLock {
                    git_ref: git_ref.into(),
                    ..spec(false).lock
                },
                ..spec(deployment)
            };
            let of_the_first = self::spec(deployment);
            let marked = Marked::of(&upstream, &of_the_first.upstream, &of_the_first.lock);
            let mut parsed = Parsed::default();
            let shared = clone_with(&upstream, Some(&marked), &spec, &mut parsed);
            let plain = clone(&upstream, &spec);
            let told = |cloned: Result<Cloned, CloneError>| cloned.map(|cloned| cloned.files);
            assert_eq!(told(shared), told(plain), "{kptfile}");
        }
    }
}

#[test]
fn a_thousand_clones_parse_each_file_of_the_upstream_once() {
    let upstream = files(&[
        ("Kptfile", KPTFILE),
        ("config.yaml", CONFIG),
        ("more.yaml", CONFIG),
    ]);
    let spec = |at: usize| CloneSpec {
        package: PackageName::parse(&format!("shop-{at}")).unwrap(),
        ..spec(false)
    };
    let marked = Marked::of(&upstream, &spec(0).upstream, &spec(0).lock);
    let mut values = std::collections::BTreeSet::new();
    for at in 0..1_000 {
        let mut parsed = Parsed::default();
        let cloned = clone_with(&upstream, Some(&marked), &spec(at), &mut parsed).unwrap();
        for name in ["config.yaml", "more.yaml"] {
            let read = parsed
                .documents(&path(name), &cloned.files[&path(name)])
                .unwrap();
            values.extend(
                read.documents()
                    .iter()
                    .map(|document| Arc::as_ptr(&document.value)),
            );
        }
        // The Kptfile is the clone's own, and known as it was written.
        let kptfile = &cloned.files[&path("Kptfile")];
        let known = parsed.stream(&path("Kptfile"), kptfile).unwrap();
        assert_eq!(Some(known.text()), kptfile.as_text());
        assert!(known.text().contains(&format!("name: shop-{at}")));
    }
    let documents = 2 * Stream::parse(CONFIG, &Limits::default()).unwrap().len();
    assert_eq!(values.len(), documents);
}

#[test]
fn what_was_parsed_of_other_bytes_says_nothing() {
    let (config, other) = (path("config.yaml"), File::text("a: 2\n"));
    let mut shared = Parsed::default();
    shared.note(
        &config,
        &File::text("a: 1\n"),
        Stream::parse("a: 1\n", &Limits::default()).unwrap(),
    );
    let mut parsed = Parsed::default();
    parsed.share(&Arc::new(shared));
    assert!(parsed.stream(&config, &File::text("a: 1\n")).is_some());
    assert!(parsed.stream(&config, &other).is_none());
    assert!(
        parsed
            .stream(&path("other.yaml"), &File::text("a: 1\n"))
            .is_none()
    );
    let read = parsed.documents(&config, &other).unwrap();
    assert_eq!(read.text(), "a: 2\n");
}
