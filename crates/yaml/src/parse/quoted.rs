//! Plain and quoted scalars over several lines, read by ourselves.
//!
//! The field's readers let the lines of a quoted scalar begin anywhere; the event parser wants them indented. It gets
//! the scalar on one line then, and the content is taken from the original text here. The same goes for scalars with
//! old line separators (NEL, LS, PS) in them, which the event parser does not know.

use std::iter::Peekable;
use std::str::Chars;

use super::gate;
use crate::tree::Style;

/// The content of a scalar, its quotes included in `source`; `None` when an escape is unknown.
///
/// A single line break is folded to a blank and goes where more of them follow, as the readers have it; LS and PS stay.
pub(super) fn content(source: &str, style: Style) -> Option<String> {
    let inner = match style {
        Style::Plain => source,
        _ => source.get(1..source.len().checked_sub(1)?)?,
    };
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, style) {
            (' ' | '\t' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}', _) => {
                between(&mut chars, c, &mut out);
            }
            ('\'', Style::SingleQuoted) => {
                chars.next();
                out.push('\'');
            }
            ('\\', Style::DoubleQuoted) => match line_break(&mut chars) {
                None => out.push(escape(&mut chars)?),
                Some(_) => further(&mut chars, &mut out),
            },
            _ => out.push(c),
        }
    }
    Some(out)
}

/// Blanks and line breaks between two words, of which `first` is passed already.
fn between(chars: &mut Peekable<Chars<'_>>, first: char, out: &mut String) {
    let solid = out.len();
    let mut broken = as_break(chars, first);
    if broken.is_none() {
        out.push(first);
        while let Some(c) = chars.next_if(|c| matches!(c, ' ' | '\t')) {
            out.push(c);
        }
        broken = line_break(chars);
    }
    let Some(broken) = broken else {
        return;
    };
    out.truncate(solid);
    if broken != '\n' {
        out.push(broken);
    }
    let before = out.len();
    further(chars, out);
    if broken == '\n' && out.len() == before {
        out.push(' ');
    }
}

/// Passes blanks, and keeps the line breaks among them.
fn further(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    loop {
        while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        match line_break(chars) {
            Some(c) => out.push(c),
            None => return,
        }
    }
}

/// Passes one line break, and answers with what it stands for.
fn line_break(chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    let c = chars.next_if(|c| gate::BREAKS.contains(c))?;
    as_break(chars, c)
}

/// What a character that is passed stands for if it is a line break: LF, or an LS or PS itself.
fn as_break(chars: &mut Peekable<Chars<'_>>, c: char) -> Option<char> {
    match c {
        '\r' => {
            chars.next_if_eq(&'\n');
            Some('\n')
        }
        '\n' | '\u{85}' => Some('\n'),
        '\u{2028}' | '\u{2029}' => Some(c),
        _ => None,
    }
}

fn escape(chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    Some(match chars.next()? {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        c @ (' ' | '"' | '/' | '\\') => c,
        'x' => number(chars, 2)?,
        'u' => number(chars, 4)?,
        'U' => number(chars, 8)?,
        _ => return None,
    })
}

/// A character by its number in hexadecimal digits.
fn number(chars: &mut Peekable<Chars<'_>>, digits: usize) -> Option<char> {
    let mut value = 0u32;
    for _ in 0..digits {
        value = value
            .checked_mul(16)?
            .checked_add(chars.next()?.to_digit(16)?)?;
    }
    char::from_u32(value)
}

/// The range of the quoted scalar that begins behind `from`, when only blanks, comments, indicators and properties
/// stand before it.
pub(super) fn find(events: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let bytes = events.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b' ' | b'\t' | b'\n' | b'\r' | b'-' | b'?' | b':' | b',' | b'[' | b'{' => at += 1,
            b'#' => at = events[at..].find(['\n', '\r']).map(|length| at + length)?,
            b'&' | b'!' => {
                at += events[at..].find([' ', '\t', '\n', '\r'])?;
            }
            b'"' | b'\'' => break,
            _ => return None,
        }
    }
    let quote = bytes[at];
    let mut end = at + 1;
    loop {
        match (bytes.get(end)?, quote) {
            (b'\\', b'"') => end += 2,
            (b'\'', b'\'') if bytes.get(end + 1) == Some(&b'\'') => end += 2,
            (byte, quote) if *byte == quote => break,
            _ => end += 1,
        }
    }
    Some(at..end + 1)
}

/// The text with the line breaks of a range turned into blanks.
pub(super) fn on_one_line(events: &str, range: std::ops::Range<usize>) -> Option<String> {
    let inside = events.get(range.clone())?;
    if !inside.contains(['\n', '\r']) {
        return None;
    }
    let line = inside.replace(['\n', '\r'], " ");
    Some(format!(
        "{}{line}{}",
        &events[..range.start],
        &events[range.end..]
    ))
}
