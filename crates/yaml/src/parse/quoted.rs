//! Quoted scalars over several lines, read by ourselves.
//!
//! The field's readers let the lines of a quoted scalar begin anywhere; the event parser wants them indented. It gets
//! the scalar on one line then, and the content is taken from the original text here.

/// The content of a quoted scalar, its quotes included in `source`; `None` when an escape is unknown.
pub(super) fn content(source: &str) -> Option<String> {
    let double = source.starts_with('"');
    let inner = source.get(1..source.len().checked_sub(1)?)?;
    let mut out = String::with_capacity(inner.len());
    // Where blanks at the end of `out` may be folded away: escaped ones stay.
    let mut solid = 0;
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\r' | '\u{85}' => {
                out.truncate(solid.max(out.trim_end_matches([' ', '\t']).len()));
                let breaks = 1 + passed(&mut chars, c);
                if breaks == 1 {
                    out.push(' ');
                } else {
                    out.extend(std::iter::repeat_n('\n', breaks - 1));
                }
                solid = out.len();
            }
            '\'' if !double => {
                chars.next();
                out.push('\'');
            }
            '\\' if double => {
                if matches!(chars.peek(), Some('\n' | '\r')) {
                    let first = chars.next()?;
                    let more = passed(&mut chars, first);
                    out.extend(std::iter::repeat_n('\n', more));
                } else {
                    out.push(escape(&mut chars)?);
                }
                solid = out.len();
            }
            c => out.push(c),
        }
    }
    Some(out)
}

/// Passes the rest of a line break, blanks, and further line breaks; answers with the number of those.
fn passed(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, first: char) -> usize {
    let mut before = first;
    let mut more = 0;
    while let Some(c) = chars.next_if(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{85}')) {
        let second_half = before == '\r' && c == '\n';
        more += usize::from(!matches!(c, ' ' | '\t') && !second_half);
        before = c;
    }
    more
}

fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
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
fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, digits: usize) -> Option<char> {
    let mut value = 0u32;
    for _ in 0..digits {
        value = value
            .checked_mul(16)?
            .checked_add(chars.next()?.to_digit(16)?)?;
    }
    char::from_u32(value)
}

/// The range of the quoted scalar that begins behind `from`, when only blanks, comments, indicators and properties
/// stand before it and no document marker inside of it.
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
    let inside = &events[at..end];
    let marker = inside.split(['\n', '\r']).skip(1).any(|line| {
        let rest = line
            .strip_prefix("---")
            .or_else(|| line.strip_prefix("..."));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    });
    (!marker).then_some(at..end + 1)
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
