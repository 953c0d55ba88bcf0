//! Texts as Go's `%q` and `%v` print them, because results are compared word for word.

/// A text in double quotes, escaped as Go does.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c if c.is_control() || c == '\u{feff}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of texts in brackets, as `%v` prints it.
pub(crate) fn list<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> String {
    let texts: Vec<_> = texts
        .into_iter()
        .map(|text| text.as_ref().to_owned())
        .collect();
    format!("[{}]", texts.join(" "))
}
