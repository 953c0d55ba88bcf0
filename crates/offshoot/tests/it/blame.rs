//! `offshoot blame` (F5): every layer that can write a field, named right, or said to be unknown.

use std::path::Path;

use serde_json::{Value, json};

use crate::local::{Answer, offshoot};
use crate::process::{Process, bare, git, repository, wait_for};

const REPOSITORIES: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
const SETS: &str = "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets";
const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";

const KPTFILE: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
info:
  description: a web server
pipeline:
  mutators:
  - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.5
    configMap:
      namespace: shop
  - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.4
    configMap:
      team: base
";
const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  paused: false
  template:
    spec:
      containers:
      - name: web
        image: web:1.4
        args: [--a, --b]
";
const POINT: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: endpoint
  annotations:
    kpt.dev/config-injection: required
data:
  host: nowhere
";
const README: &str = "A web server.\n";

/// Commits files to the blueprints and tags them.
fn publish(root: &Path, files: &[(&str, String)], revision: &str) {
    let checkout = root.join("blueprint");
    if !checkout.exists() {
        let from = bare(root, "blueprints").display().to_string();
        git(root, &["clone", "--quiet", &from, "blueprint"]);
    }
    for (path, text) in files {
        let place = checkout.join("web").join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
    }
    git(&checkout, &["add", "--all"]);
    git(&checkout, &["commit", "--quiet", "--message", revision]);
    git(&checkout, &["tag", &format!("web/{revision}")]);
    git(&checkout, &["push", "--quiet", "--tags", "origin", "HEAD"]);
}

struct World {
    root: tempfile::TempDir,
    server: Process,
}

impl World {
    async fn start(mutators: &Value) -> Self {
        let root = tempfile::tempdir().unwrap();
        let server = Process::start(root.path(), &[]).await;
        let blueprints = repository(root.path(), "blueprints", false);
        let mut east = repository(root.path(), "east", true);
        east["metadata"]["labels"] = json!({ "tier": "edge", "region": "eu" });
        for (name, object) in [("blueprints", blueprints), ("east", east)] {
            server.create(REPOSITORIES, &object).await;
            let path = format!("{REPOSITORIES}/{name}");
            wait_for(name, async || {
                let object = server.get(&path).await;
                let conditions = object["status"]["conditions"].as_array();
                conditions
                    .into_iter()
                    .flatten()
                    .any(|c| c["type"] == "Ready" && c["status"] == "True")
            })
            .await;
        }
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "eu-endpoint" },
            "data": { "host": "eu.example.com" } });
        server.create(CONFIGMAPS, &object).await;
        let files = [
            ("Kptfile", KPTFILE),
            ("deployment.yaml", DEPLOYMENT),
            ("endpoint.yaml", POINT),
            ("README.md", README),
        ];
        publish(
            root.path(),
            &files.map(|(path, text)| (path, text.to_owned())),
            "v1",
        );
        let world = Self { root, server };
        world.there("blueprints.web.v1").await;
        let set = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha2",
            "kind": "PackageVariantSet",
            "metadata": { "name": "web" },
            "spec": {
                "upstream": { "repo": "blueprints", "package": "web" },
                "targets": [{
                    "repositorySelector": { "matchLabels": { "tier": "edge" } },
                    "template": {
                        "packageContext": { "data": { "stage": "prod" },
                            "dataExprs": [{ "key": "region", "valueExpr": "repository.labels['region']" }] },
                        "pipeline": { "mutators": mutators },
                        "injectors": [{ "nameExpr": "repository.labels['region'] + '-endpoint'" }],
                    },
                }],
            },
        });
        world.server.create(SETS, &set).await;
        world.there("east.web.packagevariant-1").await;
        world
    }

    async fn there(&self, revision: &str) {
        let path = format!("{REVISIONS}/{revision}");
        wait_for(revision, async || !self.server.get(&path).await.is_null()).await;
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        let kubeconfig = self
            .root
            .path()
            .join("data/kubeconfig")
            .display()
            .to_string();
        offshoot(
            self.root.path(),
            &[arguments, &["--kubeconfig", &kubeconfig]].concat(),
            "",
        )
    }

    fn done(&self, arguments: &[&str]) -> String {
        let answer = self.run(arguments);
        assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.err);
        answer.out
    }

    /// Changes files of a draft as a person does.
    fn edit(&self, revision: &str, changes: &[(&str, &str, &str)]) {
        let place = self.root.path().join(format!("edit-{revision}"));
        self.done(&["rpkg", "pull", revision, &place.display().to_string()]);
        for (path, from, to) in changes {
            let file = place.join(path);
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(text.contains(from), "{path}: {from:?}: {text}");
            let new = if from.is_empty() {
                (*to).to_owned()
            } else {
                text.replace(from, to)
            };
            std::fs::write(file, new).unwrap();
        }
        self.done(&["rpkg", "push", revision, &place.display().to_string()]);
    }

    fn publish(&self, revision: &str) {
        self.done(&["rpkg", "propose", revision]);
        self.done(&["rpkg", "approve", revision]);
    }

    /// Compares layers: file, field, layer, and a part of what is said.
    async fn expect(&self, revision: &str, fixtures: &[Layer]) {
        let path = format!(
            "/apis/fleet.offshoot.dev/v1alpha1/namespaces/default/explanations/blame.{revision}"
        );
        let answer = self.server.get(&path).await;
        let fields = answer["status"]["fields"].as_array().unwrap();
        let mut wrong = Vec::new();
        for (file, field, layer, what) in fixtures {
            let found = fields
                .iter()
                .find(|f| f["file"] == *file && f["path"] == *field);
            let found = found.unwrap_or(&Value::Null);
            let said = found["what"].as_str().unwrap_or_default();
            if found["layer"] != *layer || !said.contains(what) {
                wrong.push(format!(
                    "{file} {field}: {} {said:?}, not {layer} {what:?}",
                    found["layer"]
                ));
            }
        }
        assert!(wrong.is_empty(), "{revision}:\n{}", wrong.join("\n"));
    }
}

const IMAGE: &str = "spec.template.spec.containers[name=web].image";
const FIRST: &str = "east.web.packagevariant-1";
const SECOND: &str = "east.web.packagevariant-2";

/// A field of a file, the layer that it is blamed on, and what is said of that.
type Layer = (&'static str, &'static str, &'static str, &'static str);

const LAYERS_AT_FIRST: &[Layer] = &[
    (
        "deployment.yaml",
        "kind",
        "upstream",
        "web/v1 of blueprints (",
    ),
    (
        "deployment.yaml",
        "metadata.name",
        "upstream",
        "web/v1 of blueprints (",
    ),
    (
        "deployment.yaml",
        "spec.replicas",
        "upstream",
        "web/v1 of blueprints (",
    ),
    (
        "deployment.yaml",
        IMAGE,
        "upstream",
        "web/v1 of blueprints (",
    ),
    (
        "deployment.yaml",
        "spec.template.spec.containers[name=web].args",
        "upstream",
        "web/v1 of blueprints (",
    ),
    (
        "deployment.yaml",
        "metadata.namespace",
        "function",
        "set-namespace",
    ),
    (
        "deployment.yaml",
        "metadata.labels.team",
        "function",
        "set-labels",
    ),
    (
        "deployment.yaml",
        "metadata.annotations.region",
        "function",
        "region = repository.labels['region'] (packagevariantset web)",
    ),
    ("endpoint.yaml", "data.host", "injected", "\"eu-endpoint\""),
    (
        "endpoint.yaml",
        "kind",
        "upstream",
        "web/v1 of blueprints (",
    ),
    (
        "endpoint.yaml",
        "metadata.name",
        "upstream",
        "web/v1 of blueprints (",
    ),
    ("Kptfile", "upstreamLock.git.commit", "clone", "lock"),
    ("Kptfile", "upstream.git.ref", "clone", "upstream"),
    (
        "Kptfile",
        "info.description",
        "upstream",
        "web/v1 of blueprints (",
    ),
    ("package-context.yaml", "data.name", "clone", ""),
    (
        "package-context.yaml",
        "data.region",
        "context",
        "region = repository.labels['region'] (packagevariantset web)",
    ),
    (
        "package-context.yaml",
        "data.stage",
        "context",
        "spec.packageContext",
    ),
    ("README.md", "", "upstream", "web/v1 of blueprints ("),
];

const LAYERS_OF_THE_UPGRADE: &[Layer] = &[
    (
        "deployment.yaml",
        IMAGE,
        "upstream",
        "web/v2 of blueprints (",
    ),
    (
        "deployment.yaml",
        "spec.replicas",
        "merge",
        "upstream's value was taken",
    ),
    ("deployment.yaml", "spec.paused", "person", ""),
    (
        "deployment.yaml",
        "metadata.labels.team",
        "function",
        "set-labels",
    ),
    (
        "deployment.yaml",
        "metadata.namespace",
        "function",
        "set-namespace",
    ),
    (
        "limits.yaml",
        "data.cpu",
        "upstream",
        "web/v2 of blueprints (",
    ),
    (
        "limits.yaml",
        "metadata.labels.team",
        "function",
        "set-labels",
    ),
    ("notes.yaml", "data.by", "person", ""),
    ("endpoint.yaml", "data.host", "injected", "\"eu-endpoint\""),
    (
        "package-context.yaml",
        "data.region",
        "context",
        "region = ",
    ),
    ("Kptfile", "upstreamLock.git.ref", "clone", "lock"),
    ("README.md", "", "upstream", "web/v2 of blueprints ("),
];

/// All layers of a first draft, then people's edits, then an upgrade that meets a conflict.
#[tokio::test(flavor = "multi_thread")]
async fn every_layer_is_named() {
    let mutators = json!([{ "name": "region", "image": "ghcr.io/kptdev/krm-functions-catalog/set-annotations:v0.1.4",
        "configMapExprs": [{ "key": "region", "valueExpr": "repository.labels['region']" }] }]);
    let world = World::start(&mutators).await;
    world.expect(FIRST, LAYERS_AT_FIRST).await;
    let people = [
        ("deployment.yaml", "replicas: 2", "replicas: 9"),
        ("deployment.yaml", "paused: false", "paused: true"),
        (
            "notes.yaml",
            "",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {by: hand}\n",
        ),
    ];
    world.edit(FIRST, &people);
    let person = [
        ("deployment.yaml", "spec.replicas", "person", "admin"),
        ("deployment.yaml", "spec.paused", "person", ""),
        ("notes.yaml", "data.by", "person", ""),
    ];
    world.expect(FIRST, &person).await;
    world
        .expect(
            FIRST,
            &[(
                "deployment.yaml",
                IMAGE,
                "upstream",
                "web/v1 of blueprints (",
            )],
        )
        .await;
    world.publish(FIRST);
    world.expect(FIRST, &person).await;
    world
        .expect(
            FIRST,
            &[(
                "deployment.yaml",
                "metadata.labels.team",
                "function",
                "set-labels",
            )],
        )
        .await;

    let next = DEPLOYMENT
        .replace("web:1.4", "web:1.5")
        .replace("replicas: 2", "replicas: 5");
    let files = [
        ("deployment.yaml", next),
        (
            "limits.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: limits\ndata:\n  cpu: one\n"
                .to_owned(),
        ),
    ];
    publish(world.root.path(), &files, "v2");
    world.there(SECOND).await;
    world.expect(SECOND, LAYERS_OF_THE_UPGRADE).await;
    // What a person decides about the conflict is that person's.
    world.edit(SECOND, &[("deployment.yaml", "replicas: 5", "replicas: 7")]);
    world
        .expect(
            SECOND,
            &[("deployment.yaml", "spec.replicas", "person", "")],
        )
        .await;
    // For people: the value beside the field, and what may have been meant.
    let text = world.done(&["blame", SECOND, "deployment.yaml", "spec"]);
    assert!(text.starts_with("# apps/Deployment//web\n"), "{text}");
    assert!(text.contains("spec.replicas: 7"), "{text}");
    let wrong = world.run(&["blame", SECOND, "deployment.yml"]);
    assert!(
        wrong.code == 64 && wrong.err.contains("did you mean deployment.yaml?"),
        "{}",
        wrong.err
    );
}

/// A script is run again where the functions of its namespace run, and is believed where that gives what is recorded.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_script_wrote_is_told() {
    let script = "for resource in ctx.resource_list['items']:\n  resource['metadata'].setdefault('annotations', {})['script'] = 'ran'\n";
    let mutators = json!([{ "name": "script", "image": "ghcr.io/kptdev/krm-functions-catalog/starlark:v0.5.5",
        "configMap": { "source": script } }]);
    let world = World::start(&mutators).await;
    world.edit(FIRST, &[("deployment.yaml", "replicas: 2", "replicas: 3")]);
    world
        .expect(
            FIRST,
            &[
                (
                    "deployment.yaml",
                    "metadata.annotations.script",
                    "function",
                    "starlark:v0.5.5",
                ),
                (
                    "deployment.yaml",
                    "kind",
                    "upstream",
                    "web/v1 of blueprints (",
                ),
                ("deployment.yaml", "spec.replicas", "person", ""),
            ],
        )
        .await;
    // A person's own clone needs no variant.
    world.done(&[
        "rpkg",
        "clone",
        "blueprints.web.v1",
        "mine",
        "--repository",
        "east",
    ]);
    world.edit(
        "east.mine.v1",
        &[("deployment.yaml", "web:1.4", "web:mine")],
    );
    world
        .expect(
            "east.mine.v1",
            &[
                ("deployment.yaml", IMAGE, "person", ""),
                (
                    "deployment.yaml",
                    "spec.replicas",
                    "upstream",
                    "web/v1 of blueprints (",
                ),
                (
                    "deployment.yaml",
                    "metadata.labels.team",
                    "function",
                    "set-labels",
                ),
                // The report of a person's render is another one than the machine's.
                ("Kptfile", "upstreamLock.git.commit", "machine", ""),
            ],
        )
        .await;
}
