//! From text to trees: the event parser says what there is, an aligner says where it stands.
//!
//! The event parser decides the grammar. Its spans are exact for plain and quoted scalars and not for the rest
//! (block scalar headers, empty values, dashes), so every other position is found by walking the text forward
//! with the events: between two tokens there is nothing but blanks, line breaks and comments, and each expected
//! indicator is checked. A text where the two disagree is refused, never guessed at.
//!
//! Most texts need none of that: [`short`] reads what is plainly written in one pass, and leaves the rest.

mod align;
mod cursor;
mod gate;
mod nodes;
mod quoted;
mod repair;
mod scalars;
mod short;

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

/// Bytes that are looked at, all copies of a text together, before it is refused: work stays linear.
const MOST_BYTES: usize = 8 << 20;

/// Copies of a text that are tried whatever its size, and at most.
const ATTEMPTS: std::ops::RangeInclusive<usize> = 4..=1_000;

/// Parses a text into its documents. There is always one; a text without any node gives one without a root.
///
/// `outer` names anchors that documents before this text define (for a document that is parsed on its own).
pub(crate) fn parse(text: &str, limits: &Limits, outer: &[&str]) -> Result<Vec<Doc>, Error> {
    attempts(text, limits, outer, false)
}

/// Parses up to the end of the first document; answers with it and where it ends.
pub(crate) fn parse_first(text: &str, limits: &Limits) -> Result<(Vec<Doc>, usize), Error> {
    let docs = attempts(text, limits, &[], true)?;
    let end = docs.first().map_or(text.len(), |doc| doc.range.end);
    Ok((docs, end))
}

fn attempts(text: &str, limits: &Limits, outer: &[&str], first: bool) -> Result<Vec<Doc>, Error> {
    if text.len() > limits.bytes.min(u32::MAX as usize - 1) {
        let message = format!(
            "the text has {} bytes, more than the limit of {}",
            text.len(),
            limits.bytes
        );
        return Err(Error::at(ErrorKind::Limit, text, 0, message));
    }
    if let Some(docs) = short::read(text, limits.effective_depth(), first) {
        return Ok(docs);
    }
    long_way(text, limits, outer, first)
}

/// With the event parser, and with copies reworded for it where it stumbles.
fn long_way(text: &str, limits: &Limits, outer: &[&str], first: bool) -> Result<Vec<Doc>, Error> {
    gate::characters(text)?;
    let most = (MOST_BYTES / text.len().max(1)).clamp(*ATTEMPTS.start(), *ATTEMPTS.end());
    let mut copy: Option<String> = None;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let events = copy.as_deref().unwrap_or(text);
        let (reworded, error) = match documents(text, events, limits, outer, first) {
            Ok(docs) => match repair::separators(events, Some(&docs))
                .or_else(|| repair::colons(text, events, &docs))
            {
                None => return in_brackets(text, events, docs),
                reworded => (reworded, None),
            },
            Err(RefusedText {
                error,
                kind,
                reached,
            }) => {
                let reworded = repair::separators(events, None)
                    .or_else(|| repair::reword(events, &kind?, error.offset(), reached));
                (reworded, Some(error))
            }
        };
        match (reworded, error) {
            (Some(reworded), _) if attempt < most => copy = Some(reworded),
            (_, Some(error)) => return Err(error),
            (_, None) => {
                let message = "the text holds too much that only some tools read";
                return Err(Error::at(ErrorKind::Syntax, text, 0, message));
            }
        }
    }
}

fn in_brackets(text: &str, events: &str, docs: Vec<Doc>) -> Result<Vec<Doc>, Error> {
    match repair::tabs_in_brackets(text, events, &docs) {
        Ok(()) => Ok(docs),
        Err(at) => Err(gate::tab(text, at)),
    }
}

/// Why a text was refused, and what the event parser stumbled over if it was that.
struct RefusedText {
    error: Error,
    kind: Option<granit_parser::ErrorKind>,
    /// How far the text was aligned.
    reached: usize,
}

impl From<Error> for RefusedText {
    fn from(error: Error) -> Self {
        Self {
            error,
            kind: None,
            reached: 0,
        }
    }
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

fn documents(
    text: &str,
    events: &str,
    limits: &Limits,
    outer: &[&str],
    first: bool,
) -> Result<Vec<Doc>, RefusedText> {
    let mut aligner = Aligner::new(text, events, limits.effective_depth(), outer);
    for event in Parser::new_from_str_with_options(events, options(limits)) {
        let (event, span) = event.map_err(|error| RefusedText {
            error: syntax(text, &error, limits),
            kind: Some(error.kind().clone()),
            reached: aligner.reached(),
        })?;
        let last = first && matches!(event, Event::DocumentEnd);
        step(&mut aligner, event, &span)?;
        if last {
            return Ok(aligner.docs());
        }
    }
    Ok(aligner.finish()?)
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
fn syntax(text: &str, error: &ScanError, limits: &Limits) -> Error {
    let (kind, message) = match error.kind() {
        granit_parser::ErrorKind::RecursionLimitExceeded => {
            let depth = limits.effective_depth();
            let message = format!("collections are nested deeper than {depth}");
            (ErrorKind::Limit, message)
        }
        _ => (ErrorKind::Syntax, error.info()),
    };
    let at = error.marker().byte_offset().unwrap_or_default();
    Error::at(kind, text, at, message)
}
