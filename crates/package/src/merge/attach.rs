//! The merge of comments entry by entry (M14): what each entry of a merged document should have, and the lines that bring it.
//!
//! Entries pair as values do. Of comments that both sides changed the local ones stay. Values are never touched.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use yaml::{Attached, Attachments, Document, Kind, Node, Place};

use super::list::Slot;
use super::marks::MERGE_COMMENT;
use super::value::{Known, Three};
use super::{pairs, sequence};
use crate::conflicts::{FieldPath, PathStep};
use crate::lines::weave;
use crate::schema::{List, Schema};

/// How many changes are tried one by one where they do not hold together.
const TRIES: usize = 32;

/// A part of a text that becomes another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    range: Range<usize>,
    text: String,
    place: Place,
    column: usize,
}

/// What the merge of comments found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What to change in the merged text.
    pub(super) changes: Vec<Change>,
    /// The comments that both sides changed, by their entries.
    pub(super) clashes: Vec<(FieldPath, [String; 3])>,
}

/// Decides the comments of a merged document.
pub(super) fn merge(
    merged: Document<'_>,
    sides: [Option<Document<'_>>; 3],
    schema: Schema<'_>,
) -> Found {
    let mut walk = Walk {
        text: merged.text(),
        eol: if merged.text().contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        },
        merged: merged.attachments(),
        sides: sides.map(|side| {
            side.map_or_else(Default::default, |side| (side.text(), side.attachments()))
        }),
        found: Found::default(),
    };
    let roots = sides.map(|side| side.map(|side| side.root()));
    walk.node(
        merged.root(),
        roots,
        Known::of(schema),
        &FieldPath::default(),
    );
    walk.found
}

struct Walk<'a> {
    text: &'a str,
    eol: &'static str,
    merged: Attachments<'a>,
    sides: [(&'a str, Attachments<'a>); 3],
    found: Found,
}

/// What stands at one place of an entry, on one side.
#[derive(Debug, Clone, Copy)]
struct At<'w, 'a> {
    text: &'a str,
    attached: &'w Attached<'a>,
}

impl<'a> Walk<'a> {
    /// An entry with its comments, and what it holds.
    fn node(
        &mut self,
        merged: Node<'a>,
        sides: [Option<Node<'a>>; 3],
        known: Known<'_>,
        at: &FieldPath,
    ) {
        let mut clash: [Vec<String>; 3] = Default::default();
        for place in [Place::Head, Place::Line, Place::Foot] {
            self.comments(merged, sides, place, &mut clash);
        }
        if clash.iter().any(|lines| !lines.is_empty()) {
            let texts = clash.map(|lines| lines.join("\n"));
            self.found.clashes.push((at.clone(), texts));
        }
        match merged.kind() {
            Kind::Mapping => {
                for entry in merged.entries() {
                    let Some(key) = entry.key.key_text() else {
                        continue;
                    };
                    let inside = sides
                        .map(|side| side.filter(|side| side.kind() == Kind::Mapping)?.get(key));
                    let known = known.field(key).or_comment(entry.value);
                    self.node(entry.value, inside, known, &at.field(key));
                }
            }
            Kind::Sequence => self.items(merged, sides, known, at),
            Kind::Scalar | Kind::Alias => {}
        }
    }

    fn items(
        &mut self,
        merged: Node<'a>,
        sides: [Option<Node<'a>>; 3],
        known: Known<'_>,
        at: &FieldPath,
    ) {
        let lists = sides.map(|side| side.filter(|side| side.kind() == Kind::Sequence));
        let paired = pair(merged, lists, known.list);
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
        place: Place,
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
            (true, false) => (mine.clone(), false),
            (false, true) => (theirs.clone(), false),
            (false, false) => return,
            (true, true) => together(&old, &mine, &theirs),
        };
        if clashes {
            let common =
                |line: &&&str| old.contains(line) && mine.contains(line) && theirs.contains(line);
            for (side, lines) in clash.iter_mut().zip([&old, &mine, &theirs]) {
                let own = lines.iter().filter(|line| !common(line));
                side.extend(own.map(|line| (*line).to_owned()));
            }
        }
        if wanted == now.comments {
            return;
        }
        let known: Vec<At<'_, 'a>> = [upstream, local, base].into_iter().flatten().collect();
        let text = match place {
            Place::Line => beside(&wanted, &known),
            Place::Head | Place::Foot => self.lines(&wanted, now, base, &known),
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
        let sources: Vec<At<'_, 'a>> = [here].into_iter().chain(sides.iter().copied()).collect();
        for comment in wanted {
            let found = sources.iter().find_map(|side| {
                let rows = rows(side);
                let at = rows.iter().position(|row| row.trim() == *comment)?;
                let before = rows.get(..at).unwrap_or_default();
                let blank = before
                    .iter()
                    .rev()
                    .take_while(|row| row.trim().is_empty())
                    .count();
                Some((side.attached.column, rows.get(at - blank..=at)?.to_vec()))
            });
            for row in found.iter().flat_map(|(_, rows)| rows) {
                let column = found.as_ref().map_or(now.column, |(column, _)| *column);
                self.push(&mut out, row, column, now.column);
            }
        }
        // Blank lines behind the last one: of the side that has the same last one.
        let last = sources
            .iter()
            .find(|side| side.attached.comments.last() == wanted.last());
        let behind = last.map_or(0, |side| {
            let rows = rows(side);
            rows.iter()
                .rev()
                .take_while(|row| row.trim().is_empty())
                .count()
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
    let known = |line: &str| {
        let mut all = mine.iter().chain(theirs);
        all.find(|known| **known == line).copied()
    };
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

/// An item of a merged list on each side, and how a record names it.
type Partners<'a> = ([Option<Node<'a>>; 3], Option<PathStep>);

/// For each item of a merged list the items that it comes from.
fn pair<'a>(merged: Node<'a>, lists: [Option<Node<'a>>; 3], list: List<'_>) -> Vec<Partners<'a>> {
    let [base, local, upstream] = lists;
    let three = Three {
        base,
        local,
        upstream,
    };
    let slots = match list {
        List::Atomic => None,
        list => pairs::slots(three, list).or_else(|| sequence::slots(three)),
    };
    let mine = local.map(|side| Likeness::of(merged, side, list));
    let theirs = upstream.map(|side| Likeness::of(merged, side, list));
    let items = lists.map(|side| -> Vec<Node<'a>> {
        let items = side.into_iter().flat_map(|side| side.items());
        items.collect()
    });
    let item = |side: usize, at: Option<usize>| items.get(side)?.get(at?).copied();
    let Some(slots) = slots else {
        // One value: what stands at the same place between equal ones.
        let partners = lists.map(|side| side.map(|side| in_order(merged, side)));
        let of = |index: usize, side: usize| {
            let partners = partners.get(side).and_then(Option::as_ref)?;
            item(side, partners.get(index).copied().flatten())
        };
        let all = 0..merged.items().len();
        return all
            .map(|index| ([0, 1, 2].map(|side| of(index, side)), None))
            .collect();
    };
    let slot = |index: usize| {
        [Likeness::written, Likeness::known]
            .into_iter()
            .find_map(|find| {
                let at = |side: Option<&Likeness>| find(side?, index);
                let (mine, theirs) = (at(mine.as_ref()), at(theirs.as_ref()));
                let by_upstream = |slot: &&Slot| theirs.is_some() && slot.upstream == theirs;
                let by_local = |slot: &&Slot| mine.is_some() && slot.local == mine;
                let found = slots.iter().find(by_upstream);
                found.or_else(|| slots.iter().find(by_local))
            })
    };
    let partners = (0..merged.items().len()).map(|index| match slot(index) {
        Some(slot) => {
            let sides = [
                item(0, slot.base),
                item(1, slot.local),
                item(2, slot.upstream),
            ];
            (sides, Some(slot.step.clone()))
        }
        None => ([None; 3], None),
    });
    partners.collect()
}

/// Which items of a merged list are which of a side.
struct Likeness {
    written: Vec<Option<usize>>,
    known: Vec<Option<usize>>,
}

impl Likeness {
    fn of(merged: Node<'_>, side: Node<'_>, list: List<'_>) -> Self {
        let mut there: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, item) in side.items().enumerate() {
            there.entry(item.source()).or_default().push(at);
        }
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let nth = |item: Node<'_>| {
            let count = seen.entry(item.source().to_owned()).or_default();
            *count += 1;
            there.get(item.source())?.get(*count - 1).copied()
        };
        let written: Vec<Option<usize>> = merged.items().map(nth).collect();
        let three = Three {
            base: None,
            local: Some(merged),
            upstream: Some(side),
        };
        let known = match pairs::slots(three, list) {
            Some(slots) => {
                let mut known = vec![None; written.len()];
                for slot in slots {
                    let place = slot.local.and_then(|at| known.get_mut(at));
                    if let Some(place) = place {
                        *place = slot.upstream;
                    }
                }
                known
            }
            None => in_order(merged, side),
        };
        Self { written, known }
    }

    /// The item that is written the same.
    fn written(&self, index: usize) -> Option<usize> {
        self.written.get(index).copied().flatten()
    }

    /// The item that is known by the same.
    fn known(&self, index: usize) -> Option<usize> {
        self.known.get(index).copied().flatten()
    }
}

/// Pairs the items of lists without keys: equal ones in order, then as many between them as there are.
fn in_order(merged: Node<'_>, side: Node<'_>) -> Vec<Option<usize>> {
    let texts = |node: Node<'_>| -> Vec<String> {
        let texts = node.items().map(|item| item.source().to_owned());
        texts.collect()
    };
    let (here, there) = (texts(merged), texts(side));
    let mut partners = vec![None; here.len()];
    for op in capture_diff_slices(Algorithm::Myers, &here, &there) {
        let (from, to) = (op.old_range(), op.new_range());
        if op.tag() == DiffTag::Equal || from.len() == to.len() {
            for (here, there) in from.zip(to) {
                if let Some(partner) = partners.get_mut(here) {
                    *partner = Some(there);
                }
            }
        }
    }
    partners
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
            change.place == Place::Head,
            Reverse(change.column),
        )
    });
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for change in sorted {
        out.push_str(text.get(at..change.range.start).unwrap_or_default());
        let lines = change.place != Place::Line && !change.text.is_empty();
        if lines && !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&change.text);
        at = at.max(change.range.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    if !text.ends_with('\n') {
        out.truncate(out.trim_end_matches(['\n', '\r']).len());
    }
    out
}
