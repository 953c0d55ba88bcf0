//! Plain scalars: words without quotes, on one line or several.

use super::cursor::Cursor;
use crate::error::Error;

/// A plain scalar that was read.
#[derive(Debug)]
pub(super) struct Plain {
    /// Its content, if that is not what stands there.
    pub(super) joined: Option<Box<str>>,
    pub(super) end: usize,
    /// Whether a line break was passed behind its last word.
    pub(super) broken: bool,
}

/// Reads the plain scalar at the cursor, and what is blank behind it. `indent` is the least indentation of its further lines; `flow`
/// says whether brackets are open.
pub(super) fn read(cursor: &mut Cursor<'_>, indent: usize, flow: bool) -> Result<Plain, Error> {
    let start = cursor.pos;
    let mut end = start;
    let mut joined: Option<String> = None;
    let mut broken = false;
    while !(broken && (cursor.at_marker(b'-') || cursor.at_marker(b'.'))) {
        let from = cursor.pos;
        let (stop, next) = line(cursor, from, flow);
        if stop > from {
            if broken {
                let so_far = joined.get_or_insert_with(|| cursor.text[start..end].to_owned());
                join(so_far, &cursor.text[end..from]);
                so_far.push_str(&cursor.text[from..stop]);
            }
            (end, broken) = (stop, false);
        }
        cursor.pos = next;
        if !cursor.is_break(next) {
            break;
        }
        blanks(cursor, indent)?;
        broken = true;
        if !flow && cursor.column() < indent {
            break;
        }
    }
    Ok(Plain {
        joined: joined.map(Into::into),
        end,
        broken,
    })
}

/// The words of a scalar from here on, on one line: where the last of them ends, and what comes next: a line break, the end, a comment, a
/// colon before a blank, or in brackets what has a meaning there.
fn line(cursor: &Cursor<'_>, from: usize, flow: bool) -> (usize, usize) {
    let (mut end, mut at) = (from, from);
    while let Some(byte) = cursor.byte(at) {
        if ORDINARY[usize::from(byte)] {
            at += 1;
            end = at;
            continue;
        }
        match byte {
            b' ' | b'\t' => {
                at += 1;
                continue;
            }
            b'\n' | b'\r' => break,
            b'#' if at == from || at > end => break,
            b':' if cursor.is_space(at + 1) => break,
            b',' | b'?' | b'[' | b']' | b'{' | b'}' if flow => break,
            0xC2 | 0xE2 if cursor.is_break(at) => break,
            _ => {}
        }
        at += 1;
        end = at;
    }
    (end, at)
}

/// Bytes that mean nothing in a plain scalar but themselves.
const ORDINARY: [bool; 256] = {
    let mut ordinary = [true; 256];
    let special = b" \t\n\r#:,?[]{}\xC2\xE2";
    let mut at = 0;
    while at < special.len() {
        ordinary[special[at] as usize] = false;
        at += 1;
    }
    ordinary
};

/// Passes line breaks, of which one stands here, and blanks.
fn blanks(cursor: &mut Cursor<'_>, indent: usize) -> Result<(), Error> {
    loop {
        match cursor.peek() {
            Some(b'\t') if cursor.column() < indent => {
                let message = "found a tab character that violates indentation";
                return Err(cursor.error(cursor.pos, message));
            }
            Some(b' ' | b'\t') => cursor.pos += 1,
            _ if cursor.pass_break().is_some() => {}
            _ => return Ok(()),
        }
    }
}

/// Joins lines: one break is a blank, more of them stay but the first; LS and PS stay as they are.
pub(super) fn join(out: &mut String, between: &str) {
    let mut breaks = breaks(between);
    let first = breaks.next();
    let mut rest = breaks.peekable();
    match first {
        None | Some('\n') if rest.peek().is_none() => out.push(' '),
        None | Some('\n') => {}
        Some(other) => out.push(other),
    }
    out.extend(rest);
}

/// What the line breaks of a text stand for.
pub(super) fn breaks(text: &str) -> impl Iterator<Item = char> {
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            match chars.next()? {
                '\r' => {
                    chars.next_if_eq(&'\n');
                    return Some('\n');
                }
                '\n' | '\u{85}' => return Some('\n'),
                c @ ('\u{2028}' | '\u{2029}') => return Some(c),
                _ => {}
            }
        }
    })
}
