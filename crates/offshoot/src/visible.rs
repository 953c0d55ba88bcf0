//! Text of packages as it is shown to people: what a terminal or a browser would obey instead of showing is written as its
//! code, so that no file hides a line of a diff from whoever reviews it. What programs read (JSON, files that are pulled) is
//! never changed.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with such characters as `<U+202E>`; lines, whichever way they end, and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let ends_a_line = c == '\r' && rest.peek() == Some(&'\n');
        if is_obeyed(c) && !ends_a_line {
            // Writing to a string cannot fail.
            _ = write!(out, "<U+{:04X}>", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The same of what is shown in one line, as a name or a path: it makes no other line that a reader takes for ours.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    match text.contains(['\n', '\r']) {
        true => Cow::Owned(
            visible(&text.replace('\r', "<U+000D>").replace('\n', "<U+000A>")).into_owned(),
        ),
        false => visible(text),
    }
}

/// So many of something, in words.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// Control characters, marks of direction, and what has no width: Unicode's categories `Cc` and `Cf` as far as they occur
/// outside of single scripts.
fn is_obeyed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_hide_or_turn_text_is_shown_by_its_code() {
        let shown = [
            (
                "image: a\u{1b}[2K\rimage: b\n",
                "image: a<U+001B>[2K<U+000D>image: b\n",
            ),
            (
                "user\u{202e} // \u{2066}admin",
                "user<U+202E> // <U+2066>admin",
            ),
            ("ad\u{200b}min\u{feff}", "ad<U+200B>min<U+FEFF>"),
            ("tag\u{e0041}", "tag<U+E0041>"),
        ];
        for (text, wanted) in shown {
            assert_eq!(visible(text), wanted);
        }
    }

    #[test]
    fn a_name_makes_no_line_of_its_own() {
        assert_eq!(
            line("a\nb\r\n\u{202e}"),
            "a<U+000A>b<U+000D><U+000A><U+202E>"
        );
        assert!(matches!(line("a\tb"), Cow::Borrowed("a\tb")));
    }

    #[test]
    fn lines_tabs_and_letters_of_all_scripts_stay_as_they_are() {
        assert_eq!(visible("a\r\nb\r\n"), "a\r\nb\r\n");
        for text in ["a\n\tb", "größe: 1 → 2", "日本語", "עברית", "👍"] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }
}
