//! Which comments before the first entry are the document's, and which are that entry's (M14).
//!
//! As long as all sides begin with the same entry nobody has to know. Where one puts another entry first, or takes the first one
//! away, what stands above both first entries is the document's, and the rest is the entry's. Nothing here changes a text.

use similar::{Algorithm, capture_diff_slices};
use yaml::{Document, Place};

/// How many comments of each header are the document's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    pub(super) merged: usize,
    pub(super) sides: [usize; 3],
}

/// The shares of the headers; `None` where all documents begin with the same entry.
pub(super) fn shares(merged: Document<'_>, sides: [Option<Document<'_>>; 3]) -> Option<Shares> {
    let known = first(merged);
    let begins = sides.map(|side| side.map(first));
    if begins.iter().flatten().all(|first| *first == known) {
        return None;
    }
    let headers = sides.map(|side| side.map(header).unwrap_or_default());
    let [old, mine, theirs] = headers.each_ref().map(Vec::as_slice);
    let [from, local, upstream] = &begins;
    if from.is_none() {
        let common = common(mine, theirs);
        let merged = common_with(&header(merged), mine, common);
        let sides = [0, common, common];
        return Some(Shares { merged, sides });
    }
    // What both first entries have above them; of a side that begins as base does, what stands in its place.
    let other = |side: &Option<_>| side.is_some() && side != from;
    let least = |side: &Option<_>, lines| match other(side) {
        true => common(old, lines),
        false => old.len(),
    };
    let share = least(local, mine).min(least(upstream, theirs));
    let of = |side: &Option<_>, lines: &[&str]| match other(side) {
        true => share,
        false if !other(local) && !other(upstream) => lines.len(),
        false => place(old, lines, share),
    };
    let sides = [share, of(local, mine), of(upstream, theirs)];
    let [_, own, _] = sides;
    let merged = common_with(&header(merged), mine, own);
    Some(Shares { merged, sides })
}

/// The first key of a document.
fn first(document: Document<'_>) -> Option<String> {
    let entry = document.root().entries().next();
    entry.and_then(|entry| Some(entry.key.key_text()?.to_owned()))
}

/// The comments before the first entry.
fn header(document: Document<'_>) -> Vec<&str> {
    let attachments = document.attachments();
    let header = attachments.of(document.root(), Place::Head);
    header.map_or_else(Vec::new, |header| header.comments.clone())
}

/// How many lines two headers begin with alike.
fn common(a: &[&str], b: &[&str]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// How many of the first lines of another header a header begins with.
fn common_with(header: &[&str], other: &[&str], lines: usize) -> usize {
    common(header, other.get(..lines).unwrap_or(other))
}

/// Where a place between the lines of one header lies in another one.
fn place(old: &[&str], new: &[&str], at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    let ops = capture_diff_slices(Algorithm::Myers, old, new);
    let Some(op) = ops.iter().find(|op| op.old_range().end >= at) else {
        return 0;
    };
    let (from, to) = (op.old_range(), op.new_range());
    match at == from.end {
        true => to.end,
        false => to.end.min(to.start + at.saturating_sub(from.start)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_header_is_found_in_another_one() {
        let old = ["# licence", "# rights", "# what"];
        for (new, at, wanted) in [
            (&["# licence", "# rights", "# what"][..], 2, 2),
            (&["# licence 2", "# rights", "# what"], 1, 1),
            (&["# rights", "# what"], 1, 0),
            (&["# licence", "# rights", "# new", "# what"], 2, 2),
            (&["# other", "# licence", "# rights", "# what"], 0, 0),
            (&["# licence", "# rights"], 3, 2),
            (&[], 2, 0),
        ] {
            assert_eq!(place(&old, new, at), wanted, "{new:?} {at}");
        }
        assert_eq!(place(&[], &["# new"], 0), 0);
    }
}
