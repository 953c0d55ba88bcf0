//! The chapters, in order. Each says what happens and why, and checks it.

use model::{Lifecycle, Status};
use plan::revision::RejectionReason;
use plan::variant::words::READY;
use serde_json::{Value, json};

use super::later::{conflict, delete_set, join_and_leave, rebuild, upstream_v2};
use super::packages::{EU, SHOP_V1, US, VARIANTS};
use super::story::Story;
use super::world::{World, condition, file, repository};
use crate::client::{REPOSITORIES, lifecycle, object};
use crate::exit::ExitFailure;

/// What the chapters are called.
pub(super) const TITLES: [&str; 8] = [
    "A catalogue and two sites",
    "One set, one variant for each site",
    "A gate that holds",
    "A person edits, an approver publishes",
    "The upstream moves on",
    "A site joins, a site leaves",
    "Stop, start, and start from git alone",
    "The set goes, last of all",
];

const GATE: &str = "config.injection.WebCluster.main";

/// Tells all of them.
pub(super) async fn tell(story: &mut Story, world: &mut World) -> Result<(), ExitFailure> {
    let [
        catalogue,
        fan_out,
        gate,
        publish,
        upgrade,
        relabel,
        restart,
        end,
    ] = TITLES;
    story.chapter(catalogue)?;
    world.start(false).await?;
    register(story, world).await?;
    story.chapter(fan_out)?;
    fan(story, world).await?;
    story.chapter(gate)?;
    gates(story, world).await?;
    story.chapter(publish)?;
    edit_and_approve(story, world).await?;
    story.chapter(upgrade)?;
    upstream_v2(story, world).await?;
    conflict(story, world).await?;
    story.chapter(relabel)?;
    join_and_leave(story, world).await?;
    story.chapter(restart)?;
    rebuild(story, world).await?;
    story.chapter(end)?;
    delete_set(story, world).await
}

async fn register(story: &Story, world: &World) -> Result<(), ExitFailure> {
    story.say(
        "   A platform team keeps a catalogue of packages in git, and one repository for each edge\n   \
         site. We register three repositories; they are bare git repositories on this disk.",
    )?;
    world
        .apply(&repository(world, "blueprints", &json!({})))
        .await?;
    for region in ["eu", "us"] {
        let labels = json!({ "tier": "edge", "region": region });
        world
            .apply(&repository(world, &format!("edge-{region}"), &labels))
            .await?;
    }
    for name in ["blueprints", "edge-eu", "edge-us"] {
        let path = object(REPOSITORIES, "default", name);
        world
            .wait(&path, "the repository to be ready", |r| {
                condition(r, READY) == Some(Status::True)
            })
            .await?;
    }
    story.claim(true, "three repositories are Ready", String::new)?;
    story.say("   Ada commits a web shop to the catalogue and tags it, with plain git.")?;
    world.push("blueprints", "shop", "v1", SHOP_V1)?;
    let found = world
        .wait_revision("blueprints.shop.v1", "the pushed package", |r| !r.is_null())
        .await?;
    story.claim(
        lifecycle(&found) == Some(Lifecycle::Published),
        "the pushed tag shop/v1 was noticed: package revision blueprints.shop.v1 is Published",
        || found.to_string(),
    )
}

/// What the platform knows about a site.
fn web_cluster(name: &str, size: u32) -> Value {
    json!({
        "apiVersion": "infra.example.com/v1alpha1",
        "kind": "WebCluster",
        "metadata": { "name": name },
        "spec": { "size": size },
    })
}

fn web_cluster_definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "webclusters.infra.example.com" },
        "spec": {
            "group": "infra.example.com",
            "names": { "kind": "WebCluster", "listKind": "WebClusterList", "plural": "webclusters", "singular": "webcluster" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": {
                        "type": "object",
                        "properties": { "size": { "type": "integer" } },
                    } },
                } },
            }],
        },
    })
}

fn set(revision: &str) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "name": "shop" },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "shop", "revision": revision },
            "targets": [{
                "repositorySelector": { "matchLabels": { "tier": "edge" } },
                "template": {
                    "downstream": { "packageExpr": "packageDefault + '-' + repository.labels['region']" },
                    "packageContext": { "dataExprs": [
                        { "key": "region", "valueExpr": "repository.labels['region']" },
                    ] },
                    "pipeline": { "mutators": [{
                        "name": "region",
                        "image": "set-annotations:v0.1.4",
                        "configMapExprs": [{ "key": "example.com/region", "valueExpr": "repository.labels['region']" }],
                    }] },
                    "injectors": [{ "kind": "WebCluster", "nameExpr": "repository.labels['region']" }],
                },
            }],
        },
    })
}

async fn fan(story: &Story, world: &World) -> Result<(), ExitFailure> {
    story.say(
        "   The shop has an injection point: its WebCluster is filled in from the cluster. The\n   \
         platform describes the site in Europe; nobody has described the one in the US yet.",
    )?;
    world.apply(&web_cluster_definition()).await?;
    world
        .wait(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/webclusters.infra.example.com",
            "the definition to be established",
            |d| condition(d, "Established") == Some(Status::True),
        )
        .await?;
    world.apply(&web_cluster("eu", 3)).await?;
    story.say(
        "   One PackageVariantSet selects all repositories labelled tier=edge. A template names each\n   \
         package after its region, adds a function, and picks the object to inject.",
    )?;
    world.apply(&set("v1")).await?;
    for (variant, draft) in [("shop-edge-eu-shop-eu", EU), ("shop-edge-us-shop-us", US)] {
        let path = format!("{VARIANTS}/{variant}");
        world
            .wait(&path, "the variant to be ready", |v| {
                condition(v, READY) == Some(Status::True)
            })
            .await?;
        world
            .wait_revision(draft, "the draft", |r| !r.is_null())
            .await?;
    }
    story.claim(
        true,
        "two variants were made, and each made a draft",
        String::new,
    )?;
    let files = world.files(EU).await?;
    let account = file(&files, "serviceaccount.yaml");
    story.claim(
        account.contains("namespace: shop-eu # kpt-set: ${namespace}")
            && account.contains("# do not rename"),
        "the pipeline set the namespace to shop-eu, and no comment was lost",
        || account.to_owned(),
    )?;
    let injected = file(&files, "injection.yaml");
    story.claim(
        injected.contains("size: 3"),
        "the description of the European site was injected: size 3",
        || injected.to_owned(),
    )?;
    let refs = world.git_in("edge-eu", &["for-each-ref", "--format=%(refname)"])?;
    story.claim(
        refs == "refs/heads/drafts/shop-eu/packagevariant-1\nrefs/heads/main\n",
        "in git the draft is the branch drafts/shop-eu/packagevariant-1, one commit on main",
        || refs.clone(),
    )
}

async fn gates(story: &Story, world: &World) -> Result<(), ExitFailure> {
    let draft = world.revision(US).await?;
    story.claim(
        condition(&draft, GATE) == Some(Status::False),
        "the American draft waits: its injection point found nothing",
        || draft.to_string(),
    )?;
    world.move_to(US, Lifecycle::Proposed, false).await?;
    let refused = world.move_to(US, Lifecycle::Published, true).await;
    story.claim(
        refused
            .as_ref()
            .is_err_and(|e| e.reason() == Some(RejectionReason::OpenGates)),
        "approving it is refused, since that gate is open",
        || {
            refused
                .as_ref()
                .err()
                .map(|e| e.message().to_owned())
                .unwrap_or_default()
        },
    )?;
    world.move_to(US, Lifecycle::Draft, true).await?;
    story.say("   It is rejected. Then the platform describes the American site, too.")?;
    world.apply(&web_cluster("us", 5)).await?;
    world
        .wait_revision(US, "the injection", |r| {
            condition(r, GATE) == Some(Status::True)
        })
        .await?;
    let files = world.files(US).await?;
    story.claim(
        file(&files, "injection.yaml").contains("size: 5"),
        "the new object was noticed: the same draft now holds size 5, and the gate is open",
        || file(&files, "injection.yaml").to_owned(),
    )
}

async fn edit_and_approve(story: &Story, world: &World) -> Result<(), ExitFailure> {
    story.say(
        "   Ada knows the European site: she raises a limit in the draft, says why in a comment, and\n   \
         pins the proxy to a release that she trusts.",
    )?;
    world
        .edit(
            EU,
            &[
                (
                    "configmap.yaml",
                    "MAX_ITEMS: \"50\"",
                    "MAX_ITEMS: \"75\" # sale in November",
                ),
                ("deployment.yaml", "mesh/proxy:0.9.0", "mesh/proxy:0.9.1"),
            ],
        )
        .await?;
    let before = world.git_in(
        "edge-eu",
        &["rev-parse", "drafts/shop-eu/packagevariant-1:shop-eu"],
    )?;
    world.publish(EU).await?;
    world.publish(US).await?;
    let after = world.git_in("edge-eu", &["rev-parse", "shop-eu/v1:shop-eu"])?;
    story.claim(
        before == after,
        "both are approved: what was published is byte for byte what was reviewed",
        || format!("{before} and {after}"),
    )?;
    let subject = world.git_in("edge-eu", &["log", "-1", "--format=%s", "main"])?;
    story.claim(
        subject == "Approving package revision shop-eu/1\n",
        "main has a merge commit, the tag shop-eu/v1 names it, the draft's branch is gone",
        || subject.clone(),
    )?;
    let latest = world.revision(EU).await?;
    let label = api::read_meta(&latest)
        .labels
        .get("kpt.dev/latest-revision")
        .cloned();
    story.claim(
        label.as_deref() == Some("true"),
        "revision 1 carries the label kpt.dev/latest-revision",
        || latest.to_string(),
    )
}
