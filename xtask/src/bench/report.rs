//! Tables of what phases cost: medians over the runs, growth over the sizes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::Result;
use super::measure::{Cost, exponent};

/// The run whose wall time is the median, phase by phase.
pub(super) fn medians(runs: Vec<Vec<Cost>>) -> Vec<Cost> {
    let mut phases: Vec<Vec<Cost>> = Vec::new();
    for run in runs {
        for (i, cost) in run.into_iter().enumerate() {
            match phases.get_mut(i) {
                Some(all) => all.push(cost),
                None => phases.push(vec![cost]),
            }
        }
    }
    let median = |mut all: Vec<Cost>| {
        all.sort_by(|a, b| a.wall.total_cmp(&b.wall));
        let middle = all.len() / 2;
        all.into_iter().nth(middle)
    };
    phases.into_iter().filter_map(median).collect()
}

/// The figures that a run in a process of its own wrote.
pub(super) fn read(path: &Path, n: usize) -> Result<Vec<Cost>> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("read a bench of {n}: {e}"))?;
    let rows: Vec<Value> = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    rows.iter()
        .map(|row| Cost::read(row).ok_or_else(|| format!("no figures of a bench of {n}: {row}")))
        .collect()
}

/// One table for one size.
pub(super) fn table(n: usize, costs: &[Cost]) {
    crate::say(&format!(
        "\nN = {n}\n{:<36} {:>8} {:>8} {:>8} {:>6} {:>7} {:>7} {:>7} {:>10} {:>7}  API requests",
        "phase",
        "wall s",
        "CPU s",
        "peak MB",
        "packs",
        "ref tx",
        "pushes",
        "fsyncs",
        "reconciles",
        "writes"
    ));
    for cost in costs {
        let reconciles = cost.count("variant_reconciles") + cost.count("set_reconciles");
        crate::say(&format!(
            "{:<36} {:>8.2} {:>8.2} {:>8.0} {:>6} {:>7} {:>7} {:>7} {:>10} {:>7}  {}",
            cost.phase,
            cost.wall,
            cost.cpu,
            cost.peak,
            cost.count("git packs"),
            cost.count("git ref_transactions"),
            cost.count("git pushes"),
            cost.count("git fsyncs"),
            reconciles,
            cost.count("writes of objects"),
            requests(cost),
        ));
    }
}

/// Requests by verb. The benchmark's own questions whether it is ready are gets.
fn requests(cost: &Cost) -> String {
    let mut verbs: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in &cost.counted {
        let words: Vec<&str> = name.split(' ').collect();
        if let [verb, _, code] = words.as_slice()
            && code.parse::<u16>().is_ok()
        {
            *verbs.entry(verb).or_default() += count;
        }
    }
    let words: Vec<String> = verbs
        .iter()
        .map(|(verb, count)| format!("{verb} {count}"))
        .collect();
    words.join(", ")
}

/// The exponent of growth of every phase.
pub(super) fn exponents(all: &[(usize, Vec<Cost>)]) {
    let first = all.first().map(|(_, costs)| costs.as_slice());
    for phase in first.unwrap_or_default().iter().map(|c| &c.phase) {
        let wall = |costs: &[Cost]| costs.iter().find(|c| c.phase == *phase).map(|c| c.wall);
        let points: Vec<_> = all
            .iter()
            .filter_map(|(n, costs)| Some((*n, wall(costs)?)))
            .collect();
        if let Some(b) = exponent(&points) {
            crate::say(&format!("growth of {phase}: N^{b:.2}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, medians};

    #[test]
    fn the_median_is_a_run_that_happened() {
        let run = |wall| vec![Cost::of("fan out", wall)];
        let medians = medians(vec![run(3.0), run(1.0), run(2.0)]);
        assert_eq!(medians.len(), 1);
        assert!((medians[0].wall - 2.0).abs() < 1e-9);
    }
}
