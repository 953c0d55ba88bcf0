//! The use cases of the documents, as they are shipped in `examples/use-cases` (R190).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::local::offshoot;
use crate::process::{Process, copy, git, wait_for};

const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
const VARIANTS: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariants";

/// A use case on a server of its own.
struct Case {
    root: TempDir,
    server: Process,
    objects: Vec<Value>,
}

impl Case {
    /// Registers its repositories and publishes its package there, as v1.
    async fn start(name: &'static str, upstream: &str, package: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let server = Process::start(root.path(), &[]).await;
        let objects = objects(&example(name).join("objects.yaml"), root.path());
        let case = Self {
            root,
            server,
            objects,
        };
        for object in case.of("Repository") {
            case.create(object).await;
            let path = path(object);
            let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
            wait_for("the repository", async || {
                settled(&case.server.get(&path).await)
            })
            .await;
        }
        copy(
            &example(name).join("package"),
            &case.checkout(upstream).join(package),
        );
        case.publish(upstream, package, "v1").await;
        case
    }

    fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |o| o["kind"] == kind)
    }

    async fn create(&self, object: &Value) {
        let path = path(object);
        // A kind is served a moment after its definition was accepted.
        wait_for("the kind", async || !self.server.get(&path).await.is_null()).await;
        self.server.create(&path, object).await;
    }

    /// Applies everything that is no repository.
    async fn apply(&self) {
        for object in self.objects.iter().filter(|o| o["kind"] != "Repository") {
            self.create(object).await;
        }
    }

    /// A clone of the upstream repository.
    fn checkout(&self, upstream: &str) -> PathBuf {
        let checkout = self.root.path().join("checkout");
        if !checkout.exists() {
            let bare = self.root.path().join(format!("{upstream}.git"));
            git(
                self.root.path(),
                &["clone", "--quiet", &bare.display().to_string(), "checkout"],
            );
        }
        checkout
    }

    async fn publish(&self, upstream: &str, package: &str, revision: &str) {
        let checkout = self.checkout(upstream);
        git(&checkout, &["add", "--all"]);
        git(&checkout, &["commit", "--quiet", "--message", revision]);
        git(&checkout, &["tag", &format!("{package}/{revision}")]);
        git(&checkout, &["push", "--quiet", "--tags", "origin", "HEAD"]);
        let path = format!("{REVISIONS}/{upstream}.{package}.{revision}");
        wait_for("the upstream", async || {
            !self.server.get(&path).await.is_null()
        })
        .await;
    }

    /// Waits for a variant's first draft.
    async fn ready(&self, variant: &str) {
        let path = format!("{VARIANTS}/{variant}");
        wait_for(variant, async || settled(&self.server.get(&path).await)).await;
    }

    /// A file of a first draft.
    fn file(&self, repository: &str, package: &str, file: &str) -> String {
        let bare = self.root.path().join(format!("{repository}.git"));
        let at = format!("drafts/{package}/packagevariant-1:{package}/{file}");
        git(&bare, &["show", &at])
    }
}

impl Case {
    /// Holds every draft that was made against what kpt's strict reader takes.
    fn drafts_render_strictly(&self) {
        let mut drafts = 0;
        for object in self.of("Repository") {
            let name = object["metadata"]["name"].as_str().unwrap();
            let bare = self.root.path().join(format!("{name}.git"));
            let list = [
                "for-each-ref",
                "--format=%(refname:short)",
                "refs/heads/drafts",
            ];
            for draft in git(&bare, &list).lines() {
                let root = tempfile::tempdir().unwrap();
                let from = bare.display().to_string();
                let clone = ["clone", "--quiet", "--branch", draft, &from, "draft"];
                git(root.path(), &clone);
                let package = draft.split('/').nth(1).unwrap();
                renders_strictly(&root.path().join("draft").join(package));
                drafts += 1;
            }
        }
        assert!(drafts > 0, "nothing was made");
    }
}

fn renders_strictly(package: &Path) {
    let answer = offshoot(package, &["pkg", "render", "--strict", "."], "");
    let text = std::fs::read_to_string(package.join("Kptfile")).unwrap();
    let place = package.display();
    assert_eq!(answer.code, 0, "{place}: {}\n{text}", answer.err);
}

/// The directories of packages that are in no other package.
fn packages(directory: &Path, found: &mut Vec<PathBuf>) {
    if directory.join("Kptfile").exists() {
        return found.push(directory.to_owned());
    }
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            packages(&path, found);
        }
    }
}

/// What is shipped can be used with kpt, too.
#[test]
fn every_example_renders_strictly() {
    let mut all = Vec::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    packages(&examples, &mut all);
    assert!(all.len() > 8, "{all:?}");
    for package in all {
        let root = tempfile::tempdir().unwrap();
        copy(&package, &root.path().join("package"));
        renders_strictly(&root.path().join("package"));
    }
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/use-cases")
        .join(name)
}

/// The objects of a file, with the repositories below `root`.
fn objects(file: &Path, root: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("file:///srv/git/"), "{text}");
    let here = format!("file://{}/", root.display());
    let text = text.replace("file:///srv/git/", &here);
    let stream = yaml::Stream::parse(text.as_str(), &yaml::Limits::default()).unwrap();
    let read = |document: yaml::Document<'_>| document.to_json(yaml::Reader::Sigs).unwrap();
    stream.documents().map(read).collect()
}

/// Where objects of its kind are.
fn path(object: &Value) -> String {
    let group = object["apiVersion"].as_str().unwrap();
    let kind = object["kind"].as_str().unwrap().to_lowercase();
    let plural = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{kind}s"),
    };
    match (group, kind.as_str()) {
        ("v1", _) => format!("/api/v1/namespaces/default/{plural}"),
        (_, "customresourcedefinition") => format!("/apis/{group}/{plural}"),
        _ => format!("/apis/{group}/namespaces/default/{plural}"),
    }
}

/// Whether it is Ready as it stands.
fn settled(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|c| c["type"] == "Ready");
    ready.is_some_and(|c| c["status"] == "True")
        && object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

/// R190: images point to the own registry, comments stay, and the policy is checked with every render.
#[tokio::test(flavor = "multi_thread")]
async fn an_external_package_is_made_fit() {
    let case = Case::start("import-external", "external", "web").await;
    case.apply().await;
    case.ready("import-web").await;
    let text = case.file("catalog", "web", "deployment.yaml");
    assert!(
        text.contains("image: registry.example.com/library/busybox:1.37 # small\n"),
        "{text}"
    );
    assert!(text.contains("image: registry.example.com/library/nginx:1.29\n"));
    assert!(text.contains("chargeback-code: retail-42"));
    assert!(!text.contains("docker.io"), "{text}");
    let revision = format!("{REVISIONS}/catalog.web.packagevariant-1");
    let revision = case.server.get(&revision).await;
    assert_eq!(revision["metadata"]["labels"]["origin"], "external");
    case.drafts_render_strictly();
    // The policy bites where nobody gives the label.
    let mut poor = case.of("PackageVariant").next().unwrap().clone();
    poor["metadata"]["name"] = json!("poor");
    poor["spec"]["downstream"]["package"] = json!("poor");
    let mutators = poor["spec"]["pipeline"]["mutators"].as_array_mut().unwrap();
    mutators.retain(|f| f["name"] != "chargeback");
    case.create(&poor).await;
    let path = format!("{VARIANTS}/poor");
    let why = "pods of Deployment web have no label chargeback-code";
    wait_for("the policy", async || {
        let now = case.server.get(&path).await;
        now["status"]["conditions"].to_string().contains(why)
    })
    .await;
    assert!(!settled(&case.server.get(&path).await));
    let made = format!("{REVISIONS}/catalog.poor.packagevariant-1");
    assert!(case.server.get(&made).await.is_null(), "nothing half made");
}

/// R190: a namespace of its own for each tenant, with the tenant's limits; a new tenant gets one, and a changed limit
/// reaches the draft.
#[tokio::test(flavor = "multi_thread")]
async fn each_tenant_gets_a_namespace() {
    let case = Case::start("namespace-per-tenant", "platform", "tenant").await;
    case.apply().await;
    for (tenant, pods) in [("ada", "10"), ("bob", "50")] {
        let package = format!("tenant-{tenant}");
        case.ready(&format!("tenants-cluster-01-{package}")).await;
        let namespace = case.file("cluster-01", &package, "namespace.yaml");
        assert!(
            namespace.contains(&format!("name: {package}\n")),
            "{namespace}"
        );
        let quota = case.file("cluster-01", &package, "quota.yaml");
        assert!(
            quota.contains(&format!("namespace: {package}\n")),
            "{quota}"
        );
        assert!(quota.contains(&format!("pods: \"{pods}\"\n")), "{quota}");
    }
    let mut eve = case.of("ConfigMap").next().unwrap().clone();
    eve["metadata"]["name"] = json!("eve");
    case.create(&eve).await;
    case.ready("tenants-cluster-01-tenant-eve").await;
    eve["data"]["pods"] = json!("99");
    let path = format!("{}/eve", path(&eve));
    case.server.client.patch(&path, &eve).await.unwrap();
    wait_for("the new limit", async || {
        let quota = case.file("cluster-01", "tenant-eve", "quota.yaml");
        quota.contains("pods: \"99\"\n")
    })
    .await;
    case.drafts_render_strictly();
}

/// What the guide shows of a cluster's values is this use case, word for word.
#[test]
fn the_guide_shows_the_region_as_it_is_shipped() {
    const GUIDE: &str = include_str!("../../../../docs/guide.md");
    let (_, rest) = GUIDE.split_once("## Values of a cluster").unwrap();
    let (section, _) = rest.split_once("\n## ").unwrap();
    let shown: Vec<&str> = section.split("```yaml\n").skip(1).collect();
    assert_eq!(shown.len(), 2);
    for (shown, file) in shown
        .into_iter()
        .zip(["package/endpoints.yaml", "objects.yaml"])
    {
        let shown = shown.split("```").next().unwrap();
        let shipped = std::fs::read_to_string(example("region").join(file)).unwrap();
        assert!(shipped.contains(shown), "{file}: {shown}");
    }
}

/// R190: each region has its endpoints and its name.
#[tokio::test(flavor = "multi_thread")]
async fn a_workload_varies_by_region() {
    let case = Case::start("region", "blueprints", "storefront").await;
    case.apply().await;
    for region in ["eu", "us"] {
        let repository = format!("edge-{region}");
        case.ready(&format!("storefront-{repository}-storefront"))
            .await;
        let text = case.file(&repository, "storefront", "deployment.yaml");
        let wanted = format!("value: db.{region}.example.com\n");
        assert!(text.contains(&wanted), "{text}");
        assert!(text.contains(&format!("value: {region}\n")), "{text}");
        let name = format!("{REVISIONS}/{repository}.storefront.packagevariant-1");
        let revision = case.server.get(&name).await;
        assert_eq!(revision["metadata"]["labels"]["region"], region);
    }
    case.drafts_render_strictly();
}

/// R190: the cluster's own facts, and those of the region that it is in.
#[tokio::test(flavor = "multi_thread")]
async fn a_workload_varies_by_cluster_and_region() {
    let case = Case::start("cluster-and-region", "blueprints", "storefront").await;
    case.apply().await;
    for (cluster, region, zone) in [("edge-01", "eu", "eu-a"), ("edge-02", "us", "us-b")] {
        case.ready(&format!("storefront-{cluster}-storefront"))
            .await;
        let text = case.file(cluster, "storefront", "deployment.yaml");
        let wanted = format!("value: db.{region}.example.com\n");
        assert!(text.contains(&wanted), "{text}");
        assert!(text.contains(&format!("value: {zone}\n")), "{text}");
        let facts = case.file(cluster, "storefront", "where.yaml");
        assert!(facts.contains(&format!("kpt.dev/injected-resource-name: {cluster}")));
        assert!(facts.contains(&format!("kpt.dev/injected-resource-name: {region}")));
    }
    case.drafts_render_strictly();
}

/// R190: development follows, production stays where it is pinned, has its own size, and refuses debug mode.
#[tokio::test(flavor = "multi_thread")]
async fn a_workload_varies_by_environment() {
    let case = Case::start("environment", "blueprints", "storefront").await;
    case.apply().await;
    case.ready("dev-dev-01-storefront").await;
    case.ready("prod-prod-01-storefront").await;
    let dev = || case.file("dev-01", "storefront", "deployment.yaml");
    let prod = || case.file("prod-01", "storefront", "deployment.yaml");
    assert!(dev().contains("replicas: 1 # production has more\n"));
    assert!(prod().contains("replicas: 3 # production has more\n"));
    case.drafts_render_strictly();
    let file = case
        .checkout("blueprints")
        .join("storefront/deployment.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace(
        "storefront:1.0\n",
        "storefront:2.0\n        args: [\"--debug\"]\n",
    );
    std::fs::write(&file, text).unwrap();
    case.publish("blueprints", "storefront", "v2").await;
    wait_for("the upgrade", async || dev().contains("storefront:2.0\n")).await;
    assert!(prod().contains("storefront:1.0\n"));
    let set = "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets/prod";
    let pinned = json!({ "spec": { "upstream": { "revision": "v2" } } });
    case.server.client.patch(set, &pinned).await.unwrap();
    let path = format!("{VARIANTS}/prod-prod-01-storefront");
    wait_for("the refusal", async || {
        let now = case.server.get(&path).await;
        let told = now["status"]["conditions"].to_string();
        told.contains("container storefront runs in debug mode")
    })
    .await;
    assert!(
        prod().contains("storefront:1.0\n"),
        "an open draft is untouched"
    );
}
