//! The short way: block texts as people and tools write them, read in one pass without the event parser.
//!
//! It knows keys and plain, quoted and literal scalars on their lines, block mappings and sequences, brackets that
//! open and close on one line, comments and `---`. Whatever it does not know it does not read: it answers nothing,
//! and the long way decides. It never reports an error, and where it answers, the answer is the long way's, node by
//! node (held by the tests beside it).

mod inline;

use std::sync::Arc;

use super::Doc;
use crate::tree::{CommentData, Content, Id, Kind, NONE, NodeData, Style, Tree};

/// The longest key that is read here; longer ones are not keys at all beyond a limit that the long way knows.
const LONGEST_KEY: usize = 512;

/// An open block collection.
#[derive(Debug)]
struct Frame {
    id: Id,
    kind: Kind,
    col: usize,
    /// Where its children begin in the scratch list.
    scratch: usize,
    /// The `:` or `-` whose value has not come yet.
    pending: Option<Mark>,
}

/// An indicator: where it stands.
#[derive(Debug, Clone, Copy)]
struct Mark {
    at: usize,
    line: usize,
    line_start: usize,
}

/// See the module.
struct Short<'t> {
    text: &'t str,
    bytes: &'t [u8],
    depth: usize,
    tree: Tree,
    docs: Vec<Doc>,
    base: usize,
    base_line: usize,
    line: usize,
    line_start: usize,
    stack: Vec<Frame>,
    scratch: Vec<Id>,
}

/// Reads a text (of it only the first document, if asked); nothing where the long way is needed.
pub(super) fn read(text: &str, depth: usize, first: bool) -> Option<Vec<Doc>> {
    if !is_simple(text.as_bytes()) {
        return None;
    }
    let mut short = Short {
        text,
        bytes: text.as_bytes(),
        // The event parser counts some collections twice: texts that come near the limit are left to it.
        depth: depth / 2,
        tree: Tree::new(),
        docs: Vec::new(),
        base: 0,
        base_line: 0,
        line: 0,
        line_start: 0,
        stack: Vec::new(),
        scratch: Vec::new(),
    };
    short.tree.nodes.reserve(text.len() / 10);
    short.run(first)
}

/// Whether a text holds only characters that mean the same to every reader: no tabs, no carriage returns, no
/// control characters, no old line separators, no byte order mark.
fn is_simple(bytes: &[u8]) -> bool {
    let suspicious =
        |byte: &u8| *byte < 0x20 && *byte != b'\n' || matches!(*byte, 0x7F | 0xC2 | 0xE2 | 0xEF);
    // Without a branch in the loop this is many bytes at a time.
    let chunk = |chunk: &[u8]| chunk.iter().fold(false, |any, byte| any | suspicious(byte));
    if !bytes.chunks(64).any(chunk) {
        return true;
    }
    bytes.iter().enumerate().all(|(at, byte)| {
        let next = bytes.get(at + 1).copied().unwrap_or_default();
        let third = bytes.get(at + 2).copied().unwrap_or_default();
        match byte {
            0xC2 => next >= 0xA0,
            0xE2 => !(next == 0x80 && matches!(third, 0xA8 | 0xA9)),
            byte => !suspicious(byte),
        }
    })
}

impl Short<'_> {
    fn run(mut self, first: bool) -> Option<Vec<Doc>> {
        let mut at = 0;
        while at < self.bytes.len() {
            self.line_start = at;
            let pos = self.blanks(at);
            at = match self.peek(pos) {
                None | Some(b'\n') => pos,
                Some(b'#') => self.comment(pos, true),
                Some(b'-') if pos == at && self.is_marker(pos) => {
                    self.document(pos)?;
                    if first && !self.docs.is_empty() {
                        return Some(self.docs);
                    }
                    self.rest(pos + 3)?
                }
                Some(b'.') if pos == at && self.bytes[at..].starts_with(b"...") => return None,
                Some(_) => self.content(pos, pos - at)?,
            } + 1;
            self.line += 1;
        }
        self.close_document(self.bytes.len())?;
        Some(self.docs)
    }

    fn peek(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Whether a blank, a line break or the end stands there.
    fn is_blank(&self, at: usize) -> bool {
        matches!(self.peek(at), None | Some(b' ' | b'\n'))
    }

    fn is_marker(&self, at: usize) -> bool {
        self.bytes[at..].starts_with(b"---") && self.is_blank(at + 3)
    }

    /// The first place from here that is no space.
    fn blanks(&self, mut at: usize) -> usize {
        while self.peek(at) == Some(b' ') {
            at += 1;
        }
        at
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n');
        length.map_or(self.bytes.len(), |length| at + length)
    }

    /// Notes a comment; answers with its line's end.
    fn comment(&mut self, start: usize, own_line: bool) -> usize {
        let end = self.line_end(start);
        self.tree.comments.push(CommentData {
            start: self.relative(start),
            end: self.relative(end),
            own_line,
        });
        end
    }

    /// What follows on a line behind something that is whole: blanks and perhaps a comment.
    fn rest(&mut self, at: usize) -> Option<usize> {
        let pos = self.blanks(at);
        match self.peek(pos) {
            None | Some(b'\n') => Some(pos),
            Some(b'#') if pos > at => Some(self.comment(pos, false)),
            Some(_) => None,
        }
    }

    fn relative(&self, at: usize) -> u32 {
        (at - self.base) as u32
    }

    /// Passes `---`: ends the document before it, if there is one.
    fn document(&mut self, at: usize) -> Option<()> {
        if self.tree.root != NONE {
            self.close_document(at)?;
        } else if self.tree.explicit {
            return None;
        }
        self.tree.explicit = true;
        self.tree.head = self.relative(at + 3);
        Some(())
    }

    fn close_document(&mut self, end: usize) -> Option<()> {
        while !self.stack.is_empty() {
            self.close()?;
        }
        if self.tree.root == NONE {
            return None;
        }
        self.tree.tail = self.relative(end);
        let tree = std::mem::replace(&mut self.tree, Tree::new());
        self.docs.push(Doc {
            range: self.base..end,
            first_line: self.base_line,
            tree: Arc::new(tree),
        });
        (self.base, self.base_line) = (end, self.line);
        Some(())
    }

    /// A line with an entry or an item that begins at `pos`; answers with the end of its last line.
    fn content(&mut self, pos: usize, indent: usize) -> Option<usize> {
        let dash = self.bytes[pos] == b'-' && self.is_blank(pos + 1);
        if self.stack.is_empty() && !dash && self.key_end(pos).is_none() {
            return self.lone(pos, indent);
        }
        self.find_place(pos, indent, dash)?;
        if !dash {
            let colon = self.key_end(pos)?;
            return self.entry(pos, colon);
        }
        let from = self.blanks(pos + 1);
        let mark = self.mark(pos);
        match self.peek(from) {
            None | Some(b'\n' | b'#') => self.later(mark, pos + 1),
            Some(_) => match self.key_end(from) {
                Some(colon) => {
                    self.open(Kind::Mapping, from, Some(mark))?;
                    self.entry(from, colon)
                }
                None => self.value(from, self.relative(mark.at)),
            },
        }
    }

    /// A document that is one scalar on one line.
    fn lone(&mut self, pos: usize, indent: usize) -> Option<usize> {
        let collection = matches!(self.bytes[pos], b'[' | b'{' | b'|');
        if self.tree.root != NONE || indent > 0 || collection {
            return None;
        }
        self.value(pos, NONE)
    }

    /// Closes what has ended before a line of this indentation and opens what begins with it.
    fn find_place(&mut self, pos: usize, indent: usize, dash: bool) -> Option<()> {
        let kind = if dash { Kind::Sequence } else { Kind::Mapping };
        loop {
            let Some(top) = self.stack.last_mut() else {
                let begins = self.tree.root == NONE && indent == 0;
                return begins.then(|| self.open(kind, pos, None))?;
            };
            if let Some(mark) = top.pending {
                let beside = dash && top.kind == Kind::Mapping && indent == top.col;
                if indent > top.col || beside {
                    top.pending = None;
                    return self.open(kind, pos, Some(mark));
                }
            } else if indent > top.col {
                return None;
            }
            if indent == top.col && top.kind == kind {
                self.nothing();
                return Some(());
            }
            if indent == top.col && top.kind == Kind::Mapping {
                return None;
            }
            self.close()?;
        }
    }

    fn mark(&self, at: usize) -> Mark {
        Mark {
            at,
            line: self.line,
            line_start: self.line_start,
        }
    }

    /// The value of an indicator does not stand on its line.
    fn later(&mut self, mark: Mark, at: usize) -> Option<usize> {
        self.stack.last_mut()?.pending = Some(mark);
        self.rest(at)
    }

    /// Where the colon of a key stands that begins here; nothing if no simple key does.
    fn key_end(&self, from: usize) -> Option<usize> {
        let bytes = &self.bytes[from..self.bytes.len().min(from + LONGEST_KEY)];
        let plain = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-' | b'$' | b'~')
        };
        let length = bytes
            .iter()
            .position(|byte| !plain(*byte))
            .filter(|length| *length > 0)?;
        let colon = from + length;
        let fits = bytes[0] != b'-' && bytes[length] == b':' && self.is_blank(colon + 1);
        fits.then_some(colon)
    }

    fn entry(&mut self, from: usize, colon: usize) -> Option<usize> {
        self.scalar(from, colon, Style::Plain, NONE, (from, colon));
        let mark = self.mark(colon);
        let pos = self.blanks(colon + 1);
        match self.peek(pos) {
            None | Some(b'\n' | b'#') => self.later(mark, colon + 1),
            Some(_) => self.value(pos, self.relative(colon)),
        }
    }

    fn scalar(
        &mut self,
        start: usize,
        end: usize,
        style: Style,
        mark: u32,
        content: (usize, usize),
    ) -> Id {
        let place = (start, self.line, start - self.line_start);
        let id = self.add(Kind::Scalar, style, place, mark, end);
        let (from, to) = (self.relative(content.0), self.relative(content.1));
        if let Some(node) = self.tree.nodes.last_mut() {
            node.value = Content::Span(from, to);
        }
        id
    }

    /// The value that never came: nothing, right behind its indicator.
    fn nothing(&mut self) {
        let Some(mark) = self.stack.last_mut().and_then(|top| top.pending.take()) else {
            return;
        };
        let at = mark.at + 1;
        let place = (at, mark.line, at - mark.line_start);
        let relative = self.relative(mark.at);
        self.add(Kind::Scalar, Style::Plain, place, relative, at);
        if let Some(node) = self.tree.nodes.last_mut() {
            node.value = Content::Owned("".into());
        }
    }

    /// Opens a block collection and makes it the innermost.
    fn open(&mut self, kind: Kind, pos: usize, mark: Option<Mark>) -> Option<()> {
        if self.stack.len() >= self.depth {
            return None;
        }
        let mark = mark.map_or(NONE, |mark| self.relative(mark.at));
        let col = pos - self.line_start;
        let id = self.add(kind, Style::Block, (pos, self.line, col), mark, pos);
        self.stack.push(Frame {
            id,
            kind,
            col,
            scratch: self.scratch.len(),
            pending: None,
        });
        Some(())
    }

    /// Closes the innermost block collection.
    fn close(&mut self) -> Option<()> {
        self.nothing();
        let frame = self.stack.pop()?;
        let last = self.scratch.last().copied();
        self.gather(frame.id, frame.scratch);
        let end = last.map_or(0, |last| self.tree.node(last).end);
        let node = self.tree.nodes.get_mut(frame.id as usize)?;
        node.end = end.max(node.content);
        Some(())
    }

    /// Makes what was added since then the children of a node.
    fn gather(&mut self, id: Id, scratch: usize) {
        let from = self.tree.children.len() as u32;
        self.tree.children.extend(self.scratch.drain(scratch..));
        let to = self.tree.children.len() as u32;
        if let Some(node) = self.tree.nodes.get_mut(id as usize) {
            node.children = from..to;
        }
    }

    /// Adds a node at a place (offset, line, column).
    fn add(
        &mut self,
        kind: Kind,
        style: Style,
        (start, line, col): (usize, usize, usize),
        mark: u32,
        end: usize,
    ) -> Id {
        let id = self.tree.nodes.len() as Id;
        let parent = self.stack.last().map_or(NONE, |top| top.id);
        if parent == NONE {
            self.tree.root = id;
        } else {
            self.scratch.push(id);
        }
        let start = self.relative(start);
        let end = self.relative(end);
        self.tree.nodes.push(NodeData {
            kind,
            style,
            start,
            content: start,
            end,
            line: (line - self.base_line) as u32,
            col: col as u32,
            parent,
            mark,
            anchor: 0..0,
            tag: None,
            value: Content::Span(0, 0),
            children: 0..0,
        });
        id
    }
}

#[cfg(test)]
mod tests;
