//! Which comments belong to which entry for those who compare and merge texts: blank lines do not count (M14).
//!
//! The lines between two entries are shared out completely: those that stand deeper than the next entry belong behind what
//! ends there, all others above the next entry. Edits follow `geometry`, where a blank line detaches a comment, as in the
//! recorded tools. Nothing here changes a text.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::CommentPlace;
use super::comment::line_place;
use super::geometry::{Slot, View};
use crate::document::Document;
use crate::node::Node;
use crate::tree::{Id, NodeKind, Style};

/// The comments of one entry at one place, with the blank lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached<'a> {
    /// The comments in their order, each from its `#` on, without blanks at its end.
    pub comments: Vec<&'a str>,
    /// Their part of the document's text: whole lines above or below an entry; beside it, the blanks before the comment, too.
    /// Empty where a comment would have to be put.
    pub range: Range<usize>,
    /// The column of the entry.
    pub column: usize,
}

/// The comments of a document by what they belong to.
#[derive(Debug, Clone, Default)]
pub struct Attachments<'a> {
    all: BTreeMap<(Id, u8), Attached<'a>>,
}

impl<'a> Attachments<'a> {
    /// The comments at one place of a node: above or beside the entry that it is the value of, or below the last entry of the
    /// collection that it is. The root has what stands before the first entry above it.
    #[must_use]
    pub fn of(&self, node: Node<'_>, place: CommentPlace) -> Option<&Attached<'a>> {
        self.all.get(&(node.id, place as u8))
    }

    /// The same, with the header of a document shared out: the first comments stay above the document, those behind them stand
    /// above the first entry.
    #[must_use]
    pub fn with_header_shared(mut self, document: Document<'a>, share: usize) -> Self {
        let view = document.stream.view(document.index);
        let root = view.tree.root;
        let header = self.all.get_mut(&(root, CommentPlace::Head as u8));
        let Some(header) = header.filter(|_| view.slots(root) > 0) else {
            return self;
        };
        let text = view.text.get(header.range.clone()).unwrap_or_default();
        let mut left = share.min(header.comments.len());
        let lines = text.split_inclusive('\n').take_while(|line| {
            let taken = left > 0;
            left -= usize::from(taken && !line.trim().is_empty());
            taken
        });
        let at = header.range.start + lines.map(str::len).sum::<usize>();
        let below = Attached {
            comments: header.comments.split_off(share.min(header.comments.len())),
            range: at..header.range.end,
            column: header.column,
        };
        header.range.end = at;
        let first = view.slot(root, 0).value;
        self.all.insert((first, CommentPlace::Head as u8), below);
        self
    }
}

impl<'a> Document<'a> {
    /// Shares out the comments of the document, blank lines not counted.
    #[must_use]
    pub fn attachments(&self) -> Attachments<'a> {
        let view = self.stream.view(self.index);
        let mut walk = AttachedWalk {
            view,
            out: Attachments::default(),
            beside: BTreeSet::new(),
        };
        let root = view.tree.root;
        walk.collection(root);
        let node = view.node(root);
        let end = view.tree.tail as usize;
        let from = view.after_break(view.line_end((node.end as usize).min(end)));
        if from <= end {
            let closed = walk.closed(root);
            walk.share(from..end, &closed, None);
        }
        walk.out
    }
}

struct AttachedWalk<'a> {
    view: View<'a>,
    out: Attachments<'a>,
    /// Where comments begin that stand beside an entry that was seen.
    beside: BTreeSet<u32>,
}

/// The entry that lines stand above.
struct Above {
    id: Id,
    column: usize,
}

impl<'a> AttachedWalk<'a> {
    /// Every entry of a collection, and what is inside.
    fn collection(&mut self, id: Id) {
        let view = self.view;
        if !matches!(view.node(id).kind, NodeKind::Mapping | NodeKind::Sequence) {
            return;
        }
        for index in 0..view.slots(id) {
            let slot = view.slot(id, index);
            if view.first_on_line(slot.start) {
                self.above(id, index, &slot);
            }
            self.line(&slot);
            self.collection(slot.value);
        }
    }

    /// The lines above an entry, back to the last line that holds something else.
    fn above(&mut self, id: Id, index: usize, slot: &Slot) {
        let view = self.view;
        let line = view.line_start(slot.start);
        let bom = if line == 0 && view.text.starts_with('\u{feff}') {
            3
        } else {
            0
        };
        let line = line.max(bom);
        let mut from = line;
        // Upwards over blank lines and comments; a line that holds anything else has its comment beside it.
        while from > bom {
            let before = view.line_start(before_break(view.text, from)).max(bom);
            let blank = view
                .text
                .get(before..from)
                .is_none_or(|line| line.trim().is_empty());
            let comments = view.tree.comments_in(before as u32..from as u32);
            if !blank && !comments.iter().any(|comment| comment.own_line) {
                break;
            }
            from = before;
        }
        // Above the first entry stands what is said of the document.
        let first = index == 0 && id == view.tree.root;
        let above = Above {
            id: if first { id } else { slot.value },
            column: slot.col,
        };
        let closed = match index.checked_sub(1) {
            Some(before) => self.closed(view.slot(id, before).value),
            None => Vec::new(),
        };
        self.share(from..line, &closed, Some(&above));
    }

    /// The block collections that end where a node ends, the innermost first, each with the column of its entries.
    fn closed(&self, id: Id) -> Vec<(Id, usize)> {
        let view = self.view;
        let mut closed = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            let block = view.node(id).style == Style::Block && view.slots(id) > 0;
            if !block {
                break;
            }
            closed.push((id, view.slot(id, 0).col));
            next = view.tree.children(id).last().copied();
        }
        closed.reverse();
        closed
    }

    /// Shares out the lines of a range among the collections that end before it and the entry behind it.
    fn share(&mut self, range: Range<usize>, closed: &[(Id, usize)], above: Option<&Above>) {
        let view = self.view;
        let places = closed
            .iter()
            .map(|(id, column)| (*id, *column, CommentPlace::Foot));
        let places = places.chain(above.map(|above| (above.id, above.column, CommentPlace::Head)));
        let mut parts: Vec<_> = places
            .map(|(id, column, place)| {
                let attached = Attached {
                    comments: Vec::new(),
                    range: range.start..range.start,
                    column,
                };
                ((id, place as u8), attached)
            })
            .collect();
        let mut owner = 0;
        for comment in view.tree.comments_in(range.start as u32..range.end as u32) {
            let (start, end) = (comment.start as usize, comment.end as usize);
            // A reader does not go back into what a comment further out has closed: the rest belongs out there, too.
            owner = owner.max(self.owner(view.column(start), closed, above));
            // What belongs further out begins behind it.
            let to = view.after_break(end).min(range.end);
            for (at, (_, part)) in parts.iter_mut().enumerate().skip(owner) {
                part.range.end = to;
                if at > owner {
                    part.range.start = to;
                }
            }
            if let Some((_, part)) = parts.get_mut(owner) {
                let text = view.text.get(start..end).unwrap_or_default();
                part.comments.push(text.trim_end());
            }
        }
        if let Some((_, last)) = parts.last_mut() {
            last.range.end = range.end;
        }
        self.out.all.extend(parts);
    }

    /// Which of the collections a comment stands behind, counted from the innermost; else the entry below.
    fn owner(&self, column: usize, closed: &[(Id, usize)], above: Option<&Above>) -> usize {
        let rest = closed.len();
        let last = if above.is_some() {
            rest
        } else {
            rest.saturating_sub(1)
        };
        if above.is_some_and(|above| column <= above.column) {
            return last;
        }
        // Of several as deep, such as a list as deep as its key, the outermost.
        let fits = closed
            .iter()
            .find(|(_, col)| *col <= column)
            .map(|(_, col)| *col);
        let outermost = fits.and_then(|fit| closed.iter().rposition(|(_, col)| *col == fit));
        outermost.unwrap_or(last)
    }

    /// The comment beside an entry.
    fn line(&mut self, slot: &Slot) {
        let view = self.view;
        let attached = match view.line_comment(slot) {
            // An entry and the last one inside it may end on one line: the outer one comes first and has it.
            Some(comment) if !self.beside.insert(comment.start) => return,
            Some(comment) => {
                let (start, end) = (comment.start as usize, comment.end as usize);
                let before = view.text.get(..start).unwrap_or_default();
                Attached {
                    comments: vec![view.text.get(start..end).unwrap_or_default().trim_end()],
                    range: before.trim_end_matches([' ', '\t']).len()..end,
                    column: slot.col,
                }
            }
            None => {
                let at = line_place(view, slot);
                Attached {
                    comments: Vec::new(),
                    range: at..at,
                    column: slot.col,
                }
            }
        };
        self.out
            .all
            .insert((slot.value, CommentPlace::Line as u8), attached);
    }
}

/// A place before the line break that ends at a place.
fn before_break(text: &str, at: usize) -> usize {
    let line = text.get(..at).unwrap_or_default();
    let bare = line
        .strip_suffix("\r\n")
        .or_else(|| line.strip_suffix(['\n', '\r']));
    bare.unwrap_or(line).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::path::Path;
    use crate::stream::Stream;

    const TEXT: &str = "\
# licence

# about it
a: 1

# of b

b: # beside b
  - x # beside x
  # of y
  - y
    # behind y
  # behind the list
# of c
c:
  d: [
    1, # one
    2
  ]
  # behind d
  # too

# the end
";

    fn found(text: &str, keys: &[&str], item: Option<usize>, place: CommentPlace) -> Vec<String> {
        let stream = Stream::parse(text, &Limits::default()).unwrap();
        let document = stream.document(0).unwrap();
        let mut node = document
            .root()
            .find(&Path::keys(keys.iter().copied()))
            .unwrap();
        if let Some(item) = item {
            node = node.at(item).unwrap();
        }
        let attachments = document.attachments();
        let found = attachments
            .of(node, place)
            .map(|found| found.comments.clone());
        found
            .unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn m14_each_comment_belongs_to_one_entry_whatever_blank_lines_stand_between() {
        let squeezed = TEXT.replace("\n\n", "\n");
        let spread = TEXT.replace("\n", "\n\n").replace("[\n\n", "[\n");
        for text in [TEXT, &squeezed, &spread] {
            for (keys, item, place, wanted) in [
                (
                    &[][..],
                    None,
                    CommentPlace::Head,
                    &["# licence", "# about it"][..],
                ),
                (&["a"], None, CommentPlace::Head, &[]),
                (&["b"], None, CommentPlace::Head, &["# of b"]),
                (&["b"], None, CommentPlace::Line, &["# beside b"]),
                (&["b"], Some(0), CommentPlace::Line, &["# beside x"]),
                (&["b"], Some(1), CommentPlace::Head, &["# of y"]),
                (
                    &["b"],
                    None,
                    CommentPlace::Foot,
                    &["# behind y", "# behind the list"],
                ),
                (&["c"], None, CommentPlace::Head, &["# of c"]),
                (&["c", "d"], Some(0), CommentPlace::Line, &["# one"]),
                (&["c"], None, CommentPlace::Foot, &["# behind d", "# too"]),
                (&[], None, CommentPlace::Foot, &["# the end"]),
            ] {
                assert_eq!(
                    found(text, keys, item, place),
                    wanted,
                    "{keys:?} {place} in\n{text}"
                );
            }
        }
    }

    #[test]
    fn m14_a_header_can_be_shared_out_between_the_document_and_its_first_entry() {
        let stream = Stream::parse(TEXT, &Limits::default()).unwrap();
        let document = stream.document(0).unwrap();
        let root = document.root();
        let comments = ["# licence", "# about it"];
        for (share, end) in [(0, 0), (1, 10), (2, 22), (9, 22)] {
            let attachments = document.attachments().with_header_shared(document, share);
            let header = attachments.of(root, CommentPlace::Head).unwrap();
            let first = attachments
                .of(root.get("a").unwrap(), CommentPlace::Head)
                .unwrap();
            assert_eq!(
                [&header.comments[..], &first.comments[..]].concat(),
                comments
            );
            assert_eq!(header.comments.len(), share.min(2));
            assert_eq!(
                (header.range.clone(), first.range.clone()),
                (0..end, end..22)
            );
            let foot = attachments.of(root, CommentPlace::Foot).unwrap();
            assert_eq!(foot.comments, ["# the end"]);
        }
    }

    #[test]
    fn what_is_shared_out_stands_apart() {
        let stream = Stream::parse(TEXT, &Limits::default()).unwrap();
        let attachments = stream.document(0).unwrap().attachments();
        let mut ranges: Vec<Range<usize>> =
            attachments.all.values().map(|a| a.range.clone()).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        for pair in ranges.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{pair:?}");
        }
        let comments = attachments.all.values().flat_map(|a| &a.comments);
        assert_eq!(comments.count(), TEXT.matches("# ").count());
    }
}
