//! What stands on one line behind an indicator: scalars and closed brackets; and literal block scalars.

use super::Short;
use crate::tree::{Content, Kind, NONE, Style};

/// Brackets inside each other that are read here.
const DEEPEST_FLOW: usize = 8;

impl Short<'_> {
    /// A scalar, or a collection in brackets, behind its indicator on the same line.
    pub(super) fn value(&mut self, pos: usize, at: u32) -> Option<usize> {
        let end = match self.bytes[pos] {
            b'|' => return self.literal(pos, at),
            b'[' | b'{' => self.flow(pos, at, 0)?,
            b'"' | b'\'' => self.quoted(pos, at)?,
            _ => self.plain(pos, at)?,
        };
        self.rest(end)
    }

    fn plain(&mut self, pos: usize, mark: u32) -> Option<usize> {
        if !self.begins_plain(pos) {
            return None;
        }
        let mut end = pos;
        let mut at = pos;
        loop {
            match self.peek(at) {
                None | Some(b'\n') => break,
                Some(b'#') if self.bytes[at - 1] == b' ' => break,
                Some(b':') if self.is_blank(at + 1) => return None,
                Some(b' ') => at += 1,
                Some(_) => {
                    at += 1;
                    end = at;
                }
            }
        }
        self.scalar(pos, end, Style::Plain, mark, (pos, end));
        Some(end)
    }

    /// Whether a plain scalar may begin with what stands there.
    fn begins_plain(&self, at: usize) -> bool {
        match self.bytes[at] {
            b'-' => !self.is_blank(at + 1) && !self.bytes[at..].starts_with(b"---"),
            b'?' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|'
            | b'>' | b'\'' | b'"' | b'%' | b'@' | b'`' => false,
            _ => true,
        }
    }

    /// A quoted scalar that ends on its line, with the common escapes.
    fn quoted(&mut self, pos: usize, mark: u32) -> Option<usize> {
        let quote = self.bytes[pos];
        let double = quote == b'"';
        let mut escaped = false;
        let mut end = pos + 1;
        loop {
            match self.peek(end)? {
                b'\n' => return None,
                b'\\' if double => {
                    escaped = true;
                    end += 2;
                }
                byte if byte == quote && !double && self.peek(end + 1) == Some(quote) => {
                    escaped = true;
                    end += 2;
                }
                byte if byte == quote => break,
                _ => end += 1,
            }
        }
        let (style, owned) = match (double, escaped) {
            (true, true) => (
                Style::DoubleQuoted,
                Some(unescaped(&self.text[pos + 1..end])?),
            ),
            (true, false) => (Style::DoubleQuoted, None),
            (false, true) => (
                Style::SingleQuoted,
                Some(self.text[pos + 1..end].replace("''", "'")),
            ),
            (false, false) => (Style::SingleQuoted, None),
        };
        self.scalar(pos, end + 1, style, mark, (pos + 1, end));
        if let Some(owned) = owned {
            self.tree.nodes.last_mut()?.value = Content::Owned(owned.into());
        }
        Some(end + 1)
    }

    /// A literal block scalar: `|` or `|-`; its lines' common indentation is that of the first.
    fn literal(&mut self, pos: usize, mark: u32) -> Option<usize> {
        let strip = self.peek(pos + 1) == Some(b'-');
        let header = pos + 1 + usize::from(strip);
        let (line, line_start) = (self.line, self.line_start);
        let mut next = self.rest(header)? + 1;
        let parent = self.stack.last()?.col;
        let indent = self.blanks(next).checked_sub(next)?;
        if indent <= parent || matches!(self.peek(next + indent), None | Some(b'\n')) {
            return None;
        }
        let (mut value, mut end, mut blank) = (String::new(), header, 0);
        let mut lines = 0;
        while next < self.bytes.len() {
            let text = self.blanks(next);
            let width = text - next;
            let stop = self.line_end(text);
            if text == stop {
                // Blanks beyond the indentation are content: left to the long way.
                if width > indent {
                    return None;
                }
                blank += 1;
            } else if width >= indent {
                value.extend(std::iter::repeat_n('\n', blank));
                value.push_str(&self.text[next + indent..stop]);
                value.push('\n');
                (end, lines) = (stop, lines + blank + 1);
                blank = 0;
            } else if width > parent {
                return None;
            } else {
                break;
            }
            next = stop + 1;
        }
        if end == self.bytes.len() {
            return None;
        }
        if strip {
            value.pop();
        }
        self.add(
            Kind::Scalar,
            Style::Literal,
            (pos, line, pos - line_start),
            mark,
            end,
        );
        self.tree.nodes.last_mut()?.value = Content::Owned(value.into());
        self.line += lines;
        self.line_start = end;
        Some(end)
    }

    /// Brackets that close on their line.
    fn flow(&mut self, pos: usize, mark: u32, depth: usize) -> Option<usize> {
        if depth > DEEPEST_FLOW || self.stack.len() + depth >= self.depth {
            return None;
        }
        let (kind, close) = match self.bytes[pos] {
            b'[' => (Kind::Sequence, b']'),
            _ => (Kind::Mapping, b'}'),
        };
        let col = pos - self.line_start;
        let id = self.add(kind, Style::Flow, (pos, self.line, col), mark, pos);
        let scratch = self.scratch.len();
        let mut at = self.blanks(pos + 1);
        if self.peek(at) != Some(close) {
            loop {
                let mut mark = NONE;
                if kind == Kind::Mapping {
                    let colon = self.key_end(at)?;
                    let key = self.scalar(at, colon, Style::Plain, NONE, (at, colon));
                    self.tree.nodes.get_mut(key as usize)?.parent = id;
                    mark = self.relative(colon);
                    at = self.blanks(colon + 1);
                }
                let next = self.tree.nodes.len();
                let end = match self.peek(at)? {
                    b'[' | b'{' => self.flow(at, mark, depth + 1)?,
                    b'"' | b'\'' => self.quoted(at, mark)?,
                    _ => self.flow_plain(at, mark)?,
                };
                self.tree.nodes.get_mut(next)?.parent = id;
                at = self.blanks(end);
                match self.peek(at)? {
                    b',' => at = self.blanks(at + 1),
                    byte if byte == close => break,
                    _ => return None,
                }
            }
        }
        self.gather(id, scratch);
        let end = self.relative(at + 1);
        self.tree.nodes.get_mut(id as usize)?.end = end;
        Some(at + 1)
    }

    /// A plain scalar of a few harmless characters inside brackets.
    fn flow_plain(&mut self, pos: usize, mark: u32) -> Option<usize> {
        let plain = |byte: &u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'.' | b'/' | b'=' | b'-' | b'$' | b'+')
        };
        let length = self.bytes[pos..].iter().position(|byte| !plain(byte))?;
        let dash = self.bytes[pos] == b'-' && matches!(self.bytes[pos + 1], b',' | b']' | b'}');
        if length == 0 || dash || !self.begins_plain(pos) {
            return None;
        }
        let end = pos + length;
        self.scalar(pos, end, Style::Plain, mark, (pos, end));
        matches!(self.bytes[end], b' ' | b',' | b']' | b'}').then_some(end)
    }
}

/// The content of a quoted scalar; nothing where it holds an escape that is not read here.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        out.push(match after.bytes().next()? {
            b'"' => '"',
            b'\\' => '\\',
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            _ => return None,
        });
        rest = &after[1..];
    }
    out.push_str(rest);
    Some(out)
}
