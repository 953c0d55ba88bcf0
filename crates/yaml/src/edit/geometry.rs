//! Where the parts of a document stand: lines, entries, and the comments that belong to them.
//!
//! The rules (`vectors/yaml-edit`): comments directly above an entry belong to it; a blank line detaches a comment; a
//! comment that is indented deeper than an entry and follows it belongs into it; a comment on the line stays.

use std::ops::Range;

use crate::tree::{CommentData, Id, NONE, NodeData, NodeKind, Style, Tree};

/// A document's text with its tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) text: &'a str,
    pub(crate) tree: &'a Tree,
    /// Whether new text of several lines may become a block scalar.
    pub(crate) blocks: bool,
}

/// One entry of a mapping (key and value) or one item of a sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// The mapping's key; [`NONE`] for items.
    pub(crate) key: Id,
    pub(crate) value: Id,
    /// Where the entry begins: its key, `?` or dash; in flow style the key or the item.
    pub(crate) start: usize,
    /// Where it ends, comments after it not counted.
    pub(crate) end: usize,
    /// The column of `start`.
    pub(crate) col: usize,
    /// The colon or the dash; [`NONE`] when there is none.
    pub(crate) mark: u32,
}

impl<'a> View<'a> {
    pub(crate) fn node(&self, id: Id) -> &'a NodeData {
        self.tree.node(id)
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Where line breaks stand. A long line holds thousands of entries, and each asks where it begins.
    fn breaks(&self) -> &'a [u32] {
        self.tree.breaks.get_or_init(|| {
            let bytes = (0..).zip(self.bytes());
            let breaks = bytes.filter(|(_, byte)| matches!(byte, b'\n' | b'\r'));
            breaks.map(|(at, _)| at).collect()
        })
    }

    /// The first line break at a place or behind it, counted from 0.
    fn next_break(&self, at: usize) -> usize {
        let before = |place: &u32| (*place as usize) < at;
        self.breaks().partition_point(before)
    }

    /// Where the line of a place begins.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        let before = self.next_break(at).checked_sub(1);
        let before = before.and_then(|before| self.breaks().get(before));
        before.map_or(0, |place| *place as usize + 1)
    }

    /// Where the line of a place ends, line break excluded.
    pub(crate) fn line_end(&self, at: usize) -> usize {
        let end = self.breaks().get(self.next_break(at));
        end.map_or(self.text.len(), |place| *place as usize)
    }

    /// The place behind the line break that stands at a place.
    pub(crate) fn after_break(&self, at: usize) -> usize {
        match &self.bytes()[at..] {
            [b'\r', b'\n', ..] => at + 2,
            [b'\r' | b'\n', ..] => at + 1,
            _ => at,
        }
    }

    /// Whether only blanks stand before a place on its line.
    pub(crate) fn first_on_line(&self, at: usize) -> bool {
        let line = &self.text[self.line_start(at)..at];
        line.trim_start_matches('\u{feff}')
            .bytes()
            .all(|b| matches!(b, b' ' | b'\t'))
    }

    /// The column of a place in bytes, a byte order mark not counted.
    pub(crate) fn column(&self, at: usize) -> usize {
        let line = &self.text[self.line_start(at)..at];
        line.trim_start_matches('\u{feff}').len()
    }

    pub(crate) fn same_line(&self, a: usize, b: usize) -> bool {
        let (a, b) = (a.min(b), a.max(b));
        self.line_end(a) >= b
    }

    /// The line break in use around a place: that of its line, else that of the line before, else the first one.
    pub(crate) fn eol(&self, at: usize) -> &'static str {
        // The last line may have no break: the one above it shows what the file uses.
        let end = self.line_end(at.min(self.text.len()));
        let found = match self.bytes().get(end) {
            Some(_) => end,
            None => match self.line_start(at) {
                0 => return "\n",
                start => {
                    start
                        - if self.text[..start].ends_with("\r\n") {
                            2
                        } else {
                            1
                        }
                }
            },
        };
        match &self.bytes()[found..] {
            [b'\r', b'\n', ..] => "\r\n",
            [b'\r', ..] => "\r",
            _ => "\n",
        }
    }

    /// The entries or items of a collection.
    pub(crate) fn slots(&self, id: Id) -> usize {
        let children = self.tree.children(id).len();
        if self.node(id).kind == NodeKind::Mapping {
            children / 2
        } else {
            children
        }
    }

    /// One entry or item.
    pub(crate) fn slot(&self, id: Id, index: usize) -> Slot {
        let collection = self.node(id);
        let children = self.tree.children(id);
        if collection.kind == NodeKind::Mapping {
            let (key, value) = (children[index * 2], children[index * 2 + 1]);
            let (k, v) = (self.node(key), self.node(value));
            let start = if k.mark == NONE { k.start } else { k.mark } as usize;
            let mut end = k.end.max(v.end);
            // An empty value has no text: the entry ends with its colon.
            if v.mark != NONE {
                end = end.max(v.mark + 1);
            }
            let end = end as usize;
            return Slot {
                key,
                value,
                start,
                end,
                col: self.column(start),
                mark: v.mark,
            };
        }
        let value = children[index];
        let v = self.node(value);
        let start = if v.mark == NONE { v.start } else { v.mark } as usize;
        let mut end = v.end as usize;
        if v.mark != NONE {
            end = end.max(v.mark as usize + 1);
        }
        Slot {
            key: NONE,
            value,
            start,
            end,
            col: self.column(start),
            mark: v.mark,
        }
    }

    /// The slot that a node is the key or the value of, with its collection and index; `None` at the root.
    pub(crate) fn slot_of(&self, id: Id) -> Option<(Id, usize, Slot)> {
        let parent = self.node(id).parent;
        if parent == NONE {
            return None;
        }
        let at = self.tree.place(id)?;
        let index = if self.node(parent).kind == NodeKind::Mapping {
            at / 2
        } else {
            at
        };
        Some((parent, index, self.slot(parent, index)))
    }

    /// The comment that stands on the same line behind a place, with nothing but `between` allowed before it.
    pub(crate) fn comment_after(&self, at: usize) -> Option<CommentData> {
        let end = self.line_end(at);
        let comment = self.tree.comments_in(at as u32..end as u32 + 1).first()?;
        // In flow style the comma, or a bracket that closes, stands before the comment of the last item.
        let between = &self.text[at..comment.start as usize];
        (!comment.own_line && between.trim_matches([' ', '\t', ',', ']', '}']).is_empty())
            .then_some(*comment)
    }

    /// The comment on the line of an entry itself: behind an inline value, on the line of the marker of a block
    /// collection, on the header line of a block scalar.
    pub(crate) fn line_comment(&self, slot: &Slot) -> Option<CommentData> {
        let value = self.node(slot.value);
        match value.style {
            Style::Block => {
                let mark = slot.mark as usize;
                // Behind `key:` it is the key's; behind the first thing inside it is that one's.
                let comment = self.comment_after_properties(mark + 1, value)?;
                (comment.start < value.content).then_some(comment)
            }
            Style::Literal | Style::Folded => {
                // What looks like a comment further down is text of the scalar.
                let header = self.text[value.content as usize..]
                    .find(|c: char| !matches!(c, '|' | '>' | '+' | '-' | '0'..='9'))
                    .map_or(self.text.len(), |length| value.content as usize + length);
                self.comment_after(header)
            }
            _ => self.comment_after(slot.end),
        }
    }

    /// As [`View::comment_after`], with a tag and an anchor before the comment.
    fn comment_after_properties(&self, at: usize, value: &NodeData) -> Option<CommentData> {
        let start = value.start as usize;
        if start >= at && start != value.content as usize && self.same_line(at, start) {
            let comments = self.tree.comments_in(start as u32..value.content);
            return comments
                .iter()
                .copied()
                .find(|c| !c.own_line && self.same_line(at, c.start as usize));
        }
        self.comment_after(at)
    }

    /// The comments directly above an entry: those that belong to it. Empty when it does not begin its line.
    pub(crate) fn head(&self, id: Id, index: usize) -> Range<usize> {
        let slot = self.slot(id, index);
        let bom = if self.text.starts_with('\u{feff}') {
            3
        } else {
            0
        };
        let line = self.line_start(slot.start).max(bom);
        if !self.first_on_line(slot.start) {
            return line..line;
        }
        // The first entry has nobody before it whose comment a deeper one could be.
        let deepest = if index == 0 { usize::MAX } else { slot.col };
        let floor = if index == 0 {
            self.opening(id)
        } else {
            self.slot(id, index - 1).end
        };
        let mut first = line;
        for comment in self
            .tree
            .comments_in(floor as u32..line as u32)
            .iter()
            .rev()
        {
            let (start, end) = (comment.start as usize, comment.end as usize);
            let adjacent = self.after_break(end) == first;
            if !comment.own_line || !adjacent || self.column(start) > deepest {
                break;
            }
            first = self.line_start(start).max(bom);
        }
        first..line
    }

    /// Where a collection's inside begins: behind the marker that it follows, or at the head of the document.
    fn opening(&self, id: Id) -> usize {
        let node = self.node(id);
        if node.mark != NONE {
            node.mark as usize + 1
        } else {
            self.tree.head as usize
        }
    }

    /// The end of the last line that belongs to a block entry: its own line comment and deeper comments right below
    /// it included, the line break excluded.
    pub(crate) fn extent(&self, slot: &Slot) -> usize {
        let mut end = self.line_end(slot.end);
        for comment in self
            .tree
            .comments_in(end as u32..self.text.len() as u32 + 1)
        {
            let start = comment.start as usize;
            let line = self.after_break(end);
            // A blank line ends what belongs to the entry, even if a deeper comment follows.
            let next_line = start >= line && self.line_start(start) == line;
            if !next_line || !comment.own_line || self.column(start) <= slot.col {
                break;
            }
            end = comment.end as usize;
        }
        end
    }

    /// The comments right below an entry that belong to nobody else: not separated by a blank line, as deep as the entry,
    /// and followed by no sibling.
    pub(crate) fn foot(&self, id: Id, index: usize) -> Range<usize> {
        let slot = self.slot(id, index);
        let from = self.after_break(self.extent(&slot));
        if index + 1 < self.slots(id) {
            return from..from;
        }
        let mut end = from;
        for comment in self
            .tree
            .comments_in(from as u32..self.text.len() as u32 + 1)
        {
            let start = comment.start as usize;
            if !comment.own_line || self.line_start(start) != end || self.column(start) != slot.col
            {
                break;
            }
            end = self.after_break(comment.end as usize);
        }
        // At the margin a text that follows at once has these comments above it: they are not the foot of this one.
        if end > from && !self.text[end..].is_empty() && slot.col == 0 {
            let rest = &self.text[end..];
            if !rest.starts_with(['\n', '\r']) && !rest.starts_with("---") {
                return from..from;
            }
        }
        from..end
    }
}
