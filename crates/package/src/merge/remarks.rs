//! Comments that no field carries: header blocks, those set apart, those inside values that merge whole (M14).
//!
//! The field merge decides what a document means. Then its comments are counted: where one that a side
//! added is missing, or one that a side took away is still there, the lines of that side are brought in
//! as text, unless the other side changed them too or the document would mean something else. A comment
//! that finds no place is recorded; none is dropped in silence. Values are never decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use model::Decision;
use similar::{Algorithm, DiffTag, capture_diff_slices};
use yaml::{Document, Limits, Stream};

use super::compare::same;
use super::marks::MERGE_COMMENT;
use super::record::Recorder;

/// How many lines may differ before a text is not compared line by line any more.
const LINES: usize = 4000;
/// How many changes are tried one by one, in a text of at most so many bytes.
const TRIES: (usize, usize) = (32, 1 << 20);

/// The text of a merged document with every comment that has a place in it. `since` is the number of
/// conflicts before the document.
pub(super) fn settle(
    merged: Document<'_>,
    sides: [Document<'_>; 3],
    record: &mut Recorder<'_>,
    since: usize,
) -> String {
    let ledger = Ledger(sides.map(counts));
    let mut text = merged.text().to_owned();
    let mut off = ledger.off(&counts(merged));
    if off == 0 {
        return text;
    }
    let judge = |candidate: &str| {
        let stream = Stream::parse(candidate, &Limits::default()).ok()?;
        let document = stream.document(0).filter(|_| stream.len() == 1)?;
        let like = same(document.root(), merged.root()) && marks(document) == marks(merged);
        like.then(|| ledger.off(&counts(document)))
    };
    let [base, local, upstream] = sides;
    for side in [upstream, local] {
        if let Some(better) = bring(&text, base, side, off, &judge) {
            (text, off) = better;
        }
    }
    if off > 0
        && let Ok(stream) = Stream::parse(text.as_str(), &Limits::default())
        && let Some(document) = stream.document(0)
    {
        let mut missing = ledger.missing(&counts(document));
        missing.retain(|text, _| !record.names_comment(text, since));
        let decision = match missing.values().any(|mine| *mine) {
            true => Decision::Upstream,
            false => Decision::Local,
        };
        let named: BTreeSet<&str> = missing.into_keys().collect();
        if !named.is_empty() {
            let named = (!record.hides()).then_some(&named);
            let values = sides.map(|side| standing(side, named).join("\n"));
            record.lost_comments(values.each_ref().map(String::as_str), decision);
        }
    }
    text
}

/// Which of the named comments (without names, which of all) stand in a document: each once, sorted.
pub(crate) fn standing<'a>(document: Document<'a>, named: Option<&BTreeSet<&str>>) -> Vec<&'a str> {
    let texts = counts(document).into_keys();
    texts
        .filter(|text| named.is_none_or(|named| named.contains(text)))
        .collect()
}

/// How often each comment stands in a document.
type Counts<'a> = BTreeMap<&'a str, usize>;

/// Identity is the downstream's own and does not count.
fn counts<'a>(document: Document<'a>) -> Counts<'a> {
    let mut counts = Counts::new();
    for comment in document.comments() {
        if !comment.text.contains(MERGE_COMMENT) {
            *counts.entry(comment.text.trim_end()).or_default() += 1;
        }
    }
    counts
}

fn marks(document: Document<'_>) -> Vec<&str> {
    let comments = document.comments().map(|comment| comment.text.trim_end());
    comments
        .filter(|text| text.contains(MERGE_COMMENT))
        .collect()
}

/// The comments of base, local and upstream.
struct Ledger<'a>([Counts<'a>; 3]);

impl<'a> Ledger<'a> {
    /// Each comment with how often each side holds it.
    fn all(&self) -> impl Iterator<Item = (&'a str, [usize; 3])> {
        let [base, local, upstream] = &self.0;
        let texts: BTreeSet<&'a str> = base
            .keys()
            .chain(local.keys())
            .chain(upstream.keys())
            .copied()
            .collect();
        texts.into_iter().map(move |text| {
            let sides = [base, local, upstream];
            let sides = sides.map(|side| side.get(text).copied().unwrap_or_default());
            (text, sides)
        })
    }

    /// How many comments too many or too few there are.
    fn off(&self, counts: &Counts<'_>) -> usize {
        let off = self.all().filter_map(|(text, sides)| {
            let there = counts.get(text).copied().unwrap_or_default();
            Some(wanted(sides)?.abs_diff(there))
        });
        off.sum()
    }

    /// What a side added and is not there, and whether it was the local one.
    fn missing(&self, counts: &Counts<'_>) -> BTreeMap<&'a str, bool> {
        let missing = self.all().filter(|(text, sides)| {
            let there = counts.get(text).copied().unwrap_or_default();
            let [base, local, upstream] = *sides;
            let added = local > base || upstream > base;
            added && wanted(*sides).is_some_and(|wanted| there < wanted)
        });
        missing
            .map(|(text, [base, local, _])| (text, local > base))
            .collect()
    }
}

/// How often a comment has to be there; `None` where both sides changed that in their own ways.
fn wanted([base, local, upstream]: [usize; 3]) -> Option<usize> {
    match () {
        () if base == local => Some(upstream),
        () if base == upstream || local == upstream => Some(local),
        () => None,
    }
}

/// Lines that become others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    old: Range<usize>,
    new: Range<usize>,
}

/// Brings the changes of comments between `base` and `side` into a text that also comes from `base`;
/// `None` where that betters nothing.
fn bring(
    text: &str,
    base: Document<'_>,
    side: Document<'_>,
    off: usize,
    judge: &impl Fn(&str) -> Option<usize>,
) -> Option<(String, usize)> {
    let (from, ours, theirs) = (lines(base.text()), lines(text), lines(side.text()));
    let changes = hunks(&from, &ours)?;
    let (old, new) = (places(base), places(side));
    let wanted = hunks(&from, &theirs)?.into_iter().filter(|hunk| {
        let texts = |places: &[(usize, &'_ str)], range: &Range<usize>| -> Vec<String> {
            let inside = places.iter().filter(|(line, _)| range.contains(line));
            inside.map(|(_, text)| (*text).to_owned()).collect()
        };
        texts(&old, &hunk.old) != texts(&new, &hunk.new)
            && !changes.iter().any(|other| overlap(&hunk.old, &other.old))
    });
    let edits: Vec<Hunk> = wanted.map(|hunk| moved(&hunk, &changes)).collect();
    let whole = put(text, &edits, &theirs);
    if let Some(left) = judge(&whole).filter(|left| *left < off) {
        return Some((whole, left));
    }
    let (mut taken, mut best) = (Vec::new(), None);
    let tries = if text.len() > TRIES.1 { 0 } else { TRIES.0 };
    for edit in edits.iter().take(tries) {
        taken.push(edit.clone());
        let candidate = put(text, &taken, &theirs);
        let before = best.as_ref().map_or(off, |(_, left)| *left);
        match judge(&candidate).filter(|left| *left < before) {
            Some(left) => best = Some((candidate, left)),
            None => _ = taken.pop(),
        }
    }
    best
}

/// The lines of a text without their ends.
fn lines(text: &str) -> Vec<&str> {
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| line.trim_end_matches(['\n', '\r']))
        .collect()
}

/// The comments of a document with the lines that they stand on.
fn places<'a>(document: Document<'a>) -> Vec<(usize, &'a str)> {
    let text = document.text();
    let mut starts = vec![0];
    starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    let first = document.span().start;
    let place = |comment: yaml::Comment<'a>| {
        let at = comment.span.start - first;
        let line = starts.partition_point(|start| *start <= at);
        (line.saturating_sub(1), comment.text.trim_end())
    };
    document.comments().map(place).collect()
}

/// What differs between two texts; changes of as many lines into as many are taken line by line.
/// `None` where too much does.
fn hunks(old: &[&str], new: &[&str]) -> Option<Vec<Hunk>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (rest, other) = (old.get(head..)?, new.get(head..)?);
    let pairs = rest.iter().rev().zip(other.iter().rev());
    let tail = pairs.take_while(|(a, b)| a == b).count();
    let rest = rest.get(..rest.len() - tail)?;
    let other = other.get(..other.len() - tail)?;
    if rest.len() + other.len() > LINES {
        return None;
    }
    let mut hunks = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, rest, other) {
        if op.tag() == DiffTag::Equal {
            continue;
        }
        let shift = |range: Range<usize>| range.start + head..range.end + head;
        let (old, new) = (shift(op.old_range()), shift(op.new_range()));
        if old.len() == new.len() {
            let line = |(old, new)| Hunk {
                old: old..old + 1,
                new: new..new + 1,
            };
            hunks.extend(old.zip(new).map(line));
        } else {
            hunks.push(Hunk { old, new });
        }
    }
    Some(hunks)
}

/// Whether two changes touch the same lines; two insertions at one place do not.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    if a.is_empty() {
        return b.start < a.start && a.start < b.end;
    }
    if b.is_empty() {
        return a.start < b.start && b.start < a.end;
    }
    a.start.max(b.start) < a.end.min(b.end)
}

/// A change of the base as one of a text that went through other changes, none of which overlaps.
fn moved(hunk: &Hunk, changes: &[Hunk]) -> Hunk {
    let before = changes
        .iter()
        .filter(|change| change.old.end <= hunk.old.start);
    let (added, gone) = before.fold((0, 0), |(added, gone), change| {
        (added + change.new.len(), gone + change.old.len())
    });
    let start = hunk.old.start + added - gone;
    Hunk {
        old: start..start + hunk.old.len(),
        new: hunk.new.clone(),
    }
}

/// A text with some of its lines replaced by lines of another one. What is not replaced keeps its bytes.
fn put(text: &str, edits: &[Hunk], theirs: &[&str]) -> String {
    let ours: Vec<&str> = text.split_inclusive('\n').collect();
    let end = match ours.first() {
        Some(line) if line.ends_with("\r\n") => "\r\n",
        _ => "\n",
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.extend(
            ours.get(at..edit.old.start)
                .unwrap_or_default()
                .iter()
                .copied(),
        );
        for line in theirs.get(edit.new.clone()).unwrap_or_default() {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(end);
            }
            out.push_str(line);
            out.push_str(end);
        }
        at = edit.old.end;
    }
    out.extend(ours.get(at..).unwrap_or_default().iter().copied());
    if !text.ends_with('\n') && out.ends_with(end) {
        out.truncate(out.len() - end.len());
    }
    out
}
