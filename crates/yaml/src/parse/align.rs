//! The aligner: gives every event its exact place in the text.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use granit_parser::{StructureStyle, Tag, YamlVersion};

use super::cursor::Cursor;
use super::{Doc, gate, repair};
use crate::error::{Error, ErrorKind};
use crate::tree::{CommentData, Id, Kind, NodeData, Style, Tree};

/// An open collection.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) id: Id,
    pub(super) layout: Layout,
    /// How many children came already.
    pub(super) count: usize,
    /// Where this collection's children begin in the scratch list.
    pub(super) scratch: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    BlockMap,
    BlockSeq,
    FlowMap,
    FlowSeq,
    /// A `key: value` pair inside a flow sequence.
    Pair,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Aligner<'t> {
    /// The text as it is.
    pub(super) text: &'t str,
    /// The text as the event parser sees it: same length, old line separators replaced.
    pub(super) events: &'t str,
    pub(super) depth: usize,
    pub(super) cursor: Cursor<'t>,
    pub(super) tree: Tree,
    /// Where the current document begins, and the line of it.
    pub(super) base: usize,
    pub(super) base_line: usize,
    pub(super) stack: Vec<Frame>,
    pub(super) scratch: Vec<Id>,
    /// Node by the event parser's anchor id.
    pub(super) anchors: Vec<(usize, Id)>,
    pub(super) docs: Vec<Doc>,
    pub(super) outer: BTreeSet<Box<str>>,
    /// Whether a document has begun and not ended.
    pub(super) open: bool,
    /// Whether the last document ended with `...`.
    pub(super) ended: bool,
    /// The place behind the last `-`, `?`, or colon of an explicit key.
    pub(super) indicated: usize,
    /// The place behind the last plain scalar, and the indentation that its next line would need.
    pub(super) plain: (usize, usize),
}

impl<'t> Aligner<'t> {
    pub(super) fn new(text: &'t str, events: &'t str, depth: usize, outer: &[&str]) -> Self {
        Self {
            text,
            events,
            depth,
            cursor: Cursor::new(text, events),
            tree: Tree::new(),
            base: 0,
            base_line: 0,
            stack: Vec::new(),
            scratch: Vec::new(),
            anchors: Vec::new(),
            docs: Vec::new(),
            outer: outer.iter().map(|name| Box::from(*name)).collect(),
            open: false,
            ended: false,
            indicated: 0,
            plain: (usize::MAX, 0),
        }
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> Error {
        Error::at(ErrorKind::Syntax, self.text, at, message)
    }

    pub(super) fn misaligned(&self) -> Error {
        self.error(self.cursor.pos, "this construct is not supported")
    }

    /// How far the text is aligned.
    pub(super) fn reached(&self) -> usize {
        self.cursor.pos
    }

    /// Passes blanks, line breaks and comments, as the readers allow them.
    pub(super) fn trivia(&mut self) -> Result<(), Error> {
        let from = self.cursor.pos;
        self.cursor.trivia();
        if self.in_flow() {
            return Ok(());
        }
        let plain = (self.plain.0 == from).then_some(self.plain.1);
        gate::blanks(
            self.text,
            from,
            self.cursor.pos,
            from == self.indicated,
            plain,
        )
    }

    pub(super) fn document_start(
        &mut self,
        explicit: bool,
        version: Option<YamlVersion>,
    ) -> Result<(), Error> {
        if !self.docs.is_empty() && !explicit {
            return Err(self.error(self.cursor.pos, "another document must begin with '---'"));
        }
        self.trivia()?;
        let directives = self.cursor.pos;
        while explicit && self.cursor.peek() == Some(b'%') {
            gate::directive(self.text, self.cursor.pos, version)?;
            self.cursor.rest_of_line();
            self.trivia()?;
        }
        if explicit {
            if !self.docs.is_empty() && !self.ended {
                self.base = directives.min(self.cursor.pos);
            }
            if !self.cursor.starts_with(b"---") {
                return Err(self.misaligned());
            }
            self.cursor.pos += 3;
        }
        self.base_line = self.cursor.place(self.base).0;
        self.tree.explicit = explicit;
        let bom = self.text[self.base..].starts_with('\u{feff}');
        self.tree.head = match (explicit, bom) {
            (true, _) => self.relative(self.cursor.pos),
            (false, bom) => u32::from(bom) * 3,
        };
        self.open = true;
        Ok(())
    }

    pub(super) fn document_end(&mut self) -> Result<(), Error> {
        self.trivia()?;
        self.tree.tail = self.relative(self.cursor.pos);
        self.ended = self.cursor.starts_with(b"...");
        if self.ended {
            self.cursor.pos += 3;
            self.cursor.blanks();
            if self.cursor.peek() == Some(b'#') {
                self.cursor.comment();
            }
            self.cursor.line_break();
        }
        self.close(self.cursor.pos);
        Ok(())
    }

    /// The comments since the last call, cut where an old line separator was reworded.
    fn comments(&mut self) -> Vec<CommentData> {
        let mut comments = self.cursor.take_comments();
        for comment in &mut comments {
            comment.end = self.text.floor_char_boundary(comment.end as usize) as u32;
        }
        comments
    }

    /// Puts the current tree away as a document that ends at `end`.
    fn close(&mut self, end: usize) {
        let mut tree = std::mem::replace(&mut self.tree, Tree::new());
        let base = self.base as u32;
        tree.comments = self.comments();
        let part = self.base..end;
        tree.old_breaks = !std::ptr::eq(self.text, self.events)
            && self.text[part.clone()]
                .match_indices(repair::SEPARATORS)
                .any(|(at, c)| {
                    let events = self.events[part.clone()].get(at..);
                    !events.is_some_and(|rest| rest.starts_with(c))
                });
        for comment in &mut tree.comments {
            comment.start = comment.start.saturating_sub(base);
            comment.end = comment.end.saturating_sub(base);
        }
        self.outer.extend(
            tree.nodes
                .iter()
                .filter(|node| !node.anchor.is_empty())
                .filter_map(|node| {
                    self.text
                        .get(self.base..)?
                        .get(node.anchor.start as usize..node.anchor.end as usize)
                })
                .map(Box::from),
        );
        self.docs.push(Doc {
            range: self.base..end,
            first_line: self.base_line,
            tree: Arc::new(tree),
        });
        self.anchors.clear();
        self.base = end;
        self.open = false;
    }

    /// The documents that ended so far.
    pub(super) fn docs(self) -> Vec<Doc> {
        self.docs
    }

    pub(super) fn finish(mut self) -> Result<Vec<Doc>, Error> {
        self.trivia()?;
        // What is left is comments: they go to the last document, or make one of their own.
        let end = self.text.len();
        if self.cursor.pos < end && self.cursor.starts_with(b"...") {
            self.cursor.pos = end;
        }
        if self.docs.is_empty() {
            self.tree.tail = end as u32;
            let bom = if self.text.starts_with('\u{feff}') {
                3
            } else {
                0
            };
            self.tree.head = bom;
            self.close(end);
        } else {
            let comments = self.comments();
            let Some(last) = self.docs.last_mut() else {
                return Ok(self.docs);
            };
            last.range.end = end;
            let base = last.range.start as u32;
            let tree = Arc::make_mut(&mut last.tree);
            tree.comments
                .extend(comments.into_iter().map(|mut comment| {
                    comment.start -= base;
                    comment.end -= base;
                    comment
                }));
        }
        Ok(self.docs)
    }

    pub(super) fn sequence_start(
        &mut self,
        style: StructureStyle,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), Error> {
        let mut node = self.node(Kind::Sequence, anchor != 0, tag, false)?;
        let layout = match style {
            StructureStyle::Block => Layout::BlockSeq,
            StructureStyle::Flow => Layout::FlowSeq,
        };
        node.style = if layout == Layout::BlockSeq {
            Style::Block
        } else {
            Style::Flow
        };
        if layout == Layout::FlowSeq {
            self.indicator(b'[')?;
        }
        self.open_collection(node, layout, anchor)
    }

    pub(super) fn mapping_start(
        &mut self,
        style: StructureStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Range<usize>,
    ) -> Result<(), Error> {
        let mut node = self.node(Kind::Mapping, anchor != 0, tag, false)?;
        let layout = match style {
            StructureStyle::Block => Layout::BlockMap,
            StructureStyle::Flow if self.events.get(span) == Some("{") => Layout::FlowMap,
            StructureStyle::Flow => Layout::Pair,
        };
        node.style = if layout == Layout::BlockMap {
            Style::Block
        } else {
            Style::Flow
        };
        if layout == Layout::FlowMap {
            self.indicator(b'{')?;
        }
        self.open_collection(node, layout, anchor)
    }

    fn open_collection(
        &mut self,
        node: NodeData,
        layout: Layout,
        anchor: usize,
    ) -> Result<(), Error> {
        if self.stack.len() >= self.depth {
            let message = format!("collections are nested deeper than {}", self.depth);
            return Err(Error::at(
                ErrorKind::Limit,
                self.text,
                self.cursor.pos,
                message,
            ));
        }
        let scratch = self.scratch.len() + usize::from(!self.stack.is_empty());
        let id = self.add(node);
        self.anchored(anchor, id);
        self.stack.push(Frame {
            id,
            layout,
            count: 0,
            scratch,
        });
        Ok(())
    }

    pub(super) fn collection_end(&mut self) -> Result<(), Error> {
        let Some(frame) = self.stack.pop() else {
            return Err(self.misaligned());
        };
        let close = match frame.layout {
            Layout::FlowMap => Some(b'}'),
            Layout::FlowSeq => Some(b']'),
            Layout::BlockMap | Layout::BlockSeq | Layout::Pair => None,
        };
        let from = self.tree.children.len() as u32;
        let last = self
            .scratch
            .last()
            .copied()
            .filter(|_| self.scratch.len() > frame.scratch);
        self.tree
            .children
            .extend(self.scratch.drain(frame.scratch..));
        let to = self.tree.children.len() as u32;
        let end = if let Some(close) = close {
            self.cursor.trivia();
            if self.cursor.peek() == Some(b',') {
                self.cursor.pos += 1;
                self.cursor.trivia();
            }
            self.indicator(close)? + 1
        } else {
            last.map_or_else(
                || self.relative(self.cursor.pos),
                |last| self.tree.node(last).end,
            )
        };
        let Some(node) = self.tree.nodes.get_mut(frame.id as usize) else {
            return Err(self.misaligned());
        };
        node.children = from..to;
        node.end = end.max(node.content);
        self.simple_key(frame.id)
    }
}
