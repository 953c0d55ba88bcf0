//! Lines that change, each with as much around it as makes its place certain.

use std::collections::BTreeSet;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::inputs::{Inputs, TextWithInputs};

/// Lines of the old text that stand at exactly one place, and what takes their place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hunk {
    /// What stands there.
    pub find: TextWithInputs,
    /// What stands there then.
    pub replace: TextWithInputs,
}

/// A range of lines of the old text and of the new one.
#[derive(Debug, Clone, Copy)]
struct Range {
    old: (usize, usize),
    new: (usize, usize),
}

/// The lines that change between two texts.
pub(super) fn of(old: &str, new: &str, inputs: &Inputs) -> Vec<Hunk> {
    let before: Vec<&str> = old.split_inclusive('\n').collect();
    let after: Vec<&str> = new.split_inclusive('\n').collect();
    let mut ranges = changed(&before, &after);
    // More lines around it until it stands at one place alone; what meets its neighbour becomes one with it.
    loop {
        let mut grown = false;
        for range in &mut ranges {
            let (from, to) = range.old;
            if occurrences(&before, before.get(from..to).unwrap_or_default()) == 1 {
                continue;
            }
            grown |= grow(range, before.len(), after.len());
        }
        join(&mut ranges);
        if !grown {
            break;
        }
    }
    let text = |lines: &[&str], (from, to): (usize, usize)| {
        let lines = lines.get(from..to).unwrap_or_default();
        TextWithInputs::of(&lines.concat(), inputs)
    };
    let hunk = |range: &Range| Hunk {
        find: text(&before, range.old),
        replace: text(&after, range.new),
    };
    ranges.iter().map(hunk).collect()
}

/// Whether two texts made of an old one have the same lines, and those of the old one in the same order: new lines alone stand
/// elsewhere.
pub(super) fn are_placed_otherwise(old: &str, new: [&str; 2]) -> bool {
    let known: BTreeSet<&str> = old.lines().collect();
    let kept = |text| str::lines(text).filter(|line| known.contains(line));
    let sorted = |text| {
        let mut lines: Vec<&str> = str::lines(text).collect();
        lines.sort_unstable();
        lines
    };
    let [one, other] = new;
    sorted(one) == sorted(other) && kept(one).eq(kept(other))
}

fn changed(before: &[&str], after: &[&str]) -> Vec<Range> {
    capture_diff_slices(Algorithm::Myers, before, after)
        .into_iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| Range {
            old: (op.old_range().start, op.old_range().end),
            new: (op.new_range().start, op.new_range().end),
        })
        .collect()
}

/// One line more on either side, as far as there are lines. Around a range, both texts have the same lines.
fn grow(range: &mut Range, old: usize, new: usize) -> bool {
    let mut grown = false;
    if range.old.0 > 0 && range.new.0 > 0 {
        range.old.0 -= 1;
        range.new.0 -= 1;
        grown = true;
    }
    if range.old.1 < old && range.new.1 < new {
        range.old.1 += 1;
        range.new.1 += 1;
        grown = true;
    }
    grown
}

fn join(ranges: &mut Vec<Range>) {
    ranges.dedup_by(|next, last| {
        let meet = next.old.0 <= last.old.1 || next.new.0 <= last.new.1;
        if meet {
            last.old.1 = last.old.1.max(next.old.1);
            last.new.1 = last.new.1.max(next.new.1);
        }
        meet
    });
}

/// At how many places lines stand. No lines at all stand everywhere, unless there is nothing to stand in.
fn occurrences(all: &[&str], lines: &[&str]) -> usize {
    if lines.is_empty() {
        return if all.is_empty() { 1 } else { 2 };
    }
    all.windows(lines.len()).filter(|at| *at == lines).count()
}

/// Puts hunks into a text; `None` where one has no certain place in it.
pub(super) fn apply(text: &str, hunks: &[Hunk], inputs: &Inputs) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut done = String::new();
    let mut at = 0;
    for hunk in hunks {
        let find = hunk.find.fill(inputs)?;
        let find: Vec<&str> = find.split_inclusive('\n').collect();
        if occurrences(&lines, &find) != 1 {
            return None;
        }
        let place = match find.len() {
            0 => 0,
            length => lines.windows(length).position(|at| at == find)?,
        };
        done.push_str(&lines.get(at..place)?.concat());
        done.push_str(&hunk.replace.fill(inputs)?);
        at = place + find.len();
    }
    done.push_str(&lines.get(at..)?.concat());
    Some(done)
}
