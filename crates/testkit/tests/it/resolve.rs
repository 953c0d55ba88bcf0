//! Decisions about the conflicts of generated merges (F4): what is decided stands, and nothing else moves.

use model::{Conflict, ConflictPolicy, ConflictSide, Files, Strategy};
use package::conflicts;
use package::merge::{MergeOptions, diff, merge, within};
use testkit::merge_lab::Case;

/// What the decisions of all seeds came to.
#[derive(Debug, Default)]
struct Sum {
    decided: usize,
    /// What the record has too little of, so that a person edits the draft.
    by_hand: usize,
}

/// Whether a difference lies at the place of a conflict.
fn is_at(conflict: &Conflict, file: &str, resource: &str, path: &str) -> bool {
    let place = conflict.path.split('#').next().unwrap_or_default();
    let place = place.trim_end_matches('.');
    let same = resource.is_empty() || conflict.resource.is_empty() || resource == conflict.resource;
    let path_meets = within(path, place) || within(place, path);
    // What is about places of files and resources, and about whole subpackages, moves whole files.
    let moves = conflict.path.contains("#file") || conflict.path.contains("#tree");
    moves || (file == conflict.file.as_str() && same && path_meets)
}

/// One side taken at the place of one conflict.
fn decide(
    seed: u64,
    files: &Files,
    sides: &[Files; 3],
    conflict: &Conflict,
    side: ConflictSide,
    sum: &mut Sum,
) -> Files {
    let [base, local, upstream] = sides;
    let from = match side {
        ConflictSide::Base => base,
        ConflictSide::Local => local,
        ConflictSide::Upstream => upstream,
    };
    let mut after = files.clone();
    let done = conflicts::holds_side(files, conflict, side)
        || conflicts::put_side(&mut after, from, conflict, side)
        || conflicts::put_recorded(&mut after, conflict, side);
    if !done {
        sum.by_hand += 1;
        return files.clone();
    }
    sum.decided += 1;
    let held = conflicts::value_at(&after, conflict);
    assert_eq!(
        held,
        *side.of(conflict),
        "seed {seed}: {conflict} was decided as {side}"
    );
    for found in diff(files, &after) {
        assert!(
            is_at(conflict, found.file.as_str(), &found.resource, &found.path),
            "seed {seed}: taking {side} of {conflict} moved {} {} {}",
            found.file.as_str(),
            found.resource,
            found.path
        );
    }
    after
}

fn seed(seed: u64, sum: &mut Sum) {
    let case = Case::of(seed, seed.is_multiple_of(4));
    let [base, local, upstream] = case.sides.each_ref();
    let options = MergeOptions::against_base(Strategy::ResourceMerge, ConflictPolicy::Block);
    let Ok(merged) = merge(base, local, upstream, &options) else {
        return;
    };
    let open = merged
        .conflicts
        .iter()
        .filter(|c| c.blocks() && c.derived_from.is_none());
    for (at, conflict) in open.enumerate() {
        // Each decision by itself: those of one place would undo each other.
        let mut once = merged.files.clone();
        for turn in 0..2 {
            let side = ConflictSide::ALL[(seed as usize + at + turn) % 3];
            once = decide(seed, &once, &case.sides, conflict, side, sum);
        }
        // The same again changes nothing, and what was left alone is still recorded.
        let local = &conflict.local;
        let there = conflicts::value_at(case.sides.get(1).expect("local"), conflict);
        let hidden = matches!(local, model::ConflictValue::Hash(_));
        // What is about a whole file is recorded as a value, and looked at as a text.
        let place = conflict.path.is_empty() || conflict.path.contains('#');
        assert!(
            hidden || place || *local == there,
            "seed {seed}: {conflict} records {local}, and local holds {there}"
        );
    }
}

/// No local value is lost unrecorded, however conflicts are decided: the record has it, the decision stands, and nothing
/// beside its place moves. `OFFSHOOT_RESOLVE_SEEDS` says how many seeds.
#[test]
fn whatever_is_decided_stands_and_nothing_beside_it_moves() {
    let seeds = std::env::var("OFFSHOOT_RESOLVE_SEEDS").ok();
    let seeds: u64 = seeds.map_or(300, |text| text.parse().expect("a number"));
    let mut sum = Sum::default();
    for n in 0..seeds {
        seed(n, &mut sum);
    }
    println!("{seeds} seeds: {sum:?}");
    assert!(sum.decided as u64 > seeds / 10, "{sum:?}");
}
