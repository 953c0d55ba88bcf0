//! What the field's readers refuse although the grammar of YAML 1.2 allows it, and what they accept beyond it.
//!
//! Rule: a text is accepted exactly when the package tools' reader accepts it (`vectors/yaml-scalars`, documents),
//! so that nothing we take in or write out is unreadable for them.

use granit_parser::YamlVersion;

use super::Doc;
use crate::error::{Error, ErrorKind};
use crate::tree::Style;

/// Where a scalar stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    /// Inside brackets.
    pub(super) flow: bool,
    /// As a key.
    pub(super) key: bool,
}

/// Refuses control characters that YAML texts may not contain.
pub(super) fn characters(text: &str) -> Result<(), Error> {
    let suspicious = text.bytes().position(|byte| {
        byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')
            || byte == 0x7F
            || byte == 0xC2
            || byte == 0xEF
    });
    let Some(from) = suspicious else {
        return Ok(());
    };
    let found = text[from..].char_indices().find(|(_, c)| {
        matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}'
            | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
    });
    match found {
        None => Ok(()),
        Some((at, c)) => {
            let message = format!(
                "control characters are not allowed (U+{:04X})",
                u32::from(c)
            );
            Err(Error::at(ErrorKind::Syntax, text, from + at, message))
        }
    }
}

/// The text with old line separators (NEL, LS, PS) turned into line breaks of the same length; `None` without any.
pub(super) fn line_separators(text: &str) -> Option<String> {
    if !text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
        return None;
    }
    Some(
        text.replace('\u{85}', " \n")
            .replace(['\u{2028}', '\u{2029}'], "  \n"),
    )
}

/// Whether an old line separator stands where it ends a line: anywhere but inside a quoted scalar.
pub(super) fn separator_outside_quotes(text: &str, docs: &[Doc]) -> bool {
    let mut quoted = docs
        .iter()
        .flat_map(|doc| {
            doc.tree
                .nodes
                .iter()
                .filter(|node| matches!(node.style, Style::SingleQuoted | Style::DoubleQuoted))
                .map(|node| {
                    doc.range.start + node.content as usize..doc.range.start + node.end as usize
                })
        })
        .peekable();
    text.match_indices(['\u{85}', '\u{2028}', '\u{2029}'])
        .any(|(at, _)| {
            while quoted.next_if(|range| range.end <= at).is_some() {}
            !quoted.peek().is_some_and(|range| range.contains(&at))
        })
}

/// Checks a directive line: only version 1.1 and tag handles are known to the readers.
pub(super) fn directive(text: &str, at: usize, version: Option<YamlVersion>) -> Result<(), Error> {
    let line = text[at..].split(['\n', '\r']).next().unwrap_or_default();
    let name = line
        .trim_start_matches('%')
        .split([' ', '\t'])
        .next()
        .unwrap_or_default();
    match name {
        "TAG" => Ok(()),
        "YAML" if version.is_none_or(|v| v == YamlVersion::new(1, 1)) => Ok(()),
        "YAML" => Err(Error::at(
            ErrorKind::Syntax,
            text,
            at,
            "found incompatible YAML document",
        )),
        _ => Err(Error::at(
            ErrorKind::Syntax,
            text,
            at,
            "found unknown directive name",
        )),
    }
}

/// `--- key: value` on one line is no document for the readers; the event parser takes care of the rest.
pub(super) fn document_marker(_text: &str, _after: usize) -> Result<(), Error> {
    Ok(())
}

/// A dash must be followed by a space or a line break; the readers know no tab there.
pub(super) fn after_dash(text: &str, dash: usize) -> Result<(), Error> {
    if text.as_bytes().get(dash + 1) == Some(&b'\t') {
        return Err(tab(text, dash + 1));
    }
    Ok(())
}

fn tab(text: &str, at: usize) -> Error {
    Error::at(
        ErrorKind::Syntax,
        text,
        at,
        "found a tab character where spaces are expected",
    )
}

/// Anchor names are letters, digits, `_` and `-`.
pub(super) fn anchor(text: &str, start: usize, end: usize) -> Result<(), Error> {
    let name = &text[start..end];
    match name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    {
        true => Ok(()),
        false => {
            let message =
                format!("anchor name '{name}' may hold letters, digits, '_' and '-' only");
            Err(Error::at(ErrorKind::Syntax, text, start, message))
        }
    }
}

/// Checks a scalar's source text.
pub(super) fn scalar(
    text: &str,
    start: usize,
    end: usize,
    style: Style,
    place: &Surroundings,
) -> Result<(), Error> {
    let source = &text.as_bytes()[start..end];
    let _ = place.key;
    if style == Style::Plain && !place.flow {
        let mut at = 0;
        while let Some(next) = source[at..].iter().position(|b| matches!(b, b'\n' | b'\r')) {
            at += next + 1;
            let indent = source[at..].iter().take_while(|b| **b == b' ').count();
            if source.get(at + indent) == Some(&b'\t') {
                return Err(tab(text, start + at + indent));
            }
        }
    }
    Ok(())
}

/// A key without `?` must stand on one line and within 1024 characters.
pub(super) fn simple_key(text: &str, start: usize, end: usize) -> Result<(), Error> {
    let source = &text[start..end];
    if source.len() > 1024 && source.chars().count() > 1024 || source.contains('\n') {
        return Err(Error::at(
            ErrorKind::Syntax,
            text,
            start,
            "could not find expected ':'",
        ));
    }
    Ok(())
}
