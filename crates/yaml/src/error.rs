//! What can go wrong while reading, deciding about, or editing a YAML text.
//!
//! Every error knows its place (line, column, byte offset) and shows the line it speaks of. It never carries
//! a whole document, and it never repeats its source: there is none.

use std::fmt;

/// The longest part of a source line that a snippet shows, in characters.
const SNIPPET_CHARS: usize = 80;

/// What an [`Error`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not text in an encoding that YAML allows.
    Encoding,
    /// The text is not well-formed YAML as the field's tools read it.
    Syntax,
    /// A bound of [`crate::Limits`] was exceeded.
    Limit,
    /// A mapping holds a key twice where a value must be decided (Y3).
    DuplicateKey,
    /// A node has no value in the wanted form: a tag that does not fit, a key that JSON cannot have, `.inf`.
    Value,
    /// An edit's path does not lead to what the edit needs.
    Path,
    /// An edit could not be written so that the result reads back as wanted; nothing was changed.
    Unwritable,
}

/// A place in a text and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    line: usize,
    column: usize,
    offset: usize,
    snippet: Box<str>,
    /// How Go's library says it, where it reads the same mistake. Few ask, and an error is handed up many times.
    go: Option<Box<Go>>,
}

/// What Go's library says of a mistake: the line that it names, if it names one, and its words where they are not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Go {
    line: Option<u32>,
    words: Option<&'static str>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl Error {
    /// Describes a problem at a byte offset of `text`.
    pub(crate) fn at(
        kind: ErrorKind,
        text: &str,
        offset: usize,
        message: impl Into<String>,
    ) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let column = text[start..offset].chars().count() + 1;
        let line = 1 + line_breaks(before);
        Self {
            kind,
            message: message.into(),
            line,
            column,
            offset,
            snippet: snippet(text, start, column).into(),
            go: None,
        }
    }

    /// Describes bytes that are no text; there is no line to show.
    pub(crate) fn encoding(offset: usize, line: usize, message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Encoding,
            message: message.into(),
            line,
            column: 1,
            offset,
            snippet: Box::default(),
            go: None,
        }
    }

    /// Says which words Go's library has for this.
    pub(crate) fn in_go(mut self, words: &'static str) -> Self {
        self.go.get_or_insert_default().words = Some(words);
        self
    }

    /// Says which line Go's library names, 0 for none, unless that is said already.
    pub(crate) fn at_go_line(mut self, line: u32) -> Self {
        self.go.get_or_insert_default().line.get_or_insert(line);
        self
    }

    /// Names what was attempted when the error arose.
    pub(crate) fn within(mut self, attempt: &str) -> Self {
        self.message = format!("cannot {attempt}: {}", self.message);
        self
    }

    /// Says what the error is about.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The sentence without its place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The mistake as Go's library (the one that kube-apiserver reads with) tells it, `yaml: ` before it.
    #[must_use]
    pub fn as_go_says(&self) -> String {
        let go = self.go.as_deref().copied().unwrap_or(Go {
            line: Some(self.line as u32),
            words: None,
        });
        let words = go.words.unwrap_or(&self.message);
        match go.line {
            None | Some(0) => format!("yaml: {words}"),
            Some(line) => format!("yaml: line {line}: {words}"),
        }
    }

    /// The line, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column in characters, counted from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// The byte offset in the whole text.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The line of the text and, under it, a caret; empty when there is no text to show.
    #[must_use]
    pub fn snippet(&self) -> &str {
        &self.snippet
    }
}

/// Counts line breaks: LF, CRLF, and CR alone.
pub(crate) fn line_breaks(text: &str) -> usize {
    let bytes = text.as_bytes();
    bytes
        .iter()
        .enumerate()
        .filter(|(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        })
        .count()
}

/// Shows a window of the line around the column, and a caret under it.
fn snippet(text: &str, line_start: usize, column: usize) -> String {
    let line = text[line_start..]
        .split(['\n', '\r'])
        .next()
        .unwrap_or_default();
    let skip = (column - 1).saturating_sub(SNIPPET_CHARS * 3 / 4);
    let shown: String = line
        .chars()
        .skip(skip)
        .take(SNIPPET_CHARS)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    format!("{shown}\n{}^", " ".repeat(column - 1 - skip))
}
