//! The comments and texts of a Rust source: what people read, apart from what the compiler does.

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A comment, or a line of a file that is not Rust.
    Comment,
    /// A text in quotes.
    Text,
}

/// A part of a source, with its marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'a> {
    /// The line in which it begins.
    pub(super) line: usize,
    pub(super) kind: PartKind,
    pub(super) text: &'a str,
}

/// All comments and texts of a source, in order.
pub(super) fn parts(source: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut rest, mut line, mut before) = (source, 1, ' ');
    while !rest.is_empty() {
        let (kind, length) = begins(rest, before);
        let (text, tail) = rest.split_at(length);
        if let Some(kind) = kind {
            parts.push(Part { line, kind, text });
        }
        line += text.matches('\n').count();
        before = text.chars().next_back().unwrap_or(before);
        rest = tail;
    }
    parts
}

/// What begins here, and how many bytes it takes.
fn begins(rest: &str, before: char) -> (Option<PartKind>, usize) {
    let through = |from: usize, mark: &str| {
        let found = rest.get(from..).and_then(|text| text.find(mark));
        found.map_or(rest.len(), |at| from + at + mark.len())
    };
    if rest.starts_with("//") {
        return (
            Some(PartKind::Comment),
            rest.find('\n').unwrap_or(rest.len()),
        );
    }
    if rest.starts_with("/*") {
        return (Some(PartKind::Comment), through(2, "*/"));
    }
    if !before.is_alphanumeric()
        && before != '_'
        && let Some((opening, closing)) = raw(rest)
    {
        return (Some(PartKind::Text), through(opening, &closing));
    }
    if rest.starts_with('"') {
        return (Some(PartKind::Text), quoted(rest));
    }
    (
        None,
        character(rest).unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8)),
    )
}

/// The length of what opens a raw text, and what closes it.
fn raw(rest: &str) -> Option<(usize, String)> {
    let inner = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let text = inner.trim_start_matches('#');
    let hashes = inner.len() - text.len();
    let opening = rest.len() - text.strip_prefix('"')?.len();
    Some((opening, format!("\"{}", "#".repeat(hashes))))
}

/// The length of a text in quotes.
fn quoted(rest: &str) -> usize {
    let mut escaped = true; // The quote that opens it.
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character in quotes; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let first = inner.chars().next()?;
    let length = match first {
        '\\' => 2 + inner.get(2..)?.find('\'')?,
        _ => first.len_utf8(),
    };
    inner.get(length..)?.starts_with('\'').then_some(length + 2)
}
