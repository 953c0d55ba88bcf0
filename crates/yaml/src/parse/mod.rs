//! From text to trees: a lexer says which words there are and where each stands, a parser what they make.
//!
//! Both are total: every text is read, or refused at a place with a reason. A text is accepted exactly when the package tools'
//! reader accepts it (its recorded answers are `testdata/readers.jsonl`), so that nothing we take in or write out is unreadable
//! for them.

mod block;
mod cursor;
mod documents;
mod gate;
mod keys;
mod lexer;
mod names;
mod nodes;
mod parser;
mod plain;
mod quoted;
mod token;

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::tree::Tree;
use parser::Parser;

/// One document of a text: where it stands and what it holds.
#[derive(Debug, Clone)]
pub(crate) struct Doc {
    /// Bytes of the whole text; the ranges of a text's documents cover it without gaps.
    pub(crate) range: Range<usize>,
    /// Lines of the text before the document.
    pub(crate) first_line: usize,
    pub(crate) tree: Arc<Tree>,
}

/// Parses a text into its documents. There is always one; a text without any node gives one without a root.
///
/// `outer` names anchors that documents before this text define (for a document that is parsed on its own).
pub(crate) fn parse(text: &str, limits: &Limits, outer: &[&str]) -> Result<Vec<Doc>, Error> {
    documents(text, limits, outer, false)
}

/// Parses up to the end of the first document; answers with it and where it ends.
pub(crate) fn parse_first(text: &str, limits: &Limits) -> Result<(Vec<Doc>, usize), Error> {
    let docs = documents(text, limits, &[], true)?;
    let end = docs.first().map_or(text.len(), |doc| doc.range.end);
    Ok((docs, end))
}

fn documents(text: &str, limits: &Limits, outer: &[&str], first: bool) -> Result<Vec<Doc>, Error> {
    if text.len() > limits.bytes.min(u32::MAX as usize - 1) {
        let message = format!(
            "the text has {} bytes, more than the limit of {}",
            text.len(),
            limits.bytes
        );
        return Err(Error::at(ErrorKind::Limit, text, 0, message));
    }
    read(text.len());
    gate::characters(text)?;
    Parser::new(text, limits.effective_depth(), outer).documents(first)
}

/// So many bytes are parsed; counted in tests.
#[inline]
fn read(bytes: usize) {
    #[cfg(test)]
    READ.with(|read| read.set(read.get() + bytes));
    #[cfg(not(test))]
    let _: usize = bytes;
}

#[cfg(test)]
thread_local! {
    pub(crate) static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
