//! The machine's layers: upstream, clone, context, injection, functions, and what cannot be told.

use super::{APP, Do, FIRST, Fixture, IMAGE, SECOND, all};

const UP1: &str = "app/v1 of blueprints (";
const UP2: &str = "app/v2 of blueprints (";
const POINT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: endpoint\n  annotations:\n    kpt.dev/config-injection: required\ndata:\n  host: nowhere\n";
const OPTIONAL: &str = "apiVersion: example.test/v1\nkind: Place\nmetadata:\n  name: place\n  annotations:\n    kpt.dev/config-injection: optional\nspec:\n  city: none\n";
const TWO: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  one: \"1\"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  one: \"1\"\n";
const PIPELINE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\ninfo:\n  description: an app\npipeline:\n  mutators:\n  - image: gcr.io/kpt-fn/set-namespace:v0.4\n    configMap:\n      namespace: shop\n";
const SCRIPTED: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n  - image: starlark:v0.5.0\n    configPath: script.yaml\n";
const SCRIPT: &str = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: script\nsource: |\n  for r in ctx.resource_list[\"items\"]:\n    if r[\"kind\"] == \"Deployment\":\n      r[\"metadata\"][\"labels\"] = {\"seen\": \"yes\"}\n";
const BOTH: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n  - image: gcr.io/kpt-fn/set-labels:v0.1\n    name: theirs\n    configMap:\n      tier: theirs\n      more: theirs\n";
const SUB: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sub\ndata:\n  one: \"1\"\n";
const SUB_KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n";
const VALUES: &str = "size: 3\nzones: [a, b]\nnested:\n  deep: yes\n";
pub(super) const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: racks.example.test\nspec:\n  group: example.test\n  scope: Namespaced\n  names: {kind: Rack, plural: racks}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n              slots:\n                type: array\n                x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [id]\n                items:\n                  type: object\n                  properties: {id: {type: string}, size: {type: integer}}\n";
pub(super) const RACK: &str = "apiVersion: example.test/v1\nkind: Rack\nmetadata:\n  name: rack\nspec:\n  slots:\n  - id: a\n    size: 1\n  - id: b\n    size: 2\n";
const ANCHORS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: anchors\ndata:\n  one: &x value\n  two: *x\n";
const TWICE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: twice\ndata:\n  one: a\n  one: b\n";

pub(super) const FIXTURES: &[Fixture] = &[
    Fixture {
        name: "scalars of the upstream package",
        files: &[],
        story: &[],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "kind", "upstream", UP1),
            ("app.yaml", "spec.replicas", "upstream", UP1),
            ("app.yaml", "metadata.name", "upstream", UP1),
        ],
    },
    Fixture {
        name: "lists with keys and without",
        files: &[],
        story: &[],
        revision: FIRST,
        wrote: &[
            ("app.yaml", IMAGE, "upstream", UP1),
            (
                "app.yaml",
                "spec.template.spec.containers[name=app].args",
                "upstream",
                UP1,
            ),
            (
                "app.yaml",
                "spec.template.spec.containers[name=side].image",
                "upstream",
                UP1,
            ),
        ],
    },
    Fixture {
        name: "a list whose key a definition in the package tells",
        files: &[("crd.yaml", CRD), ("rack.yaml", RACK)],
        story: &[],
        revision: FIRST,
        wrote: &[
            ("rack.yaml", "spec.slots[id=b].size", "upstream", UP1),
            ("crd.yaml", "spec.group", "upstream", UP1),
        ],
    },
    Fixture {
        name: "files that are no resources",
        files: &[
            ("README.md", "Read me.\n"),
            ("values.yaml", VALUES),
            (".krmignore", "values.yaml\n"),
            ("logo.png", "binary:logo"),
            ("a.txt", "{\"a\": 1}\n"),
        ],
        story: &[],
        revision: FIRST,
        wrote: &[
            ("README.md", "", "upstream", UP1),
            ("values.yaml", "size", "upstream", UP1),
            ("values.yaml", "zones", "upstream", UP1),
            ("logo.png", "", "upstream", UP1),
            ("a.txt", "", "upstream", UP1),
        ],
    },
    Fixture {
        name: "YAML that has no fields to tell apart",
        files: &[("anchors.yaml", ANCHORS)],
        story: &[],
        revision: FIRST,
        wrote: &[
            ("anchors.yaml", "data.one", "upstream", UP1),
            ("anchors.yaml", "data.two", "upstream", UP1),
        ],
    },
    Fixture {
        name: "the own function of the variant",
        files: &[],
        story: &[],
        revision: FIRST,
        wrote: &[(
            "app.yaml",
            "metadata.labels.tier",
            "function",
            "PackageVariant.shop.labels.0 (gcr.io/kpt-fn/set-labels:v0.1)",
        )],
    },
    Fixture {
        name: "a function of the upstream package",
        files: &[("Kptfile", PIPELINE)],
        story: &[],
        revision: FIRST,
        wrote: &[
            (
                "app.yaml",
                "metadata.namespace",
                "function",
                "gcr.io/kpt-fn/set-namespace:v0.4",
            ),
            ("app.yaml", "metadata.labels.tier", "function", "set-labels"),
            ("app.yaml", "metadata.name", "upstream", UP1),
        ],
    },
    Fixture {
        name: "a script, which the runner runs",
        files: &[("Kptfile", SCRIPTED), ("script.yaml", SCRIPT)],
        story: &[],
        revision: FIRST,
        wrote: &[
            (
                "app.yaml",
                "metadata.labels.seen",
                "function",
                "starlark:v0.5.0",
            ),
            ("app.yaml", "metadata.name", "upstream", UP1),
        ],
    },
    Fixture {
        name: "two functions, one field: the later one wrote it",
        files: &[("Kptfile", BOTH)],
        story: &[],
        revision: FIRST,
        wrote: &[
            (
                "app.yaml",
                "metadata.labels.tier",
                "function",
                "theirs (gcr.io/kpt-fn/set-labels:v0.1)",
            ),
            ("app.yaml", "metadata.labels.more", "function", "theirs"),
        ],
    },
    Fixture {
        name: "the functions of the variant in the pipeline",
        files: &[],
        story: &[],
        revision: FIRST,
        wrote: &[
            (
                "Kptfile",
                "pipeline.mutators[name=PackageVariant.shop.labels.0].image",
                "pipeline",
                "spec.pipeline",
            ),
            ("Kptfile", "info.description", "upstream", UP1),
        ],
    },
    Fixture {
        name: "a subpackage, and a function that reaches into it",
        files: &[("sub/Kptfile", SUB_KPTFILE), ("sub/cm.yaml", SUB)],
        story: &[],
        revision: FIRST,
        wrote: &[
            ("sub/cm.yaml", "data.one", "upstream", UP1),
            (
                "sub/cm.yaml",
                "metadata.labels.tier",
                "function",
                "set-labels",
            ),
            ("sub/Kptfile", "metadata.name", "upstream", UP1),
        ],
    },
    Fixture {
        name: "two documents in a file",
        files: &[("two.yaml", TWO)],
        story: &[],
        revision: FIRST,
        wrote: &[
            ("two.yaml", "data.one", "upstream", UP1),
            ("two.yaml", "metadata.labels.tier", "function", "set-labels"),
        ],
    },
    Fixture {
        name: "the clone writes names, upstream and lock",
        files: &[],
        story: &[],
        revision: FIRST,
        wrote: &[
            ("Kptfile", "metadata.name", "clone", "names"),
            ("Kptfile", "upstream.git.ref", "clone", "lock"),
            ("Kptfile", "upstreamLock.git.commit", "clone", "lock"),
            ("package-context.yaml", "data.name", "clone", ""),
        ],
    },
    Fixture {
        name: "the variant's context",
        files: &[],
        story: &[Do::Context("zone", "north")],
        revision: FIRST,
        wrote: &[
            (
                "package-context.yaml",
                "data.region",
                "context",
                "spec.packageContext",
            ),
            (
                "package-context.yaml",
                "data.zone",
                "context",
                "spec.packageContext",
            ),
            ("package-context.yaml", "kind", "upstream", UP1),
        ],
    },
    Fixture {
        name: "an injected object",
        files: &[("endpoint.yaml", POINT)],
        story: &[],
        revision: FIRST,
        wrote: &[
            ("endpoint.yaml", "data.host", "injected", "\"endpoint-eu\""),
            ("endpoint.yaml", "metadata.name", "upstream", UP1),
        ],
    },
    Fixture {
        name: "an injected object that changed since",
        files: &[("endpoint.yaml", POINT)],
        story: &[Do::Publish(FIRST), Do::Inject("us.example.test")],
        revision: SECOND,
        wrote: &[("endpoint.yaml", "data.host", "injected", "\"endpoint-eu\"")],
    },
    Fixture {
        name: "an injection point that nothing fills",
        files: &[("place.yaml", OPTIONAL)],
        story: &[],
        revision: FIRST,
        wrote: &[("place.yaml", "spec.city", "upstream", UP1)],
    },
    Fixture {
        name: "the next upstream, and what it left alone",
        files: &[],
        story: &[
            Do::Publish(FIRST),
            Do::Upstream("app.yaml", "app:v1", "app:v2"),
            Do::Upgrade(2),
        ],
        revision: SECOND,
        wrote: &[
            ("app.yaml", IMAGE, "upstream", UP2),
            ("app.yaml", "spec.replicas", "upstream", UP2),
            ("app.yaml", "metadata.labels.tier", "function", "set-labels"),
            ("Kptfile", "upstreamLock.git.ref", "clone", "lock"),
        ],
    },
    Fixture {
        name: "files that the next upstream adds and takes away",
        files: &[("old.yaml", SUB)],
        story: &[
            Do::Publish(FIRST),
            Do::UpstreamFile("new.yaml", TWO),
            Do::Upstream("old.yaml", "", ""),
            Do::Upgrade(2),
        ],
        revision: SECOND,
        wrote: &[
            ("new.yaml", "data.one", "upstream", UP2),
            ("old.yaml", "data.one", "", ""),
        ],
    },
    Fixture {
        name: "a file that the next upstream moves",
        files: &[("old.yaml", SUB)],
        story: &[
            Do::Publish(FIRST),
            Do::UpstreamFile("dir/new.yaml", SUB),
            Do::Upstream("old.yaml", "", ""),
            Do::Upgrade(2),
        ],
        revision: SECOND,
        wrote: &[
            ("dir/new.yaml", "data.one", "upstream", UP2),
            (
                "dir/new.yaml",
                "metadata.labels.tier",
                "function",
                "set-labels",
            ),
        ],
    },
    Fixture {
        name: "three revisions of the machine",
        files: &[],
        story: &[
            Do::Publish(FIRST),
            Do::Upstream("app.yaml", "app:v1", "app:v2"),
            Do::Upgrade(2),
            Do::Publish(SECOND),
            Do::Upstream("app.yaml", "side:v1", "side:v3"),
            Do::Upgrade(3),
        ],
        revision: super::THIRD,
        wrote: &[
            (
                "app.yaml",
                "spec.template.spec.containers[name=side].image",
                "upstream",
                "app/v3 of blueprints (",
            ),
            ("app.yaml", "metadata.labels.tier", "function", "set-labels"),
        ],
    },
    Fixture {
        name: "an upstream package is whose who pushed it",
        files: &[],
        story: &[],
        revision: "blueprints.app.v1",
        wrote: &[("app.yaml", "spec.replicas", "person", "Person")],
    },
    Fixture {
        name: "after the objects were lost",
        files: &[("endpoint.yaml", POINT)],
        story: &[Do::Publish(FIRST), Do::Rebuild],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "spec.replicas", "upstream", UP1),
            ("app.yaml", "metadata.labels.tier", "function", "set-labels"),
            ("endpoint.yaml", "data.host", "injected", "\"endpoint-eu\""),
            ("package-context.yaml", "data.region", "context", ""),
        ],
    },
    Fixture {
        name: "a key that stands twice",
        files: &[("twice.yaml", TWICE), ("app.yaml", APP)],
        story: &[],
        revision: "blueprints.app.v1",
        wrote: &[("twice.yaml", "", "person", "Person")],
    },
];

#[tokio::test(start_paused = true)]
async fn the_layers_of_the_machine_are_named() {
    all(FIXTURES).await;
}
