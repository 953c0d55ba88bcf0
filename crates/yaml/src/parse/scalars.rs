//! Scalars and tags of the event parser in our terms; where a block scalar really ends.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{ScalarStyle, Tag};

use super::cursor::Cursor;
use super::gate;
use crate::error::{Error, ErrorKind};
use crate::tree::Style;

/// The namespace of YAML's own tags; written `!!` for short.
const CORE: &str = "tag:yaml.org,2002:";

pub(super) fn style(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
        _ => Style::Plain,
    }
}

/// The tag as readers name it: `!!int`, `!local`, or the whole URI.
pub(super) fn short_tag(tag: &Tag) -> Box<str> {
    let whole = format!("{}{}", tag.handle(), tag.suffix());
    match whole.strip_prefix(CORE) {
        Some(core) => format!("!!{core}").into(),
        None => whole.into(),
    }
}

/// Finds the end of the block scalar whose header stands at the cursor, and moves there.
///
/// The end is that of its last content line (of the blank lines after it for `+`), line break excluded. `span` is
/// the event parser's: from the first content character to the next token or comment. A text that ends in the
/// middle of the last line gives the value no final line break, as the field's readers have it.
pub(super) fn block(
    original: &str,
    text: &str,
    cursor: &mut Cursor<'_>,
    span: &Range<usize>,
    value: &mut Cow<'_, str>,
) -> Result<usize, Error> {
    let header = cursor.pos;
    if !matches!(cursor.peek(), Some(b'|' | b'>')) {
        return Err(Error::at(
            ErrorKind::Syntax,
            text,
            header,
            "this construct is not supported",
        ));
    }
    cursor.pos += 1;
    let mut keep = false;
    while let Some(byte @ (b'+' | b'-' | b'0'..=b'9')) = cursor.peek() {
        keep |= byte == b'+';
        cursor.pos += 1;
    }
    let mut end = cursor.pos;
    while original.as_bytes().get(cursor.pos) != Some(&b'#')
        && matches!(cursor.peek(), Some(b' ' | b'\t'))
    {
        cursor.pos += 1;
    }
    if original.as_bytes().get(cursor.pos) == Some(&b'#') {
        cursor.comment();
    }
    if value.is_empty() {
        gate::lines_behind(text, cursor.pos, usize::MAX)?;
        cursor.pos = cursor.pos.max(end);
        return Ok(end);
    }
    let bytes = text.as_bytes();
    let explicit = text[header..end].contains(|c: char| c.is_ascii_digit());
    let mut first = !explicit;
    let indent = span.start
        - bytes[..span.start]
            .iter()
            .rposition(is_break)
            .map_or(0, |at| at + 1);
    if indent == 0 {
        let message = "the lines of a block scalar must be indented";
        return Err(Error::at(ErrorKind::Syntax, original, span.start, message));
    }
    loop {
        let before = cursor.pos;
        cursor.line_break();
        let line = cursor.pos;
        if line == before || line >= span.end {
            break;
        }
        cursor.rest_of_line();
        let width = bytes[line..cursor.pos]
            .iter()
            .take_while(|byte| **byte == b' ')
            .count();
        if line + width < span.end {
            gate::block_line(original, line, width, indent, first)?;
        }
        // The span may reach into the indentation of the next token's line.
        let written = line + width < cursor.pos && line + width < span.end;
        let blank = line + width == cursor.pos;
        let content = written || blank && width > indent;
        first &= !written;
        if content || blank && keep && cursor.pos < bytes.len() && cursor.pos <= span.end {
            end = cursor.pos;
        }
    }
    if end == bytes.len() {
        unfinished(bytes, value);
    }
    gate::lines_behind(text, end, indent)?;
    cursor.pos = end;
    Ok(end)
}

/// Takes the final line break from a value whose last line has none in the text.
fn unfinished(bytes: &[u8], value: &mut Cow<'_, str>) {
    if bytes.last().is_some_and(is_break) || !value.ends_with('\n') {
        return;
    }
    let shorter = value.len() - 1;
    match value {
        Cow::Borrowed(part) => *part = &part[..shorter],
        Cow::Owned(part) => part.truncate(shorter),
    }
}

fn is_break(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
