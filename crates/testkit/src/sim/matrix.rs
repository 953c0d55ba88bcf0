//! The crash matrix: every failpoint that a scenario passes, its first, a middle and its last hit; the
//! process dies there once, is started again, and everything ends as if it had not died.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use model::{CommitId, TreeId};
use store::Dir;

use super::chaos::{Chaos, Script};
use super::faults::failpoints;
use super::fixtures::TARGETS;
use super::people;
use super::reading::Seen;
use super::scenario::Scenario;
use super::world::World;
use super::{Sim, Violation, runtime};

/// One death: where, and at which hit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The story.
    pub scenario: Scenario,
    /// The failpoint.
    pub point: String,
    /// Which hit of it, counted from 1.
    pub hit: u64,
    /// The number of the cell in its matrix: decides what of the undurable is kept.
    pub number: u64,
}

/// What came of one death.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// Where.
    pub cell: Cell,
    /// Whether the process died there.
    pub died: bool,
    /// The broken promise, if any.
    pub violation: Option<Violation>,
    /// What happened, in order.
    pub story: Vec<String>,
}

/// What an uninterrupted run passes, and how it ends.
#[derive(Debug, Clone)]
struct Whole {
    hits: BTreeMap<String, u64>,
    end: End,
}

/// Every ref of people and of ours with the tree of its package.
type End = BTreeMap<String, Option<TreeId>>;

/// All cells, with how each scenario ends without a death.
#[derive(Debug, Clone)]
pub struct Matrix {
    sim: Sim,
    whole: BTreeMap<Scenario, Whole>,
    cells: Vec<Cell>,
}

impl Matrix {
    /// Plays every scenario without a death, and finds out what can be hit.
    ///
    /// # Errors
    /// A promise that is broken even then.
    pub fn new(sim: &Sim) -> Result<Self, Violation> {
        let mut whole = BTreeMap::new();
        for scenario in Scenario::ALL {
            let said = |v: Violation| Violation(format!("{} in peace: {v}", scenario.name()));
            let (result, chaos, end) = play(sim, scenario, 0, Script::Count, None)?;
            result.map_err(said)?;
            let hits = chaos.hits();
            whole.insert(scenario, Whole { hits, end });
        }
        let mut cells = Vec::new();
        for (scenario, whole) in &whole {
            for (point, count) in &whole.hits {
                let hits = BTreeSet::from([1, count.div_ceil(2), *count]);
                cells.extend(hits.into_iter().map(|hit| (*scenario, point.clone(), hit)));
            }
        }
        let cells = (1..)
            .zip(cells)
            .map(|(number, (scenario, point, hit))| Cell {
                scenario,
                point,
                hit,
                number,
            });
        Ok(Self {
            sim: sim.clone(),
            whole,
            cells: cells.collect(),
        })
    }

    /// Every death that there is.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Every `share`-th of them, so chosen that no scenario and no failpoint is left out for long.
    pub fn share(&self, share: u64) -> Vec<&Cell> {
        let chosen = |c: &&Cell| c.number.is_multiple_of(share.max(1));
        self.cells.iter().filter(chosen).collect()
    }

    /// Plays a scenario with one death.
    pub fn die(&self, cell: &Cell) -> Death {
        let script = Script::Once {
            point: cell.point.clone(),
            hit: cell.hit,
        };
        let expected = self.whole.get(&cell.scenario).map(|whole| &whole.end);
        match play(&self.sim, cell.scenario, cell.number, script, expected) {
            Ok((result, chaos, _)) => Death {
                cell: cell.clone(),
                died: chaos.deaths() > 0,
                violation: result.err(),
                story: chaos.read().2,
            },
            Err(violation) => Death {
                cell: cell.clone(),
                died: false,
                violation: Some(violation),
                story: Vec::new(),
            },
        }
    }

    /// How many failpoints there are, and how many pairs of failpoint and scenario are reached.
    pub fn reached(&self) -> (usize, usize) {
        let cells = self.whole.values().map(|whole| whole.hits.len()).sum();
        (self.points().len(), cells)
    }

    fn points(&self) -> BTreeSet<String> {
        let known = failpoints().into_iter();
        let hit = self.whole.values().flat_map(|w| w.hits.keys().cloned());
        known.chain(hit).collect()
    }

    /// The matrix: for each failpoint how often each scenario passes it.
    pub fn print(&self) -> String {
        let points = self.points();
        let width = points.iter().map(String::len).max().unwrap_or(0);
        let mut text = String::new();
        // Writing to a String cannot fail.
        for (n, scenario) in Scenario::ALL.iter().enumerate() {
            _ = writeln!(text, "{:>2} {}", n + 1, scenario.name());
        }
        _ = write!(text, "{:width$}", "");
        for n in 1..=Scenario::ALL.len() {
            _ = write!(text, " {n:>4}");
        }
        _ = writeln!(text);
        for point in points {
            _ = write!(text, "{point:width$}");
            for scenario in Scenario::ALL {
                let whole = self.whole.get(&scenario);
                let count = whole.and_then(|w| w.hits.get(&point)).copied();
                _ = write!(
                    text,
                    " {:>4}",
                    count.map_or_else(|| ".".to_owned(), |c| c.to_string())
                );
            }
            _ = writeln!(text);
        }
        let (points, cells) = self.reached();
        _ = writeln!(text, "{points} failpoints, {cells} cells reached");
        text
    }
}

type Played = (Result<(), Violation>, std::sync::Arc<Chaos>, End);

fn play(
    sim: &Sim,
    scenario: Scenario,
    seed: u64,
    script: Script,
    expected: Option<&End>,
) -> Result<Played, Violation> {
    let complete = sim.complete.clone();
    runtime()?.block_on(async {
        let mut world = World::bare(Chaos::with(seed, script), complete).await;
        let told = tell(&mut world, scenario, expected).await;
        world.end();
        let (result, end) = match told {
            Ok(end) => (Ok(()), end),
            Err(broken) => (Err(broken), End::new()),
        };
        Ok((result, std::sync::Arc::clone(&world.durable.chaos), end))
    })
}

/// Plays a scenario, and answers how it ends.
async fn tell(
    world: &mut World,
    scenario: Scenario,
    expected: Option<&End>,
) -> Result<End, Violation> {
    scenario.prepare(world).await?;
    world.durable.chaos.set_on(true);
    scenario.play(world).await?;
    world.durable.chaos.set_on(false);
    // A failure may be waiting for its next turn.
    world.pass(90_000).await?;
    world.rest().await?;
    world.settled()?;
    world.untouched()?;
    scenario.ended(world)?;
    // Before commits that concern nobody are made to see what is read for them.
    let end = world.state()?;
    world.calm().await?;
    match expected {
        Some(expected) if *expected != end => Err(Violation(format!(
            "R4: it ends with {end:?} instead of {expected:?}"
        ))),
        _ => Ok(end),
    }
}

impl World {
    /// How things stand in git.
    fn state(&self) -> Result<End, Violation> {
        let mut end = End::new();
        for (_, url) in TARGETS {
            let seen = self.seen(url)?;
            for (name, commit) in seen.refs.iter() {
                if name.as_str().starts_with("refs/offshoot/") {
                    continue;
                }
                let package = people::draft_of(url, name).map(|(package, ..)| package);
                let dir = package.as_deref().and_then(|p| p.split_once('/'));
                let dir = dir.map_or("", |(_, package)| package);
                let tree = tree(&seen, *commit, dir);
                let tree = tree.map_err(|e| Violation(format!("I6: {name} of {url}: {e}")))?;
                end.insert(format!("{url} {name}"), tree);
            }
        }
        Ok(end)
    }
}

/// The tree of a directory at a commit.
fn tree(seen: &Seen, at: CommitId, dir: &str) -> Result<Option<TreeId>, String> {
    let dir = Dir::parse(dir).map_err(|e| e.to_string())?;
    let root = seen.repo.commit(at).map_err(|e| e.to_string())?.tree;
    if dir.is_root() {
        return Ok(Some(root));
    }
    seen.repo.subtree(root, &dir).map_err(|e| e.to_string())
}
