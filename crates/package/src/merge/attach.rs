//! The merge of comments entry by entry (M14): what each entry of a merged document should have, and the lines that bring it.
//!
//! Entries pair as values do. Of comments that both sides changed the local ones stay. Values are never touched.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use yaml::{Attached, Attachments, CommentPlace, Document, Node, NodeKind};

use super::header;
use super::known::Known;
use super::partners::partners;
use super::work;
use crate::lines::weave;
use crate::place::{FieldPath, PathStep};
use crate::schema::Schema;
use crate::values::{Counts, MERGE_COMMENT, counts};

/// How many changes are tried one by one where they do not hold together.
const TRIES: usize = 32;

/// A part of a text that becomes another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    range: Range<usize>,
    text: String,
    place: CommentPlace,
    column: usize,
}

/// What the merge of comments found.
#[derive(Debug, Default)]
pub(super) struct MergedComments {
    /// What to change in the merged text.
    pub(super) changes: Vec<Change>,
    /// The comments that both sides changed, by their entries.
    pub(super) clashes: Vec<(FieldPath, [String; 3])>,
}

/// Decides the comments of a merged document.
///
/// What stands before the first entry is the document's header, but for what belongs to that entry where the sides begin
/// with different ones.
pub(super) fn merge<'a>(
    merged: Document<'a>,
    sides: [Option<Document<'a>>; 3],
    schema: Schema<'_>,
) -> MergedComments {
    let CommentWalk { found, there, .. } = walked(merged, sides, schema, Counts::new());
    let [_, local, upstream] = sides.map(|side| side.map(counts).unwrap_or_default());
    let of = |side: &Counts<'_>, line: &str| side.get(line).copied().unwrap_or_default();
    let surplus = there.iter().filter_map(|(line, count)| {
        let more = count.saturating_sub(of(&local, line).max(of(&upstream, line)));
        (more > 0).then_some((*line, more))
    });
    // An entry that was moved takes its comments along, and may leave them at its old place, too. How many there are shows only
    // when all are placed, so that what is too much is taken off by a second walk.
    let surplus: Counts<'a> = surplus.collect();
    match surplus.is_empty() {
        true => found,
        false => walked(merged, sides, schema, surplus).found,
    }
}

/// Decides the comments of each entry; what there is too much of does not come back with what the other side took away.
fn walked<'a>(
    merged: Document<'a>,
    sides: [Option<Document<'a>>; 3],
    schema: Schema<'_>,
    surplus: Counts<'a>,
) -> CommentWalk<'a> {
    fn shared(document: Document<'_>, share: Option<usize>) -> Attachments<'_> {
        let attachments = document.attachments();
        match share {
            Some(share) => attachments.with_header_shared(document, share),
            None => attachments,
        }
    }
    let shares = header::shares(merged, sides);
    let [base, local, upstream] = shares.map_or([None; 3], |shares| shares.sides.map(Some));
    let read = |side: Option<Document<'a>>, share| {
        side.map_or_else(Default::default, |side| (side.text(), shared(side, share)))
    };
    let [old, mine, theirs] = sides;
    let mut walk = CommentWalk {
        text: merged.text(),
        eol: if merged.text().contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        },
        merged: shared(merged, shares.map(|shares| shares.merged)),
        sides: [read(old, base), read(mine, local), read(theirs, upstream)],
        surplus,
        there: Counts::new(),
        found: MergedComments::default(),
    };
    let roots = sides.map(|side| side.map(|side| side.root()));
    let known = Known::of(schema);
    walk.node(merged.root(), roots, known, &FieldPath::default());
    walk
}

struct CommentWalk<'a> {
    text: &'a str,
    eol: &'static str,
    merged: Attachments<'a>,
    sides: [(&'a str, Attachments<'a>); 3],
    /// Comments that would stand there more often than on either side.
    surplus: Counts<'a>,
    /// How often each comment stands there in the end.
    there: Counts<'a>,
    found: MergedComments,
}

/// What stands at one place of an entry, on one side.
#[derive(Debug, Clone, Copy)]
struct At<'w, 'a> {
    text: &'a str,
    attached: &'w Attached<'a>,
}

impl<'a> CommentWalk<'a> {
    /// An entry with its comments, and what it holds.
    fn node(
        &mut self,
        merged: Node<'a>,
        sides: [Option<Node<'a>>; 3],
        known: Known<'_>,
        at: &FieldPath,
    ) {
        let mut clash: [Vec<String>; 3] = Default::default();
        for place in [CommentPlace::Head, CommentPlace::Line, CommentPlace::Foot] {
            self.comments(merged, sides, place, &mut clash);
        }
        if clash.iter().any(|lines| !lines.is_empty()) {
            let texts = clash.map(|lines| lines.join("\n"));
            self.found.clashes.push((at.clone(), texts));
        }
        match merged.kind() {
            NodeKind::Mapping => {
                for entry in merged.entries() {
                    let Some(key) = entry.key.key_text() else {
                        continue;
                    };
                    let inside = sides.map(|side| {
                        side.filter(|side| side.kind() == NodeKind::Mapping)?
                            .get(key)
                    });
                    let known = known.field(key).or_comment(entry.value);
                    self.node(entry.value, inside, known, &at.field(key));
                }
            }
            NodeKind::Sequence => self.items(merged, sides, known, at),
            NodeKind::Scalar | NodeKind::Alias => {}
        }
    }

    fn items(
        &mut self,
        merged: Node<'a>,
        sides: [Option<Node<'a>>; 3],
        known: Known<'_>,
        at: &FieldPath,
    ) {
        let lists = sides.map(|side| side.filter(|side| side.kind() == NodeKind::Sequence));
        let paired = partners(merged, lists, known.list);
        for (index, (item, (partners, step))) in merged.items().zip(paired).enumerate() {
            let step = step.unwrap_or(PathStep::Index(index));
            self.node(item, partners, Known::of(known.schema), &at.join(step));
        }
    }

    /// The comments at one place of an entry.
    fn comments(
        &mut self,
        merged: Node<'a>,
        nodes: [Option<Node<'a>>; 3],
        place: CommentPlace,
        clash: &mut [Vec<String>; 3],
    ) {
        let Some(now) = self.merged.of(merged, place) else {
            return;
        };
        let mut sides = self
            .sides
            .iter()
            .zip(nodes)
            .map(|((text, attachments), node)| {
                let attached = attachments.of(node?, place)?;
                Some(At { text, attached })
            });
        let [base, local, upstream] =
            [sides.next(), sides.next(), sides.next()].map(Option::flatten);
        let lines = |side: Option<At<'_, 'a>>| {
            side.map_or(Vec::new(), |side| side.attached.comments.clone())
        };
        let (old, mine, theirs) = (lines(base), lines(local), lines(upstream));
        let own = |lines: &[&str]| lines.iter().any(|line| line.contains(MERGE_COMMENT));
        if own(&old) || own(&mine) || own(&theirs) || own(&now.comments) {
            return; // Identity is the downstream's own.
        }
        // An entry that one side alone has comes with that side's comments.
        let there = |nodes: &[Option<Node<'_>>; 3], side: usize| {
            nodes.get(side).is_some_and(Option::is_some)
        };
        let (wanted, clashes) = match (there(&nodes, 1), there(&nodes, 2)) {
            (true, false) => (left(&mine, &old, &mut self.surplus), false),
            (false, true) => (left(&theirs, &old, &mut self.surplus), false),
            (false, false) => return,
            (true, true) => together(&old, &mine, &theirs),
        };
        if clashes {
            let sets = [&old, &mine, &theirs].map(|lines| lines.iter().copied().collect());
            let sets: [BTreeSet<&str>; 3] = sets;
            let common = |line: &&&str| sets.iter().all(|set| set.contains(**line));
            for (side, lines) in clash.iter_mut().zip([&old, &mine, &theirs]) {
                let own = lines.iter().filter(|line| !common(line));
                side.extend(own.map(|line| (*line).to_owned()));
            }
        }
        for line in &wanted {
            *self.there.entry(line).or_default() += 1;
        }
        if wanted == now.comments {
            return;
        }
        let known: Vec<At<'_, 'a>> = [upstream, local, base].into_iter().flatten().collect();
        let text = match place {
            CommentPlace::Line => beside(&wanted, &known),
            CommentPlace::Head | CommentPlace::Foot => self.lines(&wanted, now, base, &known),
        };
        let change = Change {
            range: now.range.clone(),
            text,
            place,
            column: now.column,
        };
        self.found.changes.push(change);
    }

    /// The text of comments on lines of their own: those that are there already with the blank lines that they have, the others
    /// with those of the side that they come from.
    fn lines(
        &self,
        wanted: &[&'a str],
        now: &Attached<'a>,
        base: Option<At<'_, 'a>>,
        sides: &[At<'_, 'a>],
    ) -> String {
        let whole = sides.iter().find(|side| side.attached.comments == wanted);
        let here = At {
            text: self.text,
            attached: now,
        };
        let mut out = String::new();
        let bare =
            |side: &At<'_, 'a>| -> Vec<&'a str> { rows(side).into_iter().map(str::trim).collect() };
        let untouched = base.is_some_and(|base| bare(&base) == bare(&here));
        let all = |side: &&At<'_, 'a>| {
            untouched || side.attached.comments.is_empty() || now.comments.is_empty()
        };
        if let Some(side) = whole.filter(all) {
            // Nobody else changed anything here, or all of them come or go: so do the blank lines around them.
            for line in rows(side) {
                self.push(&mut out, line, side.attached.column, now.column);
            }
            return out;
        }
        let sources: Vec<Rows<'a>> = [here]
            .iter()
            .chain(sides)
            .map(|side| Rows::of(side))
            .collect();
        for comment in wanted {
            let found = sources
                .iter()
                .find_map(|side| Some((side.column, side.with_blanks(comment)?)));
            for row in found.iter().flat_map(|(_, rows)| *rows) {
                let column = found.map_or(now.column, |(column, _)| column);
                self.push(&mut out, row, column, now.column);
            }
        }
        // Blank lines behind the last one: of the side that has the same last one.
        let last = sources
            .iter()
            .find(|side| side.last == wanted.last().copied());
        let behind = last.map_or(0, |side| {
            let blank = side.rows.iter().rev();
            blank.take_while(|row| row.trim().is_empty()).count()
        });
        out.push_str(&self.eol.repeat(behind));
        out
    }

    /// A line as deep as the entry stands here.
    fn push(&self, out: &mut String, row: &str, from: usize, to: usize) {
        let text = row.trim();
        let column = row.len() - row.trim_start().len();
        if !text.is_empty() {
            // What stands at the margin was put there on purpose.
            let column = if column == 0 && from > 0 {
                0
            } else {
                (column + to).saturating_sub(from)
            };
            out.push_str(&" ".repeat(column));
            out.push_str(text);
        }
        out.push_str(self.eol);
    }
}

/// The lines of a side's comments: hundreds may stand above one entry, and each is looked for.
struct Rows<'a> {
    rows: Vec<&'a str>,
    /// Where each comment stands, the first of equal ones.
    places: BTreeMap<&'a str, usize>,
    column: usize,
    last: Option<&'a str>,
}

impl<'a> Rows<'a> {
    fn of(side: &At<'_, 'a>) -> Self {
        let rows = rows(side);
        work::done(rows.len());
        let places = rows.iter().enumerate().rev();
        Self {
            places: places.map(|(at, row)| (row.trim(), at)).collect(),
            rows,
            column: side.attached.column,
            last: side.attached.comments.last().copied(),
        }
    }

    /// The line of a comment with the blank ones before it.
    fn with_blanks(&self, comment: &str) -> Option<&[&'a str]> {
        let at = *self.places.get(comment)?;
        let before = self.rows.get(..at).unwrap_or_default().iter().rev();
        let blank = before.take_while(|row| row.trim().is_empty()).count();
        self.rows.get(at - blank..=at)
    }
}

/// The comments of an entry that the other side took away, without those of base that it kept elsewhere.
fn left<'a>(lines: &[&'a str], old: &[&'a str], surplus: &mut Counts<'a>) -> Vec<&'a str> {
    let old: BTreeSet<&str> = old.iter().copied().collect();
    let mut stays = |line: &&&str| match surplus.get_mut(**line) {
        Some(more) if old.contains(**line) && *more > 0 => {
            *more -= 1;
            false
        }
        _ => true,
    };
    lines.iter().filter(|line| stays(line)).copied().collect()
}

/// The comments of three sides as one, and whether both sides changed some in their own ways: then the local ones stay.
fn together<'a>(old: &[&'a str], mine: &[&'a str], theirs: &[&'a str]) -> (Vec<&'a str>, bool) {
    if old == theirs || mine == theirs {
        return (mine.to_vec(), false);
    }
    if old == mine {
        return (theirs.to_vec(), false);
    }
    let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect();
    let texts: [String; 3] = [old, mine, theirs].map(text);
    let [base, local, upstream] = texts.each_ref().map(String::as_str);
    let Some(woven) = weave(base, local, upstream) else {
        return (mine.to_vec(), true);
    };
    let all: BTreeSet<&'a str> = mine.iter().chain(theirs).copied().collect();
    let known = |line: &str| all.get(line).copied();
    let lines = woven.local.lines().filter_map(known).collect();
    (lines, !woven.hunks.is_empty())
}

/// The lines of a side's comments, the blank ones too.
fn rows<'a>(side: &At<'_, 'a>) -> Vec<&'a str> {
    let text = side
        .text
        .get(side.attached.range.clone())
        .unwrap_or_default();
    text.lines().collect()
}

/// The text of a comment beside an entry, with the blanks before it.
fn beside(wanted: &[&str], sides: &[At<'_, '_>]) -> String {
    let Some(comment) = wanted.first() else {
        return String::new();
    };
    let written = sides.iter().find(|side| side.attached.comments == wanted);
    let text = written.and_then(|side| side.text.get(side.attached.range.clone()));
    text.map_or_else(|| format!(" {comment}"), |text| text.trim_end().to_owned())
}

/// A text with changes: all of them, or those that leave what it means as it is.
pub(super) fn written(
    text: &str,
    changes: Vec<Change>,
    judge: impl Fn(&str) -> Option<()>,
) -> String {
    if changes.is_empty() {
        return text.to_owned();
    }
    let whole = put(text, &changes);
    if judge(&whole).is_some() {
        return whole;
    }
    // One change that breaks the document must not cost the others theirs. Each try parses it anew, hence the bound.
    let mut taken: Vec<Change> = Vec::new();
    for change in changes.into_iter().take(TRIES) {
        taken.push(change);
        if judge(&put(text, &taken)).is_none() {
            taken.pop();
        }
    }
    put(text, &taken)
}

fn put(text: &str, changes: &[Change]) -> String {
    let mut sorted: Vec<&Change> = changes.iter().collect();
    // What is put in at one place: behind the innermost first, above the next entry last.
    sorted.sort_by_key(|change| {
        let Range { start, end } = change.range;
        (
            start,
            end,
            change.place == CommentPlace::Head,
            Reverse(change.column),
        )
    });
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for change in sorted {
        out.push_str(text.get(at..change.range.start).unwrap_or_default());
        let lines = change.place != CommentPlace::Line && !change.text.is_empty();
        if lines && !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&change.text);
        at = at.max(change.range.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    // A document without a break at its end keeps none: its last line stays as it was written.
    if !text.ends_with('\n') {
        out.truncate(out.trim_end_matches(['\n', '\r']).len());
    }
    out
}
