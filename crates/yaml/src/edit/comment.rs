//! Comments: reading those of a node, and changing them.

use std::fmt;
use std::ops::Range;

use super::Patch;
use super::geometry::View;
use crate::document::Document;
use crate::error::{Error, ErrorKind};
use crate::node::Node;
use crate::tree::{CommentData, Id, NONE, Style};

/// One comment line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment<'a> {
    /// The text from its `#` on.
    pub text: &'a str,
    /// Where it stands in the stream's text.
    pub span: Range<usize>,
}

/// The comments of an entry or an item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comments<'a> {
    /// Directly above, no blank line between.
    pub head: Vec<Comment<'a>>,
    /// On the line of the value, or of the key of a block collection.
    pub line: Option<Comment<'a>>,
    /// Directly below the last entry of a collection, as deep as it.
    pub foot: Vec<Comment<'a>>,
}

/// Which comment of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentPlace {
    /// Above.
    Head,
    /// On the line.
    Line,
    /// Below.
    Foot,
}

impl fmt::Display for CommentPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "head",
            Self::Line => "line",
            Self::Foot => "foot",
        })
    }
}

impl<'a> Node<'a> {
    /// The comments of the entry or item that the node is (key or value makes no difference).
    ///
    /// The root has the comments above the document's content as its head.
    #[must_use]
    pub fn comments(&self) -> Comments<'a> {
        let view = self.stream.view(self.doc);
        let base = self.stream.docs()[self.doc].range.start;
        let make = |data: &CommentData| Comment {
            text: &view.text[data.start as usize..data.end as usize],
            span: base + data.start as usize..base + data.end as usize,
        };
        let all = |range: Range<usize>| {
            view.tree
                .comments_in(range.start as u32..range.end as u32)
                .iter()
                .map(make)
                .collect()
        };
        let Some((parent, index, slot)) = view.slot_of(self.id) else {
            let node = self.data();
            let line = (node.style != Style::Block)
                .then(|| view.comment_after(node.end as usize))
                .flatten();
            return Comments {
                head: all(0..node.start as usize),
                line: line.as_ref().map(make),
                foot: Vec::new(),
            };
        };
        Comments {
            head: all(view.head(parent, index)),
            line: view.line_comment(&slot).as_ref().map(make),
            foot: all(view.foot(parent, index)),
        }
    }
}

impl<'a> Document<'a> {
    /// Every comment of the document in the order of the text, also those that belong to no entry.
    pub fn comments(&self) -> impl Iterator<Item = Comment<'a>> + use<'a> {
        let (text, base) = (self.text(), self.span().start);
        let comments = &self.stream.tree(self.index).comments;
        comments.iter().map(move |data| Comment {
            text: &text[data.start as usize..data.end as usize],
            span: base + data.start as usize..base + data.end as usize,
        })
    }
}

/// The patches that set a comment of a node's entry; an empty text removes it.
pub(super) fn patches(
    view: View<'_>,
    id: Id,
    place: CommentPlace,
    text: &str,
) -> Result<Vec<Patch>, Error> {
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            if line.starts_with('#') {
                line.to_owned()
            } else {
                format!("# {line}")
            }
        })
        .collect();
    let unwritable = |message: &str| {
        Error::at(
            ErrorKind::Unwritable,
            view.text,
            view.node(id).start as usize,
            message,
        )
    };
    let Some((parent, index, slot)) = view.slot_of(id) else {
        return root(view, id, place, &lines)
            .ok_or_else(|| unwritable("the root has no such comment"));
    };
    let eol = view.eol(slot.start);
    match place {
        CommentPlace::Line => {
            if lines.len() > 1 {
                return Err(unwritable("a line comment is one line"));
            }
            let old = view.line_comment(&slot);
            let at = old.map_or_else(|| line_place(view, &slot), |old| old.start as usize);
            Ok(line(view, old, at, lines.first().map(String::as_str)))
        }
        CommentPlace::Head if !view.first_on_line(slot.start) => {
            Err(unwritable("there is no line above this entry"))
        }
        CommentPlace::Head => {
            let range = view.head(parent, index);
            Ok(vec![Patch::new(range, block(&lines, slot.col, eol))])
        }
        CommentPlace::Foot => {
            if view.node(parent).style == Style::Flow {
                return Err(unwritable("there is no line below this entry"));
            }
            let range = view.foot(parent, index);
            let mut new = block(&lines, slot.col, eol);
            if range.start == view.text.len()
                && !view.text.ends_with(['\n', '\r'])
                && !new.is_empty()
            {
                new.insert_str(0, eol);
            }
            Ok(vec![Patch::new(range, new)])
        }
    }
}

/// Where a new line comment goes.
pub(super) fn line_place(view: View<'_>, slot: &super::geometry::Slot) -> usize {
    let value = view.node(slot.value);
    match value.style {
        Style::Block => {
            // Behind the marker, or behind a tag and an anchor on its line.
            let mark = slot.mark as usize + 1;
            let properties = view.text[mark..value.content as usize]
                .split(['\n', '\r', '#'])
                .next();
            mark + properties.map_or(0, |text| text.trim_end_matches([' ', '\t']).len())
        }
        Style::Literal | Style::Folded => {
            let start = value.content as usize;
            start
                + view.text[start..view.line_end(start)]
                    .trim_end_matches([' ', '\t'])
                    .len()
        }
        _ => {
            let end = view.line_end(slot.end);
            let rest = view.text[slot.end..end].trim_end_matches([' ', '\t']);
            slot.end + rest.len()
        }
    }
}

fn line(view: View<'_>, old: Option<CommentData>, at: usize, new: Option<&str>) -> Vec<Patch> {
    match (old, new) {
        (None, None) => Vec::new(),
        (Some(old), Some(new)) => vec![Patch::new(old.start as usize..old.end as usize, new)],
        (Some(old), None) => {
            let before = view.text[..old.start as usize]
                .trim_end_matches([' ', '\t'])
                .len();
            vec![Patch::new(before..old.end as usize, "")]
        }
        (None, Some(new)) => {
            // A block collection that begins behind its marker moves to the next line.
            vec![Patch::new(at..at, format!(" {new}"))]
        }
    }
}

fn block(lines: &[String], col: usize, eol: &str) -> String {
    lines
        .iter()
        .map(|line| format!("{}{line}{eol}", " ".repeat(col)))
        .collect()
}

fn root(view: View<'_>, id: Id, place: CommentPlace, lines: &[String]) -> Option<Vec<Patch>> {
    let node = view.node(id);
    let start = node.start as usize;
    debug_assert_eq!(node.parent, NONE);
    match place {
        CommentPlace::Head if view.first_on_line(start) => {
            let line = view.line_start(start);
            let bom = if view.text.starts_with('\u{feff}') {
                3
            } else {
                0
            };
            let comments = view.tree.comments_in(view.tree.head..start as u32);
            let from = comments
                .first()
                .map_or(line, |first| view.line_start(first.start as usize));
            Some(vec![Patch::new(
                from.max(bom)..line.max(bom),
                block(lines, 0, view.eol(start)),
            )])
        }
        CommentPlace::Line if node.style != Style::Block && lines.len() <= 1 => {
            let end = node.end as usize;
            let old = view.comment_after(end);
            Some(line(view, old, end, lines.first().map(String::as_str)))
        }
        _ => None,
    }
}
