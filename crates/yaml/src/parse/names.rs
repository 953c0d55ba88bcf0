//! Anchors, tags and directives: names behind an indicator.

use super::cursor::Cursor;
use super::token::Tag;
use crate::error::Error;

/// Whether a byte may stand in an anchor's name or a tag's handle.
fn is_word(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn pass_word(cursor: &mut Cursor<'_>) {
    while is_word(cursor.peek()) {
        cursor.pos += 1;
    }
}

/// Passes `&name` or `*name`. Names are letters, digits, `_` and `-`; only some characters may touch them.
pub(super) fn anchor(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    let start = cursor.pos;
    cursor.pos += 1;
    pass_word(cursor);
    let ends = cursor.is_space(cursor.pos)
        || matches!(
            cursor.peek(),
            Some(b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`')
        );
    if cursor.pos > start + 1 && ends {
        return Ok(());
    }
    let mut end = cursor.pos;
    while !cursor.is_space(end) {
        end += cursor.width(end);
    }
    let name = &cursor.text[start + 1..end];
    let message = format!("anchor name '{name}' may hold letters, digits, '_' and '-' only");
    let words = "did not find expected alphabetic or numeric character";
    Err(cursor.error(start, message).in_go(words))
}

/// Passes a tag: `!<uri>`, `!handle!suffix`, `!suffix` or `!`.
pub(super) fn tag(cursor: &mut Cursor<'_>) -> Result<Tag, Error> {
    let start = cursor.pos;
    let (handle, suffix) = if cursor.byte(start + 1) == Some(b'<') {
        cursor.pos += 2;
        let uri = uri(cursor, start)?;
        if cursor.peek() != Some(b'>') || uri.is_empty() {
            return Err(cursor.error(start, "did not find the expected '>'"));
        }
        cursor.pos += 1;
        (String::new(), uri)
    } else {
        let handle = handle(cursor);
        let rest = uri(cursor, start)?;
        if handle.len() > 1 && handle.ends_with('!') {
            if rest.is_empty() {
                return Err(cursor.error(start, "did not find expected tag URI"));
            }
            (handle, rest)
        } else {
            match format!("{}{rest}", &handle[1..]) {
                // The tag `!` says that a scalar is text.
                nothing if nothing.is_empty() => (String::new(), "!".to_owned()),
                suffix => ("!".to_owned(), suffix),
            }
        }
    };
    if !cursor.is_space(cursor.pos) {
        let words = "did not find expected whitespace or line break";
        let error = cursor.error(cursor.pos, "a tag must be followed by a blank");
        return Err(error.in_go(words));
    }
    Ok(Tag {
        handle: handle.into(),
        rest: suffix.into(),
    })
}

/// Passes `!`, a word and perhaps another `!`.
fn handle(cursor: &mut Cursor<'_>) -> String {
    let start = cursor.pos;
    cursor.pos += 1;
    pass_word(cursor);
    if cursor.peek() == Some(b'!') {
        cursor.pos += 1;
    }
    cursor.text[start..cursor.pos].to_owned()
}

/// Passes the characters of a URI, escapes decoded.
fn uri(cursor: &mut Cursor<'_>, start: usize) -> Result<String, Error> {
    let mut out = Vec::new();
    loop {
        match cursor.peek() {
            Some(b'%') => out.push(octet(cursor, start)?),
            Some(byte) if is_word(Some(byte)) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                out.push(byte);
                cursor.pos += 1;
            }
            _ => break,
        }
    }
    let message = "the escaped octets of a tag are not UTF-8";
    String::from_utf8(out).map_err(|_| cursor.error(start, message))
}

fn octet(cursor: &mut Cursor<'_>, start: usize) -> Result<u8, Error> {
    let digit = |at| cursor.byte(at).and_then(|b| char::from(b).to_digit(16));
    let (Some(high), Some(low)) = (digit(cursor.pos + 1), digit(cursor.pos + 2)) else {
        return Err(cursor.error(start, "did not find URI escaped octet"));
    };
    cursor.pos += 3;
    Ok((high * 16 + low) as u8)
}

/// Passes a directive with its line; answers a tag's handle and prefix. Only version 1.1 and tag handles are known to the readers.
pub(super) fn directive(cursor: &mut Cursor<'_>) -> Result<Option<Tag>, Error> {
    let start = cursor.pos;
    cursor.pos += 1;
    while cursor.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
        cursor.pos += 1;
    }
    if !cursor.is_space(cursor.pos) {
        return Err(cursor.error(start, "found unknown directive name"));
    }
    let tag = match &cursor.text[start + 1..cursor.pos] {
        "YAML" => version(cursor, start).map(|()| None)?,
        "TAG" => Some(tag_directive(cursor, start)?),
        _ => return Err(cursor.error(start, "found unknown directive name")),
    };
    cursor.pass_blanks();
    if cursor.peek() == Some(b'#') {
        while !cursor.is_break_or_end(cursor.pos) {
            cursor.pos += 1;
        }
    }
    if !cursor.is_break_or_end(cursor.pos) {
        return Err(cursor.error(start, "did not find expected comment or line break"));
    }
    cursor.pass_break();
    Ok(tag)
}

fn version(cursor: &mut Cursor<'_>, start: usize) -> Result<(), Error> {
    cursor.pass_blanks();
    let from = cursor.pos;
    while cursor
        .peek()
        .is_some_and(|b| b.is_ascii_digit() || b == b'.')
    {
        cursor.pos += 1;
    }
    let numbers = cursor.text[from..cursor.pos].split_once('.');
    let is = |text: &str| text.len() <= 2 && text.parse() == Ok(1);
    match numbers {
        Some((major, minor)) if is(major) && is(minor) => Ok(()),
        _ => Err(cursor.error(start, "found incompatible YAML document")),
    }
}

fn tag_directive(cursor: &mut Cursor<'_>, start: usize) -> Result<Tag, Error> {
    cursor.pass_blanks();
    if cursor.peek() != Some(b'!') {
        return Err(cursor.error(start, "did not find expected '!'"));
    }
    let handle = handle(cursor);
    if !handle.ends_with('!') {
        return Err(cursor.error(start, "did not find expected '!'"));
    }
    if !cursor.is_blank(cursor.pos) {
        return Err(cursor.error(start, "did not find expected whitespace"));
    }
    cursor.pass_blanks();
    let prefix = uri(cursor, start)?;
    if prefix.is_empty() || !cursor.is_space(cursor.pos) {
        return Err(cursor.error(start, "did not find expected tag URI"));
    }
    Ok(Tag {
        handle: handle.into(),
        rest: prefix.into(),
    })
}
