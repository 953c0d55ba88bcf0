//! Nodes lifted from a document, to be put into another one with their comments and their style.

use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::node::Node;
use crate::quote::{self, Context};
use crate::scalar::Reader;
use crate::stream::Stream;
use crate::tree::{Id, NONE, NodeKind, Style};
use crate::value::Value;
use crate::write::{At, Writer};

use super::geometry::{Slot, View};

/// A node of some document, kept with the text around it. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Fragment {
    stream: Stream,
    doc: usize,
    id: Id,
}

impl Node<'_> {
    /// Lifts the node with its comments and style, for [`crate::Edit::SetFragment`] and its neighbours.
    #[must_use]
    pub fn lift(&self) -> Fragment {
        Fragment::of(*self)
    }
}

impl Fragment {
    pub(super) fn of(node: Node<'_>) -> Self {
        Self {
            stream: node.stream.clone(),
            doc: node.doc,
            id: node.id,
        }
    }

    /// Reads a text of one document.
    pub(super) fn parse(text: &str, limits: &Limits) -> Result<Self, Error> {
        let stream = Stream::parse(text, limits)?;
        let mut documents = stream.documents();
        match (documents.next(), documents.next()) {
            (Some(document), None) => Ok(Self::of(document.root())),
            _ => Err(Error::at(
                ErrorKind::Value,
                text,
                0,
                "expected a text with one document",
            )),
        }
    }

    /// The node that was lifted.
    #[must_use]
    pub fn node(&self) -> Node<'_> {
        Node {
            stream: &self.stream,
            doc: self.doc,
            id: self.id,
        }
    }

    pub(super) fn value(&self) -> Result<Value, Error> {
        self.node().to_value(Reader::V3)
    }

    fn view(&self) -> View<'_> {
        self.stream.view(self.doc)
    }

    fn slot(&self) -> Slot {
        let node = self.node();
        let data = node.data();
        let (start, end) = (data.start as usize, data.end as usize);
        self.view().slot_of(self.id).map_or(
            Slot {
                key: NONE,
                value: self.id,
                start,
                end,
                col: 0,
                mark: NONE,
            },
            |(_, _, slot)| slot,
        )
    }

    /// The node, with an alias followed.
    fn source(&self) -> Node<'_> {
        self.node()
    }

    pub(super) fn is_block(&self) -> bool {
        self.source().style() == Style::Block
    }

    pub(super) fn is_inline(&self) -> bool {
        let data = self.node().data();
        !matches!(data.style, Style::Block | Style::Literal | Style::Folded)
            && self
                .view()
                .same_line(data.start as usize, data.end as usize)
    }

    /// The tag as it is written.
    pub(super) fn tag_source(&self) -> Option<&str> {
        let data = self.node().data();
        let written = &self.view().text[data.start as usize..data.content as usize];
        data.tag.as_ref()?;
        written
            .split_ascii_whitespace()
            .find(|word| word.starts_with('!'))
    }

    pub(super) fn line_comment(&self) -> Option<&str> {
        let view = self.view();
        let slot = self.slot();
        if view.node(self.id).parent == NONE {
            return None;
        }
        let comment = view.line_comment(&slot)?;
        Some(&view.text[comment.start as usize..comment.end as usize])
    }

    pub(super) fn head_comments(&self) -> Vec<&str> {
        let view = self.view();
        let Some((parent, index, _)) = view.slot_of(self.id) else {
            return Vec::new();
        };
        let head = view.head(parent, index);
        view.tree
            .comments_in(head.start as u32..head.end as u32)
            .iter()
            .map(|comment| &view.text[comment.start as usize..comment.end as usize])
            .collect()
    }

    /// The text of a block collection with the comments above its first entry and behind its last one.
    pub(super) fn block_text(&self) -> &str {
        let data = self.node().data();
        let from = self.leading_comment().unwrap_or(data.content as usize);
        &self.view().text[from..self.block_end().max(from)]
    }

    fn block_end(&self) -> usize {
        let (view, data) = (self.view(), self.node().data());
        if data.parent == NONE {
            view.line_end(data.end as usize)
        } else {
            view.extent(&self.slot())
        }
    }

    /// Writes the node behind a marker.
    pub(super) fn after(&self, writer: &mut Writer<'_>, at: At<'_>) {
        let properties = match (at.properties, self.tag_source()) {
            ("", Some(tag)) => tag,
            (properties, _) => properties,
        };
        let at = At { properties, ..at };
        let node = self.node();
        if node.style() != Style::Block {
            writer.blanks(at.marker);
            writer.properties(at.properties);
            self.inline_with(writer, at.owner, at.comment);
            return;
        }
        let lead = self.leading_comment();
        let col = writer.collection_column(node.kind() == NodeKind::Sequence, at);
        writer.open_collection(col, at, lead.is_some());
        self.block(writer, col, lead);
    }

    /// Writes the node as the root of a document.
    pub(super) fn root(&self, writer: &mut Writer<'_>) {
        if self.is_block() {
            self.block(writer, 0, None);
        } else {
            if let Some(tag) = self.tag_source() {
                writer.properties(tag);
            }
            self.inline(writer, 0);
        }
    }

    /// Writes a node that is no block collection, without its properties; lines behind the first one are moved.
    pub(super) fn inline(&self, writer: &mut Writer<'_>, owner: usize) {
        self.inline_with(writer, owner, None);
    }

    fn inline_with(&self, writer: &mut Writer<'_>, owner: usize, comment: Option<&str>) {
        let view = self.view();
        let data = self.node().data();
        let text = &view.text[data.content as usize..data.end as usize];
        let shift = owner as isize - self.slot().col as isize;
        if !matches!(data.style, Style::Literal | Style::Folded) {
            self.moved(writer, text, shift);
            if let Some(comment) = comment {
                writer.comment(comment);
            }
            return;
        }
        // A block scalar has its comment on the line of its header: below it would be text.
        let header = text
            .find(['\n', '\r', ' ', '\t', '#'])
            .unwrap_or(text.len());
        writer.text(&text[..header]);
        if let Some(comment) = comment {
            writer.comment(comment);
        }
        let rest = text.find(['\n', '\r']).unwrap_or(text.len());
        self.moved(writer, &text[rest..], shift);
        writer.open_block = !text[..header].contains('-');
    }

    /// Where the comments on lines of their own before a block collection's first entry begin.
    fn leading_comment(&self) -> Option<usize> {
        let view = self.view();
        let data = self.node().data();
        if data.mark == NONE {
            return None;
        }
        let comments = view.tree.comments_in(data.mark..data.content);
        comments
            .iter()
            .find(|comment| comment.own_line)
            .map(|comment| comment.start as usize)
    }

    /// Writes a block collection; the cursor stands at its column.
    fn block(&self, writer: &mut Writer<'_>, col: usize, lead: Option<usize>) {
        let view = self.view();
        let data = self.node().data();
        let from = lead.unwrap_or(data.content as usize);
        self.moved(
            writer,
            &view.text[from..self.block_end().max(from)],
            col as isize - data.col as isize,
        );
        // Lines that are added below a block scalar may become part of it: the writer has to know how this one ends.
        let mut last = self.id;
        while let Some(child) = view.tree.children(last).last() {
            last = *child;
        }
        let last = view.node(last);
        let header = &view.text[last.content as usize..];
        writer.open_block = matches!(last.style, Style::Literal | Style::Folded)
            && !header.get(1..3).unwrap_or_default().contains('-');
    }

    /// Writes lines, those behind the first one moved sideways.
    fn moved(&self, writer: &mut Writer<'_>, text: &str, shift: isize) {
        let normal;
        // The writer puts the line breaks of the place where the lines go.
        let text = if text.contains('\r') {
            normal = text.replace("\r\n", "\n").replace('\r', "\n");
            normal.as_str()
        } else {
            text
        };
        let mut lines = text.split('\n');
        writer.text(lines.next().unwrap_or_default());
        for line in lines {
            let rest = line.trim_start_matches(' ');
            let width = (line.len() - rest.len()) as isize + shift;
            if rest.is_empty() && width <= 0 || line.is_empty() {
                writer.line(0);
            } else {
                writer.line(width.max(0) as usize);
                writer.text(rest);
            }
        }
    }

    /// Writes the node in brackets.
    pub(super) fn flow(&self, writer: &mut Writer<'_>, context: Context) -> Result<(), Error> {
        let node = self.node();
        let source = node.source();
        // A comment would comment out the bracket that closes, and in JSON there is none.
        let fits = context != Context::Json
            && self.is_inline()
            && !source.contains('#')
            && (node.style() != Style::Plain || quote::plain_holds(source, context));
        if fits && !source.is_empty() {
            writer.text(source);
        } else {
            writer.flow(&self.value()?, node.style(), context);
        }
        Ok(())
    }
}
