//! The set that runs fan out: what must stand before it, and when all of it is Ready.

use serde_json::json;

use super::package::upstream;
use super::targets::Targets;
use super::world::{CONFIG, World};
use super::{FanoutArgs, Result, Workload};

/// The package revisions.
pub(super) const REVISIONS: &str =
    "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";

/// The set itself.
pub(super) const SET: &str =
    "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets/bench";

/// Repositories, the upstream's first revision, and what is injected.
pub(super) async fn prepare(world: &World, args: &FanoutArgs, targets: Targets<'_>) -> Result<()> {
    world.repository("blueprints", false).await?;
    for i in 0..targets.repositories() {
        world.repository(&targets.repository(i), true).await?;
    }
    for i in 0..targets.repositories() {
        let path = format!(
            "{CONFIG}/v1alpha1/namespaces/default/repositories/{}",
            targets.repository(i)
        );
        world
            .wait(&path, "/status/conditions/0/status", &json!("True"))
            .await?;
    }
    world.push("v1", &upstream(args, 1)?)?;
    let first = format!("{REVISIONS}/blueprints.bench.v1");
    world.wait(&first, "/spec/revision", &json!(1)).await?;
    if args.workload == Workload::W1 {
        for i in 0..targets.n {
            world
                .create(
                    "/api/v1/namespaces/default/configmaps",
                    &targets.config_map(i),
                )
                .await?;
        }
    }
    world.settle().await;
    Ok(())
}

/// All variants are Ready, and the set has seen this generation.
pub(super) async fn ready(world: &World, targets: Targets<'_>, generation: u64) -> Result<()> {
    world
        .wait(SET, "/status/observedGeneration", &json!(generation))
        .await?;
    world
        .wait(SET, "/status/readyVariants", &json!(targets.n))
        .await
}
