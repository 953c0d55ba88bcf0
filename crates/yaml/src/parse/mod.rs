//! From text to trees: the event parser says what there is, an aligner says where it stands.
//!
//! The event parser decides the grammar. Its spans are exact for plain and quoted scalars and not for the rest
//! (block scalar headers, empty values, dashes), so every other position is found by walking the text forward
//! with the events: between two tokens there is nothing but blanks, line breaks and comments, and each expected
//! indicator is checked. A text where the two disagree is refused, never guessed at.

mod align;
mod cursor;
mod gate;
mod scalars;

use std::ops::Range;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScanError, Span};

use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::tree::Tree;
use align::Aligner;

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
    if text.len() > limits.bytes.min(u32::MAX as usize - 1) {
        let message = format!(
            "the text has {} bytes, more than the limit of {}",
            text.len(),
            limits.bytes
        );
        return Err(Error::at(ErrorKind::Limit, text, 0, message));
    }
    gate::characters(text)?;
    let Some(shadow) = gate::line_separators(text) else {
        return documents(text, text, limits, outer);
    };
    // Old line separators (NEL, LS, PS) end lines for the field's readers, but inside quotes they are content.
    documents(text, text, limits, outer)
        .ok()
        .filter(|docs| !gate::separator_outside_quotes(text, docs))
        .map_or_else(|| documents(text, &shadow, limits, outer), Ok)
}

/// Parses up to the end of the first document; answers with it and where it ends.
pub(crate) fn parse_first(text: &str, limits: &Limits) -> Result<(Vec<Doc>, usize), Error> {
    let whole = parse(text, limits, &[]);
    if let Ok(docs) = whole {
        let end = docs.first().map_or(0, |doc| doc.range.end);
        return Ok((docs.into_iter().take(1).collect(), end));
    }
    gate::characters(text)?;
    let mut aligner = Aligner::new(text, text, limits.effective_depth(), &[]);
    for event in Parser::new_from_str_with_options(text, options(limits)) {
        let (event, span) = event.map_err(|error| syntax(text, &error))?;
        let last = matches!(event, Event::DocumentEnd);
        step(&mut aligner, event, &span)?;
        if last {
            break;
        }
    }
    let docs = aligner.docs();
    let end = docs.first().map_or(text.len(), |doc| doc.range.end);
    Ok((docs, end))
}

fn options(limits: &Limits) -> granit_parser::Options {
    let depth = limits.effective_depth();
    let mut options = granit_parser::options! {
        emit_unresolved_aliases: true,
        flow_nesting_limit: depth,
        block_nesting_limit: depth,
    };
    options.set_emit_comments(false);
    options
}

fn documents(text: &str, events: &str, limits: &Limits, outer: &[&str]) -> Result<Vec<Doc>, Error> {
    let mut aligner = Aligner::new(text, events, limits.effective_depth(), outer);
    for event in Parser::new_from_str_with_options(events, options(limits)) {
        let (event, span) = event.map_err(|error| syntax(text, &error))?;
        step(&mut aligner, event, &span)?;
    }
    aligner.finish()
}

fn step<'t>(aligner: &mut Aligner<'t>, event: Event<'t>, span: &Span) -> Result<(), Error> {
    let range = bytes(span);
    match event {
        Event::DocumentStart(explicit, version) => aligner.document_start(explicit, version),
        Event::DocumentEnd => aligner.document_end(),
        Event::Scalar(value, style, anchor, tag) => {
            aligner.scalar(value, style, anchor, tag.as_deref(), range)
        }
        Event::Alias(target) => aligner.alias(Some(target), range),
        Event::UnresolvedAlias(_) => aligner.alias(None, range),
        Event::SequenceStart(style, anchor, tag) => {
            aligner.sequence_start(style, anchor, tag.as_deref())
        }
        Event::MappingStart(style, anchor, tag) => {
            aligner.mapping_start(style, anchor, tag.as_deref(), range)
        }
        Event::SequenceEnd | Event::MappingEnd => aligner.collection_end(),
        _ => Ok(()),
    }
}

fn bytes(span: &Span) -> Range<usize> {
    let start = span.start.byte_offset().unwrap_or_default();
    start..span.end.byte_offset().unwrap_or(start).max(start)
}

/// Turns the event parser's error into ours; depth is a limit, everything else is syntax.
fn syntax(text: &str, error: &ScanError) -> Error {
    let message = error.info();
    let kind = match error.kind() {
        granit_parser::ErrorKind::RecursionLimitExceeded => ErrorKind::Limit,
        _ => ErrorKind::Syntax,
    };
    Error::at(
        kind,
        text,
        error.marker().byte_offset().unwrap_or_default(),
        message,
    )
}
