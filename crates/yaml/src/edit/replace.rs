//! Another node in the place of one: a value behind its marker, or the root of a document.

use super::Patch;
use super::change::New;
use super::entries::{finish, item_offset};
use super::flow;
use super::geometry::{Slot, View};
use super::surroundings::{context, format};
use crate::error::{Error, ErrorKind};
use crate::quote::{self, Context};
use crate::tree::{Id, NONE, NodeData, NodeKind, Style};
use crate::value::Value;
use crate::write::{At, Format, Marker, Writer, value_is_block};

pub(super) fn replace(view: View<'_>, id: Id, new: &New) -> Result<Vec<Patch>, Error> {
    if id == NONE {
        return Ok(fill(view, view.text.len(), new));
    }
    let node = view.node(id);
    let kept = kept_properties(view, node, new);
    let Some((parent, _, slot)) = view.slot_of(id) else {
        return Ok(replace_root(view, id, &kept, new));
    };
    if slot.value != id {
        return Err(Error::at(
            ErrorKind::Path,
            view.text,
            node.start as usize,
            "a key cannot be set",
        ));
    }
    let like = match (node.kind, new) {
        (NodeKind::Scalar, _) if node.start != node.end => node.style,
        _ => Style::Literal,
    };
    match context(view, parent) {
        Context::Block => Ok(replace_block(view, &slot, like, &kept, new)),
        context => flow::replace(view, &slot, like, &kept, new, context),
    }
}

/// The anchor and the foreign tag of a node, which stay when its value changes.
fn kept_properties(view: View<'_>, node: &NodeData, new: &New) -> String {
    let mut kept = Vec::new();
    if !node.anchor.is_empty() && node.kind != NodeKind::Alias {
        kept.push(format!(
            "&{}",
            &view.text[node.anchor.start as usize..node.anchor.end as usize]
        ));
    }
    match new {
        New::Copy(fragment) => kept.extend(fragment.tag_source().map(str::to_owned)),
        New::Value(_) => {
            // A foreign tag makes a string of every scalar; a collection stays one whatever its tag says.
            let stays = match (new, node.kind) {
                (New::Value(Value::Map(_)), NodeKind::Mapping)
                | (New::Value(Value::Seq(_)), NodeKind::Sequence) => true,
                (New::Value(Value::Str(_) | Value::Seq(_) | Value::Map(_)), _) => node
                    .tag
                    .as_deref()
                    .is_some_and(|tag| tag.starts_with('!') && !tag.starts_with("!!")),
                _ => false,
            };
            let written = &view.text[node.start as usize..node.content as usize];
            let tag = written
                .split_ascii_whitespace()
                .find(|word| word.starts_with('!') && *word != "!");
            kept.extend(tag.filter(|_| stays).map(str::to_owned));
        }
    }
    kept.join(" ")
}

/// Replaces the value of a block entry.
fn replace_block(view: View<'_>, slot: &Slot, like: Style, kept: &str, new: &New) -> Vec<Patch> {
    let node = view.node(slot.value);
    let (start, end) = (node.start as usize, node.end as usize);
    let dash = slot.key == NONE;
    let mut format = format(view, slot.start);
    if dash && node.style == Style::Block {
        format.dash = item_offset(view, slot).unwrap_or(format.dash);
    }
    let mut writer = Writer::new(&format);
    let one_line = !matches!(node.style, Style::Block | Style::Literal | Style::Folded);
    if one_line && new.is_inline(like) && start < end {
        writer.properties(kept);
        scalar_text(&mut writer, new, like, slot.col);
        return vec![Patch::new(start..end, writer.out)];
    }
    if let Some(patch) = fill_brackets(view, slot, new) {
        return vec![patch];
    }
    let comment = view.line_comment(slot);
    let text = comment.map(|comment| &view.text[comment.start as usize..comment.end as usize]);
    let behind = comment.map_or(end, |comment| end.max(comment.end as usize));
    let at = At {
        marker: if dash { Marker::Dash } else { Marker::Colon },
        owner: slot.col,
        properties: kept,
        comment: None,
    };
    if slot.mark == NONE {
        // An explicit key without a value.
        writer.line(slot.col);
        writer.text(":");
        new.after(&mut writer, like, at);
        let extent = view.extent(slot);
        return finish(view, writer, extent..extent);
    }
    let from = slot.mark as usize + 1;
    match new {
        New::Value(Value::Str(string)) if matches!(node.style, Style::Literal | Style::Folded) => {
            writer.properties(kept);
            if !writer.block_scalar(string, like, slot.col, text) {
                writer.text(&quote::string(string, Style::DoubleQuoted, Context::Block));
                text.into_iter().for_each(|text| writer.comment(text));
            }
            return finish(view, writer, start..behind);
        }
        _ if start == end && new.is_inline(like) && node.style == Style::Plain => {
            // Nothing stood there: the comment on the line keeps its distance.
            new.after(&mut writer, like, at);
            return vec![Patch::new(from..end.max(from), writer.out)];
        }
        _ => {}
    }
    let to = match node.style {
        Style::Block => view.extent(slot),
        _ => behind.max(from),
    };
    let rest = &view.text[to..view.line_end(to)];
    let blank = rest.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
    let to = if blank { to + rest.len() } else { to };
    let at = At {
        comment: text,
        ..at
    };
    new.after(&mut writer, like, at);
    finish(view, writer, from..to)
}

/// An empty `[]` that gets one scalar keeps its brackets.
fn fill_brackets(view: View<'_>, slot: &Slot, new: &New) -> Option<Patch> {
    let node = view.node(slot.value);
    let New::Value(Value::Seq(items)) = new else {
        return None;
    };
    let [item] = items.as_slice() else {
        return None;
    };
    if node.style != Style::Flow || node.kind != NodeKind::Sequence || value_is_block(item) {
        return None;
    }
    let brackets = view.text[node.content as usize..node.end as usize] == *"[]";
    let text = format!("[{}]", quote::inline(item, Style::Plain, Context::Flow));
    brackets.then(|| Patch::new(node.content as usize..node.end as usize, text))
}

/// Writes an inline value without what stands before it.
fn scalar_text(writer: &mut Writer<'_>, new: &New, like: Style, owner: usize) {
    match new {
        New::Value(value) => writer.scalar(value, like, owner, None),
        New::Copy(fragment) => fragment.inline(writer, owner),
    }
}

fn replace_root(view: View<'_>, id: Id, kept: &str, new: &New) -> Vec<Patch> {
    let node = view.node(id);
    let (start, end) = (node.start as usize, node.end as usize);
    if start == end {
        return fill(view, view.tree.tail as usize, new);
    }
    let slot = Slot {
        key: NONE,
        value: id,
        start,
        end,
        col: 0,
        mark: NONE,
    };
    let to = if node.style == Style::Flow || start == end {
        end
    } else {
        view.extent(&slot).max(end)
    };
    let format = format(view, start);
    let mut writer = Writer::new(&format);
    let flow = node.style == Style::Flow && node.kind != NodeKind::Scalar;
    if flow && matches!(new, New::Value(_)) {
        let context = context(view, id);
        writer.properties(kept);
        if let New::Value(value) = new {
            writer.flow(value, Style::Plain, context);
        }
        return vec![Patch::new(start..end, writer.out)];
    }
    let to = if new.is_block() || node.style == Style::Block {
        to
    } else {
        end
    };
    root_text(view, &mut writer, new, kept, start);
    finish(view, writer, start..to)
}

/// Writes a whole root at a place.
fn root_text(view: View<'_>, writer: &mut Writer<'_>, new: &New, kept: &str, at: usize) {
    if !kept.is_empty() {
        writer.text(kept);
    }
    let own_line = view.first_on_line(at) && kept.is_empty();
    if new.is_block() && !own_line {
        writer.line(0);
    } else if !kept.is_empty() {
        writer.text(" ");
    }
    match new {
        New::Value(value) if value_is_block(value) => writer.block(value, 0),
        New::Value(value) => writer.scalar(value, Style::Literal, 0, None),
        New::Copy(fragment) => fragment.root(writer),
    }
}

/// Gives a document without any content its root, behind its comments.
fn fill(view: View<'_>, at: usize, new: &New) -> Vec<Patch> {
    let eol = view.eol(0);
    let format = Format {
        eol,
        blocks: view.blocks,
        ..Format::default()
    };
    let mut writer = Writer::new(&format);
    let open_line = at > 0
        && !view.text[..at].ends_with(['\n', '\r'])
        && !view.text[..at].ends_with('\u{feff}');
    if open_line {
        writer.text(eol);
    }
    match new {
        New::Value(value) if value_is_block(value) => writer.block(value, 0),
        New::Value(value) => writer.scalar(value, Style::Literal, 0, None),
        New::Copy(fragment) => fragment.root(&mut writer),
    }
    writer.text(eol);
    vec![Patch::new(at..at, writer.out)]
}
