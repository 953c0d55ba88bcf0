//! Documents put together into the text of a file.

/// Puts documents together; untouched ones in their old order give the old text, byte for byte.
pub(super) fn join<'p>(pieces: impl Iterator<Item = &'p str>, explicit: bool) -> String {
    let mut text = String::new();
    for (at, piece) in pieces.enumerate() {
        let marked = piece.starts_with("---");
        if at == 0 {
            let bare = piece
                .strip_prefix("---\n")
                .or_else(|| piece.strip_prefix("---\r\n"));
            text.push_str(bare.filter(|_| !explicit).unwrap_or(piece));
            continue;
        }
        // Behind a last line without a break the `---` would be part of that line.
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if marked {
            text.push_str(piece);
        } else {
            text.push_str("---\n");
            push_unmarked(&mut text, piece);
        }
    }
    text
}

/// Appends a document without the byte order marks before its content: one begins a file, also after comments; behind a
/// `---` it would be part of a key.
fn push_unmarked(text: &mut String, piece: &str) {
    let mut rest = piece;
    while !rest.is_empty() {
        rest = rest.trim_start_matches('\u{feff}');
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let content = line.trim();
        if !content.is_empty() && !content.starts_with('#') {
            break;
        }
        let (head, tail) = rest.split_at(line.len());
        text.push_str(head);
        rest = tail;
    }
    text.push_str(rest);
}
