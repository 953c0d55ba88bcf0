//! Walking a text forward over what is no data: blanks, line breaks, comments.

use crate::tree::CommentData;

/// A position in a text, and the comments passed on the way.
#[derive(Debug)]
pub(super) struct Cursor<'t> {
    text: &'t [u8],
    /// The text before any rewording: comments are looked for here.
    original: &'t [u8],
    pub(super) pos: usize,
    /// Comments since the last [`Cursor::take_comments`], with absolute offsets.
    comments: Vec<CommentData>,
    /// The end of the last comment seen: walking back and forth reports it once.
    seen: usize,
    /// The line that `counted` lies on, and where it begins.
    line: usize,
    line_start: usize,
    counted: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(original: &'t str, text: &'t str) -> Self {
        Self {
            text: text.as_bytes(),
            original: original.as_bytes(),
            pos: 0,
            comments: Vec::new(),
            seen: 0,
            line: 0,
            line_start: 0,
            counted: 0,
        }
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.byte(self.pos)
    }

    pub(super) fn starts_with(&self, what: &[u8]) -> bool {
        self.text
            .get(self.pos..)
            .is_some_and(|rest| rest.starts_with(what))
    }

    /// Whether a blank, a line break or the end stands at `at`.
    pub(super) fn blank_at(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// Passes spaces and tabs.
    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.pos += 1;
        }
    }

    /// Passes everything up to the end of the line, the line break excluded.
    pub(super) fn rest_of_line(&mut self) {
        self.pos = self.line_end(self.pos);
    }

    /// Passes one line break.
    pub(super) fn line_break(&mut self) {
        if self.starts_with(b"\r\n") {
            self.pos += 2;
        } else if matches!(self.peek(), Some(b'\n' | b'\r')) {
            self.pos += 1;
        }
    }

    /// Passes blanks, line breaks, comments and byte order marks.
    pub(super) fn trivia(&mut self) {
        loop {
            match self.peek() {
                Some(b'#') => self.comment(),
                // A comment that touches what it follows is reworded to blanks.
                Some(b' ') if self.original.get(self.pos) == Some(&b'#') => self.comment(),
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.pos += 1,
                Some(0xEF) if self.starts_with(b"\xEF\xBB\xBF") => self.pos += 3,
                _ => return,
            }
        }
    }

    /// Passes one comment and remembers it.
    pub(super) fn comment(&mut self) {
        let start = self.pos;
        self.rest_of_line();
        if self.pos <= self.seen {
            return;
        }
        self.seen = self.pos;
        let own_line = self.text[..start]
            .iter()
            .rev()
            .find(|byte| !matches!(byte, b' ' | b'\t'))
            .is_none_or(|byte| matches!(byte, b'\n' | b'\r' | 0xBF));
        self.comments.push(CommentData {
            start: start as u32,
            end: self.pos as u32,
            own_line,
        });
    }

    pub(super) fn take_comments(&mut self) -> Vec<CommentData> {
        std::mem::take(&mut self.comments)
    }

    pub(super) fn line_end(&self, at: usize) -> usize {
        self.text[at..]
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
            .map_or(self.text.len(), |length| at + length)
    }

    /// Line and column (in bytes, after a byte order mark) of a place; cheap when places come in order.
    pub(super) fn place(&mut self, at: usize) -> (usize, usize) {
        if at < self.counted {
            if at >= self.line_start {
                return (self.line, at - self.line_start);
            }
            (self.line, self.line_start, self.counted) = (0, 0, 0);
        }
        let mut here = self.counted;
        while here < at {
            match self.text[here] {
                b'\r' if self.byte(here + 1) == Some(b'\n') => {}
                b'\n' | b'\r' => {
                    self.line += 1;
                    self.line_start = here + 1;
                }
                0xEF if here == self.line_start
                    && self.text[here..].starts_with(b"\xEF\xBB\xBF") =>
                {
                    self.line_start = here + 3;
                }
                _ => {}
            }
            here += 1;
        }
        self.counted = at;
        (self.line, at.saturating_sub(self.line_start))
    }
}
