//! Quoted scalars, on one line or several.

use super::cursor::Cursor;
use super::plain::{breaks, join};
use crate::error::Error;

/// Reads the quoted scalar at the cursor, its quotes included. Answers its content if that is not what stands between them.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Option<Box<str>>, Error> {
    let start = cursor.pos;
    let double = cursor.peek() == Some(b'"');
    let quote = if double { b'"' } else { b'\'' };
    cursor.pos += 1;
    // Made at the first escape or line break; until then the content is a part of the text.
    let mut changed: Option<String> = None;
    let mut since = cursor.pos;
    loop {
        if cursor.at_marker(b'-') || cursor.at_marker(b'.') {
            return Err(cursor.error(cursor.pos, "found unexpected document indicator"));
        }
        let at = cursor.pos;
        match cursor.peek() {
            None => return Err(endless(cursor, start)),
            Some(b'\'') if !double && cursor.byte(at + 1) == Some(b'\'') => {
                keep(&mut changed, &cursor.text[since..=at]);
                cursor.pos += 2;
                since = cursor.pos;
            }
            Some(byte) if byte == quote => break,
            Some(b'\\') if double => {
                keep(&mut changed, &cursor.text[since..at]);
                let so_far = changed.get_or_insert_default();
                escape(cursor, so_far)?;
                since = cursor.pos;
            }
            Some(b' ' | b'\t' | b'\n' | b'\r' | 0xC2 | 0xE2) => {
                if blanks(cursor) {
                    keep(&mut changed, &cursor.text[since..at]);
                    let so_far = changed.get_or_insert_default();
                    join(so_far, &cursor.text[at..cursor.pos]);
                    since = cursor.pos;
                }
            }
            Some(_) => cursor.step(),
        }
    }
    let end = cursor.pos;
    cursor.pos += 1;
    Ok(changed.map(|mut changed| {
        changed.push_str(&cursor.text[since..end]);
        changed.into()
    }))
}

fn endless(cursor: &Cursor<'_>, start: usize) -> Error {
    let error = cursor.error(start, "a quoted scalar does not end");
    error.in_go("found unexpected end of stream")
}

fn keep(changed: &mut Option<String>, part: &str) {
    changed.get_or_insert_default().push_str(part);
}

/// Passes blanks and line breaks, or one character that is neither; says whether a line break was among them.
fn blanks(cursor: &mut Cursor<'_>) -> bool {
    let from = cursor.pos;
    let mut broken = false;
    loop {
        if cursor.is_blank(cursor.pos) {
            cursor.pos += 1;
        } else if cursor.pass_quoted_break().is_some() {
            broken = true;
        } else {
            break;
        }
    }
    if cursor.pos == from {
        cursor.step();
    }
    broken
}

/// Passes a backslash and what it escapes.
fn escape(cursor: &mut Cursor<'_>, out: &mut String) -> Result<(), Error> {
    let at = cursor.pos;
    cursor.pos += 1;
    if cursor.pass_quoted_break().is_some() {
        // The line goes on: blanks at its beginning are none, further breaks stay.
        let from = cursor.pos;
        loop {
            if cursor.is_blank(cursor.pos) {
                cursor.pos += 1;
            } else if cursor.pass_quoted_break().is_none() {
                break;
            }
        }
        out.extend(breaks(&cursor.text[from..cursor.pos]));
        return Ok(());
    }
    let Some(byte) = cursor.peek() else {
        return Err(endless(cursor, at));
    };
    cursor.pos += 1;
    out.push(match byte {
        b'0' => '\0',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{b}',
        b'f' => '\u{c}',
        b'r' => '\r',
        b'e' => '\u{1b}',
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        b' ' | b'"' | b'\'' | b'\\' => char::from(byte),
        b'x' => number(cursor, at, 2)?,
        b'u' => number(cursor, at, 4)?,
        b'U' => number(cursor, at, 8)?,
        _ => return Err(cursor.error(at, "found unknown escape character")),
    });
    Ok(())
}

/// A character by its number in hexadecimal digits. Half a surrogate pair is none.
fn number(cursor: &mut Cursor<'_>, at: usize, digits: usize) -> Result<char, Error> {
    let mut value = 0u32;
    for _ in 0..digits {
        let digit = cursor.peek().and_then(|b| char::from(b).to_digit(16));
        let Some(digit) = digit else {
            let error = cursor.error(at, "did not find expected hexadecimal number");
            return Err(error.in_go("did not find expected hexdecimal number"));
        };
        value = value.wrapping_shl(4) | digit;
        cursor.pos += 1;
    }
    let found = char::from_u32(value);
    found.ok_or_else(|| cursor.error(at, "found invalid Unicode character escape code"))
}
