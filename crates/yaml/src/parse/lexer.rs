//! From text to tokens: indentation becomes block tokens, and what turns out to be a key gets a token before it.
//!
//! It is total: every text becomes tokens, of which the last may say why the text cannot be read on. Which texts that are is
//! decided as the package tools' reader decides it.

use super::cursor::Cursor;
use super::token::{LONGEST_KEY, SimpleKey, Spot, Tag, Token, TokenKind, go_line};
use super::{block, names, plain, quoted};
use crate::error::{Error, ErrorKind};
use crate::tree::Style;

/// Bytes of a text for each token, as packages have them, and the most tokens that room is made for at first.
const BYTES_A_TOKEN: usize = 4;
const MOST_AT_FIRST: usize = 1 << 14;

/// See the module.
#[derive(Debug)]
pub(super) struct Lexer<'t> {
    pub(super) cursor: Cursor<'t>,
    /// How many collections may be inside each other.
    depth: usize,
    /// Tokens of the document at hand; the parser reads them once the next document's beginning is among them.
    pub(super) tokens: Vec<Token>,
    /// Contents, tags and handles of these tokens, by their numbers.
    pub(super) contents: Vec<Box<str>>,
    pub(super) tags: Vec<Tag>,
    /// Why the text cannot be read on behind the last token.
    pub(super) refused: Option<Error>,
    /// The column of the innermost block collection; -1 outside all.
    pub(super) indent: i64,
    indents: Vec<i64>,
    /// Whether a key without `?`, or a block collection, may begin here.
    pub(super) may_begin: bool,
    /// The last place for a simple key of each level of brackets; the first is that of block style.
    pub(super) keys: Vec<Option<SimpleKey>>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, depth: usize) -> Self {
        Self {
            cursor: Cursor::new(text),
            depth,
            tokens: Vec::with_capacity((text.len() / BYTES_A_TOKEN).min(MOST_AT_FIRST)),
            contents: Vec::new(),
            tags: Vec::new(),
            refused: None,
            indent: -1,
            indents: Vec::new(),
            may_begin: true,
            keys: vec![None],
        }
    }

    /// Replaces the tokens by those up to where the next document begins or ends, or the text does.
    pub(super) fn refill(&mut self) {
        self.tokens.clear();
        self.contents.clear();
        self.tags.clear();
        self.keys.fill(None);
        loop {
            let (row, last) = (self.cursor.row, self.keys.last().copied().flatten());
            if let Err(error) = self.next() {
                self.refuse(error, row, last);
            }
            // All of these put an end to every key that may have begun: nothing is inserted before them any more.
            let last = self.tokens.last().map(|token| &token.kind);
            if let Some(
                TokenKind::End
                | TokenKind::DocumentStart
                | TokenKind::DocumentEnd
                | TokenKind::Refused,
            ) = last
            {
                return;
            }
        }
    }

    pub(super) fn in_flow(&self) -> bool {
        self.keys.len() > 1
    }

    /// A token that begins at a spot and ends at the cursor.
    pub(super) fn push(&mut self, kind: TokenKind, spot: Spot) {
        let end = self.cursor.pos as u32;
        self.tokens.push(Token { kind, spot, end });
    }

    fn keep(&mut self, tag: Tag) -> u32 {
        self.tags.push(tag);
        self.tags.len() as u32 - 1
    }

    /// Reads one token, and those that its indentation stands for.
    fn next(&mut self) -> Result<(), Error> {
        self.pass_trivia();
        self.close_blocks(self.cursor.column() as i64);
        let (at, spot) = (self.cursor.pos, self.cursor.spot());
        let Some(byte) = self.cursor.peek() else {
            self.close_blocks(-1);
            // A line in which the text ends is ended by that.
            let ended = spot.line + u32::from(spot.col > 0);
            self.no_key().map_err(|e| e.at_go_line(go_line(ended)))?;
            self.push(TokenKind::End, spot);
            return Ok(());
        };
        if at == self.cursor.row_start {
            if byte == b'%' {
                return self.directive();
            }
            for (marker, kind) in [
                (b'-', TokenKind::DocumentStart),
                (b'.', TokenKind::DocumentEnd),
            ] {
                if self.cursor.at_marker(marker) {
                    return self.marker(kind);
                }
            }
        }
        let flow = self.in_flow();
        if self.may_begin
            && !flow
            && let Some(colon) = self.plain_key()
        {
            return self.plain_entry(colon);
        }
        match byte {
            b'[' => self.open(TokenKind::FlowSequence),
            b'{' => self.open(TokenKind::FlowMapping),
            b']' => self.shut(TokenKind::FlowSequenceEnd),
            b'}' => self.shut(TokenKind::FlowMappingEnd),
            b',' => {
                self.no_key()?;
                self.indicator(TokenKind::Comma, true);
                Ok(())
            }
            b'-' if self.cursor.is_space(at + 1) => self.entry(),
            b'?' if flow || self.cursor.is_space(at + 1) => self.key(),
            b':' if flow || self.cursor.is_space(at + 1) => self.value(),
            b'*' | b'&' => {
                self.may_be_key()?;
                names::anchor(&mut self.cursor)?;
                let kind = if byte == b'*' {
                    TokenKind::Alias
                } else {
                    TokenKind::Anchor
                };
                self.push(kind, spot);
                Ok(())
            }
            b'!' => {
                self.may_be_key()?;
                let tag = names::tag(&mut self.cursor)?;
                let number = self.keep(tag);
                self.push(TokenKind::Tag(number), spot);
                Ok(())
            }
            b'|' | b'>' if !flow => self.block(),
            b'\'' | b'"' => self.quoted(),
            b'|' | b'>' | b'%' | b'@' | b'`' | b'\t' => Err(self.cannot_begin()),
            _ => self.plain(),
        }
    }

    /// Where the colon stands that ends a plain key of harmless characters which begins here. Most keys are such: what the general
    /// way finds out behind them is known here at once.
    fn plain_key(&self) -> Option<usize> {
        let rest = &self.cursor.bytes[self.cursor.pos..];
        let harmless =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
        let length = rest
            .iter()
            .take(LONGEST_KEY)
            .take_while(|byte| harmless(byte))
            .count();
        let colon = self.cursor.pos + length;
        let is_key = length > 0
            && rest.get(length) == Some(&b':')
            && self.cursor.is_space(colon + 1)
            // A dash alone begins an item.
            && rest[0] != b'-';
        is_key.then_some(colon)
    }

    /// Passes a plain key and its colon.
    fn plain_entry(&mut self, colon: usize) -> Result<(), Error> {
        self.no_key()?;
        let spot = self.cursor.spot();
        let mapping = begun(TokenKind::BlockMapping, spot);
        self.begin_block(self.cursor.column(), mapping, self.tokens.len())?;
        self.may_begin = false;
        self.cursor.pos = colon + 1;
        self.push(TokenKind::PlainKey, spot);
        Ok(())
    }

    fn cannot_begin(&self) -> Error {
        let at = self.cursor.pos;
        let words = "found character that cannot start any token";
        if self.cursor.peek() == Some(b'\t') {
            let message = "found a tab character where spaces are expected";
            return self.cursor.error(at, message).in_go(words);
        }
        self.cursor.error(at, words)
    }

    /// Passes blanks, comments and line breaks. Tabs may not stand where a key or a block collection may begin.
    fn pass_trivia(&mut self) {
        loop {
            match self.cursor.peek() {
                Some(b' ') => self.cursor.pos += 1,
                Some(b'\t') if self.in_flow() || !self.may_begin || self.comment_follows() => {
                    self.cursor.pass_blanks();
                }
                Some(b'#') => self.comment(),
                Some(b'\n' | b'\r' | 0xC2 | 0xE2) if self.cursor.pass_break().is_some() => {
                    self.may_begin |= !self.in_flow();
                }
                _ => return,
            }
        }
    }

    /// Whether a comment on this row belongs to the token before it. None belongs to the dash of an item.
    fn has_comment(&self) -> bool {
        let last = self.tokens.last().map(|token| &token.kind);
        !matches!(last, None | Some(TokenKind::Entry)) && !self.cursor.begins_row()
    }

    /// Whether the blanks here stand before such a comment, of which the first may be a tab anywhere.
    fn comment_follows(&self) -> bool {
        let rest = &self.cursor.bytes[self.cursor.pos..];
        let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        next == Some(&b'#') && self.has_comment()
    }

    /// Passes a comment. That of a token stands for itself; with others, those on the next lines are passed.
    fn comment(&mut self) {
        if self.has_comment() {
            self.cursor.pass_comment();
        } else {
            self.cursor.pass_comments();
        }
    }

    /// Ends the block collections that are indented deeper than a column.
    fn close_blocks(&mut self, column: i64) {
        if self.in_flow() {
            return;
        }
        while self.indent > column {
            self.push(TokenKind::BlockEnd, self.cursor.spot());
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Begins a block collection where a column is indented deeper than the one around it.
    fn begin_block(&mut self, column: usize, token: Token, at: usize) -> Result<(), Error> {
        let column = column as i64;
        if !self.in_flow() && self.indent < column {
            if self.indents.len() >= self.depth {
                return Err(self.too_deep());
            }
            self.indents.push(self.indent);
            self.indent = column;
            self.tokens.insert(at, token);
        }
        Ok(())
    }

    fn begin_block_here(&mut self, kind: TokenKind) -> Result<(), Error> {
        let token = begun(kind, self.cursor.spot());
        self.begin_block(self.cursor.column(), token, self.tokens.len())
    }

    fn too_deep(&self) -> Error {
        let message = format!("collections are nested deeper than {}", self.depth);
        Error::at(ErrorKind::Limit, self.cursor.text, self.cursor.pos, message)
    }

    fn directive(&mut self) -> Result<(), Error> {
        self.close_blocks(-1);
        self.no_key()?;
        self.may_begin = false;
        let spot = self.cursor.spot();
        let kind = match names::directive(&mut self.cursor)? {
            None => TokenKind::Version,
            Some(tag) => TokenKind::TagDirective(self.keep(tag)),
        };
        self.push(kind, spot);
        Ok(())
    }

    /// Passes a document's marker. An end is passed with its line: its comment belongs to the document that ends.
    fn marker(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.close_blocks(-1);
        self.no_key()?;
        self.may_begin = false;
        let spot = self.cursor.spot();
        self.cursor.pos += 3;
        if matches!(kind, TokenKind::DocumentEnd) {
            self.cursor.pass_blanks();
            if self.cursor.peek() == Some(b'#') {
                self.cursor.pass_comment();
            }
            self.may_begin = self.cursor.pass_break().is_some();
        }
        self.push(kind, spot);
        Ok(())
    }

    /// Passes one character that has a meaning of its own.
    fn indicator(&mut self, kind: TokenKind, may_begin: bool) {
        self.may_begin = may_begin;
        let spot = self.cursor.spot();
        self.cursor.pos += 1;
        self.push(kind, spot);
    }

    fn open(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.may_be_key()?;
        if self.keys.len() > self.depth {
            return Err(self.too_deep());
        }
        self.keys.push(None);
        self.indicator(kind, true);
        Ok(())
    }

    fn shut(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.no_key()?;
        if self.in_flow() {
            self.keys.pop();
        }
        self.indicator(kind, false);
        Ok(())
    }

    fn entry(&mut self) -> Result<(), Error> {
        if !self.in_flow() {
            if !self.may_begin {
                let message = "block sequence entries are not allowed in this context";
                return Err(self.cursor.error(self.cursor.pos, message));
            }
            self.begin_block_here(TokenKind::BlockSequence)?;
        }
        self.no_key()?;
        self.indicator(TokenKind::Entry, true);
        Ok(())
    }

    fn key(&mut self) -> Result<(), Error> {
        if !self.in_flow() {
            if !self.may_begin {
                let message = "mapping keys are not allowed in this context";
                return Err(self.cursor.error(self.cursor.pos, message));
            }
            self.begin_block_here(TokenKind::BlockMapping)?;
        }
        self.no_key()?;
        self.indicator(TokenKind::Key, !self.in_flow());
        Ok(())
    }

    fn value(&mut self) -> Result<(), Error> {
        let Some(key) = self.take_key()? else {
            if !self.in_flow() {
                if !self.may_begin {
                    let message = "mapping values are not allowed in this context";
                    return Err(self.cursor.error(self.cursor.pos, message));
                }
                self.begin_block_here(TokenKind::BlockMapping)?;
            }
            self.indicator(TokenKind::Value, !self.in_flow());
            return Ok(());
        };
        self.tokens
            .insert(key.token, begun(TokenKind::Key, key.spot));
        let mapping = begun(TokenKind::BlockMapping, key.spot);
        self.begin_block(key.column, mapping, key.token)?;
        self.indicator(TokenKind::Value, false);
        Ok(())
    }

    fn block(&mut self) -> Result<(), Error> {
        self.no_key()?;
        self.may_begin = true;
        let spot = self.cursor.spot();
        let style = match self.cursor.peek() {
            Some(b'|') => Style::Literal,
            _ => Style::Folded,
        };
        let (content, end) = block::read(&mut self.cursor, self.indent)?;
        self.scalar(spot, end, style, Some(content.into()));
        Ok(())
    }

    fn quoted(&mut self) -> Result<(), Error> {
        self.may_be_key()?;
        let spot = self.cursor.spot();
        let style = match self.cursor.peek() {
            Some(b'"') => Style::DoubleQuoted,
            _ => Style::SingleQuoted,
        };
        let changed = quoted::read(&mut self.cursor)?;
        self.scalar(spot, self.cursor.pos, style, changed);
        Ok(())
    }

    fn plain(&mut self) -> Result<(), Error> {
        self.may_be_key()?;
        let spot = self.cursor.spot();
        let (indent, flow) = ((self.indent + 1) as usize, self.in_flow());
        let plain = plain::read(&mut self.cursor, indent, flow)?;
        self.may_begin |= plain.broken;
        self.scalar(spot, plain.end, Style::Plain, plain.joined);
        Ok(())
    }

    fn scalar(&mut self, spot: Spot, end: usize, style: Style, content: Option<Box<str>>) {
        let number = content.map(|content| {
            self.contents.push(content);
            self.contents.len() as u32 - 1
        });
        self.tokens.push(Token {
            kind: TokenKind::Scalar(style, number),
            spot,
            end: end as u32,
        });
    }
}

/// A token without a text: something begins there.
fn begun(kind: TokenKind, spot: Spot) -> Token {
    let end = spot.at;
    Token { kind, spot, end }
}
