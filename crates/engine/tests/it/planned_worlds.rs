//! Generated worlds: whatever happened while no controller ran, a plan of everything comes true once they run again (F2).

use std::time::Duration;

use engine::Suppositions;
use model::{Lifecycle, UpstreamVersion};

use crate::planned::{drafts, plan};
use crate::planned_throws;
use crate::planned_true::came_true;
use crate::sets::{by_site, put_site, set};
use crate::variants::{DEPLOYMENT, endpoint, push, ready, variant};
use crate::world::{NS, World};

/// A small source of chance.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn of(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Something happens while no controller runs.
async fn happen(world: &World, dice: &mut Dice, round: usize) {
    let shops = ["shop-a", "shop-b", "shop-c"];
    let name = shops[dice.of(3) as usize];
    let known = world.twin.variant(NS, name);
    match dice.of(18) {
        0 | 1 if known.is_none() => drop(world.twin.put_variant(variant(name, name))),
        2 => {
            let text = DEPLOYMENT
                .replace("app:v1", &format!("app:v{}", dice.of(5)))
                .replace("replicas: 1", &format!("replicas: {}", dice.of(4)))
                .replace("# few", ["# few", "# more", "#"][dice.of(3) as usize]);
            push(world, &text, &format!("v{}", round + 2)).await;
        }
        3 => endpoint(world, &format!("eu-{}.example.test", dice.of(3))),
        4 | 5 => {
            let Some(Ok(parsed)) = known.map(|v| v.parsed) else {
                return;
            };
            let mut wanted = (*parsed).clone();
            match dice.of(4) {
                0 => wanted.spec.upstream.version = UpstreamVersion::Latest,
                1 => wanted.spec.upstream.version = UpstreamVersion::Revision(1),
                2 => drop(
                    wanted
                        .spec
                        .context
                        .data
                        .insert("zone".to_owned(), format!("z{}", dice.of(3))),
                ),
                _ => {
                    wanted.spec.pipeline.mutators[0].config_map[0].1 = format!("tier{}", dice.of(3))
                }
            }
            world.twin.put_variant(wanted);
        }
        6 => {
            let all = world.twin.revisions();
            let mine: Vec<_> = all
                .iter()
                .filter(|r| r.lifecycle == Lifecycle::Draft)
                .collect();
            let Some(draft) = mine.get(dice.of(mine.len().max(1) as u64) as usize) else {
                return;
            };
            let to = format!("replicas: {}", 5 + dice.of(4));
            world
                .edit(draft.key.name.as_str(), "deployment.yaml", |text| {
                    let at = text.find("replicas: ").expect("replicas");
                    let end = at + text[at..].find(' ').expect("a space") + 2;
                    format!("{}{to}{}", &text[..at], &text[end..])
                })
                .await;
        }
        7 => {
            let all = world.twin.revisions();
            let fits = |r: &&model::Revision| {
                r.lifecycle == Lifecycle::Draft && !r.conflicts.iter().any(model::Conflict::blocks)
            };
            // Half of them.
            let mine: Vec<_> = all
                .iter()
                .filter(fits)
                .filter(|_| dice.of(2) == 0)
                .collect();
            for draft in mine {
                let key = draft.key.clone();
                let by = crate::world::alice();
                let engine = &world.engine;
                // Whatever the gates say: an approval that is refused is one that nobody made.
                if engine
                    .move_to(&by, &key, model::Door::Main, Lifecycle::Proposed)
                    .await
                    .is_ok()
                {
                    let to = Lifecycle::Published;
                    drop(engine.move_to(&by, &key, model::Door::Approval, to).await);
                }
            }
        }
        8 => {
            let (city, live) = (
                ["eu", "us"][dice.of(2) as usize],
                ["yes", "yes", "no"][dice.of(3) as usize],
            );
            put_site(world, &format!("site-{}", dice.of(4)), city, live);
        }
        9 | 10 => {
            let mut fleet = set("fleet", vec![by_site()]);
            fleet.spec.deletion_guard.enabled = dice.of(2) == 0;
            if let Some(context) = fleet.spec.targets[0]
                .template
                .as_mut()
                .and_then(|t| t.context.as_mut())
            {
                context
                    .data
                    .insert("tier".to_owned(), format!("t{}", dice.of(2)));
            }
            if let model::UpstreamSource::Package(upstream) = &mut fleet.spec.upstreams[0]
                && dice.of(3) == 0
            {
                upstream.version = UpstreamVersion::Revision(1);
            }
            world.twin.put_set(fleet);
        }
        13..=16 => planned_throws::happen(world, dice, name).await,
        11 if dice.of(4) == 0 => world.twin.delete_set(NS, "fleet"),
        _ if known.is_some() && dice.of(3) == 0 => world.twin.delete_variant(NS, name),
        _ => {}
    }
}

/// In generated worlds, whatever happened while no controller ran: the plan of everything is what the controllers write
/// once they run again.
async fn world_of(seed: u64) {
    let mut dice = Dice(seed);
    let mut world = ready().await;
    for round in 0..6 {
        world.reconcilers = (false, false);
        world.restart().await;
        for _ in 0..=dice.of(4) {
            happen(&world, &mut dice, round).await;
            world.rest().await;
        }
        let before = drafts(&world);
        let foretold = plan(&world, Suppositions::default()).await;
        world.reconcilers = (true, true);
        // Nothing is pushed from here on: to look at git all the time took most of the test's.
        let often = std::mem::replace(&mut world.local_poll, Duration::from_secs(20));
        world.restart().await;
        // Deletions wait until a selection is quiet.
        world.pass(75).await;
        came_true(&world, &foretold, &before).await;
        world.local_poll = often;
    }
}

/// How many worlds, and from which seed on, `OFFSHOOT_WORLDS` says as `COUNT` or `COUNT@FIRST`.
#[tokio::test(start_paused = true)]
async fn in_generated_worlds_a_plan_comes_true() {
    let wanted = std::env::var("OFFSHOOT_WORLDS").unwrap_or_else(|_| "12".to_owned());
    let (count, first) = wanted.split_once('@').unwrap_or((&wanted, "1"));
    let (count, first): (u64, u64) = (
        count.parse().expect("a count"),
        first.parse().expect("a seed"),
    );
    for seed in first..first + count {
        println!("world {seed}");
        Box::pin(world_of(seed)).await;
    }
}
