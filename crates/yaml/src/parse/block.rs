//! Block scalars: `|` and `>` with the indented lines below.

use super::cursor::Cursor;
use crate::error::Error;

/// What becomes of the line breaks at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Strip,
    Clip,
    Keep,
}

/// Reads the block scalar whose header stands at the cursor, in a collection of this indentation (-1 outside all). Answers its content,
/// and where it ends: behind its last content line (behind the blank lines after it where they are kept), without its line break.
pub(super) fn read(cursor: &mut Cursor<'_>, around: i64) -> Result<(String, usize), Error> {
    let start = cursor.pos;
    let literal = cursor.peek() == Some(b'|');
    let (chomp, increment) = header(cursor)?;
    let mut end = cursor.pos;
    rest_of_header(cursor, start)?;
    let mut lines = Lines {
        around,
        indent: increment.map_or(0, |by| around.max(0) as usize + by),
        breaks: String::new(),
        last_break: None,
    };
    lines.pass_blank(cursor)?;
    let mut content = String::new();
    let mut leading_break: Option<char> = None;
    let mut leading_blank = false;
    while cursor.column() == lines.indent && cursor.pos < cursor.bytes.len() {
        let trailing_blank = cursor.is_blank(cursor.pos);
        let folds = !literal && !leading_blank && !trailing_blank && leading_break == Some('\n');
        if folds {
            if lines.breaks.is_empty() {
                content.push(' ');
            }
        } else {
            content.extend(leading_break);
        }
        content.push_str(&lines.breaks);
        lines.breaks.clear();
        leading_blank = trailing_blank;
        let line = cursor.pos;
        while !cursor.is_break_or_end(cursor.pos) {
            cursor.pos += 1;
        }
        content.push_str(&cursor.text[line..cursor.pos]);
        end = cursor.pos;
        leading_break = cursor.pass_break();
        lines.last_break = None;
        lines.pass_blank(cursor)?;
    }
    if chomp != Chomp::Strip {
        content.extend(leading_break);
    }
    if chomp == Chomp::Keep {
        content.push_str(&lines.breaks);
        end = lines.last_break.unwrap_or(end);
    }
    Ok((content, end))
}

/// Passes the indicator, how it ends and its indentation, in either order.
fn header(cursor: &mut Cursor<'_>) -> Result<(Chomp, Option<usize>), Error> {
    cursor.pos += 1;
    let (mut chomp, mut increment) = (None, None);
    for _ in 0..2 {
        match cursor.peek() {
            Some(b'+') if chomp.is_none() => chomp = Some(Chomp::Keep),
            Some(b'-') if chomp.is_none() => chomp = Some(Chomp::Strip),
            Some(b'0') if increment.is_none() => {
                let message = "found an indentation indicator equal to 0";
                return Err(cursor.error(cursor.pos, message));
            }
            Some(digit @ b'1'..=b'9') if increment.is_none() => {
                increment = Some(usize::from(digit - b'0'));
            }
            _ => break,
        }
        cursor.pos += 1;
    }
    Ok((chomp.unwrap_or(Chomp::Clip), increment))
}

/// Passes blanks, a comment (which may touch what stands before it) and the line break.
fn rest_of_header(cursor: &mut Cursor<'_>, start: usize) -> Result<(), Error> {
    cursor.pass_blanks();
    if cursor.peek() == Some(b'#') {
        cursor.pass_comment();
    }
    if !cursor.is_break_or_end(cursor.pos) {
        return Err(cursor.error(start, "did not find expected comment or line break"));
    }
    cursor.pass_break();
    Ok(())
}

/// The blank lines before a content line, and the indentation, which the first content line decides.
struct Lines {
    around: i64,
    /// 0 until it is known.
    indent: usize,
    /// The breaks of blank lines since the last content line.
    breaks: String,
    /// Where the last of them stands.
    last_break: Option<usize>,
}

impl Lines {
    /// Passes blank lines and the indentation of the line behind them.
    fn pass_blank(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let mut widest = 0;
        loop {
            while self.before_content(cursor) && cursor.peek() == Some(b' ') {
                cursor.pos += 1;
            }
            widest = widest.max(cursor.column());
            if self.before_content(cursor) && cursor.peek() == Some(b'\t') {
                let message = "found a tab character where an indentation space is expected";
                return Err(cursor.error(cursor.pos, message));
            }
            let at = cursor.pos;
            let Some(stands_for) = cursor.pass_break() else {
                break;
            };
            self.breaks.push(stands_for);
            self.last_break = Some(at);
        }
        if self.indent == 0 {
            self.indent = widest.max((self.around + 1).max(1) as usize);
        }
        Ok(())
    }

    fn before_content(&self, cursor: &Cursor<'_>) -> bool {
        self.indent == 0 || cursor.column() < self.indent
    }
}
