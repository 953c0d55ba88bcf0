//! A share of the generated merges that `cargo xtask merge-lab` runs by the thousand.

use std::collections::BTreeMap;

use super::merge_lab::Case;

/// The seeds of the share, or those that `OFFSHOOT_MERGE_SEEDS` names as `FROM..TO`; with `OFFSHOOT_MERGE_MOVES` what moves, too.
fn seeds() -> std::ops::Range<u64> {
    let named = std::env::var("OFFSHOOT_MERGE_SEEDS").unwrap_or_else(|_| "0..60".to_owned());
    let (from, to) = named.split_once("..").unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

#[test]
fn generated_merges_lose_double_and_move_nothing() {
    let mut rules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let moves = std::env::var_os("OFFSHOOT_MERGE_MOVES").is_some();
    for seed in seeds() {
        let case = Case::of(seed, moves);
        let judged = case.judge();
        assert!(judged.merged.is_some(), "{seed}");
        for fault in judged.faults {
            let story = case.story.join("\n  ");
            let told = format!("seed {seed}: {}: {}\n  {story}", fault.rule, fault.what);
            rules.entry(fault.rule).or_default().push(told);
        }
    }
    let shown: Vec<String> = rules
        .iter()
        .map(|(rule, told)| {
            format!(
                "{} × {rule}, first\n{}\n",
                told.len(),
                told[..told.len().min(20)].join("\n")
            )
        })
        .collect();
    assert!(rules.is_empty(), "{}", shown.concat());
}
