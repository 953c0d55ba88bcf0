//! Texts by lines (M21): what two sides made of one text, and the lines of it that they disagree about.
//!
//! Hunks that do not touch are taken from the side that made them; where they touch, both ways are told, and whoever
//! asks decides. Nothing is known of packages, and no markers are written.

mod excerpt;
mod format;
mod locate;

use std::borrow::Cow;
use std::ops::Range;

use similar::{MergeRegion, MergeResolution, TextMerge};

pub(crate) use excerpt::{Excerpt, read, write};
pub(crate) use format::stays_readable;
pub(crate) use locate::{edited, exchanged, standing, with_lines};

/// How many lines the three texts may have together; more is one value.
const MOST_LINES: usize = 100_000;
/// How many hunks both sides may have changed; with more, the texts have little to do with each other.
const MOST_HUNKS: usize = 64;

/// What two sides made of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Woven {
    /// Everything that does not touch, and the local lines where both sides changed them.
    pub(crate) local: String,
    /// The same with upstream's lines there.
    pub(crate) upstream: String,
    /// Where both sides changed the same lines: as base, local and upstream have them.
    pub(crate) hunks: Vec<[Excerpt; 3]>,
}

/// Merges three texts line by line; `None` where they are too long or have too little in common.
pub(crate) fn weave(base: &str, local: &str, upstream: &str) -> Option<Woven> {
    let sides = [base, local, upstream];
    if sides
        .iter()
        .map(|text| text.matches('\n').count())
        .sum::<usize>()
        > MOST_LINES
    {
        return None;
    }
    // A text that mixes breaks is taken as it is, and so are the others then.
    let even = sides
        .iter()
        .all(|text| breaks(text).is_some() || !text.contains('\n'));
    let wide = even && wanted_breaks(sides) == Some("\r\n");
    let level = sides.map(|text| {
        if even {
            level(text)
        } else {
            Cow::Borrowed(text)
        }
    });
    let [base, local, upstream] = level.each_ref().map(AsRef::as_ref);
    let merge = TextMerge::from_lines(base, local, upstream);
    let lines = Sides {
        base: (0..merge.base_len())
            .filter_map(|at| merge.base_line(at))
            .collect(),
        local: (0..merge.ours_len())
            .filter_map(|at| merge.ours_line(at))
            .collect(),
        upstream: (0..merge.theirs_len())
            .filter_map(|at| merge.theirs_line(at))
            .collect(),
    };
    let woven = lines.put_together(merge.regions())?;
    if !wide {
        return Some(woven);
    }
    let widen = |text: String| text.replace('\n', "\r\n");
    Some(Woven {
        local: widen(woven.local),
        upstream: widen(woven.upstream),
        hunks: woven.hunks,
    })
}

/// The three texts as lines, each with its break.
struct Sides<'t> {
    base: Vec<&'t str>,
    local: Vec<&'t str>,
    upstream: Vec<&'t str>,
}

impl Sides<'_> {
    fn put_together(&self, regions: &[MergeRegion]) -> Option<Woven> {
        let mut woven = Woven {
            local: String::new(),
            upstream: String::new(),
            hunks: Vec::new(),
        };
        // Nothing of a side may be left out, whatever the comparison says.
        let mut seen = [0; 3];
        for (at, region) in regions.iter().enumerate() {
            let ranges = [
                region.base_range(),
                region.ours_range(),
                region.theirs_range(),
            ];
            // A gap between two regions would be lines of a side that are in no result and no conflict.
            if ranges.each_ref().map(|range| range.start) != seen {
                return None;
            }
            seen = ranges.each_ref().map(|range| range.end);
            let [base, mine, theirs] = &ranges;
            let (ours, other) = (
                self.local.get(mine.clone())?,
                self.upstream.get(theirs.clone())?,
            );
            match region.resolution() {
                MergeResolution::Unchanged | MergeResolution::Ours | MergeResolution::Both => {
                    woven.push(ours, ours);
                }
                MergeResolution::Theirs => woven.push(other, other),
                // One more than is told: each would be looked for in the whole text for nothing.
                _ if woven.hunks.len() == MOST_HUNKS => return None,
                _ => {
                    // Lines around it are recorded with it: they find the place again in a text that went on since.
                    woven.push(ours, other);
                    let around =
                        |near: Option<&MergeRegion>| near.map_or(0..0, MergeRegion::base_range);
                    let before = around(at.checked_sub(1).and_then(|at| regions.get(at)));
                    let after = around(regions.get(at + 1));
                    let excerpt = Excerpt::around(&self.base, before, after);
                    let sides = [self.base.get(base.clone())?, ours, other];
                    woven.hunks.push(sides.map(|lines| excerpt.with(lines)));
                }
            }
        }
        let complete = seen == [self.base.len(), self.local.len(), self.upstream.len()];
        // Texts of which nothing is left are told whole.
        let common = regions.len() > 1 || woven.hunks.is_empty();
        (complete && common).then_some(woven)
    }
}

impl Woven {
    fn push(&mut self, local: &[&str], upstream: &[&str]) {
        self.local.extend(local.iter().copied());
        self.upstream.extend(upstream.iter().copied());
    }
}

/// The line break that a text uses throughout; `None` where it mixes them, or has none.
pub(crate) fn breaks(text: &str) -> Option<&'static str> {
    let (all, wide) = (text.matches('\n').count(), text.matches("\r\n").count());
    match () {
        () if all == 0 => None,
        () if wide == all => Some("\r\n"),
        () if wide == 0 => Some("\n"),
        () => None,
    }
}

/// A text with `\n` alone, where it uses one line break throughout.
pub(crate) fn level(text: &str) -> Cow<'_, str> {
    match breaks(text) {
        Some("\r\n") => Cow::Owned(text.replace("\r\n", "\n")),
        _ => Cow::Borrowed(text),
    }
}

/// The line breaks of a merged text: those that one side changed to.
fn wanted_breaks([base, local, upstream]: [&str; 3]) -> Option<&'static str> {
    let [base, local, upstream] = [base, local, upstream].map(breaks);
    if base == local { upstream } else { local }
}

/// Lines of a text with their breaks.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Whether two ranges have a line in common; an empty one counts where it stands inside or at the edge.
fn touch(a: &Range<usize>, b: &Range<usize>) -> bool {
    if a.is_empty() || b.is_empty() {
        return a.start <= b.end && b.start <= a.end;
    }
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests;
