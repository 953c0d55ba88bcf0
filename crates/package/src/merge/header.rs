//! Which comments before the first entry are the document's, and which are that entry's (M14).
//!
//! As long as all sides begin with the same entry nobody has to know. Where one puts another entry first, or takes the first one
//! away, what stands above both first entries is the document's, down to the last line that both have, and the rest is the
//! entry's. Nothing here changes a text.

use std::collections::BTreeSet;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use yaml::{CommentPlace, Document};

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
    let mut found = [old.len(), mine.len(), theirs.len()];
    if from.is_none() {
        found = [0, common(mine, theirs), common(theirs, mine)];
    } else {
        // Of a side that begins as base does, it is what stands in the place of what both first entries have above them.
        // Of two that begin otherwise the smaller share counts: the larger would keep comments that an entry took along.
        let others = [(local, mine), (upstream, theirs)].into_iter();
        let others = others.filter(|(side, _)| side.is_some() && *side != from);
        let share = others.map(|(_, lines)| common(old, lines)).min();
        if let Some(share) = share {
            found = [share, place(old, mine, share), place(old, theirs, share)];
        }
    }
    let [_, own, _] = found;
    Some(Shares {
        merged: place(mine, &header(merged), own),
        sides: found,
    })
}

/// The first key of a document.
fn first(document: Document<'_>) -> Option<String> {
    let entry = document.root().entries().next();
    entry.and_then(|entry| Some(entry.key.key_text()?.to_owned()))
}

/// The comments before the first entry.
fn header(document: Document<'_>) -> Vec<&str> {
    let attachments = document.attachments();
    let header = attachments.of(document.root(), CommentPlace::Head);
    header.map_or_else(Vec::new, |header| header.comments.clone())
}

/// How many lines two headers have at most that are compared line by line; of longer ones the lines count that stand in both.
const LINES: usize = 2000;

/// How many lines of a header end with the last one that another header has, too.
fn common(header: &[&str], other: &[&str]) -> usize {
    if header.len() + other.len() > LINES {
        let known: BTreeSet<&&str> = other.iter().collect();
        let last = header.iter().rposition(|line| known.contains(line));
        return last.map_or(0, |at| at + 1);
    }
    let ops = capture_diff_slices(Algorithm::Myers, header, other);
    let mut equal = ops.iter().rev().filter(|op| op.tag() == DiffTag::Equal);
    equal.next().map_or(0, |op| op.old_range().end)
}

/// Where a place between the lines of one header lies in another one.
fn place(old: &[&str], new: &[&str], at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    if old.len() + new.len() > LINES {
        return common(new, old.get(..at).unwrap_or(old));
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
