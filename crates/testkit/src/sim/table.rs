//! The table of what struck where: a fault that never struck was never tested.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::faults::{Strike, Tally, all};

/// Faults that never struck at a side effect where they could.
pub fn zeros(tally: &Tally) -> Vec<Strike> {
    let mut all = all();
    all.retain(|strike| tally.get(strike).is_none_or(|n| *n == 0));
    all
}

/// The table, one line for each side effect.
pub fn print(tally: &Tally) -> String {
    let possible: BTreeSet<Strike> = all().into_iter().collect();
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (effect, fault) in possible.iter().chain(tally.keys()) {
        let count = tally.get(&(effect.clone(), *fault)).copied().unwrap_or(0);
        let cell = format!("{fault} {count}");
        let line = lines.entry(effect).or_default();
        if !line.contains(&cell) {
            line.push(cell);
        }
    }
    let width = lines.keys().map(|l| l.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (effect, cells) in lines {
        // Writing to a String cannot fail.
        _ = writeln!(text, "{effect:width$}  {}", cells.join(" · "));
    }
    text
}
