//! More that happens in generated worlds: policies, adoption, orphans, a branch that goes on, several upstreams.

use model::{
    AdoptionPolicy, ConflictPolicy, DeletionPolicy, Door, Lifecycle, PackageName, RepositoryName,
    Revision, Target, TargetSelection, UpstreamSource, UpstreamVersion, Variant,
};
use plan::variant::words;

use crate::planned_worlds::Dice;
use crate::sets::set;
use crate::variants::{DEPLOYMENT, package, variant};
use crate::world::{NS, World};

/// Something happens to a variant, or beside it.
pub(crate) async fn happen(world: &World, dice: &mut Dice, name: &str) {
    let known = world.twin.variant(NS, name);
    let parsed = known.and_then(|v| v.parsed.ok());
    let parsed: Option<Variant> = parsed.map(|parsed| (*parsed).clone());
    match (dice.of(9), parsed) {
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
            let all = [DeletionPolicy::Orphan, DeletionPolicy::Delete];
            wanted.spec.deletion = all[dice.of(2) as usize];
            wanted.spec.deletion_explicit = dice.of(3) > 0;
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
        (6, _) => propose_a_deletion(world, dice).await,
        (7, _) => fleet_otherwise(world, dice),
        (8, Some(mut wanted)) => {
            let other = ["shop-x", name][dice.of(2) as usize];
            wanted.spec.downstream.package = PackageName::parse(other).expect("a name");
            world.twin.put_variant(wanted);
        }
        _ => {}
    }
}

/// Somebody proposes that a published revision goes, or that what was proposed so stays.
async fn propose_a_deletion(world: &World, dice: &mut Dice) {
    let all = world.twin.revisions();
    let published = |r: &&Revision| r.lifecycle.is_published() && r.revision.is_numbered();
    let all: Vec<&Revision> = all.iter().filter(published).collect();
    let Some(one) = all.get(dice.of(all.len().max(1) as u64) as usize) else {
        return;
    };
    let (door, to) = match one.lifecycle {
        Lifecycle::Published => (Door::Main, Lifecycle::DeletionProposed),
        _ => (Door::Approval, Lifecycle::Published),
    };
    let alice = crate::world::alice();
    drop(world.engine.move_to(&alice, &one.key, door, to).await);
}

/// The set takes back what its earlier variants left, or wants another deletion policy.
fn fleet_otherwise(world: &World, dice: &mut Dice) {
    let known = world.twin.set(NS, "fleet").and_then(|s| s.parsed.ok());
    let Some(mut fleet) = known else { return };
    match dice.of(2) {
        0 => {
            let yes = ["true", "false"][dice.of(2) as usize].to_owned();
            let annotations = &mut fleet.meta.annotations;
            annotations.insert(words::TAKE_BACK.to_owned(), yes);
        }
        _ => {
            let all = [DeletionPolicy::Orphan, DeletionPolicy::Delete];
            if let Some(template) = fleet.spec.targets[0].template.as_mut() {
                template.deletion = Some(all[dice.of(2) as usize]);
            }
        }
    }
    world.twin.put_set(fleet);
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
