//! What the field's readers refuse although the grammar of YAML 1.2 allows it, and what they accept beyond it.
//!
//! Rule: a text is accepted exactly when the package tools' reader accepts it (`vectors/yaml-scalars`, documents),
//! so that nothing we take in or write out is unreadable for them.

use granit_parser::YamlVersion;

use crate::error::{Error, ErrorKind};
use crate::tree::Style;

/// What ends a line for the readers: the breaks of today, and the old ones.
pub(super) const BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

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

/// Blanks before a token in block style: no tab at the beginning of a line, or behind an indicator (`strict`).
///
/// `plain` is the indentation that lines behind a plain scalar must have before a tab is harmless.
pub(super) fn blanks(
    text: &str,
    from: usize,
    to: usize,
    strict: bool,
    plain: Option<usize>,
) -> Result<(), Error> {
    let skipped = &text.as_bytes()[from..to];
    if !skipped.contains(&b'\t') {
        return Ok(());
    }
    let (mut strict, mut plain, mut line, mut comment) = (strict, plain, from, false);
    for (at, byte) in skipped.iter().enumerate() {
        match byte {
            b'\n' | b'\r' => (strict, line, comment) = (true, from + at + 1, false),
            b'#' => (comment, plain) = (true, None),
            b'\t' if strict && !comment && plain.is_none_or(|indent| from + at - line < indent) => {
                return Err(tab(text, from + at));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A tab where the readers want spaces.
pub(super) fn tab(text: &str, at: usize) -> Error {
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

/// A tag ends at a blank; inside brackets the readers take `,` and `]` for a part of it.
pub(super) fn after_tag(text: &str, end: usize) -> Result<(), Error> {
    match text.as_bytes().get(end) {
        None | Some(b' ' | b'\t' | b'\n' | b'\r') => Ok(()),
        Some(_) => Err(Error::at(
            ErrorKind::Syntax,
            text,
            end,
            "a tag must be followed by a blank",
        )),
    }
}

/// Checks a plain or quoted scalar's source text.
pub(super) fn scalar(
    text: &str,
    start: usize,
    end: usize,
    style: Style,
    flow: bool,
    indent: usize,
) -> Result<(), Error> {
    let source = &text[start..end];
    match style {
        Style::Plain if flow => {
            let found = if source.starts_with(':') {
                Some(0)
            } else {
                source.find('?')
            };
            match found {
                None => Ok(()),
                Some(at) => {
                    let message =
                        "inside brackets a plain scalar holds no '?' and begins with no ':'";
                    Err(Error::at(ErrorKind::Syntax, text, start + at, message))
                }
            }
        }
        Style::Plain => indentation(text, start, source, indent),
        Style::SingleQuoted => unmarked(text, start, source),
        Style::DoubleQuoted => {
            unmarked(text, start, source)?;
            surrogates(text, start, source)
        }
        _ => Ok(()),
    }
}

/// No line of a quoted scalar is a document marker: the readers end the document there, and find the quotes open. Old line
/// separators begin a line, too.
fn unmarked(text: &str, start: usize, source: &str) -> Result<(), Error> {
    for (at, one) in source.match_indices(BREAKS) {
        let line = at + one.len();
        let rest = ["---", "..."].map(|marker| source[line..].strip_prefix(marker));
        let marked = |rest: &str| rest.starts_with([' ', '\t']) || rest.starts_with(BREAKS);
        if rest.into_iter().flatten().any(marked) {
            let message = "found unexpected document indicator";
            return Err(Error::at(ErrorKind::Syntax, text, start + line, message));
        }
    }
    Ok(())
}

/// Continuation lines are indented by spaces, up to the indentation that they need.
fn indentation(text: &str, start: usize, source: &str, indent: usize) -> Result<(), Error> {
    for (at, _) in source.match_indices(['\n', '\r']) {
        let line = &source[at + 1..];
        let rest = line.trim_start_matches(' ');
        let width = line.len() - rest.len();
        if rest.starts_with('\t') && width < indent {
            return Err(tab(text, start + at + 1 + width));
        }
    }
    Ok(())
}

/// `\uD83D` is no character for the readers, in a pair or alone.
fn surrogates(text: &str, start: usize, source: &str) -> Result<(), Error> {
    let mut escapes = source.match_indices('\\');
    while let Some((at, _)) = escapes.next() {
        match source.as_bytes().get(at + 1) {
            Some(b'\\') => {
                escapes.next();
            }
            Some(b'u')
                if matches!(
                    source.as_bytes().get(at + 2..at + 4),
                    Some([b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F'])
                ) =>
            {
                let message = "found invalid Unicode character escape code";
                return Err(Error::at(ErrorKind::Syntax, text, start + at, message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Lines of a block scalar are indented by spaces, up to the indentation of its content.
pub(super) fn block_line(
    text: &str,
    line: usize,
    width: usize,
    indent: usize,
    first: bool,
) -> Result<(), Error> {
    let tabbed = text.as_bytes().get(line + width) == Some(&b'\t');
    if tabbed && (first || width < indent) {
        Err(tab(text, line + width))
    } else {
        Ok(())
    }
}

/// The same for the blank lines behind a block scalar and the first line after them.
pub(super) fn lines_behind(text: &str, end: usize, indent: usize) -> Result<(), Error> {
    let mut at = end;
    while let Some(length) = text[at..].find(['\n', '\r']) {
        let line = at + length + 1;
        let rest = &text[line..];
        let width = rest.len() - rest.trim_start_matches(' ').len();
        block_line(text, line, width, indent, false)?;
        if !rest[width..].starts_with(['\n', '\r']) {
            break;
        }
        at = line + width;
    }
    Ok(())
}

/// A key without `?` must stand on one line and within 1024 characters.
pub(super) fn simple_key(text: &str, start: usize, end: usize) -> Result<(), Error> {
    let source = &text[start..end];
    if source.len() > 1024 && source.chars().count() > 1024 || source.contains(BREAKS) {
        return Err(Error::at(
            ErrorKind::Syntax,
            text,
            start,
            "could not find expected ':'",
        ));
    }
    Ok(())
}
