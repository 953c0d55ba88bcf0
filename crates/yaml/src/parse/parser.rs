//! From tokens to trees: what each collection expects next. Nodes are made beside this, in `nodes`, and documents in `documents`.

use std::collections::{BTreeMap, BTreeSet};

use super::Doc;
use super::lexer::Lexer;
use super::token::{Spot, Token, TokenKind};
use crate::error::{Error, ErrorKind};
use crate::tree::{Id, NONE, Style, Tree};

/// Bytes of a text for each node, as packages have them, and the most nodes that room is made for at first.
const BYTES_A_NODE: usize = 10;
const MOST_AT_FIRST: usize = 1 << 13;
const FRAMES_AT_FIRST: usize = 16;

/// What an open collection expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expects {
    /// An item of a block sequence, or its end.
    Item,
    /// The same of a block sequence that is indented no deeper than its key.
    ItemBeside,
    /// A key of a block mapping, or its end.
    Key,
    /// The value of that key.
    Value,
    /// An item in brackets; whether it is the first.
    FlowItem(bool),
    /// The key of a `key: value` pair that is an item in brackets.
    PairKey,
    PairValue,
    PairEnd,
    /// A key in braces; whether it is the first.
    FlowKey(bool),
    FlowValue,
    /// The value of a key in braces that has no colon.
    NoValue,
}

/// An open collection.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) id: Id,
    pub(super) expects: Expects,
    /// Where its children begin in the scratch list.
    pub(super) scratch: usize,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) depth: usize,
    pub(super) lexer: Lexer<'t>,
    /// The token that comes next.
    at: usize,
    pub(super) tree: Tree,
    /// Where the document begins, and the line of it.
    pub(super) base: usize,
    pub(super) base_line: u32,
    pub(super) stack: Vec<Frame>,
    pub(super) scratch: Vec<Id>,
    pub(super) anchors: BTreeMap<&'t str, Id>,
    /// Anchors of documents before this one.
    pub(super) outer: BTreeSet<&'t str>,
    /// Prefixes of the document's own tag handles.
    pub(super) tags: BTreeMap<Box<str>, Box<str>>,
    /// The last token that has a text: where it begins and ends.
    last: (Spot, u32),
    pub(super) docs: Vec<Doc>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, depth: usize, outer: &[&'t str]) -> Self {
        let nodes = (text.len() / BYTES_A_NODE).min(MOST_AT_FIRST);
        Self {
            text,
            depth,
            lexer: Lexer::new(text, depth),
            at: 0,
            tree: Tree {
                nodes: Vec::with_capacity(nodes),
                children: Vec::with_capacity(nodes),
                ..Tree::new()
            },
            base: 0,
            base_line: 0,
            stack: Vec::with_capacity(FRAMES_AT_FIRST),
            scratch: Vec::with_capacity(FRAMES_AT_FIRST),
            anchors: BTreeMap::new(),
            outer: outer.iter().copied().collect(),
            tags: BTreeMap::new(),
            last: (Spot::default(), 0),
            docs: Vec::new(),
        }
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> Error {
        Error::at(ErrorKind::Syntax, self.text, at, message)
    }

    /// The next token.
    pub(super) fn peek(&mut self) -> Token {
        if self.at >= self.lexer.tokens.len() {
            self.lexer.refill();
            self.at = 0;
        }
        self.lexer.tokens[self.at]
    }

    /// Passes the next token.
    pub(super) fn take(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        if token.end > token.spot.at {
            self.last = (token.spot, token.end);
        }
        token
    }

    /// A scalar's content, taken from the lexer by its number.
    pub(super) fn content_of(&mut self, number: u32) -> Box<str> {
        let content = self.lexer.contents.get_mut(number as usize);
        content.map(std::mem::take).unwrap_or_default()
    }

    /// Behind the last token that has a text. Lines that it spans are passed here: few ask.
    pub(super) fn behind(&self) -> Spot {
        let (mut spot, end) = self.last;
        let bytes = self.text.as_bytes();
        let (mut at, mut start) = (spot.at as usize, None);
        while at < end as usize {
            if bytes[at] == b'\n' || bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
                spot.line += 1;
                start = Some(at + 1);
            }
            at += 1;
        }
        spot.col = match start {
            Some(start) => (at - start) as u32,
            None => spot.col + end - spot.at,
        };
        spot.at = end;
        spot
    }

    /// What is wrong at the next token: it cannot be read, or is not what is expected.
    pub(super) fn unexpected(&mut self, message: &'static str) -> Error {
        if let Some(error) = self.refused() {
            return error;
        }
        let Token { kind, spot, .. } = self.peek();
        if !matches!(kind, TokenKind::End) {
            return self.error(spot.at as usize, message).at_go_line(spot.line);
        }
        // The end of a text within a line ends that line, too.
        let line = spot.line + u32::from(spot.col > 0);
        let error = match self.open_bracket() {
            None => self.error(spot.at as usize, message),
            Some(at) => {
                let bracket = &self.text[at..=at];
                let error = self.error(at, format!("unclosed bracket '{bracket}'"));
                error.in_go(message)
            }
        };
        error.at_go_line(line)
    }

    /// Where the innermost bracket stands that is open.
    fn open_bracket(&self) -> Option<usize> {
        let bracket = |frame: &&Frame| {
            matches!(
                frame.expects,
                Expects::FlowItem(_) | Expects::FlowKey(_) | Expects::FlowValue | Expects::NoValue
            )
        };
        let frame = self.stack.iter().rev().find(bracket)?;
        Some(self.base + self.tree.node(frame.id).content as usize)
    }

    /// Why the next token cannot be read, if that is so.
    pub(super) fn refused(&mut self) -> Option<Error> {
        match self.peek().kind {
            TokenKind::Refused => self.lexer.refused.clone(),
            _ => None,
        }
    }

    pub(super) fn relative(&self, at: u32) -> u32 {
        at.saturating_sub(self.base as u32)
    }

    /// Passes an indicator; answers where it stands in the document.
    fn mark(&mut self) -> u32 {
        let at = self.take().spot.at;
        self.relative(at)
    }

    /// The node of a document, if there is one.
    pub(super) fn content(&mut self) -> Result<(), Error> {
        if self.tree.explicit && ends_document(self.peek().kind) {
            self.nothing(NONE);
            return Ok(());
        }
        self.node(NONE, true, false)?;
        while let Some(frame) = self.stack.last() {
            match frame.expects {
                Expects::Item | Expects::ItemBeside => self.item()?,
                Expects::Key => self.key()?,
                Expects::Value => self.value()?,
                Expects::FlowItem(first) => self.flow_item(first)?,
                Expects::PairKey => self.pair_key()?,
                Expects::PairValue | Expects::FlowValue => self.flow_value()?,
                Expects::PairEnd => self.end_collection(None),
                Expects::FlowKey(first) => self.flow_key(first)?,
                Expects::NoValue => {
                    self.expect(Expects::FlowKey(false));
                    self.nothing(NONE);
                }
            }
        }
        Ok(())
    }

    pub(super) fn expect(&mut self, next: Expects) {
        if let Some(frame) = self.stack.last_mut() {
            frame.expects = next;
        }
    }

    fn item(&mut self) -> Result<(), Error> {
        let beside = self
            .stack
            .last()
            .is_some_and(|f| f.expects == Expects::ItemBeside);
        match self.peek().kind {
            TokenKind::Entry => {
                let mark = self.mark();
                match self.peek().kind {
                    TokenKind::Entry | TokenKind::BlockEnd => self.nothing(mark),
                    TokenKind::Key | TokenKind::PlainKey | TokenKind::Value if beside => {
                        self.nothing(mark)
                    }
                    _ => self.node(mark, true, false)?,
                }
                Ok(())
            }
            TokenKind::BlockEnd if !beside => {
                self.take();
                self.end_collection(None);
                Ok(())
            }
            _ if beside => {
                self.end_collection(None);
                Ok(())
            }
            _ => Err(self.unexpected("did not find expected '-' indicator")),
        }
    }

    fn key(&mut self) -> Result<(), Error> {
        match self.peek().kind {
            TokenKind::PlainKey => {
                let token = self.take();
                let colon = token.end - 1;
                self.plain_key(token.spot, colon);
                self.block_part(self.relative(colon))
            }
            TokenKind::Key => {
                let mark = self.question();
                self.expect(Expects::Value);
                self.block_part(mark)
            }
            TokenKind::BlockEnd => {
                self.take();
                self.end_collection(None);
                Ok(())
            }
            _ => Err(self.unexpected("did not find expected key")),
        }
    }

    /// Passes the token before a key; answers where its `?` stands, if it has one.
    fn question(&mut self) -> u32 {
        let token = self.take();
        match token.end > token.spot.at {
            true => self.relative(token.spot.at),
            false => NONE,
        }
    }

    fn value(&mut self) -> Result<(), Error> {
        self.expect(Expects::Key);
        if !matches!(self.peek().kind, TokenKind::Value) {
            self.nothing(NONE);
            return Ok(());
        }
        let mark = self.mark();
        self.block_part(mark)
    }

    /// A key or a value of a block mapping behind its indicator.
    fn block_part(&mut self, mark: u32) -> Result<(), Error> {
        match self.peek().kind {
            TokenKind::Key | TokenKind::PlainKey | TokenKind::Value | TokenKind::BlockEnd => {
                self.nothing(mark);
                Ok(())
            }
            _ => self.node(mark, true, true),
        }
    }

    fn flow_item(&mut self, first: bool) -> Result<(), Error> {
        if !first && !matches!(self.peek().kind, TokenKind::FlowSequenceEnd) {
            if !matches!(self.peek().kind, TokenKind::Comma) {
                return Err(self.unexpected("did not find expected ',' or ']'"));
            }
            self.take();
        }
        self.expect(Expects::FlowItem(false));
        match self.peek().kind {
            TokenKind::FlowSequenceEnd => {
                let end = self.take().end;
                self.end_collection(Some(end));
                Ok(())
            }
            TokenKind::Key => self.open_pair(),
            _ => self.node(NONE, false, false),
        }
    }

    fn pair_key(&mut self) -> Result<(), Error> {
        let mark = self.question();
        self.expect(Expects::PairValue);
        match self.peek().kind {
            TokenKind::Value | TokenKind::Comma | TokenKind::FlowSequenceEnd => {
                Err(self.unexpected("a key is missing behind '?'"))
            }
            _ => self.node(mark, false, false),
        }
    }

    /// The value of a key in braces, or of a pair in brackets.
    fn flow_value(&mut self) -> Result<(), Error> {
        let pair = self
            .stack
            .last()
            .is_some_and(|f| f.expects == Expects::PairValue);
        self.expect(if pair {
            Expects::PairEnd
        } else {
            Expects::FlowKey(false)
        });
        if !matches!(self.peek().kind, TokenKind::Value) {
            self.nothing(NONE);
            return Ok(());
        }
        let mark = self.mark();
        match self.peek().kind {
            TokenKind::Comma => self.nothing(mark),
            TokenKind::FlowSequenceEnd if pair => self.nothing(mark),
            TokenKind::FlowMappingEnd if !pair => self.nothing(mark),
            _ => self.node(mark, false, false)?,
        }
        Ok(())
    }

    fn flow_key(&mut self, first: bool) -> Result<(), Error> {
        if !first && !matches!(self.peek().kind, TokenKind::FlowMappingEnd) {
            if !matches!(self.peek().kind, TokenKind::Comma) {
                return Err(self.unexpected("did not find expected ',' or '}'"));
            }
            self.take();
        }
        match self.peek().kind {
            TokenKind::FlowMappingEnd => {
                let end = self.take().end;
                self.end_collection(Some(end));
                Ok(())
            }
            TokenKind::Key => {
                let mark = self.question();
                self.expect(Expects::FlowValue);
                match self.peek().kind {
                    TokenKind::Value | TokenKind::Comma | TokenKind::FlowMappingEnd => {
                        self.nothing(mark);
                        Ok(())
                    }
                    _ => self.node(mark, false, false),
                }
            }
            _ => {
                self.expect(Expects::NoValue);
                self.node(NONE, false, false)
            }
        }
    }
}

/// Whether a document ends before such a token.
pub(super) fn ends_document(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Version
            | TokenKind::TagDirective(_)
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::End
    )
}

/// How a collection that a token begins is written, and what it expects first.
pub(super) fn collection(kind: TokenKind) -> Option<(crate::tree::NodeKind, Style, Expects)> {
    use crate::tree::NodeKind::{Mapping, Sequence};
    Some(match kind {
        TokenKind::BlockSequence => (Sequence, Style::Block, Expects::Item),
        TokenKind::Entry => (Sequence, Style::Block, Expects::ItemBeside),
        TokenKind::BlockMapping => (Mapping, Style::Block, Expects::Key),
        TokenKind::FlowSequence => (Sequence, Style::Flow, Expects::FlowItem(true)),
        TokenKind::FlowMapping => (Mapping, Style::Flow, Expects::FlowKey(true)),
        _ => return None,
    })
}
