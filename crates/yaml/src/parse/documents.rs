//! The parser's documents: what stands before and behind their nodes.

use std::sync::Arc;

use super::Doc;
use super::parser::{Parser, ends_document};
use super::token::{Spot, TokenKind};
use crate::error::Error;
use crate::tree::Tree;

/// The namespace of YAML's own tags; written `!!` for short.
const CORE: &str = "tag:yaml.org,2002:";

impl Parser<'_> {
    /// All documents, or the first alone. There is always one; a text without any node gives one without a root.
    pub(super) fn documents(mut self, first: bool) -> Result<Vec<Doc>, Error> {
        while self.begins()? {
            self.content()?;
            self.end_document(first)?;
            if first {
                return Ok(self.docs);
            }
        }
        let end = self.text.len();
        if self.docs.is_empty() {
            self.tree.head = self.mark_length();
            self.close(end, end);
        } else if let Some(last) = self.docs.last_mut() {
            // What is left is comments: they go to the last document.
            last.range.end = end;
            let base = last.range.start as u32;
            let tree = Arc::make_mut(&mut last.tree);
            let comments = self.lexer.cursor.take_comments(end);
            tree.comments
                .extend(comments.into_iter().map(|mut comment| {
                    comment.start -= base;
                    comment.end -= base;
                    comment
                }));
        }
        Ok(self.docs)
    }

    /// How long the byte order mark is that the text begins with, if the document does.
    fn mark_length(&self) -> u32 {
        u32::from(self.text[self.base..].starts_with('\u{feff}')) * 3
    }

    /// Passes what stands before a document's content; says whether there is a document.
    fn begins(&mut self) -> Result<bool, Error> {
        while !self.docs.is_empty() && matches!(self.peek().kind, TokenKind::DocumentEnd) {
            self.take();
        }
        let directives = self.directives()?;
        let further = directives || !self.docs.is_empty();
        match self.peek().kind {
            TokenKind::DocumentStart => {
                let end = self.take().end;
                self.tree.explicit = true;
                self.tree.head = self.relative(end);
                Ok(true)
            }
            TokenKind::End if !directives => Ok(false),
            _ if further => Err(self.another()),
            _ => {
                self.tree.head = self.mark_length();
                Ok(true)
            }
        }
    }

    /// Something else stands where a document was to begin.
    fn another(&mut self) -> Error {
        let message = "another document must begin with '---'";
        match self.refused() {
            Some(error) => error,
            None => self
                .unexpected(message)
                .in_go("did not find expected <document start>"),
        }
    }

    /// Passes directives; says whether there are any.
    fn directives(&mut self) -> Result<bool, Error> {
        self.tags.clear();
        let (mut any, mut version) = (false, false);
        loop {
            match self.peek().kind {
                TokenKind::Version if version => {
                    return Err(self.unexpected("found duplicate %YAML directive"));
                }
                TokenKind::Version => {
                    version = true;
                    self.take();
                }
                TokenKind::TagDirective(number) => {
                    let tag = &self.lexer.tags[number as usize];
                    let (handle, prefix) = (tag.handle.clone(), tag.rest.clone());
                    if self.tags.insert(handle, prefix).is_some() {
                        return Err(self.unexpected("found duplicate %TAG directive"));
                    }
                    self.take();
                }
                _ => return Ok(any),
            }
            any = true;
        }
    }

    /// The tag of a handle and a suffix, as readers name it: `!!int`, `!local`, or the whole URI.
    pub(super) fn tag(&self, number: u32, at: u32) -> Result<Box<str>, Error> {
        let tag = &self.lexer.tags[number as usize];
        let prefix = match (&*tag.handle, self.tags.get(&tag.handle)) {
            (_, Some(prefix)) => prefix,
            (handle @ ("" | "!"), None) => handle,
            ("!!", None) => CORE,
            _ => return Err(self.error(at as usize, "found undefined tag handle")),
        };
        let whole = format!("{prefix}{}", tag.rest);
        Ok(match whole.strip_prefix(CORE) {
            Some(core) => format!("!!{core}").into(),
            None => whole.into(),
        })
    }

    /// Passes the end of a document. What follows it may be anything where it is not looked at.
    fn end_document(&mut self, first: bool) -> Result<(), Error> {
        let token = self.peek();
        let (Spot { at, line, .. }, end) = (token.spot, token.end);
        let explicit = matches!(token.kind, TokenKind::DocumentEnd);
        let refused = matches!(token.kind, TokenKind::Refused);
        if refused || !first && !ends_document(token.kind) {
            return Err(self.another());
        }
        let tail = at as usize;
        if !explicit {
            self.close(tail, tail);
            self.base_line = line;
            return Ok(());
        }
        self.take();
        let behind = end as usize;
        self.close(tail, behind);
        let next_line = self.text[..behind].ends_with(['\n', '\r']);
        self.base_line = line + u32::from(next_line);
        Ok(())
    }

    /// Puts the current tree away as a document that ends at `end`, its content at `tail`.
    fn close(&mut self, tail: usize, end: usize) {
        let mut tree = std::mem::replace(&mut self.tree, Tree::new());
        let base = self.base as u32;
        tree.tail = tail as u32 - base;
        tree.comments = self.lexer.cursor.take_comments(end);
        for comment in &mut tree.comments {
            comment.start = comment.start.saturating_sub(base);
            comment.end = comment.end.saturating_sub(base);
        }
        tree.old_breaks = self.lexer.cursor.take_old_breaks();
        self.outer.extend(self.anchors.keys());
        self.anchors.clear();
        self.docs.push(Doc {
            range: self.base..end,
            first_line: self.base_line as usize,
            tree: Arc::new(tree),
        });
        self.base = end;
    }
}
