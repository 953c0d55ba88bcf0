//! A place in a text, and walking it forward: line breaks, blanks, comments.
//!
//! Five characters end a line, as the field's readers have it: LF, CR (with an LF behind it: one), and the old separators NEL, LS
//! and PS. Only the first two make a line of the text that people count; the old ones make rows, which is what indentation goes by.

use super::token::Spot;
use crate::error::{Error, ErrorKind};
use crate::tree::CommentData;

/// Characters that are looked ahead behind a comment for the next one.
const COMMENTS_APART: usize = 512;

/// See the module. It never stands behind the end of the text, nor inside a character.
#[derive(Debug)]
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) pos: usize,
    /// The row of `pos` and where it begins.
    pub(super) row: u32,
    pub(super) row_start: usize,
    /// The line of `pos` and where it begins.
    pub(super) line: u32,
    pub(super) line_start: usize,
    /// Comments passed and not taken yet; offsets of the text.
    comments: Vec<CommentData>,
    /// Whether an old separator outside quotes was passed since the last call of [`Cursor::take_old_breaks`].
    old_breaks: bool,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self {
            text,
            bytes: text.as_bytes(),
            pos: start,
            row: 0,
            row_start: start,
            line: 0,
            line_start: start,
            comments: Vec::new(),
            old_breaks: false,
        }
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> Error {
        Error::at(ErrorKind::Syntax, self.text, at, message)
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.byte(self.pos)
    }

    /// Bytes since the row began.
    pub(super) fn column(&self) -> usize {
        self.pos - self.row_start
    }

    pub(super) fn is_blank(&self, at: usize) -> bool {
        matches!(self.byte(at), Some(b' ' | b'\t'))
    }

    /// How many bytes the line break there has; 0 where there is none.
    pub(super) fn break_length(&self, at: usize) -> usize {
        match self.byte(at) {
            Some(b'\n') => 1,
            Some(b'\r') => 1 + usize::from(self.byte(at + 1) == Some(b'\n')),
            Some(0xC2) if self.byte(at + 1) == Some(0x85) => 2,
            Some(0xE2) if matches!(self.bytes.get(at + 1..at + 3), Some([0x80, 0xA8 | 0xA9])) => 3,
            _ => 0,
        }
    }

    pub(super) fn is_break(&self, at: usize) -> bool {
        self.break_length(at) > 0
    }

    pub(super) fn is_break_or_end(&self, at: usize) -> bool {
        at >= self.bytes.len() || self.is_break(at)
    }

    /// Whether a blank, a line break or the end stands there.
    pub(super) fn is_space(&self, at: usize) -> bool {
        match self.byte(at) {
            None | Some(b' ' | b'\n' | b'\t' | b'\r') => true,
            Some(0xC2 | 0xE2) => self.is_break(at),
            Some(_) => false,
        }
    }

    /// Where the cursor stands.
    pub(super) fn spot(&self) -> Spot {
        Spot {
            at: self.pos as u32,
            line: self.line,
            col: (self.pos - self.line_start) as u32,
        }
    }

    /// Passes one character.
    pub(super) fn step(&mut self) {
        self.pos += self.width(self.pos);
    }

    /// How many bytes the character there has.
    pub(super) fn width(&self, at: usize) -> usize {
        match self.byte(at) {
            None => 0,
            Some(..0x80) => 1,
            Some(..0xE0) => 2,
            Some(..0xF0) => 3,
            Some(_) => 4,
        }
    }

    /// Passes one line break outside quotes, if one is there; answers with what it stands for: LF, or an LS or PS itself.
    pub(super) fn pass_break(&mut self) -> Option<char> {
        if self.peek() == Some(b'\n') {
            self.next_row(1);
            self.next_line();
            return Some('\n');
        }
        let old = !matches!(self.peek(), Some(b'\n' | b'\r'));
        let passed = self.pass_quoted_break();
        self.old_breaks |= old && passed.is_some();
        passed
    }

    /// As [`Cursor::pass_break`], inside quotes.
    pub(super) fn pass_quoted_break(&mut self) -> Option<char> {
        let length = self.break_length(self.pos);
        if length == 0 {
            return None;
        }
        let stands_for = match (length, self.byte(self.pos + 2)) {
            (3, Some(0xA8)) => '\u{2028}',
            (3, _) => '\u{2029}',
            _ => '\n',
        };
        let old = !matches!(self.peek(), Some(b'\n' | b'\r'));
        self.next_row(length);
        if !old {
            self.next_line();
        }
        Some(stands_for)
    }

    fn next_row(&mut self, break_length: usize) {
        self.pos += break_length;
        self.row += 1;
        self.row_start = self.pos;
    }

    fn next_line(&mut self) {
        self.line += 1;
        self.line_start = self.pos;
    }

    /// Passes spaces and tabs.
    pub(super) fn pass_blanks(&mut self) {
        while self.is_blank(self.pos) {
            self.pos += 1;
        }
    }

    /// Whether `---` or `...` (three times that byte) stands at the beginning of a row, with nothing else in that word.
    pub(super) fn at_marker(&self, byte: u8) -> bool {
        self.pos == self.row_start
            && self.peek() == Some(byte)
            && self.bytes[self.pos..].starts_with(&[byte; 3])
            && self.is_space(self.pos + 3)
    }

    /// Whether nothing but blanks stands before the cursor on its row.
    pub(super) fn begins_row(&self) -> bool {
        let before = &self.bytes[self.row_start..self.pos];
        before.iter().all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// Passes one comment, up to its line's break, and remembers it.
    pub(super) fn pass_comment(&mut self) {
        let (start, own_line) = (self.pos, self.begins_row());
        self.pos = self.row_end(start);
        self.comments.push(CommentData {
            start: start as u32,
            end: self.pos as u32,
            own_line,
        });
    }

    /// Passes a comment and those on the next lines: between comments, tabs may indent.
    pub(super) fn pass_comments(&mut self) {
        loop {
            self.pass_comment();
            let Some(next) = self.next_comment() else {
                return;
            };
            while self.pos < next {
                if self.pass_break().is_none() {
                    self.pos += 1;
                }
            }
        }
    }

    /// Where the next comment begins if nothing but blanks and line breaks stand before it, not too many of them.
    fn next_comment(&self) -> Option<usize> {
        let mut at = self.pos;
        for _ in 0..COMMENTS_APART {
            match self.byte(at)? {
                b'#' => return Some(at),
                b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                _ => return None,
            }
        }
        None
    }

    fn row_end(&self, mut at: usize) -> usize {
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let candidate = |byte: &u8| matches!(byte, b'\n' | b'\r' | 0xC2 | 0xE2);
            match rest.iter().position(candidate) {
                None => return self.bytes.len(),
                Some(length) if self.is_break(at + length) => return at + length,
                Some(length) => at += length + 1,
            }
        }
    }

    /// The comments that begin before `end`.
    pub(super) fn take_comments(&mut self, end: usize) -> Vec<CommentData> {
        let count = self.comments.partition_point(|c| (c.start as usize) < end);
        let rest = self.comments.split_off(count);
        std::mem::replace(&mut self.comments, rest)
    }

    pub(super) fn take_old_breaks(&mut self) -> bool {
        std::mem::take(&mut self.old_breaks)
    }
}
