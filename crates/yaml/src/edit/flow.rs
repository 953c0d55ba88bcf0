//! Changes inside brackets: what is flow stays flow, what is JSON stays JSON.

use super::Patch;
use super::change::New;
use super::geometry::{Slot, View};
use super::surroundings::context;
use crate::error::Error;
use crate::quote::Context;
use crate::tree::{Id, NONE, Style};
use crate::write::{Format, Writer};

/// Replaces the value of an entry or an item.
pub(super) fn replace(
    view: View<'_>,
    slot: &Slot,
    like: Style,
    kept: &str,
    new: &New,
    context: Context,
) -> Result<Vec<Patch>, Error> {
    let node = view.node(slot.value);
    let format = Format::default();
    let mut writer = Writer::new(&format);
    let (start, end) = (node.start as usize, node.end as usize);
    let from = if start < end {
        start
    } else if slot.mark == NONE {
        // A key alone: `{a}`.
        writer.text(": ");
        slot.end
    } else {
        writer.text(" ");
        slot.mark as usize + 1
    };
    writer.properties(kept);
    new.flow(&mut writer, like, context)?;
    Ok(vec![Patch::new(from..end.max(from), writer.out)])
}

/// Inserts an entry or an item.
pub(super) fn insert(
    view: View<'_>,
    parent: Id,
    index: usize,
    key: Option<&str>,
    new: &New,
) -> Result<Vec<Patch>, Error> {
    let context = context(view, parent);
    let slots = view.slots(parent);
    let near = view.slot(parent, index.min(slots - 1));
    let format = Format {
        eol: view.eol(near.start),
        ..Format::default()
    };
    let mut writer = Writer::new(&format);
    if let Some(key) = key {
        writer.key(key, 0, context);
        writer.text(" ");
    }
    new.flow(&mut writer, Style::Plain, context)?;
    let text = writer.out;
    let line = |at: usize| format!("{}{}", format.eol, " ".repeat(view.column(at)));
    if index < slots {
        let separator = if view.first_on_line(near.start) {
            line(near.start)
        } else {
            " ".to_owned()
        };
        return Ok(vec![Patch::new(
            near.start..near.start,
            format!("{text},{separator}"),
        )]);
    }
    let multi_line = view.first_on_line(near.start);
    let separator = if multi_line {
        line(near.start)
    } else {
        " ".to_owned()
    };
    if let Some(comma) = comma_after(view, near.end, view.node(parent).end as usize - 1) {
        return Ok(vec![Patch::new(
            comma + 1..comma + 1,
            format!("{separator}{text}"),
        )]);
    }
    let inside = |end: u32| end < view.node(parent).end;
    match view
        .comment_after(near.end)
        .filter(|comment| multi_line && inside(comment.end))
    {
        // The comment stays with the entry before.
        Some(comment) => {
            let end = comment.end as usize;
            Ok(vec![
                Patch::new(near.end..near.end, ","),
                Patch::new(end..end, format!("{separator}{text}")),
            ])
        }
        None => Ok(vec![Patch::new(
            near.end..near.end,
            format!(",{separator}{text}"),
        )]),
    }
}

/// The comma between two places, comments passed over.
fn comma_after(view: View<'_>, from: usize, to: usize) -> Option<usize> {
    let comments = view.tree.comments_in(from as u32..to as u32);
    view.text[from..to]
        .match_indices(',')
        .map(|(at, _)| from + at)
        .find(|at| {
            comments
                .iter()
                .all(|comment| !(comment.start as usize..comment.end as usize).contains(at))
        })
}

/// Removes one of several entries or items.
pub(super) fn remove(view: View<'_>, parent: Id, index: usize) -> Vec<Patch> {
    let slot = view.slot(parent, index);
    if index + 1 < view.slots(parent) {
        let next = view.slot(parent, index + 1);
        if view.first_on_line(slot.start) && view.first_on_line(next.start) {
            let (from, to) = (
                view.head(parent, index).start,
                view.head(parent, index + 1).start,
            );
            return vec![Patch::new(from..to, "")];
        }
        let comments = view.tree.comments_in(slot.end as u32..next.start as u32);
        let own = comments.iter().find(|comment| comment.own_line);
        let to = own.map_or(next.start, |comment| comment.start as usize);
        return vec![Patch::new(slot.start..to, "")];
    }
    let before = view.slot(parent, index - 1);
    let between = view.tree.comments_in(before.end as u32..slot.start as u32);
    if between.is_empty() {
        return vec![Patch::new(before.end..slot.end, "")];
    }
    let mut patches = Vec::new();
    if let Some(comma) = comma_after(view, before.end, slot.start) {
        patches.push(Patch::new(comma..comma + 1, ""));
    }
    let from = if view.first_on_line(slot.start) {
        view.head(parent, index).start
    } else {
        slot.start
    };
    let close = view.node(parent).end as usize - 1;
    let whole_line = view.first_on_line(slot.start) && view.first_on_line(close);
    let to = if whole_line {
        view.line_start(close)
    } else {
        slot.end
    };
    patches.push(Patch::new(from..to.max(slot.end), ""));
    patches
}
