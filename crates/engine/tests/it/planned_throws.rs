//! More that happens in generated worlds: policies, adoption, orphans, a branch that goes on, several upstreams.

use model::{
    AdoptionPolicy, ConflictPolicy, DeletionPolicy, PackageName, RepositoryName, Target,
    TargetSelection, UpstreamSource, UpstreamVersion, Variant,
};

use crate::planned_worlds::Dice;
use crate::sets::set;
use crate::variants::{DEPLOYMENT, package, variant};
use crate::world::{NS, World};

/// Something happens to a variant, or beside it.
pub(crate) async fn happen(world: &World, dice: &mut Dice, name: &str) {
    let known = world.twin.variant(NS, name);
    let parsed = known.and_then(|v| v.parsed.ok());
    let parsed: Option<Variant> = parsed.map(|parsed| (*parsed).clone());
    match (dice.of(6), parsed) {
        (0, Some(mut wanted)) => {
            let all = [
                ConflictPolicy::Block,
                ConflictPolicy::Upstream,
                ConflictPolicy::Local,
            ];
            wanted.spec.conflict_policy = all[dice.of(3) as usize];
            wanted.spec.upstream.version = UpstreamVersion::Latest;
            world.twin.put_variant(wanted);
        }
        (1, Some(mut wanted)) => {
            wanted.spec.deletion = DeletionPolicy::Orphan;
            wanted.spec.deletion_explicit = true;
            world.twin.put_variant(wanted);
            if dice.of(2) == 0 {
                world.twin.delete_variant(NS, name);
            }
        }
        (2 | 3, None) => {
            let mut wanted = variant(name, name);
            wanted.spec.adoption = AdoptionPolicy::Existing;
            world.twin.put_variant(wanted);
        }
        (3, Some(mut wanted)) => {
            wanted.spec.upstream.version = UpstreamVersion::BranchHead;
            wanted.spec.upstream.allow_unpublished = true;
            world.twin.put_variant(wanted);
        }
        (4, _) => {
            let text = format!("app:head{}", dice.of(4));
            push(world, "app", &DEPLOYMENT.replace("app:v1", &text), None).await;
        }
        (5, _) => {
            if !world.names().iter().any(|n| n == "blueprints.db.v1") {
                push(world, "db", DEPLOYMENT, Some("v1")).await;
            }
            let mut pair = set("pair", vec![in_deploy()]);
            if let UpstreamSource::Package(app) = &pair.spec.upstreams[0] {
                let mut db = app.clone();
                db.package = PackageName::parse("db").expect("a name");
                pair.spec.upstreams.push(UpstreamSource::Package(db));
            }
            if dice.of(3) == 0 {
                pair.spec.upstreams.remove(0);
            }
            world.twin.put_set(pair);
        }
        _ => {}
    }
}

fn in_deploy() -> Target {
    let deploy = RepositoryName::parse("deploy").expect("a name");
    Target {
        selection: TargetSelection::Repositories(vec![(deploy, Vec::new())]),
        template: None,
    }
}

async fn push(world: &World, name: &str, deployment: &str, tag: Option<&str>) {
    let files = package(deployment);
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
    world.push("blueprints", name, &files, tag).await;
}
