//! Where the field's readers accept more than the event parser: the same text, reworded for it byte by byte.
//!
//! The event parser reads a copy of the same length in which a few bytes are replaced; positions stay the same and
//! content is taken from the original. Cases: old line separators (NEL, LS, PS), tabs that indent the inside of
//! brackets, a lone `-` inside brackets, a colon before a bracket or comma, a comment that touches what it follows, quoted scalars whose lines are not indented.

use granit_parser::ErrorKind;

use super::{Doc, quoted};
use crate::tree::{Kind, Style};

/// Old line separators end a line everywhere. Gives the copy that has them so, if that makes a difference; those in the
/// quotes of `docs` stay as they are, where the event parser has no line to find fault with.
pub(super) fn separators(events: &str, docs: Option<&[Doc]>) -> Option<String> {
    if !events.contains(SEPARATORS) {
        return None;
    }
    let quoted: Vec<std::ops::Range<usize>> = docs
        .unwrap_or_default()
        .iter()
        .flat_map(|doc| {
            let base = doc.range.start;
            let nodes = doc.tree.nodes.iter();
            nodes
                .filter(|node| matches!(node.style, Style::SingleQuoted | Style::DoubleQuoted))
                .map(move |node| base + node.content as usize..base + node.end as usize)
        })
        .collect();
    let inside = |at: usize| {
        let next = quoted.partition_point(|range| range.end <= at);
        quoted.get(next).is_some_and(|range| range.contains(&at))
    };
    let mut out = String::with_capacity(events.len());
    let mut changed = false;
    for (at, c) in events.char_indices() {
        match c {
            '\u{85}' if !inside(at) => out.push_str("\r\n"),
            '\u{2028}' | '\u{2029}' if !inside(at) => out.push_str(" \r\n"),
            _ => {
                out.push(c);
                continue;
            }
        }
        changed = true;
    }
    changed.then_some(out)
}

/// Old line separators.
pub(super) const SEPARATORS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Rewords the place that the event parser stumbled over, if the readers do not.
pub(super) fn reword(events: &str, kind: &ErrorKind, at: usize, reached: usize) -> Option<String> {
    match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::InvalidIndentation => quoted::find(events, reached)
            .filter(|range| range.contains(&at) || range.end == at)
            .and_then(|range| quoted::on_one_line(events, range))
            .or_else(|| leading_tabs(events, at)),
        ErrorKind::CommentNotSeparated => touching_comment(events, at),
        _ => lone_dash(events, at),
    }
}

/// Replaces the tabs that lines begin with by spaces, on the lines around a place that begin with one. Legal only
/// inside brackets: see [`tabs_in_brackets`].
fn leading_tabs(events: &str, at: usize) -> Option<String> {
    let indented = |line: &str| line.trim_start_matches(' ').starts_with('\t');
    let lines: Vec<&str> = events.split_inclusive(['\n', '\r']).collect();
    let mut ends = lines.iter().scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    });
    let here = ends.position(|end| end > at)?;
    let first = here
        - lines[..here]
            .iter()
            .rev()
            .take_while(|line| indented(line))
            .count();
    let count = lines[first..]
        .iter()
        .take_while(|line| indented(line))
        .count();
    let mut out: String = lines[..first].concat();
    for line in &lines[first..first + count] {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        out.extend(std::iter::repeat_n(' ', blank));
        out.push_str(&line[blank..]);
    }
    out.push_str(&lines[first + count..].concat());
    (count > 0).then_some(out)
}

/// Whether every tab that was replaced stands inside brackets.
pub(super) fn tabs_in_brackets(text: &str, events: &str, docs: &[Doc]) -> Result<(), usize> {
    if text.len() != events.len() || !text.contains('\t') {
        return Ok(());
    }
    let mut brackets: Vec<std::ops::Range<usize>> = docs
        .iter()
        .flat_map(|doc| {
            let base = doc.range.start;
            let nodes = doc.tree.nodes.iter();
            nodes
                .filter(|node| node.style == Style::Flow && node.kind != Kind::Scalar)
                .map(move |node| base + node.content as usize..base + node.end as usize)
        })
        .collect();
    brackets.dedup_by(|next, outer| outer.end >= next.end);
    let replaced = text.bytes().zip(events.bytes()).enumerate();
    for (at, _) in replaced.filter(|(_, (old, new))| *old == b'\t' && *new == b' ') {
        let next = brackets.partition_point(|range| range.end <= at);
        if !brackets.get(next).is_some_and(|range| range.contains(&at)) {
            return Err(at);
        }
    }
    Ok(())
}

/// `|# comment`, `"x"# comment`: the copy has blanks in the place of the comment.
fn touching_comment(events: &str, at: usize) -> Option<String> {
    let bytes = events.as_bytes();
    let hash = (at.saturating_sub(4)..at + 4).find(|at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let allowed = matches!(
            before,
            Some(b'|' | b'>' | b'+' | b'-' | b'0'..=b'9' | b'"' | b'\'' | b']' | b'}')
        );
        bytes.get(*at) == Some(&b'#') && allowed
    })?;
    let end = events[hash..]
        .find(['\n', '\r'])
        .map_or(events.len(), |length| hash + length);
    let mut out = events[..hash].to_owned();
    out.extend(std::iter::repeat_n(' ', end - hash));
    out.push_str(&events[end..]);
    Some(out)
}

/// `[a:]`: for the readers a colon inside brackets ends a plain key where a blank follows; else it is a part of the scalar. The
/// copy has a letter in its place.
pub(super) fn colons(text: &str, events: &str, docs: &[Doc]) -> Option<String> {
    let mut found = Vec::new();
    for doc in docs {
        let nodes = doc.tree.nodes.iter().enumerate();
        let pairs =
            nodes.filter(|(_, node)| node.style == Style::Flow && node.kind == Kind::Mapping);
        for (id, _) in pairs {
            for pair in doc.tree.children(id as u32).chunks_exact(2) {
                let (key, value) = (doc.tree.node(pair[0]), doc.tree.node(pair[1]));
                let plain = key.kind == Kind::Scalar && key.style == Style::Plain;
                let touches = plain && key.end > key.start && value.mark == key.end;
                let at = doc.range.start + value.mark as usize;
                let next = text.as_bytes().get(at + 1);
                if touches && next.is_some_and(|next| b",[]{}".contains(next)) {
                    found.push(at);
                }
            }
        }
    }
    let mut out = events.to_owned();
    for at in &found {
        out.replace_range(at..&(at + 1), "x");
    }
    (!found.is_empty()).then_some(out)
}

/// `[-]`: the copy has a letter in the place of the dash.
fn lone_dash(events: &str, at: usize) -> Option<String> {
    let bytes = events.as_bytes();
    let dash = (at.saturating_sub(1)..=at + 1).find(|at| {
        bytes.get(*at) == Some(&b'-') && matches!(bytes.get(at + 1), Some(b',' | b']' | b'}'))
    })?;
    let mut out = events[..dash].to_owned();
    out.push('x');
    out.push_str(&events[dash + 1..]);
    Some(out)
}
