//! Entries and items of block collections: put in, taken out, renamed.

use super::Patch;
use super::change::New;
use super::geometry::{Slot, View};
use super::surroundings::{context, format};
use crate::error::Error;
use crate::quote::{self, Context};
use crate::tree::{Content, Id, NONE, NodeKind, Style};
use crate::write::{At, Format, Marker, Writer};

/// Puts an entry (with a key) or an item before the one at `index`, or behind the last.
///
/// Behind another one it goes on a line of its own after everything that belongs to that one. As the first of a collection that
/// begins behind a dash (`- a: 1`) it takes that place, and the old first one gets a line. Else it stands above the first
/// one's own comments, so that they stay with what they describe.
pub(super) fn insert(
    view: View<'_>,
    parent: Id,
    index: usize,
    key: Option<&str>,
    new: &New,
) -> Result<Vec<Patch>, Error> {
    let slots = view.slots(parent);
    let near = view.slot(parent, index.min(slots - 1));
    let mut format = format(view, near.start);
    if key.is_none() {
        format.dash = item_offset(view, &near).unwrap_or(format.dash);
    }
    let col = view.slot(parent, 0).col;
    let mut writer = Writer::new(&format);
    let head: Vec<&str> = match new {
        New::Copy(fragment) => fragment.head_comments(),
        New::Value(_) => Vec::new(),
    };
    if index > 0 {
        // Behind the last line of the entry before, with the deeper comments below that are its own.
        let before = view.slot(parent, index - 1);
        let at = view.extent(&before);
        let format = Format {
            eol: view.eol(before.end),
            ..format.clone()
        };
        let mut writer = Writer::new(&format);
        for comment in head {
            writer.line(col);
            writer.text(comment);
        }
        writer.line(col);
        entry(&mut writer, col, key, new);
        let mut patches = finish(view, writer, at..at);
        patches.extend(strip_at_end(view, before.value, at));
        return Ok(patches);
    }
    let first = view.slot(parent, 0);
    if !view.first_on_line(first.start) {
        entry(&mut writer, col, key, new);
        writer.line(col);
        return Ok(vec![Patch::new(first.start..first.start, writer.out)]);
    }
    let at = view.head(parent, 0).start;
    writer.text(&" ".repeat(col));
    for comment in head {
        writer.text(comment);
        writer.line(col);
    }
    entry(&mut writer, col, key, new);
    writer.text(format.eol);
    Ok(vec![Patch::new(at..at, writer.out)])
}

/// Writes an entry or an item, its marker included; the cursor stands at its column.
fn entry(writer: &mut Writer<'_>, col: usize, key: Option<&str>, new: &New) {
    let marker = if key.is_some() {
        Marker::Colon
    } else {
        Marker::Dash
    };
    match key {
        Some(key) => writer.key(key, col, Context::Block),
        None => writer.text("-"),
    }
    let comment = match new {
        New::Copy(fragment) => fragment.line_comment(),
        New::Value(_) => None,
    };
    new.after(
        writer,
        Style::Literal,
        At {
            marker,
            owner: col,
            properties: "",
            comment,
        },
    );
}

/// Takes an entry or an item out, with the comments above it that are its own and all lines that it spans.
///
/// The only one behind a dash leaves nothing, the first of several there hands its place to the next; the last one of a text
/// without a final line break takes the break before it along, unless a block scalar needs that.
pub(super) fn remove(view: View<'_>, parent: Id, index: usize) -> Vec<Patch> {
    let slot = view.slot(parent, index);
    let extent = view.extent(&slot);
    let end = view.after_break(extent);
    if !view.first_on_line(slot.start) && index + 1 == view.slots(parent) {
        let from = view.slot(parent, index.saturating_sub(1)).end;
        return vec![Patch::new(from..slot.end, "")];
    }
    if !view.first_on_line(slot.start) {
        // The first of a compact collection: the next one moves up to the dash.
        let next = view.slot(parent, index + 1);
        let comments = view.tree.comments_in(end as u32..next.start as u32);
        let to = comments
            .first()
            .map_or(next.start, |comment| comment.start as usize);
        return vec![Patch::new(slot.start..to, "")];
    }
    let from = view.head(parent, index).start;
    if end == extent && index > 0 {
        // At the end of a text without a final line break the line before loses its own.
        let before = view.slot(parent, index - 1);
        let mut last = before.value;
        while let Some(child) = view.tree.children(last).last() {
            last = *child;
        }
        let block = matches!(view.node(last).style, Style::Literal | Style::Folded);
        let line = view.text[..from].trim_end_matches(['\n', '\r']).len();
        let kept_break = block || view.text[line..from].matches('\n').count() > 1;
        return vec![Patch::new(if kept_break { from } else { line }..end, "")];
    }
    vec![Patch::new(from..end, "")]
}

pub(super) fn rename(view: View<'_>, parent: Id, index: usize, to: &str) -> Vec<Patch> {
    let slot = view.slot(parent, index);
    let key = view.node(slot.key);
    let like = match key.style {
        Style::SingleQuoted | Style::DoubleQuoted => key.style,
        _ => Style::Plain,
    };
    let text = quote::string(to, like, context(view, parent));
    let from = if key.kind == NodeKind::Alias {
        key.start
    } else {
        key.content
    };
    if key.start == key.end && key.mark != NONE {
        let behind = key.mark as usize + 1;
        return vec![Patch::new(behind..behind, format!(" {text}"))];
    }
    vec![Patch::new(from as usize..key.end as usize, text)]
}

/// A block scalar that ends the text without a line break would gain one from what is put behind it: it gets a `-`.
pub(super) fn strip_at_end(view: View<'_>, mut id: Id, at: usize) -> Option<Patch> {
    while let Some(last) = view.tree.children(id).last() {
        id = *last;
    }
    let node = view.node(id);
    let block = matches!(node.style, Style::Literal | Style::Folded);
    if at != view.text.len() || !block || node.end as usize != at {
        return None;
    }
    let (start, text) = (node.content as usize, view.text);
    let length = text[start + 1..]
        .bytes()
        .take_while(|b| matches!(b, b'+' | b'-' | b'0'..=b'9'))
        .count();
    let header = &text[start + 1..start + 1 + length];
    let empty = matches!(&node.value, Content::Owned(value) if value.is_empty());
    if header.contains('-') || empty {
        return None;
    }
    let header = format!("{}-", header.replace('+', ""));
    Some(Patch::new(start + 1..start + 1 + length, header))
}

/// How far an item stands behind its dash; `None` when it is not on the dash's line.
pub(super) fn item_offset(view: View<'_>, slot: &Slot) -> Option<usize> {
    let item = view.node(slot.value);
    let start = item.start as usize;
    let near = item.end > item.start && slot.start < start && view.same_line(slot.start, start);
    (near && start - slot.start <= 9).then(|| start - slot.start)
}

/// A patch that ends a line: where the text ends without a line break, an open block scalar gets one.
pub(super) fn finish(
    view: View<'_>,
    writer: Writer<'_>,
    range: std::ops::Range<usize>,
) -> Vec<Patch> {
    let mut text = writer.out;
    if writer.open_block && range.end == view.text.len() {
        text.push_str(view.eol(range.start));
    }
    vec![Patch::new(range, text)]
}
