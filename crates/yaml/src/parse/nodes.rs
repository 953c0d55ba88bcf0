//! The aligner's eye for single nodes: markers, properties, scalars, aliases.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{ScalarStyle, StructureStyle, Tag};

use super::align::{Aligner, Layout};
use super::{gate, quoted, repair, scalars};
use crate::error::Error;
use crate::tree::{Content, Id, Kind, NONE, NodeData, Style};

impl<'t> Aligner<'t> {
    pub(super) fn relative(&self, at: usize) -> u32 {
        at.saturating_sub(self.base) as u32
    }

    /// Passes what stands before a node in its parent; returns the node's marker.
    fn before(&mut self, empty: bool) -> Result<u32, Error> {
        let Some(frame) = self.stack.last_mut() else {
            return Ok(NONE);
        };
        let (layout, count) = (frame.layout, frame.count);
        frame.count += 1;
        let key = count % 2 == 0;
        match layout {
            Layout::BlockSeq => {
                self.trivia()?;
                let mark = self.indicator(b'-');
                self.indicated = self.cursor.pos;
                mark
            }
            Layout::FlowSeq => {
                if count > 0 {
                    self.trivia()?;
                    self.indicator(b',')?;
                }
                Ok(NONE)
            }
            Layout::FlowMap if key && count > 0 => {
                self.trivia()?;
                self.indicator(b',')?;
                self.question()
            }
            Layout::BlockMap | Layout::FlowMap | Layout::Pair if key => self.question(),
            Layout::BlockMap | Layout::FlowMap | Layout::Pair => {
                let back = self.cursor.pos;
                self.trivia()?;
                if self.cursor.peek() == Some(b':') {
                    let mark = self.indicator(b':')?;
                    if self.explicit_key() {
                        self.indicated = self.cursor.pos;
                    }
                    return Ok(mark);
                }
                self.cursor.pos = back;
                if empty {
                    Ok(NONE)
                } else {
                    Err(self.misaligned())
                }
            }
        }
    }

    pub(super) fn indicator(&mut self, byte: u8) -> Result<u32, Error> {
        if self.cursor.peek() != Some(byte) {
            return Err(self.misaligned());
        }
        let at = self.relative(self.cursor.pos);
        self.cursor.pos += 1;
        Ok(at)
    }

    /// Passes the `?` of an explicit key, if there is one.
    fn question(&mut self) -> Result<u32, Error> {
        let back = self.cursor.pos;
        self.trivia()?;
        let alone = self.in_flow() || self.cursor.blank_at(self.cursor.pos + 1);
        if self.cursor.peek() == Some(b'?') && alone {
            let at = self.relative(self.cursor.pos);
            self.cursor.pos += 1;
            self.indicated = self.cursor.pos;
            return Ok(at);
        }
        self.cursor.pos = back;
        Ok(NONE)
    }

    /// Whether the key whose value comes next is written with `?`.
    fn explicit_key(&self) -> bool {
        self.scratch
            .last()
            .is_some_and(|key| self.tree.node(*key).mark != NONE)
    }

    /// The indentation that the next line of a scalar needs: one more than the block collection around it has.
    fn needed_indent(&self) -> usize {
        let block = |frame: &&super::align::Frame| {
            matches!(frame.layout, Layout::BlockMap | Layout::BlockSeq)
        };
        let around = self.stack.iter().rev().find(block);
        around.map_or(0, |frame| self.tree.node(frame.id).col as usize + 1)
    }

    /// Begins a node: passes its marker, its tag and its anchor.
    pub(super) fn node(
        &mut self,
        kind: Kind,
        anchored: bool,
        tag: Option<&Tag>,
        empty: bool,
    ) -> Result<NodeData, Error> {
        let mark = self.before(empty)?;
        let plain_end = self.cursor.pos;
        let mut start = None;
        let mut anchor = 0..0;
        let (mut want_anchor, mut want_tag) = (anchored, tag.is_some());
        while want_anchor || want_tag {
            self.trivia()?;
            let at = self.cursor.pos;
            match self.cursor.peek() {
                Some(b'&') if want_anchor => {
                    self.property();
                    gate::anchor(self.text, at + 1, self.cursor.pos)?;
                    anchor = self.relative(at + 1)..self.relative(self.cursor.pos);
                    want_anchor = false;
                }
                Some(b'!') if want_tag => {
                    self.property();
                    gate::after_tag(self.text, self.cursor.pos)?;
                    want_tag = false;
                }
                _ => return Err(self.misaligned()),
            }
            start.get_or_insert(at);
        }
        let after = self.cursor.pos;
        if empty {
            self.cursor.pos = if start.is_some() { after } else { plain_end };
        } else {
            self.trivia()?;
        }
        let content = self.cursor.pos;
        let start = start.unwrap_or(content);
        let (line, _) = self.cursor.place(start);
        let (_, col) = self.cursor.place(content);
        Ok(NodeData {
            kind,
            style: Style::Plain,
            start: self.relative(start),
            content: self.relative(content),
            end: self.relative(content),
            line: (line - self.base_line) as u32,
            col: col as u32,
            parent: self.stack.last().map_or(NONE, |frame| frame.id),
            mark,
            anchor,
            tag: tag.map(scalars::short_tag),
            value: Content::Span(0, 0),
            children: 0..0,
        })
    }

    /// Passes one `&anchor` or `!tag`.
    fn property(&mut self) {
        if self.cursor.starts_with(b"!<") {
            while !matches!(self.cursor.peek(), None | Some(b'>' | b'\n' | b'\r')) {
                self.cursor.pos += 1;
            }
            self.cursor.pos += 1;
            return;
        }
        while !self.cursor.blank_at(self.cursor.pos)
            && !matches!(self.cursor.peek(), Some(b',' | b'[' | b']' | b'{' | b'}'))
        {
            self.cursor.pos += 1;
        }
    }

    pub(super) fn add(&mut self, node: NodeData) -> Id {
        let id = self.tree.nodes.len() as Id;
        if self.stack.is_empty() {
            self.tree.root = id;
        } else {
            self.scratch.push(id);
        }
        self.tree.nodes.push(node);
        id
    }

    pub(super) fn scalar(
        &mut self,
        value: Cow<'t, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Range<usize>,
    ) -> Result<(), Error> {
        let style = scalars::style(style);
        let question =
            style == Style::Plain && self.in_flow() && self.events[span.start..].starts_with('?');
        if question
            && self
                .stack
                .last()
                .is_some_and(|frame| frame.layout == Layout::FlowSeq)
        {
            return self.question_item(value, span);
        }
        let empty = style == Style::Plain && span.is_empty();
        let mut node = self.node(Kind::Scalar, anchor != 0, tag, empty)?;
        if empty && node.mark == NONE && node.start == node.content && self.at_key() {
            return Err(self.error(self.cursor.pos, "a key is missing before ':'"));
        }
        node.style = style;
        let start = self.cursor.pos;
        let mut value = if empty { Cow::Borrowed("") } else { value };
        let end = match style {
            Style::Plain if empty => start,
            Style::Plain | Style::SingleQuoted | Style::DoubleQuoted => {
                if question && span.start + 1 == start {
                    value = Cow::Owned(value.trim_start_matches('?').to_owned());
                } else if span.start != start {
                    return Err(self.misaligned());
                }
                span.end
            }
            _ => scalars::block(self.text, self.events, &mut self.cursor, &span, &mut value)?,
        };
        // A reworded line separator may be cut in the middle: the original one is left out.
        let end = self.text.floor_char_boundary(end);
        let text = self
            .events
            .get(start..end)
            .ok_or_else(|| self.misaligned())?;
        let end = if style == Style::Plain {
            start + text.trim_end_matches([' ', '\t', '\n', '\r']).len()
        } else {
            end
        };
        gate::scalar(
            self.text,
            start,
            end,
            style,
            self.in_flow(),
            self.needed_indent(),
        )?;
        node.end = self.relative(end);
        if question && end <= start {
            return Err(self.error(start, "a key is missing behind '?'"));
        }
        if let Some(read) = self.over_lines(start..end, style)? {
            value = Cow::Owned(read);
        }
        node.value = self.content(value);
        self.cursor.pos = self.cursor.pos.max(end);
        if style == Style::Plain && !empty {
            self.plain = (self.cursor.pos, self.needed_indent());
        }
        let id = self.add(node);
        self.anchored(anchor, id);
        self.simple_key(id)
    }

    /// The content of a plain or quoted scalar whose lines the event parser could not see as they are.
    fn over_lines(&self, range: Range<usize>, style: Style) -> Result<Option<String>, Error> {
        if !matches!(
            style,
            Style::Plain | Style::SingleQuoted | Style::DoubleQuoted
        ) {
            return Ok(None);
        }
        let sides = (self.text.get(range.clone()), self.events.get(range));
        let (Some(original), Some(seen)) = sides else {
            return Err(self.misaligned());
        };
        let joined = original.contains(['\n', '\r']) && !seen.contains(['\n', '\r']);
        if !joined && !original.contains(repair::SEPARATORS) {
            return Ok(None);
        }
        let content = quoted::content(original, style).ok_or_else(|| self.misaligned())?;
        Ok(Some(content))
    }

    /// Whether brackets are open.
    pub(super) fn in_flow(&self) -> bool {
        self.stack.last().is_some_and(|frame| {
            matches!(
                frame.layout,
                Layout::FlowMap | Layout::FlowSeq | Layout::Pair
            )
        })
    }

    /// Whether the node that was just begun is a key.
    fn at_key(&self) -> bool {
        self.stack.last().is_some_and(|frame| {
            !matches!(frame.layout, Layout::FlowSeq | Layout::BlockSeq) && frame.count % 2 == 1
        })
    }

    /// `[?a]`: inside brackets a question mark needs no blank behind it. The event parser takes it for text; here the
    /// scalar becomes the key of a pair without a value.
    fn question_item(&mut self, value: Cow<'t, str>, span: Range<usize>) -> Result<(), Error> {
        self.mapping_start(StructureStyle::Flow, 0, None, span.start..span.start)?;
        self.scalar(value, ScalarStyle::Plain, 0, None, span.clone())?;
        self.scalar(
            Cow::Borrowed(""),
            ScalarStyle::Plain,
            0,
            None,
            span.end..span.end,
        )?;
        self.collection_end()
    }

    /// Keeps a value as a part of the source where it is one.
    fn content(&self, value: Cow<'t, str>) -> Content {
        if let Cow::Borrowed(part) = value {
            let at = (part.as_ptr() as usize).wrapping_sub(self.events.as_ptr() as usize);
            // A reworded place has the length of the original, which holds the content.
            if at >= self.base
                && self.text.is_char_boundary(at)
                && self.text.is_char_boundary(at + part.len())
            {
                let from = self.relative(at);
                return Content::Span(from, from + part.len() as u32);
            }
        }
        Content::Owned(value.into())
    }

    pub(super) fn alias(&mut self, target: Option<usize>, span: Range<usize>) -> Result<(), Error> {
        let mut node = self.node(Kind::Alias, false, None, false)?;
        if span.start != self.cursor.pos {
            return Err(self.misaligned());
        }
        let name = self
            .text
            .get(span.start + 1..span.end)
            .ok_or_else(|| self.misaligned())?;
        gate::anchor(self.text, span.start + 1, span.end)?;
        let target = match target {
            // Anchors come in the order of their ids.
            Some(target) => self
                .anchors
                .binary_search_by_key(&target, |(id, _)| *id)
                .map_or(NONE, |at| self.anchors[at].1),
            None if self.outer.contains(name) => NONE,
            None => {
                return Err(self.error(span.start, format!("unknown anchor '{name}' referenced")));
            }
        };
        self.tree.aliases = true;
        node.style = Style::Alias;
        node.end = self.relative(span.end);
        node.children = target..target;
        self.cursor.pos = span.end;
        let id = self.add(node);
        self.simple_key(id)
    }

    pub(super) fn anchored(&mut self, anchor: usize, id: Id) {
        if anchor != 0 {
            self.anchors.push((anchor, id));
        }
    }

    /// Checks a finished key: what the field's readers accept as one.
    pub(super) fn simple_key(&mut self, id: Id) -> Result<(), Error> {
        let Some(frame) = self.stack.last() else {
            return Ok(());
        };
        let key =
            frame.count % 2 == 1 && !matches!(frame.layout, Layout::BlockSeq | Layout::FlowSeq);
        let node = self.tree.node(id);
        let (start, end) = (
            self.base + node.start as usize,
            self.base + node.end as usize,
        );
        if key && node.mark == NONE && !(frame.layout == Layout::FlowMap && self.colonless(end)) {
            gate::simple_key(self.text, start, end)?;
        }
        Ok(())
    }

    /// Whether a key inside braces that ends at `end` has no colon: the readers take it for a value until one comes.
    fn colonless(&self, end: usize) -> bool {
        let rest = self.events.get(end..).unwrap_or_default();
        rest.trim_start_matches([' ', '\t', '\n', '\r'])
            .starts_with([',', '}'])
    }
}
