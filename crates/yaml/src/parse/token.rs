//! What the lexer hands to the parser.

use crate::tree::Style;

/// What a token is. What some of them need beside it is kept by the lexer, under a number.
#[derive(Debug, Clone, Copy)]
pub(super) enum TokenKind {
    /// The text ends here.
    End,
    /// `%YAML 1.1`
    Version,
    /// `%TAG handle prefix`
    TagDirective(u32),
    DocumentStart,
    DocumentEnd,
    /// A block collection begins here, by its indentation.
    BlockSequence,
    BlockMapping,
    BlockEnd,
    FlowSequence,
    FlowSequenceEnd,
    FlowMapping,
    FlowMappingEnd,
    /// `-`
    Entry,
    /// `,`
    Comma,
    /// `?`, or where a simple key begins: then it has no text.
    Key,
    /// A plain key of one word, up to its colon, which is passed, too.
    PlainKey,
    /// `:`
    Value,
    Alias,
    Anchor,
    Tag(u32),
    /// A scalar; the number of its content if that is not what stands there (between the quotes).
    Scalar(Style, Option<u32>),
    /// The text cannot be read on from here.
    Refused,
}

/// A tag's handle and suffix, or a handle's prefix; escapes decoded.
#[derive(Debug)]
pub(super) struct Tag {
    pub(super) handle: Box<str>,
    pub(super) rest: Box<str>,
}

/// Where a token begins: its offset, its line and its column there in bytes, lines as people count them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spot {
    pub(super) at: u32,
    pub(super) line: u32,
    pub(super) col: u32,
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) spot: Spot,
    pub(super) end: u32,
}

/// How far the colon may stand from the beginning of a key without `?`, in characters.
pub(super) const LONGEST_KEY: usize = 1_024;

/// A place where a key without `?` may have begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimpleKey {
    /// Whether nothing but a key may stand there.
    pub(super) required: bool,
    /// The token that it begins with.
    pub(super) token: usize,
    pub(super) row: u32,
    pub(super) column: usize,
    pub(super) spot: Spot,
}

/// How Go's library tells a line that is counted from 0: it names none where that is the first.
pub(super) fn go_line(line: u32) -> u32 {
    if line > 0 { line + 1 } else { 0 }
}
