//! Writing one change into a document's text.

use super::fragment::Fragment;
use super::geometry::{Slot, View};
use super::{Patch, Place, comment, flow, patched, verify};
use crate::error::{Error, ErrorKind};
use crate::node::Node;
use crate::quote::{self, Context};
use crate::stream::Stream;
use crate::tree::{Content, Id, Kind, NONE, NodeData, Style, Tree};
use crate::value::Value;
use crate::write::{At, Format, Marker, Writer, value_is_block};

/// One change of the tree.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// Another node in the place of this one; [`NONE`] for a document without any.
    Replace { node: Id, new: New },
    /// A new entry or item before the one at `index` of a collection that has some.
    Insert {
        parent: Id,
        index: usize,
        key: Option<String>,
        new: New,
    },
    /// An entry or item less.
    Remove { parent: Id, index: usize },
    /// Another key.
    Rename {
        parent: Id,
        index: usize,
        to: String,
    },
    /// Another comment at the entry of a node.
    Comment {
        node: Id,
        place: Place,
        text: String,
    },
}

/// What a change brings in.
#[derive(Debug, Clone)]
pub(super) enum New {
    Value(Value),
    Copy(Fragment),
}

impl New {
    /// Whether it takes lines of its own in block style.
    fn is_block(&self) -> bool {
        match self {
            Self::Value(value) => value_is_block(value),
            Self::Copy(fragment) => fragment.is_block(),
        }
    }

    /// Whether it stands on one line behind its marker.
    fn is_inline(&self, like: Style) -> bool {
        match self {
            Self::Value(Value::Str(text)) => {
                !(text.contains('\n') && matches!(like, Style::Literal | Style::Folded))
            }
            Self::Value(value) => !value_is_block(value),
            Self::Copy(fragment) => fragment.is_inline(),
        }
    }

    fn after(&self, writer: &mut Writer<'_>, like: Style, at: At<'_>) {
        match self {
            Self::Value(value) => writer.after(value, like, at),
            Self::Copy(fragment) => fragment.after(writer, at),
        }
    }

    pub(super) fn flow(
        &self,
        writer: &mut Writer<'_>,
        like: Style,
        context: Context,
    ) -> Result<(), Error> {
        match self {
            Self::Value(value) => writer.flow(value, like, context),
            Self::Copy(fragment) => fragment.flow(writer, context)?,
        }
        Ok(())
    }
}

/// What became of a change.
pub(super) enum Outcome {
    Done(Stream),
    /// The change would have taken away anchors that are still referred to; the aliases were written out first, and
    /// the change is still to be made.
    Detached(Stream),
}

/// Makes a change: writes it, parses the result, and compares it with what was wanted.
pub(super) fn perform(stream: &Stream, doc: usize, op: &Op) -> Result<Outcome, Error> {
    if let Some(alias) = dangling(stream.tree(doc), op) {
        let node = Node {
            stream,
            doc,
            id: alias,
        };
        let new = New::Copy(Fragment::of(node.target()?));
        let written = written(stream, doc, &Op::Replace { node: alias, new })?;
        return Ok(Outcome::Detached(written));
    }
    written(stream, doc, op).map(Outcome::Done)
}

fn written(stream: &Stream, doc: usize, op: &Op) -> Result<Stream, Error> {
    let first = attempt(stream, doc, op, true);
    let Err(error) = &first else { return first };
    // A copied text that does not fit its new surroundings is written as its value, and a block scalar that would
    // take in what follows it is written in quotes.
    let plainer = plainer(op).and_then(Result::ok);
    let tries = [
        plainer.as_ref().map(|op| (op, true)),
        plainer.as_ref().map(|op| (op, false)),
        Some((op, false)),
    ];
    tries
        .into_iter()
        .flatten()
        .find_map(|(op, blocks)| attempt(stream, doc, op, blocks).ok())
        .ok_or_else(|| error.clone())
}

/// The same change with a value in the place of a copied text.
fn plainer(op: &Op) -> Option<Result<Op, Error>> {
    let value = |fragment: &Fragment| fragment.value().map(New::Value);
    match op {
        Op::Replace {
            node,
            new: New::Copy(fragment),
        } => Some(value(fragment).map(|new| Op::Replace { node: *node, new })),
        Op::Insert {
            parent,
            index,
            key,
            new: New::Copy(fragment),
        } => {
            let (parent, index, key) = (*parent, *index, key.clone());
            Some(value(fragment).map(|new| Op::Insert {
                parent,
                index,
                key,
                new,
            }))
        }
        _ => None,
    }
}

fn attempt(stream: &Stream, doc: usize, op: &Op, blocks: bool) -> Result<Stream, Error> {
    let view = View {
        blocks,
        ..stream.view(doc)
    };
    let mut patches = patches(view, op)?;
    let text = patched(view.text, &mut patches);
    let unwritable = |message: &str| {
        let at = patches.first().map_or(0, |patch| patch.from as u32);
        stream.error(ErrorKind::Unwritable, doc, at, message)
    };
    if doc + 1 < stream.docs().len() && !text.ends_with(['\n', '\r']) {
        return Err(unwritable("the result would run into the next document"));
    }
    let next = stream.with_doc(doc, &text).map_err(|error| {
        unwritable(&format!(
            "the result would not be valid ({})",
            error.message()
        ))
    })?;
    if verify::holds(stream, &next, doc, op) {
        Ok(next)
    } else {
        Err(unwritable("the result would not read back as wanted"))
    }
}

/// Finds an alias outside of what goes whose anchor stands inside of it.
fn dangling(tree: &Tree, op: &Op) -> Option<Id> {
    let (from, to) = match op {
        Op::Replace { node, .. } if *node != NONE => {
            // The node's own anchor stays.
            (node + 1, subtree_end(tree, *node))
        }
        Op::Remove { parent, index } => {
            let pair = tree.node(*parent).kind == Kind::Mapping;
            let children = tree.children(*parent);
            let first = children[if pair { index * 2 } else { *index }];
            let last = children[if pair { index * 2 + 1 } else { *index }];
            (first, subtree_end(tree, last))
        }
        _ => return None,
    };
    let ids = (0..tree.nodes.len() as Id).filter(|id| !(from..to).contains(id));
    ids.into_iter().find(|id| {
        let node = tree.node(*id);
        node.kind == Kind::Alias && (from..to).contains(&node.children.start)
    })
}

/// The first id behind a node's descendants: ids follow the text.
fn subtree_end(tree: &Tree, mut id: Id) -> Id {
    while let Some(last) = tree.children(id).last() {
        id = *last;
    }
    id + 1
}

/// Whether a node is a single pair inside a flow sequence, without brackets of its own.
pub(super) fn is_pair(node: Node<'_>) -> bool {
    node.kind() == Kind::Mapping && node.style() == Style::Flow && {
        let view = node.stream.view(node.doc);
        !view.text[node.data().content as usize..].starts_with('{')
    }
}

fn patches(view: View<'_>, op: &Op) -> Result<Vec<Patch>, Error> {
    match op {
        Op::Replace { node, new } => replace(view, *node, new),
        Op::Insert {
            parent,
            index,
            key,
            new,
        } if view.node(*parent).style == Style::Flow => {
            flow::insert(view, *parent, *index, key.as_deref(), new)
        }
        Op::Insert {
            parent,
            index,
            key,
            new,
        } => insert(view, *parent, *index, key.as_deref(), new),
        Op::Remove { parent, index } if view.slots(*parent) == 1 => {
            let empty = match view.node(*parent).kind {
                Kind::Mapping => Value::map(),
                _ => Value::Seq(Vec::new()),
            };
            replace(view, *parent, &New::Value(empty))
        }
        Op::Remove { parent, index } if view.node(*parent).style == Style::Flow => {
            Ok(flow::remove(view, *parent, *index))
        }
        Op::Remove { parent, index } => Ok(remove(view, *parent, *index)),
        Op::Rename { parent, index, to } => Ok(rename(view, *parent, *index, to)),
        Op::Comment { node, place, text } => comment::patches(view, *node, *place, text),
    }
}

/// How new text looks at a place.
fn format(view: View<'_>, at: usize) -> Format {
    Format {
        blocks: view.blocks,
        ..Format::of(view.tree, view.eol(at))
    }
}

/// Whether brackets are around a place, and whether the whole text is JSON.
pub(super) fn context(view: View<'_>, parent: Id) -> Context {
    if view.node(parent).style != Style::Flow {
        return Context::Block;
    }
    let tree = view.tree;
    let root = tree.node(tree.root);
    let key = tree.nodes.iter().enumerate().find(|(id, _)| {
        let parent = tree.nodes[*id].parent;
        parent != NONE
            && tree.node(parent).kind == Kind::Mapping
            && tree.children(parent).first() == Some(&(*id as Id))
    });
    let json = root.style == Style::Flow
        && key.is_none_or(|(_, key)| key.style == Style::DoubleQuoted)
        && tree
            .nodes
            .iter()
            .all(|node| node.style != Style::SingleQuoted);
    if json { Context::Json } else { Context::Flow }
}

/// The anchor and the foreign tag of a node, which stay when its value changes.
fn kept_properties(view: View<'_>, node: &NodeData, new: &New) -> String {
    let mut kept = Vec::new();
    if !node.anchor.is_empty() && node.kind != Kind::Alias {
        kept.push(format!(
            "&{}",
            &view.text[node.anchor.start as usize..node.anchor.end as usize]
        ));
    }
    match new {
        New::Copy(fragment) => kept.extend(fragment.tag_source().map(str::to_owned)),
        New::Value(_) => {
            // A foreign tag makes a string of every scalar.
            let fits = matches!(
                new,
                New::Value(Value::Str(_) | Value::Seq(_) | Value::Map(_))
            );
            let foreign = node
                .tag
                .as_deref()
                .is_some_and(|tag| fits && tag.starts_with('!') && !tag.starts_with("!!"));
            let written = &view.text[node.start as usize..node.content as usize];
            let tag = written
                .split_ascii_whitespace()
                .find(|word| word.starts_with('!') && *word != "!");
            kept.extend(tag.filter(|_| foreign).map(str::to_owned));
        }
    }
    kept.join(" ")
}

fn replace(view: View<'_>, id: Id, new: &New) -> Result<Vec<Patch>, Error> {
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
        (Kind::Scalar, _) if node.start != node.end => node.style,
        _ => Style::Literal,
    };
    match context(view, parent) {
        Context::Block => Ok(replace_block(view, &slot, like, &kept, new)),
        context => flow::replace(view, &slot, like, &kept, new, context),
    }
}

/// Replaces the value of a block entry.
fn replace_block(view: View<'_>, slot: &Slot, like: Style, kept: &str, new: &New) -> Vec<Patch> {
    let node = view.node(slot.value);
    let marker = if slot.key == NONE {
        Marker::Dash
    } else {
        Marker::Colon
    };
    let (start, end) = (node.start as usize, node.end as usize);
    let comment = view.line_comment(slot);
    let mut format = format(view, slot.start);
    if marker == Marker::Dash && node.style == Style::Block {
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
    let text = comment.map(|comment| &view.text[comment.start as usize..comment.end as usize]);
    if slot.mark == NONE {
        // An explicit key without a value.
        writer.line(slot.col);
        writer.text(":");
        new.after(
            &mut writer,
            like,
            At {
                marker,
                owner: slot.col,
                properties: kept,
                comment: None,
            },
        );
        let at = view.extent(slot);
        return finish(view, writer, at..at);
    }
    let from = slot.mark as usize + 1;
    if matches!(node.style, Style::Literal | Style::Folded) {
        if let New::Value(Value::Str(string)) = new {
            let to = comment.map_or(end, |comment| end.max(comment.end as usize));
            writer.properties(kept);
            if !writer.block_scalar(string, like, slot.col, text) {
                writer.text(&quote::string(string, Style::DoubleQuoted, Context::Block));
                text.into_iter().for_each(|text| writer.comment(text));
            }
            return finish(view, writer, start..to);
        }
    }
    if start == end && new.is_inline(like) && node.style == Style::Plain {
        // Nothing stood there: the comment on the line keeps its distance.
        let at = end.max(from);
        new.after(
            &mut writer,
            like,
            At {
                marker,
                owner: slot.col,
                properties: kept,
                comment: None,
            },
        );
        return vec![Patch::new(from..at, writer.out)];
    }
    let to = match node.style {
        Style::Block => view.extent(slot),
        _ => comment
            .map_or(end, |comment| end.max(comment.end as usize))
            .max(from),
    };
    let to = if view.text[to..view.line_end(to)]
        .trim_matches([' ', '\t'])
        .is_empty()
    {
        view.line_end(to)
    } else {
        to
    };
    new.after(
        &mut writer,
        like,
        At {
            marker,
            owner: slot.col,
            properties: kept,
            comment: text,
        },
    );
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
    if node.style != Style::Flow || node.kind != Kind::Sequence || value_is_block(item) {
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

/// How far an item stands behind its dash; `None` when it is not on the dash's line.
fn item_offset(view: View<'_>, slot: &Slot) -> Option<usize> {
    let item = view.node(slot.value);
    let start = item.start as usize;
    let near = item.end > item.start && slot.start < start && view.same_line(slot.start, start);
    (near && start - slot.start <= 9).then(|| start - slot.start)
}

/// A patch that ends a line: where the text ends without a line break, an open block scalar gets one.
fn finish(view: View<'_>, writer: Writer<'_>, range: std::ops::Range<usize>) -> Vec<Patch> {
    let mut text = writer.out;
    if writer.open_block && range.end == view.text.len() {
        text.push_str(view.eol(range.start));
    }
    vec![Patch::new(range, text)]
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
    let flow = node.style == Style::Flow && node.kind != Kind::Scalar;
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

fn insert(
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
        // Behind the line that the entry before ends on.
        let before = view.slot(parent, index - 1);
        let at = view.line_end(before.end);
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

fn remove(view: View<'_>, parent: Id, index: usize) -> Vec<Patch> {
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

fn rename(view: View<'_>, parent: Id, index: usize, to: &str) -> Vec<Patch> {
    let slot = view.slot(parent, index);
    let key = view.node(slot.key);
    let like = match key.style {
        Style::SingleQuoted | Style::DoubleQuoted => key.style,
        _ => Style::Plain,
    };
    let text = quote::string(to, like, context(view, parent));
    let from = if key.kind == Kind::Alias {
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
