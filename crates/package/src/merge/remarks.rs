//! The comments of a merged document: each belongs to an entry and travels with it (M14).
//!
//! The field merge decides what a document means. Then the comments of each entry of the result are merged, those above it,
//! beside it and behind what it holds; blank lines do not change what a comment belongs to. At last comments are counted: one
//! that found no place is recorded, none is dropped in silence. Values are never decided here.

use std::collections::{BTreeMap, BTreeSet};

use model::Decision;
use yaml::{Document, Limits, Stream};

use super::attach;
use super::record::Recorder;
use super::work;
use crate::schema::Schema;
use crate::values::{Counts, MERGE_COMMENT, counts, same, standing};

/// The text of a merged document with every comment at its entry. `since` is the number of conflicts before the document.
pub(super) fn settle(
    merged: Document<'_>,
    sides: [Option<Document<'_>>; 3],
    schema: Schema<'_>,
    record: &mut Recorder<'_>,
    since: usize,
) -> String {
    let ledger = Ledger(sides.map(|side| side.map(counts).unwrap_or_default()));
    if ledger.is_settled(merged, sides) {
        return merged.text().to_owned();
    }
    let found = attach::merge(merged, sides, schema);
    // Comments go in as text, which may open a quote or end a block: the result is read again and must mean the same.
    let judge = |candidate: &str| {
        let stream = Stream::parse(candidate, &Limits::default()).ok()?;
        let document = stream.document(0).filter(|_| stream.len() == 1)?;
        let like = same(document.root(), merged.root()) && marks(document) == marks(merged);
        like.then_some(())
    };
    let text = attach::written(merged.text(), found.changes, judge);
    for (place, [base, local, upstream]) in &found.clashes {
        record.comments(place, [base, local, upstream]);
    }
    // Counted in what came of it, not in what was planned: changes that broke the document were dropped.
    if let Ok(stream) = Stream::parse(text.as_str(), &Limits::default())
        && let Some(document) = stream.document(0)
    {
        lost(&ledger, document, sides, record, since);
    }
    text
}

/// Records the comments that found no place in a document.
fn lost(
    ledger: &Ledger<'_>,
    document: Document<'_>,
    sides: [Option<Document<'_>>; 3],
    record: &mut Recorder<'_>,
    since: usize,
) {
    let mut missing = ledger.missing(&counts(document));
    match record.named_comments(since) {
        Some(named) => missing.retain(|text, _| !named.contains(*text)),
        None => return,
    }
    let decision = match missing.values().any(|mine| *mine) {
        true => Decision::Upstream,
        false => Decision::Local,
    };
    let named: BTreeSet<&str> = missing.into_keys().collect();
    if !named.is_empty() {
        let named = (!record.hides()).then_some(&named);
        let standing = |side| standing(side, named).join("\n");
        let values = sides.map(|side| side.map(standing).unwrap_or_default());
        record.lost_comments(values.each_ref().map(String::as_str), decision);
    }
}

fn marks(document: Document<'_>) -> Vec<&str> {
    let comments = document.comments().map(|comment| comment.text.trim_end());
    comments
        .filter(|text| text.contains(MERGE_COMMENT))
        .collect()
}

/// Each comment of a document with the beginning of the line that it stands on, or of the next one that holds something.
fn neighbours<'a>(document: Document<'a>) -> BTreeSet<(&'a str, &'a str)> {
    let text = document.text();
    let first = document.span().start;
    let mut all = BTreeSet::new();
    let mut end = text.len();
    let mut behind = "";
    let comments: Vec<yaml::Comment<'a>> = document.comments().collect();
    // From the end: thousands of comments in a row have one and the same line behind them.
    for comment in comments.iter().rev() {
        let (from, to) = (comment.span.start - first, comment.span.end - first);
        let lines = text.get(to..end).unwrap_or_default();
        work::done(lines.len());
        let mut lines = lines.lines().map(str::trim);
        let next = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        behind = next.unwrap_or(behind);
        let before = text.get(..from).unwrap_or_default();
        let begin = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let line = before.get(begin..).unwrap_or_default().trim();
        let near = if line.is_empty() { behind } else { line };
        end = from;
        if !line.is_empty() {
            // What those before have behind them is the line that this one stands on.
            let whole = text.get(begin..to).unwrap_or_default();
            (end, behind) = (begin, whole.trim());
        }
        // Items may begin with the same key: what tells them apart is the value.
        let key = match near.starts_with("- ") {
            true => near,
            false => near.split(": ").next().unwrap_or(near),
        };
        all.insert((comment.text.trim_end(), key));
    }
    all
}

/// The comments of base, local and upstream.
struct Ledger<'a>([Counts<'a>; 3]);

impl<'a> Ledger<'a> {
    /// Whether no side changed any comment, and each stands where it stood.
    fn is_settled(&self, merged: Document<'_>, sides: [Option<Document<'_>>; 3]) -> bool {
        let [base, local, upstream] = &self.0;
        let none = base == local && base == upstream && *base == counts(merged);
        none && (base.is_empty() || {
            let there = neighbours(merged);
            let alike = |side| neighbours(side) == there;
            sides.into_iter().flatten().all(alike)
        })
    }

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

    /// What has to be there and is not, and whether the local side added it.
    fn missing(&self, counts: &Counts<'_>) -> BTreeMap<&'a str, bool> {
        let missing = self.all().filter(|(text, sides)| {
            let there = counts.get(text).copied().unwrap_or_default();
            wanted(*sides).is_some_and(|wanted| there < wanted)
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
