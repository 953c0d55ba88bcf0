//! The later chapters: upgrades, conflicts, targets that come and go, restarts, the end.

use model::{Conflict, Lifecycle};
use plan::revision::RejectionReason;
use serde_json::{Value, json};

use super::packages::{EU2, SETS, SHOP_V2, US2, VARIANTS};
use super::story::Story;
use super::world::{World, file, repository};
use crate::client::{PACKAGES, REPOSITORIES, lifecycle, object};
use crate::exit::ExitFailure;

pub(super) async fn upstream_v2(story: &Story, world: &World) -> Result<(), ExitFailure> {
    story.say(
        "   The catalogue releases shop v2: a newer database and proxy, an autoscaler, another setting.\n   \
         Nothing happens by itself: the set pins v1. Then the set is pointed at v2.",
    )?;
    world.push("blueprints", "shop", "v2", SHOP_V2)?;
    world
        .wait_revision("blueprints.shop.v2", "the pushed package", |r| !r.is_null())
        .await?;
    let patch = json!({ "spec": { "upstream": { "revision": "v2" } } });
    world
        .client()?
        .patch(&format!("{SETS}/shop"), &patch)
        .await?;
    for draft in [EU2, US2] {
        world
            .wait_revision(draft, "the upgrade draft", |r| !r.is_null())
            .await?;
    }
    let files = world.files(EU2).await?;
    let settings = file(&files, "configmap.yaml");
    story.claim(
        settings.contains("MAX_ITEMS: \"75\" # sale in November") && settings.contains("size=12"),
        "each site has an upgrade draft; Ada's limit and comment are in it beside v2's own change",
        || settings.to_owned(),
    )?;
    story.claim(
        !file(&files, "hpa.yaml").is_empty()
            && file(&files, "db/statefulset.yaml").contains("db:15.6"),
        "the autoscaler and the newer database arrived, too",
        || files.to_string(),
    )
}

pub(super) async fn conflict(story: &Story, world: &World) -> Result<(), ExitFailure> {
    let draft = world.revision(EU2).await?;
    let mut open = api::read_conflicts(&draft);
    open.retain(Conflict::blocks);
    let of = |file: &str| open.iter().all(|c| c.file.as_str() == file);
    story.claim(
        open.len() == 1 && of("deployment.yaml"),
        "Ada and v2 both changed the proxy's image: one conflict is recorded, with all three values",
        || draft.to_string(),
    )?;
    let us = world.revision(US2).await?;
    story.claim(
        us.get("status").and_then(|s| s.get("conflicts")).is_none(),
        "the American draft has none: what the pipeline wrote is never a local edit",
        || us.to_string(),
    )?;
    let refused = world.move_to(EU2, Lifecycle::Proposed, false).await;
    story.claim(
        refused
            .as_ref()
            .is_err_and(|e| e.reason() == Some(RejectionReason::OpenGates)),
        "until somebody looks at it, it cannot even be proposed",
        || {
            refused
                .as_ref()
                .err()
                .map(|e| e.message().to_owned())
                .unwrap_or_default()
        },
    )?;
    story.say("   Ada agrees with v2 and acknowledges the conflict by its id.")?;
    let ids: Vec<&str> = open.iter().map(|conflict| conflict.id.0.as_str()).collect();
    let patch = json!({ "spec": { "resolvedConflicts": ids } });
    world
        .client()?
        .patch(&object(PACKAGES, "default", EU2), &patch)
        .await?;
    world.publish(EU2).await?;
    world.publish(US2).await?;
    let tags = world.git_in("edge-eu", &["tag", "--list"])?;
    story.claim(
        tags == "shop-eu/v1\nshop-eu/v2\n",
        "both sites are published again, as revision 2",
        || tags.clone(),
    )
}

pub(super) async fn join_and_leave(story: &Story, world: &World) -> Result<(), ExitFailure> {
    story.say("   A repository for Asia is registered with the label; nobody touches the set.")?;
    let labels = json!({ "tier": "edge", "region": "asia" });
    world
        .apply(&repository(world, "edge-asia", &labels))
        .await?;
    let draft = "edge-asia.shop-asia.packagevariant-1";
    world
        .wait_revision(draft, "the draft for Asia", |r| !r.is_null())
        .await?;
    story.claim(
        true,
        "the set made a variant for it, and the variant a draft",
        String::new,
    )?;
    let patch = json!({ "metadata": { "labels": { "tier": "core" } } });
    world
        .client()?
        .patch(&object(REPOSITORIES, "default", "edge-asia"), &patch)
        .await?;
    world
        .wait_revision(draft, "the draft to go", Value::is_null)
        .await?;
    story.claim(
        true,
        "relabelled, it is no target any more: after a quiet time, variant and unpublished draft are gone",
        String::new,
    )
}

/// Name, lifecycle, number and content of every revision, sorted.
async fn picture(world: &World) -> Result<Vec<String>, ExitFailure> {
    let mut out = Vec::new();
    for revision in world.revisions().await? {
        let text = |path: &[&str]| api::str_at(&revision, path).unwrap_or_default().to_owned();
        out.push(format!(
            "{} {} {} {}",
            text(&["metadata", "name"]),
            text(&["spec", "lifecycle"]),
            revision["spec"]["revision"],
            text(&["status", "selfLock", "git", "commit"]),
        ));
    }
    out.sort();
    Ok(out)
}

pub(super) async fn rebuild(story: &Story, world: &mut World) -> Result<(), ExitFailure> {
    let before = picture(world).await?;
    world.stop().await;
    world.start(false).await?;
    let again = picture(world).await?;
    story.claim(
        before == again,
        "after a restart every package revision is as it was",
        || format!("{before:?} and {again:?}"),
    )?;
    world.stop().await;
    world.start(true).await?;
    // Each repository is read in its own time.
    for name in before.iter().filter_map(|line| line.split(' ').next()) {
        world
            .wait_revision(name, "the rebuilt records", |r| !r.is_null())
            .await?;
    }
    let rebuilt = picture(world).await?;
    story.claim(
        before == rebuilt,
        "with all records thrown away, git alone brings every one of them back",
        || format!("{before:?} and {rebuilt:?}"),
    )
}

pub(super) async fn delete_set(story: &Story, world: &World) -> Result<(), ExitFailure> {
    story.say(
        "   The set is deleted. Nothing that runs somewhere disappears without an approver.",
    )?;
    world.client()?.delete(&format!("{SETS}/shop")).await?;
    for name in [EU2, US2] {
        world
            .wait_revision(name, "the deletion proposal", |r| {
                lifecycle(r) == Some(Lifecycle::DeletionProposed)
            })
            .await?;
    }
    let path = format!("{VARIANTS}/shop-edge-eu-shop-eu");
    world
        .wait(&path, "the variant to go", Value::is_null)
        .await?;
    story.claim(
        true,
        "its variants are gone; the published revisions are proposed for deletion and wait",
        String::new,
    )?;
    world.move_to(EU2, Lifecycle::Published, true).await?;
    story.claim(
        true,
        "an approver keeps the European one: it is Published as before",
        String::new,
    )?;
    let tags = world.git_in("edge-us", &["tag", "--list"])?;
    story.claim(
        tags == "shop-us/v1\nshop-us/v2\n",
        "and git still holds everything",
        || tags.clone(),
    )
}
