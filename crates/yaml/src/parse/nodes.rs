//! The parser's nodes: properties, scalars, aliases, beginnings and ends of collections.

use super::parser::{Expects, Frame, Parser, collection};
use super::token::{Spot, Token, TokenKind};
use crate::error::{Error, ErrorKind};
use crate::tree::{self, Content, Id, NONE, NodeData, Style};

/// What stands before a node's content.
#[derive(Debug, Default)]
struct Properties<'t> {
    /// Where the first of them begins.
    start: Option<Spot>,
    anchor: Option<(&'t str, std::ops::Range<u32>)>,
    tag: Option<Box<str>>,
}

impl<'t> Parser<'t> {
    /// Reads a node behind its indicator `mark`. `block` says whether block collections may begin, `beside` whether a sequence may
    /// that is indented no deeper than its key.
    pub(super) fn node(&mut self, mark: u32, block: bool, beside: bool) -> Result<(), Error> {
        let properties = match self.peek().kind {
            TokenKind::Alias => {
                let token = self.take();
                return self.alias(token, mark);
            }
            TokenKind::Anchor | TokenKind::Tag(_) => self.properties()?,
            _ => Properties::default(),
        };
        let token = self.peek();
        let spot = token.spot;
        match token.kind {
            TokenKind::Scalar(..) => {
                let token = self.take();
                self.scalar(token, properties, mark);
                Ok(())
            }
            TokenKind::Entry if !beside => self.unfit(properties, mark),
            TokenKind::BlockSequence | TokenKind::BlockMapping if !block => {
                self.unfit(properties, mark)
            }
            _ => match collection(token.kind) {
                None => self.unfit(properties, mark),
                Some(kind) => {
                    // The first entry of a sequence beside its key is read with the others.
                    if kind.2 != Expects::ItemBeside {
                        self.take();
                    }
                    self.open(kind, properties, mark, spot)
                }
            },
        }
    }

    /// A token that begins no node: properties alone are an empty scalar.
    fn unfit(&mut self, properties: Properties<'t>, mark: u32) -> Result<(), Error> {
        if properties.start.is_some() {
            let node = self.blank(tree::NodeKind::Scalar, self.behind(), properties, mark);
            self.add(NodeData {
                value: Content::Owned("".into()),
                ..node
            });
            return Ok(());
        }
        Err(self.unexpected("did not find expected node content"))
    }

    fn properties(&mut self) -> Result<Properties<'t>, Error> {
        let mut found = Properties::default();
        for _ in 0..2 {
            let token = self.peek();
            let again = match token.kind {
                TokenKind::Anchor => found.anchor.is_some(),
                TokenKind::Tag(_) => found.tag.is_some(),
                _ => true,
            };
            if again {
                break;
            }
            let token = self.take();
            let (start, end) = (token.spot.at, token.end);
            found.start.get_or_insert(token.spot);
            if let TokenKind::Tag(tag) = token.kind {
                found.tag = Some(self.tag(tag, start)?);
            } else {
                let name = self.relative(start + 1)..self.relative(end);
                found.anchor = Some((self.name(start, end), name));
            }
        }
        Ok(found)
    }

    /// The name of an anchor or alias without its indicator.
    fn name(&self, start: u32, end: u32) -> &'t str {
        &self.text[start as usize + 1..end as usize]
    }

    /// A node whose content begins at a spot; it ends there, too.
    fn blank(
        &mut self,
        kind: tree::NodeKind,
        spot: Spot,
        properties: Properties<'t>,
        mark: u32,
    ) -> NodeData {
        let content = self.relative(spot.at);
        let start = properties.start.unwrap_or(spot);
        let mut range = 0..0;
        if let Some((name, named)) = properties.anchor {
            range = named;
            self.anchors.insert(name, self.tree.nodes.len() as Id);
        }
        NodeData {
            kind,
            style: Style::Plain,
            start: self.relative(start.at),
            content,
            end: content,
            line: start.line - self.base_line,
            col: spot.col,
            parent: self.stack.last().map_or(NONE, |frame| frame.id),
            mark,
            anchor: range,
            tag: properties.tag,
            value: Content::Span(0, 0),
            children: 0..0,
        }
    }

    fn add(&mut self, node: NodeData) -> Id {
        let id = self.tree.nodes.len() as Id;
        if self.stack.is_empty() {
            self.tree.root = id;
        } else {
            self.scratch.push(id);
        }
        self.tree.nodes.push(node);
        id
    }

    /// The node that is not there: nothing, right behind what stands before it.
    pub(super) fn nothing(&mut self, mark: u32) {
        let node = self.blank(
            tree::NodeKind::Scalar,
            self.behind(),
            Properties::default(),
            mark,
        );
        self.add(NodeData {
            value: Content::Owned("".into()),
            ..node
        });
    }

    fn scalar(&mut self, token: Token, properties: Properties<'t>, mark: u32) {
        let mut node = self.blank(tree::NodeKind::Scalar, token.spot, properties, mark);
        node.end = self.relative(token.end);
        if let TokenKind::Scalar(style, content) = token.kind {
            let quotes = u32::from(matches!(style, Style::SingleQuoted | Style::DoubleQuoted));
            node.style = style;
            node.value = match content {
                Some(number) => Content::Owned(self.content_of(number)),
                None => Content::Span(node.content + quotes, node.end - quotes),
            };
        }
        self.add(node);
    }

    /// A plain key of one word.
    pub(super) fn plain_key(&mut self, spot: Spot, end: u32) {
        let mut node = self.blank(tree::NodeKind::Scalar, spot, Properties::default(), NONE);
        node.end = self.relative(end);
        node.value = Content::Span(node.content, node.end);
        self.add(node);
    }

    fn alias(&mut self, token: Token, mark: u32) -> Result<(), Error> {
        let start = token.spot.at;
        let name = self.name(start, token.end);
        let target = match self.anchors.get(name) {
            Some(target) => *target,
            None if self.outer.contains(&name) => NONE,
            None => {
                let message = format!("unknown anchor '{name}' referenced");
                return Err(self.error(start as usize, message).at_go_line(0));
            }
        };
        self.tree.aliases = true;
        let mut node = self.blank(
            tree::NodeKind::Alias,
            token.spot,
            Properties::default(),
            mark,
        );
        node.style = Style::Alias;
        node.end = self.relative(token.end);
        node.children = target..target;
        self.add(node);
        Ok(())
    }

    fn open(
        &mut self,
        (kind, style, expects): (tree::NodeKind, Style, Expects),
        properties: Properties<'t>,
        mark: u32,
        spot: Spot,
    ) -> Result<(), Error> {
        if self.stack.len() >= self.depth {
            let message = format!("collections are nested deeper than {}", self.depth);
            return Err(Error::at(
                ErrorKind::Limit,
                self.text,
                spot.at as usize,
                message,
            ));
        }
        let node = self.blank(kind, spot, properties, mark);
        let scratch = self.scratch.len() + usize::from(!self.stack.is_empty());
        let id = self.add(NodeData { style, ..node });
        self.stack.push(Frame {
            id,
            expects,
            scratch,
        });
        Ok(())
    }

    /// Begins the pair that is an item in brackets; its key's token is read with the key.
    pub(super) fn open_pair(&mut self) -> Result<(), Error> {
        let spot = self.peek().spot;
        let kind = (tree::NodeKind::Mapping, Style::Flow, Expects::PairKey);
        self.open(kind, Properties::default(), NONE, spot)
    }

    /// Ends the innermost collection: behind its bracket, or with its last child.
    pub(super) fn end_collection(&mut self, bracket: Option<u32>) {
        let Some(frame) = self.stack.pop() else {
            return;
        };
        let last = self
            .scratch
            .get(frame.scratch..)
            .and_then(<[Id]>::last)
            .copied();
        let from = self.tree.children.len() as u32;
        self.tree
            .children
            .extend(self.scratch.drain(frame.scratch..));
        let to = self.tree.children.len() as u32;
        let end = match (bracket, last) {
            (Some(bracket), _) => self.relative(bracket),
            (None, Some(last)) => self.tree.node(last).end,
            (None, None) => 0,
        };
        if let Some(node) = self.tree.nodes.get_mut(frame.id as usize) {
            node.children = from..to;
            node.end = end.max(node.content);
        }
    }
}
